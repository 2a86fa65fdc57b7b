/* In what do two records of one object differ? Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "difference.h"

#include <stddef.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"

enum kind { TEXT, NUMBER, LONG, FLAG };

struct member {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define MEMBER(type, kind, name) \
    { #name, kind, offsetof(struct type, name) }

static bool is_same(const struct member *m, const void *a, const void *b) {
    const void *x = (const char *)a + m->offset, *y = (const char *)b + m->offset;
    switch (m->kind) {
    case TEXT: return str_eq(*(char *const *)x, *(char *const *)y);
    case NUMBER: return *(const int *)x == *(const int *)y;
    case LONG: return *(const int64_t *)x == *(const int64_t *)y;
    case FLAG: return *(const bool *)x == *(const bool *)y;
    }
    return false;
}

static const char *find_difference(const struct member *members, size_t count, const void *a, const void *b) {
    for (size_t i = 0; i < count; i++)
        if (!is_same(&members[i], a, b))
            return members[i].name;
    return NULL;
}

static const struct member cluster_members[] = {
    MEMBER(cluster, TEXT, id),
    MEMBER(cluster, TEXT, name),
    MEMBER(cluster, TEXT, description),
    MEMBER(cluster, TEXT, state_reason),
    MEMBER(cluster, TEXT, state_source),
    MEMBER(cluster, TEXT, reported_reason),
    MEMBER(cluster, TEXT, reported_by),
    MEMBER(cluster, TEXT, kubernetes_version),
    MEMBER(cluster, TEXT, api_endpoint),
    MEMBER(cluster, TEXT, dashboard_url),
    MEMBER(cluster, NUMBER, control_plane_ready),
    MEMBER(cluster, NUMBER, control_plane_desired),
    MEMBER(cluster, NUMBER, workers_ready),
    MEMBER(cluster, NUMBER, workers_desired),
    MEMBER(cluster, TEXT, placement_source),
    MEMBER(cluster, LONG, created_at_ms),
    MEMBER(cluster, LONG, updated_at_ms),
    MEMBER(cluster, LONG, observed_at_ms),
    MEMBER(cluster, LONG, version_no),
};

static const struct member node_members[] = {
    MEMBER(node, TEXT, id),           MEMBER(node, TEXT, name),
    MEMBER(node, TEXT, vcenter_id),   MEMBER(node, TEXT, vm_instance_uuid),
    MEMBER(node, TEXT, vm_bios_uuid), MEMBER(node, TEXT, vm_name),
    MEMBER(node, TEXT, address),      MEMBER(node, TEXT, kubernetes_version),
};

static bool is_same_seen(const struct node_observation *a, const struct node_observation *b) {
    if (!a || !b)
        return a == b;
    return node_observation_same(a, b) && str_eq(a->vcenter_id, b->vcenter_id) && str_eq(a->bound_uuid, b->bound_uuid) &&
           a->observed_at_ms == b->observed_at_ms;
}

static const char *nodes_difference(const struct cluster *a, const struct cluster *b) {
    if (a->nodes_count != b->nodes_count)
        return "nodes";
    for (size_t i = 0; i < a->nodes_count; i++) {
        const struct node *x = &a->nodes[i], *y = &b->nodes[i];
        if (x->role != y->role || find_difference(node_members, ARRAY_COUNT(node_members), x, y))
            return "nodes";
        if (!is_same_seen(x->seen, y->seen))
            return "nodes.seen";
    }
    return NULL;
}

static bool is_same_placement(const struct object_set *a, const struct object_set *b) {
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (!object_ref_eq(&a->items[i], &b->items[i]))
            return false;
    return a->count == b->count;
}

static bool are_same_labels(const struct cluster *a, const struct cluster *b) {
    for (size_t i = 0; a->labels_count == b->labels_count && i < a->labels_count; i++)
        if (!str_eq(a->labels[i].key, b->labels[i].key) || !str_eq(a->labels[i].value, b->labels[i].value))
            return false;
    return a->labels_count == b->labels_count;
}

const char *cluster_difference(const struct cluster *a, const struct cluster *b) {
    const char *member = find_difference(cluster_members, ARRAY_COUNT(cluster_members), a, b);
    if (member)
        return member;
    if (a->state != b->state)
        return "state";
    if (a->reported_state != b->reported_state)
        return "reported_state";
    if (!is_same_placement(&a->placement, &b->placement))
        return "placement";
    return are_same_labels(a, b) ? nodes_difference(a, b) : "labels";
}

static const struct member vcenter_members[] = {
    MEMBER(vcenter, TEXT, id),
    MEMBER(vcenter, TEXT, address),
    MEMBER(vcenter, NUMBER, port),
    MEMBER(vcenter, TEXT, name),
    MEMBER(vcenter, TEXT, ca_pem),
    MEMBER(vcenter, FLAG, has_pin),
    MEMBER(vcenter, TEXT, version),
    MEMBER(vcenter, TEXT, build),
    MEMBER(vcenter, TEXT, api_version),
    MEMBER(vcenter, TEXT, extension_key),
    MEMBER(vcenter, NUMBER, tunnel_port),
    MEMBER(vcenter, NUMBER, direct_port),
    MEMBER(vcenter, LONG, registered_at_ms),
    MEMBER(vcenter, LONG, created_at_ms),
    MEMBER(vcenter, LONG, version_no),
};

const char *vcenter_difference(const struct vcenter *a, const struct vcenter *b) {
    const char *member = find_difference(vcenter_members, ARRAY_COUNT(vcenter_members), a, b);
    if (member)
        return member;
    return a->has_pin && memcmp(a->pin_sha256, b->pin_sha256, sizeof(a->pin_sha256)) ? "pin_sha256" : NULL;
}

static const struct member vsphere_members[] = {
    MEMBER(vsphere_cluster, TEXT, datacenter),
    MEMBER(vsphere_cluster, TEXT, name),
    MEMBER(vsphere_cluster, FLAG, is_gone),
};

const char *vsphere_cluster_difference(const struct vsphere_cluster *a, const struct vsphere_cluster *b) {
    return object_ref_eq(&a->ref, &b->ref) ? find_difference(vsphere_members, ARRAY_COUNT(vsphere_members), a, b) : "ref";
}

static const struct member hx_members[] = {
    MEMBER(hx_cluster, TEXT, id),      MEMBER(hx_cluster, TEXT, name),       MEMBER(hx_cluster, FLAG, is_name_set),
    MEMBER(hx_cluster, TEXT, hx_uuid), MEMBER(hx_cluster, TEXT, address),    MEMBER(hx_cluster, TEXT, extension_key),
    MEMBER(hx_cluster, FLAG, is_gone), MEMBER(hx_cluster, LONG, version_no),
};

const char *hx_cluster_difference(const struct hx_cluster *a, const struct hx_cluster *b) {
    if (!object_ref_eq(&a->vsphere_cluster, &b->vsphere_cluster))
        return "vsphere_cluster";
    return find_difference(hx_members, ARRAY_COUNT(hx_members), a, b);
}

static const struct member grant_members[] = {
    MEMBER(grant, TEXT, id),   MEMBER(grant, TEXT, principal_id),  MEMBER(grant, TEXT, object_id),
    MEMBER(grant, TEXT, role), MEMBER(grant, LONG, created_at_ms),
};

const char *grant_difference(const struct grant *a, const struct grant *b) {
    return a->object == b->object ? find_difference(grant_members, ARRAY_COUNT(grant_members), a, b) : "object";
}
