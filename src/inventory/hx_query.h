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

/* Finds the HX cluster with this id, or that with which it was merged; *out is borrowed from the snapshot. ERR_NOT_FOUND if it is unknown or invisible. */
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
/* Lists the Kubernetes clusters that GET /v2/clusters?hx_cluster_id= lists; none on an HX cluster that is gone. The caller frees out->items. ERR_NOMEM. */
int inventory_list_on_hx(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const struct hx_cluster *hx,
                         struct inventory_seen_list *out, struct err *err);
/* Counts the clusters that inventory_list_on_hx lists. */
void inventory_count_on_hx(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                           const struct hx_cluster *hx, struct inventory_counts *out);

/* -- what a viewer finds at an object of a vCenter ------------------------------------------------------------------------------ */

/* True if this node of a visible cluster may be shown: a node on a vSphere cluster if the viewer may see that one; a node whose place is not known if the
 * viewer may see all of the cluster's placement. in->mask: the placements (bits) that the viewer may see. */
bool inventory_sees_node(const struct inventory_platform *platform, const struct viewer_key *viewer,
                         const struct inventory_seen *in, const struct node *node);

/* True if the viewer may see an HX cluster or a Kubernetes cluster on this vSphere cluster. */
bool inventory_finds_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                              const struct object_ref *ref);
/* The same for the vSphere clusters in this datacenter. */
bool inventory_finds_datacenter(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                                const struct object_ref *ref);
/* True if this virtual machine is a node that the viewer may see, or if there is one on this host. Looks at all nodes: 100,000 take about a millisecond. */
bool inventory_finds_node(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                          const struct object_ref *ref);
