/* Nodes of a cluster, as part of writing the cluster. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"
#include "err.h"

struct db_conn;

/* Writes the nodes of a new cluster. ERR_EXISTS if a name is there twice, or a virtual machine belongs to another node. */
int node_tx_insert(struct db_conn *conn, const struct cluster *c, struct err *err);

/* Makes the stored nodes of a cluster those of `c`, writing only what differs. What is seen of a node is forgotten with the node, and
 * when another virtual machine is declared. Errors as above. */
int node_tx_replace(struct db_conn *conn, const struct cluster *c, struct err *err);

/* Forgets what is seen of all nodes of a cluster that is about to be removed. */
int node_tx_forget_seen(struct db_conn *conn, const char *cluster_id, struct err *err);
