/* Is there room for what a transaction writes? Layer 2 (store), for this folder's modules.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cluster_store.h"
#include "err.h"
#include "store_tx.h"

/* Counts of one attempt of a transaction; begins all-zero. */
struct room_count {
    const struct cluster_room *room; /* NULL: nothing is counted */
    bool is_counted;
    int64_t clusters, nodes; /* at most so many, with what this transaction has written */
};

/* Lets only one transaction that counts go ahead at a time, so that of two on different replicas the second sees what the first wrote. To
 * be called before anything is written. */
int cluster_tx_begin_room(struct store_tx *tx, const struct cluster_room *room, struct room_count *out, struct err *err);

/* Counts a cluster that has just been written, new or with new nodes. ERR_DIRECTORY_FULL if it is one too many: it must be taken back then. */
int cluster_tx_check_room(struct store_tx *tx, struct room_count *count, const struct cluster *c, bool is_new, struct err *err);
