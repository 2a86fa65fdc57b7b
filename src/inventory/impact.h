/* Which Kubernetes clusters a host carries, and what becomes of them without it, answered from a snapshot. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As in query.h every question takes the viewer. Hosts are known by the nodes on them: one without any is not known here. */
#pragma once

#include <stddef.h>

#include "err.h"
#include "host_impact.h"
#include "hx_query.h"
#include "policy.h"
#include "query.h"
#include "snapshot.h"

struct inventory_host {
    struct object_ref ref;
    const struct node_observation *seen; /* of a node on it: its name, state and vSphere cluster; borrowed from the snapshot */
};
struct inventory_host_list {
    struct inventory_host items[INVENTORY_CANDIDATES_MAX];
    size_t count;
};

/* Finds a host of a vCenter (NULL: of any) that carries a node which the viewer may see, by managed object id, by name in any case, or, if these find none, by
 * the first label of its name. *out has it alone. ERR_NOT_FOUND, ERR_AMBIGUOUS; *out has those that fit then. */
int inventory_resolve_host(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                           const struct vcenter *vcenter, const char *reference, struct inventory_host_list *out,
                           struct err *err);

/* A Kubernetes cluster with nodes on the host that the viewer may see. */
struct inventory_impact_row {
    struct inventory_seen seen;
    struct host_impact impact;
};
struct inventory_impact {
    struct inventory_impact_row *rows; /* the worst first */
    size_t count;
    size_t hidden; /* nodes on it of clusters that the viewer may see, but not there */
};
/* Says what becomes of each cluster without this host. The caller frees out->rows. Looks at all nodes. ERR_NOMEM. */
int inventory_judge_host(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                         const struct object_ref *host, struct inventory_impact *out, struct err *err);
