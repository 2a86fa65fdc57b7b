/* Sealed values as a whole. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "db_stmt.h"
#include "store_tx.h"

#define SEALED_NOW_MS "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

static int take_choice(const struct db_row *row, void *arg, struct err *err) {
    (void)err;
    db_row_copy(row, 0, arg, SEAL_STORE_ID_BYTES);
    return 0;
}

int seal_store_load_choice(struct store *store, char key_id[SEAL_STORE_ID_BYTES], struct err *err) {
    char read[SEAL_STORE_ID_BYTES] = "";
    int rc = store_query(store, "SELECT master_key_id FROM installation WHERE id = 1", DB_ARGS_NONE, "t", take_choice, read, err);
    if (!rc)
        memcpy(key_id, read, sizeof(read));
    return rc;
}

static int sealed_choose(struct store_tx *tx, void *arg, struct err *err) {
    int rc =
        db_run(store_tx_conn(tx), "UPDATE installation SET master_key_id = ? WHERE id = 1", DB_ARGS(db_text(arg)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, SEAL_STORE_CHANGE, err);
}

int seal_store_choose(struct store *store, const char *key_id, struct err *err) {
    return store_tx(store, sealed_choose, (void *)(uintptr_t)key_id, err);
}

int seal_store_note_held(struct store *store, const char *key_ids, struct err *err) {
    return store_run(store, "UPDATE replicas SET master_key_ids = ? WHERE id = ?",
                     DB_ARGS(db_text(key_ids), db_number(store_get_replica(store))), NULL, err);
}

void seal_replica_list_done(struct seal_replica_list *list) {
    if (!list)
        return;
    free(list->items);
    *list = (struct seal_replica_list){0};
}

static int sealed_add_replica(const struct db_row *row, void *arg, struct err *err) {
    struct seal_replica_list *list = arg;
    struct seal_replica *item = db_list_add(&list->items, &list->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    item->id = (unsigned)db_row_number(row, 0);
    db_row_copy(row, 1, item->name, sizeof(item->name));
    item->heartbeat_age_ms = db_row_number(row, 2);
    db_row_copy(row, 3, item->key_ids, sizeof(item->key_ids));
    return 0;
}

int seal_store_list_replicas(struct store *store, struct seal_replica_list *out, struct err *err) {
    struct seal_replica_list list = {0};
    int rc = store_query(store,
                         "SELECT id, name, IF(heartbeat_at_ms = 0, -1, " SEALED_NOW_MS " - heartbeat_at_ms),"
                         " master_key_ids FROM replicas WHERE id <> 0 ORDER BY id",
                         DB_ARGS_NONE, "itit", sealed_add_replica, &list, err);
    if (rc)
        seal_replica_list_done(&list);
    else
        *out = list;
    return rc;
}

static int add_count(const struct db_row *row, void *arg, struct err *err) {
    struct seal_counts *counts = arg;
    (void)err;
    if (counts->count == SEAL_STORE_KEYS_MAX)
        return 0;
    db_row_copy(row, 0, counts->items[counts->count].key_id, SEAL_STORE_ID_BYTES);
    counts->items[counts->count++].values = (uint64_t)db_row_number(row, 1);
    return 0;
}

int seal_store_count(struct store *store, struct seal_counts *out, struct err *err) {
    *out = (struct seal_counts){.count = 0};
    return store_query(store,
                       "SELECT LOWER(HEX(SUBSTRING(s.sealed, 2, 4))), COUNT(*) FROM"
                       " (SELECT sealed FROM signing_keys UNION ALL"
                       " SELECT sealed FROM ldap_sources WHERE sealed IS NOT NULL UNION ALL"
                       " SELECT sealed FROM vcenter_credentials WHERE sealed IS NOT NULL UNION ALL"
                       " SELECT sealed FROM audit_keys) s GROUP BY 1 ORDER BY 1",
                       DB_ARGS_NONE, "ti", add_count, out, err);
}

/* -- sealing anew ---------------------------------------------------------------------------------------------------------- */

struct held_row {
    char *id, *kind;
    int64_t number; /* generation */
    uint8_t *sealed;
    size_t sealed_bytes;
};
struct held_rows {
    struct held_row *items;
    size_t count;
};

static void rows_done(struct held_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->items[i].id);
        free(rows->items[i].kind);
        free(rows->items[i].sealed);
    }
    free(rows->items);
    *rows = (struct held_rows){0};
}

static int sealed_add_row(const struct db_row *row, void *arg, struct err *err) {
    struct held_rows *rows = arg;
    struct held_row *item = db_list_add(&rows->items, &rows->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    item->id = db_row_dup(row, 0);
    item->kind = db_row_dup(row, 1);
    item->number = db_row_number(row, 2);
    item->sealed = db_row_dup_bytes(row, 3, &item->sealed_bytes);
    return 0;
}

/* Statements are known by the address of their text, so each table has its own. The cursor is the primary key as one text. */
static const char *const select_sql[SEAL_TABLE_COUNT] = {
    [SEAL_TABLE_SIGNING_KEYS] =
        "SELECT kid, '', 0, sealed FROM signing_keys WHERE SUBSTRING(sealed, 2, 4) <> UNHEX(?) AND kid > ?"
        " ORDER BY kid LIMIT ?",
    [SEAL_TABLE_VCENTER_CREDENTIALS] =
        "SELECT vcenter_id, kind, generation, sealed FROM vcenter_credentials WHERE sealed IS NOT NULL"
        " AND SUBSTRING(sealed, 2, 4) <> UNHEX(?) AND CONCAT(vcenter_id, ' ', LPAD(generation, 10, '0')) > ?"
        " ORDER BY vcenter_id, generation LIMIT ?",
    [SEAL_TABLE_LDAP_SOURCES] = "SELECT name, '', 0, sealed FROM ldap_sources WHERE sealed IS NOT NULL"
                                " AND SUBSTRING(sealed, 2, 4) <> UNHEX(?) AND name > ? ORDER BY name LIMIT ?",
    [SEAL_TABLE_AUDIT_KEYS] =
        "SELECT id, '', 0, sealed FROM audit_keys WHERE SUBSTRING(sealed, 2, 4) <> UNHEX(?) AND id > ? ORDER BY id LIMIT ?",
};

/* Reading locks nothing, so a row that changed meanwhile is left to the next round: it is its old value that is exchanged. */
static int sealed_write_row(struct store_tx *tx, enum seal_table table, const struct held_row *row, const struct db_arg *sealed,
                            struct err *err) {
    const struct db_arg old = db_bytes(row->sealed, row->sealed_bytes);
    if (table == SEAL_TABLE_SIGNING_KEYS)
        return db_run(store_tx_conn(tx), "UPDATE signing_keys SET sealed = ? WHERE kid = ? AND sealed = ?",
                      DB_ARGS(*sealed, db_text(row->id), old), NULL, err);
    if (table == SEAL_TABLE_LDAP_SOURCES)
        return db_run(store_tx_conn(tx), "UPDATE ldap_sources SET sealed = ? WHERE name = ? AND sealed = ?",
                      DB_ARGS(*sealed, db_text(row->id), old), NULL, err);
    if (table == SEAL_TABLE_AUDIT_KEYS)
        return db_run(store_tx_conn(tx), "UPDATE audit_keys SET sealed = ? WHERE id = ? AND sealed = ?",
                      DB_ARGS(*sealed, db_text(row->id), old), NULL, err);
    return db_run(store_tx_conn(tx),
                  "UPDATE vcenter_credentials SET sealed = ? WHERE vcenter_id = ? AND generation = ? AND sealed = ?",
                  DB_ARGS(*sealed, db_text(row->id), db_number(row->number), old), NULL, err);
}

static int reseal_row(struct store_tx *tx, const struct seal_batch *batch, const struct held_row *row, struct err *err) {
    const struct sealed_row shown = {.table = batch->table,
                                     .id = row->id,
                                     .kind = row->kind ? row->kind : "",
                                     .sealed = row->sealed,
                                     .sealed_bytes = row->sealed_bytes};
    _cleanup_free_ uint8_t *fresh = NULL;
    size_t fresh_bytes = 0;
    struct db_arg sealed;
    int rc = batch->reseal(batch->arg, &shown, &fresh, &fresh_bytes, err);
    if (rc || !fresh)
        return rc;
    sealed = db_bytes(fresh, fresh_bytes);
    return sealed_write_row(tx, batch->table, row, &sealed, err);
}

static void name_cursor(enum seal_table table, const struct held_row *row, char *out, size_t n) {
    if (table != SEAL_TABLE_VCENTER_CREDENTIALS)
        (void)snprintf(out, n, "%s", row->id);
    else
        (void)snprintf(out, n, "%s %010lld", row->id, (long long)row->number);
}

struct resealing {
    struct seal_batch *batch;
    struct held_rows rows;
};

static int sealed_reseal(struct store_tx *tx, void *arg, struct err *err) {
    struct resealing *call = arg;
    const struct seal_batch *batch = call->batch;
    int rc;
    rows_done(&call->rows);
    rc = db_query(store_tx_conn(tx), select_sql[batch->table],
                  DB_ARGS(db_text(batch->key_id), db_text(batch->cursor), db_number(batch->limit)), "ttib", sealed_add_row,
                  &call->rows, err);
    for (size_t i = 0; !rc && i < call->rows.count; i++)
        rc = reseal_row(tx, batch, &call->rows.items[i], err);
    return rc;
}

int seal_store_reseal(struct store *store, struct seal_batch *batch, struct err *err) {
    struct resealing call = {.batch = batch};
    int rc = store_tx(store, sealed_reseal, &call, err);
    if (!rc) {
        batch->rows = (unsigned)call.rows.count;
        if (batch->rows)
            name_cursor(batch->table, &call.rows.items[batch->rows - 1], batch->cursor, sizeof(batch->cursor));
    }
    rows_done(&call.rows);
    return rc;
}
