/* Questions to a snapshot about one HX cluster. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hx_query.h"

#include <stdlib.h>

#include "str.h"

int inventory_get_visible_hx(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const char *id,
                             const struct hx_cluster **out, struct err *err) {
    const struct hx_cluster *hx = inventory_find_hx(snapshot->platform, inventory_get_hx_id(snapshot->platform, id));
    if (hx && inventory_sees_vsphere(snapshot->platform, viewer, &hx->vsphere_cluster)) {
        *out = hx;
        return 0;
    }
    (void)err_set(err, ERR_NOT_FOUND, "there is no HX cluster %s, or you may not see it", id);
    return err_remedy(err, "compare with GET /v2/hx-clusters");
}

static struct inventory_index clusters_on_hx(const struct inventory_snapshot *snapshot, const struct hx_cluster *hx) {
    const struct inventory_platform *platform = snapshot->platform;
    const struct vsphere_cluster *on = hx->is_gone ? NULL : inventory_find_vsphere(platform, &hx->vsphere_cluster);
    return on ? snapshot->by_vsphere[on - platform->vsphere] : (struct inventory_index){0};
}

int inventory_list_on_hx(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const struct hx_cluster *hx,
                         struct inventory_seen_list *out, struct err *err) {
    const struct inventory_index all = clusters_on_hx(snapshot, hx);
    *out = (struct inventory_seen_list){.items = calloc(all.count + 1, sizeof(*out->items))};
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < all.count; i++) {
        const struct inventory_cluster *entry = snapshot->clusters[all.positions[i]];
        struct policy_view view;
        if (inventory_view_cluster(snapshot->platform, viewer, entry->record, &view))
            out->items[out->count++] = (struct inventory_seen){entry, view.parts};
    }
    return 0;
}

void inventory_count_on_hx(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                           const struct hx_cluster *hx, struct inventory_counts *out) {
    const struct inventory_index all = clusters_on_hx(snapshot, hx);
    *out = (struct inventory_counts){0};
    for (size_t i = 0; i < all.count; i++) {
        const struct cluster *c = snapshot->clusters[all.positions[i]]->record;
        struct policy_view view;
        if (inventory_view_cluster(snapshot->platform, viewer, c, &view))
            inventory_counts_add(out, c);
    }
}

/* -- what a viewer finds at an object of a vCenter ------------------------------------------------------------------------------ */

/* Which of the cluster's placements is this? Their number when none. */
static size_t place_in(const struct object_set *placement, const struct object_ref *ref) {
    size_t at = 0;
    while (at < placement->count && !object_ref_eq(&placement->items[at], ref))
        at++;
    return at;
}

bool inventory_sees_node(const struct inventory_platform *platform, const struct viewer_key *viewer,
                         const struct inventory_seen *in, const struct node *node) {
    const struct object_set *placement = &in->entry->record->placement;
    const struct node_observation *seen = node->seen;
    struct object_ref ref;
    size_t at;
    if (!seen || !seen->cluster_moref || object_ref_make(seen->vcenter_id, seen->cluster_moref, &ref, NULL))
        return in->mask == in->entry->full_mask;
    at = place_in(placement, &ref);
    /* another's machine may be in the node's place */
    return at < placement->count ? inventory_mask_has(in->mask, at) : inventory_sees_vsphere(platform, viewer, &ref);
}

bool inventory_finds_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                              const struct object_ref *ref) {
    const struct inventory_platform *platform = snapshot->platform;
    const struct hx_cluster *hx = inventory_find_hx_on(platform, ref);
    const struct vsphere_cluster *on = inventory_find_vsphere(platform, ref);
    const struct inventory_index none = {0}, *all = on ? &snapshot->by_vsphere[on - platform->vsphere] : &none;
    if (hx && !hx->is_gone && inventory_sees_vsphere(platform, viewer, ref))
        return true;
    for (size_t i = 0; i < all->count; i++) {
        const struct cluster *c = snapshot->clusters[all->positions[i]]->record;
        const size_t at = place_in(&c->placement, ref);
        struct policy_view view;
        if (at < c->placement.count && inventory_view_cluster(platform, viewer, c, &view) && inventory_mask_has(view.parts, at))
            return true;
    }
    return false;
}

bool inventory_finds_datacenter(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                                const struct object_ref *ref) {
    const struct inventory_platform *platform = snapshot->platform;
    for (size_t i = 0; i < platform->vsphere_count; i++) {
        const struct vsphere_cluster *c = &platform->vsphere[i];
        if (str_eq(c->ref.vcenter_id, ref->vcenter_id) && str_eq(c->datacenter_moref, ref->moref) &&
            inventory_finds_clusters(snapshot, viewer, &c->ref))
            return true;
    }
    return false;
}

static bool node_is_on(const struct node_observation *seen, const struct object_ref *ref) {
    return seen && str_eq_nocase(seen->vcenter_id, ref->vcenter_id) &&
           (str_eq(seen->vm_moref, ref->moref) || str_eq(seen->host_moref, ref->moref));
}

bool inventory_finds_node(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                          const struct object_ref *ref) {
    for (size_t i = 0; i < snapshot->clusters_count; i++) {
        struct inventory_seen in = {.entry = snapshot->clusters[i]};
        const struct cluster *c = in.entry->record;
        struct policy_view view;
        for (size_t k = 0; k < c->nodes_count; k++) {
            if (!node_is_on(c->nodes[k].seen, ref) || !inventory_view_cluster(snapshot->platform, viewer, c, &view))
                continue;
            in.mask = view.parts;
            if (inventory_sees_node(snapshot->platform, viewer, &in, &c->nodes[k]))
                return true;
        }
    }
    return false;
}
