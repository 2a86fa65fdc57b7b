/* Do two records of a cluster say the same? Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster.h"
#include "str.h"

bool cluster_is_reported(const struct cluster *c) {
    return c->reported_at_ms && str_eq(c->state_source, "reported");
}

bool node_same_identity(const struct node *a, const struct node *b) {
    return str_eq_nocase(a->vcenter_id, b->vcenter_id) && str_eq_nocase(a->vm_instance_uuid, b->vm_instance_uuid) &&
           str_eq_nocase(a->vm_bios_uuid, b->vm_bios_uuid) && str_eq(a->vm_name, b->vm_name);
}

static bool same_node(const struct node *a, const struct node *b) {
    return str_eq(a->id, b->id) && str_eq(a->name, b->name) && a->role == b->role && node_same_identity(a, b) &&
           str_eq(a->kubernetes_version, b->kubernetes_version) && str_eq(a->address, b->address);
}

static bool same_texts(const struct cluster *a, const struct cluster *b) {
    return str_eq(a->id, b->id) && str_eq(a->name, b->name) && str_eq(a->description, b->description) &&
           str_eq(a->kubernetes_version, b->kubernetes_version) && str_eq(a->api_endpoint, b->api_endpoint) &&
           str_eq(a->dashboard_url, b->dashboard_url);
}

static bool same_states(const struct cluster *a, const struct cluster *b) {
    return a->state == b->state && str_eq(a->state_reason, b->state_reason) && str_eq(a->state_source, b->state_source) &&
           a->reported_state == b->reported_state && str_eq(a->reported_reason, b->reported_reason) &&
           str_eq(a->placement_source, b->placement_source);
}

static bool same_counts(const struct cluster *a, const struct cluster *b) {
    return a->control_plane_ready == b->control_plane_ready && a->control_plane_desired == b->control_plane_desired &&
           a->workers_ready == b->workers_ready && a->workers_desired == b->workers_desired &&
           a->placement.count == b->placement.count && a->labels_count == b->labels_count && a->nodes_count == b->nodes_count;
}

bool cluster_same(const struct cluster *a, const struct cluster *b) {
    if (!same_texts(a, b) || !same_states(a, b) || !same_counts(a, b))
        return false;
    for (size_t i = 0; i < a->placement.count; i++)
        if (!object_ref_eq(&a->placement.items[i], &b->placement.items[i]))
            return false;
    for (size_t i = 0; i < a->labels_count; i++)
        if (!str_eq(a->labels[i].key, b->labels[i].key) || !str_eq(a->labels[i].value, b->labels[i].value))
            return false;
    for (size_t i = 0; i < a->nodes_count; i++)
        if (!same_node(&a->nodes[i], &b->nodes[i]))
            return false;
    return true;
}
