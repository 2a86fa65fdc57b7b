/* vCenters. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "session_tx.h"
#include "store_tx.h"

#define COLUMNS                                                                                                                            \
    "id, address, port, name, ca_pem, pin_sha256, version, build, api_version, extension_key, tunnel_port, direct_port, registered_at_ms," \
    " created_at_ms, version_no"
#define COLUMN_KINDS "ttittbttttiiiii"
#define GONE "there is no such vCenter"

void vcenter_list_done(struct vcenter_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        vcenter_done(&list->items[i]);
    free(list->items);
    *list = (struct vcenter_list){0};
}

static int read_pin(const struct db_row *row, struct vcenter *vc, struct err *err) {
    size_t bytes = 0;
    const void *pin = db_row_bytes(row, 5, &bytes);
    if (!pin)
        return 0;
    if (bytes != sizeof(vc->pin_sha256))
        return err_set(err, ERR_SCHEMA, "the pin of a vCenter has %zu bytes", bytes);
    memcpy(vc->pin_sha256, pin, bytes);
    vc->has_pin = true;
    return 0;
}

static int add_vcenter(const struct db_row *row, void *arg, struct err *err) {
    struct vcenter_list *list = arg;
    void *items = list->items;
    struct vcenter *vc = db_list_add(&items, &list->count, sizeof(*vc));
    list->items = items;
    if (!vc)
        return err_set(err, ERR_NOMEM, "out of memory");
    vc->id = db_row_dup(row, 0);
    vc->address = db_row_dup(row, 1);
    vc->port = (unsigned)db_row_number(row, 2);
    vc->name = db_row_dup(row, 3);
    vc->ca_pem = db_row_dup(row, 4);
    vc->version = db_row_dup(row, 6);
    vc->build = db_row_dup(row, 7);
    vc->api_version = db_row_dup(row, 8);
    vc->extension_key = db_row_dup(row, 9);
    vc->tunnel_port = (unsigned)db_row_number(row, 10);
    vc->direct_port = (unsigned)db_row_number(row, 11);
    vc->registered_at_ms = db_row_number(row, 12);
    vc->created_at_ms = db_row_number(row, 13);
    vc->version_no = db_row_number(row, 14);
    return read_pin(row, vc, err);
}

static int list_all(struct db_conn *conn, void *arg, struct err *err) {
    vcenter_list_done(arg);
    return db_query(
        conn,
        &(struct db_query){
            .sql = "SELECT " COLUMNS " FROM vcenters ORDER BY name, id", .columns = COLUMN_KINDS, .row = add_vcenter, .arg = arg},
        err);
}

int vcenter_store_list(struct store *store, struct vcenter_list *out, struct err *err) {
    struct vcenter_list list = {0};
    int rc = store_read(store, list_all, &list, err);
    if (rc)
        vcenter_list_done(&list);
    else
        *out = list;
    return rc;
}

struct load {
    const char *id;
    struct vcenter_list list;
};

static int load(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    vcenter_list_done(&call->list);
    return db_query_one(conn,
                        &(struct db_query){.sql = "SELECT " COLUMNS " FROM vcenters WHERE id = ?",
                                           .args = DB_ARGS(db_text(call->id)),
                                           .columns = COLUMN_KINDS,
                                           .row = add_vcenter,
                                           .arg = &call->list},
                        GONE, err);
}

int vcenter_store_load(struct store *store, const char *id, struct vcenter **out, struct err *err) {
    struct load call = {.id = id};
    int rc = store_read(store, load, &call, err);
    if (rc)
        vcenter_list_done(&call.list);
    else
        *out = call.list.items; /* an array of one is one */
    return rc;
}

static struct db_arg pin_of(const struct vcenter *vc) {
    return db_bytes(vc->has_pin ? vc->pin_sha256 : NULL, sizeof(vc->pin_sha256));
}

struct write {
    const struct vcenter *vc;
    const struct audit_record *audit;
};

/* What ends each write. */
static int note(struct store_tx *tx, const char *id, const struct audit_record *audit, struct err *err) {
    int rc = store_tx_note_change(tx, CHANGE_VCENTER, id, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static int insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct write *call = arg;
    const struct vcenter *vc = call->vc;
    int rc = db_run(store_tx_conn(tx), "INSERT INTO vcenters (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
                    DB_ARGS(db_text(vc->id), db_text(vc->address), db_number(vc->port), db_text(vc->name), db_text(vc->ca_pem),
                            pin_of(vc), db_text(vc->version), db_text(vc->build), db_text(vc->api_version),
                            db_text(vc->extension_key), db_number(vc->tunnel_port), db_number(vc->direct_port),
                            db_number(vc->registered_at_ms), db_number(vc->created_at_ms)),
                    NULL, err);
    db_explain(rc, ERR_EXISTS, err, "the vCenter with instance UUID %s is known already", vc->id);
    return rc ? rc : note(tx, vc->id, call->audit, err);
}

int vcenter_store_insert(struct store *store, const struct vcenter *vc, const struct audit_record *audit, struct err *err) {
    struct write call = {vc, audit};
    return store_tx(store, insert, &call, err);
}

static int update(struct store_tx *tx, void *arg, struct err *err) {
    const struct write *call = arg;
    const struct vcenter *vc = call->vc;
    uint64_t met = 0;
    int rc = db_run(
        store_tx_conn(tx),
        "UPDATE vcenters SET address = ?, port = ?, name = ?, ca_pem = ?, pin_sha256 = ?, version = ?, build = ?, api_version = ?,"
        " extension_key = ?, tunnel_port = ?, direct_port = ?, registered_at_ms = ?, version_no = version_no + 1"
        " WHERE id = ? AND version_no = ?",
        DB_ARGS(db_text(vc->address), db_number(vc->port), db_text(vc->name), db_text(vc->ca_pem), pin_of(vc),
                db_text(vc->version), db_text(vc->build), db_text(vc->api_version), db_text(vc->extension_key),
                db_number(vc->tunnel_port), db_number(vc->direct_port), db_number(vc->registered_at_ms), db_text(vc->id),
                db_number(vc->version_no)),
        &met, err);
    if (rc)
        return rc;
    if (!met)
        return db_explain_miss(store_tx_conn(tx), "SELECT COUNT(*) FROM vcenters WHERE id = ?", vc->id, "vCenter", err);
    return note(tx, vc->id, call->audit, err);
}

int vcenter_store_update(struct store *store, const struct vcenter *vc, const struct audit_record *audit, int64_t *version_no,
                         struct err *err) {
    struct write call = {vc, audit};
    int rc = store_tx(store, update, &call, err);
    if (!rc)
        *version_no = vc->version_no + 1;
    return rc;
}

struct removal {
    const char *id;
    int64_t now_ms;
    const struct audit_record *audit;
};

static int note_cluster(const struct db_row *row, void *arg, struct err *err) {
    return store_tx_note_change(arg, CHANGE_CLUSTER, db_row_text(row, 0), err);
}

/* What is seen of nodes there goes with it (ON DELETE CASCADE): where their clusters are must be found out anew. */
static int note_seen_clusters(struct store_tx *tx, const char *id, struct err *err) {
    return db_query(
        store_tx_conn(tx),
        &(struct db_query){.sql = "SELECT DISTINCT n.cluster_id FROM node_observations o JOIN nodes n ON n.id = o.node_id"
                                  " WHERE o.vcenter_id = ?",
                           .args = DB_ARGS(db_text(id)),
                           .columns = "t",
                           .row = note_cluster,
                           .arg = tx},
        err);
}

static int remove_vcenter(struct store_tx *tx, void *arg, struct err *err) {
    const struct removal *call = arg;
    unsigned revoked = 0;
    int rc = note_seen_clusters(tx, call->id, err);
    if (rc)
        return rc;
    rc = db_run_one(store_tx_conn(tx), "DELETE FROM vcenters WHERE id = ?", DB_ARGS(db_text(call->id)), GONE, err);
    if (db_explain(rc, ERR_CONFLICT, err, "Kubernetes clusters are still placed on this vCenter") == ERR_CONFLICT)
        err_remedy(err, "remove these clusters first, or change their placement");
    rc = rc ? rc : session_tx_revoke(tx, SESSION_TX_VCENTER, call->id, call->now_ms, &revoked, err);
    return rc ? rc : note(tx, call->id, call->audit, err);
}

int vcenter_store_delete(struct store *store, const char *id, int64_t now_ms, const struct audit_record *audit, struct err *err) {
    struct removal call = {id, now_ms, audit};
    return store_tx(store, remove_vcenter, &call, err);
}
