/* All sealed values as a whole. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "cleanup.h"
#include "db_table.h"
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
                       " SELECT sealed FROM hx_secrets UNION ALL"
                       " SELECT sealed FROM hx_credentials UNION ALL"
                       " SELECT sealed FROM audit_keys) s GROUP BY 1 ORDER BY 1",
                       DB_ARGS_NONE, "ti", key_store_add_count, out, err);
}

/* -- sealing anew ---------------------------------------------------------------------------------------------------------- */

struct held_row {
    char *id, *kind, *cursor;
    int64_t number; /* generation */
    uint8_t *sealed;
    size_t sealed_bytes;
};
struct held_rows {
    struct held_row *items;
    size_t count;
};

static void held_row_done(struct held_row *row) {
    free(row->id);
    free(row->kind);
    free(row->cursor);
    free(row->sealed);
}
static DB_LIST_DEFINE(held_rows, held_row_done);

static int sealed_add_row(const struct db_row *row, void *arg, struct err *err) {
    struct held_rows *rows = arg;
    struct held_row *item = db_list_add(&rows->items, &rows->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    item->id = db_row_dup(row, 0);
    item->kind = db_row_dup(row, 1);
    item->number = db_row_number(row, 2);
    item->sealed = db_row_dup_bytes(row, 3, &item->sealed_bytes);
    item->cursor = db_row_dup(row, 4);
    return 0;
}

/* Reading locks nothing, so a row that changed meanwhile is left to the next round: it is its old value that is exchanged. The cursor is the primary
 * key as one text. */
#define SEALED_IN(table, id, kind, number, cursor)                                                        \
    {                                                                                                     \
        "SELECT " id ", " kind ", " number ", sealed, " cursor " FROM " table " WHERE sealed IS NOT NULL" \
        " AND SUBSTRING(sealed, 2, 4) <> UNHEX(?) AND " cursor " > ? ORDER BY " cursor " LIMIT ?",        \
            "UPDATE " table " SET sealed = ? WHERE " id " = ? AND " number " = ? AND sealed = ?"          \
    }
static const struct {
    const char *select, *update;
} sealed_sql[SEAL_OWNER_COUNT] = {
    [SEAL_OWNER_SIGNING_KEY] = SEALED_IN("signing_keys", "kid", "''", "0", "kid"),
    [SEAL_OWNER_VCENTER_LOGIN] = SEALED_IN("vcenter_credentials", "vcenter_id", "kind", "generation",
                                           "CONCAT(vcenter_id, ' ', LPAD(generation, 10, '0'))"),
    [SEAL_OWNER_LDAP_SOURCE] = SEALED_IN("ldap_sources", "name", "''", "0", "name"),
    [SEAL_OWNER_AUDIT_KEY] = SEALED_IN("audit_keys", "id", "''", "0", "id"),
    [SEAL_OWNER_HX_CREDENTIAL] = SEALED_IN("hx_credentials", "vcenter_id", "''", "0", "vcenter_id"),
    [SEAL_OWNER_HX_CONNECTION] = SEALED_IN("hx_secrets", "hx_cluster_id", "kind", "0", "CONCAT(hx_cluster_id, ' ', kind)"),
};

static int reseal_row(struct store_tx *tx, const struct seal_batch *batch, const struct held_row *row, struct err *err) {
    const struct sealed_row shown = {.table = batch->table,
                                     .id = row->id,
                                     .kind = row->kind ? row->kind : "",
                                     .sealed = row->sealed,
                                     .sealed_bytes = row->sealed_bytes};
    _cleanup_free_ uint8_t *fresh = NULL;
    size_t fresh_bytes = 0;
    int rc = batch->reseal(batch->arg, &shown, &fresh, &fresh_bytes, err);
    if (rc || !fresh)
        return rc;
    return db_run(
        store_tx_conn(tx), sealed_sql[batch->table].update,
        DB_ARGS(db_bytes(fresh, fresh_bytes), db_text(row->id), db_number(row->number), db_bytes(row->sealed, row->sealed_bytes)),
        NULL, err);
}

struct resealing {
    struct seal_batch *batch;
    struct held_rows rows;
};

static int sealed_reseal(struct store_tx *tx, void *arg, struct err *err) {
    struct resealing *call = arg;
    const struct seal_batch *batch = call->batch;
    held_rows_done(&call->rows);
    int rc = db_query(store_tx_conn(tx), sealed_sql[batch->table].select,
                      DB_ARGS(db_text(batch->key_id), db_text(batch->cursor), db_number(batch->limit)), "ttibt", sealed_add_row,
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

static int key_store_add_loss(const struct db_row *row, void *arg, struct err *err) {
    struct seal_losses *losses = arg;
    struct seal_loss *item = db_list_add(&losses->items, &losses->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    item->owner = (enum seal_owner)db_row_number(row, 0);
    item->id = db_row_dup(row, 1);
    item->name = db_row_dup(row, 2);
    item->user = db_row_dup(row, 3);
    return 0;
}

/* Of a NULL it is NULL, and so not true. */
#define IS_LOST(sealed) "FIND_IN_SET(LOWER(HEX(SUBSTRING(" sealed ", 2, 4))), ?) = 0"
_Static_assert(SEAL_OWNER_SIGNING_KEY == 0 && SEAL_OWNER_VCENTER_LOGIN == 1 && SEAL_OWNER_LDAP_SOURCE == 2 &&
                   SEAL_OWNER_AUDIT_KEY == 3 && SEAL_OWNER_HX_CREDENTIAL == 4 && SEAL_OWNER_HX_CONNECTION == 5 &&
                   SEAL_OWNER_COUNT == 6,
               "the numbers in the query below, which has all of them");

int seal_store_list_losses(struct store *store, const char *held, struct seal_losses *out, struct err *err) {
    struct seal_losses losses = {0};
    const struct db_arg ids = db_text(held);
    int rc = store_query(
        store,
        "SELECT 0 AS place, kid, kid AS name, '' FROM signing_keys WHERE " IS_LOST(
            "sealed") " UNION ALL SELECT DISTINCT 1, v.id, v.name, COALESCE(c.user_name, '') FROM vcenter_credentials c JOIN vcenters v ON v.id = c.vcenter_id"
                      " WHERE c.state <> 'retired' AND " IS_LOST("c.sealed") " UNION ALL SELECT 2, name, name, COALESCE(bind_dn, '') FROM ldap_sources WHERE " IS_LOST("sealed") " UNION ALL SELECT 3, id, id, '' FROM audit_keys WHERE " IS_LOST(
                          "sealed") " UNION ALL SELECT 4, v.id, v.name, c.user_name FROM hx_credentials c JOIN vcenters v ON v.id = c.vcenter_id WHERE " IS_LOST("c.sealed") " UNION ALL SELECT 5, h.id, h.name, c.user_name FROM hx_secrets s JOIN hx_connections c ON c.hx_cluster_id = s.hx_cluster_id"
                                                                                                                                                                             " JOIN hx_clusters h ON h.id = s.hx_cluster_id WHERE s.kind = 'password' AND " IS_LOST(
                                                                                                                                                                                 "s.sealed") " ORDER BY place, name",
        DB_ARGS(ids, ids, ids, ids, ids, ids), "ittt", key_store_add_loss, &losses, err);
    if (rc)
        seal_losses_done(&losses);
    else
        *out = losses;
    return rc;
}

static int sealed_forget(struct store_tx *tx, void *arg, struct err *err) {
    static const char *const statements[] = {
        "UPDATE vcenters v SET registered_at_ms = 0, version_no = version_no + 1 WHERE EXISTS (SELECT 1 FROM vcenter_credentials c"
        " WHERE c.vcenter_id = v.id AND c.state <> 'retired' AND " IS_LOST("c.sealed") ")",
        "UPDATE vcenter_credentials SET state = 'retired', sealed = NULL WHERE " IS_LOST("sealed"),
        "UPDATE ldap_sources SET sealed = NULL, version_no = version_no + 1 WHERE " IS_LOST("sealed"),
        "DELETE FROM signing_keys WHERE " IS_LOST("sealed"),
        "DELETE FROM hx_secrets WHERE " IS_LOST("sealed"),
        "DELETE FROM hx_credentials WHERE " IS_LOST("sealed"),
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
