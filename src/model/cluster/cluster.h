/* A Kubernetes cluster, its nodes, and what a vCenter shows of them. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Here observation_judge decides whether a virtual machine that a watch found is that of a node. rollup.h derives a cluster's state and
 * placement from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "cluster_state.h"
#include "err.h"
#include "limits.h"
#include "member.h"
#include "object_ref.h"

/* How a node and a virtual machine were joined. The watch tells NONE, INSTANCE_UUID, BIOS_UUID or NAME; MISMATCH is a verdict. */
enum vm_match {
    VM_MATCH_NONE,          /* the vCenter has no virtual machine for this node (now) */
    VM_MATCH_INSTANCE_UUID, /* config.instanceUuid is the one that was declared */
    VM_MATCH_BIOS_UUID, /* config.uuid is the one that was declared or that Kubernetes tells, in one byte order or the other (uuid_turn) */
    VM_MATCH_NAME,     /* exactly one virtual machine of the vCenter has the node's VM name */
    VM_MATCH_MISMATCH, /* one was found, but it is not the node's: another identity is known, or it belongs to another node */
    VM_MATCH_COUNT
};
extern const char *const vm_match_words[];
const char *vm_match_name(enum vm_match match); /* "none", "instance_uuid", ...; static, never NULL */
bool vm_match_parse(const char *word, enum vm_match *out);

/* VirtualMachineRuntimeInfo.powerState */
enum vm_power { VM_POWER_UNKNOWN, VM_POWER_ON, VM_POWER_OFF, VM_POWER_SUSPENDED, VM_POWER_COUNT };
extern const char *const vm_power_words[];
const char *vm_power_name(enum vm_power power); /* "unknown", "on", "off", "suspended" */

/* VirtualMachineRuntimeInfo.connectionState */
enum vm_connection {
    VM_CONNECTION_UNKNOWN,
    VM_CONNECTION_CONNECTED,
    VM_CONNECTION_DISCONNECTED,
    VM_CONNECTION_ORPHANED,
    VM_CONNECTION_INACCESSIBLE,
    VM_CONNECTION_INVALID,
    VM_CONNECTION_COUNT
};
extern const char *const vm_connection_words[];
const char *vm_connection_name(enum vm_connection connection); /* "unknown", "connected", ... */

/* HostRuntimeInfo.connectionState */
enum host_connection {
    HOST_CONNECTION_UNKNOWN,
    HOST_CONNECTION_CONNECTED,
    HOST_CONNECTION_NOT_RESPONDING,
    HOST_CONNECTION_DISCONNECTED,
    HOST_CONNECTION_COUNT
};
extern const char *const host_connection_words[];
const char *host_connection_name(enum host_connection connection); /* "unknown", "connected", "not_responding", "disconnected" */

struct node_kube;
struct cluster_kube;

/* A node that a watch should look for. Texts malloc'ed; UUIDs as declared, so compare them without case. */
struct node_target {
    char *cluster_id, *node_id;
    char *node_name;
    char *vm_name;          /* name of its virtual machine: as declared, else the node's name; never NULL */
    char *vm_instance_uuid; /* declared, else the one that it was bound to at its first match; NULL: neither */
    char *vm_bios_uuid;     /* declared; NULL: unknown */
    char *provider_uuid;    /* the UUID in the node's providerID, as Kubernetes tells it; NULL: none */
    char *system_uuid;      /* that of its machine, likewise */
    char *vcenter_id;       /* declared, else the one that it was bound on; NULL: unknown yet */
    char *seen_moref;       /* of the virtual machine that it is bound to, while that is there; NULL: none */
    char *seen_name;        /* the last name of that virtual machine */
};
void node_target_done(struct node_target *t); /* NULL is allowed */

/* What one vCenter shows of one node. Texts malloc'ed in lists that a module hands out, borrowed where a caller passes them in. */
struct node_observation {
    char *node_id;
    enum vm_match match;
    char *vm_moref, *vm_name; /* all texts from here on: NULL when unknown or without a virtual machine */
    enum vm_power power;
    enum vm_connection connection;
    char *host_moref, *host_name;
    enum host_connection host_connection;
    char *cluster_moref; /* vSphere cluster of the host; NULL on a stand-alone host */
    char *instance_uuid, *bios_uuid;

    /* set by the store, ignored in what is passed to it */
    char *vcenter_id;       /* where it was seen */
    char *bound_uuid;       /* instance UUID that is the node's identity since its first match; NULL: none yet */
    int64_t observed_at_ms; /* wall clock: when what is seen changed last */
};
static const struct member observation_members[] = {
    MEMBER_AS(node_observation, node_id, "node_id", NULL, .flags = MEMBER_KEY),
    MEMBER_AS(node_observation, match, "vm_match", NULL, .words = vm_match_words, .unknown = VM_MATCH_MISMATCH),
    MEMBER_AS(node_observation, vm_moref, "vm_moref", NULL),
    MEMBER_AS(node_observation, vm_name, "vm_name", NULL, .max = 255, .flags = MEMBER_CUT),
    MEMBER_AS(node_observation, power, "vm_power", NULL, .words = vm_power_words, .unknown = VM_POWER_UNKNOWN),
    MEMBER_AS(node_observation, connection, "vm_connection", NULL, .words = vm_connection_words,
              .unknown = VM_CONNECTION_UNKNOWN),
    MEMBER_AS(node_observation, host_moref, "host_moref", NULL),
    MEMBER_AS(node_observation, host_name, "host_name", NULL, .max = 255, .flags = MEMBER_CUT),
    MEMBER_AS(node_observation, host_connection, "host_connection", NULL, .words = host_connection_words,
              .unknown = HOST_CONNECTION_UNKNOWN),
    MEMBER_AS(node_observation, cluster_moref, "cluster_moref", NULL),
    MEMBER_AS(node_observation, instance_uuid, "instance_uuid", NULL, .flags = MEMBER_NOCASE | MEMBER_LOWER),
    MEMBER_AS(node_observation, bios_uuid, "bios_uuid", NULL, .flags = MEMBER_NOCASE | MEMBER_LOWER),
    MEMBER_AS(node_observation, vcenter_id, "vcenter_id", NULL, .flags = MEMBER_ASIDE),
    MEMBER_AS(node_observation, bound_uuid, "bound_uuid", NULL, .flags = MEMBER_ASIDE | MEMBER_LOWER),
    MEMBER_AS(node_observation, observed_at_ms, "observed_at_ms", NULL, .flags = MEMBER_ASIDE),
    MEMBERS_END,
};
void node_observation_done(struct node_observation *o); /* NULL is allowed */
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int node_observation_copy(const struct node_observation *from, struct node_observation *out, struct err *err);
/* True if both show the same; the members that the store sets are not compared. */
bool node_observation_same(const struct node_observation *a, const struct node_observation *b);

/* What is declared of a node, what Kubernetes tells and what it was bound to, for the verdict below. NULL: not declared, not told, not bound. */
struct node_identity {
    const char *declared_instance_uuid, *declared_bios_uuid;
    const char *provider_uuid, *system_uuid; /* as in struct node_target */
    const char *bound_uuid;
    enum vm_match bound_by; /* how the bound one was found */
};
/* Decides whether the virtual machine that the watch found is the node's own. Returns the match to be stored: how it was found at first, NONE, or
 * MISMATCH. Declared UUIDs decide first, then those that Kubernetes tells, then the bound one: a virtual machine found by name alone never replaces a bound
 * one, and is not the node's if its BIOS UUID is known to be another. */
enum vm_match observation_judge(const struct node_identity *known, const struct node_observation *told);

/* -- a Kubernetes cluster and its nodes ---------------------------------------------------------------------------- */

extern const char *const cluster_state_sources[], *const cluster_placement_sources[];

enum node_role { NODE_CONTROL_PLANE, NODE_WORKER };
extern const char *const node_role_words[]; /* "control_plane", "worker" */
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
    struct node_kube *kube;        /* kube_facts.h; NULL: no Kubernetes tells of it */
    struct node_block
        *block; /* all texts, `seen` and `kube` lie in it (node_pack), and none is replaced; NULL: each for itself */
};
static const struct member node_members[] = {
    MEMBER(node, id, .rule = RULE_UUID, .flags = MEMBER_KEY),
    MEMBER(node, name, .rule = RULE_LINE, .max = KAAS_NODE_NAME_CHARS_MAX, .writers = BY_ADMIN | BY_REPORT),
    MEMBER(node, role, .words = node_role_words, .rule = RULE_WORD, .flags = MEMBER_STRICT),
    MEMBER(node, kubernetes_version, .rule = RULE_KUBERNETES_VERSION, .writers = BY_REPORT, .flags = MEMBER_OPTIONAL),
    MEMBER(node, address, .rule = RULE_IP_ADDRESS, .writers = BY_REPORT, .flags = MEMBER_OPTIONAL),
    MEMBER(node, vcenter_id, .rule = RULE_UUID, .writers = BY_ADMIN | BY_REPORT, .flags = MEMBER_OPTIONAL | MEMBER_NOCASE),
    MEMBER(node, vm_instance_uuid, .rule = RULE_VM_UUID, .writers = BY_ADMIN | BY_REPORT,
           .flags = MEMBER_OPTIONAL | MEMBER_NOCASE | MEMBER_LOWER),
    MEMBER(node, vm_bios_uuid, .rule = RULE_VM_UUID, .writers = BY_ADMIN | BY_REPORT,
           .flags = MEMBER_OPTIONAL | MEMBER_NOCASE | MEMBER_LOWER),
    MEMBER(node, vm_name, .rule = RULE_LINE, .max = KAAS_VM_NAME_CHARS_MAX, .writers = BY_ADMIN | BY_REPORT,
           .flags = MEMBER_OPTIONAL),
    MEMBER_PART_OF("state"),
    MEMBER_PART_OF("kubernetes"),
    MEMBER_PART_OF("vm"),
    MEMBER_PART_OF("host"),
    MEMBER_PART_OF("vsphere_cluster"),
    MEMBER_PART_OF("observed_at"),
    MEMBERS_END,
};
void node_done(struct node *n); /* NULL is allowed */
/* Deep copy into an uninitialised struct, each text for itself. ERR_NOMEM. */
int node_copy(const struct node *from, struct node *out, struct err *err);
/* Deep copy into an uninitialised struct, all in one block of memory: a node with all that is known of it has up to 26 texts, and there are 100,000
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
    char *state_source; /* "declared" or "reported"; as it is shown also "asked" or "observed" (rollup.h) */
    /* wall clock: when a person typed the state last, or since when the provisioner has reported it unchanged; 0: not known (written by an older version) */
    int64_t state_since_ms;
    char *state_by; /* who typed or reported it, by the name in the audit log; NULL: not known, or nobody */
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
    struct cluster_kube *kube;                            /* kube_facts.h; NULL: it is not connected */
    int64_t created_at_ms, updated_at_ms, observed_at_ms; /* wall clock; 0: never */
    int64_t version_no;                                   /* rises with every change; the strong part of ETag and If-Match */
};
/* A member that stands here is stored, compared, copied, checked, read from bodies and shown; lists are by hand. */
static const struct member cluster_members[] = {
    MEMBER(cluster, id, .rule = RULE_UUID, .flags = MEMBER_KEY),
    MEMBER(cluster, name, .rule = RULE_NAME, .writers = BY_ADMIN),
    MEMBER(cluster, description, .rule = RULE_TEXT, .max = KAAS_DESCRIPTION_CHARS_MAX, .writers = BY_ADMIN,
           .flags = MEMBER_OPTIONAL),
    MEMBER(cluster, state, .words = cluster_state_words, .rule = RULE_WORD),
    MEMBER(cluster, state_reason, .rule = RULE_TEXT, .max = KAAS_DESCRIPTION_CHARS_MAX, .writers = BY_ADMIN,
           .flags = MEMBER_OPTIONAL),
    MEMBER(cluster, state_source, .words = cluster_state_sources, .rule = RULE_WORD),
    MEMBER_AS(cluster, state_since_ms, "state_since_ms", "state_since", .flags = MEMBER_ASIDE),
    MEMBER(cluster, state_by, .max = 255, .flags = MEMBER_OPTIONAL | MEMBER_ASIDE | MEMBER_CUT),
    MEMBER(cluster, kubernetes_version, .rule = RULE_KUBERNETES_VERSION, .writers = BY_ADMIN | BY_REPORT),
    MEMBER(cluster, api_endpoint, .rule = RULE_HTTPS_URL, .writers = BY_ADMIN | BY_REPORT, .flags = MEMBER_OPTIONAL),
    MEMBER(cluster, dashboard_url, .rule = RULE_HTTPS_URL, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_PART_OF("control_plane"),
    MEMBER_PART_OF("workers"),
    MEMBER_PART_OF("placement"),
    MEMBER_PART_OF("labels"),
    MEMBER_AS(cluster, control_plane_ready, "control_plane_ready", "control_plane.ready", .rule = RULE_COUNT,
              .max = KAAS_REPLICAS_COUNT_MAX, .flags = MEMBER_HIDDEN),
    MEMBER_AS(cluster, control_plane_desired, "control_plane_desired", "control_plane.desired", .rule = RULE_COUNT,
              .max = KAAS_REPLICAS_COUNT_MAX, .flags = MEMBER_HIDDEN),
    MEMBER_AS(cluster, workers_ready, "workers_ready", "workers.ready", .rule = RULE_COUNT, .max = KAAS_REPLICAS_COUNT_MAX,
              .flags = MEMBER_HIDDEN),
    MEMBER_AS(cluster, workers_desired, "workers_desired", "workers.desired", .rule = RULE_COUNT, .max = KAAS_REPLICAS_COUNT_MAX,
              .flags = MEMBER_HIDDEN),
    MEMBER_AS(cluster, placement_source, "placement_source", "placement source", .words = cluster_placement_sources,
              .rule = RULE_WORD, .flags = MEMBER_HIDDEN),
    MEMBER_AS(cluster, reported_state, "reported_state", "state", .words = cluster_state_words, .rule = RULE_WORD,
              .flags = MEMBER_HIDDEN | MEMBER_ZERO_NULL),
    MEMBER_AS(cluster, reported_reason, "reported_reason", "reason", .rule = RULE_TEXT, .max = KAAS_DESCRIPTION_CHARS_MAX,
              .flags = MEMBER_HIDDEN),
    MEMBER_AS(cluster, reported_by, "reported_by", NULL, .flags = MEMBER_ASIDE),
    MEMBER_AS(cluster, reported_at_ms, "reported_at_ms", NULL, .flags = MEMBER_ASIDE | MEMBER_MOVING),
    MEMBER_AS(cluster, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED | MEMBER_ASIDE),
    MEMBER_AS(cluster, updated_at_ms, "updated_at_ms", "updated_at", .flags = MEMBER_ASIDE),
    MEMBER_AS(cluster, observed_at_ms, "observed_at_ms", "observed_at", .flags = MEMBER_ASIDE),
    MEMBER_AS(cluster, version_no, "version_no", NULL, .flags = MEMBER_VERSION | MEMBER_ASIDE),
    MEMBERS_END,
};
void cluster_done(struct cluster *c); /* NULL is allowed */
void cluster_free(struct cluster *c); /* done + free; NULL is allowed */
/* Deep copy into an uninitialised struct; packed nodes are shared. ERR_NOMEM. */
int cluster_copy(const struct cluster *from, struct cluster *out, struct err *err);
CLEANUP_DEFINE(struct cluster, cluster_free);

/* True if the state comes from a report, not from an administrator who declared one later. */
bool cluster_is_reported(const struct cluster *c);

/* True if all that people and programs write is the same in both; times, versions, observations, and who reported do not count. */
bool cluster_same(const struct cluster *a, const struct cluster *b);
/* The first part in which they differ: a member, "placement", "labels", "nodes", "nodes.seen", "nodes.kubernetes" or "kubernetes"; NULL: none. Times, version and observations count, the
 * time of the last report does not. Static. */
const char *cluster_difference(const struct cluster *a, const struct cluster *b);
bool node_same_identity(const struct node *a, const struct node *b); /* vCenter, UUIDs and name of the virtual machine */

/* Brings labels and nodes into their order. All keys and names must be set. */
void cluster_sort(struct cluster *c);

/* Checks all members against the rules of names.h and limits.h; labels and nodes must be in order (cluster_sort).
 * ERR_UNPROCESSABLE naming the member. */
int cluster_check(const struct cluster *c, struct err *err);
