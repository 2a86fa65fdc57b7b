/* The key under which audit lines are hashed: random, the same for all replicas and for good, sealed by the master key. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It is not derived from the master key, so that replacing that (which seals this key anew like all other values) leaves the chain as it is. */
#include <string.h>

#include "audit_chain.h"
#include "audit_side.h"
#include "audit_store.h"
#include "clock.h"
#include "db_stmt.h"
#include "seal.h"
#include "secret.h"
#include "store_tx.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define SEALED_BYTES_MAX 255U

static int audit_key_take(const struct db_row *row, void *arg, struct err *err) {
    struct strbuf *out = arg;
    size_t n = 0;
    const uint8_t *bytes = db_row_bytes(row, 0, &n);
    strbuf_reset(out);
    strbuf_add(out, bytes, n);
    return strbuf_check(out, "the sealed key", err);
}

static int audit_key_read(struct db_conn *conn, void *arg, struct err *err) {
    return db_query_one(conn,
                        &(struct db_query){.sql = "SELECT sealed FROM audit_keys WHERE id = ?",
                                           .args = DB_ARGS(db_text(AUDIT_KEY_ID)),
                                           .columns = "b",
                                           .row = audit_key_take,
                                           .arg = arg},
                        "there is no key of the audit trail", err);
}

static int insert_sealed(struct store_tx *tx, void *arg, struct err *err) {
    const struct strbuf *sealed = arg;
    return db_run(store_tx_conn(tx), "INSERT INTO audit_keys (id, sealed, created_at_ms) VALUES (?, ?, ?)",
                  DB_ARGS(db_text(AUDIT_KEY_ID), db_bytes(sealed->data, sealed->len), db_number(clock_wall_ms())), NULL, err);
}

/* Two replicas may make one at the same time: the first one's counts. */
static int audit_key_make(struct store *store, struct seal *seal, struct err *err) {
    uint8_t key[AUDIT_KEY_BYTES];
    _cleanup_strbuf_ struct strbuf sealed;
    struct err why = {0};
    int rc;
    strbuf_init(&sealed, SEALED_BYTES_MAX);
    random_bytes(key, sizeof(key));
    rc = seal_seal(seal, AUDIT_KEY_PURPOSE, key, sizeof(key), &sealed, err);
    secret_wipe(key, sizeof(key));
    if (rc)
        return rc;
    rc = store_tx(store, insert_sealed, &sealed, &why);
    return rc == ERR_EXISTS ? 0 : err_move(err, rc, &why);
}

static int use_key(struct store *store, struct seal *seal, const struct strbuf *sealed, struct err *err) {
    _cleanup_strbuf_ struct strbuf plain;
    int rc;
    strbuf_init_secret(&plain, AUDIT_KEY_BYTES);
    rc = seal_unseal(seal, AUDIT_KEY_PURPOSE, sealed->data, sealed->len, &plain, err);
    if (!rc && plain.len != AUDIT_KEY_BYTES)
        rc = err_set(err, ERR_CONFIG, "the key of the audit trail has another length than it was made with");
    if (!rc)
        audit_chain_set_key(store_chain(store), (const uint8_t *)plain.data);
    return rc;
}

int audit_store_open_key(struct store *store, struct seal *seal, struct err *err) {
    _cleanup_strbuf_ struct strbuf sealed;
    struct err missing = {0};
    int rc;
    strbuf_init(&sealed, SEALED_BYTES_MAX);
    rc = store_read(store, audit_key_read, &sealed, &missing);
    if (rc == ERR_NOT_FOUND) {
        rc = audit_key_make(store, seal, err);
        if (!rc)
            rc = store_read(store, audit_key_read, &sealed, err);
    } else {
        (void)err_move(err, rc, &missing);
    }
    return rc ? rc : use_key(store, seal, &sealed, err);
}
