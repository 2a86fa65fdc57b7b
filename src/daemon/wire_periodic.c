/* What the daemon does from time to time, and the work of links. Layer 7 (daemon). When it runs is the scheduler's affair.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <inttypes.h>

#include "access.h"
#include "audit_store.h"
#include "clock.h"
#include "event_make.h"
#include "event_post.h"
#include "event_store.h"
#include "link_task.h"
#include "log.h"
#include "machine_uuid.h"
#include "metric.h"
#include "notify.h"
#include "reconcile.h"
#include "replica_store.h"
#include "rotation.h"
#include "store.h"
#include "store_schema.h"
#include "verdict_ask.h"
#include "watch_run.h"
#include "wire_private.h"

#define SECOND 1000
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

/* -- start-up: everything that needs the database, tried until it works ------------------------------------------------------ */

static int wire_register_replica(struct wire *wire, struct err *err) {
    int64_t previous_age_ms = -1;
    const bool is_first_try = !store_get_replica(wire->store);
    char machine[UUID_TEXT_BYTES];
    unsigned id = 0;
    int rc = replica_store_register(wire->store, wire->replica_name, &id, &previous_age_ms, err);
    if (!rc && is_first_try && previous_age_ms >= 0 && previous_age_ms < 15 * SECOND)
        log_event(LOG_LEVEL_NOTICE, "replica_seen_just_now", "name", wire->replica_name, "hint",
                  "a replica of this name beat its heart seconds ago: a quick restart, or two daemons with one name", NULL);
    machine_uuid_read(machine);
    return rc ? rc : replica_store_note_machine(wire->store, *machine ? machine : NULL, err);
}

static void log_closed(unsigned operations) {
    if (operations)
        log_event(LOG_LEVEL_WARNING, "audit_operations_closed", "operations", log_fmt("%u", operations), "hint",
                  "how they ended is not known: the audit log names them, with the result unknown", NULL);
}

/* What was begun outside and has no line that tells how it ended: before the start nobody of this replica works on it any more. */
static int close_operations(struct wire *wire, struct err *err) {
    const int64_t now_ms = clock_wall_ms();
    const struct operation_left left = {
        .replica_id = store_get_replica(wire->store), .begun_before_ms = now_ms + 1, .now_ms = now_ms};
    unsigned closed = 0;
    int rc = operation_store_close(wire->store, &left, &closed, err);
    log_closed(closed);
    return rc;
}

static int start_up(struct wire *wire, struct err *err) {
    char installation[UUID_TEXT_BYTES];
    int rc = store_check_schema(wire->store, store_schema_builtin(), err);
    if (!rc)
        rc = installation_store_load(wire->store, installation, err);
    if (!rc)
        rc = sealing_check(wire->parts.sealing, err);
    if (!rc)
        rc = audit_store_open_key(wire->store, wire->seal, err); /* a row is signed when it is made */
    if (!rc)
        rc = wire_register_replica(wire, err);
    if (rc)
        return rc;
    platform_set_installation(wire->parts.platform, installation);
    rc = wire->config.vcenter_events ? 0 : event_store_end(wire->store, err);
    if (!rc)
        rc = sealing_follow(wire->parts.sealing, err);
    if (!rc)
        rc = audit_store_start(wire->store, err);
    if (!rc)
        rc = close_operations(wire, err);
    if (rc)
        return rc;
    rc = inventory_load(wire->parts.inventory,
                        err); /* from here on the feed is followed: what is read below cannot miss a change */
    if (!rc)
        rc = signon_load(wire->parts.signon, err);
    if (!rc)
        rc = ldapdir_sync(wire->parts.ldapdirs, err);
    if (!rc)
        rc = access_sync_names(wire->parts.access, err);
    return rc ? rc : platform_sync(wire->parts.platform, err);
}

/* What kaasd waits for is told when it begins to, and when it waits for something else. */
static void wire_periodic_note_not_ready(struct wire *wire, const struct err *err) {
    (void)pthread_mutex_lock(&wire->lock);
    bool is_news = wire->not_ready.code != err->code;
    wire->not_ready = *err;
    (void)pthread_mutex_unlock(&wire->lock);
    /* Started, for the service manager: whoever starts us must not wait for a database that is away, and health tells of it. */
    notify("READY=1");
    if (is_news)
        log_error(LOG_LEVEL_WARNING, "waiting", err, "remedy", err->remedy[0] ? err->remedy : NULL, "hint",
                  "kaasd goes on by itself as soon as it can", NULL);
    notify_status(err->text);
}

static int periodic_start(void *arg, struct err *err) {
    struct wire *wire = arg;
    int rc = start_up(wire, err);
    if (rc) {
        wire_periodic_note_not_ready(wire, err);
        return rc;
    }
    atomic_store(&wire->is_ready, true);
    notify("READY=1\nSTATUS=ready");
    log_event(LOG_LEVEL_NOTICE, "ready", "version", PACKAGE_VERSION, "installation",
              platform_env(wire->parts.platform)->installation, NULL);
    scheduler_wake(wire->scheduler, "vcenters");
    scheduler_wake(wire->scheduler, "prune");
    scheduler_wake(wire->scheduler, "backup");
    scheduler_wake(wire->scheduler, "updates");
    return ERR_CANCELED; /* done for good */
}

/* -- while running ------------------------------------------------------------------------------------------------------------- */

/* A periodic work that is one call, once the start-up has succeeded. */
#define PERIODIC(name, call)                                 \
    static int periodic_##name(void *arg, struct err *err) { \
        struct wire *wire = arg;                             \
        (void)err;                                           \
        return atomic_load(&wire->is_ready) ? (call) : 0;    \
    }

PERIODIC(changes, inventory_poll(wire->parts.inventory, err))

/* When clusters were last reported on: with the database, and so with the other replicas. */
PERIODIC(reports, inventory_sync_reports(wire->parts.inventory, err))

/* The feed against everything that is stored. */
PERIODIC(check, inventory_check(wire->parts.inventory, &(unsigned long){0}, err))

/* What a watched vCenter shows of nodes counts for the state of clusters, once it is stored, whichever replica stores it. */
static void tell_watched(struct wire *wire, const struct link *link) {
    struct watch_report report;
    watch_get_report(link_watch(link), &report);
    inventory_set_watched(wire->parts.inventory, link_id(link),
                          report.is_watching && (!report.is_saving || report.saved_at_ms >= report.since_ms));
}

static int periodic_vcenters(void *arg, struct err *err) {
    struct wire *wire = arg;
    _cleanup_free_ struct link **links = NULL;
    size_t count = 0;
    (void)err;
    if (!atomic_load(&wire->is_ready))
        return 0;
    platform_tick(wire->parts.platform);
    links = platform_list(wire->parts.platform, &count);
    for (size_t i = 0; links && i < count; i++) {
        tell_watched(wire, links[i]);
        link_unref(links[i]);
    }
    return 0;
}

/* What vCenters are to be told of. */
PERIODIC(events, wire->config.vcenter_events ? event_maker_tick(wire->event_maker, err) : 0)

/* Which vCenters fetched the plug-in's manifest. */
PERIODIC(manifest, manifest_log_settle(wire->parts.manifest_log, wire->parts.platform, err))

/* Whether the database answers is known before somebody needs it: requests are refused by what this finds. */
PERIODIC(pulse, store_ping(wire->store, err))

PERIODIC(heartbeat, replica_store_heartbeat(wire->store, err))

PERIODIC(sessions, signon_purge(wire->parts.signon, err))

PERIODIC(keys, signon_keys_tick(wire->parts.signon, err))

PERIODIC(sealing, sealing_tick(wire->parts.sealing, err))

/* People who are signed in, in the directories they came by. */
PERIODIC(people, (signon_check_directories(wire->parts.signon), 0))

static int periodic_identity(void *arg, struct err *err) {
    struct wire *wire = arg;
    (void)err;
    if (atomic_load(&wire->is_ready))
        ldapdir_tick(wire->parts.ldapdirs);
    if (wire->parts.kerberos)
        kerberos_tick(wire->parts.kerberos);
    wire_log_health(wire);
    return 0;
}

/* What HX clusters say of themselves. */
PERIODIC(hyperflex, hyperflex_tick(wire->parts.hyperflex, err))

/* Controllers of HX clusters, whether they let us in. */
PERIODIC(peers, peers_tick(wire->parts.peers, err))

static int periodic_rights(void *arg, struct err *err) {
    struct wire *wire = arg;
    (void)err;
    signon_rights_tick(wire->parts.signon);
    return 0;
}

/* What could not be written to the audit log is told where it can be: the log holds the requests themselves. */
static void tell_lost_audit(struct wire *wire) {
    const int64_t count = metric_value(audit_store_lost());
    if (count != wire->audit_lost_told)
        log_event(LOG_LEVEL_WARNING, "audit_lost", "lines", log_fmt("%" PRId64, count - wire->audit_lost_told), "hint",
                  "the database did not take them; the requests are in this log by their request ids", NULL);
    wire->audit_lost_told = count;
}

/* Apart from the questions, which must not wait for the database. */
static int periodic_notes(void *arg, struct err *err) {
    struct wire *wire = arg;
    int rc, save_rc;
    tell_lost_audit(wire);
    if (!atomic_load(&wire->is_ready))
        return 0;
    save_rc = audit_store_save_head(wire->store, err); /* a full disk keeps no line out of the database */
    signon_write_notes(wire->parts.signon);
    rc = audit_store_write_notes(wire->store, err);
    if (!rc)
        rc = audit_store_note_heads(wire->store, false, err);
    return rc ? rc : save_rc;
}

/* Rows come with each sign-on, and each is of no use after some minutes. */
PERIODIC(used_proofs, wire->parts.kerberos ? kerberos_purge(wire->parts.kerberos, err) : 0)

/* When the newest backup was made, by whichever host. */
PERIODIC(backup, backup_health_sync(&wire->backup, wire->store, err))

/* Newer versions, and what the replicas run. */
PERIODIC(updates, updates_tick(wire->parts.updates, err))

#define EVENTS_KEPT_MS (7LL * 24 * HOUR)

/* Of vCenters that were away for so long. */
static int prune_events(struct wire *wire, struct err *err) {
    uint64_t count = 0;
    int rc = event_store_prune(wire->store, clock_wall_ms() - EVENTS_KEPT_MS, &count, err);
    if (rc || !count)
        return rc;
    metric_add(metric_get(METRIC_VCENTER_EVENTS_DROPPED, "age"), (int64_t)count);
    log_event(LOG_LEVEL_WARNING, "vcenter_events_dropped", "events", log_fmt("%" PRIu64, count), "hint",
              "they could not be posted for a week; the audit log has what was done", NULL);
    return 0;
}

static int periodic_prune(void *arg, struct err *err) {
    struct wire *wire = arg;
    unsigned closed = 0;
    int rc = atomic_load(&wire->is_ready) ? store_prune(wire->store, wire->config.audit_keep_ms, &closed, err) : 0;
    log_closed(closed);
    return rc || !atomic_load(&wire->is_ready) ? rc : prune_events(wire, err);
}

/* -- work that links to vCenters do by themselves ------------------------------------------------------------------------------ */

static int renew_login(struct link *link, struct err *err) {
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

static int reconcile_record(struct link *link, struct err *err) {
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

void wire_plug_in_work(struct wire *wire) {
    const struct link_work_kind kinds[] = {
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
        {.bit = LINK_WORK_LOGIN, .name = "login", .run = link_follow_login, .at_connect = true},
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

/* -- when ------------------------------------------------------------------------------------------------------------------------ */

int wire_start_periodic(struct wire *wire, struct err *err) {
    const struct backoff quick = {.first_ms = 250, .max_ms = 5000, .jitter_percent = 20};
    const struct backoff steady = {.first_ms = 5000, .max_ms = 10000, .jitter_percent = 20}; /* health goes by its failures */
    const struct backoff slow = {.first_ms = 5000, .max_ms = 60000, .jitter_percent = 20};
    int64_t people_ms = wire->config.auth_directory_live_check_ms / 4; /* who is due is asked about soon after */
    struct periodic table[] = {
        {.name = "start", .period_ms = SECOND, .retry = quick, .run = periodic_start},
        {.name = "changes", .period_ms = 250, .retry = {.first_ms = 250, .max_ms = 1000}, .run = periodic_changes},
        {.name = "reports", .period_ms = 15 * SECOND, .jitter_percent = 20, .retry = slow, .run = periodic_reports},
        {.name = "vcenters", .period_ms = SECOND, .retry = quick, .run = periodic_vcenters},
        {.name = "manifest", .period_ms = 2 * SECOND, .retry = slow, .run = periodic_manifest},
        {.name = "events", .period_ms = SECOND, .retry = slow, .run = periodic_events},
        {.name = "rights", .period_ms = SIGNON_RIGHTS_TICK_MS, .retry = quick, .run = periodic_rights},
        {.name = "people", .period_ms = people_ms < 5 * SECOND ? people_ms : 5 * SECOND, .retry = quick, .run = periodic_people},
        {.name = "identity", .period_ms = SECOND, .retry = quick, .run = periodic_identity},
        {.name = "hyperflex", .period_ms = 3 * SECOND, .retry = slow, .run = periodic_hyperflex},
        {.name = "peers", .period_ms = 3 * SECOND, .retry = slow, .run = periodic_peers},
        {.name = "notes", .period_ms = SECOND, .retry = quick, .run = periodic_notes},
        {.name = "pulse", .period_ms = SECOND, .retry = {.first_ms = 250, .max_ms = 1000}, .run = periodic_pulse},
        {.name = "heartbeat", .period_ms = 10 * SECOND, .retry = steady, .run = periodic_heartbeat},
        {.name = "sessions", .period_ms = MINUTE, .jitter_percent = 20, .retry = slow, .run = periodic_sessions},
        {.name = "sealing", .period_ms = SECOND, .retry = quick, .run = periodic_sealing},
        {.name = "signing_keys", .period_ms = SECOND, .retry = slow, .run = periodic_keys},
        {.name = "check",
         .period_ms = wire->config.directory_check_interval_ms,
         .jitter_percent = 20,
         .retry = slow,
         .run = periodic_check},
        {.name = "used_proofs", .period_ms = 5 * MINUTE, .jitter_percent = 20, .retry = slow, .run = periodic_used_proofs},
        {.name = "backup", .period_ms = MINUTE, .jitter_percent = 20, .retry = slow, .run = periodic_backup},
        {.name = "updates", .period_ms = 15 * SECOND, .jitter_percent = 20, .retry = slow, .run = periodic_updates},
        {.name = "prune", .period_ms = 10 * MINUTE, .jitter_percent = 20, .retry = slow, .run = periodic_prune},
    };
    int rc;
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        table[i].arg = wire;
    rc = scheduler_new(table, ARRAY_COUNT(table), store_thread_begin, store_thread_end, &wire->scheduler, err);
    return rc ? rc : scheduler_start(wire->scheduler, err);
}
