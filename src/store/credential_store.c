/* Login credentials of vCenters and their rotation. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "credential_store.h"

#include <stdlib.h>

#include "db_stmt.h"
#include "store_tx.h"

#define CREDENTIAL_GONE "there is no such login credential"

void vcenter_credential_free(struct vcenter_credential *c) {
    if (!c)
        return;
    free(c->vcenter_id);
    free(c->user_name);
    free(c->cert_pem);
    free(c->sealed);
    free(c);
}

struct credential_call {
    const struct vcenter_credential *credential;
    const char *vcenter_id;
    enum credential_state state;
    int64_t generation;
    const struct deed_end *end;
    struct vcenter_credential *found;
};

static int refuse_second_pending(struct db_conn *conn, const char *vcenter_id, struct err *err) {
    int64_t pending = 0;
    int rc = db_query_number(conn, "SELECT COUNT(*) FROM vcenter_credentials WHERE vcenter_id = ? AND state = 'pending'",
                             DB_ARGS(db_text(vcenter_id)), &pending, err);
    if (rc || !pending)
        return rc;
    return err_set(err, ERR_CONFLICT, "a change of the login credential of this vCenter is not finished");
}

static int next_generation(struct db_conn *conn, struct credential_call *call, struct err *err) {
    return db_query_number(conn, "SELECT COALESCE(MAX(generation), 0) + 1 FROM vcenter_credentials WHERE vcenter_id = ?",
                           DB_ARGS(db_text(call->vcenter_id)), &call->generation, err);
}

static int add_pending(struct store_tx *tx, void *arg, struct err *err) {
    struct credential_call *call = arg;
    const struct vcenter_credential *c = call->credential;
    struct db_conn *conn = store_tx_conn(tx);
    int rc = store_tx_lock(tx, "credentials", err);
    rc = rc ? rc : refuse_second_pending(conn, call->vcenter_id, err);
    rc = rc ? rc : next_generation(conn, call, err);
    if (rc)
        return rc;
    rc = db_run(
        conn,
        "INSERT INTO vcenter_credentials (vcenter_id, generation, kind, state, cert_pem, user_name, sealed, created_at_ms)"
        " VALUES (?, ?, ?, 'pending', ?, ?, ?, ?)",
        DB_ARGS(db_text(call->vcenter_id), db_number(call->generation), db_text(credential_kind_name(c->kind)),
                db_text(c->cert_pem), db_text(c->user_name), db_bytes(c->sealed, c->sealed_bytes), db_number(c->created_at_ms)),
        NULL, err);
    if (rc == ERR_CONFLICT) { /* the foreign key */
        err_clear(err);
        return err_set(err, ERR_NOT_FOUND, "there is no such vCenter");
    }
    return rc ? rc : store_tx_note_change(tx, CHANGE_VCENTER, call->vcenter_id, err);
}

int credential_store_add_pending(struct store *store, const struct vcenter_credential *c, unsigned *generation, struct err *err) {
    struct credential_call call = {.credential = c, .vcenter_id = c->vcenter_id};
    int rc = store_tx(store, add_pending, &call, err);
    if (!rc)
        *generation = (unsigned)call.generation;
    return rc;
}

static int credential_take_state(const struct db_row *row, void *arg, struct err *err) {
    if (credential_state_parse(db_row_text(row, 0), arg))
        return 0;
    return err_set(err, ERR_SCHEMA, "a login credential has an unknown state");
}

static int load_state(struct db_conn *conn, const struct credential_call *call, enum credential_state *out, struct err *err) {
    return db_query_one(conn,
                        &(struct db_query){.sql = "SELECT state FROM vcenter_credentials WHERE vcenter_id = ? AND generation = ?",
                                           .args = DB_ARGS(db_text(call->vcenter_id), db_number(call->generation)),
                                           .columns = "t",
                                           .row = credential_take_state,
                                           .arg = out},
                        CREDENTIAL_GONE, err);
}

static int credential_make_active(struct store_tx *tx, const struct credential_call *call, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    int rc =
        db_run(conn, "UPDATE vcenter_credentials SET state = 'retired', sealed = NULL WHERE vcenter_id = ? AND state = 'active'",
               DB_ARGS(db_text(call->vcenter_id)), NULL, err);
    rc = rc ? rc
            : db_run_one(conn, "UPDATE vcenter_credentials SET state = 'active' WHERE vcenter_id = ? AND generation = ?",
                         DB_ARGS(db_text(call->vcenter_id), db_number(call->generation)), CREDENTIAL_GONE, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_VCENTER, call->vcenter_id, err);
}

static int credential_promote(struct store_tx *tx, void *arg, struct err *err) {
    const struct credential_call *call = arg;
    enum credential_state state = CREDENTIAL_RETIRED;
    int rc = store_tx_lock(tx, "credentials", err);
    rc = rc ? rc : load_state(store_tx_conn(tx), call, &state, err);
    if (!rc && state == CREDENTIAL_RETIRED)
        return err_set(err, ERR_CONFLICT, "login credential %lld of this vCenter is retired", (long long)call->generation);
    if (!rc && state != CREDENTIAL_ACTIVE)
        rc = credential_make_active(tx, call, err);
    return rc ? rc : deed_tx_end(tx, call->end, err);
}

int credential_store_promote(struct store *store, const char *vcenter_id, unsigned generation, const struct deed_end *end,
                             struct err *err) {
    struct credential_call call = {.vcenter_id = vcenter_id, .generation = generation, .end = end};
    return store_tx(store, credential_promote, &call, err);
}

static int credential_retire(struct store_tx *tx, void *arg, struct err *err) {
    const struct credential_call *call = arg;
    int rc = store_tx_lock(tx, "credentials", err);
    rc =
        rc ? rc
           : db_run_one(store_tx_conn(tx),
                        "UPDATE vcenter_credentials SET state = 'retired', sealed = NULL WHERE vcenter_id = ? AND generation = ?",
                        DB_ARGS(db_text(call->vcenter_id), db_number(call->generation)), CREDENTIAL_GONE, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_VCENTER, call->vcenter_id, err);
}

int credential_store_retire(struct store *store, const char *vcenter_id, unsigned generation, struct err *err) {
    struct credential_call call = {.vcenter_id = vcenter_id, .generation = generation};
    return store_tx(store, credential_retire, &call, err);
}

static int credential_take(const struct db_row *row, void *arg, struct err *err) {
    struct credential_call *call = arg;
    struct vcenter_credential *c = calloc(1, sizeof(*c));
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory");
    c->vcenter_id = db_row_dup(row, 0);
    c->generation = (unsigned)db_row_number(row, 1);
    c->state = call->state;
    c->cert_pem = db_row_dup(row, 3);
    c->user_name = db_row_dup(row, 4);
    c->sealed = db_row_dup_bytes(row, 5, &c->sealed_bytes);
    c->created_at_ms = db_row_number(row, 6);
    vcenter_credential_free(call->found);
    call->found = c;
    return credential_kind_parse(db_row_text(row, 2), &c->kind)
               ? 0
               : err_set(err, ERR_SCHEMA, "a login credential is of an unknown kind");
}

static int credential_load(struct db_conn *conn, void *arg, struct err *err) {
    struct credential_call *call = arg;
    return db_query(
        conn,
        &(struct db_query){
            .sql = "SELECT vcenter_id, generation, kind, cert_pem, user_name, sealed, created_at_ms FROM vcenter_credentials"
                   " WHERE vcenter_id = ? AND state = ? ORDER BY generation",
            .args = DB_ARGS(db_text(call->vcenter_id), db_text(credential_state_name(call->state))),
            .columns = "titttbi",
            .row = credential_take,
            .arg = call},
        err);
}

int credential_store_load(struct store *store, const char *vcenter_id, enum credential_state state,
                          struct vcenter_credential **out, struct err *err) {
    struct credential_call call = {.vcenter_id = vcenter_id, .state = state};
    int rc = store_read(store, credential_load, &call, err);
    if (rc)
        vcenter_credential_free(call.found);
    else
        *out = call.found;
    return rc;
}
