/* Role mappings. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "role_mapping_store.h"

#include <stdlib.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "store_tx.h"
#include "str.h"

#define COLUMNS "id, kind, subject_id, privilege, role, note, created_at_ms, updated_at_ms, version_no"
#define COLUMN_KINDS "ttttttiii"
#define GONE "there is no such role mapping"

void role_mapping_list_done(struct role_mapping_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        role_mapping_done(&list->items[i]);
    free(list->items);
    *list = (struct role_mapping_list){0};
}

static int add_mapping(const struct db_row *row, void *arg, struct err *err) {
    struct role_mapping_list *list = arg;
    void *items = list->items;
    struct role_mapping *m = db_list_add(&items, &list->count, sizeof(*m));
    list->items = items;
    if (!m)
        return err_set(err, ERR_NOMEM, "out of memory");
    m->id = db_row_dup(row, 0);
    m->subject_id = db_row_dup(row, 2);
    m->privilege = str_empty(db_row_text(row, 3)) ? NULL : db_row_dup(row, 3);
    m->note = db_row_dup(row, 5);
    m->created_at_ms = db_row_number(row, 6);
    m->updated_at_ms = db_row_number(row, 7);
    m->version_no = db_row_number(row, 8);
    if (role_mapping_kind_parse(db_row_text(row, 1), &m->kind) && role_parse(db_row_text(row, 4), &m->role))
        return 0;
    return err_set(err, ERR_SCHEMA, "a role mapping has an unknown kind or role");
}

static int load_all(struct db_conn *conn, void *arg, struct err *err) {
    role_mapping_list_done(arg);
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT " COLUMNS " FROM role_mappings ORDER BY kind, subject_id, privilege",
                                       .columns = COLUMN_KINDS,
                                       .row = add_mapping,
                                       .arg = arg},
                    err);
}

int role_mapping_store_list(struct store *store, struct role_mapping_list *out, struct err *err) {
    struct role_mapping_list list = {0};
    int rc = store_read(store, load_all, &list, err);
    if (rc)
        role_mapping_list_done(&list);
    else
        *out = list;
    return rc;
}

struct load {
    const char *id;
    struct role_mapping_list list;
};

static int load_one(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    role_mapping_list_done(&call->list);
    return db_query_one(conn,
                        &(struct db_query){.sql = "SELECT " COLUMNS " FROM role_mappings WHERE id = ?",
                                           .args = DB_ARGS(db_text(call->id)),
                                           .columns = COLUMN_KINDS,
                                           .row = add_mapping,
                                           .arg = &call->list},
                        GONE, err);
}

int role_mapping_store_load(struct store *store, const char *id, struct role_mapping *out, struct err *err) {
    struct load call = {.id = id};
    int rc = store_read(store, load_one, &call, err);
    if (rc) {
        role_mapping_list_done(&call.list);
        return rc;
    }
    *out = call.list.items[0];
    free(call.list.items);
    return 0;
}

struct write {
    const struct role_mapping *mapping;
    const struct audit_record *audit;
};

static int finish(struct store_tx *tx, const char *id, const struct audit_record *audit, struct err *err) {
    int rc = store_tx_note_change(tx, CHANGE_ROLE_MAPPING, id, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static int check_room(struct store_tx *tx, struct err *err) {
    int64_t count = 0;
    int rc = db_query(
        store_tx_conn(tx),
        &(struct db_query){.sql = "SELECT COUNT(*) FROM role_mappings", .columns = "i", .row = db_take_number, .arg = &count},
        err);
    if (!rc && count >= ROLE_MAPPINGS_MAX)
        rc = err_set(err, ERR_CONFLICT, "there may be no more than %u role mappings", ROLE_MAPPINGS_MAX);
    return rc;
}

static int insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct write *call = arg;
    const struct role_mapping *m = call->mapping;
    int rc = check_room(tx, err);
    if (rc)
        return rc;
    rc = db_run(store_tx_conn(tx), "INSERT INTO role_mappings (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)",
                DB_ARGS(db_text(m->id), db_text(role_mapping_kind_name(m->kind)), db_text(m->subject_id),
                        db_text(m->privilege ? m->privilege : ""), db_text(role_name(m->role)), db_text(m->note),
                        db_number(m->created_at_ms), db_number(m->updated_at_ms)),
                NULL, err);
    db_explain(rc, ERR_EXISTS, err, "there is a role mapping for \"%s\" already", m->subject_id);
    return rc ? rc : finish(tx, m->id, call->audit, err);
}

int role_mapping_store_insert(struct store *store, const struct role_mapping *m, const struct audit_record *audit,
                              struct err *err) {
    return store_tx(store, insert, &(struct write){m, audit}, err);
}

static int explain_miss(struct store_tx *tx, const char *id, struct err *err) {
    return db_explain_miss(store_tx_conn(tx), "SELECT COUNT(*) FROM role_mappings WHERE id = ?", id, "role mapping", err);
}

static int update(struct store_tx *tx, void *arg, struct err *err) {
    const struct write *call = arg;
    const struct role_mapping *m = call->mapping;
    uint64_t met = 0;
    int rc = db_run(
        store_tx_conn(tx),
        "UPDATE role_mappings SET role = ?, note = ?, updated_at_ms = ?, version_no = version_no + 1 WHERE id = ? AND version_no = ?",
        DB_ARGS(db_text(role_name(m->role)), db_text(m->note), db_number(m->updated_at_ms), db_text(m->id),
                db_number(m->version_no)),
        &met, err);
    if (!rc && !met)
        rc = explain_miss(tx, m->id, err);
    return rc ? rc : finish(tx, m->id, call->audit, err);
}

int role_mapping_store_update(struct store *store, const struct role_mapping *m, const struct audit_record *audit,
                              struct err *err) {
    return store_tx(store, update, &(struct write){m, audit}, err);
}

static int remove_one(struct store_tx *tx, void *arg, struct err *err) {
    const struct role_mapping_removal *call = arg;
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx), "DELETE FROM role_mappings WHERE id = ? AND (? = 0 OR version_no = ?)",
                    DB_ARGS(db_text(call->id), db_number(call->version_no), db_number(call->version_no)), &met, err);
    if (!rc && !met)
        rc = explain_miss(tx, call->id, err);
    return rc ? rc : finish(tx, call->id, call->audit, err);
}

int role_mapping_store_delete(struct store *store, const struct role_mapping_removal *removal, struct err *err) {
    struct role_mapping_removal call = *removal;
    return store_tx(store, remove_one, &call, err);
}
