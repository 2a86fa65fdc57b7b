/* Single things of a Kubernetes cluster that whoever builds and removes its machines looks at: a node, its volumes. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: k8s.io/api core/v1 (Node, PersistentVolume). */
#pragma once

#include "err.h"
#include "kube_node.h"
#include "kube_volume.h"

struct k8s_client;

/* The node of this name (a DNS subdomain), as it is now. *out (uninitialised) is given back by kube_node_done, and written on success only. ERR_NOT_FOUND: there is none;
 * errors of k8s_call; ERR_PROTOCOL, ERR_TOO_LARGE. */
int k8s_get_node(struct k8s_client *client, const char *name, struct kube_node *out, struct err *err);
/* Removes it; one that is not there is removed. Errors of k8s_call. */
int k8s_delete_node(struct k8s_client *client, const char *name, struct err *err);

/* Lists the volumes of the cluster. *out (uninitialised) is given back by kube_volumes_done, and written on success only. Errors of k8s_call; ERR_PROTOCOL,
 * ERR_TOO_LARGE. */
int k8s_list_volumes(struct k8s_client *client, struct kube_volumes *out, struct err *err);
