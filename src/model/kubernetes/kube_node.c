/* A node of a Kubernetes cluster: words and memory. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_node.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"

const char *const kube_node_condition_words[KUBE_NODE_CONDITIONS] = {
    [KUBE_NODE_READY] = "Ready",
    [KUBE_NODE_MEMORY_PRESSURE] = "MemoryPressure",
    [KUBE_NODE_DISK_PRESSURE] = "DiskPressure",
    [KUBE_NODE_PID_PRESSURE] = "PIDPressure",
    [KUBE_NODE_NETWORK_UNAVAILABLE] = "NetworkUnavailable",
};

/* The places of all texts. */
#define KUBE_NODE_TEXTS 7
static void kube_node_texts(struct kube_node *node, char **texts[KUBE_NODE_TEXTS]) {
    char **const all[KUBE_NODE_TEXTS] = {
        &node->name, &node->uid, &node->provider_id, &node->system_uuid, &node->kubelet_version, &node->address, &node->reason};
    memcpy(texts, all, sizeof(all));
}

void kube_node_done(struct kube_node *node) {
    char **texts[KUBE_NODE_TEXTS];
    if (!node)
        return;
    kube_node_texts(node, texts);
    for (size_t i = 0; i < KUBE_NODE_TEXTS; i++)
        free(*texts[i]);
    *node = (struct kube_node){0};
}

int kube_node_copy(const struct kube_node *from, struct kube_node *out, struct err *err) {
    char **texts[KUBE_NODE_TEXTS];
    bool is_short = false;
    *out = *from;
    kube_node_texts(out, texts);
    for (size_t i = 0; i < KUBE_NODE_TEXTS; i++) {
        const char *text = *texts[i];
        *texts[i] = str_dup(text);
        is_short = is_short || (text && !*texts[i]);
    }
    if (!is_short)
        return 0;
    kube_node_done(out);
    return err_set(err, ERR_NOMEM, "out of memory");
}
