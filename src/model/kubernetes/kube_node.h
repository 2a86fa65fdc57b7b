/* A node of a Kubernetes cluster, as its API server tells: what KaaS reads of it. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: k8s.io/api core/v1 (Node, NodeStatus, NodeCondition). Times are wall clock, seconds since 1970, 0 where the server tells none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

/* Status of a condition (core/v1 ConditionStatus). A condition that the node does not have, and any other word, is unknown. */
enum kube_truth { KUBE_UNKNOWN, KUBE_FALSE, KUBE_TRUE };

/* The conditions that KaaS reads (core/v1 NodeConditionType); the rest is skipped. */
enum kube_node_condition {
    KUBE_NODE_READY,
    KUBE_NODE_MEMORY_PRESSURE,
    KUBE_NODE_DISK_PRESSURE,
    KUBE_NODE_PID_PRESSURE,
    KUBE_NODE_NETWORK_UNAVAILABLE,
    KUBE_NODE_CONDITIONS
};
/* "Ready", "MemoryPressure", ...; in the order of the enum. */
extern const char *const kube_node_condition_words[KUBE_NODE_CONDITIONS];

struct kube_condition {
    enum kube_truth truth;
    bool is_there;        /* the node has it */
    int64_t heartbeat_s;  /* when the kubelet said so last */
    int64_t transition_s; /* when it came to be so */
};

/* Texts malloc'ed, NULL where the server tells none; valid UTF-8, control characters made blanks, cut at the limits below. */
struct kube_node {
    char *name;                   /* never NULL */
    char *uid;                    /* never NULL */
    char *provider_id;            /* "vsphere://4237..." */
    char *system_uuid;            /* as the kubelet read it from the machine */
    char *kubelet_version;        /* "v1.36.3" */
    char *address;                /* the first InternalIP, else the first ExternalIP */
    char *reason;                 /* of the condition Ready while it is not True: "KubeletNotReady" */
    int64_t created_s, deleted_s; /* deleted_s: when its deletion was asked for; 0: it was not */
    bool is_control_plane;        /* label node-role.kubernetes.io/control-plane, or /master before 1.24 */
    bool is_cordoned;             /* spec.unschedulable */
    struct kube_condition conditions[KUBE_NODE_CONDITIONS];
};

/* Longest texts, in bytes without NUL. A longer name or uid is no node's (DNS subdomain, RFC 4122 text with room); other texts are cut. */
#define KUBE_NAME_BYTES_MAX 253U
#define KUBE_UID_BYTES_MAX 128U
#define KUBE_TEXT_BYTES_MAX 255U /* provider id, uuid, version, address, reason */

/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int kube_node_copy(const struct kube_node *from, struct kube_node *out, struct err *err);
/* Frees the texts and sets all to 0. NULL is allowed. */
void kube_node_done(struct kube_node *node);
