/* Leases by database time. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lease_store.h"

#include "db_stmt.h"
#include "store_tx.h"

#define LEASE_NOW_MS "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

struct lease_call {
    const char *name, *holder;
    int64_t ttl_ms;
    bool is_mine;
    struct lease *lease;
};

static int read_lease(const struct db_row *row, void *arg, struct err *err) {
    struct lease *lease = arg;
    (void)err;
    db_row_copy(row, 0, lease->holder, sizeof(lease->holder));
    lease->left_ms = db_row_number(row, 1);
    return 0;
}

static int prolong(struct store_tx *tx, const struct lease_call *call, uint64_t *met, struct err *err) {
    return db_run(store_tx_conn(tx),
                  "UPDATE leases SET expires_at_ms = " LEASE_NOW_MS " + ?, holder = ?"
                  " WHERE name = ? AND (holder = ? OR expires_at_ms <= " LEASE_NOW_MS ")",
                  DB_ARGS(db_number(call->ttl_ms), db_text(call->holder), db_text(call->name), db_text(call->holder)), met, err);
}

static int lease_acquire(struct store_tx *tx, void *arg, struct err *err) {
    struct lease_call *call = arg;
    uint64_t met = 0, added = 0;
    int rc = prolong(tx, call, &met, err);
    if (!rc && !met) /* IGNORE: somebody holds it, or was quicker to make the row */
        rc = db_run(store_tx_conn(tx),
                    "INSERT IGNORE INTO leases (name, holder, expires_at_ms) VALUES (?, ?, " LEASE_NOW_MS " + ?)",
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

static int lease_renew(struct store_tx *tx, void *arg, struct err *err) {
    const struct lease_call *call = arg;
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx), "UPDATE leases SET expires_at_ms = " LEASE_NOW_MS " + ? WHERE name = ? AND holder = ?",
                    DB_ARGS(db_number(call->ttl_ms), db_text(call->name), db_text(call->holder)), &met, err);
    if (!rc && !met)
        return err_set(err, ERR_CONFLICT, "the lease \"%s\" is no longer held by %s", call->name, call->holder);
    return rc;
}

int lease_store_renew(struct store *store, const char *name, const char *holder, int64_t ttl_ms, struct err *err) {
    struct lease_call call = {.name = name, .holder = holder, .ttl_ms = ttl_ms};
    return store_tx(store, lease_renew, &call, err);
}

static int lease_release(struct store_tx *tx, void *arg, struct err *err) {
    const struct lease_call *call = arg;
    return db_run(store_tx_conn(tx), "DELETE FROM leases WHERE name = ? AND holder = ?",
                  DB_ARGS(db_text(call->name), db_text(call->holder)), NULL, err);
}

int lease_store_release(struct store *store, const char *name, const char *holder, struct err *err) {
    struct lease_call call = {.name = name, .holder = holder};
    return store_tx(store, lease_release, &call, err);
}

static int lease_load(struct db_conn *conn, void *arg, struct err *err) {
    const struct lease_call *call = arg;
    return db_query_one(conn,
                        &(struct db_query){
                            .sql = "SELECT holder, expires_at_ms - " LEASE_NOW_MS " FROM leases WHERE name = ?",
                            .args = DB_ARGS(db_text(call->name)),
                            .columns = "ti",
                            .row = read_lease,
                            .arg = call->lease,
                        },
                        "nobody holds this lease", err);
}

int lease_store_load(struct store *store, const char *name, struct lease *out, struct err *err) {
    struct lease read = {0};
    struct lease_call call = {.name = name, .lease = &read};
    int rc = store_read(store, lease_load, &call, err);
    if (!rc)
        *out = read;
    return rc;
}
