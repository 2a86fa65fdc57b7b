/* What Kubernetes tells of a cluster and of a node, as the inventory holds it beside what was declared. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cluster_state.h"
#include "err.h"
#include "kube_connection.h"
#include "kube_node.h"
#include "member.h"

extern const char *const kube_truth_words[]; /* "unknown", "false", "true" */

/* Of a node. Texts malloc'ed, or borrowed where a function says so; NULL where Kubernetes tells none. */
struct node_kube {
    char *node_id; /* ours */
    char *uid, *provider_id, *system_uuid, *version, *address;
    char *reason; /* why it is not Ready; NULL: it is, or none is told */
    char *
        pressure; /* conditions that hold besides Ready, as Kubernetes calls them, between blanks: "MemoryPressure DiskPressure" */
    int64_t ready_since_ms; /* wall clock: since when `ready` is so; 0: unknown */
    int64_t created_at_ms;  /* wall clock: when it came into Kubernetes */
    enum kube_truth ready;
    bool is_made; /* it is in the list because Kubernetes has it: nobody declared it */
    bool is_control_plane, is_cordoned;
};
static const struct member node_kube_members[] = {
    MEMBER_AS(node_kube, node_id, "node_id", NULL, .flags = MEMBER_KEY),
    MEMBER_AS(node_kube, is_made, "is_made", NULL),
    MEMBER_PART_OF("ready"),
    MEMBER_AS(node_kube, ready, "ready", NULL, .words = kube_truth_words, .unknown = KUBE_UNKNOWN),
    MEMBER(node_kube, reason, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(node_kube, ready_since_ms, "ready_since_ms", "since"),
    MEMBER_AS(node_kube, is_cordoned, "is_cordoned", "cordoned"),
    MEMBER(node_kube, version, .flags = MEMBER_OPTIONAL),
    MEMBER(node_kube, address, .flags = MEMBER_OPTIONAL),
    MEMBER(node_kube, provider_id, .flags = MEMBER_OPTIONAL | MEMBER_NOCASE),
    MEMBER(node_kube, system_uuid, .flags = MEMBER_OPTIONAL | MEMBER_NOCASE | MEMBER_LOWER),
    MEMBER_AS(node_kube, is_control_plane, "is_control_plane", "control_plane"),
    MEMBER_AS(node_kube, pressure, "pressure", NULL),
    MEMBER_PART_OF("pressure"),
    MEMBER_AS(node_kube, uid, "uid", NULL),
    MEMBER_AS(node_kube, created_at_ms, "created_at_ms", NULL),
    MEMBERS_END,
};
void node_kube_done(struct node_kube *kube); /* NULL is allowed */
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int node_kube_copy(const struct node_kube *from, struct node_kube *out, struct err *err);

#define NODE_KUBE_PRESSURE_BYTES 101
/* What is kept of a node that an API server tells: *out borrows its texts and `pressure`. node_id and is_made are for the caller to set. */
void node_kube_view(const struct kube_node *told, char pressure[NODE_KUBE_PRESSURE_BYTES], struct node_kube *out);
/* True if the machine of which a vCenter shows this BIOS UUID (NULL: none), or that which Kubernetes told before, is another than it tells now. Byte order and
 * case of a UUID do not count. */
bool node_kube_is_other_machine(const struct node_kube *is, const struct node_kube *was, const char *seen_bios_uuid);
/* The UUID in "vsphere://UUID"; NULL: there is none. Borrowed. */
const char *node_kube_vsphere_uuid(const char *provider_id);

/* Of a cluster: how the connection stands, and the verdict on its health, as lists show them. Texts malloc'ed. */
struct cluster_kube {
    enum remote_state connection;
    int64_t connection_since_ms; /* wall clock */
    char *connection_reason;     /* stable word; NULL: none */
    char *version;               /* of the API server; NULL: not known */
    struct kube_summary health;
};
static const struct member cluster_kube_members[] = {
    MEMBER_AS(cluster_kube, connection, "state", NULL, .words = kube_connection_state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(cluster_kube, connection_since_ms, "since_ms", NULL),
    MEMBER_AS(cluster_kube, connection_reason, "reason", NULL),
    MEMBER(cluster_kube, version),
    MEMBER_AS(cluster_kube, health.state, "health", NULL, .words = cluster_state_words, .unknown = CLUSTER_UNKNOWN),
    MEMBER_AS(cluster_kube, health.reason, "health_reason", NULL),
    MEMBER_AS(cluster_kube, health.since_ms, "health_since_ms", NULL),
    MEMBER_AS(cluster_kube, health.control_plane_ready, "control_plane_ready", NULL),
    MEMBER_AS(cluster_kube, health.control_plane_desired, "control_plane_desired", NULL),
    MEMBER_AS(cluster_kube, health.workers_ready, "workers_ready", NULL),
    MEMBER_AS(cluster_kube, health.workers_desired, "workers_desired", NULL),
    MEMBERS_END,
};
void cluster_kube_done(struct cluster_kube *kube); /* NULL is allowed */
/* True while what Kubernetes told last of its nodes counts, also after a try that failed. No longer once the health says (kube_health.h) that the API server is
 * silent, that etcd has no quorum or that another cluster answers, nor when the token is refused for good. NULL: there is no connection. */
bool cluster_kube_knows_nodes(const struct cluster_kube *kube);
/* As of when that is (wall clock), 0: as of now. */
int64_t cluster_kube_as_of_ms(const struct cluster_kube *kube);
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int cluster_kube_copy(const struct cluster_kube *from, struct cluster_kube *out, struct err *err);
