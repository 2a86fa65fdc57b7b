/* Codes by which a session is handed over or found again, and credentials that work once. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "code_store.h"

#include <string.h>

#include "db_stmt.h"
#include "store_tx.h"

int code_tx_forget(struct store_tx *tx, const char *sid, struct err *err) {
    return db_run(store_tx_conn(tx), "DELETE FROM login_codes WHERE sid = ?", DB_ARGS(db_text(sid)), NULL, err);
}

/* Of two at once both may stay, until the next one. */
static int add_one(struct store_tx *tx, void *arg, struct err *err) {
    const struct login_code *code = arg;
    int rc = code_tx_forget(tx, code->sid, err);
    if (rc)
        return rc;
    return db_run(store_tx_conn(tx), "INSERT INTO login_codes (digest, sid, origin, ends_at_ms) VALUES (?, ?, ?, ?)",
                  DB_ARGS(db_bytes(code->digest, CODE_DIGEST_BYTES), db_text(code->sid), db_text(code->origin),
                          db_number(code->ends_at_ms)),
                  NULL, err);
}

int code_store_add(struct store *store, const struct login_code *code, struct err *err) {
    struct login_code borrowed = *code;
    return store_tx(store, add_one, &borrowed, err);
}

/* Of two who delete the row one waits and finds none; on different nodes of a Galera cluster one is undone at its COMMIT, which is then run again and finds none. */
static int take_one(struct store_tx *tx, void *arg, struct err *err) {
    struct login_code *code = arg;
    return db_query_row(store_tx_conn(tx), "DELETE FROM login_codes WHERE digest = ? RETURNING sid, origin, ends_at_ms",
                        DB_ARGS(db_bytes(code->digest, CODE_DIGEST_BYTES)),
                        DB_INTO(DB_TO(code->sid), DB_TO(code->origin), DB_TO(code->ends_at_ms)), "there is no such code", err);
}

int code_store_take(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], struct login_code *out, struct err *err) {
    memcpy(out->digest, digest, CODE_DIGEST_BYTES);
    return store_tx(store, take_one, out, err);
}

int code_store_load(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], struct login_code *out, struct err *err) {
    memcpy(out->digest, digest, CODE_DIGEST_BYTES);
    return store_query_row(store, "SELECT sid, origin, ends_at_ms FROM login_codes WHERE digest = ?",
                           DB_ARGS(db_bytes(digest, CODE_DIGEST_BYTES)),
                           DB_INTO(DB_TO(out->sid), DB_TO(out->origin), DB_TO(out->ends_at_ms)), "there is no such code", err);
}

int code_store_retire(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], int64_t until_ms, struct err *err) {
    return store_run(store, "UPDATE login_codes SET ends_at_ms = LEAST(ends_at_ms, ?) WHERE digest = ?",
                     DB_ARGS(db_number(until_ms), db_bytes(digest, CODE_DIGEST_BYTES)), NULL, err);
}

int code_store_purge(struct store *store, int64_t before_ms, unsigned limit, unsigned long *deleted, struct err *err) {
    uint64_t count = 0;
    int rc = store_run(store, "DELETE FROM login_codes WHERE ends_at_ms < ? ORDER BY ends_at_ms, digest LIMIT ?",
                       DB_ARGS(db_number(before_ms), db_number(limit)), &count, err);
    if (!rc)
        *deleted = (unsigned long)count;
    return rc;
}

/* -- credentials that work once ----------------------------------------------------------------------------------------- */

/* The key of the table decides: of two replicas that write the same digest one is refused, on a Galera cluster at its COMMIT, which is then run again and meets
 * the row. */

int replay_store_note(struct store *store, const uint8_t digest[REPLAY_DIGEST_BYTES], int64_t until_ms, struct err *err) {
    int rc = store_run(store, "INSERT INTO used_proofs (digest, until_ms) VALUES (?, ?)",
                       DB_ARGS(db_bytes(digest, REPLAY_DIGEST_BYTES), db_number(until_ms)), NULL, err);
    return db_explain(rc, ERR_EXISTS, err, "this credential was used before");
}

int replay_store_purge(struct store *store, int64_t now_ms, unsigned limit, unsigned long *deleted, struct err *err) {
    uint64_t count = 0;
    int rc = store_run(store, "DELETE FROM used_proofs WHERE until_ms < ? ORDER BY until_ms, digest LIMIT ?",
                       DB_ARGS(db_number(now_ms), db_number(limit)), &count, err);
    if (!rc)
        *deleted = (unsigned long)count;
    return rc;
}
