/* The snapshot that follows another one: the orders of the old one with a few entries taken out and put in. Layer 3 (directory).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sorting and looking up 20,000 clusters anew takes some 40 ms; copying three arrays takes one. */
#include "snapshot_next.h"

#include <stdlib.h>
#include <string.h>

#define GONE UINT32_MAX

/* An added entry on its way: where it goes in the orders by name and by id, and its place in the new one. */
struct arrival {
    struct dir_cluster *entry;
    size_t before;     /* it goes before this position of the old order */
    uint32_t position; /* in the new order by name */
};

/* An added entry on one vSphere cluster. */
struct landing {
    size_t vsphere;
    uint32_t position;
};

struct merge {
    const struct dir_snapshot *old;
    const struct dir_delta *delta;
    struct dir_snapshot *made;
    uint32_t *moved_to; /* for each old position the new one, or GONE */
    struct arrival *arrivals;
    struct landing *landings; /* in order of vSphere cluster, then position */
    size_t landings_count;
};

static void merge_done(struct merge *m) {
    free(m->moved_to);
    free(m->arrivals);
    free(m->landings);
    dir_snapshot_unref(m->made);
}

static int compare_arrival_names(const void *a, const void *b) {
    return dir_compare_by_name(&((const struct arrival *)a)->entry, &((const struct arrival *)b)->entry);
}

static int compare_arrival_ids(const void *a, const void *b) {
    return strcmp(((const struct arrival *)a)->entry->record->id, ((const struct arrival *)b)->entry->record->id);
}

static int compare_landings(const void *a, const void *b) {
    const struct landing *x = a, *y = b;
    if (x->vsphere != y->vsphere)
        return x->vsphere < y->vsphere ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* The first old position whose cluster comes after this one by name. */
static size_t find_by_name(const struct dir_snapshot *old, struct dir_cluster *entry) {
    size_t low = 0, high = old->clusters_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (dir_compare_by_name(&old->clusters[mid], &entry) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static size_t find_by_id(const struct dir_snapshot *old, const struct dir_cluster *entry) {
    size_t low = 0, high = old->clusters_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(old->clusters[old->by_id[mid]]->record->id, entry->record->id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void land(struct merge *m, struct arrival *a) {
    a->position = (uint32_t)m->made->clusters_count;
    m->made->clusters[m->made->clusters_count++] = dir_cluster_ref(a->entry);
}

static void join_names(struct merge *m) {
    const struct dir_snapshot *old = m->old;
    size_t next = 0;
    for (size_t i = 0; i < m->delta->added_count; i++)
        m->arrivals[i].before = find_by_name(old, m->arrivals[i].entry);
    for (size_t i = 0; i < old->clusters_count; i++) {
        while (next < m->delta->added_count && m->arrivals[next].before <= i)
            land(m, &m->arrivals[next++]);
        m->moved_to[i] = m->delta->is_removed[i] ? GONE : (uint32_t)m->made->clusters_count;
        if (!m->delta->is_removed[i])
            m->made->clusters[m->made->clusters_count++] = dir_cluster_ref(old->clusters[i]);
    }
    while (next < m->delta->added_count)
        land(m, &m->arrivals[next++]);
}

/* The arrivals must be in order of id. */
static void join_ids(struct merge *m) {
    const struct dir_snapshot *old = m->old;
    size_t next = 0, at = 0;
    for (size_t i = 0; i < m->delta->added_count; i++)
        m->arrivals[i].before = find_by_id(old, m->arrivals[i].entry);
    for (size_t i = 0; i < old->clusters_count; i++) {
        const uint32_t position = m->moved_to[old->by_id[i]];
        while (next < m->delta->added_count && m->arrivals[next].before <= i)
            m->made->by_id[at++] = m->arrivals[next++].position;
        if (position != GONE)
            m->made->by_id[at++] = position;
    }
    while (next < m->delta->added_count)
        m->made->by_id[at++] = m->arrivals[next++].position;
}

/* Where the arrivals are placed. */
static int find_landings(struct merge *m, struct err *err) {
    const struct dir_platform *p = m->made->platform;
    size_t room = 0;
    for (size_t i = 0; i < m->delta->added_count; i++)
        room += m->arrivals[i].entry->record->placement.count;
    m->landings = calloc(room + 1, sizeof(*m->landings));
    if (!m->landings)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < m->delta->added_count; i++) {
        const struct object_set *placed = &m->arrivals[i].entry->record->placement;
        for (size_t j = 0; j < placed->count; j++) {
            const struct vsphere_cluster *on = dir_find_vsphere(p, &placed->items[j]);
            if (on)
                m->landings[m->landings_count++] = (struct landing){(size_t)(on - p->vsphere), m->arrivals[i].position};
        }
    }
    if (m->landings_count > 1)
        qsort(m->landings, m->landings_count, sizeof(*m->landings), compare_landings);
    return 0;
}

/* One vSphere cluster: the old positions, moved, and those that landed there; both are in order. Returns the next landing. */
static size_t join_placed(struct merge *m, size_t vsphere, uint32_t *out, size_t next) {
    const struct dir_index *was = &m->old->by_vsphere[vsphere];
    struct dir_index *is = &m->made->by_vsphere[vsphere];
    is->positions = out;
    for (size_t i = 0; i < was->count; i++) {
        const uint32_t position = m->moved_to[was->positions[i]];
        if (position == GONE)
            continue;
        while (next < m->landings_count && m->landings[next].vsphere == vsphere && m->landings[next].position < position)
            is->positions[is->count++] = m->landings[next++].position;
        is->positions[is->count++] = position;
    }
    while (next < m->landings_count && m->landings[next].vsphere == vsphere)
        is->positions[is->count++] = m->landings[next++].position;
    return next;
}

static int join_placements(struct merge *m, struct err *err) {
    const size_t count = m->made->platform->vsphere_count;
    size_t room = 0, at = 0, next = 0;
    int rc = find_landings(m, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        room += m->old->by_vsphere[i].count;
    m->made->by_vsphere = calloc(count + 1, sizeof(*m->made->by_vsphere));
    m->made->positions = calloc(room + m->landings_count + 1, sizeof(*m->made->positions));
    if (!m->made->by_vsphere || !m->made->positions)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        next = join_placed(m, i, m->made->positions + at, next);
        at += m->made->by_vsphere[i].count;
    }
    return 0;
}

static int prepare(struct merge *m, struct err *err) {
    m->moved_to = calloc(m->old->clusters_count + 1, sizeof(*m->moved_to));
    m->arrivals = calloc(m->delta->added_count + 1, sizeof(*m->arrivals));
    if (!m->made || !m->moved_to || !m->arrivals)
        return err_set(err, ERR_NOMEM, "out of memory");
    m->made->by_id = calloc(m->old->clusters_count + m->delta->added_count + 1, sizeof(*m->made->by_id));
    if (!m->made->by_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < m->delta->added_count; i++)
        m->arrivals[i].entry = m->delta->added[i];
    return 0;
}

static void sort_arrivals(struct merge *m, int (*compare)(const void *, const void *)) {
    if (m->delta->added_count > 1)
        qsort(m->arrivals, m->delta->added_count, sizeof(*m->arrivals), compare);
}

static void count_nodes(struct merge *m) {
    m->made->nodes_count = m->old->nodes_count;
    for (size_t i = 0; i < m->old->clusters_count; i++)
        if (m->delta->is_removed[i])
            m->made->nodes_count -= m->old->clusters[i]->record->nodes_count;
    for (size_t i = 0; i < m->delta->added_count; i++)
        m->made->nodes_count += m->delta->added[i]->record->nodes_count;
}

static int merge(struct merge *m, struct err *err) {
    int rc = prepare(m, err);
    if (rc)
        return rc;
    sort_arrivals(m, compare_arrival_names);
    join_names(m);
    sort_arrivals(m, compare_arrival_ids);
    join_ids(m);
    count_nodes(m);
    return join_placements(m, err);
}

/* Do positions in vsphere[] mean the same? */
static bool is_same_ground(const struct dir_platform *a, const struct dir_platform *b) {
    if (a == b)
        return true;
    if (a->vsphere_count != b->vsphere_count)
        return false;
    for (size_t i = 0; i < a->vsphere_count; i++)
        if (!object_ref_eq(&a->vsphere[i].ref, &b->vsphere[i].ref))
            return false;
    return true;
}

/* All entries of the delta and of what is kept, sorted and looked up anew. */
static int build_anew(const struct dir_snapshot *old, struct dir_platform *platform, const struct dir_delta *delta,
                      struct dir_snapshot **out, struct err *err) {
    _cleanup_free_ struct dir_cluster **entries =
        calloc(old->clusters_count + delta->added_count + 1, sizeof(struct dir_cluster *));
    size_t count = 0;
    if (!entries)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < old->clusters_count; i++)
        if (!delta->is_removed[i])
            entries[count++] = old->clusters[i];
    for (size_t i = 0; i < delta->added_count; i++)
        entries[count++] = delta->added[i];
    return dir_snapshot_new(platform, entries, count, out, err);
}

int dir_snapshot_next(const struct dir_snapshot *old, struct dir_platform *platform, const struct dir_delta *delta,
                      struct dir_snapshot **out, struct err *err) {
    struct merge m = {.old = old, .delta = delta};
    int rc;
    if (!is_same_ground(old->platform, platform))
        return build_anew(old, platform, delta, out, err);
    m.made = dir_snapshot_begin(platform, old->clusters_count + delta->added_count);
    rc = merge(&m, err);
    if (!rc)
        *out = STEAL(m.made);
    merge_done(&m);
    return rc;
}
