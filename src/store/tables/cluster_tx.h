/* Tables that more than one of the stores reads and writes, and clusters as part of what another store writes. Layer 2 (store), for this folder's modules.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"
#include "db_table.h"
#include "store_tx.h"

struct cluster_room;

extern const struct db_table vcenter_table, cluster_table, hx_cluster_table, hx_status_table, vsphere_cluster_table, node_table,
    node_kube_table, observation_table;

/* Writes a new cluster in the caller's transaction, as cluster_store_insert does. */
int cluster_tx_insert(struct store_tx *tx, const struct cluster *c, const struct cluster_room *room, struct err *err);

/* For a transaction that makes nodes: the first is to be called before anything is written, the second behind that. ERR_INVENTORY_FULL. Nothing is done when
 * `room` is NULL. */
int cluster_tx_begin_room(struct store_tx *tx, const struct cluster_room *room, struct err *err);
int cluster_tx_check_room(struct store_tx *tx, const struct cluster_room *room, struct err *err);
