/* A node as JSON. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "node_view.h"

#include "member_json.h"
#include "query.h"
#include "rollup.h"
#include "views.h"

static json_t *vm(const struct node_observation *seen) {
    json_t *object;
    if (!seen)
        return json_null();
    object = json_object();
    json_put_string(object, "match", vm_match_name(seen->match));
    json_put_string(object, "vcenter_id", seen->vcenter_id);
    view_put_text(object, "moref", seen->vm_moref);
    view_put_text(object, "name", seen->vm_name);
    view_put_text(object, "instance_uuid", seen->instance_uuid);
    view_put_text(object, "bios_uuid", seen->bios_uuid);
    json_put_string(object, "power", vm_power_name(seen->power));
    json_put_string(object, "connection", vm_connection_name(seen->connection));
    return object;
}

static json_t *host(const struct node_observation *seen) {
    json_t *object;
    if (!seen || !seen->host_moref)
        return json_null();
    object = json_object();
    json_put_string(object, "moref", seen->host_moref);
    view_put_text(object, "name", seen->host_name);
    json_put_string(object, "connection", host_connection_name(seen->host_connection));
    return object;
}

static bool node_find_place(const struct node *node, struct object_ref *out) {
    const struct node_observation *seen = node->seen;
    return seen && seen->cluster_moref && !object_ref_make(seen->vcenter_id, seen->cluster_moref, out, NULL);
}

static json_t *vsphere_cluster(const struct dir_platform *platform, const struct node *node) {
    const struct vsphere_cluster *found;
    struct object_ref ref;
    json_t *object;
    if (!node_find_place(node, &ref))
        return json_null();
    found = dir_find_vsphere(platform, &ref);
    object = json_object();
    json_put_string(object, "vcenter_id", ref.vcenter_id);
    view_put_text(object, "datacenter", found ? found->datacenter : NULL);
    json_put_string(object, "moref", ref.moref);
    view_put_text(object, "name", found ? found->name : NULL);
    return object;
}

json_t *view_node(const struct dir_platform *platform, const struct node *node) {
    json_t *object = member_json_show(node_members, node);
    json_put_string(object, "state", rollup_is_down(node->seen) ? "not_ready" : "unknown");
    (void)json_object_set_new(object, "vm", vm(node->seen));
    (void)json_object_set_new(object, "host", host(node->seen));
    (void)json_object_set_new(object, "vsphere_cluster", vsphere_cluster(platform, node));
    view_put_time(object, "observed_at", node->seen ? node->seen->observed_at_ms : 0);
    return object;
}

bool view_node_is_visible(const struct node_onlooker *by, const struct node *node) {
    const struct object_set *placement = &by->entry->record->placement;
    struct object_ref ref;
    if (!node_find_place(node, &ref))
        return by->mask == by->entry->full_mask;
    for (size_t i = 0; i < placement->count; i++)
        if (object_ref_eq(&placement->items[i], &ref))
            return dir_mask_has(by->mask, i);
    return dir_sees_vsphere(by->platform, by->viewer, &ref); /* another's machine in the node's place */
}
