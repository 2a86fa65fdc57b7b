/* The directory: loading, the change feed, publishing. Layer 3 (directory). What a snapshot is: snapshot.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "directory_private.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cluster_store.h"
#include "load.h"
#include "store.h"
#include "str.h"

#define STALE_AFTER_MS 2000
#define TICK_MS 1000         /* clusters are looked over for aged reports at most this often */
#define RENEWED_AT_ONCE 2000 /* clusters made anew by one look: some 50 ms of work */
#define CLOCK_SLACK_MS 60000 /* by how far the clocks of replicas may differ */

int directory_new(const struct directory_options *options, struct directory **out, struct err *err) {
    struct directory *d = calloc(1, sizeof(*d));
    if (!d)
        return err_set(err, ERR_NOMEM, "out of memory");
    d->store = options->store;
    d->on_change = options->on_change;
    d->on_gap = options->on_gap;
    d->on_difference = options->on_difference;
    d->on_change_arg = options->on_change_arg;
    d->on_published = options->on_published;
    d->on_published_arg = options->on_published_arg;
    d->report_stale_after_ms = options->report_stale_after_ms;
    d->watch.started_ms = clock_mono_ms();
    (void)pthread_mutex_init(&d->syncing, NULL);
    (void)pthread_mutex_init(&d->writer, NULL);
    (void)pthread_mutex_init(&d->lock, NULL);
    *out = d;
    return 0;
}

void directory_free(struct directory *d) {
    if (!d)
        return;
    dir_snapshot_unref(d->current);
    change_positions_done(&d->positions);
    dir_watch_done(&d->watch);
    (void)pthread_mutex_destroy(&d->syncing);
    (void)pthread_mutex_destroy(&d->writer);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}

struct dir_snapshot *directory_get(struct directory *d) {
    struct dir_snapshot *snapshot;
    (void)pthread_mutex_lock(&d->lock);
    snapshot = d->current ? dir_snapshot_ref(d->current) : NULL;
    (void)pthread_mutex_unlock(&d->lock);
    return snapshot;
}

int64_t directory_as_of_ms(struct directory *d) {
    int64_t as_of_ms;
    (void)pthread_mutex_lock(&d->lock);
    as_of_ms = d->as_of_wall_ms;
    (void)pthread_mutex_unlock(&d->lock);
    return as_of_ms;
}

static bool is_old(int64_t as_of_mono_ms) {
    return !as_of_mono_ms || clock_mono_ms() - as_of_mono_ms > STALE_AFTER_MS;
}

bool directory_is_stale(struct directory *d) {
    int64_t as_of_ms;
    (void)pthread_mutex_lock(&d->lock);
    as_of_ms = d->as_of_mono_ms;
    (void)pthread_mutex_unlock(&d->lock);
    return is_old(as_of_ms);
}

static void tell_published(const struct directory *d) {
    if (d->on_published)
        d->on_published(d->on_published_arg);
}

/* Takes the snapshot over; NULL: nothing changed, only the time did. */
void dir_publish(struct directory *d, struct dir_snapshot *snapshot, int64_t asked_wall_ms, int64_t asked_mono_ms) {
    struct dir_snapshot *old = NULL;
    (void)pthread_mutex_lock(&d->lock);
    if (snapshot) {
        old = d->current;
        d->current = snapshot;
    }
    d->as_of_wall_ms = asked_wall_ms;
    d->as_of_mono_ms = asked_mono_ms;
    (void)pthread_mutex_unlock(&d->lock);
    dir_snapshot_unref(old);
    if (snapshot)
        tell_published(d);
}

/* What a load works with: now, the vCenters being watched (a copy), the snapshot before. */
int dir_begin_loading(struct directory *d, struct dir_watch *watch, struct dir_loading *out, struct err *err) {
    int rc;
    (void)pthread_mutex_lock(&d->lock);
    rc = dir_watch_copy(&d->watch, watch, err);
    (void)pthread_mutex_unlock(&d->lock);
    if (rc)
        return rc;
    *out = (struct dir_loading){
        .store = d->store,
        .basis = {.watch = watch,
                  .wall_ms = clock_wall_ms(),
                  .mono_ms = clock_mono_ms(),
                  .stale_after_ms = d->report_stale_after_ms},
        .old = directory_get(d),
    };
    return 0;
}

void dir_end_loading(struct dir_watch *watch, struct dir_snapshot *old) {
    dir_watch_done(watch);
    dir_snapshot_unref(old);
}

static int load_snapshot(struct directory *d, struct err *err) {
    struct dir_snapshot *snapshot = NULL;
    struct dir_watch watch = {0};
    struct dir_loading loading = {0};
    int rc = dir_begin_loading(d, &watch, &loading, err);
    if (rc)
        return rc;
    rc = dir_load_all(&loading, &snapshot, err);
    if (!rc) {
        dir_publish(d, snapshot, loading.basis.wall_ms, loading.basis.mono_ms);
        d->seen_mark = dir_watch_mark(&watch, loading.basis.mono_ms);
        d->next_due_ms = 0;
    }
    dir_end_loading(&watch, loading.old);
    return rc;
}

/* Positions first, then everything: a change in between is read twice rather than never. */
static int load_from_now(struct directory *d, struct err *err) {
    struct change_positions positions = {0};
    int rc = change_store_load_positions(d->store, &positions, err);
    if (!rc)
        rc = load_snapshot(d, err);
    if (rc) {
        change_positions_done(&positions);
        return rc;
    }
    change_positions_done(&d->positions);
    d->positions = positions;
    return 0;
}

/* Remembers why it failed, or that it did not. Hands rc and the reason on. */
static int note_trouble(struct directory *d, int rc, const struct err *why, struct err *err) {
    (void)pthread_mutex_lock(&d->lock);
    d->trouble = *why;
    d->trouble.code = rc;
    (void)pthread_mutex_unlock(&d->lock);
    return err_move(err, rc, why);
}

bool directory_get_trouble(struct directory *d, struct err *out) {
    bool is_any;
    (void)pthread_mutex_lock(&d->lock);
    is_any = d->trouble.code != 0;
    if (is_any)
        *out = d->trouble;
    (void)pthread_mutex_unlock(&d->lock);
    return is_any;
}

int directory_load(struct directory *d, struct err *err) {
    struct err why = {0};
    int rc;
    (void)pthread_mutex_lock(&d->writer);
    rc = d->positions.items ? load_snapshot(d, &why) : load_from_now(d, &why);
    (void)pthread_mutex_unlock(&d->writer);
    return note_trouble(d, rc, &why, err);
}

/* All but what the directory itself is made of. Clusters are for both: those who watch nodes must know which ones. */
static bool is_for_others(enum change_kind kind) {
    return kind != CHANGE_VSPHERE_CLUSTER && kind != CHANGE_HX_CLUSTER && kind != CHANGE_GRANT;
}

/* All are told, whatever becomes of one of them; the first failure counts. */
int dir_tell_others(const struct directory *d, const struct change_list *changes) {
    int first = 0;
    if (changes->is_gap)
        return d->on_gap ? d->on_gap(d->on_change_arg) : 0;
    for (size_t i = 0; d->on_change && i < changes->count; i++) {
        int rc = is_for_others(changes->items[i].kind) ? d->on_change(d->on_change_arg, &changes->items[i]) : 0;
        first = first ? first : rc;
    }
    return first;
}

static int apply_batch(struct directory *d, const struct change_list *changes, struct err *err) {
    struct dir_snapshot *fresh = NULL;
    struct dir_watch watch = {0};
    struct dir_loading loading = {0};
    int rc = dir_begin_loading(d, &watch, &loading, err);
    if (rc)
        return rc;
    if (changes->is_gap || !loading.old) {
        dir_end_loading(&watch, loading.old);
        return load_from_now(d, err);
    }
    rc = dir_load_changes(&loading, changes, &fresh, err);
    d->next_due_ms = fresh ? 0 : d->next_due_ms;
    if (!rc)
        dir_publish(d, fresh, loading.basis.wall_ms, loading.basis.mono_ms);
    dir_end_loading(&watch, loading.old);
    return rc;
}

int dir_copy_positions(const struct change_positions *from, struct change_positions *out, struct err *err) {
    out->items = calloc(from->count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    memcpy(out->items, from->items, from->count * sizeof(*out->items));
    out->count = from->count;
    return 0;
}

/* Reads and applies one batch; a batch that failed is read again by the next poll. */
static int poll_once(struct directory *d, bool *is_more, struct err *err) {
    struct change_positions before = {0};
    struct change_list changes = {0};
    int rc = dir_copy_positions(&d->positions, &before, err);
    if (!rc)
        rc = change_store_load(d->store, &d->positions, &changes, err);
    if (!rc)
        rc = apply_batch(d, &changes, err);
    if (!rc && dir_tell_others(d, &changes))
        rc = err_set(err, ERR_UNAVAILABLE, "a change could not be applied; it is tried again");
    if (rc && before.items) {
        struct change_positions failed = d->positions;
        d->positions = before;
        before = failed;
    }
    *is_more = !rc && changes.is_more && !changes.is_gap;
    change_positions_done(&before);
    change_list_done(&changes);
    return rc;
}

int dir_poll_locked(struct directory *d, struct err *err) {
    bool is_more = true;
    int rc = 0;
    if (!d->positions.items)
        return load_from_now(d, err);
    while (!rc && is_more)
        rc = poll_once(d, &is_more, err);
    return rc;
}

/* Puts a snapshot in place of the current one without having read anything. */
static void replace(struct directory *d, struct dir_snapshot *snapshot) {
    struct dir_snapshot *old;
    (void)pthread_mutex_lock(&d->lock);
    old = d->current;
    d->current = snapshot;
    (void)pthread_mutex_unlock(&d->lock);
    dir_snapshot_unref(old);
    tell_published(d);
}

/* Looks for clusters whose state depends on the time that has passed. Without memory the next look does it. */
static void look_over(struct directory *d, const struct dir_loading *loading) {
    const uint64_t mark = dir_watch_mark(loading->basis.watch, loading->basis.mono_ms);
    struct dir_due due = {.limit = RENEWED_AT_ONCE};
    bool was_more;
    struct dir_snapshot *fresh = NULL;
    d->is_evidence_due = d->is_evidence_due || mark != d->seen_mark;
    d->seen_mark = mark;
    if (!d->is_evidence_due && loading->basis.wall_ms < d->next_due_ms)
        return;
    due.is_evidence_due = d->is_evidence_due;
    if (dir_load_due(loading, &due, &fresh, NULL))
        return;
    was_more = d->is_more_due;
    d->is_more_due = due.is_more;
    d->is_evidence_due = d->is_evidence_due && due.is_more;
    d->next_due_ms = due.is_more ? 0 : due.next_ms;
    if (fresh)
        replace(d, fresh);
    if (was_more &&
        !due.is_more) /* all were made anew: what the old ones held lies in another thread's heap, and would stay there */
        (void)malloc_trim(0);
}

static void tick(struct directory *d) {
    struct dir_watch watch = {0};
    struct dir_loading loading = {0};
    const int64_t now_ms = clock_mono_ms();
    if (now_ms - d->looked_ms < TICK_MS && !d->is_more_due)
        return;
    d->looked_ms = now_ms;
    if (dir_begin_loading(d, &watch, &loading, NULL))
        return;
    if (loading.old)
        look_over(d, &loading);
    dir_end_loading(&watch, loading.old);
}

int directory_poll(struct directory *d, struct err *err) {
    struct err why = {0};
    int rc;
    (void)pthread_mutex_lock(&d->writer);
    tick(d); /* first: a database that hangs would hold it up */
    rc = dir_poll_locked(d, &why);
    (void)pthread_mutex_unlock(&d->writer);
    return note_trouble(d, rc, &why, err);
}

void directory_set_watched(struct directory *d, const char *vcenter_id, bool is_watched) {
    (void)pthread_mutex_lock(&d->lock);
    (void)dir_watch_set(&d->watch, vcenter_id, is_watched, clock_mono_ms(), NULL);
    (void)pthread_mutex_unlock(&d->lock);
}

void directory_note_report(struct directory *d, const char *cluster_id, int64_t at_ms) {
    struct dir_snapshot *snapshot = directory_get(d);
    const struct dir_cluster *entry = snapshot ? dir_find_cluster(snapshot, cluster_id) : NULL;
    if (entry)
        dir_cluster_note_report(entry, at_ms);
    dir_snapshot_unref(snapshot);
}

/* Report times that the database does not know of; the caller frees the items. */
static int collect_times(const struct dir_snapshot *snapshot, struct report_times *out, struct err *err) {
    out->items = calloc(snapshot->clusters_count + 1, sizeof(*out->items));
    out->count = 0;
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < snapshot->clusters_count; i++) {
        const struct dir_cluster *entry = snapshot->clusters[i];
        const int64_t at_ms = atomic_load(&entry->times->reported_ms);
        if (!entry->is_reported || at_ms <= atomic_load(&entry->times->saved_ms))
            continue;
        out->items[out->count].at_ms = at_ms;
        (void)snprintf(out->items[out->count++].cluster_id, KAAS_UUID_BYTES, "%s", entry->record->id);
    }
    return 0;
}

static void apply_times(const struct dir_snapshot *snapshot, const struct report_times *times) {
    for (size_t i = 0; i < times->count; i++) {
        const struct dir_cluster *entry = dir_find_cluster(snapshot, times->items[i].cluster_id);
        if (entry)
            dir_cluster_note_saved(entry, times->items[i].at_ms);
    }
}

static int sync_reports(struct directory *d, const struct dir_snapshot *snapshot, struct err *err) {
    const int64_t now_ms = clock_wall_ms();
    struct report_times mine = {0}, all = {0};
    int rc = collect_times(snapshot, &mine, err);
    if (!rc && mine.count)
        rc = cluster_store_save_report_times(d->store, mine.items, mine.count, false, err);
    if (!rc)
        rc = cluster_store_list_report_times(d->store, d->synced_ms - CLOCK_SLACK_MS, &all, err);
    if (!rc) {
        apply_times(snapshot, &all);
        d->synced_ms = now_ms;
    }
    free(mine.items);
    report_times_done(&all);
    return rc;
}

int directory_sync_reports(struct directory *d, struct err *err) {
    struct dir_snapshot *snapshot = directory_get(d);
    int rc;
    if (!snapshot)
        return 0;
    (void)pthread_mutex_lock(&d->syncing);
    rc = sync_reports(d, snapshot, err);
    (void)pthread_mutex_unlock(&d->syncing);
    dir_snapshot_unref(snapshot);
    return rc;
}
