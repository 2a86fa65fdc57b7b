/* Connections to HX clusters, and their controllers as peers. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>

#include "log.h"
#include "wire_private.h"

static void on_peer_news(void *arg, const struct hx_peer *peer) {
    const struct hx_peer_result *r = &peer->result;
    const bool is_good = r->state == HX_PEER_OK;
    (void)arg;
    log_event(is_good ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "hx_peer", "hx_cluster", peer->hx_id, "state",
              hx_peer_state_name(r->state), "principal", r->signed_in_as[0] ? r->signed_in_as : NULL, "reason",
              is_good ? NULL : r->reason, "detail", is_good ? NULL : r->detail, "remedy", is_good ? NULL : r->remedy, NULL);
}

static void on_hx_news(void *arg, const struct hx_status *status) {
    const bool is_good = !status->remote.reason[0];
    (void)arg;
    log_event(is_good ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "hx_connection", "hx_cluster", status->hx_id, "state",
              hx_connection_state_name(status->remote.state), "name", status->facts.name, "reason",
              is_good ? NULL : status->remote.reason, "detail", is_good ? NULL : status->remote.detail, "remedy",
              is_good ? NULL : status->remote.remedy, NULL);
}

static void on_hx_set(void *arg) {
    const struct wire *w = arg;
    scheduler_wake(w->scheduler, "hyperflex");
}

static void on_hx_published(void *arg, const struct hx_publication *p) {
    (void)arg;
    log_event(p->reason[0] ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "hx_publication", "hx_cluster", p->hx_id, "state",
              hx_publication_state_name(p->state), "reason", p->reason[0] ? p->reason : NULL, "detail",
              p->detail[0] ? p->detail : NULL, "remedy", p->remedy[0] ? p->remedy : NULL, NULL);
}

static int reload_hyperflex(struct wire *w, const struct config *config, struct err *err) {
    _cleanup_free_ char *pem = NULL;
    int rc = wire_read_file(config->hx_ca_file, &pem, err);
    return rc ? rc : hyperflex_set_ca(w->parts.hyperflex, pem, err);
}

static int make_hyperflex(struct wire *w, struct err *err) {
    const struct hyperflex_options options = {
        .runtime = &w->runtime,
        .networks = &w->hx_networks,
        .names = (const char *const *)w->config.hx_names.items,
        .call_timeout_ms = (long)w->config.hx_call_timeout_ms,
        .read_every_ms = w->config.hx_read_interval_ms,
        .publishes = w->config.hx_auto_publish,
        .on_news = on_hx_news,
        .on_set = on_hx_set,
        .on_published = on_hx_published,
        .inventory = w->parts.inventory,
        .platform = w->parts.platform,
        .acceptor = w->parts.kerberos ? kerberos_acceptor(w->parts.kerberos) : NULL,
        .keytab = w->config.auth_kerberos_keytab,
        .peer_timeout_ms = (long)w->config.peers_call_timeout_ms,
        .check_every_ms = w->config.peers_check_interval_ms,
        .on_peer_news = on_peer_news,
        .arg = w,
    };
    int rc = hyperflex_new(&options, &w->parts.hyperflex, err);
    return rc ? rc : reload_hyperflex(w, &w->config, err);
}

MODULE_DO(stop_hyperflex, hyperflex_stop(w->parts.hyperflex))
MODULE_DO(drop_hyperflex, hyperflex_free(w->parts.hyperflex))

static void check_hyperflex(struct wire *w, const struct inventory_platform *platform, struct findings *out) {
    if (platform)
        hyperflex_check_health(w->parts.hyperflex, platform, out);
}

MODULE_MEASURE(measure_hyperflex, hyperflex_write_metrics(w->parts.hyperflex, platform, page))
MODULE_TRY(tick_hyperflex, hyperflex_tick(w->parts.hyperflex, err))

const struct wire_module module_hyperflex = {
    .make = make_hyperflex,
    .stop = stop_hyperflex,
    .drop = drop_hyperflex,
    .reload = reload_hyperflex,
    .check_health = check_hyperflex,
    .write_metrics = measure_hyperflex,
    .ticks = {{.name = "hyperflex", .period_ms = 3 * SECOND, .retry = RETRY_SLOW, .run = tick_hyperflex}},
};
