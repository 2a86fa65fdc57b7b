/* What Kubernetes tells of a cluster and of a node (kube_facts.h). Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_facts.h"

#include <stdio.h>
#include <string.h>

#include "str.h"
#include "uuid.h"

const char *const kube_truth_words[] = {[KUBE_UNKNOWN] = "unknown", [KUBE_FALSE] = "false", [KUBE_TRUE] = "true", NULL};

void node_kube_done(struct node_kube *kube) {
    members_done(node_kube_members, kube, sizeof(*kube));
}

int node_kube_copy(const struct node_kube *from, struct node_kube *out, struct err *err) {
    return members_copy(node_kube_members, from, out, sizeof(*out), "a node", err);
}

void cluster_kube_done(struct cluster_kube *kube) {
    members_done(cluster_kube_members, kube, sizeof(*kube));
}

int cluster_kube_copy(const struct cluster_kube *from, struct cluster_kube *out, struct err *err) {
    return members_copy(cluster_kube_members, from, out, sizeof(*out), "a cluster", err);
}

static void kube_facts_list_pressure(const struct kube_node *told, char pressure[NODE_KUBE_PRESSURE_BYTES]) {
    size_t at = 0;
    pressure[0] = '\0';
    for (unsigned i = KUBE_NODE_READY + 1; i < KUBE_NODE_CONDITIONS; i++)
        if (told->conditions[i].truth == KUBE_TRUE)
            at += (size_t)snprintf(pressure + at, NODE_KUBE_PRESSURE_BYTES - at, "%s%s", at ? " " : "",
                                   kube_node_condition_words[i]);
}

void node_kube_view(const struct kube_node *told, char pressure[NODE_KUBE_PRESSURE_BYTES], struct node_kube *out) {
    const struct kube_condition *ready = &told->conditions[KUBE_NODE_READY];
    kube_facts_list_pressure(told, pressure);
    *out = (struct node_kube){
        .uid = told->uid,
        .provider_id = told->provider_id,
        .system_uuid = told->system_uuid,
        .version = told->kubelet_version,
        .address = told->address,
        .reason = told->reason,
        .pressure = *pressure ? pressure : NULL,
        .ready_since_ms = ready->transition_s * 1000,
        .created_at_ms = told->created_s * 1000,
        .ready = ready->truth,
        .is_control_plane = told->is_control_plane,
        .is_cordoned = told->is_cordoned,
    };
}

const char *node_kube_vsphere_uuid(const char *provider_id) {
    static const char scheme[] = "vsphere://";
    if (!provider_id || strncmp(provider_id, scheme, sizeof(scheme) - 1) != 0)
        return NULL;
    return uuid_is_valid(provider_id + sizeof(scheme) - 1) ? provider_id + sizeof(scheme) - 1 : NULL;
}

static bool is_known_other(const char *was, const char *is) {
    return was && is && !str_eq_nocase(was, is) && !uuid_is_same_machine(was, is);
}

bool node_kube_is_other_machine(const struct node_kube *is, const struct node_kube *was, const char *seen_bios_uuid) {
    const char *provider = node_kube_vsphere_uuid(is->provider_id);
    const char *system = uuid_is_valid(is->system_uuid) ? is->system_uuid : NULL;
    if (uuid_is_valid(seen_bios_uuid) && (provider || system))
        return !uuid_is_same_machine(seen_bios_uuid, provider) && !uuid_is_same_machine(seen_bios_uuid, system);
    return is_known_other(was->system_uuid, is->system_uuid) || is_known_other(was->provider_id, is->provider_id);
}

/* Where a verdict does not look at nodes it does not count them. */
bool cluster_kube_knows_nodes(const struct cluster_kube *kube) {
    if (!kube || (kube->connection != REMOTE_OK && kube->connection != REMOTE_FAILING))
        return false;
    return kube->health.state != CLUSTER_UNREACHABLE || kube->health.workers_ready >= 0;
}

int64_t cluster_kube_as_of_ms(const struct cluster_kube *kube) {
    return kube && kube->connection != REMOTE_OK ? kube->connection_since_ms : 0;
}
