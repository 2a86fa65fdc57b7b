/* The in-memory list as one immutable snapshot: life time, building, look-ups. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"

struct inventory_cluster *inventory_cluster_ref(struct inventory_cluster *cluster) {
    (void)atomic_fetch_add_explicit(&cluster->refs, 1, memory_order_relaxed);
    return cluster;
}

void inventory_cluster_unref(struct inventory_cluster *cluster) {
    if (!cluster || atomic_fetch_sub_explicit(&cluster->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < cluster->fragments_count; i++)
        free(cluster->fragments[i].json);
    free(cluster->fragments);
    free(cluster->reason_partial);
    free(cluster->search_text);
    free(cluster->times);
    free(cluster->stated.reason);
    free(cluster->stated.source);
    free(cluster->stated.by);
    free(cluster->stated.placement_source);
    object_set_done(&cluster->stated.placement);
    cluster_free(cluster->record);
    free(cluster);
}

struct inventory_snapshot *inventory_snapshot_ref(struct inventory_snapshot *snapshot) {
    (void)atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
    return snapshot;
}

/* True if this was the last reference. */
static bool snapshot_drop(atomic_uint *refs) {
    return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

void inventory_platform_unref(struct inventory_platform *platform) {
    if (!platform || !snapshot_drop(&platform->refs))
        return;
    for (size_t i = 0; i < platform->vcenters_count; i++)
        vcenter_done(&platform->vcenters[i]);
    for (size_t i = 0; i < platform->vsphere_count; i++)
        vsphere_cluster_done(&platform->vsphere[i]);
    for (size_t i = 0; i < platform->hx_count; i++)
        hx_cluster_done(&platform->hx[i]);
    for (size_t i = 0; i < platform->grants_count; i++)
        grant_done(&platform->grants[i]);
    for (size_t i = 0; i < platform->services_count; i++)
        service_account_done(&platform->services[i]);
    free(platform->vcenters);
    free(platform->vsphere);
    free(platform->hx);
    free(platform->hx_of_vsphere);
    free(platform->hx_by_id);
    hx_alias_list_done(&platform->hx_aliases);
    free(platform->grants);
    free(platform->services);
    free(platform);
}

void inventory_snapshot_unref(struct inventory_snapshot *snapshot) {
    if (!snapshot || !snapshot_drop(&snapshot->refs))
        return;
    for (size_t i = 0; i < snapshot->clusters_count; i++)
        inventory_cluster_unref(snapshot->clusters[i]);
    inventory_platform_unref(snapshot->platform);
    free(snapshot->clusters);
    free(snapshot->by_vsphere);
    free(snapshot->by_id);
    free(snapshot->positions);
    free(snapshot);
}

static int snapshot_compare_vcenters(const void *a, const void *b) {
    return strcmp(((const struct vcenter *)a)->id, ((const struct vcenter *)b)->id);
}

static int snapshot_compare_vsphere(const void *a, const void *b) {
    return object_ref_compare(&((const struct vsphere_cluster *)a)->ref, &((const struct vsphere_cluster *)b)->ref);
}

static int compare_hx(const void *a, const void *b) {
    const struct hx_cluster *x = a, *y = b;
    int by_name = strcmp(x->name, y->name);
    return by_name ? by_name : strcmp(x->id, y->id);
}

static int compare_grants(const void *a, const void *b) {
    return grant_compare(a, b);
}

/* qsort must not get a NULL array, which an empty one is. */
static void snapshot_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    if (count > 1)
        qsort(items, count, size, compare);
}

static int compare_hx_ids(const void *a, const void *b, void *arg) {
    const struct inventory_platform *p = arg;
    return strcmp(p->hx[*(const size_t *)a].id, p->hx[*(const size_t *)b].id);
}

static int index_hx(struct inventory_platform *p, struct err *err) {
    p->hx_by_id = calloc(p->hx_count + 1, sizeof(*p->hx_by_id));
    if (!p->hx_by_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < p->hx_count; i++)
        p->hx_by_id[i] = i;
    if (p->hx_count > 1)
        qsort_r(p->hx_by_id, p->hx_count, sizeof(*p->hx_by_id), compare_hx_ids, p);
    return 0;
}

int inventory_platform_link(struct inventory_platform *p, struct err *err) {
    snapshot_sort(p->vcenters, p->vcenters_count, sizeof(*p->vcenters), snapshot_compare_vcenters);
    snapshot_sort(p->vsphere, p->vsphere_count, sizeof(*p->vsphere), snapshot_compare_vsphere);
    snapshot_sort(p->hx, p->hx_count, sizeof(*p->hx), compare_hx);
    snapshot_sort(p->grants, p->grants_count, sizeof(*p->grants), compare_grants);
    p->hx_of_vsphere = calloc(p->vsphere_count + 1, sizeof(*p->hx_of_vsphere));
    if (!p->hx_of_vsphere)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < p->vsphere_count; i++)
        p->hx_of_vsphere[i] = SIZE_MAX;
    for (size_t i = 0; i < p->hx_count; i++) {
        const struct vsphere_cluster *on = inventory_find_vsphere(p, &p->hx[i].vsphere_cluster);
        if (on)
            p->hx_of_vsphere[on - p->vsphere] = i;
    }
    return index_hx(p, err);
}

/* The order of clusters[]. */
static int snapshot_compare_by_name(const void *a, const void *b) {
    const struct cluster *x = (*(struct inventory_cluster *const *)a)->record,
                         *y = (*(struct inventory_cluster *const *)b)->record;
    int by_name = strcmp(x->name, y->name);
    return by_name ? by_name : strcmp(x->id, y->id);
}

/* A snapshot without clusters that has room for `count` of them; one reference, of the platform too. NULL: out of memory. */
static struct inventory_snapshot *snapshot_begin(struct inventory_platform *platform, size_t count) {
    static atomic_ullong generations;
    struct inventory_snapshot *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    atomic_init(&s->refs, 1);
    s->generation = atomic_fetch_add(&generations, 1) + 1;
    (void)atomic_fetch_add_explicit(&platform->refs, 1, memory_order_relaxed);
    s->platform = platform;
    s->clusters = calloc(count + 1, sizeof(struct inventory_cluster *));
    if (s->clusters)
        return s;
    inventory_snapshot_unref(s);
    return NULL;
}

/* -- building: the orders of the snapshot before, with a few entries taken out and put in; of none, the first time ---------- */

/* Sorting and looking up 20,000 clusters anew takes some 40 ms; copying three arrays takes one. */

#define GONE UINT32_MAX

/* An added entry on its way: where it goes in the orders by name and by id, and its place in the new one. */
struct arrival {
    struct inventory_cluster *entry;
    size_t before;     /* it goes before this position of the old order */
    uint32_t position; /* in the new order by name */
};

/* An added entry on one vSphere cluster. */
struct landing {
    size_t vsphere;
    uint32_t position;
};

struct merge {
    const struct inventory_snapshot *old;
    const struct inventory_delta *delta;
    struct inventory_snapshot *made;
    uint32_t *moved_to; /* for each old position the new one, or GONE */
    struct arrival *arrivals;
    struct landing *landings; /* in order of vSphere cluster, then position */
    size_t landings_count;
};

static void snapshot_merge_done(struct merge *m) {
    free(m->moved_to);
    free(m->arrivals);
    free(m->landings);
    inventory_snapshot_unref(m->made);
}

static int compare_arrival_names(const void *a, const void *b) {
    return snapshot_compare_by_name(&((const struct arrival *)a)->entry, &((const struct arrival *)b)->entry);
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

static void snapshot_land(struct merge *m, struct arrival *a) {
    a->position = (uint32_t)m->made->clusters_count;
    m->made->clusters[m->made->clusters_count++] = inventory_cluster_ref(a->entry);
}

static void join_names(struct merge *m) {
    const struct inventory_snapshot *old = m->old;
    size_t next = 0;
    for (size_t i = 0; i < m->delta->added_count; i++)
        m->arrivals[i].before =
            LOWER_BOUND(old->clusters_count, at, snapshot_compare_by_name(&old->clusters[at], &m->arrivals[i].entry) < 0);
    for (size_t i = 0; i < old->clusters_count; i++) {
        while (next < m->delta->added_count && m->arrivals[next].before <= i)
            snapshot_land(m, &m->arrivals[next++]);
        m->moved_to[i] = m->delta->is_removed[i] ? GONE : (uint32_t)m->made->clusters_count;
        if (!m->delta->is_removed[i])
            m->made->clusters[m->made->clusters_count++] = inventory_cluster_ref(old->clusters[i]);
    }
    while (next < m->delta->added_count)
        snapshot_land(m, &m->arrivals[next++]);
}

/* The arrivals must be in order of id. */
static void join_ids(struct merge *m) {
    const struct inventory_snapshot *old = m->old;
    size_t next = 0, at = 0;
    for (size_t i = 0; i < m->delta->added_count; i++)
        m->arrivals[i].before = LOWER_BOUND(
            old->clusters_count, k, strcmp(old->clusters[old->by_id[k]]->record->id, m->arrivals[i].entry->record->id) < 0);
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
    const struct inventory_platform *p = m->made->platform;
    size_t room = 0;
    for (size_t i = 0; i < m->delta->added_count; i++)
        room += m->arrivals[i].entry->record->placement.count;
    m->landings = calloc(room + 1, sizeof(*m->landings));
    if (!m->landings)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < m->delta->added_count; i++) {
        const struct object_set *placed = &m->arrivals[i].entry->record->placement;
        for (size_t j = 0; j < placed->count; j++) {
            const struct vsphere_cluster *on = inventory_find_vsphere(p, &placed->items[j]);
            if (on)
                m->landings[m->landings_count++] = (struct landing){(size_t)(on - p->vsphere), m->arrivals[i].position};
        }
    }
    snapshot_sort(m->landings, m->landings_count, sizeof(*m->landings), compare_landings);
    return 0;
}

/* One vSphere cluster: the old positions, moved, and those that landed there; both are in order. Returns the next landing. */
static size_t join_placed(struct merge *m, size_t vsphere, uint32_t *out, size_t next) {
    const struct inventory_index was = m->old->clusters_count ? m->old->by_vsphere[vsphere] : (struct inventory_index){0};
    struct inventory_index *is = &m->made->by_vsphere[vsphere];
    is->positions = out;
    for (size_t i = 0; i < was.count; i++) {
        const uint32_t position = m->moved_to[was.positions[i]];
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
    for (size_t i = 0; m->old->clusters_count && i < count; i++)
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

static int snapshot_prepare(struct merge *m, struct err *err) {
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

static void count_nodes(struct merge *m) {
    m->made->nodes_count = m->old->nodes_count;
    for (size_t i = 0; i < m->old->clusters_count; i++)
        if (m->delta->is_removed[i])
            m->made->nodes_count -= m->old->clusters[i]->record->nodes_count;
    for (size_t i = 0; i < m->delta->added_count; i++)
        m->made->nodes_count += m->delta->added[i]->record->nodes_count;
}

static int snapshot_merge_into(struct merge *m, struct err *err) {
    int rc = snapshot_prepare(m, err);
    if (rc)
        return rc;
    snapshot_sort(m->arrivals, m->delta->added_count, sizeof(*m->arrivals), compare_arrival_names);
    join_names(m);
    snapshot_sort(m->arrivals, m->delta->added_count, sizeof(*m->arrivals), compare_arrival_ids);
    join_ids(m);
    count_nodes(m);
    return join_placements(m, err);
}

/* The vSphere clusters of `platform` must be those of the old one, unless that is empty. */
static int snapshot_merge(const struct inventory_snapshot *old, struct inventory_platform *platform,
                          const struct inventory_delta *delta, struct inventory_snapshot **out, struct err *err) {
    struct merge m = {.old = old, .delta = delta, .made = snapshot_begin(platform, old->clusters_count + delta->added_count)};
    int rc = snapshot_merge_into(&m, err);
    if (!rc)
        *out = STEAL(m.made);
    snapshot_merge_done(&m);
    return rc;
}

int inventory_snapshot_new(struct inventory_platform *platform, struct inventory_cluster *const *entries, size_t count,
                           struct inventory_snapshot **out, struct err *err) {
    static const struct inventory_snapshot empty;
    return snapshot_merge(&empty, platform, &(struct inventory_delta){.added = entries, .added_count = count}, out, err);
}

/* Do positions in vsphere[] mean the same? */
static bool is_same_ground(const struct inventory_platform *a, const struct inventory_platform *b) {
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
static int build_anew(const struct inventory_snapshot *old, struct inventory_platform *platform,
                      const struct inventory_delta *delta, struct inventory_snapshot **out, struct err *err) {
    _cleanup_free_ struct inventory_cluster **entries =
        calloc(old->clusters_count + delta->added_count + 1, sizeof(struct inventory_cluster *));
    size_t count = 0;
    if (!entries)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < old->clusters_count; i++)
        if (!delta->is_removed[i])
            entries[count++] = old->clusters[i];
    for (size_t i = 0; i < delta->added_count; i++)
        entries[count++] = delta->added[i];
    return inventory_snapshot_new(platform, entries, count, out, err);
}

int inventory_snapshot_next(const struct inventory_snapshot *old, struct inventory_platform *platform,
                            const struct inventory_delta *delta, struct inventory_snapshot **out, struct err *err) {
    if (!is_same_ground(old->platform, platform))
        return build_anew(old, platform, delta, out, err);
    return snapshot_merge(old, platform, delta, out, err);
}

/* -- look-ups: by id, by name -------------------------------------------------------------------------------------- */

size_t inventory_find_position(const struct inventory_snapshot *s, const char *id) {
    const size_t i = LOWER_BOUND(s->clusters_count, at, strcmp(s->clusters[s->by_id[at]]->record->id, id) < 0);
    return i < s->clusters_count && str_eq(s->clusters[s->by_id[i]]->record->id, id) ? s->by_id[i] : SIZE_MAX;
}

const struct inventory_cluster *inventory_find_cluster(const struct inventory_snapshot *s, const char *id) {
    const size_t position = inventory_find_position(s, id);
    return position == SIZE_MAX ? NULL : s->clusters[position];
}

const struct inventory_cluster *inventory_find_cluster_by_name(const struct inventory_snapshot *s, const char *name) {
    const size_t i = LOWER_BOUND(s->clusters_count, at, strcmp(s->clusters[at]->record->name, name) < 0);
    return i < s->clusters_count && str_eq(s->clusters[i]->record->name, name) ? s->clusters[i] : NULL;
}

const struct vcenter *inventory_find_vcenter(const struct inventory_platform *platform, const char *id) {
    for (size_t i = 0; i < platform->vcenters_count; i++)
        if (str_eq(platform->vcenters[i].id, id))
            return &platform->vcenters[i];
    return NULL;
}

const struct vsphere_cluster *inventory_find_vsphere(const struct inventory_platform *p, const struct object_ref *ref) {
    const size_t i = LOWER_BOUND(p->vsphere_count, at, object_ref_compare(&p->vsphere[at].ref, ref) < 0);
    return i < p->vsphere_count && object_ref_eq(&p->vsphere[i].ref, ref) ? &p->vsphere[i] : NULL;
}

const struct hx_cluster *inventory_find_hx(const struct inventory_platform *p, const char *id) {
    const size_t i = LOWER_BOUND(p->hx_count, at, strcmp(p->hx[p->hx_by_id[at]].id, id) < 0);
    return i < p->hx_count && str_eq(p->hx[p->hx_by_id[i]].id, id) ? &p->hx[p->hx_by_id[i]] : NULL;
}

const char *inventory_get_hx_id(const struct inventory_platform *p, const char *id) {
    const struct hx_alias *items = p->hx_aliases.items;
    const size_t i = LOWER_BOUND(p->hx_aliases.count, at, strcmp(items[at].id, id) < 0);
    return i < p->hx_aliases.count && str_eq(items[i].id, id) ? items[i].hx_id : id;
}

const struct service_account *inventory_find_service(const struct inventory_platform *p, const char *id) {
    const size_t i = LOWER_BOUND(p->services_count, at, strcmp(p->services[at].id, id) < 0);
    return i < p->services_count && str_eq(p->services[i].id, id) ? &p->services[i] : NULL;
}

const struct grant *inventory_find_grant(const struct inventory_platform *p, const struct grant *like) {
    const size_t i = LOWER_BOUND(p->grants_count, at, grant_compare(&p->grants[at], like) < 0);
    return i < p->grants_count && !grant_compare(&p->grants[i], like) ? &p->grants[i] : NULL;
}

size_t inventory_first_vsphere(const struct inventory_platform *platform, const char *vcenter_id) {
    return LOWER_BOUND(platform->vsphere_count, at, strcmp(platform->vsphere[at].ref.vcenter_id, vcenter_id) < 0);
}

const struct hx_cluster *inventory_find_hx_on(const struct inventory_platform *platform, const struct object_ref *ref) {
    const struct vsphere_cluster *on = inventory_find_vsphere(platform, ref);
    size_t index = on ? platform->hx_of_vsphere[on - platform->vsphere] : SIZE_MAX;
    return index == SIZE_MAX ? NULL : &platform->hx[index];
}

bool inventory_hx_is_called(const struct inventory_platform *platform, const struct hx_cluster *hx, const char *reference) {
    const struct vsphere_cluster *on = inventory_find_vsphere(platform, &hx->vsphere_cluster);
    return str_eq(hx->name, reference) || str_eq(hx->hx_uuid, reference) || str_eq_nocase(hx->connection_address, reference) ||
           str_eq_nocase(hx->address, reference) || (on && vsphere_cluster_has_path(on, reference));
}
