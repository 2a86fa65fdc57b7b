/* The lists in a cluster's JSON: placement, labels, nodes. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"
#include "err.h"
#include "json.h"
#include "snapshot.h"

/* Replaces the placement by an array of VsphereClusterRef. ERR_UNPROCESSABLE naming the item, ERR_AMBIGUOUS. */
int cluster_lists_placement(json_t *array, const struct dir_platform *platform, struct cluster *c, struct err *err);

/* Merges labels (RFC 7396): null removes one, a JSON null instead of the object removes all. ERR_UNPROCESSABLE. */
int cluster_lists_labels(json_t *object, struct cluster *c, struct err *err);

/* Replaces the nodes by an array of NodeInput, or by none with JSON null; a node that keeps its name keeps its id. ERR_UNPROCESSABLE. */
int cluster_lists_nodes(json_t *array, struct cluster *c, struct err *err);

/* Replaces the nodes by an array of ReportedNode. A node that was there by this name keeps its id and what the item leaves out.
 * ERR_UNPROCESSABLE. */
int cluster_lists_reported_nodes(json_t *array, struct cluster *c, struct err *err);
