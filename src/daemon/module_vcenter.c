/* The links to vCenters, what they do by themselves, and what vCenters are told. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "event_make.h"
#include "event_post.h"
#include "jobs.h"
#include "link_task.h"
#include "log.h"
#include "platform_health.h"
#include "reconcile.h"
#include "rotation.h"
#include "verdict_ask.h"
#include "watch_run.h"
#include "wire_private.h"

/* -- work that links do ------------------------------------------------------------------------------------------------------------ */

static int renew_login(struct remote *remote, struct err *err) {
    struct link *link = link_of(remote);
    struct link_report before, after;
    int rc;
    link_get_report(link, &before);
    rc = rotation_renew(link, err);
    link_get_report(link, &after);
    if (!rc && before.certificates.login_not_after_ms &&
        after.certificates.login_not_after_ms != before.certificates.login_not_after_ms)
        log_event(LOG_LEVEL_NOTICE, "login_certificate_renewed", "vcenter", link_id(link), NULL);
    if (rc && rc != ERR_BUSY && rc != ERR_CANCELED)
        log_error(LOG_LEVEL_WARNING, "login_certificate_not_renewed", err, "vcenter", link_id(link), NULL);
    return rc;
}

static void tell_record(const struct vcenter *vc, const struct reconcile_result *result) {
    const struct record_note *note = &result->note;
    if (result->was_repaired)
        log_event(LOG_LEVEL_NOTICE, "vcenter_record_repaired", "vcenter", vc->name, "members", note->repaired, NULL);
    if (!result->has_news)
        return;
    log_event(note->problem[0] ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "vcenter_record", "vcenter", vc->name, "record",
              record_state_name(note->state), "reason", note->problem[0] ? note->problem : NULL, "remedy",
              note->remedy[0] ? note->remedy : NULL, NULL);
}

static int reconcile_record(struct remote *remote, struct err *err) {
    struct link *link = link_of(remote);
    struct reconcile_result result = {0};
    struct vcenter vc = {0};
    int rc = reconcile_run(link, &result, err);
    if (rc == ERR_NOT_REGISTERED)
        return ERR_CANCELED;
    if (!link_get_info(link, &vc, NULL))
        tell_record(&vc, &result);
    vcenter_done(&vc);
    return rc;
}

static int follow_login(struct remote *remote, struct err *err) {
    return link_follow_login(link_of(remote), err);
}

static void plug_in_work(struct wire *wire) {
    const struct remote_work kinds[] = {
        {.bit = LINK_WORK_RECONCILE,
         .name = "reconcile",
         .run = reconcile_record,
         .at_connect = true,
         .period_ms = wire->config.vcenter_reconcile_interval_ms},
        {.bit = LINK_WORK_RENEW,
         .name = "renew",
         .run = renew_login,
         .at_connect = true,
         .period_ms = 6LL * HOUR,
         .is_for_health = true},
        {.bit = LINK_WORK_LOGIN, .name = "login", .run = follow_login, .at_connect = true},
        {.bit = LINK_WORK_SWEEP, .name = "sweep", .run = session_sweep_work},
        {.bit = LINK_WORK_VERDICTS, .name = "verdicts", .run = verdict_work, .at_connect = true, .period_ms = 10LL * MINUTE},
        {.bit = LINK_WORK_EVENTS,
         .name = "events",
         .run = wire->config.vcenter_events ? event_post_work : NULL,
         .at_connect = true,
         .period_ms = 2 * SECOND,
         .is_for_health = true},
    };
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        platform_set_work(wire->parts.platform, &kinds[i]);
}

/* -- the module -------------------------------------------------------------------------------------------------------------------- */

static void platform_permissions_changed(void *arg, const char *vcenter_id, const char *user) {
    struct wire *wire = arg;
    signon_drop_rights(wire->parts.signon, vcenter_id, user);
    api_note_change(wire->api);
}

static void on_refused(void *arg, const char *vcenter_id, const char *text) {
    (void)arg;
    log_event(LOG_LEVEL_WARNING, "object_refused", "vcenter", vcenter_id, "object", text, "hint",
              "give it a shorter name at the vCenter; all other objects are saved", NULL);
}

static void platform_maintenance_begun(void *arg, const char *vcenter_id, const struct vim_watch_maintenance *begun) {
    event_maker_note_host(((struct wire *)arg)->event_maker, vcenter_id, begun);
}

static void platform_followed(void *arg, const char *whom) {
    jobs_wake(((struct wire *)arg)->parts.jobs, whom);
}

static int make_platform(struct wire *w, struct err *err) {
    const char *email = w->config.vcenter_admin_email;
    int rc = manifest_log_new(&w->parts.manifest_log, err);
    rc = rc ? rc : event_maker_new(w->runtime.store, w->parts.inventory, &w->event_maker, err);
    struct platform_options options = {
        .runtime = &w->runtime,
        .extension_key = w->config.vcenter_extension_key,
        .server_cert_pem = w->chain.certs[0].pem,
        .admin_email = *email ? email : "noreply@localhost.invalid",
        .networks = &w->vcenter_networks,
        .view_privilege = w->config.auth_vcenter_view_privilege,
        .watch = &watch_link_ops,
        .inventory = w->parts.inventory,
        .has_events = w->config.vcenter_events,
        .manifest_log = w->parts.manifest_log,
        .connect_timeout_ms = (long)w->config.vcenter_connect_timeout_ms,
        .call_timeout_ms = (long)w->config.vcenter_call_timeout_ms,
        .keepalive_ms = w->config.vcenter_keepalive_ms,
        .login_certificate_days = (int)w->config.vcenter_login_certificate_days,
        .key_bits = config_key_bits(&w->config),
        .on_permissions = platform_permissions_changed,
        .on_permissions_arg = w,
        .on_maintenance = w->config.vcenter_events ? platform_maintenance_begun : NULL,
        .on_maintenance_arg = w,
        .on_followed = platform_followed,
        .on_followed_arg = w,
        .on_refused = on_refused,
    };
    if (!rc)
        rc = platform_new(&options, &w->parts.platform, err);
    if (!rc)
        plug_in_work(w); /* before there are links: what they do without being told */
    return rc;
}

MODULE_DO(stop_platform, platform_stop(w->parts.platform))

static void drop_platform(struct wire *w) {
    platform_free(w->parts.platform);
    event_maker_free(w->event_maker);
    manifest_log_free(w->parts.manifest_log);
}

MODULE_CHECK(check_platform, platform_check_health(w->parts.platform, w->parts.started_at_ms, out))
MODULE_MEASURE(measure_platform, platform_write_metrics(w->parts.platform, page))

/* What vCenters are to be told of. */
MODULE_TRY(make_events, w->config.vcenter_events ? event_maker_tick(w->event_maker, err) : 0)

/* Which vCenters fetched the plug-in's manifest. */
MODULE_TRY(settle_manifest_log, manifest_log_settle(w->parts.manifest_log, w->parts.platform, err))

/* What a watched vCenter shows of nodes counts for the state of clusters, once it is stored, whichever replica stores it. */
static void tell_watched(struct wire *wire, const struct link *link) {
    struct watch_report report;
    watch_get_report(link_watch(link), &report);
    inventory_set_watched(wire->parts.inventory, link_id(link),
                          report.is_watching && (!report.is_saving || report.saved_at_ms >= report.since_ms));
}

static int tick_links(struct wire *wire, struct err *err) {
    _cleanup_free_ struct link **links = NULL;
    size_t count = 0;
    (void)err;
    platform_tick(wire->parts.platform);
    links = platform_list(wire->parts.platform, &count);
    for (size_t i = 0; links && i < count; i++) {
        tell_watched(wire, links[i]);
        link_unref(links[i]);
    }
    return 0;
}

const struct wire_module module_platform = {
    .make = make_platform,
    .stop = stop_platform,
    .drop = drop_platform,
    .check_health = check_platform,
    .write_metrics = measure_platform,
    .ticks = {{.name = "vcenters", .period_ms = SECOND, .retry = RETRY_QUICK, .run = tick_links},
              {.name = "manifest", .period_ms = 2 * SECOND, .retry = RETRY_SLOW, .run = settle_manifest_log},
              {.name = "events", .period_ms = SECOND, .retry = RETRY_SLOW, .run = make_events}},
};

/* -- its links: made when all that hear of vCenters know what the database says --------------------------------------------------- */

static int load_links(struct wire *w, struct err *err) {
    int rc = platform_sync(w->parts.platform, err);
    watch_note_cluster_everywhere(w->parts.platform, NULL);
    return rc;
}

static int follow_links(struct wire *w, const struct change *change, struct err *err) {
    int rc = 0;
    if (change->kind == CHANGE_CLUSTER)
        watch_note_cluster_everywhere(w->parts.platform, change->object_id);
    if (change->kind != CHANGE_VCENTER)
        return 0;
    rc = platform_sync(w->parts.platform, err);
    platform_note_login_changed(w->parts.platform, change->object_id);
    return rc;
}

const struct wire_module module_links = {.load = load_links, .on_change = follow_links};
