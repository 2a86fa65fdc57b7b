/* vCenters, and what goes with each: login credentials, our registration there, when it fetched the manifest. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "db_table.h"
#include "session_tx.h"
#include "store_tx.h"

static int read_pin(const struct db_row *row, size_t first, void *record, struct err *err) {
    struct vcenter *vc = record;
    size_t bytes = 0;
    const void *pin = db_row_bytes(row, first, &bytes);
    if (!pin)
        return 0;
    if (bytes != sizeof(vc->pin_sha256))
        return err_set(err, ERR_SCHEMA, "the pin of a vCenter has %zu bytes", bytes);
    memcpy(vc->pin_sha256, pin, bytes);
    vc->has_pin = true;
    return 0;
}

static const struct db_table vcenter_table = {.name = "vcenters",
                                              .noun = "vCenter",
                                              .members = vcenter_members,
                                              .bytes = sizeof(struct vcenter),
                                              .more = ", pin_sha256",
                                              .more_kinds = "b",
                                              .read_more = read_pin};

void vcenter_list_done(struct vcenter_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        vcenter_done(&list->items[i]);
    free(list->items);
    *list = (struct vcenter_list){0};
}

int vcenter_store_list(struct store *store, struct vcenter_list *out, struct err *err) {
    return db_table_list(store, &vcenter_table, " ORDER BY name, id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int vcenter_store_load(struct store *store, const char *id, struct vcenter **out, struct err *err) {
    return db_table_load(store, &vcenter_table, " WHERE id = ?", DB_ARGS(db_text(id)), out, err);
}

static struct db_more pin_of(const struct vcenter *vc) {
    return (struct db_more){"pin_sha256", db_bytes(vc->has_pin ? vc->pin_sha256 : NULL, sizeof(vc->pin_sha256)), NULL};
}

struct vcenter_write {
    const struct vcenter *vc;
    const struct audit_record *audit;
};

/* What ends each write. */
static int vcenter_note(struct store_tx *tx, const char *id, const struct audit_record *audit, struct err *err) {
    int rc = store_tx_note_change(tx, CHANGE_VCENTER, id, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static int vcenter_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct vcenter_write *call = arg;
    const struct vcenter *vc = call->vc;
    int rc = db_table_insert(store_tx_conn(tx), &vcenter_table, vc, DB_MORE(pin_of(vc)), err);
    db_explain(rc, ERR_EXISTS, err, "the vCenter with instance UUID %s is known already", vc->id);
    return rc ? rc : vcenter_note(tx, vc->id, call->audit, err);
}

int vcenter_store_insert(struct store *store, const struct vcenter *vc, const struct audit_record *audit, struct err *err) {
    struct vcenter_write call = {vc, audit};
    return store_tx(store, vcenter_insert, &call, err);
}

static int vcenter_update(struct store_tx *tx, void *arg, struct err *err) {
    const struct vcenter_write *call = arg;
    int rc = db_table_update(store_tx_conn(tx), &vcenter_table, call->vc, DB_MORE(pin_of(call->vc)), err);
    return rc ? rc : vcenter_note(tx, call->vc->id, call->audit, err);
}

int vcenter_store_update(struct store *store, const struct vcenter *vc, const struct audit_record *audit, int64_t *version_no,
                         struct err *err) {
    struct vcenter_write call = {vc, audit};
    int rc = store_tx(store, vcenter_update, &call, err);
    if (!rc)
        *version_no = vc->version_no + 1;
    return rc;
}

struct vcenter_removal {
    const char *id;
    int64_t now_ms;
    const struct audit_record *audit;
};

static int note_cluster(const struct db_row *row, void *arg, struct err *err) {
    return store_tx_note_change(arg, CHANGE_CLUSTER, db_row_text(row, 0), err);
}

/* What is seen of nodes there goes with it (ON DELETE CASCADE): where their clusters are must be found out anew. */
static int note_seen_clusters(struct store_tx *tx, const char *id, struct err *err) {
    return db_query(store_tx_conn(tx),
                    "SELECT DISTINCT n.cluster_id FROM node_observations o JOIN nodes n ON n.id = o.node_id"
                    " WHERE o.vcenter_id = ?",
                    DB_ARGS(db_text(id)), "t", note_cluster, tx, err);
}

static int remove_vcenter(struct store_tx *tx, void *arg, struct err *err) {
    const struct vcenter_removal *call = arg;
    unsigned revoked = 0;
    int rc = note_seen_clusters(tx, call->id, err);
    if (rc)
        return rc;
    rc = db_run_one(store_tx_conn(tx), "DELETE FROM vcenters WHERE id = ?", DB_ARGS(db_text(call->id)),
                    "there is no such vCenter", err);
    if (db_explain(rc, ERR_CONFLICT, err, "Kubernetes clusters are still placed on this vCenter") == ERR_CONFLICT)
        err_remedy(err, "remove these clusters first, or change their placement");
    rc = rc ? rc : session_tx_revoke(tx, SESSION_TX_VCENTER, call->id, call->now_ms, &revoked, err);
    return rc ? rc : vcenter_note(tx, call->id, call->audit, err);
}

int vcenter_store_delete(struct store *store, const char *id, int64_t now_ms, const struct audit_record *audit, struct err *err) {
    struct vcenter_removal call = {id, now_ms, audit};
    return store_tx(store, remove_vcenter, &call, err);
}

/* -- login credentials of vCenters and their rotation -------------------------------------------------------------- */

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
    const struct operation_end *end;
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

static int vcenter_store_load_state(struct db_conn *conn, const struct credential_call *call, enum credential_state *out,
                                    struct err *err) {
    return db_query_one(conn, "SELECT state FROM vcenter_credentials WHERE vcenter_id = ? AND generation = ?",
                        DB_ARGS(db_text(call->vcenter_id), db_number(call->generation)), "t", credential_take_state, out,
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
    rc = rc ? rc : vcenter_store_load_state(store_tx_conn(tx), call, &state, err);
    if (!rc && state == CREDENTIAL_RETIRED)
        return err_set(err, ERR_CONFLICT, "login credential %lld of this vCenter is retired", (long long)call->generation);
    if (!rc && state != CREDENTIAL_ACTIVE)
        rc = credential_make_active(tx, call, err);
    return rc ? rc : operation_tx_end(tx, call->end, err);
}

int credential_store_promote(struct store *store, const char *vcenter_id, unsigned generation, const struct operation_end *end,
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
    return db_query(conn,
                    "SELECT vcenter_id, generation, kind, cert_pem, user_name, sealed, created_at_ms FROM vcenter_credentials"
                    " WHERE vcenter_id = ? AND state = ? ORDER BY generation",
                    DB_ARGS(db_text(call->vcenter_id), db_text(credential_state_name(call->state))), "titttbi", credential_take,
                    call, err);
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

/* -- what we remember of our registration with a vCenter ----------------------------------------------------------- */

#define MEMBERS_CHARS_MAX 400U

void registration_row_done(struct registration_row *row) {
    if (!row)
        return;
    free(row->repaired);
    free(row->role_name);
    free(row->role_principal);
    *row = (struct registration_row){0};
}

static int registration_take(const struct db_row *from, void *arg, struct err *err) {
    struct registration_row *row = arg;
    (void)err;
    registration_row_done(row);
    row->registration_no = (unsigned)db_row_number(from, 0);
    row->repaired_at_ms = db_row_number(from, 1);
    row->repaired = db_row_dup(from, 2);
    row->role_name = db_row_dup(from, 3);
    row->role_id = (int)db_row_number(from, 4);
    row->role_principal = db_row_dup(from, 5);
    row->is_certificate_due = db_row_number(from, 6) != 0;
    return 0;
}

struct registration_call {
    const char *vcenter_id;
    struct registration_row row;
    int64_t number;
};

static int registration_read(struct db_conn *conn, void *arg, struct err *err) {
    struct registration_call *call = arg;
    return db_query(conn,
                    "SELECT registration_no, repaired_at_ms, repaired, role_name, role_id,"
                    " role_principal, certificate_due FROM vcenter_registrations WHERE vcenter_id = ?",
                    DB_ARGS(db_text(call->vcenter_id)), "iittiti", registration_take, &call->row, err);
}

int registration_store_load(struct store *store, const char *vcenter_id, struct registration_row *out, struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id};
    int rc = store_read(store, registration_read, &call, err);
    if (rc)
        registration_row_done(&call.row);
    else
        *out = call.row;
    return rc;
}

/* The row is made by the first that needs it; a vCenter that is gone has none. */
static int vcenter_store_need_row(struct store_tx *tx, const char *vcenter_id, struct err *err) {
    int64_t known = 0;
    int rc = db_query_number(store_tx_conn(tx), "SELECT COUNT(*) FROM vcenters WHERE id = ?", DB_ARGS(db_text(vcenter_id)),
                             &known, err);
    if (!rc && !known)
        return err_set(err, ERR_NOT_FOUND, "there is no such vCenter");
    return rc ? rc
              : db_run(store_tx_conn(tx), "INSERT IGNORE INTO vcenter_registrations (vcenter_id) VALUES (?)",
                       DB_ARGS(db_text(vcenter_id)), NULL, err);
}

static int registration_count(struct store_tx *tx, void *arg, struct err *err) {
    struct registration_call *call = arg;
    int rc = vcenter_store_need_row(tx, call->vcenter_id, err);
    if (!rc)
        rc = db_run(store_tx_conn(tx),
                    "UPDATE vcenter_registrations SET registration_no = registration_no + 1 WHERE vcenter_id = ?",
                    DB_ARGS(db_text(call->vcenter_id)), NULL, err);
    return rc ? rc
              : db_query_number(store_tx_conn(tx), "SELECT registration_no FROM vcenter_registrations WHERE vcenter_id = ?",
                                DB_ARGS(db_text(call->vcenter_id)), &call->number, err);
}

int registration_store_count(struct store *store, const char *vcenter_id, unsigned *number, struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id};
    int rc = store_tx(store, registration_count, &call, err);
    if (!rc)
        *number = (unsigned)call.number;
    return rc;
}

static int set_due(struct store_tx *tx, void *arg, struct err *err) {
    const struct registration_call *call = arg;
    int rc = vcenter_store_need_row(tx, call->vcenter_id, err);
    return rc ? rc
              : db_run(store_tx_conn(tx), "UPDATE vcenter_registrations SET certificate_due = ? WHERE vcenter_id = ?",
                       DB_ARGS(db_number(call->number), db_text(call->vcenter_id)), NULL, err);
}

int registration_store_set_due(struct store *store, const char *vcenter_id, bool is_due, struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id, .number = is_due};
    return store_tx(store, set_due, &call, err);
}

static size_t registration_cut(const char *text, size_t chars_max) {
    size_t at = 0;
    for (size_t chars = 0; text[at] && chars < chars_max; chars++) {
        at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
    }
    return at;
}

static int registration_note_repair(struct store_tx *tx, void *arg, struct err *err) {
    const struct registration_call *call = arg;
    struct db_arg members = db_text(call->row.repaired);
    int rc = vcenter_store_need_row(tx, call->vcenter_id, err);
    members.bytes = registration_cut(call->row.repaired, MEMBERS_CHARS_MAX);
    return rc ? rc
              : db_run(store_tx_conn(tx),
                       "UPDATE vcenter_registrations SET repaired_at_ms = ?, repaired = ? WHERE vcenter_id = ?",
                       DB_ARGS(db_number(call->row.repaired_at_ms), members, db_text(call->vcenter_id)), NULL, err);
}

int registration_store_note_repair(struct store *store, const char *vcenter_id, int64_t at_ms, const char *members,
                                   struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id};
    call.row.repaired_at_ms = at_ms;
    call.row.repaired = (char *)(uintptr_t)members; /* borrowed */
    return store_tx(store, registration_note_repair, &call, err);
}

static int set_role(struct store_tx *tx, void *arg, struct err *err) {
    const struct registration_call *call = arg;
    int rc = vcenter_store_need_row(tx, call->vcenter_id, err);
    return rc ? rc
              : db_run(store_tx_conn(tx),
                       "UPDATE vcenter_registrations SET role_name = ?, role_id = ?, role_principal = ? WHERE vcenter_id = ?",
                       DB_ARGS(db_text(call->row.role_name), db_number(call->row.role_id), db_text(call->row.role_principal),
                               db_text(call->vcenter_id)),
                       NULL, err);
}

int registration_store_set_role(struct store *store, const char *vcenter_id, const struct registration_row *role,
                                struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id};
    if (role)
        call.row = *role; /* borrowed */
    return store_tx(store, set_role, &call, err);
}

/* -- when vCenters fetched the manifest of our plug-in ------------------------------------------------------------- */

int manifest_store_save(struct store *store, const char *vcenter_id, const struct manifest_fetch *fetch, struct err *err) {
    return store_run(
        store,
        "INSERT INTO manifest_fetches (vcenter_id, address, version, fetched_at_ms)"
        " SELECT id, ?, ?, ? FROM vcenters WHERE id = ?"
        " ON DUPLICATE KEY UPDATE"
        " manifest_fetches.address = IF(fetched_at_ms < VALUES(fetched_at_ms), VALUES(address), manifest_fetches.address),"
        " manifest_fetches.version = IF(fetched_at_ms < VALUES(fetched_at_ms), VALUES(version), manifest_fetches.version),"
        " fetched_at_ms = GREATEST(fetched_at_ms, VALUES(fetched_at_ms))",
        DB_ARGS(db_text(fetch->address), db_text(fetch->version), db_number(fetch->at_ms), db_text(vcenter_id)), NULL, err);
}

static int vcenter_store_read_fetch(const struct db_row *row, void *arg, struct err *err) {
    struct manifest_fetch *out = arg;
    (void)err;
    db_row_copy(row, 0, out->address, sizeof(out->address));
    db_row_copy(row, 1, out->version, sizeof(out->version));
    out->at_ms = db_row_number(row, 2);
    return 0;
}

int manifest_store_load(struct store *store, const char *vcenter_id, struct manifest_fetch *out, struct err *err) {
    struct manifest_fetch read = {.at_ms = 0};
    int rc = store_query(store, "SELECT address, version, fetched_at_ms FROM manifest_fetches WHERE vcenter_id = ?",
                         DB_ARGS(db_text(vcenter_id)), "tti", vcenter_store_read_fetch, &read, err);
    if (!rc)
        *out = read;
    return rc;
}
