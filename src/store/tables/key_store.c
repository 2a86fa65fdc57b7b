/* Signing keys, and all sealed values as a whole. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "key_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "db_stmt.h"
#include "store_tx.h"
#include "str.h"

#define SELECT_KEYS                                                                                            \
    "SELECT kid, public_jwk, sealed, state, created_at_ms, not_after_ms, IF(signs_from_ms = 0, created_at_ms," \
    " signs_from_ms) FROM signing_keys"
#define ORDER_KEYS " ORDER BY created_at_ms DESC, kid"
#define KEY_COLUMNS "ttbtiii"

static const char *const state_names[] = {
    [SIGNING_KEY_NEXT] = "next", [SIGNING_KEY_ACTIVE] = "active", [SIGNING_KEY_RETIRED] = "retired"};

const char *signing_key_state_name(enum signing_key_state state) {
    return (size_t)state < ARRAY_COUNT(state_names) ? state_names[state] : "retired";
}

static bool signing_key_state_parse(const char *word, enum signing_key_state *out) {
    for (size_t i = 0; i < ARRAY_COUNT(state_names); i++) {
        if (!str_eq(word, state_names[i]))
            continue;
        *out = (enum signing_key_state)i;
        return true;
    }
    return false;
}

void signing_key_done(struct signing_key *k) {
    if (!k)
        return;
    free(k->kid);
    free(k->public_jwk);
    free(k->sealed);
    *k = (struct signing_key){0};
}

void signing_key_list_done(struct signing_key_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        signing_key_done(&list->items[i]);
    free(list->items);
    *list = (struct signing_key_list){0};
}

static int signing_key_add(const struct db_row *row, void *arg, struct err *err) {
    struct signing_key_list *list = arg;
    struct signing_key *k = db_list_add(&list->items, &list->count, sizeof(*k), err);
    if (!k)
        return ERR_NOMEM;
    k->kid = db_row_dup(row, 0);
    k->public_jwk = db_row_dup(row, 1);
    k->sealed = db_row_dup_bytes(row, 2, &k->sealed_bytes);
    k->created_at_ms = db_row_number(row, 4);
    k->not_after_ms = db_row_number(row, 5);
    k->signs_from_ms = db_row_number(row, 6);
    if (!signing_key_state_parse(db_row_text(row, 3), &k->state))
        return err_set(err, ERR_SCHEMA, "a signing key has an unknown state");
    return 0;
}

int key_store_list(struct store *store, struct signing_key_list *out, struct err *err) {
    struct signing_key_list list = {0};
    int rc = store_query(store, SELECT_KEYS ORDER_KEYS, DB_ARGS_NONE, KEY_COLUMNS, signing_key_add, &list, err);
    if (rc)
        signing_key_list_done(&list);
    else
        *out = list;
    return rc;
}

static int signing_key_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct signing_key *k = arg;
    int rc = db_run(store_tx_conn(tx),
                    "INSERT INTO signing_keys (kid, public_jwk, sealed, state, created_at_ms, not_after_ms, signs_from_ms)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    DB_ARGS(db_text(k->kid), db_text(k->public_jwk), db_bytes(k->sealed, k->sealed_bytes),
                            db_text(signing_key_state_name(k->state)), db_number(k->created_at_ms), db_number(k->not_after_ms),
                            db_number(k->signs_from_ms)),
                    NULL, err);
    db_explain(rc, ERR_EXISTS, err, "there is a signing key \"%s\" already", k->kid);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, k->kid, err);
}

/* Whoever holds the lock "signing_keys" reads and changes alone. */
static int list_locked(struct store_tx *tx, struct signing_key_list *out, struct err *err) {
    int rc = store_tx_lock(tx, "signing_keys", err);
    if (rc)
        return rc;
    signing_key_list_done(out);
    return db_query(store_tx_conn(tx), SELECT_KEYS ORDER_KEYS, DB_ARGS_NONE, KEY_COLUMNS, signing_key_add, out, err);
}

static const struct signing_key *key_store_find_state(const struct signing_key_list *list, enum signing_key_state state) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == state)
            return &list->items[i];
    return NULL;
}

static int key_store_insert_first_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key first = *(const struct signing_key *)arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    first.state = SIGNING_KEY_ACTIVE;
    if (!rc && key_store_find_state(&list, SIGNING_KEY_ACTIVE))
        rc = err_set(err, ERR_EXISTS, "there is an active signing key already");
    signing_key_list_done(&list);
    return rc ? rc : signing_key_insert(tx, &first, err);
}

int key_store_insert_first(struct store *store, const struct signing_key *k, struct err *err) {
    struct signing_key borrowed = *k;
    return store_tx(store, key_store_insert_first_in_tx, &borrowed, err);
}

/* -- rotation ------------------------------------------------------------------------------------------------------------ */

static int key_store_end_by(struct store_tx *tx, const char *kid, int64_t until_ms, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE signing_keys SET not_after_ms = LEAST(not_after_ms, ?) WHERE kid = ?",
                    DB_ARGS(db_number(until_ms), db_text(kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, kid, err);
}

static int key_store_start_by(struct store_tx *tx, const char *kid, int64_t from_ms, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE signing_keys SET signs_from_ms = LEAST(signs_from_ms, ?) WHERE kid = ?",
                    DB_ARGS(db_number(from_ms), db_text(kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, kid, err);
}

struct signing_key_begin {
    struct signing_key next;
    int64_t active_until_ms;
    struct signing_key_begun begun;
};

static int begin_rotation(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_begin *call = arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    const struct signing_key *next = key_store_find_state(&list, SIGNING_KEY_NEXT),
                             *active = key_store_find_state(&list, SIGNING_KEY_ACTIVE);
    call->begun.is_new = !next;
    (void)snprintf(call->begun.kid, sizeof(call->begun.kid), "%s", next ? next->kid : call->next.kid);
    if (!rc && !next && list.count >= SIGNING_KEYS_MAX) {
        (void)err_set(err, ERR_CONFLICT, "there are %d signing keys already", SIGNING_KEYS_MAX);
        rc = err_remedy(err, "wait until old ones have ended: kaasctl key list");
    }
    if (!rc)
        rc = next ? key_store_start_by(tx, next->kid, call->next.signs_from_ms, err) : signing_key_insert(tx, &call->next, err);
    if (!rc && active && call->active_until_ms)
        rc = key_store_end_by(tx, active->kid, call->active_until_ms, err);
    signing_key_list_done(&list);
    return rc;
}

int key_store_begin_rotation(struct store *store, const struct signing_key_rotation *rotation, struct signing_key_begun *out,
                             struct err *err) {
    struct signing_key_begin call = {.next = *rotation->next, .active_until_ms = rotation->active_until_ms};
    int rc;
    call.next.state = SIGNING_KEY_NEXT;
    rc = store_tx(store, begin_rotation, &call, err);
    if (!rc)
        *out = call.begun;
    return rc;
}

static int signing_key_retire(struct store_tx *tx, const struct signing_key *old, const struct signing_key_activation *call,
                              struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE signing_keys SET state = 'retired' WHERE kid = ?", DB_ARGS(db_text(old->kid)),
                    NULL, err);
    return rc ? rc : key_store_end_by(tx, old->kid, call->old_until_ms, err);
}

static int signing_key_make_active(struct store_tx *tx, const struct signing_key_activation *call, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE signing_keys SET state = 'active', signs_from_ms = ? WHERE kid = ?",
                    DB_ARGS(db_number(call->now_ms), db_text(call->kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, call->kid, err);
}

static int activate_in(struct store_tx *tx, const struct signing_key_list *list, const struct signing_key_activation *call,
                       struct err *err) {
    const struct signing_key *old = key_store_find_state(list, SIGNING_KEY_ACTIVE), *wanted = NULL;
    int rc = 0;
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].kid, call->kid))
            wanted = &list->items[i];
    if (!wanted)
        return err_set(err, ERR_NOT_FOUND, "there is no such signing key");
    if (wanted->state == SIGNING_KEY_ACTIVE)
        return 0;
    if (wanted->state == SIGNING_KEY_RETIRED)
        return err_set(err, ERR_CONFLICT, "this signing key is retired");
    if (old)
        rc = signing_key_retire(tx, old, call, err);
    return rc ? rc : signing_key_make_active(tx, call, err);
}

static int key_store_activate_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    if (!rc)
        rc = activate_in(tx, &list, arg, err);
    signing_key_list_done(&list);
    return rc;
}

int key_store_activate(struct store *store, const struct signing_key_activation *activation, struct err *err) {
    struct signing_key_activation borrowed = *activation;
    return store_tx(store, key_store_activate_in_tx, &borrowed, err);
}

struct signing_key_purge {
    int64_t now_ms;
    unsigned deleted;
};

static int key_store_delete_one(struct store_tx *tx, const char *kid, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "DELETE FROM signing_keys WHERE kid = ?", DB_ARGS(db_text(kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, kid, err);
}

static int signing_key_purge(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_purge *call = arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    call->deleted = 0;
    for (size_t i = 0; i < list.count && !rc; i++) {
        if (list.items[i].state != SIGNING_KEY_RETIRED || list.items[i].not_after_ms >= call->now_ms)
            continue;
        rc = key_store_delete_one(tx, list.items[i].kid, err);
        call->deleted++;
    }
    signing_key_list_done(&list);
    return rc;
}

int key_store_purge(struct store *store, int64_t now_ms, unsigned *deleted, struct err *err) {
    struct signing_key_purge call = {.now_ms = now_ms};
    int rc = store_tx(store, signing_key_purge, &call, err);
    if (!rc)
        *deleted = call.deleted;
    return rc;
}

/* -- sealed values as a whole -------------------------------------------------------------------------------------- */

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

static int key_store_add_count(const struct db_row *row, void *arg, struct err *err) {
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
                       DB_ARGS_NONE, "ti", key_store_add_count, out, err);
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
