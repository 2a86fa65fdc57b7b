/* The in-memory list as one immutable snapshot: building and life time. Layer 3 (directory). Look-ups are lookup.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshot_next.h"

#include <stdlib.h>
#include <string.h>

struct dir_snapshot *dir_snapshot_ref(struct dir_snapshot *snapshot) {
    (void)atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
    return snapshot;
}

static struct dir_platform *dir_platform_ref(struct dir_platform *platform) {
    (void)atomic_fetch_add_explicit(&platform->refs, 1, memory_order_relaxed);
    return platform;
}

/* True if this was the last reference. */
static bool drop(atomic_uint *refs) {
    return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

void dir_platform_unref(struct dir_platform *platform) {
    if (!platform || !drop(&platform->refs))
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
    free(platform->grants);
    free(platform->services);
    free(platform);
}

void dir_snapshot_unref(struct dir_snapshot *snapshot) {
    if (!snapshot || !drop(&snapshot->refs))
        return;
    for (size_t i = 0; i < snapshot->clusters_count; i++)
        dir_cluster_unref(snapshot->clusters[i]);
    dir_platform_unref(snapshot->platform);
    free(snapshot->clusters);
    free(snapshot->by_vsphere);
    free(snapshot->by_id);
    free(snapshot->positions);
    free(snapshot);
}

static int compare_vcenters(const void *a, const void *b) {
    return strcmp(((const struct vcenter *)a)->id, ((const struct vcenter *)b)->id);
}

static int compare_vsphere(const void *a, const void *b) {
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
static void sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    if (count > 1)
        qsort(items, count, size, compare);
}

static int compare_hx_ids(const void *a, const void *b, void *arg) {
    const struct dir_platform *p = arg;
    return strcmp(p->hx[*(const size_t *)a].id, p->hx[*(const size_t *)b].id);
}

static int index_hx(struct dir_platform *p, struct err *err) {
    p->hx_by_id = calloc(p->hx_count + 1, sizeof(*p->hx_by_id));
    if (!p->hx_by_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < p->hx_count; i++)
        p->hx_by_id[i] = i;
    if (p->hx_count > 1)
        qsort_r(p->hx_by_id, p->hx_count, sizeof(*p->hx_by_id), compare_hx_ids, p);
    return 0;
}

int dir_platform_link(struct dir_platform *p, struct err *err) {
    sort(p->vcenters, p->vcenters_count, sizeof(*p->vcenters), compare_vcenters);
    sort(p->vsphere, p->vsphere_count, sizeof(*p->vsphere), compare_vsphere);
    sort(p->hx, p->hx_count, sizeof(*p->hx), compare_hx);
    sort(p->grants, p->grants_count, sizeof(*p->grants), compare_grants);
    p->hx_of_vsphere = calloc(p->vsphere_count + 1, sizeof(*p->hx_of_vsphere));
    if (!p->hx_of_vsphere)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < p->vsphere_count; i++)
        p->hx_of_vsphere[i] = SIZE_MAX;
    for (size_t i = 0; i < p->hx_count; i++) {
        const struct vsphere_cluster *on = dir_find_vsphere(p, &p->hx[i].vsphere_cluster);
        if (on)
            p->hx_of_vsphere[on - p->vsphere] = i;
    }
    return index_hx(p, err);
}

int dir_compare_by_name(const void *a, const void *b) {
    const struct cluster *x = (*(struct dir_cluster *const *)a)->record, *y = (*(struct dir_cluster *const *)b)->record;
    int by_name = strcmp(x->name, y->name);
    return by_name ? by_name : strcmp(x->id, y->id);
}

static int compare_by_id(const void *a, const void *b, void *arg) {
    const struct dir_snapshot *s = arg;
    return strcmp(s->clusters[*(const uint32_t *)a]->record->id, s->clusters[*(const uint32_t *)b]->record->id);
}

/* Calls fn for each (cluster position, vSphere position) pair in cluster order. */
static void each_placement(struct dir_snapshot *s, void (*fn)(struct dir_snapshot *, uint32_t, size_t)) {
    for (uint32_t i = 0; i < s->clusters_count; i++) {
        const struct object_set *placed = &s->clusters[i]->record->placement;
        for (size_t j = 0; j < placed->count; j++) {
            const struct vsphere_cluster *on = dir_find_vsphere(s->platform, &placed->items[j]);
            if (on)
                fn(s, i, (size_t)(on - s->platform->vsphere));
        }
    }
}

static void count_one(struct dir_snapshot *s, uint32_t cluster, size_t vsphere) {
    (void)cluster;
    s->by_vsphere[vsphere].count++;
}

static void place_one(struct dir_snapshot *s, uint32_t cluster, size_t vsphere) {
    struct dir_index *index = &s->by_vsphere[vsphere];
    index->positions[index->count++] = cluster;
}

static int index_placements(struct dir_snapshot *s, struct err *err) {
    size_t total = 0;
    s->by_vsphere = calloc(s->platform->vsphere_count + 1, sizeof(*s->by_vsphere));
    if (!s->by_vsphere)
        return err_set(err, ERR_NOMEM, "out of memory");
    each_placement(s, count_one);
    for (size_t i = 0; i < s->platform->vsphere_count; i++)
        total += s->by_vsphere[i].count;
    s->positions = calloc(total + 1, sizeof(*s->positions));
    if (!s->positions)
        return err_set(err, ERR_NOMEM, "out of memory");
    total = 0;
    for (size_t i = 0; i < s->platform->vsphere_count; i++) {
        s->by_vsphere[i].positions = s->positions + total;
        total += s->by_vsphere[i].count;
        s->by_vsphere[i].count = 0;
    }
    each_placement(s, place_one);
    return 0;
}

static int index_ids(struct dir_snapshot *s, struct err *err) {
    s->by_id = calloc(s->clusters_count + 1, sizeof(*s->by_id));
    if (!s->by_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < s->clusters_count; i++)
        s->by_id[i] = i;
    if (s->clusters_count > 1)
        qsort_r(s->by_id, s->clusters_count, sizeof(*s->by_id), compare_by_id, s);
    return 0;
}

struct dir_snapshot *dir_snapshot_begin(struct dir_platform *platform, size_t count) {
    static atomic_ullong generations;
    struct dir_snapshot *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    atomic_init(&s->refs, 1);
    s->generation = atomic_fetch_add(&generations, 1) + 1;
    s->platform = dir_platform_ref(platform);
    s->clusters = calloc(count + 1, sizeof(struct dir_cluster *));
    if (s->clusters)
        return s;
    dir_snapshot_unref(s);
    return NULL;
}

int dir_snapshot_new(struct dir_platform *platform, struct dir_cluster *const *entries, size_t count, struct dir_snapshot **out,
                     struct err *err) {
    _cleanup_(dir_snapshot_unref) struct dir_snapshot *s = dir_snapshot_begin(platform, count);
    int rc;

    if (!s)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (; s->clusters_count < count; s->clusters_count++) {
        s->clusters[s->clusters_count] = dir_cluster_ref(entries[s->clusters_count]);
        s->nodes_count += entries[s->clusters_count]->record->nodes_count;
    }
    sort(s->clusters, count, sizeof(struct dir_cluster *), dir_compare_by_name);
    rc = index_placements(s, err);
    if (!rc)
        rc = index_ids(s, err);
    if (rc)
        return rc;
    *out = STEAL(s);
    return 0;
}
