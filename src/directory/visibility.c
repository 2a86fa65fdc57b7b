/* Who sees which part of the list: asks policy with what the snapshot knows. Layer 3 (directory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "query.h"

static const char *find_hx_id(const void *arg, const struct object_ref *ref) {
    const struct hx_cluster *hx = dir_find_hx_on(arg, ref);
    return hx ? hx->id : NULL;
}

uint64_t dir_visible_mask(const struct dir_platform *platform, const struct viewer_key *viewer, const struct cluster *cluster,
                          bool *is_visible) {
    struct policy_hx_lookup hx = {.find_hx_id = find_hx_id, .arg = platform};
    struct policy_view view;
    *is_visible = policy_cluster_visible(viewer, cluster, &hx, &view);
    return view.parts;
}

bool dir_view_cluster(const struct dir_platform *platform, const struct viewer_key *viewer, const struct cluster *cluster,
                      struct policy_view *out) {
    struct policy_hx_lookup hx = {.find_hx_id = find_hx_id, .arg = platform};
    return policy_cluster_visible(viewer, cluster, &hx, out);
}

unsigned dir_vsphere_rules(const struct dir_platform *platform, const struct viewer_key *viewer, const struct object_ref *ref) {
    struct policy_hx_lookup hx = {.find_hx_id = find_hx_id, .arg = platform};
    return policy_vsphere_rules(viewer, ref, &hx);
}

bool dir_sees_vsphere(const struct dir_platform *platform, const struct viewer_key *viewer, const struct object_ref *ref) {
    struct policy_hx_lookup hx = {.find_hx_id = find_hx_id, .arg = platform};
    return policy_vsphere_rules(viewer, ref, &hx) != 0;
}
