/* Rows of the running daemons, and the identity of the installation. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "replica_store.h"

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "clock.h"
#include "db_table.h"
#include "store_tx.h"

#define THIS_REPLICA_GONE "this replica is not in the database"

static const struct member replica_members[] = {
    MEMBER_AS(replica, id, "id", NULL),
    MEMBER_AS(replica, name, "name", NULL),
    MEMBER_AS(replica, version, "IF(version <> '' AND version_at_ms = heartbeat_at_ms, version, NULL)", NULL),
    MEMBER_AS(replica, machine_uuid, "machine_uuid", NULL),
    MEMBER_AS(replica, heartbeat_at_ms, "heartbeat_at_ms", NULL),
    MEMBER_AS(replica, heartbeat_age_ms, "IF(heartbeat_at_ms = 0, -1, " DB_NOW_MS " - heartbeat_at_ms)", NULL),
    MEMBERS_END,
};
static const struct db_table replica_table = {
    .name = "replicas", .noun = "replica", .members = replica_members, .bytes = sizeof(struct replica)};

static void replica_done(struct replica *replica) {
    free(replica->name);
    free(replica->version);
    free(replica->machine_uuid);
}
DB_LIST_DEFINE(replica_list, replica_done);

int replica_store_list(struct store *store, struct replica_list *out, struct err *err) {
    return db_table_list(store, &replica_table, " ORDER BY id", DB_ARGS_NONE, &out->items, &out->count, err);
}

/* -- this one -------------------------------------------------------------------------------------------------------------- */

struct registration {
    const char *name;
    int64_t id, age_ms;
};

static int replica_store_beat(struct db_conn *conn, int64_t id, struct err *err) {
    return db_run_one(
        conn, "UPDATE replicas SET heartbeat_at_ms = " DB_NOW_MS ", version = ?, version_at_ms = " DB_NOW_MS " WHERE id = ?",
        DB_ARGS(db_text(PACKAGE_VERSION), db_number(id)), THIS_REPLICA_GONE, err);
}

/* Two new replicas may choose the same number: one gets a duplicate or a deadlock, and registers again. */
static int replica_register(struct store_tx *tx, void *arg, struct err *err) {
    struct registration *call = arg;
    struct db_conn *conn = store_tx_conn(tx);
    uint8_t head[AUDIT_END_BYTES];
    call->id = call->age_ms = -1;
    int rc = db_query_row(conn,
                          "SELECT id, IF(heartbeat_at_ms = 0, -1, " DB_NOW_MS " - heartbeat_at_ms) FROM replicas WHERE name = ?"
                          " FOR UPDATE",
                          DB_ARGS(db_text(call->name)), DB_INTO(DB_TO(call->id), DB_TO(call->age_ms)), NULL, err);
    if (rc || call->id >= 0)
        return rc ? rc : replica_store_beat(conn, call->id, err);
    rc = db_query_number(conn, "SELECT MAX(id) + 1 FROM replicas", DB_ARGS_NONE, &call->id, err);
    const bool is_signed = !rc && audit_first_head(store_tx_store(tx), (unsigned)call->id, head);
    return rc ? rc
              : db_run(conn,
                       "INSERT INTO replicas (id, name, heartbeat_at_ms, version, version_at_ms, audit_head)"
                       " VALUES (?, ?, " DB_NOW_MS ", ?, " DB_NOW_MS ", ?)",
                       DB_ARGS(db_number(call->id), db_text(call->name), db_text(PACKAGE_VERSION),
                               db_bytes(is_signed ? head : NULL, sizeof(head))),
                       NULL, err);
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

int replica_store_note_machine(struct store *store, const char *machine_uuid, struct err *err) {
    return store_run(store, "UPDATE replicas SET machine_uuid = ? WHERE id = ?",
                     DB_ARGS(db_text(machine_uuid), db_number((int64_t)store_get_replica(store))), NULL, err);
}

static int replica_leave(struct store_tx *tx, void *arg, struct err *err) {
    return db_run(store_tx_conn(tx), "UPDATE replicas SET heartbeat_at_ms = 0 WHERE id = ?",
                  DB_ARGS(db_number((int64_t)store_get_replica(arg))), NULL, err);
}

int replica_store_leave(struct store *store, struct err *err) {
    return store_tx(store, replica_leave, store, err);
}

/* -- the installation's UUID --------------------------------------------------------------------------------------- */

static int installation_load(struct store_tx *tx, void *arg, struct err *err) {
    char made[UUID_TEXT_BYTES];
    char(*uuid)[UUID_TEXT_BYTES] = arg;
    struct db_conn *conn = store_tx_conn(tx);
    uuid_new(made);
    /* IGNORE: who came first keeps it */
    int rc = db_run(conn, "INSERT IGNORE INTO installation (id, uuid, created_at_ms) VALUES (1, ?, ?)",
                    DB_ARGS(db_text(made), db_number(clock_wall_ms())), NULL, err);
    return rc ? rc
              : db_query_row(conn, "SELECT uuid FROM installation WHERE id = 1", DB_ARGS_NONE, DB_INTO(DB_TO(*uuid)),
                             "no installation", err);
}

int installation_store_load(struct store *store, char uuid[UUID_TEXT_BYTES], struct err *err) {
    char read[UUID_TEXT_BYTES] = "";
    int rc = store_tx(store, installation_load, read, err);
    if (!rc)
        memcpy(uuid, read, sizeof(read));
    return rc;
}

int installation_store_note_backup(struct store *store, int64_t at_ms, struct err *err) {
    uint64_t met = 0;
    int rc = store_run(store, "UPDATE installation SET backup_at_ms = GREATEST(backup_at_ms, ?) WHERE id = 1",
                       DB_ARGS(db_number(at_ms)), &met, err);
    return rc || met ? rc : err_set(err, ERR_NOT_FOUND, "the database has no installation yet");
}

int installation_store_load_age(struct store *store, struct installation_age *out, struct err *err) {
    struct installation_age age = {0};
    int rc = store_query_row(store, "SELECT created_at_ms, backup_at_ms FROM installation WHERE id = 1", DB_ARGS_NONE,
                             DB_INTO(DB_TO(age.made_at_ms), DB_TO(age.backup_at_ms)), NULL, err);
    if (!rc)
        *out = age;
    return rc;
}
