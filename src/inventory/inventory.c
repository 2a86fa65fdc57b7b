/* The inventory: loading, the change feed, publishing. Layer 3 (inventory). What a snapshot is: snapshot.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "inventory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change_store.h"
#include "clock.h"
#include "cluster_store.h"
#include "load.h"
#include "metric.h"
#include "store.h"
#include "str.h"

#define STALE_AFTER_MS 2000
#define TICK_MS 1000         /* clusters are looked over for aged reports at most this often */
#define RENEWED_AT_ONCE 2000 /* clusters made anew by one look: some 50 ms of work */
#define CHECKED_AT_ONCE 1000 /* suspects that are looked at again: takes about a second, in which no change is applied */
#define CLOCK_SLACK_MS 60000 /* by how far the clocks of replicas may differ */

struct inventory {
    struct inventory_options options;

    pthread_mutex_t writer; /* one load or poll at a time; guards the six below */
    struct change_positions positions;
    int64_t looked_ms;    /* monotonic: the last look for clusters that are due */
    int64_t next_due_ms;  /* wall clock: before it no report grows too old; 0: not known */
    uint64_t seen_mark;   /* inventory_watch_mark at the last look */
    bool is_evidence_due; /* it has changed since then, and not all clusters were looked at */
    bool is_more_due;     /* the last look met its limit */

    pthread_mutex_t syncing; /* one exchange of report times at a time; guards the next */
    int64_t synced_ms;       /* wall clock: the last one; 0: none */

    pthread_mutex_t lock; /* guards the rest; held for a small copy only */
    struct inventory_watch watch;
    struct inventory_snapshot *current;
    int64_t as_of_wall_ms;
    int64_t as_of_mono_ms;
    int64_t fresh_since_ms; /* wall clock: of the first good load, and of the first one after it was stale; 0: none yet */
    struct err trouble;     /* of the last poll or load */
};

int inventory_new(const struct inventory_options *options, struct inventory **out, struct err *err) {
    struct inventory *d = calloc(1, sizeof(*d));
    if (!d)
        return err_set(err, ERR_NOMEM, "out of memory");
    d->options = *options;
    d->watch.started_ms = clock_mono_ms();
    (void)pthread_mutex_init(&d->syncing, NULL);
    (void)pthread_mutex_init(&d->writer, NULL);
    (void)pthread_mutex_init(&d->lock, NULL);
    *out = d;
    return 0;
}

void inventory_free(struct inventory *d) {
    if (!d)
        return;
    inventory_snapshot_unref(d->current);
    change_positions_done(&d->positions);
    inventory_watch_done(&d->watch);
    (void)pthread_mutex_destroy(&d->syncing);
    (void)pthread_mutex_destroy(&d->writer);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}

struct inventory_snapshot *inventory_get(struct inventory *d) {
    struct inventory_snapshot *snapshot;
    (void)pthread_mutex_lock(&d->lock);
    snapshot = d->current ? inventory_snapshot_ref(d->current) : NULL;
    (void)pthread_mutex_unlock(&d->lock);
    return snapshot;
}

int64_t inventory_as_of_ms(struct inventory *d) {
    int64_t as_of_ms;
    (void)pthread_mutex_lock(&d->lock);
    as_of_ms = d->as_of_wall_ms;
    (void)pthread_mutex_unlock(&d->lock);
    return as_of_ms;
}

bool inventory_is_stale(struct inventory *d) {
    int64_t as_of_ms;
    (void)pthread_mutex_lock(&d->lock);
    as_of_ms = d->as_of_mono_ms;
    (void)pthread_mutex_unlock(&d->lock);
    return !as_of_ms || clock_mono_ms() - as_of_ms > STALE_AFTER_MS;
}

/* Takes the snapshot over; NULL: nothing changed, only the time did. `read_at` tells when was read; NULL: nothing was. */
static void inventory_publish(struct inventory *d, struct inventory_snapshot *snapshot, const struct inventory_basis *read_at) {
    struct inventory_snapshot *old = NULL;
    (void)pthread_mutex_lock(&d->lock);
    if (snapshot) {
        old = d->current;
        d->current = snapshot;
    }
    if (read_at) {
        if (!d->as_of_mono_ms || read_at->mono_ms - d->as_of_mono_ms > STALE_AFTER_MS)
            d->fresh_since_ms = read_at->wall_ms;
        d->as_of_wall_ms = read_at->wall_ms;
        d->as_of_mono_ms = read_at->mono_ms;
    }
    (void)pthread_mutex_unlock(&d->lock);
    inventory_snapshot_unref(old);
    if (snapshot && d->options.on_published)
        d->options.on_published(d->options.on_published_arg);
}

/* What a load works with: now, the vCenters being watched (a copy), the snapshot before. Given back by inventory_end_loading. ERR_NOMEM. */
static int inventory_begin_loading(struct inventory *d, struct inventory_watch *watch, struct inventory_loading *out,
                                   struct err *err) {
    int rc;
    (void)pthread_mutex_lock(&d->lock);
    rc = inventory_watch_copy(&d->watch, watch, err);
    (void)pthread_mutex_unlock(&d->lock);
    if (rc)
        return rc;
    *out = (struct inventory_loading){
        .store = d->options.runtime->store,
        .basis = {.watch = watch,
                  .wall_ms = clock_wall_ms(),
                  .mono_ms = clock_mono_ms(),
                  .stale_after_ms = d->options.report_stale_after_ms},
        .old = inventory_get(d),
    };
    return 0;
}

static void inventory_end_loading(struct inventory_watch *watch, struct inventory_snapshot *old) {
    inventory_watch_done(watch);
    inventory_snapshot_unref(old);
}

static int load_snapshot(struct inventory *d, struct err *err) {
    struct inventory_snapshot *snapshot = NULL;
    struct inventory_watch watch = {0};
    struct inventory_loading loading = {0};
    int rc = inventory_begin_loading(d, &watch, &loading, err);
    if (rc)
        return rc;
    rc = inventory_load_all(&loading, &snapshot, err);
    if (!rc) {
        inventory_publish(d, snapshot, &loading.basis);
        d->seen_mark = inventory_watch_mark(&watch, loading.basis.mono_ms);
        d->next_due_ms = 0;
    }
    inventory_end_loading(&watch, loading.old);
    return rc;
}

/* Positions first, then everything: a change in between is read twice rather than never. */
static int inventory_load_from_now(struct inventory *d, struct err *err) {
    struct change_positions positions = {0};
    int rc = change_store_load_positions(d->options.runtime->store, &positions, err);
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
static int note_trouble(struct inventory *d, int rc, const struct err *why, struct err *err) {
    (void)pthread_mutex_lock(&d->lock);
    d->trouble = *why;
    d->trouble.code = rc;
    (void)pthread_mutex_unlock(&d->lock);
    return err_move(err, rc, why);
}

void inventory_check_health(struct inventory *d, int64_t started_at_ms, struct findings *out) {
    struct finding f = {.step = "inventory", .since_ms = inventory_as_of_ms(d)};
    const bool is_stale = inventory_is_stale(d);
    struct err why;
    (void)pthread_mutex_lock(&d->lock);
    why = d->trouble;
    if (!is_stale)
        f.since_ms = d->fresh_since_ms;
    (void)pthread_mutex_unlock(&d->lock);
    if (!f.since_ms) {
        f.since_ms = started_at_ms;
        finding_say(&f, FINDING_FAILED, "not loaded yet");
    } else if (is_stale && why.code) {
        finding_say_error(&f, FINDING_WARNING, &why);
    } else if (is_stale) {
        finding_say(&f, FINDING_WARNING, "changes cannot be read at the moment");
    }
    findings_add(out, &f);
}

int inventory_load(struct inventory *d, struct err *err) {
    struct err why = {0};
    int rc;
    (void)pthread_mutex_lock(&d->writer);
    rc = d->positions.items ? load_snapshot(d, &why) : inventory_load_from_now(d, &why);
    (void)pthread_mutex_unlock(&d->writer);
    return note_trouble(d, rc, &why, err);
}

/* Tells those who follow the feed by this inventory. */
static int inventory_tell_others(const struct inventory *d, const struct change_list *changes) {
    if (changes->is_gap)
        return d->options.on_gap ? d->options.on_gap(d->options.on_change_arg) : 0;
    return d->options.on_changes && changes->count ? d->options.on_changes(d->options.on_change_arg, changes) : 0;
}

static int apply_batch(struct inventory *d, const struct change_list *changes, struct err *err) {
    struct inventory_snapshot *fresh = NULL;
    struct inventory_watch watch = {0};
    struct inventory_loading loading = {0};
    int rc = inventory_begin_loading(d, &watch, &loading, err);
    if (rc)
        return rc;
    if (changes->is_gap || !loading.old) {
        inventory_end_loading(&watch, loading.old);
        return inventory_load_from_now(d, err);
    }
    rc = inventory_load_changes(&loading, changes, &fresh, err);
    d->next_due_ms = fresh ? 0 : d->next_due_ms;
    if (!rc)
        inventory_publish(d, fresh, &loading.basis);
    inventory_end_loading(&watch, loading.old);
    return rc;
}

static int inventory_copy_positions(const struct change_positions *from, struct change_positions *out, struct err *err) {
    out->items = calloc(from->count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    memcpy(out->items, from->items, from->count * sizeof(*out->items));
    out->count = from->count;
    return 0;
}

static void inventory_count_changes(const struct change_list *changes) {
    const int64_t now_ms = clock_wall_ms();
    if (changes->is_gap)
        metric_add(metric_get(METRIC_CHANGES_GAPS), 1);
    metric_add(metric_get(METRIC_CHANGES_READ), (int64_t)changes->count);
    for (size_t i = 0; i < changes->count; i++)
        metric_observe(metric_get(METRIC_CHANGES_DELAY), now_ms > changes->items[i].at_ms ? now_ms - changes->items[i].at_ms : 0);
}

/* Reads and applies one batch; a batch that failed is read again by the next poll. */
static int poll_once(struct inventory *d, bool *is_more, struct err *err) {
    struct change_positions before = {0};
    struct change_list changes = {0};
    int rc = inventory_copy_positions(&d->positions, &before, err);
    if (!rc)
        rc = change_store_load(d->options.runtime->store, &d->positions, &changes, err);
    if (!rc)
        rc = apply_batch(d, &changes, err);
    if (!rc && inventory_tell_others(d, &changes))
        rc = err_set(err, ERR_UNAVAILABLE, "a change could not be applied; it is tried again");
    if (rc && before.items)
        SWAP(d->positions, before);
    if (!rc)
        inventory_count_changes(&changes);
    *is_more = !rc && changes.is_more && !changes.is_gap;
    change_positions_done(&before);
    change_list_done(&changes);
    return rc;
}

/* Applies what is new in the feed. Needs `writer`, as all that loads. */
static int inventory_poll_locked(struct inventory *d, struct err *err) {
    bool is_more = true;
    int rc = 0;
    if (!d->positions.items)
        return inventory_load_from_now(d, err);
    while (!rc && is_more)
        rc = poll_once(d, &is_more, err);
    return rc;
}

/* Looks for clusters whose state depends on the time that has passed. Without memory the next look does it. */
static void inventory_look_over(struct inventory *d, const struct inventory_loading *loading) {
    const uint64_t mark = inventory_watch_mark(loading->basis.watch, loading->basis.mono_ms);
    struct inventory_due due = {.limit = RENEWED_AT_ONCE};
    bool was_more;
    struct inventory_snapshot *fresh = NULL;
    d->is_evidence_due = d->is_evidence_due || mark != d->seen_mark;
    d->seen_mark = mark;
    if (!d->is_evidence_due && loading->basis.wall_ms < d->next_due_ms)
        return;
    due.is_evidence_due = d->is_evidence_due;
    if (inventory_load_due(loading, &due, &fresh, NULL))
        return;
    was_more = d->is_more_due;
    d->is_more_due = due.is_more;
    d->is_evidence_due = d->is_evidence_due && due.is_more;
    d->next_due_ms = due.is_more ? 0 : due.next_ms;
    if (fresh)
        inventory_publish(d, fresh, NULL);
    if (was_more &&
        !due.is_more) /* all were made anew: what the old ones held lies in another thread's heap, and would stay there */
        (void)malloc_trim(0);
}

static void inventory_tick(struct inventory *d) {
    struct inventory_watch watch = {0};
    struct inventory_loading loading = {0};
    const int64_t now_ms = clock_mono_ms();
    if (now_ms - d->looked_ms < TICK_MS && !d->is_more_due)
        return;
    d->looked_ms = now_ms;
    if (inventory_begin_loading(d, &watch, &loading, NULL))
        return;
    if (loading.old)
        inventory_look_over(d, &loading);
    inventory_end_loading(&watch, loading.old);
}

int inventory_poll(struct inventory *d, struct err *err) {
    struct err why = {0};
    int rc;
    (void)pthread_mutex_lock(&d->writer);
    inventory_tick(d); /* first: a database that hangs would hold it up */
    rc = inventory_poll_locked(d, &why);
    (void)pthread_mutex_unlock(&d->writer);
    return note_trouble(d, rc, &why, err);
}

void inventory_set_watched(struct inventory *d, const char *vcenter_id, bool is_watched) {
    (void)pthread_mutex_lock(&d->lock);
    (void)inventory_watch_set(&d->watch, vcenter_id, is_watched, clock_mono_ms(), NULL);
    (void)pthread_mutex_unlock(&d->lock);
}

void inventory_note_report(struct inventory *d, const char *cluster_id, int64_t at_ms) {
    struct inventory_snapshot *snapshot = inventory_get(d);
    const struct inventory_cluster *entry = snapshot ? inventory_find_cluster(snapshot, cluster_id) : NULL;
    if (entry)
        inventory_cluster_note_report(entry, at_ms);
    inventory_snapshot_unref(snapshot);
}

/* Report times that the database does not know of; the caller frees the items. */
static int collect_times(const struct inventory_snapshot *snapshot, struct report_times *out, struct err *err) {
    out->items = calloc(snapshot->clusters_count + 1, sizeof(*out->items));
    out->count = 0;
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < snapshot->clusters_count; i++) {
        const struct inventory_cluster *entry = snapshot->clusters[i];
        const int64_t at_ms = atomic_load(&entry->times->reported_ms);
        if (!entry->is_reported || at_ms <= atomic_load(&entry->times->saved_ms))
            continue;
        out->items[out->count].at_ms = at_ms;
        (void)snprintf(out->items[out->count++].cluster_id, KAAS_UUID_BYTES, "%s", entry->record->id);
    }
    return 0;
}

static int sync_reports(struct inventory *d, const struct inventory_snapshot *snapshot, struct err *err) {
    const int64_t now_ms = clock_wall_ms();
    struct report_times mine = {0}, all = {0};
    int rc = collect_times(snapshot, &mine, err);
    if (!rc && mine.count)
        rc = cluster_store_save_report_times(d->options.runtime->store, mine.items, mine.count, false, err);
    if (!rc)
        rc = cluster_store_list_report_times(d->options.runtime->store, d->synced_ms - CLOCK_SLACK_MS, &all, err);
    if (!rc) {
        for (size_t i = 0; i < all.count; i++) {
            const struct inventory_cluster *entry = inventory_find_cluster(snapshot, all.items[i].cluster_id);
            if (entry)
                inventory_cluster_note_saved(entry, all.items[i].at_ms);
        }
        d->synced_ms = now_ms;
    }
    free(mine.items);
    report_times_done(&all);
    return rc;
}

int inventory_sync_reports(struct inventory *d, struct err *err) {
    struct inventory_snapshot *snapshot = inventory_get(d);
    int rc;
    if (!snapshot)
        return 0;
    (void)pthread_mutex_lock(&d->syncing);
    rc = sync_reports(d, snapshot, err);
    (void)pthread_mutex_unlock(&d->syncing);
    inventory_snapshot_unref(snapshot);
    return rc;
}

/* -- the check of the feed ------------------------------------------------------------------------------------------------ */

/* Everything that is stored against what the feed has made of it. The long comparison goes on beside the feed. What it finds is only
 * suspected: it may have been changed meanwhile. So, with the feed brought up to date and held, each suspect is read once more, and what
 * the feed names after that is let off. What remains is not there by the feed's doing, and never would be: a defect of ours, or somebody
 * wrote into the database by hand. */

/* Objects that are not in memory as they are stored, as changes, so that they take the way of all changes. */
struct suspects {
    struct change *items;
    const char **members; /* of each what differs; static */
    size_t count, room;
    bool is_short; /* one found no memory */
};

static void suspects_done(struct suspects *s) {
    free(s->items);
    free(s->members);
}
#define _cleanup_suspects_ __attribute__((cleanup(suspects_done)))

/* `member` NULL: nothing differs. */
static void inventory_suspect(struct suspects *s, enum change_kind kind, const char *id, const char *member) {
    if (!member || s->is_short)
        return;
    if (s->count == s->room) {
        const size_t room = s->room ? s->room * 2 : 64;
        struct change *items = reallocarray(s->items, room, sizeof(*items));
        const char **members = items ? reallocarray(s->members, room, sizeof(char *)) : NULL;
        s->items = items ? items : s->items;
        s->members = members ? members : s->members;
        s->is_short = !members;
        if (s->is_short)
            return;
        s->room = room;
    }
    s->items[s->count] = (struct change){.kind = kind};
    (void)snprintf(s->items[s->count].object_id, sizeof(s->items->object_id), "%s", id);
    s->members[s->count++] = member;
}

/* What lies below the clusters, one way: of what `from` has, `to` has it not (`absent` says so), or, if wanted, has it differently. */
static void compare_below(const struct inventory_platform *from, const struct inventory_platform *to, const char *absent,
                          bool with_members, struct suspects *out) {
    for (size_t i = 0; i < from->vcenters_count; i++) {
        const struct vcenter *a = &from->vcenters[i], *b = inventory_find_vcenter(to, a->id);
        inventory_suspect(out, CHANGE_VCENTER, a->id, !b ? absent : with_members ? vcenter_difference(a, b) : NULL);
    }
    for (size_t i = 0; i < from->vsphere_count; i++) {
        const struct vsphere_cluster *a = &from->vsphere[i], *b = inventory_find_vsphere(to, &a->ref);
        char id[GRANT_OBJECT_ID_BYTES];
        grant_vsphere_id(&a->ref, id);
        inventory_suspect(out, CHANGE_VSPHERE_CLUSTER, id, !b ? absent : with_members ? vsphere_cluster_difference(a, b) : NULL);
    }
    for (size_t i = 0; i < from->hx_count; i++) {
        const struct hx_cluster *a = &from->hx[i], *b = inventory_find_hx(to, a->id);
        inventory_suspect(out, CHANGE_HX_CLUSTER, a->id, !b ? absent : with_members ? hx_cluster_difference(a, b) : NULL);
    }
    for (size_t i = 0; i < from->grants_count; i++) {
        const struct grant *a = &from->grants[i], *b = inventory_find_grant(to, a);
        inventory_suspect(out, CHANGE_GRANT, a->id, !b ? absent : with_members ? grant_difference(a, b) : NULL);
    }
    for (size_t i = 0; i < from->services_count; i++) {
        const struct service_account *a = &from->services[i], *b = inventory_find_service(to, a->id);
        inventory_suspect(out, CHANGE_SERVICE_ACCOUNT, a->id,
                          !b             ? absent
                          : with_members ? service_account_difference(a, b)
                                         : NULL);
    }
}

/* What is stored below the clusters, and what is in memory of it. */
static void compare_platforms(const struct inventory_platform *old, const struct inventory_platform *fresh,
                              struct suspects *out) {
    compare_below(fresh, old, INVENTORY_NOT_IN_MEMORY, true, out);
    compare_below(old, fresh, INVENTORY_NOT_STORED, false, out);
}

static void compare_cluster(const struct inventory_snapshot *old, const struct inventory_snapshot *fresh, const char *id,
                            struct suspects *out) {
    const struct inventory_cluster *was = inventory_find_cluster(old, id), *is = inventory_find_cluster(fresh, id);
    if (was == is)
        return;
    inventory_suspect(out, CHANGE_CLUSTER, id,
                      !was  ? INVENTORY_NOT_IN_MEMORY
                      : !is ? INVENTORY_NOT_STORED
                            : inventory_cluster_difference(was, is));
}

/* The first, long comparison. */
static int find_suspects(struct inventory *d, struct suspects *out, struct err *err) {
    _cleanup_(inventory_platform_unref) struct inventory_platform *platform = NULL;
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *fresh = NULL;
    struct inventory_watch watch = {0};
    struct inventory_loading loading = {0};
    const struct inventory_snapshot *old;
    int rc = inventory_begin_loading(d, &watch, &loading, err);
    if (rc)
        return rc;
    old = loading.old;
    if (!old)
        goto out;
    rc = inventory_load_platform(d->options.runtime->store, &platform, err);
    if (rc)
        goto out;
    compare_platforms(old->platform, platform, out);
    loading.basis.platform = old->platform; /* clusters are shown with it: where it differs is known by now */
    rc = inventory_load_clusters(&loading, true, &fresh, err);
    if (rc)
        goto out;
    for (size_t i = 0; i < fresh->clusters_count; i++)
        compare_cluster(old, fresh, fresh->clusters[i]->record->id, out);
    for (size_t i = 0; i < old->clusters_count; i++)
        if (!inventory_find_cluster(fresh, old->clusters[i]->record->id))
            inventory_suspect(out, CHANGE_CLUSTER, old->clusters[i]->record->id, INVENTORY_NOT_STORED);
    if (out->is_short)
        rc = err_set(err, ERR_NOMEM, "out of memory");
out:
    inventory_end_loading(&watch, loading.old);
    return rc;
}

/* Whatever is not a cluster is loaded as one, and is what the text of clusters is made with. */
static bool inventory_is_named(const struct change_list *changes, const struct change *suspected, const char *member) {
    const bool is_cluster = suspected->kind == CHANGE_CLUSTER;
    if (changes->is_gap)
        return true;
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *c = &changes->items[i];
        if (is_cluster && c->kind == CHANGE_CLUSTER && str_eq(c->object_id, suspected->object_id))
            return true;
        if ((!is_cluster || str_eq(member, INVENTORY_DIFFERS_IN_TEXT)) && inventory_is_platform_change(c->kind))
            return true;
    }
    return false;
}

/* Lets off what the feed names after the place that memory has come to. */
static int inventory_let_off(struct inventory *d, struct suspects *s, struct err *err) {
    struct change_positions positions = {0};
    bool is_more = true;
    int rc = inventory_copy_positions(&d->positions, &positions, err);
    while (!rc && is_more && s->count) {
        struct change_list changes = {0};
        size_t kept = 0;
        rc = change_store_load(d->options.runtime->store, &positions, &changes, err);
        is_more = !rc && changes.is_more && !changes.is_gap;
        for (size_t i = 0; !rc && i < s->count; i++) {
            if (inventory_is_named(&changes, &s->items[i], s->members[i]))
                continue;
            s->items[kept] = s->items[i];
            s->members[kept++] = s->members[i];
        }
        s->count = rc ? s->count : kept;
        change_list_done(&changes);
    }
    change_positions_done(&positions);
    return rc;
}

/* Reads the suspects again; *fresh gets the snapshot that is as they are stored, *out what still differs. */
static int inventory_look_again(struct inventory *d, const struct inventory_loading *loading, const struct change_list *suspected,
                                struct inventory_snapshot **fresh, struct suspects *out, struct err *err) {
    const struct inventory_snapshot *old = loading->old;
    int rc = inventory_load_changes(loading, suspected, fresh, err);
    if (rc)
        return rc;
    if ((*fresh)->platform != old->platform)
        compare_platforms(old->platform, (*fresh)->platform, out);
    for (size_t i = 0; i < suspected->count; i++)
        if (suspected->items[i].kind == CHANGE_CLUSTER)
            compare_cluster(old, *fresh, suspected->items[i].object_id, out);
    return out->is_short ? err_set(err, ERR_NOMEM, "out of memory") : inventory_let_off(d, out, err);
}

static void inventory_tell_differences(const struct inventory *d, const struct suspects *s) {
    for (size_t i = 0; d->options.on_difference && i < s->count; i++) {
        const struct inventory_difference difference = {
            .kind = s->items[i].kind, .object_id = s->items[i].object_id, .member = s->members[i]};
        d->options.on_difference(d->options.on_change_arg, &difference);
    }
    metric_add(metric_get(METRIC_INVENTORY_DIFFERENCES), (int64_t)s->count);
}

/* Needs `writer`. *found rises by the differences that were told and corrected. */
static int inventory_settle(struct inventory *d, const struct change_list *suspected, unsigned long *found, struct err *err) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *fresh = NULL;
    _cleanup_suspects_ struct suspects differ = {0};
    struct inventory_watch watch = {0};
    struct inventory_loading loading = {0};
    int rc = inventory_poll_locked(d, err);
    if (!rc)
        rc = inventory_begin_loading(d, &watch, &loading, err);
    if (rc)
        return rc;
    rc = inventory_look_again(d, &loading, suspected, &fresh, &differ, err);
    if (rc || !differ.count)
        goto out;
    inventory_tell_differences(d, &differ);
    inventory_publish(d, STEAL(fresh), &loading.basis);
    d->next_due_ms = 0;
    *found += differ.count;
    if (inventory_tell_others(d, &(struct change_list){.items = differ.items, .count = differ.count}))
        rc = err_set(err, ERR_UNAVAILABLE, "a difference could not be told to others; it is tried again");
out:
    inventory_end_loading(&watch, loading.old);
    return rc;
}

int inventory_check(struct inventory *d, unsigned long *differences, struct err *err) {
    _cleanup_suspects_ struct suspects suspects = {0};
    unsigned long found = 0;
    int rc = find_suspects(d, &suspects, err);
    for (size_t from = 0; !rc && from < suspects.count; from += CHECKED_AT_ONCE) {
        const size_t left = suspects.count - from;
        const struct change_list part = {.items = suspects.items + from,
                                         .count = left < CHECKED_AT_ONCE ? left : CHECKED_AT_ONCE};
        (void)pthread_mutex_lock(&d->writer);
        rc = inventory_settle(d, &part, &found, err);
        (void)pthread_mutex_unlock(&d->writer);
    }
    if (rc)
        return rc;
    metric_add(metric_get(METRIC_INVENTORY_CHECKS), 1);
    metric_set(metric_get(METRIC_INVENTORY_CHECKED), clock_wall_ms() / 1000);
    *differences = found;
    return 0;
}

/* -- metrics -------------------------------------------------------------------------------------------------------------- */

/* A name that stands for two HX clusters is told once. */
static bool inventory_is_first_of_name(const struct inventory_platform *platform, const struct object_set *placement, size_t i,
                                       const char *name) {
    for (size_t before = 0; before < i; before++) {
        const struct hx_cluster *hx = inventory_find_hx_on(platform, &placement->items[before]);
        if (hx && str_eq(hx->name, name))
            return false;
    }
    return true;
}

static void inventory_write_cluster(const struct inventory_platform *platform, const struct cluster *c,
                                    struct metric_page *page) {
    const char *state = cluster_state_name(c->state);
    bool is_told = false;
    for (size_t i = 0; i < c->placement.count; i++) {
        const struct hx_cluster *hx = inventory_find_hx_on(platform, &c->placement.items[i]);
        if (!hx || !inventory_is_first_of_name(platform, &c->placement, i, hx->name))
            continue;
        metric_sample(page, METRIC_CLUSTER_STATE, 1, c->name, hx->name, state);
        is_told = true;
    }
    if (!is_told)
        metric_sample(page, METRIC_CLUSTER_STATE, 1, c->name, NULL, state);
}

void inventory_write_metrics(struct inventory *d, struct metric_page *page) {
    struct inventory_snapshot *snapshot = inventory_get(d);
    size_t by_state[CLUSTER_STATE_COUNT] = {0};
    metric_sample(page, METRIC_INVENTORY_AS_OF, (double)inventory_as_of_ms(d) / 1000);
    if (!snapshot)
        return;
    const struct inventory_platform *platform = snapshot->platform;
    const struct {
        const char *kind;
        size_t count;
    } objects[] = {{"cluster", snapshot->clusters_count},        {"node", snapshot->nodes_count},
                   {"vcenter", platform->vcenters_count},        {"vsphere_cluster", platform->vsphere_count},
                   {"hx_cluster", platform->hx_count},           {"grant", platform->grants_count},
                   {"service_account", platform->services_count}};
    for (size_t i = 0; i < ARRAY_COUNT(objects); i++)
        metric_sample(page, METRIC_INVENTORY_OBJECTS, (double)objects[i].count, objects[i].kind);
    for (size_t i = 0; i < snapshot->clusters_count; i++) {
        by_state[snapshot->clusters[i]->record->state]++;
        inventory_write_cluster(platform, snapshot->clusters[i]->record, page);
    }
    for (int state = 0; state < CLUSTER_STATE_COUNT; state++)
        metric_sample(page, METRIC_CLUSTERS, (double)by_state[state], cluster_state_name((enum cluster_state)state));
    inventory_snapshot_unref(snapshot);
}
