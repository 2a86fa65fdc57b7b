/* A Kubernetes cluster and its nodes. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "object_ref.h"
#include "observation.h"

enum cluster_state {
    CLUSTER_UNKNOWN = 0,
    CLUSTER_CREATING,
    CLUSTER_READY,
    CLUSTER_UPDATING,
    CLUSTER_DEGRADED,
    CLUSTER_UNREACHABLE,
    CLUSTER_FAILED,
    CLUSTER_DELETING,
    CLUSTER_STATE_COUNT
};
const char *cluster_state_name(enum cluster_state state); /* "unknown", "creating", ... as in docs/openapi.yaml; static */
bool cluster_state_parse(const char *word, enum cluster_state *out);

enum node_role { NODE_CONTROL_PLANE, NODE_WORKER };
const char *node_role_name(enum node_role role); /* "control_plane", "worker" */
bool node_role_parse(const char *word, enum node_role *out);

/* As declared; what is observed of it hangs below. */
struct node {
    char *id; /* our uuid */
    char *name;
    enum node_role role;
    char *vcenter_id; /* NULL: not declared, like the next three */
    char *vm_instance_uuid, *vm_bios_uuid;
    char *vm_name; /* NULL: as the node */
    char *kubernetes_version;
    char *address;                 /* IP address, or NULL */
    struct node_observation *seen; /* NULL: no vCenter has shown it yet */
    struct node_block *block;      /* all texts and `seen` lie in it (node_pack), and none is replaced; NULL: each for itself */
};
void node_done(struct node *n); /* NULL is allowed */
/* Deep copy into an uninitialised struct, each text for itself. ERR_NOMEM. */
int node_copy(const struct node *from, struct node *out, struct err *err);
/* Deep copy into an uninitialised struct, all in one block of memory: a node with its observation has up to 18 texts, and there are 100,000
 * nodes. For records that are kept, not changed. ERR_NOMEM. */
int node_pack(const struct node *from, struct node *out, struct err *err);
/* The same packed node once more, into an uninitialised struct: the block is shared, and freed with the last node_done. Any thread. */
void node_share(const struct node *from, struct node *out);

struct label {
    char *key, *value;
};

struct cluster {
    char *id;          /* our uuid */
    char *name;        /* unique */
    char *description; /* may be NULL */
    enum cluster_state state;
    char *state_reason; /* may be NULL */
    char *state_source; /* "declared", "reported" or "observed" */
    /* what the provisioner said last; counts only while state_source is "reported" (cluster_is_reported) */
    enum cluster_state reported_state;
    char *reported_reason;  /* may be NULL */
    char *reported_by;      /* principal id */
    int64_t reported_at_ms; /* wall clock; 0: never */
    char *kubernetes_version;
    char *api_endpoint;                             /* https URL or NULL */
    char *dashboard_url;                            /* https URL or NULL */
    int control_plane_ready, control_plane_desired; /* counts; -1: unknown */
    int workers_ready, workers_desired;
    char *placement_source;      /* "declared" or "observed" */
    struct object_set placement; /* its vSphere clusters */
    struct label *labels;
    size_t labels_count; /* sorted by key */
    struct node *nodes;
    size_t nodes_count;                                   /* sorted by name */
    int64_t created_at_ms, updated_at_ms, observed_at_ms; /* wall clock; 0: never */
    int64_t version_no;                                   /* rises with every change; the strong part of ETag and If-Match */
};
void cluster_done(struct cluster *c); /* NULL is allowed */
void cluster_free(struct cluster *c); /* done + free; NULL is allowed */
/* Deep copy into an uninitialised struct; packed nodes are shared. ERR_NOMEM. */
int cluster_copy(const struct cluster *from, struct cluster *out, struct err *err);
CLEANUP_DEFINE(struct cluster, cluster_free);

/* True if the state rests on a report, not on what an administrator declared (later). */
bool cluster_is_reported(const struct cluster *c);

/* True if both records say the same of themselves: all that people and programs write, without times, versions, observations, and
 * who reported. */
bool cluster_same(const struct cluster *a, const struct cluster *b);
bool node_same_identity(const struct node *a, const struct node *b); /* vCenter, UUIDs and name of the virtual machine */

/* Brings labels and nodes into their order. All keys and names must be set. */
void cluster_sort(struct cluster *c);

/* Checks all members against the rules of names.h and limits.h; labels and nodes must be in order (cluster_sort).
 * ERR_UNPROCESSABLE naming the member. */
int cluster_check(const struct cluster *c, struct err *err);
