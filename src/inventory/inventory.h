/* The inventory: holds the current snapshot and brings in changes. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "change_store.h"
#include "err.h"
#include "finding.h"
#include "runtime.h"
#include "snapshot.h"

struct inventory;

/* Called with the changes that one poll read, of all kinds, in the order they were made; the list is borrowed. Runs in the thread of inventory_poll, which it
 * must not call. Returns 0, or an error if it must be called again: then the next poll repeats the whole batch, so applying a change twice must do no harm. */
typedef int inventory_changes_fn(void *arg, const struct change_list *changes);

/* Called when changes may have been missed (a gap in the feed): all that inventory_changes_fn keeps up to date must be read anew. Thread and result as
 * above. */
typedef int inventory_gap_fn(void *arg);

/* An object that differs between memory and database. */
struct inventory_difference {
    enum change_kind kind;
    const char *object_id;
    const char *member; /* the member of the record that differs, or one of the words below, or INVENTORY_DIFFERS_IN_TEXT */
};
#define INVENTORY_NOT_IN_MEMORY "not in memory"
#define INVENTORY_NOT_STORED "not in the database"
/* Called for each difference that inventory_check finds, before it is corrected. Must not block. */
typedef void inventory_difference_fn(void *arg, const struct inventory_difference *difference);

struct inventory_options {
    const struct runtime *runtime;
    inventory_changes_fn *on_changes;       /* may be NULL */
    inventory_gap_fn *on_gap;               /* may be NULL */
    inventory_difference_fn *on_difference; /* may be NULL */
    void *on_change_arg;                    /* of the three functions above */
    void (*on_published)(void *arg);        /* called after each new snapshot; must not block; may be NULL */
    void *on_published_arg;
    int64_t report_stale_after_ms; /* a cluster without a report for this long is `unknown`; 0: never */
};

/* Makes an empty inventory (not loaded). ERR_NOMEM. Freed by inventory_free, when no reader is left. */
int inventory_new(const struct inventory_options *options, struct inventory **out, struct err *err);
void inventory_free(struct inventory *inventory); /* NULL is allowed */

/* Reads everything from the database and publishes it. Blocks. Errors of the store: the old snapshot stays then. The position in the change feed does not
 * move, so on_changes still gets every change. */
int inventory_load(struct inventory *inventory, struct err *err);

/* Reads the changes since the last call from the change feed and publishes them; a gap leads to a full load and on_gap. On failure the old snapshot stays and
 * the next call reads the same changes again. Also renews clusters whose state depends on the time that has passed (an aged report, a vCenter that is no
 * longer watched): up to a second later, a bounded number at once, and also while the database does not answer. Blocks. Call it every 250 ms; also right
 * after an own write, so that the writer sees it. */
int inventory_poll(struct inventory *inventory, struct err *err);

/* Compares everything in memory with everything stored: per object, by content, in both directions. A difference that the feed does not explain is a defect,
 * or somebody wrote to the database by hand: on_difference is called, and it is counted and corrected; *differences gets the number. Needs memory for a few
 * hundred clusters beside the snapshot; changes are applied meanwhile. Blocks. Errors of the store; ERR_TOO_LARGE if there is more than a snapshot may hold. */
int inventory_check(struct inventory *inventory, unsigned long *differences, struct err *err);

/* The current snapshot with one reference for the caller; NULL before the first load. Cheap: callable from any thread. */
struct inventory_snapshot *inventory_get(struct inventory *inventory);

/* Wall-clock time of the last successful load or poll in ms; 0 before the first. */
int64_t inventory_as_of_ms(struct inventory *inventory);

/* True if changes could not be read for more than 2 s: answers carry KaaS-Stale: database. */
bool inventory_is_stale(struct inventory *inventory);

/* Adds a finding on the cluster list: kept up to date, not loaded yet since `started_at_ms` (wall clock), or not kept up to date, and why and since when.
 * Does not block. */
void inventory_check_health(struct inventory *inventory, int64_t started_at_ms, struct findings *out);

struct metric_page;
/* Writes to the page the numbers of objects, their time, and the state of each cluster. Does not block. */
void inventory_write_metrics(struct inventory *inventory, struct metric_page *page);

/* Notes that a vCenter is watched from now on, so that what it shows of nodes is up to date, or is not watched any more: what it showed counts for
 * KAAS_OBSERVED_EVIDENCE_MS more. Call it when a watch has a complete picture that has been saved, and when it has lost its connection. The next poll uses
 * it. Cheap: callable from any thread. Without memory nothing changes. */
void inventory_set_watched(struct inventory *inventory, const char *vcenter_id, bool is_watched);

/* Notes in memory the time (wall clock) of a report on a cluster that brought nothing new. Cheap: callable from any thread. */
void inventory_note_report(struct inventory *inventory, const char *cluster_id, int64_t at_ms);

/* Writes report times that only memory has to the database, and reads those of other replicas. Blocks. Call it every few seconds: replicas lag so far behind.
 * Errors of the store; then the next call does it. */
int inventory_sync_reports(struct inventory *inventory, struct err *err);
