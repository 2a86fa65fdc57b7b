/* Master keys, backups and newer versions: what an installation is kept with. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "metric.h"
#include "str.h"
#include "wire_private.h"

/* -- master keys ------------------------------------------------------------------------------------------------------------------ */

static int make_sealing(struct wire *w, struct err *err) {
    struct sealing_options options = {.runtime = &w->runtime, .key_file = w->config.secrets_master_key_file};
    return sealing_new(&options, &w->parts.sealing, err);
}

MODULE_DO(drop_sealing, sealing_free(w->parts.sealing))

static int follow_sealing(struct wire *w, const struct change *change, struct err *err) {
    return change->kind == CHANGE_SIGNING_KEY && str_eq(change->object_id, SEAL_STORE_CHANGE)
               ? sealing_follow(w->parts.sealing, err)
               : 0;
}

MODULE_CHECK(check_sealing, sealing_check_health(w->parts.sealing, w->parts.started_at_ms, out))
MODULE_TRY(tick_sealing, sealing_tick(w->parts.sealing, err))

const struct wire_module module_sealing = {
    .make = make_sealing,
    .drop = drop_sealing,
    .on_change = follow_sealing,
    .check_health = check_sealing,
    .ticks = {{.name = "sealing", .period_ms = SECOND, .retry = RETRY_QUICK, .run = tick_sealing}},
};

/* -- backups ------------------------------------------------------------------------------------------------------------------------ */

MODULE_CHECK(check_backup, backup_health_check(&w->backup, w->config.backup_warn_after_ms, out))

static void measure_backup(struct wire *wire, const struct inventory_platform *platform, struct metric_page *page) {
    const int64_t last_ms = backup_health_last_ms(&wire->backup);
    (void)platform;
    if (last_ms)
        metric_sample(page, METRIC_BACKUP_LAST, (double)last_ms / 1000);
}

/* When the newest one was made, by whichever host. */
MODULE_TRY(sync_backup, backup_health_sync(&w->backup, w->runtime.store, err))

const struct wire_module module_backup = {
    .check_health = check_backup,
    .logs_health = true,
    .write_metrics = measure_backup,
    .ticks = {{.name = "backup", .period_ms = MINUTE, .jitter_percent = 20, .retry = RETRY_SLOW, .run = sync_backup}},
};

/* -- newer versions, and what the replicas run ------------------------------------------------------------------------------------ */

static int reload_updates(struct wire *w, const struct config *config, struct err *err) {
    return updates_configure(w->parts.updates, config, err);
}

static int make_updates(struct wire *w, struct err *err) {
    const struct updates_options options = {.runtime = &w->runtime, .replica = w->replica_name};
    int rc = updates_new(&options, &w->parts.updates, err);
    return rc ? rc : reload_updates(w, &w->config, err);
}

MODULE_DO(stop_updates, updates_stop(w->parts.updates))
MODULE_DO(drop_updates, updates_free(w->parts.updates))
MODULE_CHECK(check_updates, updates_check_health(w->parts.updates, out))
MODULE_TRY(tick_updates, updates_tick(w->parts.updates, err))

const struct wire_module module_updates = {
    .make = make_updates,
    .stop = stop_updates,
    .drop = drop_updates,
    .reload = reload_updates,
    .check_health = check_updates,
    .logs_health = true,
    .ticks = {{.name = "updates", .period_ms = 15 * SECOND, .jitter_percent = 20, .retry = RETRY_SLOW, .run = tick_updates}},
};
