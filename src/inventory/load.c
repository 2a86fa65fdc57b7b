/* From database rows to a snapshot. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_store.h"
#include "grant_store.h"
#include "kube_facts.h"
#include "limits.h"
#include "platform_store.h"
#include "render.h"
#include "rollup.h"
#include "snapshot.h"
#include "user_store.h"
#include "str.h"
#include "vcenter_store.h"

#define SEARCH_BYTES_MAX (4U * 1024U * 1024U) /* as of a fragment: far above what the limits of limits.h allow */

static atomic_uint_least64_t last_number;

int inventory_load_platform(struct store *store, struct inventory_platform **out, struct err *err) {
    _cleanup_(inventory_platform_unref) struct inventory_platform *p = calloc(1, sizeof(*p));
    struct vcenter_list vcenters = {0};
    struct vsphere_cluster_list vsphere = {0};
    struct hx_cluster_list hx = {0};
    struct grant_list grants = {0};
    struct service_list services = {0};
    int rc;

    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory");
    atomic_init(&p->refs, 1);
    p->number = atomic_fetch_add(&last_number, 1) + 1;
    rc = vcenter_store_list(store, &vcenters, err);
    p->vcenters = vcenters.items;
    p->vcenters_count = vcenters.count;
    if (!rc)
        rc = platform_store_list_vsphere(store, NULL, &vsphere, err);
    p->vsphere = vsphere.items;
    p->vsphere_count = vsphere.count;
    if (!rc)
        rc = platform_store_list_hx(store, NULL, &hx, err);
    p->hx = hx.items;
    p->hx_count = hx.count;
    if (!rc)
        rc = platform_store_list_hx_aliases(store, &p->hx_aliases, err);
    if (!rc)
        rc = grant_store_list(store, &grants, err);
    p->grants = grants.items;
    p->grants_count = grants.count;
    if (!rc)
        rc = service_store_list(store, &services, err);
    p->services = services.items;
    p->services_count = services.count;
    if (!rc)
        rc = inventory_platform_link(p, err);
    if (rc)
        return rc;
    *out = STEAL(p);
    return 0;
}

/* Entries under construction; each holds one reference. */
struct entries {
    struct inventory_cluster **items;
    size_t count;
};

static void entries_drop(struct entries *e) {
    for (size_t i = 0; i < e->count; i++)
        inventory_cluster_unref(e->items[i]);
    e->count = 0;
}

static void entries_done(struct entries *e) {
    entries_drop(e);
    free(e->items);
    e->items = NULL;
}

/* Makes an entry of a record just read, which it takes over also on failure; a report that only memory knows of counts as well. */
static int inventory_load_make_entry(const struct inventory_loading *loading, struct cluster *record,
                                     struct inventory_cluster **out, struct err *err) {
    const struct inventory_cluster *old = loading->old ? inventory_find_cluster(loading->old, record->id) : NULL;
    const int64_t saved_at_ms = record->reported_at_ms;
    int rc;
    if (old && cluster_is_reported(record) && atomic_load(&old->times->reported_ms) > saved_at_ms)
        record->reported_at_ms = atomic_load(&old->times->reported_ms);
    rc = inventory_cluster_new(record, &loading->basis, out, err);
    if (!rc)
        atomic_store(&(*out)->times->saved_ms, saved_at_ms);
    return rc;
}

/* -- everything ------------------------------------------------------------------------------------------------------------ */

struct gathering {
    const struct inventory_loading *loading;
    bool shares_due;
    struct entries entries;
    size_t room, nodes;
};

static void begin_gathering(void *arg) {
    struct gathering *g = arg;
    entries_drop(&g->entries);
    g->nodes = 0;
}

int inventory_check_size(size_t clusters, size_t nodes, struct err *err) {
    if (clusters <= KAAS_CLUSTERS_COUNT_MAX && nodes <= KAAS_NODES_COUNT_MAX)
        return 0;
    (void)err_set(err, ERR_TOO_LARGE,
                  "the database holds more than %d Kubernetes clusters or %d nodes: that is more than kaasd serves",
                  KAAS_CLUSTERS_COUNT_MAX, KAAS_NODES_COUNT_MAX);
    return err_remedy(err, "remove clusters that are no more; nothing is left out silently");
}

/* What is as it was is shared with the snapshot before: a second copy of everything would double the memory. */
static struct inventory_cluster *inventory_load_share(const struct gathering *g, struct inventory_cluster *fresh) {
    const struct inventory_snapshot *old = g->loading->old;
    const size_t position = old ? inventory_find_position(old, fresh->record->id) : SIZE_MAX;
    struct inventory_cluster *was = position == SIZE_MAX ? NULL : old->clusters[position];
    if (!was || inventory_cluster_difference(was, fresh) || !(g->shares_due || inventory_cluster_is_as_due(was, fresh)))
        return fresh;
    inventory_cluster_unref(fresh);
    return inventory_cluster_ref(was);
}

static int inventory_load_gather(void *arg, struct cluster *record, struct err *err) {
    struct gathering *g = arg;
    struct inventory_cluster *fresh = NULL;
    int rc = inventory_check_size(g->entries.count + 1, g->nodes += record->nodes_count, err);
    if (rc) {
        cluster_free(record);
        return rc;
    }
    if (g->entries.count == g->room) {
        size_t room = g->room ? g->room * 2 : 1024;
        struct inventory_cluster **items = reallocarray(g->entries.items, room, sizeof(struct inventory_cluster *));
        if (!items) {
            cluster_free(record);
            return err_set(err, ERR_NOMEM, "out of memory");
        }
        g->entries.items = items;
        g->room = room;
    }
    rc = inventory_load_make_entry(g->loading, record, &fresh, err);
    if (!rc)
        g->entries.items[g->entries.count++] = inventory_load_share(g, fresh);
    return rc;
}

int inventory_load_clusters(const struct inventory_loading *loading, bool shares_due, struct inventory_snapshot **out,
                            struct err *err) {
    struct gathering g = {.loading = loading, .shares_due = shares_due};
    const struct cluster_sink sink = {.begin = begin_gathering, .take = inventory_load_gather, .arg = &g};
    int rc = cluster_store_each(loading->store, &sink, err);
    if (!rc)
        rc = inventory_snapshot_new(loading->basis.platform, g.entries.items, g.entries.count, out, err);
    entries_done(&g.entries);
    return rc;
}

int inventory_load_all(const struct inventory_loading *given, struct inventory_snapshot **out, struct err *err) {
    _cleanup_(inventory_platform_unref) struct inventory_platform *platform = NULL;
    struct inventory_loading loading = *given;
    int rc = inventory_load_platform(loading.store, &platform, err);
    if (rc)
        return rc;
    loading.basis.platform = platform;
    return inventory_load_clusters(&loading, false, out, err);
}

/* -- changes --------------------------------------------------------------------------------------------------------------- */

bool inventory_is_platform_change(enum change_kind kind) {
    return kind == CHANGE_VCENTER || kind == CHANGE_VSPHERE_CLUSTER || kind == CHANGE_HX_CLUSTER || kind == CHANGE_GRANT ||
           kind == CHANGE_SERVICE_ACCOUNT;
}

static int load_compare_ids(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The ids of changed clusters, sorted, borrowed from the change list. */
struct changed {
    const char **ids;
    size_t count;
    bool is_platform; /* something below the clusters changed, too */
};

static int find_changed(const struct change_list *changes, struct changed *out, struct err *err) {
    out->ids = calloc(changes->count + 1, sizeof(char *));
    if (!out->ids)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < changes->count; i++) {
        out->is_platform = out->is_platform || inventory_is_platform_change(changes->items[i].kind);
        if (changes->items[i].kind == CHANGE_CLUSTER)
            out->ids[out->count++] = changes->items[i].object_id;
    }
    if (out->count > 1)
        qsort(out->ids, out->count, sizeof(*out->ids), load_compare_ids);
    return 0;
}

/* The next snapshot in the making. */
struct making {
    const struct inventory_loading *loading;
    bool *is_removed;
    struct entries added;
};

static int inventory_load_begin_making(const struct inventory_loading *loading, size_t room, struct making *out,
                                       struct err *err) {
    *out = (struct making){.loading = loading};
    out->is_removed = calloc(loading->old->clusters_count + 1, sizeof(*out->is_removed));
    out->added.items = calloc(room + 1, sizeof(struct inventory_cluster *));
    return out->is_removed && out->added.items ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int inventory_load_end_making(const struct making *m, struct inventory_snapshot **out, struct err *err) {
    const struct inventory_delta delta = {.is_removed = m->is_removed, .added = m->added.items, .added_count = m->added.count};
    struct inventory_snapshot *made = NULL;
    int rc = inventory_snapshot_next(m->loading->old, m->loading->basis.platform, &delta, &made, err);
    if (!rc)
        rc = inventory_check_size(made->clusters_count, made->nodes_count, err);
    if (rc)
        inventory_snapshot_unref(made);
    else
        *out = made;
    return rc;
}

static void inventory_load_making_done(struct making *m) {
    entries_done(&m->added);
    free(m->is_removed);
}

static int renew_at(struct making *m, size_t position, struct err *err) {
    int rc =
        inventory_cluster_renew(m->loading->old->clusters[position], &m->loading->basis, &m->added.items[m->added.count], err);
    if (rc)
        return rc;
    m->added.count++;
    m->is_removed[position] = true;
    return 0;
}

/* What a cluster shows of the HX cluster under it, or of none. */
static bool hx_looks_the_same(const struct hx_cluster *a, const struct hx_cluster *b) {
    const bool is_none = !a || a->is_gone;
    if (is_none || !b || b->is_gone)
        return is_none == (!b || b->is_gone);
    return str_eq(a->id, b->id) && str_eq(a->name, b->name) && str_eq(hx_cluster_name_source(a), hx_cluster_name_source(b)) &&
           str_eq(a->hx_uuid, b->hx_uuid);
}

static bool looks_the_same_below(const struct inventory_loading *loading, const struct inventory_cluster *entry) {
    const struct inventory_platform *old = loading->old->platform, *fresh = loading->basis.platform;
    for (size_t i = 0; i < entry->record->placement.count; i++) {
        const struct object_ref *ref = &entry->record->placement.items[i];
        const struct vsphere_cluster *a = inventory_find_vsphere(old, ref), *b = inventory_find_vsphere(fresh, ref);
        if (!a || !b ? a != b : !str_eq(a->datacenter, b->datacenter) || !str_eq(a->name, b->name))
            return false;
        if (a && b && !hx_looks_the_same(inventory_find_hx_on(old, ref), inventory_find_hx_on(fresh, ref)))
            return false;
    }
    return true;
}

/* Clusters that show something of what lies below them that was changed. */
static int renew_above(struct making *m, struct err *err) {
    const struct inventory_snapshot *old = m->loading->old;
    for (size_t i = 0; i < old->clusters_count; i++) {
        int rc = m->is_removed[i] || looks_the_same_below(m->loading, old->clusters[i]) ? 0 : renew_at(m, i, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Reads a changed cluster; one that is gone is left out. */
static int read_changed(struct making *m, const char *id, struct err *err) {
    const struct inventory_snapshot *old = m->loading->old;
    const size_t position = inventory_find_position(old, id);
    struct cluster *record = NULL;
    struct err missing = {0};
    int rc = cluster_store_load(m->loading->store, id, &record, &missing);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &missing);
    if (position != SIZE_MAX)
        m->is_removed[position] = true;
    if (rc)
        return 0;
    rc = inventory_load_make_entry(m->loading, record, &m->added.items[m->added.count], err);
    m->added.count += !rc;
    return rc;
}

static int join_changed(const struct inventory_loading *loading, const struct changed *changed, struct inventory_snapshot **out,
                        struct err *err) {
    const bool is_other_ground = loading->basis.platform != loading->old->platform;
    const size_t room = changed->count + (is_other_ground ? loading->old->clusters_count : 0);
    struct making making;
    int rc = inventory_load_begin_making(loading, room, &making, err);
    for (size_t i = 0; i < changed->count && !rc; i++)
        if (!i || !str_eq(changed->ids[i], changed->ids[i - 1]))
            rc = read_changed(&making, changed->ids[i], err);
    if (!rc && is_other_ground)
        rc = renew_above(&making, err);
    if (!rc)
        rc = inventory_load_end_making(&making, out, err);
    inventory_load_making_done(&making);
    return rc;
}

int inventory_load_changes(const struct inventory_loading *given, const struct change_list *changes,
                           struct inventory_snapshot **out, struct err *err) {
    _cleanup_(inventory_platform_unref) struct inventory_platform *fresh = NULL;
    struct inventory_loading loading = *given;
    struct changed changed = {0};
    int rc = find_changed(changes, &changed, err);
    loading.basis.platform = given->old->platform;
    if (!rc && changed.is_platform) {
        rc = inventory_load_platform(loading.store, &fresh, err);
        loading.basis.platform = fresh;
    }
    if (!rc && (changed.is_platform || changed.count))
        rc = join_changed(&loading, &changed, out, err);
    free(changed.ids);
    return rc;
}

/* -- what is due ------------------------------------------------------------------------------------------------------------ */

/* Sets the time at which the first report grows too old, and tells whether any cluster is due now. */
static bool find_next_due(const struct inventory_loading *loading, struct inventory_due *due) {
    bool is_any = false;
    due->next_ms = INT64_MAX;
    for (size_t i = 0; i < loading->old->clusters_count; i++) {
        const struct inventory_cluster *entry = loading->old->clusters[i];
        const int64_t stale_ms = inventory_cluster_stale_ms(entry, &loading->basis);
        if (!entry->is_stale && stale_ms < due->next_ms)
            due->next_ms = stale_ms;
        is_any = is_any || inventory_cluster_is_due(entry, &loading->basis, due->is_evidence_due);
    }
    return is_any;
}

/* By id, as they were loaded: what becomes free lies together then, and can be given back. */
static int renew_due(struct making *m, struct inventory_due *due, struct err *err) {
    const struct inventory_snapshot *old = m->loading->old;
    for (size_t i = 0; i < old->clusters_count && m->added.count < due->limit; i++) {
        const size_t at = old->by_id[i];
        const bool is_due = inventory_cluster_is_due(old->clusters[at], &m->loading->basis, due->is_evidence_due);
        int rc = is_due ? renew_at(m, at, err) : 0;
        if (rc)
            return rc;
    }
    due->is_more = m->added.count == due->limit;
    return 0;
}

int inventory_load_due(const struct inventory_loading *given, struct inventory_due *due, struct inventory_snapshot **out,
                       struct err *err) {
    struct inventory_loading loading = *given;
    struct making making;
    int rc;
    loading.basis.platform = given->old->platform;
    due->is_more = false;
    if (!find_next_due(&loading, due))
        return 0;
    rc = inventory_load_begin_making(&loading, due->limit, &making, err);
    if (!rc)
        rc = renew_due(&making, due, err);
    if (!rc)
        rc = inventory_load_end_making(&making, out, err);
    inventory_load_making_done(&making);
    return rc;
}

/* -- one cluster of the list: from the record as stored to what everyone sees of it -------------------------------- */

/* Everybody who sees the cluster sees all of this. */
static int make_search_text(struct inventory_cluster *entry, struct err *err) {
    const struct cluster *c = entry->record;
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, SEARCH_BYTES_MAX);
    strbuf_addf(&text, "%s\n%s\n%s\n%s\n%s\n%s", c->name, c->id, c->kubernetes_version, cluster_state_name(c->state),
                c->api_endpoint ? c->api_endpoint : "", c->description ? c->description : "");
    for (size_t i = 0; i < c->labels_count; i++)
        strbuf_addf(&text, "\n%s=%s", c->labels[i].key, c->labels[i].value);
    rc = strbuf_check(&text, "search text of a cluster", err);
    if (rc)
        return rc;
    entry->search_text = str_dup(text.data); /* as long as it is */
    if (!entry->search_text)
        return err_set(err, ERR_NOMEM, "out of memory");
    str_lower(entry->search_text);
    return 0;
}

/* One fragment for all placements and, if there are several, one for each alone: what nearly all viewers see. */
static int inventory_load_render_all(struct inventory_cluster *entry, const struct inventory_platform *platform,
                                     struct err *err) {
    const size_t count = entry->record->placement.count;
    const size_t placements =
        count < KAAS_PLACEMENTS_PER_CLUSTER_MAX ? count : KAAS_PLACEMENTS_PER_CLUSTER_MAX; /* as a mask has bits */
    const size_t wanted = placements > 1 ? placements + 1 : 1;
    entry->fragments = calloc(wanted, sizeof(*entry->fragments));
    if (!entry->fragments)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < wanted; i++) {
        uint64_t mask = i ? UINT64_C(1) << (i - 1) : entry->full_mask;
        int rc = inventory_render_cluster(entry, platform, mask, &entry->fragments[i], err);
        if (rc)
            return rc;
        entry->fragments_count++;
    }
    return 0;
}

static bool evidence_counts(const void *arg, const char *vcenter_id) {
    const struct inventory_basis *basis = arg;
    return !basis->watch || inventory_watch_counts(basis->watch, vcenter_id, basis->mono_ms);
}

/* A number that changes with the set of nodes whose observation counts. */
static uint64_t mark_evidence(const struct cluster *c, const struct inventory_basis *basis) {
    uint64_t mark = 0;
    for (size_t i = 0; i < c->nodes_count; i++)
        if (c->nodes[i].seen && evidence_counts(basis, c->nodes[i].seen->vcenter_id))
            mark = (mark ^ (i + 1)) * UINT64_C(0x9E3779B97F4A7C15);
    return mark;
}

/* Puts what follows into the record and what is stored aside. */
static void load_adopt(struct inventory_cluster *entry, struct rollup *r) {
    struct cluster *c = entry->record;
    entry->stated = (struct inventory_stated){.state = c->state,
                                              .reason = c->state_reason,
                                              .source = c->state_source,
                                              .by = c->state_by,
                                              .since_ms = c->state_since_ms,
                                              .placement_source = c->placement_source,
                                              .control_plane_ready = c->control_plane_ready,
                                              .workers_ready = c->workers_ready,
                                              .control_plane_desired = c->control_plane_desired,
                                              .workers_desired = c->workers_desired,
                                              .placement = c->placement,
                                              .observed_at_ms = c->observed_at_ms};
    c->state = r->state;
    c->state_reason = STEAL(r->reason);
    c->state_source = STEAL(r->source);
    c->state_by = STEAL(r->by);
    c->state_since_ms = r->since_ms;
    c->placement_source = STEAL(r->placement_source);
    c->control_plane_ready = r->control_plane_ready;
    c->workers_ready = r->workers_ready;
    c->control_plane_desired = r->control_plane_desired;
    c->workers_desired = r->workers_desired;
    c->placement = r->placement;
    c->observed_at_ms = r->observed_at_ms;
    r->placement = (struct object_set){0};
    entry->reason_partial = STEAL(r->reason_partial);
    entry->down = r->down;
}

static int roll_up(struct inventory_cluster *entry, const struct inventory_basis *basis, struct err *err) {
    const struct rollup_input input = {.cluster = entry->record,
                                       .now_ms = basis->wall_ms,
                                       .report_stale_after_ms = basis->stale_after_ms,
                                       .counts = evidence_counts,
                                       .arg = basis,
                                       .asked = entry->record->kube ? &entry->record->kube->health : NULL};
    struct rollup rolled;
    int rc = rollup_make(&input, &rolled, err);
    if (rc)
        return rc;
    entry->is_reported = cluster_is_reported(entry->record);
    entry->is_stale = rolled.is_report_stale;
    entry->evidence = mark_evidence(entry->record, basis);
    load_adopt(entry, &rolled);
    rollup_done(&rolled);
    return 0;
}

int inventory_cluster_new(struct cluster *record, const struct inventory_basis *basis, struct inventory_cluster **out,
                          struct err *err) {
    _cleanup_(inventory_cluster_unref) struct inventory_cluster *entry = calloc(1, sizeof(*entry));
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
    entry->full_mask = record->placement.count >= 64 ? UINT64_MAX : (UINT64_C(1) << record->placement.count) - 1;
    rc = make_search_text(entry, err);
    if (rc)
        return rc;
    rc = inventory_load_render_all(entry, basis->platform, err);
    if (rc)
        return rc;
    *out = STEAL(entry);
    return 0;
}

/* Replaces what was rolled up in a copy of the record by copies of what is stored. */
static int load_put_back(const struct inventory_stated *from, struct cluster *c, struct err *err) {
    struct object_set placement = {0};
    int rc = object_set_copy(&from->placement, &placement, err);
    if (rc)
        return rc;
    object_set_done(&c->placement);
    c->placement = placement;
    free(c->state_reason);
    free(c->state_source);
    free(c->state_by);
    free(c->placement_source);
    c->state = from->state;
    c->control_plane_ready = from->control_plane_ready;
    c->workers_ready = from->workers_ready;
    c->control_plane_desired = from->control_plane_desired;
    c->workers_desired = from->workers_desired;
    c->observed_at_ms = from->observed_at_ms;
    c->state_reason = str_dup(from->reason);
    c->state_source = str_dup(from->source);
    c->state_by = str_dup(from->by);
    c->state_since_ms = from->since_ms;
    c->placement_source = str_dup(from->placement_source);
    if ((from->reason && !c->state_reason) || (from->source && !c->state_source) || (from->by && !c->state_by) ||
        (from->placement_source && !c->placement_source))
        return err_set(err, ERR_NOMEM, "out of memory");
    return 0;
}

int inventory_cluster_stored(const struct inventory_cluster *entry, struct cluster **out, struct err *err) {
    struct cluster *record = calloc(1, sizeof(*record));
    int rc = record ? cluster_copy(entry->record, record, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = load_put_back(&entry->stated, record, err);
    if (rc) {
        cluster_free(record);
        return rc;
    }
    if (entry->is_reported && record->reported_at_ms < atomic_load(&entry->times->reported_ms))
        record->reported_at_ms = atomic_load(&entry->times->reported_ms);
    *out = record;
    return 0;
}

int inventory_cluster_renew(const struct inventory_cluster *entry, const struct inventory_basis *basis,
                            struct inventory_cluster **out, struct err *err) {
    struct cluster *record = NULL;
    int rc = inventory_cluster_stored(entry, &record, err);
    if (!rc)
        rc = inventory_cluster_new(record, basis, out, err);
    if (rc)
        return rc;
    atomic_store(&(*out)->times->saved_ms, atomic_load(&entry->times->saved_ms));
    return 0;
}

/* The record as it is stored, all texts borrowed. */
static struct cluster view_stored(const struct inventory_cluster *entry) {
    struct cluster view = *entry->record;
    view.state = entry->stated.state;
    view.control_plane_ready = entry->stated.control_plane_ready;
    view.workers_ready = entry->stated.workers_ready;
    view.control_plane_desired = entry->stated.control_plane_desired;
    view.workers_desired = entry->stated.workers_desired;
    view.state_reason = entry->stated.reason;
    view.state_source = entry->stated.source;
    view.state_by = entry->stated.by;
    view.state_since_ms = entry->stated.since_ms;
    view.placement_source = entry->stated.placement_source;
    view.placement = entry->stated.placement;
    view.observed_at_ms = entry->stated.observed_at_ms;
    return view;
}

static bool inventory_load_is_same_text(const struct inventory_cluster *a, const struct inventory_cluster *b) {
    if (a->fragments_count != b->fragments_count || !str_eq(a->reason_partial, b->reason_partial))
        return false;
    for (size_t i = 0; i < a->fragments_count; i++)
        if (a->fragments[i].mask != b->fragments[i].mask || a->fragments[i].len != b->fragments[i].len ||
            memcmp(a->fragments[i].json, b->fragments[i].json, a->fragments[i].len))
            return false;
    return true;
}

bool inventory_cluster_is_as_due(const struct inventory_cluster *a, const struct inventory_cluster *b) {
    return a->is_stale == b->is_stale && a->is_reported == b->is_reported && a->evidence == b->evidence;
}

const char *inventory_cluster_difference(const struct inventory_cluster *a, const struct inventory_cluster *b) {
    const struct cluster x = view_stored(a), y = view_stored(b);
    const char *member = cluster_difference(&x, &y);
    if (member)
        return member;
    return inventory_cluster_is_as_due(a, b) && !inventory_load_is_same_text(a, b) ? INVENTORY_DIFFERS_IN_TEXT : NULL;
}

int64_t inventory_cluster_stale_ms(const struct inventory_cluster *entry, const struct inventory_basis *basis) {
    if (!entry->is_reported || basis->stale_after_ms <= 0)
        return INT64_MAX;
    return atomic_load(&entry->times->reported_ms) + basis->stale_after_ms + 1;
}

bool inventory_cluster_is_due(const struct inventory_cluster *entry, const struct inventory_basis *basis, bool with_evidence) {
    const bool is_stale = basis->wall_ms >= inventory_cluster_stale_ms(entry, basis);
    return is_stale != entry->is_stale || (with_evidence && mark_evidence(entry->record, basis) != entry->evidence);
}

/* Moves a time forward, never back. */
static void move_forward(atomic_llong *time, int64_t to_ms) {
    long long was = atomic_load(time);
    while (was < to_ms && !atomic_compare_exchange_weak(time, &was, to_ms))
        continue;
}

void inventory_cluster_note_report(const struct inventory_cluster *entry, int64_t at_ms) {
    move_forward(&entry->times->reported_ms, at_ms);
}

void inventory_cluster_note_saved(const struct inventory_cluster *entry, int64_t at_ms) {
    move_forward(&entry->times->reported_ms, at_ms);
    move_forward(&entry->times->saved_ms, at_ms);
}

/* -- which vCenters are being watched ------------------------------------------------------------------------------ */

void inventory_watch_done(struct inventory_watch *watch) {
    free(watch->items);
    *watch = (struct inventory_watch){0};
}

int inventory_watch_copy(const struct inventory_watch *from, struct inventory_watch *out, struct err *err) {
    struct inventory_watch copy = *from;
    copy.items = calloc(from->count + 1, sizeof(*copy.items));
    if (!copy.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (from->count)
        memcpy(copy.items, from->items, from->count * sizeof(*copy.items));
    *out = copy;
    return 0;
}

static struct inventory_watched *watched_find(const struct inventory_watch *watch, const char *vcenter_id) {
    for (size_t i = 0; i < watch->count; i++)
        if (str_eq(watch->items[i].vcenter_id, vcenter_id))
            return &watch->items[i];
    return NULL;
}

int inventory_watch_set(struct inventory_watch *watch, const char *vcenter_id, bool is_watched, int64_t now_ms, struct err *err) {
    struct inventory_watched *item = watched_find(watch, vcenter_id);
    if (!item) {
        struct inventory_watched *items = reallocarray(watch->items, watch->count + 1, sizeof(*items));
        if (!items)
            return err_set(err, ERR_NOMEM, "out of memory");
        watch->items = items;
        item = &items[watch->count++];
        *item = (struct inventory_watched){.since_ms = watch->started_ms};
        (void)snprintf(item->vcenter_id, sizeof(item->vcenter_id), "%s", vcenter_id);
    }
    if (item->is_watched && !is_watched)
        item->since_ms = now_ms;
    item->is_watched = is_watched;
    return 0;
}

bool inventory_watch_counts(const struct inventory_watch *watch, const char *vcenter_id, int64_t now_ms) {
    const struct inventory_watched *item = watched_find(watch, vcenter_id);
    if (item && item->is_watched)
        return true;
    return now_ms - (item ? item->since_ms : watch->started_ms) <= KAAS_OBSERVED_EVIDENCE_MS;
}

uint64_t inventory_watch_mark(const struct inventory_watch *watch, int64_t now_ms) {
    uint64_t mark = now_ms - watch->started_ms <= KAAS_OBSERVED_EVIDENCE_MS;
    for (size_t i = 0; i < watch->count; i++)
        mark = mark * 31 + 1 + inventory_watch_counts(watch, watch->items[i].vcenter_id, now_ms);
    return mark;
}
