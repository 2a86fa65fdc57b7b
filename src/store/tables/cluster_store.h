/* Kubernetes clusters with placement, labels and nodes. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "cluster.h"
#include "err.h"
#include "limits.h"
#include "store.h"

/* Which lists of a cluster an update replaces; the others stay as stored. */
enum cluster_parts {
    CLUSTER_PART_NONE = 0,
    CLUSTER_PART_PLACEMENT = 1,
    CLUSTER_PART_LABELS = 2,
    CLUSTER_PART_NODES = 4,
    CLUSTER_PART_ALL = 7
};

/* Callbacks that get clusters one after the other. */
struct cluster_sink {
    void (*begin)(void *arg); /* the reading begins, or begins again after a lost connection: drop what was given before */
    int (*take)(void *arg, struct cluster *record, struct err *err); /* owns the record also on failure, which ends the reading */
    void *arg;
};
/* Gives all clusters, ordered by id, from one snapshot of the database. It reads some hundred at a time, so that not all records are in memory at
 * once. Errors of the sink, too. */
int cluster_store_each(struct store *store, const struct cluster_sink *sink, struct err *err);

/* Reads one; freed by cluster_free. ERR_NOT_FOUND. */
int cluster_store_load(struct store *store, const char *id, struct cluster **out, struct err *err);

/* How many clusters and nodes there may be in all. */
struct cluster_room {
    size_t clusters_max, nodes_max;
};

/* What is done in the same transaction as a write to a cluster. This pointer, and each in it, may be NULL: nothing. */
struct cluster_writing {
    const struct audit_record *audit; /* line of the audit log: written with the change or not at all */
    const struct cluster_room
        *room; /* ERR_INVENTORY_FULL if it would be exceeded. Costs some milliseconds: give it only when the limit is near */
};

/* Writes a new cluster; version_no starts at 1 whatever c says. ERR_EXISTS if id or name (byte for byte) is taken, or a node's
 * VM belongs to another cluster; ERR_CONFLICT if a vSphere cluster of the placement is not stored. Notes CHANGE_CLUSTER. */
int cluster_store_insert(struct store *store, const struct cluster *c, const struct cluster_writing *with, struct err *err);

/* Writes all attributes, the report among them, and the lists in `parts` (bits of enum cluster_parts) if the row still has c->version_no, which
 * rises by one in the database. ERR_PRECONDITION if it changed, ERR_NOT_FOUND, else as insert. created_at_ms stays; what is
 * seen of nodes is not written (observation_store.h), but forgotten for nodes that are removed or declared to be another virtual machine.
 * Notes CHANGE_CLUSTER. */
int cluster_store_update(struct store *store, const struct cluster *c, unsigned parts, const struct cluster_writing *with,
                         struct err *err);

/* Removes a cluster with its lists and the grants on it. With version_no 0 whatever its version, else ERR_PRECONDITION if it
 * changed. ERR_NOT_FOUND; ERR_CONFLICT while it is connected (kube_store.h). Notes CHANGE_CLUSTER. `audit` as above. */
int cluster_store_delete(struct store *store, const char *id, int64_t version_no, const struct audit_record *audit,
                         struct err *err);

/* When a cluster was last reported on. */
struct report_time {
    char cluster_id[KAAS_UUID_BYTES];
    int64_t at_ms; /* wall clock */
};
struct report_times {
    struct report_time *items; /* by id */
    size_t count;
};
void report_times_done(struct report_times *times); /* NULL is allowed */

/* Lists the clusters that were reported on at or after this time. *out (uninitialised) is given back by report_times_done. */
int cluster_store_list_report_times(struct store *store, int64_t since_ms, struct report_times *out, struct err *err);

/* Moves report times forward, never back; unknown clusters are left out. No version rises. With is_noted, CHANGE_CLUSTER is noted for each
 * that moved: for reports that end a silence, since then the cluster's state changes. */
int cluster_store_save_report_times(struct store *store, const struct report_time *items, size_t count, bool is_noted,
                                    struct err *err);

/* -- writing many Kubernetes clusters in one transaction ----------------------------------- */

/* One cluster to be written. */
struct cluster_batch_item {
    const struct cluster *cluster; /* borrowed */
    unsigned parts;                /* of a change: enum cluster_parts */
    bool is_change;                /* true: updates the row that has cluster->version_no; false: inserts */
    struct audit_record audit;     /* line of the audit log if it is written; texts borrowed */
    struct err err;                /* why it was not written; all-zero: written */
    bool is_skipped;               /* not tried, since the inventory was full before */
};

struct cluster_batch {
    struct cluster_batch_item *items;
    size_t count;
    bool is_atomic;
    const struct cluster_room *room; /* as in struct cluster_writing */
};

/* Writes the items in their order, as cluster_store_insert and cluster_store_update do, and their lines of the audit log, in one transaction. An item that
 * cannot be written (errors of those two) leaves nothing behind but its error; with is_atomic nothing at all is written then, and the items behind it are not
 * tried. Behind an item with ERR_INVENTORY_FULL none is tried in either case, since none would find room.
 * Returns 0 also if items have errors. With any other result (errors of store.h) nothing was written. */
int cluster_store_write_batch(struct store *store, const struct cluster_batch *batch, struct err *err);
