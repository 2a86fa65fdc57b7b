/* Start-up, and what the daemon and its modules do from time to time. Layer 7 (daemon). When it runs is the scheduler's affair.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <inttypes.h>

#include "audit_store.h"
#include "clock.h"
#include "event_store.h"
#include "log.h"
#include "machine_uuid.h"
#include "metric.h"
#include "notify.h"
#include "replica_store.h"
#include "store.h"
#include "store_schema.h"
#include "wire_private.h"

/* -- start-up: everything that needs the database, tried until it works ------------------------------------------------------ */

static int wire_register_replica(struct wire *wire, struct err *err) {
    int64_t previous_age_ms = -1;
    const bool is_first_try = !store_get_replica(wire->runtime.store);
    char machine[UUID_TEXT_BYTES];
    unsigned id = 0;
    int rc = replica_store_register(wire->runtime.store, wire->replica_name, &id, &previous_age_ms, err);
    if (!rc && is_first_try && previous_age_ms >= 0 && previous_age_ms < 15 * SECOND)
        log_event(LOG_LEVEL_NOTICE, "replica_seen_just_now", "name", wire->replica_name, "hint",
                  "a replica of this name beat its heart seconds ago: a quick restart, or two daemons with one name", NULL);
    machine_uuid_read(machine);
    return rc ? rc : replica_store_note_machine(wire->runtime.store, *machine ? machine : NULL, err);
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
        .replica_id = store_get_replica(wire->runtime.store), .begun_before_ms = now_ms + 1, .now_ms = now_ms};
    unsigned closed = 0;
    int rc = operation_store_close(wire->runtime.store, &left, &closed, err);
    log_closed(closed);
    return rc;
}

static int start_up(struct wire *wire, struct err *err) {
    char installation[UUID_TEXT_BYTES];
    int rc = store_check_schema(wire->runtime.store, store_schema_builtin(), err);
    if (!rc)
        rc = installation_store_load(wire->runtime.store, installation, err);
    if (!rc)
        rc = sealing_check(wire->parts.sealing, err);
    if (!rc)
        rc = audit_store_open_key(wire->runtime.store, wire->runtime.seal, err); /* a row is signed when it is made */
    if (!rc)
        rc = wire_register_replica(wire, err);
    if (rc)
        return rc;
    platform_set_installation(wire->parts.platform, installation);
    rc = wire->config.vcenter_events ? 0 : event_store_end(wire->runtime.store, err);
    if (!rc)
        rc = sealing_follow(wire->parts.sealing, err);
    if (!rc)
        rc = audit_store_start(wire->runtime.store, err);
    if (!rc)
        rc = close_operations(wire, err);
    if (rc)
        return rc;
    rc = inventory_load(wire->parts.inventory,
                        err); /* from here on the feed is followed: what modules load cannot miss a change */
    return rc ? rc : wire_load(wire, err);
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

static int tick_start(struct wire *wire, struct err *err) {
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

/* Whether the database answers is known before somebody needs it: requests are refused by what this finds. */
MODULE_TRY(tick_pulse, store_ping(w->runtime.store, err))
MODULE_TRY(tick_heartbeat, replica_store_heartbeat(w->runtime.store, err))

/* What could not be written to the audit log is told where it can be: the log holds the requests themselves. */
static void tell_lost_audit(struct wire *wire) {
    const int64_t count = metric_value(audit_store_lost());
    if (count != wire->audit_lost_told)
        log_event(LOG_LEVEL_WARNING, "audit_lost", "lines", log_fmt("%" PRId64, count - wire->audit_lost_told), "hint",
                  "the database did not take them; the requests are in this log by their request ids", NULL);
    wire->audit_lost_told = count;
}

/* Apart from the questions, which must not wait for the database. */
static int tick_notes(struct wire *wire, struct err *err) {
    int rc, save_rc;
    tell_lost_audit(wire);
    if (!atomic_load(&wire->is_ready))
        return 0;
    save_rc = audit_store_save_head(wire->runtime.store, err); /* a full disk keeps no line out of the database */
    signon_write_notes(wire->parts.signon);
    rc = audit_store_write_notes(wire->runtime.store, err);
    if (!rc)
        rc = audit_store_note_heads(wire->runtime.store, false, err);
    return rc ? rc : save_rc;
}

#define EVENTS_KEPT_MS (7LL * 24 * HOUR)

/* Of vCenters that were away for so long. */
static int prune_events(struct wire *wire, struct err *err) {
    uint64_t count = 0;
    int rc = event_store_prune(wire->runtime.store, clock_wall_ms() - EVENTS_KEPT_MS, &count, err);
    if (rc || !count)
        return rc;
    metric_add(metric_get(METRIC_VCENTER_EVENTS_DROPPED, "age"), (int64_t)count);
    log_event(LOG_LEVEL_WARNING, "vcenter_events_dropped", "events", log_fmt("%" PRIu64, count), "hint",
              "they could not be posted for a week; the audit log has what was done", NULL);
    return 0;
}

static int tick_prune(struct wire *wire, struct err *err) {
    unsigned closed = 0;
    int rc = store_prune(wire->runtime.store, wire->config.audit_keep_ms, &closed, err);
    log_closed(closed);
    return rc ? rc : prune_events(wire, err);
}

/* -- when ------------------------------------------------------------------------------------------------------------------------ */

/* Of the daemon itself. Health goes by the failures of the heartbeat, so it is tried again steadily. */
static const struct wire_module module_daemon = {
    .ticks = {{.name = "start", .period_ms = SECOND, .retry = RETRY_QUICK, .run = tick_start, .runs_before_ready = true},
              {.name = "notes", .period_ms = SECOND, .retry = RETRY_QUICK, .run = tick_notes, .runs_before_ready = true},
              {.name = "pulse", .period_ms = SECOND, .retry = {.first_ms = 250, .max_ms = 1000}, .run = tick_pulse},
              {.name = "heartbeat",
               .period_ms = 10 * SECOND,
               .retry = {.first_ms = 5000, .max_ms = 10000, .jitter_percent = 20},
               .run = tick_heartbeat},
              {.name = "prune", .period_ms = 10 * MINUTE, .jitter_percent = 20, .retry = RETRY_SLOW, .run = tick_prune}},
};

static int run_tick(void *arg, struct err *err) {
    const struct wire_call *call = arg;
    return call->tick.runs_before_ready || atomic_load(&call->wire->is_ready) ? call->tick.run(call->wire, err) : 0;
}

static void add_ticks(struct wire *wire, const struct wire_module *module, struct periodic *table) {
    for (size_t i = 0; i < WIRE_TICKS_MAX && module->ticks[i].run; i++) {
        const struct wire_tick *tick = &module->ticks[i];
        struct wire_call *call = &wire->calls[wire->calls_count];
        *call = (struct wire_call){wire, *tick};
        table[wire->calls_count++] =
            (struct periodic){.name = tick->name,
                              .period_ms = tick->get_period_ms ? tick->get_period_ms(&wire->config) : tick->period_ms,
                              .jitter_percent = tick->jitter_percent,
                              .retry = tick->retry,
                              .run = run_tick,
                              .arg = call};
    }
}

int wire_start_periodic(struct wire *wire, struct err *err) {
    struct periodic table[WIRE_CALLS_MAX];
    add_ticks(wire, &module_daemon, table);
    for (size_t i = 0; i < WIRE_MODULES; i++)
        add_ticks(wire, wire_modules[i], table);
    int rc = scheduler_new(table, (unsigned)wire->calls_count, store_thread_begin, store_thread_end, &wire->scheduler, err);
    return rc ? rc : scheduler_start(wire->scheduler, err);
}
