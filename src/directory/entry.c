/* One cluster of the list: from the record as stored to what everyone sees of it. Layer 3 (directory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "render.h"
#include "rollup.h"
#include "snapshot.h"
#include "str.h"
#include "watch.h"

struct dir_cluster *dir_cluster_ref(struct dir_cluster *cluster) {
    (void)atomic_fetch_add_explicit(&cluster->refs, 1, memory_order_relaxed);
    return cluster;
}

static void stated_done(struct dir_stated *s) {
    free(s->reason);
    free(s->source);
    free(s->placement_source);
    object_set_done(&s->placement);
}

void dir_cluster_unref(struct dir_cluster *cluster) {
    if (!cluster || atomic_fetch_sub_explicit(&cluster->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < cluster->fragments_count; i++)
        free(cluster->fragments[i].json);
    free(cluster->fragments);
    free(cluster->reason_partial);
    free(cluster->times);
    stated_done(&cluster->stated);
    cluster_free(cluster->record);
    free(cluster);
}

static uint64_t mask_of(size_t placements) {
    return placements >= 64 ? UINT64_MAX : (UINT64_C(1) << placements) - 1;
}

/* One fragment for all placements and, if there are several, one for each alone: what nearly all viewers see. */
static int render_all(struct dir_cluster *entry, const struct dir_platform *platform, struct err *err) {
    size_t placements = entry->record->placement.count;
    size_t wanted = placements > 1 ? placements + 1 : 1;
    entry->fragments = calloc(wanted, sizeof(*entry->fragments));
    if (!entry->fragments)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < wanted; i++) {
        uint64_t mask = i ? UINT64_C(1) << (i - 1) : entry->full_mask;
        int rc = dir_render_cluster(entry, platform, mask, &entry->fragments[i], err);
        if (rc)
            return rc;
        entry->fragments_count++;
    }
    return 0;
}

static bool counts(const void *arg, const char *vcenter_id) {
    const struct dir_basis *basis = arg;
    return !basis->watch || dir_watch_counts(basis->watch, vcenter_id, basis->mono_ms);
}

/* A number that changes with the set of nodes whose observation counts. */
static uint64_t mark_evidence(const struct cluster *c, const struct dir_basis *basis) {
    uint64_t mark = 0;
    for (size_t i = 0; i < c->nodes_count; i++)
        if (c->nodes[i].seen && counts(basis, c->nodes[i].seen->vcenter_id))
            mark = (mark ^ (i + 1)) * UINT64_C(0x9E3779B97F4A7C15);
    return mark;
}

/* Puts what follows into the record and what is stored aside. */
static void adopt(struct dir_cluster *entry, struct rollup *r) {
    struct cluster *c = entry->record;
    entry->stated = (struct dir_stated){.state = c->state,
                                        .reason = c->state_reason,
                                        .source = c->state_source,
                                        .placement_source = c->placement_source,
                                        .placement = c->placement,
                                        .observed_at_ms = c->observed_at_ms};
    c->state = r->state;
    c->state_reason = STEAL(r->reason);
    c->state_source = STEAL(r->source);
    c->placement_source = STEAL(r->placement_source);
    c->placement = r->placement;
    c->observed_at_ms = r->observed_at_ms;
    r->placement = (struct object_set){0};
    entry->reason_partial = STEAL(r->reason_partial);
}

static int roll_up(struct dir_cluster *entry, const struct dir_basis *basis, struct err *err) {
    const struct rollup_input input = {.cluster = entry->record,
                                       .now_ms = basis->wall_ms,
                                       .report_stale_after_ms = basis->stale_after_ms,
                                       .counts = counts,
                                       .arg = basis};
    struct rollup rolled;
    int rc = rollup_make(&input, &rolled, err);
    if (rc)
        return rc;
    entry->is_reported = cluster_is_reported(entry->record);
    entry->is_stale = rolled.is_report_stale;
    entry->evidence = mark_evidence(entry->record, basis);
    adopt(entry, &rolled);
    rollup_done(&rolled);
    return 0;
}

int dir_cluster_new(struct cluster *record, const struct dir_basis *basis, struct dir_cluster **out, struct err *err) {
    _cleanup_(dir_cluster_unref) struct dir_cluster *entry = calloc(1, sizeof(*entry));
    int rc;
    if (!entry) {
        cluster_free(record);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    atomic_init(&entry->refs, 1);
    entry->record = record;
    entry->times = calloc(1, sizeof(*entry->times));
    if (!entry->times)
        return err_set(err, ERR_NOMEM, "out of memory");
    atomic_init(&entry->times->reported_ms, record->reported_at_ms);
    atomic_init(&entry->times->saved_ms, record->reported_at_ms);
    rc = roll_up(entry, basis, err);
    if (rc)
        return rc;
    entry->full_mask = mask_of(record->placement.count);
    rc = render_all(entry, basis->platform, err);
    if (rc)
        return rc;
    *out = STEAL(entry);
    return 0;
}

/* Replaces what was rolled up in a copy of the record by copies of what is stored. */
static int put_back(const struct dir_stated *from, struct cluster *c, struct err *err) {
    struct object_set placement = {0};
    int rc = object_set_copy(&from->placement, &placement, err);
    if (rc)
        return rc;
    object_set_done(&c->placement);
    c->placement = placement;
    free(c->state_reason);
    free(c->state_source);
    free(c->placement_source);
    c->state = from->state;
    c->observed_at_ms = from->observed_at_ms;
    c->state_reason = str_dup(from->reason);
    c->state_source = str_dup(from->source);
    c->placement_source = str_dup(from->placement_source);
    if ((from->reason && !c->state_reason) || (from->source && !c->state_source) ||
        (from->placement_source && !c->placement_source))
        return err_set(err, ERR_NOMEM, "out of memory");
    return 0;
}

int dir_cluster_stored(const struct dir_cluster *entry, struct cluster **out, struct err *err) {
    struct cluster *record = calloc(1, sizeof(*record));
    int rc = record ? cluster_copy(entry->record, record, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = put_back(&entry->stated, record, err);
    if (rc) {
        cluster_free(record);
        return rc;
    }
    if (entry->is_reported && record->reported_at_ms < atomic_load(&entry->times->reported_ms))
        record->reported_at_ms = atomic_load(&entry->times->reported_ms);
    *out = record;
    return 0;
}

int dir_cluster_renew(const struct dir_cluster *entry, const struct dir_basis *basis, struct dir_cluster **out, struct err *err) {
    struct cluster *record = NULL;
    int rc = dir_cluster_stored(entry, &record, err);
    if (!rc)
        rc = dir_cluster_new(record, basis, out, err);
    if (rc)
        return rc;
    atomic_store(&(*out)->times->saved_ms, atomic_load(&entry->times->saved_ms));
    return 0;
}

/* The record as it is stored, all texts borrowed. */
static struct cluster view_stored(const struct dir_cluster *entry) {
    struct cluster view = *entry->record;
    view.state = entry->stated.state;
    view.state_reason = entry->stated.reason;
    view.state_source = entry->stated.source;
    view.placement_source = entry->stated.placement_source;
    view.placement = entry->stated.placement;
    view.observed_at_ms = entry->stated.observed_at_ms;
    return view;
}

static bool is_same_text(const struct dir_cluster *a, const struct dir_cluster *b) {
    if (a->fragments_count != b->fragments_count || !str_eq(a->reason_partial, b->reason_partial))
        return false;
    for (size_t i = 0; i < a->fragments_count; i++)
        if (a->fragments[i].mask != b->fragments[i].mask || a->fragments[i].len != b->fragments[i].len ||
            memcmp(a->fragments[i].json, b->fragments[i].json, a->fragments[i].len))
            return false;
    return true;
}

bool dir_cluster_is_as_due(const struct dir_cluster *a, const struct dir_cluster *b) {
    return a->is_stale == b->is_stale && a->is_reported == b->is_reported && a->evidence == b->evidence;
}

const char *dir_cluster_difference(const struct dir_cluster *a, const struct dir_cluster *b) {
    const struct cluster x = view_stored(a), y = view_stored(b);
    const char *member = cluster_difference(&x, &y);
    if (member)
        return member;
    return dir_cluster_is_as_due(a, b) && !is_same_text(a, b) ? "text" : NULL;
}

int64_t dir_cluster_stale_ms(const struct dir_cluster *entry, const struct dir_basis *basis) {
    if (!entry->is_reported || basis->stale_after_ms <= 0)
        return INT64_MAX;
    return atomic_load(&entry->times->reported_ms) + basis->stale_after_ms + 1;
}

bool dir_cluster_is_due(const struct dir_cluster *entry, const struct dir_basis *basis, bool with_evidence) {
    const bool is_stale = basis->wall_ms >= dir_cluster_stale_ms(entry, basis);
    return is_stale != entry->is_stale || (with_evidence && mark_evidence(entry->record, basis) != entry->evidence);
}

/* Moves a time forward, never back. */
static void move_forward(atomic_llong *time, int64_t to_ms) {
    long long was = atomic_load(time);
    while (was < to_ms && !atomic_compare_exchange_weak(time, &was, to_ms))
        continue;
}

void dir_cluster_note_report(const struct dir_cluster *entry, int64_t at_ms) {
    move_forward(&entry->times->reported_ms, at_ms);
}

void dir_cluster_note_saved(const struct dir_cluster *entry, int64_t at_ms) {
    move_forward(&entry->times->reported_ms, at_ms);
    move_forward(&entry->times->saved_ms, at_ms);
}
