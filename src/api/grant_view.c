/* Grants as JSON. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "grant_view.h"

#include "member_json.h"
#include "name_view.h"
#include "str.h"
#include "views.h"

char *grant_view_object_name(const struct dir_snapshot *snapshot, const struct grant *g) {
    const struct dir_cluster *cluster;
    const struct vsphere_cluster *vsphere;
    const struct hx_cluster *hx;
    struct object_ref ref;
    switch (g->object) {
    case GRANT_CLUSTER:
        cluster = dir_find_cluster(snapshot, g->object_id);
        return cluster ? str_dup(cluster->record->name) : NULL;
    case GRANT_HX_CLUSTER: hx = dir_find_hx(snapshot->platform, g->object_id); return hx ? str_dup(hx->name) : NULL;
    case GRANT_VSPHERE_CLUSTER:
    default: break;
    }
    if (grant_vsphere_ref(g->object_id, &ref, NULL))
        return NULL;
    vsphere = dir_find_vsphere(snapshot->platform, &ref);
    if (!vsphere || !vsphere->name)
        return NULL;
    return vsphere->datacenter ? str_format("%s/%s", vsphere->datacenter, vsphere->name) : str_dup(vsphere->name);
}

json_t *grant_view_bare(const struct dir_snapshot *snapshot, const struct grant *g) {
    _cleanup_free_ char *name = grant_view_object_name(snapshot, g);
    json_t *object = member_json_show(grant_members, g);
    view_put_text(object, "object_name", name);
    return object;
}

json_t *grant_view(const struct api_call *call, const struct grant *g) {
    json_t *object = grant_view_bare(call->snapshot, g);
    name_view_put(call, object, "principal_name", g->principal_id);
    return object;
}
