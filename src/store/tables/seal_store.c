/* All sealed values as a whole. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "cleanup.h"
#include "db_table.h"
#include "secret_store.h"
#include "store_tx.h"

int seal_store_load_choice(struct store *store, char key_id[SEAL_STORE_ID_BYTES], struct err *err) {
    char read[SEAL_STORE_ID_BYTES] = "";
    int rc = store_query_row(store, "SELECT master_key_id FROM installation WHERE id = 1", DB_ARGS_NONE, DB_INTO(DB_TO(read)),
                             NULL, err);
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

DB_LIST_DEFINE(seal_replica_list, (void));

int seal_store_list_replicas(struct store *store, struct seal_replica_list *out, struct err *err) {
    static const struct member members[] = {
        MEMBER_AS(seal_replica, id, "id", NULL),
        MEMBER_AS(seal_replica, name, "name", NULL),
        MEMBER_AS(seal_replica, heartbeat_age_ms, "IF(heartbeat_at_ms = 0, -1, " DB_NOW_MS " - heartbeat_at_ms)", NULL),
        MEMBER_AS(seal_replica, key_ids, "master_key_ids", NULL),
        MEMBERS_END,
    };
    static const struct db_table table = {
        .name = "replicas", .noun = "replica", .members = members, .bytes = sizeof(struct seal_replica)};
    return db_table_list(store, &table, " WHERE id <> 0 ORDER BY id", DB_ARGS_NONE, &out->items, &out->count, err);
}

/* -- where they are -------------------------------------------------------------------------------------------------------- */

/* Most are in the table `secrets`. Those that released versions know stay in columns of their own (docs/design/data.md, "Secrets"): owner, table, its id and
 * number, and purpose. This is all that is said of these columns here. */
#define SEAL_COLUMNS(X)                                           \
    X("audit_key", "audit_keys", "id", "0", "'audit-key'")        \
    X("ldap_source", "ldap_sources", "name", "0", "'ldap-bind'")  \
    X("signing_key", "signing_keys", "kid", "0", "'signing-key'") \
    X("vcenter_login", "vcenter_credentials", "vcenter_id", "generation", "CONCAT('login-', kind)")

#define SEAL_SELECT(owner, table, id, number, purpose)                                                                       \
    "SELECT '" owner "' AS owner_kind, " id " AS owner_id, " number " AS number, " purpose " AS purpose, sealed FROM " table \
    " WHERE sealed IS NOT NULL UNION ALL "
#define SEALED_ALL "(" SEAL_COLUMNS(SEAL_SELECT) "SELECT owner_kind, owner_id, 0, purpose, sealed FROM secrets) s"

#define SEAL_EXCHANGE(owner, table, id, number, purpose) \
    {owner, "UPDATE " table " SET sealed = ? WHERE " id " = ? AND " number " = ? AND sealed = ?"},
static const struct seal_column { const char *owner, *exchange; } seal_columns[] = {SEAL_COLUMNS(SEAL_EXCHANGE)};

static int seal_store_add_count(const struct db_row *row, void *arg, struct err *err) {
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
    return store_query(store, "SELECT LOWER(HEX(SUBSTRING(s.sealed, 2, 4))), COUNT(*) FROM " SEALED_ALL " GROUP BY 1 ORDER BY 1",
                       DB_ARGS_NONE, "ti", seal_store_add_count, out, err);
}

/* -- sealing anew ---------------------------------------------------------------------------------------------------------- */

struct held_row {
    char *owner, *id, *purpose, *bound, *cursor;
    int64_t number;
    uint8_t *sealed;
    size_t sealed_bytes;
};
struct held_rows {
    struct held_row *items;
    size_t count;
};

static void held_row_done(struct held_row *row) {
    free(row->owner);
    free(row->id);
    free(row->purpose);
    free(row->bound);
    free(row->cursor);
    free(row->sealed);
}
static DB_LIST_DEFINE(held_rows, held_row_done);

static int sealed_add_row(const struct db_row *row, void *arg, struct err *err) {
    struct held_rows *rows = arg;
    struct held_row *item = db_list_add(&rows->items, &rows->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    item->owner = db_row_dup(row, 0);
    item->id = db_row_dup(row, 1);
    item->number = db_row_number(row, 2);
    item->purpose = db_row_dup(row, 3);
    item->bound = db_row_dup(row, 4);
    item->sealed = db_row_dup_bytes(row, 5, &item->sealed_bytes);
    item->cursor = db_row_dup(row, 6);
    return 0;
}

/* The value is exchanged only while it is the old one: reading has locked nothing, so a row that changed meanwhile is left to the next round. */
static int sealed_exchange(struct db_conn *conn, const struct held_row *row, struct db_arg fresh, struct err *err) {
    const struct db_arg old = db_bytes(row->sealed, row->sealed_bytes);
    for (size_t i = 0; i < ARRAY_COUNT(seal_columns); i++)
        if (!strcmp(seal_columns[i].owner, row->owner))
            return db_run(conn, seal_columns[i].exchange, DB_ARGS(fresh, db_text(row->id), db_number(row->number), old), NULL,
                          err);
    return db_run(conn, "UPDATE secrets SET sealed = ? WHERE owner_kind = ? AND owner_id = ? AND purpose = ? AND sealed = ?",
                  DB_ARGS(fresh, db_text(row->owner), db_text(row->id), db_text(row->purpose), old), NULL, err);
}

static int reseal_row(struct store_tx *tx, const struct seal_batch *batch, const struct held_row *row, struct err *err) {
    const struct sealed_row shown = {.bound = row->bound, .sealed = row->sealed, .sealed_bytes = row->sealed_bytes};
    _cleanup_free_ uint8_t *fresh = NULL;
    size_t fresh_bytes = 0;
    int rc = batch->reseal(batch->arg, &shown, &fresh, &fresh_bytes, err);
    return rc || !fresh ? rc : sealed_exchange(store_tx_conn(tx), row, db_bytes(fresh, fresh_bytes), err);
}

/* The cursor is the primary key as one text. */
#define SEALED_CURSOR "CONCAT_WS(' ', s.owner_kind, s.owner_id, LPAD(s.number, 10, '0'), s.purpose)"

struct resealing {
    struct seal_batch *batch;
    struct held_rows rows;
};

static int sealed_reseal(struct store_tx *tx, void *arg, struct err *err) {
    struct resealing *call = arg;
    const struct seal_batch *batch = call->batch;
    held_rows_done(&call->rows);
    int rc = db_query(store_tx_conn(tx),
                      "SELECT s.owner_kind, s.owner_id, s.number, s.purpose, CONCAT(s.purpose, ':', s.owner_id), s.sealed,"
                      " " SEALED_CURSOR " FROM " SEALED_ALL " WHERE SUBSTRING(s.sealed, 2, 4) <> UNHEX(?) AND " SEALED_CURSOR
                      " > ? ORDER BY " SEALED_CURSOR " LIMIT ?",
                      DB_ARGS(db_text(batch->key_id), db_text(batch->cursor), db_number(batch->limit)), "ttittbt", sealed_add_row,
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
            (void)snprintf(batch->cursor, sizeof(batch->cursor), "%s", call.rows.items[batch->rows - 1].cursor);
    }
    held_rows_done(&call.rows);
    return rc;
}

/* -- values whose key is lost ---------------------------------------------------------------------------------------------- */

static void seal_loss_done(struct seal_loss *loss) {
    free(loss->id);
    free(loss->name);
    free(loss->user);
}
DB_LIST_DEFINE(seal_losses, seal_loss_done);

struct seal_losing {
    enum seal_owner owner;
    struct seal_losses losses;
};

static int seal_store_add_loss(const struct db_row *row, void *arg, struct err *err) {
    struct seal_losing *call = arg;
    struct seal_loss *item = db_list_add(&call->losses.items, &call->losses.count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    item->owner = call->owner;
    item->id = db_row_dup(row, 0);
    item->name = db_row_dup(row, 1);
    item->user = db_row_dup(row, 2);
    return 0;
}

/* Of a NULL it is NULL, and so not true. */
#define IS_LOST(sealed) "FIND_IN_SET(LOWER(HEX(SUBSTRING(" sealed ", 2, 4))), ?) = 0"

/* Owners of this kind among all lost values, but for tokens of HX, which are had anew without a person. */
#define SEAL_LOSERS(owner, select, id)                                                                \
    select " WHERE " id " IN (SELECT s.owner_id FROM " SEALED_ALL " WHERE s.owner_kind = '" owner "'" \
           " AND s.purpose <> 'hx-token' AND " IS_LOST("s.sealed") ") ORDER BY 2"

int seal_store_list_losses(struct store *store, const char *held, struct seal_losses *out, struct err *err) {
    static const char *const owners[SEAL_OWNER_COUNT] = {
        [SEAL_OWNER_SIGNING_KEY] = SEAL_LOSERS("signing_key", "SELECT kid, kid, '' FROM signing_keys", "kid"),
        [SEAL_OWNER_VCENTER_LOGIN] = SEAL_LOSERS("vcenter_login", "SELECT id, name, '' FROM vcenters", "id"),
        [SEAL_OWNER_LDAP_SOURCE] =
            SEAL_LOSERS("ldap_source", "SELECT name, name, COALESCE(bind_dn, '') FROM ldap_sources", "name"),
        [SEAL_OWNER_AUDIT_KEY] = SEAL_LOSERS("audit_key", "SELECT id, id, '' FROM audit_keys", "id"),
        [SEAL_OWNER_HX_CREDENTIAL] =
            SEAL_LOSERS(SECRET_OWNER_HX_CREDENTIAL,
                        "SELECT v.id, v.name, c.user_name FROM hx_credentials c JOIN vcenters v ON v.id = c.vcenter_id", "v.id"),
        [SEAL_OWNER_HX_CONNECTION] = SEAL_LOSERS(
            SECRET_OWNER_HX_CONNECTION,
            "SELECT h.id, h.name, c.user_name FROM hx_connections c JOIN hx_clusters h ON h.id = c.hx_cluster_id", "h.id"),
        [SEAL_OWNER_KUBE_CONNECTION] =
            SEAL_LOSERS(SECRET_OWNER_KUBE_CONNECTION,
                        "SELECT c.id, c.name, '' FROM kube_connections k JOIN clusters c ON c.id = k.cluster_id", "c.id"),
        [SEAL_OWNER_CLUSTER_PKI] =
            SEAL_LOSERS(SECRET_OWNER_CLUSTER_PKI,
                        "SELECT c.id, c.name, '' FROM cluster_pki p JOIN clusters c ON c.id = p.cluster_id", "c.id"),
    };
    struct seal_losing call = {.losses = {0}};
    int rc = 0;
    for (call.owner = 0; call.owner < SEAL_OWNER_COUNT && !rc; call.owner++)
        rc = store_query(store, owners[call.owner], DB_ARGS(db_text(held)), "ttt", seal_store_add_loss, &call, err);
    if (rc)
        seal_losses_done(&call.losses);
    else
        *out = call.losses;
    return rc;
}

static int sealed_forget(struct store_tx *tx, void *arg, struct err *err) {
    static const char *const statements[] = {
        "UPDATE vcenters v SET registered_at_ms = 0, version_no = version_no + 1 WHERE EXISTS (SELECT 1 FROM vcenter_credentials c"
        " WHERE c.vcenter_id = v.id AND c.state <> 'retired' AND " IS_LOST("c.sealed") ")",
        "UPDATE vcenter_credentials SET state = 'retired', sealed = NULL WHERE " IS_LOST("sealed"),
        "UPDATE ldap_sources SET sealed = NULL, version_no = version_no + 1 WHERE " IS_LOST("sealed"),
        "DELETE FROM signing_keys WHERE " IS_LOST("sealed"),
        "DELETE FROM hx_credentials WHERE vcenter_id IN (SELECT owner_id FROM secrets WHERE owner_kind = '" SECRET_OWNER_HX_CREDENTIAL
        "' AND " IS_LOST("sealed") ")",
        "DELETE FROM secrets WHERE " IS_LOST("sealed"),
    };
    struct seal_forgetting *call = arg;
    struct db_conn *conn = store_tx_conn(tx);
    int rc = 0;
    for (size_t i = 0; i < ARRAY_COUNT(statements) && !rc; i++)
        rc = db_run(conn, statements[i], DB_ARGS(db_text(call->held)), NULL, err);
    rc = rc ? rc
            : db_run(conn, "UPDATE installation SET master_key_id = ? WHERE id = 1", DB_ARGS(db_text(call->key_id)), NULL, err);
    if (!rc && call->is_audit_key_lost)
        rc = audit_tx_renew_key(tx, call->seal, &call->audit_lines, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int seal_store_forget(struct store *store, struct seal_forgetting *call, struct err *err) {
    call->audit_lines = 0;
    return store_tx(store, sealed_forget, call, err);
}
