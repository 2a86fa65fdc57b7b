/* Machines that are nodes of a cluster, from the draw of their name to their end. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "member.h"

enum machine_role { MACHINE_CONTROL_PLANE, MACHINE_WORKER };
extern const char *const machine_role_words[];

enum machine_state {
    MACHINE_DRAWN, /* it has a name, an address and a UUID; at the vCenter there may be nothing yet, or a clone that is being made */
    MACHINE_CLONED, /* it is at the vCenter, and was never powered on */
    MACHINE_SEEDED, /* from before its user-data was written there on: that may lie there now */
    MACHINE_READY,  /* its guest has reported; the user-data is gone, and was read back empty */
    MACHINE_SICK    /* its guest has failed, and the user-data is gone: a machine in its place is made by the next try */
};
extern const char *const machine_state_words[];

/* Texts malloc'ed; NULL where there is none. */
struct machine {
    char *id;                       /* UUID of ours */
    char *cluster_id, *provider_id; /* UUIDs */
    char *vcenter_id, *network;     /* instance UUID, managed object id: where `address` is its own */
    char *name;                     /* at the vCenter, in the guest, and of the node: "prod-cp-x7f2k" */
    enum machine_role role;
    char *instance_uuid; /* by which it is ours at the vCenter, whatever its name */
    char *address;       /* IPv4 */
    char *moref;         /* managed object id; NULL: not known yet */
    enum machine_state state;
    int64_t created_at_ms; /* by the clock of the database */
};
static const struct member machine_members[] = {
    MEMBER(machine, id, .flags = MEMBER_KEY),
    MEMBER(machine, cluster_id),
    MEMBER(machine, provider_id),
    MEMBER(machine, vcenter_id),
    MEMBER(machine, network),
    MEMBER(machine, name),
    MEMBER(machine, role, .words = machine_role_words, .flags = MEMBER_STRICT),
    MEMBER(machine, instance_uuid),
    MEMBER(machine, address),
    MEMBER(machine, moref, .flags = MEMBER_OPTIONAL),
    MEMBER(machine, state, .words = machine_state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(machine, created_at_ms, "created_at_ms", "created_at"),
    MEMBERS_END,
};
void machine_done(struct machine *machine); /* NULL is allowed */
void machine_free(struct machine *machine); /* NULL is allowed */
CLEANUP_DEFINE(struct machine, machine_free);

struct machine_list {
    struct machine *items; /* by name */
    size_t count;
};
void machine_list_done(struct machine_list *list); /* NULL is allowed */
