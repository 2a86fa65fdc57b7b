/* A node of a Kubernetes cluster: words and memory. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_node.h"

#include <stdlib.h>

const char *const kube_node_condition_words[KUBE_NODE_CONDITIONS] = {
    [KUBE_NODE_READY] = "Ready",
    [KUBE_NODE_MEMORY_PRESSURE] = "MemoryPressure",
    [KUBE_NODE_DISK_PRESSURE] = "DiskPressure",
    [KUBE_NODE_PID_PRESSURE] = "PIDPressure",
    [KUBE_NODE_NETWORK_UNAVAILABLE] = "NetworkUnavailable",
};

void kube_node_done(struct kube_node *node) {
    if (!node)
        return;
    free(node->name);
    free(node->uid);
    free(node->provider_id);
    free(node->system_uuid);
    free(node->kubelet_version);
    free(node->address);
    for (unsigned i = 0; i < KUBE_NODE_CONDITIONS; i++) {
        free(node->conditions[i].reason);
        free(node->conditions[i].message);
    }
    *node = (struct kube_node){0};
}
