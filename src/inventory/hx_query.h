/* Questions to a snapshot about one HX cluster, answered from memory. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As in query.h every question takes the viewer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "err.h"
#include "policy.h"
#include "query.h"
#include "snapshot.h"

/* The HX cluster with this id, or the one that this id stands for now; *out is borrowed from the snapshot. ERR_NOT_FOUND if it is unknown or invisible. */
int inventory_get_visible_hx(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const char *id,
                             const struct hx_cluster **out, struct err *err);

/* A Kubernetes cluster on it that the viewer may see, and which of its placements (bits) the viewer may see. */
struct inventory_seen {
    const struct inventory_cluster *entry;
    uint64_t mask;
};
struct inventory_seen_list {
    struct inventory_seen *items; /* by name of the cluster */
    size_t count;
};
/* Those that GET /v2/clusters?hx_cluster_id= lists; none of one that is gone. out->items is the caller's to free. ERR_NOMEM. */
int inventory_list_on_hx(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const struct hx_cluster *hx,
                         struct inventory_seen_list *out, struct err *err);
/* Counts them. */
void inventory_count_on_hx(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                           const struct hx_cluster *hx, struct inventory_counts *out);

/* -- what a viewer finds at an object of a vCenter ------------------------------------------------------------------------------ */

/* May this node of a visible cluster be shown? `mask`: the placements (bits) of the cluster that the viewer may see. One that runs on a vSphere cluster: if that
 * may be seen. One whose place is not known: if all of the cluster's placement may be seen. */
bool inventory_sees_node(const struct inventory_platform *platform, const struct viewer_key *viewer,
                         const struct inventory_seen *in, const struct node *node);

/* Is there an HX cluster on this vSphere cluster that the viewer may see, or a Kubernetes cluster? */
bool inventory_finds_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                              const struct object_ref *ref);
/* Likewise on one of the vSphere clusters in this datacenter? */
bool inventory_finds_datacenter(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                                const struct object_ref *ref);
/* Is this virtual machine a node that the viewer may see, or is there one on this host? Looks at all nodes: 100,000 take about a millisecond. */
bool inventory_finds_node(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                          const struct object_ref *ref);
