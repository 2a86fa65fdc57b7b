/* Insides of the room, shared by its files. Layer 4 (service/clusters).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit_store.h"
#include "cluster_store.h"
#include "clusters.h"

struct clusters {
    struct clusters_options options;
};

/* The caps to be counted against by a write of so many clusters and nodes; NULL: there is room for far more. */
const struct cluster_room *clusters_room(const struct clusters *c, size_t clusters, size_t nodes);
