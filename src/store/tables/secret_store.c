/* Secrets: what is kept sealed, whoever owns it. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret_store.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "seal.h"
#include "store_tx.h"
#include "str.h"
#include "strbuf.h"

static int secret_store_take(const struct db_row *row, void *arg, struct err *err) {
    struct secret_value *out = arg;
    (void)err;
    free(out->bytes);
    out->bytes = db_row_dup_bytes(row, 0, &out->count);
    return 0;
}

int secret_store_load(struct store *store, const struct secret_place *place, struct secret_value *out, struct err *err) {
    *out = (struct secret_value){0};
    return store_query(store, "SELECT sealed FROM secrets WHERE owner_kind = ? AND owner_id = ? AND purpose = ?",
                       DB_ARGS(db_text(place->owner_kind), db_text(place->owner_id), db_text(place->purpose)), "b",
                       secret_store_take, out, err);
}

#define SECRET_BYTES_MAX 16384U /* of the column */

/* The text to which a value is bound: one that was copied to another place is not opened there. */
static char *secret_bound_to(const struct secret_place *place) {
    return str_format("%s:%s", place->purpose, place->owner_id);
}

int secret_seal(struct seal *seal, const struct secret_place *place, const char *text, struct secret_value *out,
                struct err *err) {
    _cleanup_free_ char *bound_to = secret_bound_to(place);
    _cleanup_strbuf_ struct strbuf sealed;
    strbuf_init(&sealed, SECRET_BYTES_MAX);
    int rc = bound_to ? seal_seal(seal, bound_to, text, strlen(text), &sealed, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    out->count = sealed.len;
    out->bytes = (uint8_t *)strbuf_steal(&sealed);
    return 0;
}

int secret_store_open(struct store *store, struct seal *seal, const struct secret_place *place, char **text, struct err *err) {
    _cleanup_free_ char *bound_to = secret_bound_to(place);
    _cleanup_strbuf_ struct strbuf plain;
    struct secret_value sealed = {0};
    *text = NULL;
    strbuf_init_secret(&plain, SECRET_BYTES_MAX);
    int rc = bound_to ? secret_store_load(store, place, &sealed, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && sealed.bytes)
        rc = seal_unseal(seal, bound_to, sealed.bytes, sealed.count, &plain, err);
    if (!rc && sealed.bytes && !(*text = str_dup(plain.data)))
        rc = err_set(err, ERR_NOMEM, "out of memory");
    free(sealed.bytes);
    return rc;
}

int secret_tx_put(struct store_tx *tx, const struct secret_place *place, const struct secret_value *value, struct err *err) {
    const struct db_arg kind = db_text(place->owner_kind), id = db_text(place->owner_id), purpose = db_text(place->purpose);
    struct db_conn *conn = store_tx_conn(tx);
    if (!value->bytes)
        return db_run(conn, "DELETE FROM secrets WHERE owner_kind = ? AND owner_id = ? AND purpose = ?",
                      DB_ARGS(kind, id, purpose), NULL, err);
    return db_run(conn, "REPLACE INTO secrets (owner_kind, owner_id, purpose, sealed) VALUES (?, ?, ?, ?)",
                  DB_ARGS(kind, id, purpose, db_bytes(value->bytes, value->count)), NULL, err);
}

int secret_store_add(struct store *store, const struct secret_place *place, const struct secret_value *value, struct err *err) {
    return store_run(store, "INSERT IGNORE INTO secrets (owner_kind, owner_id, purpose, sealed) VALUES (?, ?, ?, ?)",
                     DB_ARGS(db_text(place->owner_kind), db_text(place->owner_id), db_text(place->purpose),
                             db_bytes(value->bytes, value->count)),
                     NULL, err);
}

int secret_store_remove(struct store *store, const struct secret_place *place, struct err *err) {
    return store_run(store, "DELETE FROM secrets WHERE owner_kind = ? AND owner_id = ? AND purpose = ?",
                     DB_ARGS(db_text(place->owner_kind), db_text(place->owner_id), db_text(place->purpose)), NULL, err);
}

/* Owners are read under locks, as they are at that moment: one that another transaction makes together with its secret is there, or both are not. */
#define ORPHANS(kind, table, id) \
    "DELETE FROM secrets WHERE owner_kind = '" kind "' AND owner_id NOT IN (SELECT " id " FROM " table " LOCK IN SHARE MODE)"

int secret_tx_purge(struct store_tx *tx, struct err *err) {
    static const char *const owners[] = {
        ORPHANS(SECRET_OWNER_HX_CONNECTION, "hx_connections", "hx_cluster_id"),
        ORPHANS(SECRET_OWNER_HX_CREDENTIAL, "hx_credentials", "vcenter_id"),
        ORPHANS(SECRET_OWNER_KUBE_CONNECTION, "kube_connections", "cluster_id"),
        ORPHANS(SECRET_OWNER_KUBE_JOIN, "clusters", "id"),
        ORPHANS(SECRET_OWNER_CLUSTER_PKI, "cluster_pki", "cluster_id"),
    };
    int rc = 0;
    for (size_t i = 0; i < ARRAY_COUNT(owners) && !rc; i++)
        rc = db_run(store_tx_conn(tx), owners[i], DB_ARGS_NONE, NULL, err);
    return rc;
}

static int secret_store_purge_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    (void)arg;
    return secret_tx_purge(tx, err);
}

int secret_store_purge(struct store *store, struct err *err) {
    return store_tx(store, secret_store_purge_in_tx, NULL, err);
}
