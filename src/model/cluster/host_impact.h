/* What a Kubernetes cluster loses when a host goes, and which of its control planes share one. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The majority is counted as rollup.h does. A node of the control plane of which Kubernetes says that it is not Ready does not count among those that are
 * left: whether its etcd runs is not known. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "object_ref.h"
#include "strbuf.h"

/* The worst first. */
enum host_verdict {
    HOST_TAKES_QUORUM,   /* a majority of the control plane runs, and none without the host */
    HOST_LACKS_QUORUM,   /* nodes of the control plane are on it, and no majority runs as it is */
    HOST_LEAVES_QUORUM,  /* nodes of the control plane are on it, and a majority runs without them */
    HOST_HAS_NO_CONTROL, /* no node of the control plane is on it */
};
const char *
host_verdict_name(enum host_verdict verdict); /* "loses_quorum", "no_quorum", "keeps_quorum", "workers_only"; static */

struct host_impact {
    enum host_verdict verdict;
    size_t control_planes;                /* as many as are wanted or recorded, whichever is more */
    size_t running, left;                 /* of these: now, and without the host */
    size_t control_planes_on, workers_on; /* nodes on the host, whether they run or not */
};

/* True if the node's own virtual machine is on this host. */
bool host_impact_is_on(const struct node *node, const struct object_ref *host);

/* Judges a cluster as lists show it (rolled up). */
void host_impact_judge(const struct cluster *cluster, const struct object_ref *host, struct host_impact *out);

/* Appends the names of the nodes of the control plane that are on this host, "cp-0, cp-1 and 3 more". */
void host_impact_tell_nodes(const struct cluster *cluster, const struct object_ref *host, struct strbuf *out);

/* Appends which nodes of the control plane share a host, and since when (wall clock) that is known; returns false, and appends nothing, if none do. */
bool host_impact_tell_shared(const struct cluster *cluster, struct strbuf *out, int64_t *since_ms);
