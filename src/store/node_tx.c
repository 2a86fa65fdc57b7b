/* Nodes of a cluster, as part of writing the cluster. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "node_tx.h"

#include "cluster_tx.h"
#include "db_stmt.h"
#include "str.h"

static int explain_node(struct db_conn *conn, int rc, const struct node *n, struct err *err) {
    if (str_eq(conn->last_key, "nodes_vm"))
        return db_explain(rc, ERR_EXISTS, err, "the virtual machine of node \"%s\" belongs to another node already", n->name);
    return db_explain(rc, ERR_EXISTS, err, "the node \"%s\" is there twice", n->name);
}

static int insert_node(struct db_conn *conn, const char *cluster_id, const struct node *n, struct err *err) {
    int rc = db_table_insert(conn, &node_table, n, DB_MORE({"cluster_id", db_text(cluster_id), NULL}), err);
    return explain_node(conn, rc, n, err);
}

int node_tx_insert(struct db_conn *conn, const struct cluster *c, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < c->nodes_count && !rc; i++)
        rc = insert_node(conn, c->id, &c->nodes[i], err);
    return rc;
}

static const struct node *find_by_id(const struct node *nodes, size_t count, const char *id) {
    for (size_t i = 0; i < count; i++)
        if (str_eq(nodes[i].id, id))
            return &nodes[i];
    return NULL;
}

/* Rows that change are removed first and written anew, so that nodes may swap names or virtual machines. */
static int node_remove_stale(struct db_conn *conn, const struct node *stored, const struct node *wanted, struct err *err) {
    int rc = 0;
    if (wanted && members_same(node_members, stored, wanted))
        return 0;
    if (!wanted || !node_same_identity(stored, wanted))
        rc = db_run(conn, "DELETE FROM node_observations WHERE node_id = ?", DB_ARGS(db_text(stored->id)), NULL, err);
    return rc ? rc : db_run(conn, "DELETE FROM nodes WHERE id = ?", DB_ARGS(db_text(stored->id)), NULL, err);
}

static int write_differences(struct db_conn *conn, const struct node *before, size_t count, const struct cluster *c,
                             struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++)
        rc = node_remove_stale(conn, &before[i], find_by_id(c->nodes, c->nodes_count, before[i].id), err);
    for (size_t i = 0; i < c->nodes_count && !rc; i++) {
        const struct node *stored = find_by_id(before, count, c->nodes[i].id);
        if (!stored || !members_same(node_members, stored, &c->nodes[i]))
            rc = insert_node(conn, c->id, &c->nodes[i], err);
    }
    return rc;
}

int node_tx_replace(struct db_conn *conn, const struct cluster *c, struct err *err) {
    struct db_records before = {0};
    int rc = db_table_query(conn, &node_table, " WHERE cluster_id = ? ORDER BY name", DB_ARGS(db_text(c->id)), &before, err);
    if (!rc)
        rc = write_differences(conn, before.items, before.count, c, err);
    db_records_done(&node_table, &before);
    return rc;
}

int node_tx_forget_seen(struct db_conn *conn, const char *cluster_id, struct err *err) {
    return db_run(conn, "DELETE o FROM node_observations o JOIN nodes n ON n.id = o.node_id WHERE n.cluster_id = ?",
                  DB_ARGS(db_text(cluster_id)), NULL, err);
}
