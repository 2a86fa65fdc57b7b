/* A volume of a Kubernetes cluster, which outlives the pods that use it, and the machines. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: k8s.io/api core/v1 (PersistentVolume). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define KUBE_VOLUMES_MAX 200U /* that are told by name */

/* Texts malloc'ed, NULL where the server tells none; clean and cut as those of a node (kube_node.h). */
struct kube_volume {
    char *name;     /* never NULL */
    char *claim;    /* who has it: "namespace/name" */
    char *capacity; /* "10Gi" */
    char *handle;   /* by which the storage knows it: of a CSI driver, as vSphere's, else none */
};
struct kube_volumes {
    struct kube_volume *items; /* by name */
    size_t count;
    bool is_cut; /* there are more */
};
void kube_volumes_done(struct kube_volumes *volumes); /* NULL, and a zeroed struct, are allowed */
