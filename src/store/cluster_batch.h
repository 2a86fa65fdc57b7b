/* Writing many Kubernetes clusters in one transaction. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "audit_store.h"
#include "cluster.h"
#include "cluster_store.h"
#include "err.h"
#include "store.h"

/* One cluster to be written. */
struct cluster_batch_item {
    const struct cluster *cluster; /* borrowed */
    unsigned parts;                /* of a change: enum cluster_parts */
    bool is_change;                /* of what is stored with cluster->version_no; else new */
    struct audit_record audit;     /* line of the audit trail if it is written; texts borrowed */
    struct err err;                /* what stands against it; all-zero: written */
    bool is_skipped;               /* not tried, since the directory was full before */
};

struct cluster_batch {
    struct cluster_batch_item *items;
    size_t count;
    bool is_atomic;
    const struct cluster_room *room; /* as in struct cluster_writing */
};

/* Writes them in their order, as cluster_store_insert and cluster_store_update do, in one transaction, and their lines of the audit trail. An item that cannot be written (errors of
 * those two) leaves nothing behind but its error; with is_atomic nothing at all is written then, and the items behind it are not tried. Behind one for which
 * there was no room (ERR_DIRECTORY_FULL) none is tried either way: each would be counted in vain.
 * 0 also if items have errors. Else nothing was written: errors of store.h. */
int cluster_store_write_batch(struct store *store, const struct cluster_batch *batch, struct err *err);
