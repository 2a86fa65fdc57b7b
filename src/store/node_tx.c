/* Nodes of a cluster, as part of writing the cluster. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "node_tx.h"

#include <stdlib.h>
#include <string.h>

#include "db_stmt.h"
#include "str.h"

static int explain_node(struct db_conn *conn, int rc, const struct node *n, struct err *err) {
    if (str_eq(conn->last_key, "nodes_vm"))
        return db_explain(rc, ERR_EXISTS, err, "the virtual machine of node \"%s\" belongs to another node already", n->name);
    return db_explain(rc, ERR_EXISTS, err, "the node \"%s\" is there twice", n->name);
}

static int insert_node(struct db_conn *conn, const char *cluster_id, const struct node *n, struct err *err) {
    int rc = db_run(conn,
                    "INSERT INTO nodes (id, cluster_id, name, role, vcenter_id, vm_instance_uuid, vm_bios_uuid, vm_name,"
                    " kubernetes_version, address) VALUES (?, ?, ?, ?, ?, LOWER(?), LOWER(?), ?, ?, ?)",
                    DB_ARGS(db_text(n->id), db_text(cluster_id), db_text(n->name), db_text(node_role_name(n->role)),
                            db_text(n->vcenter_id), db_text(n->vm_instance_uuid), db_text(n->vm_bios_uuid), db_text(n->vm_name),
                            db_text(n->kubernetes_version), db_text(n->address)),
                    NULL, err);
    return explain_node(conn, rc, n, err);
}

int node_tx_insert(struct db_conn *conn, const struct cluster *c, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < c->nodes_count && !rc; i++)
        rc = insert_node(conn, c->id, &c->nodes[i], err);
    return rc;
}

/* The stored nodes of one cluster, by name like those of the record. */
struct stored {
    struct node *items;
    size_t count;
};

static void stored_done(struct stored *s) {
    for (size_t i = 0; i < s->count; i++)
        node_done(&s->items[i]);
    free(s->items);
}

static int add_stored(const struct db_row *row, void *arg, struct err *err) {
    struct stored *s = arg;
    void *items = s->items;
    struct node *n = db_list_add(&items, &s->count, sizeof(*n));
    s->items = items;
    if (!n)
        return err_set(err, ERR_NOMEM, "out of memory");
    n->id = db_row_dup(row, 0);
    n->name = db_row_dup(row, 1);
    n->vcenter_id = db_row_dup(row, 3);
    n->vm_instance_uuid = db_row_dup(row, 4);
    n->vm_bios_uuid = db_row_dup(row, 5);
    n->vm_name = db_row_dup(row, 6);
    n->kubernetes_version = db_row_dup(row, 7);
    n->address = db_row_dup(row, 8);
    if (!node_role_parse(db_row_text(row, 2), &n->role))
        return err_set(err, ERR_SCHEMA, "a node has an unknown role");
    return 0;
}

static int load_stored(struct db_conn *conn, const char *cluster_id, struct stored *out, struct err *err) {
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT id, name, role, vcenter_id, vm_instance_uuid, vm_bios_uuid, vm_name,"
                                              " kubernetes_version, address FROM nodes WHERE cluster_id = ? ORDER BY name",
                                       .args = DB_ARGS(db_text(cluster_id)),
                                       .columns = "ttttttttt",
                                       .row = add_stored,
                                       .arg = out},
                    err);
}

static const struct node *find_by_id(const struct node *nodes, size_t count, const char *id) {
    for (size_t i = 0; i < count; i++)
        if (str_eq(nodes[i].id, id))
            return &nodes[i];
    return NULL;
}

static bool is_same(const struct node *a, const struct node *b) {
    return str_eq(a->name, b->name) && a->role == b->role && node_same_identity(a, b) &&
           str_eq(a->kubernetes_version, b->kubernetes_version) && str_eq(a->address, b->address);
}

/* Rows that change are removed first and written anew, so that nodes may swap names or virtual machines. */
static int remove_stale(struct db_conn *conn, const struct node *stored, const struct node *wanted, struct err *err) {
    int rc = 0;
    if (wanted && is_same(stored, wanted))
        return 0;
    if (!wanted || !node_same_identity(stored, wanted))
        rc = db_run(conn, "DELETE FROM node_observations WHERE node_id = ?", DB_ARGS(db_text(stored->id)), NULL, err);
    return rc ? rc : db_run(conn, "DELETE FROM nodes WHERE id = ?", DB_ARGS(db_text(stored->id)), NULL, err);
}

static int write_differences(struct db_conn *conn, const struct stored *before, const struct cluster *c, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < before->count && !rc; i++)
        rc = remove_stale(conn, &before->items[i], find_by_id(c->nodes, c->nodes_count, before->items[i].id), err);
    for (size_t i = 0; i < c->nodes_count && !rc; i++) {
        const struct node *stored = find_by_id(before->items, before->count, c->nodes[i].id);
        if (!stored || !is_same(stored, &c->nodes[i]))
            rc = insert_node(conn, c->id, &c->nodes[i], err);
    }
    return rc;
}

int node_tx_replace(struct db_conn *conn, const struct cluster *c, struct err *err) {
    struct stored before = {0};
    int rc = load_stored(conn, c->id, &before, err);
    if (!rc)
        rc = write_differences(conn, &before, c, err);
    stored_done(&before);
    return rc;
}

int node_tx_forget_seen(struct db_conn *conn, const char *cluster_id, struct err *err) {
    return db_run(conn, "DELETE o FROM node_observations o JOIN nodes n ON n.id = o.node_id WHERE n.cluster_id = ?",
                  DB_ARGS(db_text(cluster_id)), NULL, err);
}
