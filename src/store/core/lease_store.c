/* Leases by the database's time. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lease_store.h"

#include "db_stmt.h"
#include "store_tx.h"

struct lease_call {
    const char *name, *holder;
    int64_t ttl_ms;
    bool is_mine;
};

static int lease_acquire(struct store_tx *tx, void *arg, struct err *err) {
    struct lease_call *call = arg;
    uint64_t met = 0, added = 0;
    int rc =
        db_run(store_tx_conn(tx),
               "UPDATE leases SET expires_at_ms = " DB_NOW_MS " + ?, holder = ?"
               " WHERE name = ? AND (holder = ? OR expires_at_ms <= " DB_NOW_MS ")",
               DB_ARGS(db_number(call->ttl_ms), db_text(call->holder), db_text(call->name), db_text(call->holder)), &met, err);
    if (!rc && !met) /* IGNORE: somebody holds it, or was quicker to make the row */
        rc = db_run(store_tx_conn(tx), "INSERT IGNORE INTO leases (name, holder, expires_at_ms) VALUES (?, ?, " DB_NOW_MS " + ?)",
                    DB_ARGS(db_text(call->name), db_text(call->holder), db_number(call->ttl_ms)), &added, err);
    call->is_mine = met || added;
    return rc;
}

int lease_store_acquire(struct store *store, const char *name, const char *holder, int64_t ttl_ms, bool *is_mine,
                        struct err *err) {
    struct lease_call call = {.name = name, .holder = holder, .ttl_ms = ttl_ms};
    int rc = store_tx(store, lease_acquire, &call, err);
    if (!rc)
        *is_mine = call.is_mine;
    return rc;
}

int lease_store_renew(struct store *store, const char *name, const char *holder, int64_t ttl_ms, struct err *err) {
    uint64_t met = 0;
    int rc = store_run(store, "UPDATE leases SET expires_at_ms = " DB_NOW_MS " + ? WHERE name = ? AND holder = ?",
                       DB_ARGS(db_number(ttl_ms), db_text(name), db_text(holder)), &met, err);
    if (rc || met)
        return rc;
    return err_set(err, ERR_CONFLICT, "the lease \"%s\" is no longer held by %s", name, holder);
}

int lease_store_release(struct store *store, const char *name, const char *holder, struct err *err) {
    return store_run(store, "DELETE FROM leases WHERE name = ? AND holder = ?", DB_ARGS(db_text(name), db_text(holder)), NULL,
                     err);
}

int lease_store_load(struct store *store, const char *name, struct lease *out, struct err *err) {
    return store_query_row(store, "SELECT holder, expires_at_ms - " DB_NOW_MS " FROM leases WHERE name = ?",
                           DB_ARGS(db_text(name)), DB_INTO(DB_TO(out->holder), DB_TO(out->left_ms)), "nobody holds this lease",
                           err);
}
