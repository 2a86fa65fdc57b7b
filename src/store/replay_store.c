/* Proofs that work once. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The key of the table decides: of two replicas that write the same digest one is refused, on a Galera cluster at its COMMIT, which is then run again and meets
 * the row. */
#include "replay_store.h"

#include "db_stmt.h"
#include "store_tx.h"

struct replay_call {
    const uint8_t *digest;
    int64_t time_ms;
    unsigned limit;
    uint64_t count;
};

static int replay_note(struct store_tx *tx, void *arg, struct err *err) {
    const struct replay_call *call = arg;
    int rc = db_run(store_tx_conn(tx), "INSERT INTO used_proofs (digest, until_ms) VALUES (?, ?)",
                    DB_ARGS(db_bytes(call->digest, REPLAY_DIGEST_BYTES), db_number(call->time_ms)), NULL, err);
    return db_explain(rc, ERR_EXISTS, err, "this proof was used before");
}

int replay_store_note(struct store *store, const uint8_t digest[REPLAY_DIGEST_BYTES], int64_t until_ms, struct err *err) {
    struct replay_call call = {.digest = digest, .time_ms = until_ms};
    return store_tx(store, replay_note, &call, err);
}

static int replay_purge(struct store_tx *tx, void *arg, struct err *err) {
    struct replay_call *call = arg;
    return db_run(store_tx_conn(tx), "DELETE FROM used_proofs WHERE until_ms < ? ORDER BY until_ms, digest LIMIT ?",
                  DB_ARGS(db_number(call->time_ms), db_number(call->limit)), &call->count, err);
}

int replay_store_purge(struct store *store, int64_t now_ms, unsigned limit, unsigned long *deleted, struct err *err) {
    struct replay_call call = {.time_ms = now_ms, .limit = limit};
    int rc = store_tx(store, replay_purge, &call, err);
    if (!rc)
        *deleted = (unsigned long)call.count;
    return rc;
}
