/* What the vCenters show of the nodes of Kubernetes clusters. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node given by name or BIOS UUID is bound to the virtual machine of its first match: from then on (vCenter, instance UUID) is its
 * identity. The binding is stored here, apart from what was declared. It ends when the declared UUIDs, VM name or vCenter of the node
 * change, or when a virtual machine with the declared BIOS UUID is found in its place; a virtual machine that just has the same name is
 * stored as a mismatch. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "err.h"
#include "refused_rows.h"
#include "store.h"

struct node_target_list {
    struct node_target *items; /* by node id */
    size_t count;
};
void node_target_list_done(struct node_target_list *list); /* NULL is allowed */

/* Lists the nodes that a watch on this vCenter should look for: those declared or bound on it, and those without a vCenter whose cluster
 * is not placed elsewhere (it is declared on a vSphere cluster of this vCenter, or on none at all). Read it again when clusters have
 * changed (CHANGE_CLUSTER in the change feed). *out (uninitialised) is given back by node_target_list_done.
 *
 * How to match: by vm_instance_uuid (config.instanceUuid); if there is none such, by seen_moref when that virtual machine has no
 * configuration now; if there is none such, by provider_uuid, else by system_uuid, else by vm_bios_uuid (all config.uuid), in one byte order or the other,
 * when exactly one virtual machine has it; if there is none such, by vm_name when exactly one virtual machine has that name. Templates are no candidates. Give
 * the store what was found, and by what, even if its instance UUID is not the target's: the store judges (observation_judge). */
int observation_store_list_nodes(struct store *store, const char *vcenter_id, struct node_target_list *out, struct err *err);

/* As observation_store_list_nodes, of one cluster; none if there is no such cluster. */
int observation_store_list_cluster_nodes(struct store *store, const char *vcenter_id, const char *cluster_id,
                                         struct node_target_list *out, struct err *err);

/* What one vCenter shows. */
struct observation_picture {
    const char *vcenter_id;
    const struct node_observation *items; /* any order, no node twice; texts borrowed; UUIDs are stored in lower case */
    size_t count;
    bool is_complete; /* true: nodes stored for this vCenter that are not among the items have no virtual machine any more.
                         false: only the items are touched; one with VM_MATCH_NONE says that its virtual machine is gone */
    int64_t now_ms;   /* wall clock; becomes observed_at_ms of the rows that change */
    struct refused_rows *
        refused; /* gets the virtual machines whose values the database refuses: their nodes show none; NULL: then nothing is saved */
};

/* Stores what differs from what is stored; *changed counts the rows written or removed. Rows of nodes that exist no more are removed; a
 * bound node without a virtual machine keeps its row, as VM_MATCH_NONE; one that was never bound and is not told has no row. Items of
 * unknown nodes and of nodes bound on another vCenter are left out silently. A virtual machine that another node is bound to, or that is
 * declared another's, becomes a mismatch. Each cluster touched is noted as CHANGE_CLUSTER once per transaction: call inventory_poll
 * afterwards. No version of a cluster rises.
 * One transaction for up to 1,000 nodes, more for more; nothing is locked or written when nothing differs. Two replicas that watch the
 * same vCenter may both call it; the later one wins, so save the complete picture after each (re)connect and every few minutes.
 * ERR_NOT_FOUND: no such vCenter. ERR_INVALID: a node twice, or the verdict VM_MATCH_MISMATCH among the items. */
int observation_store_save(struct store *store, const struct observation_picture *picture, unsigned *changed, struct err *err);
