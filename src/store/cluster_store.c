/* Writing Kubernetes clusters. Reading is in cluster_load.c. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_store.h"

#include "audit_tx.h"
#include "cluster_room.h"
#include "cluster_tx.h"
#include "db_stmt.h"
#include "node_tx.h"
#include "store_tx.h"
#include "str.h"

#define REPORTS_PER_TX 500U /* rows locked at once */

struct cluster_write {
    const struct cluster *cluster;
    unsigned parts;
    struct cluster_writing with;
};

static int insert_placement(struct db_conn *conn, const struct cluster *c, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < c->placement.count && !rc; i++) {
        const struct object_ref *ref = &c->placement.items[i];
        rc = db_run(conn, "INSERT INTO cluster_placements (cluster_id, vcenter_id, moref) VALUES (?, ?, ?)",
                    DB_ARGS(db_text(c->id), db_text(ref->vcenter_id), db_text(ref->moref)), NULL, err);
        db_explain(rc, ERR_CONFLICT, err, "there is no vSphere cluster %s on vCenter %s", ref->moref, ref->vcenter_id);
        db_explain(rc, ERR_EXISTS, err, "the vSphere cluster %s is in the placement twice", ref->moref);
    }
    return rc;
}

static int insert_labels(struct db_conn *conn, const struct cluster *c, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < c->labels_count && !rc; i++) {
        rc = db_run(conn, "INSERT INTO cluster_labels (cluster_id, label_key, label_value) VALUES (?, ?, ?)",
                    DB_ARGS(db_text(c->id), db_text(c->labels[i].key), db_text(c->labels[i].value)), NULL, err);
        db_explain(rc, ERR_EXISTS, err, "the label \"%s\" is there twice", c->labels[i].key);
    }
    return rc;
}

static int explain_cluster(struct db_conn *conn, int rc, const struct cluster *c, struct err *err) {
    if (str_eq(conn->last_key, "clusters_name"))
        return db_explain(rc, ERR_EXISTS, err, "a cluster named \"%s\" exists already", c->name);
    return db_explain(rc, ERR_EXISTS, err, "a cluster with id %s exists already", c->id);
}

int cluster_tx_insert(struct store_tx *tx, const struct cluster *c, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    int rc = db_table_insert(conn, &cluster_table, c, DB_MORE_NONE, err);
    rc = explain_cluster(conn, rc, c, err);
    rc = rc ? rc : insert_placement(conn, c, err);
    rc = rc ? rc : insert_labels(conn, c, err);
    rc = rc ? rc : node_tx_insert(conn, c, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_CLUSTER, c->id, err);
}

static int cluster_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct cluster_write *call = arg;
    struct room_count count;
    int rc = cluster_tx_begin_room(tx, call->with.room, &count, err);
    rc = rc ? rc : cluster_tx_insert(tx, call->cluster, err);
    rc = rc ? rc : cluster_tx_check_room(tx, &count, call->cluster, true, err);
    return rc ? rc : audit_tx_append(tx, call->with.audit, 1, err);
}

int cluster_store_insert(struct store *store, const struct cluster *c, const struct cluster_writing *with, struct err *err) {
    struct cluster_write call = {.cluster = c};
    if (with)
        call.with = *with;
    return store_tx(store, cluster_insert, &call, err);
}

static int replace_placement(struct db_conn *conn, const struct cluster *c, struct err *err) {
    int rc = db_run(conn, "DELETE FROM cluster_placements WHERE cluster_id = ?", DB_ARGS(db_text(c->id)), NULL, err);
    return rc ? rc : insert_placement(conn, c, err);
}

static int replace_labels(struct db_conn *conn, const struct cluster *c, struct err *err) {
    int rc = db_run(conn, "DELETE FROM cluster_labels WHERE cluster_id = ?", DB_ARGS(db_text(c->id)), NULL, err);
    return rc ? rc : insert_labels(conn, c, err);
}

int cluster_tx_update(struct store_tx *tx, const struct cluster *c, unsigned parts, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    int rc = db_table_update(conn, &cluster_table, c, DB_MORE_NONE, err);
    rc = explain_cluster(conn, rc, c, err);
    if (!rc && (parts & CLUSTER_PART_PLACEMENT))
        rc = replace_placement(conn, c, err);
    if (!rc && (parts & CLUSTER_PART_LABELS))
        rc = replace_labels(conn, c, err);
    if (!rc && (parts & CLUSTER_PART_NODES))
        rc = node_tx_replace(conn, c, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_CLUSTER, c->id, err);
}

static int cluster_update(struct store_tx *tx, void *arg, struct err *err) {
    const struct cluster_write *call = arg;
    struct room_count count;
    int rc = cluster_tx_begin_room(tx, call->with.room, &count, err);
    rc = rc ? rc : cluster_tx_update(tx, call->cluster, call->parts, err);
    rc = rc ? rc : cluster_tx_check_room(tx, &count, call->cluster, false, err);
    return rc ? rc : audit_tx_append(tx, call->with.audit, 1, err);
}

int cluster_store_update(struct store *store, const struct cluster *c, unsigned parts, const struct cluster_writing *with,
                         struct err *err) {
    struct cluster_write call = {.cluster = c, .parts = parts};
    if (with)
        call.with = *with;
    return store_tx(store, cluster_update, &call, err);
}

struct cluster_removal {
    const char *id;
    int64_t version_no;
    const struct audit_record *audit;
};

static int cluster_note_grant(const struct db_row *row, void *arg, struct err *err) {
    return store_tx_note_change(arg, CHANGE_GRANT, db_row_text(row, 0), err);
}

static int remove_cluster(struct store_tx *tx, void *arg, struct err *err) {
    const struct cluster_removal *call = arg;
    struct db_conn *conn = store_tx_conn(tx);
    /* the rows of the lists and the grants go with it (ON DELETE CASCADE) */
    int rc = db_query(conn,
                      &(struct db_query){.sql = "SELECT id FROM grants WHERE cluster_id = ?",
                                         .args = DB_ARGS(db_text(call->id)),
                                         .columns = "t",
                                         .row = cluster_note_grant,
                                         .arg = tx},
                      err);
    rc = rc ? rc : node_tx_forget_seen(conn, call->id, err);
    rc = rc ? rc : db_table_delete(conn, &cluster_table, call->id, call->version_no, err);
    rc = rc ? rc : store_tx_note_change(tx, CHANGE_CLUSTER, call->id, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int cluster_store_delete(struct store *store, const char *id, int64_t version_no, const struct audit_record *audit,
                         struct err *err) {
    struct cluster_removal call = {id, version_no, audit};
    return store_tx(store, remove_cluster, &call, err);
}

struct report_save {
    const struct report_time *items;
    size_t count;
    bool is_noted;
};

static int save_times(struct store_tx *tx, void *arg, struct err *err) {
    const struct report_save *call = arg;
    int rc = 0;
    for (size_t i = 0; i < call->count && !rc; i++) {
        const struct report_time *item = &call->items[i];
        uint64_t met = 0;
        rc = db_run(store_tx_conn(tx), "UPDATE clusters SET reported_at_ms = ? WHERE id = ? AND reported_at_ms < ?",
                    DB_ARGS(db_number(item->at_ms), db_text(item->cluster_id), db_number(item->at_ms)), &met, err);
        if (!rc && met && call->is_noted)
            rc = store_tx_note_change(tx, CHANGE_CLUSTER, item->cluster_id, err);
    }
    return rc;
}

int cluster_store_save_report_times(struct store *store, const struct report_time *items, size_t count, bool is_noted,
                                    struct err *err) {
    int rc = 0;
    for (size_t at = 0; at < count && !rc; at += REPORTS_PER_TX) {
        struct report_save call = {items + at, count - at < REPORTS_PER_TX ? count - at : REPORTS_PER_TX, is_noted};
        rc = store_tx(store, save_times, &call, err);
    }
    return rc;
}
