/* A node as JSON: what is declared of it beside what is observed. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cluster.h"
#include "json.h"
#include "policy.h"
#include "snapshot.h"

/* Node of docs/openapi.yaml. A new reference; a lack of memory shows when the JSON is written. */
json_t *view_node(const struct dir_platform *platform, const struct node *node);

/* One who looks at the nodes of a cluster, and the placements (bits) that it may see. */
struct node_onlooker {
    const struct dir_platform *platform;
    const struct viewer_key *viewer;
    const struct dir_cluster *entry;
    uint64_t mask;
};

/* May this node be shown? One that runs on a vSphere cluster: if that may be seen. One whose place is not known: if all of the cluster's
 * placement may be seen. */
bool view_node_is_visible(const struct node_onlooker *by, const struct node *node);
