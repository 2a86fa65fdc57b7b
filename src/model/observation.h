/* What a vCenter shows of the nodes of Kubernetes clusters: whom to look for, and what was seen. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who may be taken for whose virtual machine is decided here (observation_judge), whoever did the looking. What follows for a
 * cluster's state and placement is rollup.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "member.h"

/* How a node and a virtual machine were joined. The watch tells NONE, INSTANCE_UUID, BIOS_UUID or NAME; MISMATCH is a verdict. */
enum vm_match {
    VM_MATCH_NONE,          /* the vCenter has no virtual machine for this node (now) */
    VM_MATCH_INSTANCE_UUID, /* config.instanceUuid is the one that was declared */
    VM_MATCH_BIOS_UUID,     /* config.uuid is the one that was declared */
    VM_MATCH_NAME,          /* exactly one virtual machine of the vCenter has the node's VM name */
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

/* A node that a watch should look for. Texts malloc'ed; UUIDs as declared, so compare them without case. */
struct node_target {
    char *cluster_id, *node_id;
    char *node_name;
    char *vm_name;          /* what its virtual machine is called: as declared, else the node's name; never NULL */
    char *vm_instance_uuid; /* declared, else the one that it was bound to at its first match; NULL: neither */
    char *vm_bios_uuid;     /* declared; NULL: unknown */
    char *vcenter_id;       /* declared, else the one that it was bound on; NULL: unknown yet */
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
    int64_t observed_at_ms; /* wall clock: when this came to be so */
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
/* True when everything that was seen is the same; times and identity members of the store are not compared. */
bool node_observation_same(const struct node_observation *a, const struct node_observation *b);

/* What is declared of a node and what it was bound to, for the verdict below. NULL: not declared, not bound. */
struct node_identity {
    const char *declared_instance_uuid, *declared_bios_uuid;
    const char *bound_uuid;
    enum vm_match bound_by; /* how the bound one was found */
};
/* Is what the watch told the node's own virtual machine? Returns the match to be stored: how it was found at first, NONE, or MISMATCH.
 * What is declared decides first, then what it is bound to: a virtual machine found by name alone never replaces a bound one. */
enum vm_match observation_judge(const struct node_identity *known, const struct node_observation *told);
