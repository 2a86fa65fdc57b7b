/* Insides of the room, shared by its files. Layer 4 (service/clusters).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit_store.h"
#include "cluster_store.h"
#include "clusters.h"

struct clusters {
    struct clusters_options options;
};

/* What was done to what. */
struct clusters_written {
    const char *action, *kind, *id, *name;
};
/* A line of the audit trail for it, with the outcome `rc`. Texts are borrowed. */
struct audit_record clusters_audit_record(const struct actor *actor, const struct clusters_written *what, int rc);
/* The caps to be counted against by a write of so many clusters and nodes; NULL: there is room for far more. */
const struct cluster_room *clusters_room(const struct clusters *c, size_t clusters, size_t nodes);
