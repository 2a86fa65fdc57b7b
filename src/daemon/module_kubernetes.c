/* Connections to Kubernetes clusters. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cluster_admin.h"
#include "log.h"
#include "wire_private.h"

static void on_kube_news(void *arg, const struct kube_status *status) {
    const bool is_good = !status->remote.reason[0];
    (void)arg;
    log_event(is_good ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "kube_connection", "cluster", status->cluster_id, "state",
              kube_connection_state_name(status->remote.state), "reason", is_good ? NULL : status->remote.reason, "detail",
              is_good ? NULL : status->remote.detail, "remedy", is_good ? NULL : status->remote.remedy, NULL);
}

static int issue_kube_admin(void *arg, const char *cluster_id, struct kube_admin *out, struct err *err) {
    const struct wire *w = arg;
    return cluster_admin_issue(&w->runtime, cluster_id, out, err);
}

static int make_kubernetes(struct wire *w, struct err *err) {
    const struct kubernetes_options options = {
        .runtime = &w->runtime,
        .networks = &w->kube_networks,
        .inventory = w->parts.inventory,
        .call_timeout_ms = (long)w->config.kubernetes_call_timeout_ms,
        .on_news = on_kube_news,
        .issue_admin = issue_kube_admin,
        .arg = w,
    };
    return kubernetes_new(&options, &w->parts.kubernetes, err);
}

MODULE_DO(stop_kubernetes, kubernetes_stop(w->parts.kubernetes))
MODULE_DO(drop_kubernetes, kubernetes_free(w->parts.kubernetes))
MODULE_CHECK(check_kubernetes, kubernetes_check_health(w->parts.kubernetes, out))
MODULE_MEASURE(measure_kubernetes, kubernetes_write_metrics(w->parts.kubernetes, page))
MODULE_TRY(tick_kubernetes, kubernetes_tick(w->parts.kubernetes, err))

const struct wire_module module_kubernetes = {
    .make = make_kubernetes,
    .stop = stop_kubernetes,
    .drop = drop_kubernetes,
    .check_health = check_kubernetes,
    .write_metrics = measure_kubernetes,
    .ticks = {{.name = "kubernetes", .period_ms = SECOND, .retry = RETRY_QUICK, .run = tick_kubernetes}},
};
