/* Writing one cluster inside a transaction. Layer 2 (store), for this folder's modules.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"
#include "db_table.h"
#include "err.h"
#include "store_tx.h"

extern const struct db_table cluster_table, node_table, observation_table;

/* As cluster_store_insert and cluster_store_update. After an error rows may be left that the caller has to take back. */
int cluster_tx_insert(struct store_tx *tx, const struct cluster *c, struct err *err);
int cluster_tx_update(struct store_tx *tx, const struct cluster *c, unsigned parts, struct err *err);
