/* Grants. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "grant_store.h"

#include <stdlib.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "object_ref.h"
#include "store_tx.h"

#define SELECT_GRANT "SELECT id, principal_id, role, object_kind, object_id, created_at_ms FROM grants"
#define ORDER " ORDER BY principal_id, object_kind, object_id"
#define GONE "there is no such grant"

void grant_list_done(struct grant_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        grant_done(&list->items[i]);
    free(list->items);
    *list = (struct grant_list){0};
}

static int add_grant(const struct db_row *row, void *arg, struct err *err) {
    struct grant_list *list = arg;
    void *items = list->items;
    struct grant *g = db_list_add(&items, &list->count, sizeof(*g));
    list->items = items;
    if (!g)
        return err_set(err, ERR_NOMEM, "out of memory");
    g->id = db_row_dup(row, 0);
    g->principal_id = db_row_dup(row, 1);
    g->role = db_row_dup(row, 2);
    g->object_id = db_row_dup(row, 4);
    g->created_at_ms = db_row_number(row, 5);
    if (!grant_object_parse(db_row_text(row, 3), &g->object))
        return err_set(err, ERR_SCHEMA, "a grant has an unknown kind of object");
    return 0;
}

struct load {
    const char *sql;
    struct db_args args;
    struct grant_list list;
};

static int load(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    grant_list_done(&call->list);
    return db_query(
        conn, &(struct db_query){.sql = call->sql, .args = call->args, .columns = "ttttti", .row = add_grant, .arg = &call->list},
        err);
}

static int list_by(struct store *store, struct load *call, struct grant_list *out, struct err *err) {
    int rc = store_read(store, load, call, err);
    if (rc)
        grant_list_done(&call->list);
    else
        *out = call->list;
    return rc;
}

int grant_store_list(struct store *store, struct grant_list *out, struct err *err) {
    return list_by(store, &(struct load){.sql = SELECT_GRANT ORDER}, out, err);
}

int grant_store_load(struct store *store, const char *id, struct grant *out, struct err *err) {
    struct grant_list list = {0};
    int rc = list_by(store, &(struct load){.sql = SELECT_GRANT " WHERE id = ?", .args = DB_ARGS(db_text(id))}, &list, err);
    if (rc)
        return rc;
    if (!list.count)
        return err_set(err, ERR_NOT_FOUND, GONE);
    *out = list.items[0];
    free(list.items);
    return 0;
}

struct write {
    const struct grant *grant;
    struct object_ref ref; /* for a vSphere cluster */
    int64_t now_ms;
    const struct audit_record *audit;
};

static int insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct write *call = arg;
    const struct grant *g = call->grant;
    const bool is_vsphere = g->object == GRANT_VSPHERE_CLUSTER;
    int rc = db_run(
        store_tx_conn(tx),
        "INSERT INTO grants (id, principal_id, role, object_kind, object_id, cluster_id, vcenter_id, moref, hx_cluster_id, created_at_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        DB_ARGS(db_text(g->id), db_text(g->principal_id), db_text(g->role), db_text(grant_object_name(g->object)),
                db_text(g->object_id), db_text(g->object == GRANT_CLUSTER ? g->object_id : NULL),
                db_text(is_vsphere ? call->ref.vcenter_id : NULL), db_text(is_vsphere ? call->ref.moref : NULL),
                db_text(g->object == GRANT_HX_CLUSTER ? g->object_id : NULL), db_number(call->now_ms)),
        NULL, err);
    db_explain(rc, ERR_EXISTS, err, "there is a grant for this principal on this object already");
    db_explain(rc, ERR_CONFLICT, err, "there is no %s \"%s\" to grant on", grant_object_name(g->object), g->object_id);
    rc = rc ? rc : store_tx_note_change(tx, CHANGE_GRANT, g->id, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int grant_store_insert(struct store *store, const struct grant *g, int64_t now_ms, const struct audit_record *audit,
                       struct err *err) {
    struct write call = {.grant = g, .now_ms = now_ms, .audit = audit};
    int rc = g->object == GRANT_VSPHERE_CLUSTER ? grant_vsphere_ref(g->object_id, &call.ref, err) : 0;
    return rc ? rc : store_tx(store, insert, &call, err);
}

struct removal {
    const char *id;
    const struct audit_record *audit;
};

static int remove_grant(struct store_tx *tx, void *arg, struct err *err) {
    const struct removal *call = arg;
    int rc = db_run_one(store_tx_conn(tx), "DELETE FROM grants WHERE id = ?", DB_ARGS(db_text(call->id)), GONE, err);
    rc = rc ? rc : store_tx_note_change(tx, CHANGE_GRANT, call->id, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int grant_store_delete(struct store *store, const char *id, const struct audit_record *audit, struct err *err) {
    struct removal call = {id, audit};
    return store_tx(store, remove_grant, &call, err);
}
