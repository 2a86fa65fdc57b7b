/* The clusters in memory, and writing their records. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "log.h"
#include "wire_private.h"

static void on_published(void *arg) {
    struct wire *wire = arg;
    api_note_change(wire->api);
}

static void on_difference(void *arg, const struct inventory_difference *difference) {
    (void)arg;
    log_event(LOG_LEVEL_ERROR, "inventory_difference", "kind", change_kind_name(difference->kind), "object",
              difference->object_id, "member", difference->member, "hint",
              "not told by the change feed: written by hand, or a defect of kaasd; memory is corrected", NULL);
}

static int make_inventory(struct wire *w, struct err *err) {
    struct inventory_options options = {
        .runtime = &w->runtime,
        .on_changes = wire_on_changes,
        .on_gap = wire_on_gap,
        .on_difference = on_difference,
        .on_change_arg = w,
        .on_published = on_published,
        .on_published_arg = w,
        .report_stale_after_ms = w->config.clusters_report_stale_after_ms,
    };
    return inventory_new(&options, &w->parts.inventory, err);
}

MODULE_DO(drop_inventory, inventory_free(w->parts.inventory))
MODULE_CHECK(check_inventory, inventory_check_health(w->parts.inventory, w->parts.started_at_ms, out))
MODULE_MEASURE(measure_inventory, inventory_write_metrics(w->parts.inventory, page))
MODULE_TRY(follow_changes, inventory_poll(w->parts.inventory, err))

/* When clusters were last reported on: with the database, and so with the other replicas. */
MODULE_TRY(sync_reports, inventory_sync_reports(w->parts.inventory, err))

/* The feed against everything that is stored. */
MODULE_TRY(check_feed, inventory_check(w->parts.inventory, &(unsigned long){0}, err))

static int64_t get_check_period_ms(const struct config *config) {
    return config->directory_check_interval_ms;
}

const struct wire_module module_inventory = {
    .make = make_inventory,
    .drop = drop_inventory,
    .check_health = check_inventory,
    .write_metrics = measure_inventory,
    .ticks =
        {{.name = "changes", .period_ms = 250, .retry = {.first_ms = 250, .max_ms = 1000}, .run = follow_changes},
         {.name = "reports", .period_ms = 15 * SECOND, .jitter_percent = 20, .retry = RETRY_SLOW, .run = sync_reports},
         {.name = "check", .get_period_ms = get_check_period_ms, .jitter_percent = 20, .retry = RETRY_SLOW, .run = check_feed}},
};

/* -- writing --------------------------------------------------------------------------------------------------------------------- */

static bool get_size(void *arg, size_t *clusters, size_t *nodes) {
    const struct wire *wire = arg;
    struct inventory_snapshot *snapshot = inventory_get(wire->parts.inventory);
    if (!snapshot)
        return false;
    *clusters = snapshot->clusters_count;
    *nodes = snapshot->nodes_count;
    inventory_snapshot_unref(snapshot);
    return true;
}

static int make_clusters(struct wire *w, struct err *err) {
    struct clusters_options options = {.runtime = &w->runtime, .get_size = get_size, .get_size_arg = w};
    return clusters_new(&options, &w->parts.clusters, err);
}

MODULE_DO(drop_clusters, clusters_free(w->parts.clusters))

const struct wire_module module_clusters = {.make = make_clusters, .drop = drop_clusters};
