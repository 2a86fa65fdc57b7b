/* Leases by the database's time. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lease_store.h"

#include <stdio.h>
#include <stdlib.h>

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

/* -- with a number ------------------------------------------------------------------------------------------------------------- */

struct lease_taking {
    const char *holder;
    int64_t ttl_ms;
    struct lease_fence *fence;
};

/* Numbers begin with the time in microseconds, since a lease that is given back leaves no row. */
#define NOW_US "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)"

static int lease_take(struct store_tx *tx, void *arg, struct err *err) {
    const struct lease_taking *call = arg;
    struct db_conn *conn = store_tx_conn(tx);
    const char *name = call->fence->name;
    uint64_t met = 0, added = 0;
    int rc = db_run(conn,
                    "UPDATE leases SET fence = GREATEST(fence + 1, " NOW_US "), expires_at_ms = " DB_NOW_MS " + ?, holder = ?"
                    " WHERE name = ? AND (holder = ? OR expires_at_ms <= " DB_NOW_MS ")",
                    DB_ARGS(db_number(call->ttl_ms), db_text(call->holder), db_text(name), db_text(call->holder)), &met, err);
    if (!rc && !met) /* IGNORE: somebody holds it, or was quicker to make the row */
        rc = db_run(conn,
                    "INSERT IGNORE INTO leases (name, holder, expires_at_ms, fence) VALUES (?, ?, " DB_NOW_MS " + ?, " NOW_US ")",
                    DB_ARGS(db_text(name), db_text(call->holder), db_number(call->ttl_ms)), &added, err);
    if (!rc && !met && !added)
        return err_set(err, ERR_BUSY, "another replica is at it just now; try again shortly");
    return rc ? rc
              : db_query_number(conn, "SELECT fence FROM leases WHERE name = ?", DB_ARGS(db_text(name)), &call->fence->number,
                                err);
}

int lease_store_take(struct store *store, const char *name, int64_t ttl_ms, struct lease_fence *out, struct err *err) {
    struct lease_taking call = {.holder = store_replica_name(store), .ttl_ms = ttl_ms, .fence = out};
    *out = (struct lease_fence){.number = 0};
    (void)snprintf(out->name, sizeof(out->name), "%s", name);
    return store_tx(store, lease_take, &call, err);
}

void lease_store_give_back(struct store *store, const struct lease_fence *fence) {
    (void)store_run(store, "DELETE FROM leases WHERE name = ? AND holder = ? AND fence = ?",
                    DB_ARGS(db_text(fence->name), db_text(store_replica_name(store)), db_number(fence->number)), NULL, NULL);
}

void leases_done(struct leases *leases) {
    if (!leases)
        return;
    free(leases->items);
    *leases = (struct leases){0};
}

static int leases_take(const struct db_row *row, void *arg, struct err *err) {
    struct leases *out = arg;
    struct lease_in_force *at = db_list_add(&out->items, &out->count, sizeof(*at), err);
    if (!at)
        return ERR_NOMEM;
    (void)snprintf(at->name, sizeof(at->name), "%s", db_row_text(row, 0));
    at->is_ours = db_row_number(row, 1) != 0;
    at->number = db_row_number(row, 2);
    return 0;
}

int lease_store_renew_all(struct store *store, const char *prefix, int64_t ttl_ms, struct leases *out, struct err *err) {
    const struct db_arg holder = db_text(store_replica_name(store)), begin = db_text(prefix);
    *out = (struct leases){0};
    int rc = store_run(store,
                       "UPDATE leases SET expires_at_ms = " DB_NOW_MS " + ?"
                       " WHERE name LIKE CONCAT(?, '%') AND holder = ? AND expires_at_ms > " DB_NOW_MS,
                       DB_ARGS(db_number(ttl_ms), begin, holder), NULL, err);
    rc = rc ? rc
            : store_query(
                  store,
                  "SELECT name, holder = ?, fence FROM leases WHERE name LIKE CONCAT(?, '%') AND expires_at_ms > " DB_NOW_MS
                  " ORDER BY name",
                  DB_ARGS(holder, begin), "tii", leases_take, out, err);
    if (rc)
        leases_done(out);
    return rc;
}

/* By the holder as well: a program before takes a lease over and leaves the number. */
int lease_tx_check(struct store_tx *tx, const struct lease_fence *fence, struct err *err) {
    int64_t count = 0;
    if (!fence)
        return 0;
    int rc = db_query_number(
        store_tx_conn(tx), "SELECT COUNT(*) FROM leases WHERE name = ? AND holder = ? AND fence = ? LOCK IN SHARE MODE",
        DB_ARGS(db_text(fence->name), db_text(store_replica_name(store_tx_store(tx))), db_number(fence->number)), &count, err);
    if (rc || count)
        return rc;
    return err_set(err, ERR_PRECONDITION, "the lease \"%s\" is no longer ours: nothing was written", fence->name);
}
