/* Rows of the running daemons, the identity of the installation, and leases. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "replica_store.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "db_stmt.h"
#include "store_tx.h"

#define REPLICA_NOW_MS "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"
#define SELECT_REPLICA \
    "SELECT id, name, heartbeat_at_ms, IF(heartbeat_at_ms = 0, -1, " REPLICA_NOW_MS " - heartbeat_at_ms) FROM replicas"

void replica_list_done(struct replica_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
    *list = (struct replica_list){0};
}

static int replica_add(const struct db_row *row, void *arg, struct err *err) {
    struct replica_list *list = arg;
    struct replica *item = db_list_add(&list->items, &list->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    item->id = (unsigned)db_row_number(row, 0);
    item->name = db_row_dup(row, 1);
    item->heartbeat_at_ms = db_row_number(row, 2);
    item->heartbeat_age_ms = db_row_number(row, 3);
    return 0;
}

int replica_store_list(struct store *store, struct replica_list *out, struct err *err) {
    struct replica_list list = {0};
    int rc = store_query(store, SELECT_REPLICA " ORDER BY id", DB_ARGS_NONE, "itii", replica_add, &list, err);
    if (rc)
        replica_list_done(&list);
    else
        *out = list;
    return rc;
}

struct registration {
    const char *name;
    struct replica_list known;
    int64_t id, age_ms;
};

/* Two new replicas may choose the same number: one gets a duplicate or a deadlock, and registers again. */
static int replica_add_new(struct db_conn *conn, struct registration *call, struct err *err) {
    call->age_ms = -1;
    int rc =
        db_query_one(conn, "SELECT MAX(id) + 1 FROM replicas", DB_ARGS_NONE, "i", db_take_number, &call->id, "no answer", err);
    return rc ? rc
              : db_run(conn, "INSERT INTO replicas (id, name, heartbeat_at_ms) VALUES (?, ?, " REPLICA_NOW_MS ")",
                       DB_ARGS(db_number(call->id), db_text(call->name)), NULL, err);
}

static int replica_store_beat(struct db_conn *conn, int64_t id, struct err *err) {
    return db_run_one(conn, "UPDATE replicas SET heartbeat_at_ms = " REPLICA_NOW_MS " WHERE id = ?", DB_ARGS(db_number(id)),
                      "this replica is not in the database", err);
}

static int replica_register(struct store_tx *tx, void *arg, struct err *err) {
    struct registration *call = arg;
    struct db_conn *conn = store_tx_conn(tx);
    replica_list_done(&call->known);
    int rc = db_query(conn, SELECT_REPLICA " WHERE name = ? FOR UPDATE", DB_ARGS(db_text(call->name)), "itii", replica_add,
                      &call->known, err);
    if (rc)
        return rc;
    if (!call->known.count)
        return replica_add_new(conn, call, err);
    call->id = call->known.items[0].id;
    call->age_ms = call->known.items[0].heartbeat_age_ms;
    return replica_store_beat(conn, call->id, err);
}

int replica_store_register(struct store *store, const char *name, unsigned *replica_id, int64_t *previous_age_ms,
                           struct err *err) {
    struct registration call = {.name = name};
    struct err why = {0};
    int rc = ERR_EXISTS;
    for (int attempt = 0; attempt < 10 && rc == ERR_EXISTS; attempt++) {
        err_clear(&why);
        rc = store_tx(store, replica_register, &call, &why);
    }
    replica_list_done(&call.known);
    if (rc)
        return err_move(err, rc, &why);
    store_set_replica(store, (unsigned)call.id);
    *replica_id = (unsigned)call.id;
    *previous_age_ms = call.age_ms;
    return 0;
}

static int beat_own(struct store_tx *tx, void *arg, struct err *err) {
    return replica_store_beat(store_tx_conn(tx), (int64_t)store_get_replica(arg), err);
}

int replica_store_heartbeat(struct store *store, struct err *err) {
    return store_tx(store, beat_own, store, err);
}

/* -- the installation's UUID --------------------------------------------------------------------------------------- */

static int read_uuid(const struct db_row *row, void *arg, struct err *err) {
    (void)err;
    db_row_copy(row, 0, arg, UUID_TEXT_BYTES);
    return 0;
}

static int installation_load(struct store_tx *tx, void *arg, struct err *err) {
    char made[UUID_TEXT_BYTES];
    struct db_conn *conn = store_tx_conn(tx);
    uuid_new(made);
    /* IGNORE: who came first keeps it */
    int rc = db_run(conn, "INSERT IGNORE INTO installation (id, uuid, created_at_ms) VALUES (1, ?, ?)",
                    DB_ARGS(db_text(made), db_number(clock_wall_ms())), NULL, err);
    return rc ? rc
              : db_query_one(conn, "SELECT uuid FROM installation WHERE id = 1", DB_ARGS_NONE, "t", read_uuid, arg,
                             "no installation", err);
}

int installation_store_load(struct store *store, char uuid[UUID_TEXT_BYTES], struct err *err) {
    char read[UUID_TEXT_BYTES] = "";
    int rc = store_tx(store, installation_load, read, err);
    if (!rc)
        memcpy(uuid, read, sizeof(read));
    return rc;
}

/* -- leases by database time --------------------------------------------------------------------------------------- */

#define LEASE_NOW_MS "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

struct lease_call {
    const char *name, *holder;
    int64_t ttl_ms;
    bool is_mine;
};

static int read_lease(const struct db_row *row, void *arg, struct err *err) {
    struct lease *lease = arg;
    (void)err;
    db_row_copy(row, 0, lease->holder, sizeof(lease->holder));
    lease->left_ms = db_row_number(row, 1);
    return 0;
}

static int replica_store_prolong(struct store_tx *tx, const struct lease_call *call, uint64_t *met, struct err *err) {
    return db_run(store_tx_conn(tx),
                  "UPDATE leases SET expires_at_ms = " LEASE_NOW_MS " + ?, holder = ?"
                  " WHERE name = ? AND (holder = ? OR expires_at_ms <= " LEASE_NOW_MS ")",
                  DB_ARGS(db_number(call->ttl_ms), db_text(call->holder), db_text(call->name), db_text(call->holder)), met, err);
}

static int lease_acquire(struct store_tx *tx, void *arg, struct err *err) {
    struct lease_call *call = arg;
    uint64_t met = 0, added = 0;
    int rc = replica_store_prolong(tx, call, &met, err);
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

int lease_store_renew(struct store *store, const char *name, const char *holder, int64_t ttl_ms, struct err *err) {
    uint64_t met = 0;
    int rc = store_run(store, "UPDATE leases SET expires_at_ms = " LEASE_NOW_MS " + ? WHERE name = ? AND holder = ?",
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
    struct lease read = {0};
    int rc = store_query_one(store, "SELECT holder, expires_at_ms - " LEASE_NOW_MS " FROM leases WHERE name = ?",
                             DB_ARGS(db_text(name)), "ti", read_lease, &read, "nobody holds this lease", err);
    if (!rc)
        *out = read;
    return rc;
}
