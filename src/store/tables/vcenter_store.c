/* vCenters, and what goes with each: login credentials, our registration there, when it fetched the manifest. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "cluster_tx.h"
#include "record_tx.h"
#include "secret_store.h"
#include "session_tx.h"

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

const struct db_table vcenter_table = {.name = "vcenters",
                                       .noun = "vCenter",
                                       .members = vcenter_members,
                                       .bytes = sizeof(struct vcenter),
                                       .more = ", pin_sha256",
                                       .more_kinds = "b",
                                       .read_more = read_pin};

DB_LIST_DEFINE(vcenter_list, vcenter_done);

int vcenter_store_list(struct store *store, struct vcenter_list *out, struct err *err) {
    return db_table_list(store, &vcenter_table, " ORDER BY name, id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int vcenter_store_load(struct store *store, const char *id, struct vcenter **out, struct err *err) {
    return db_table_load(store, &vcenter_table, " WHERE id = ?", DB_ARGS(db_text(id)), out, err);
}

static int vcenter_write(struct store *store, enum record_how how, const struct vcenter *vc, const struct audit_record *audit,
                         struct err *err) {
    const struct db_more pin = {"pin_sha256", db_bytes(vc->has_pin ? vc->pin_sha256 : NULL, sizeof(vc->pin_sha256)), NULL};
    return record_store_write(
        store,
        &(struct record_write){
            .table = &vcenter_table, .how = how, .record = vc, .more = DB_MORE(pin), .change = CHANGE_VCENTER, .audit = audit},
        err);
}

int vcenter_store_insert(struct store *store, const struct vcenter *vc, const struct audit_record *audit, struct err *err) {
    int rc = vcenter_write(store, RECORD_INSERT, vc, audit, err);
    return db_explain(rc, ERR_EXISTS, err, "the vCenter with instance UUID %s is known already", vc->id);
}

int vcenter_store_update(struct store *store, const struct vcenter *vc, const struct audit_record *audit, int64_t *version_no,
                         struct err *err) {
    int rc = vcenter_write(store, RECORD_UPDATE, vc, audit, err);
    if (!rc)
        *version_no = vc->version_no + 1;
    return rc;
}

struct vcenter_removal {
    const char *id;
    int64_t now_ms;
    const struct audit_record *audit;
};

/* Those that kaasd is connected to stay, as gone: they may turn up in another vCenter. */
static int vcenter_part_with_hx(struct store_tx *tx, const char *id, struct err *err) {
    int rc = db_run(store_tx_conn(tx),
                    "DELETE FROM hx_clusters WHERE vcenter_id = ? AND id NOT IN (SELECT hx_cluster_id FROM hx_connections)",
                    DB_ARGS(db_text(id)), NULL, err);
    return rc ? rc
              : db_run(store_tx_conn(tx), "UPDATE hx_clusters SET is_gone = 1, version_no = version_no + 1 WHERE vcenter_id = ?",
                       DB_ARGS(db_text(id)), NULL, err);
}

/* The foreign key would refuse as well, without a name. */
static int vcenter_check_unprovided(struct store_tx *tx, const char *id, struct err *err) {
    _cleanup_free_ char *provider = NULL;
    int rc = db_query_row(store_tx_conn(tx), "SELECT name FROM providers WHERE vcenter_id = ? ORDER BY name LIMIT 1",
                          DB_ARGS(db_text(id)), DB_INTO(DB_TO(provider)), NULL, err);
    if (rc || !provider)
        return rc;
    (void)err_set(err, ERR_CONFLICT, "the provider %s builds at this vCenter", provider);
    return err_remedy(err, "remove it first: kaasctl provider remove %s", provider);
}

static int vcenter_look_unprovided(struct store_tx *tx, void *arg, struct err *err) {
    return vcenter_check_unprovided(tx, arg, err);
}

int vcenter_store_check_unprovided(struct store *store, const char *id, struct err *err) {
    return store_tx_snapshot(store, vcenter_look_unprovided, (void *)(uintptr_t)id, err);
}

static int remove_vcenter(struct store_tx *tx, void *arg, struct err *err) {
    const struct vcenter_removal *call = arg;
    /* what is seen of nodes there goes with it (ON DELETE CASCADE): where their clusters are must be found out anew */
    int rc = audit_tx_append(tx, call->audit, 1, err); /* as long as it has a name */
    rc = rc ? rc
            : store_tx_note_rows(tx, CHANGE_CLUSTER,
                                 "SELECT DISTINCT n.cluster_id FROM node_observations o JOIN nodes n ON n.id = o.node_id"
                                 " WHERE o.vcenter_id = ?",
                                 DB_ARGS(db_text(call->id)), err);
    rc = rc ? rc : vcenter_check_unprovided(tx, call->id, err);
    rc = rc ? rc : vcenter_part_with_hx(tx, call->id, err);
    if (rc)
        return rc;
    rc = db_run_one(store_tx_conn(tx), "DELETE FROM vcenters WHERE id = ?", DB_ARGS(db_text(call->id)),
                    "there is no such vCenter", err);
    if (db_explain(rc, ERR_CONFLICT, err, "Kubernetes clusters are still placed on this vCenter") == ERR_CONFLICT)
        err_remedy(err, "remove these clusters first, or change their placement");
    rc = rc ? rc : secret_tx_purge(tx, err);
    rc = rc ? rc : session_tx_end(tx, "vcenter_id = ?", DB_ARGS(db_text(call->id)), call->now_ms, err);
    rc = rc ? rc : session_tx_forget_vcenter(tx, call->id, err);
    return rc ? rc : record_tx_end(tx, CHANGE_VCENTER, call->id, NULL, err);
}

int vcenter_store_delete(struct store *store, const char *id, int64_t now_ms, const struct audit_record *audit, struct err *err) {
    struct vcenter_removal call = {id, now_ms, audit};
    return store_tx(store, remove_vcenter, &call, err);
}

/* -- login credentials of vCenters and their rotation -------------------------------------------------------------- */

#define CREDENTIAL_GONE "there is no such login credential"

static const struct member credential_members[] = {
    MEMBER_AS(vcenter_credential, vcenter_id, "vcenter_id", NULL),
    MEMBER_AS(vcenter_credential, generation, "generation", NULL),
    MEMBER_AS(vcenter_credential, kind, "kind", NULL, .words = credential_kind_words, .flags = MEMBER_STRICT),
    MEMBER_AS(vcenter_credential, state, "state", NULL, .words = credential_state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(vcenter_credential, cert_pem, "cert_pem", NULL),
    MEMBER_AS(vcenter_credential, user_name, "user_name", NULL),
    MEMBER_AS(vcenter_credential, created_at_ms, "created_at_ms", NULL),
    MEMBERS_END,
};

static int credential_read_sealed(const struct db_row *row, size_t first, void *record, struct err *err) {
    struct vcenter_credential *c = record;
    (void)err;
    c->sealed = db_row_dup_bytes(row, first, &c->sealed_bytes);
    return 0;
}

static void credential_done(void *record) {
    struct vcenter_credential *c = record;
    free(c->sealed);
    members_done(credential_members, c, sizeof(*c));
}

static const struct db_table credential_table = {.name = "vcenter_credentials",
                                                 .noun = "login credential",
                                                 .members = credential_members,
                                                 .bytes = sizeof(struct vcenter_credential),
                                                 .more = ", sealed",
                                                 .more_kinds = "b",
                                                 .read_more = credential_read_sealed,
                                                 .done = credential_done};

void vcenter_credential_free(struct vcenter_credential *c) {
    if (!c)
        return;
    credential_done(c);
    free(c);
}

struct credential_call {
    const struct vcenter_credential *credential;
    const char *vcenter_id;
    int64_t generation;
    const struct operation_end *end;
};

static int add_pending(struct store_tx *tx, void *arg, struct err *err) {
    struct credential_call *call = arg;
    struct vcenter_credential row = *call->credential;
    struct db_conn *conn = store_tx_conn(tx);
    int64_t pending = 0;
    int rc = store_tx_lock(tx, "credentials", err);
    if (rc)
        return rc;
    rc = db_query_row(conn,
                      "SELECT COUNT(IF(state = 'pending', 1, NULL)), COALESCE(MAX(generation), 0) + 1 FROM vcenter_credentials"
                      " WHERE vcenter_id = ?",
                      DB_ARGS(db_text(row.vcenter_id)), DB_INTO(DB_TO(pending), DB_TO(call->generation)), NULL, err);
    if (!rc && pending)
        rc = err_set(err, ERR_CONFLICT, "a change of the login credential of this vCenter is not finished");
    if (rc)
        return rc;
    row.generation = (unsigned)call->generation;
    row.state = CREDENTIAL_PENDING;
    rc = db_table_insert(conn, &credential_table, &row, DB_MORE({"sealed", db_bytes(row.sealed, row.sealed_bytes), NULL}), err);
    if (rc == ERR_CONFLICT) { /* the foreign key */
        err_clear(err);
        return err_set(err, ERR_NOT_FOUND, "there is no such vCenter");
    }
    return rc ? rc : store_tx_note_change(tx, CHANGE_VCENTER, row.vcenter_id, err);
}

int credential_store_add_pending(struct store *store, const struct vcenter_credential *c, unsigned *generation, struct err *err) {
    struct credential_call call = {.credential = c};
    int rc = store_tx(store, add_pending, &call, err);
    if (!rc)
        *generation = (unsigned)call.generation;
    return rc;
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
    char word[16] = "";
    enum credential_state state = CREDENTIAL_RETIRED;
    int rc = store_tx_lock(tx, "credentials", err);
    rc = rc ? rc
            : db_query_row(store_tx_conn(tx), "SELECT state FROM vcenter_credentials WHERE vcenter_id = ? AND generation = ?",
                           DB_ARGS(db_text(call->vcenter_id), db_number(call->generation)), DB_INTO(DB_TO(word)), CREDENTIAL_GONE,
                           err);
    if (rc)
        return rc;
    if (!credential_state_parse(word, &state))
        return err_set(err, ERR_SCHEMA, "a login credential has an unknown state");
    if (state == CREDENTIAL_RETIRED)
        return err_set(err, ERR_CONFLICT, "login credential %lld of this vCenter is retired", (long long)call->generation);
    rc = state == CREDENTIAL_ACTIVE ? 0 : credential_make_active(tx, call, err);
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

int credential_store_load(struct store *store, const char *vcenter_id, enum credential_state state,
                          struct vcenter_credential **out, struct err *err) {
    struct err why = {0};
    int rc = db_table_load(store, &credential_table, " WHERE vcenter_id = ? AND state = ? ORDER BY generation DESC LIMIT 1",
                           DB_ARGS(db_text(vcenter_id), db_text(credential_state_name(state))), out, &why);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

/* -- what we remember of our registration with a vCenter ----------------------------------------------------------- */

void registration_row_done(struct registration_row *row) {
    if (!row)
        return;
    free(row->repaired);
    free(row->role_name);
    free(row->role_principal);
    free(row->role_objects);
    *row = (struct registration_row){0};
}

int registration_store_load(struct store *store, const char *vcenter_id, struct registration_row *out, struct err *err) {
    struct registration_row row = {0};
    int rc =
        store_query_row(store,
                        "SELECT registration_no, repaired_at_ms, repaired, role_name, role_id, role_principal, certificate_due,"
                        " object_role_id, role_objects, role_on_used"
                        " FROM vcenter_registrations WHERE vcenter_id = ?",
                        DB_ARGS(db_text(vcenter_id)),
                        DB_INTO(DB_TO(row.registration_no), DB_TO(row.repaired_at_ms), DB_TO(row.repaired), DB_TO(row.role_name),
                                DB_TO(row.role_id), DB_TO(row.role_principal), DB_TO(row.is_certificate_due),
                                DB_TO(row.object_role_id), DB_TO(row.role_objects), DB_TO(row.is_role_on_used)),
                        NULL, err);
    if (rc)
        registration_row_done(&row);
    else
        *out = row;
    return rc;
}

struct registration_write {
    const char *vcenter_id, *sql;
    struct db_args args;
    int64_t number; /* of registrations, behind the write */
};

/* The row is made by the first that needs it; a vCenter that is gone has none. */
static int registration_write(struct store_tx *tx, void *arg, struct err *err) {
    struct registration_write *call = arg;
    struct db_conn *conn = store_tx_conn(tx);
    const struct db_args key = DB_ARGS(db_text(call->vcenter_id));
    int rc = db_table_check(conn, &vcenter_table, call->vcenter_id, err);
    rc = rc ? rc : db_run(conn, "INSERT IGNORE INTO vcenter_registrations (vcenter_id) VALUES (?)", key, NULL, err);
    rc = rc ? rc : db_run(conn, call->sql, call->args, NULL, err);
    return rc ? rc
              : db_query_number(conn, "SELECT registration_no FROM vcenter_registrations WHERE vcenter_id = ?", key,
                                &call->number, err);
}

int registration_store_count(struct store *store, const char *vcenter_id, unsigned *number, struct err *err) {
    struct registration_write call = {
        vcenter_id, "UPDATE vcenter_registrations SET registration_no = registration_no + 1 WHERE vcenter_id = ?",
        DB_ARGS(db_text(vcenter_id)), 0};
    int rc = store_tx(store, registration_write, &call, err);
    if (!rc)
        *number = (unsigned)call.number;
    return rc;
}

int registration_store_set_due(struct store *store, const char *vcenter_id, bool is_due, struct err *err) {
    struct registration_write call = {vcenter_id, "UPDATE vcenter_registrations SET certificate_due = ? WHERE vcenter_id = ?",
                                      DB_ARGS(db_number(is_due), db_text(vcenter_id)), 0};
    return store_tx(store, registration_write, &call, err);
}

int registration_store_note_repair(struct store *store, const char *vcenter_id, int64_t at_ms, const char *members,
                                   struct err *err) {
    struct registration_write call = {
        vcenter_id, "UPDATE vcenter_registrations SET repaired_at_ms = ?, repaired = LEFT(?, 400) WHERE vcenter_id = ?",
        DB_ARGS(db_number(at_ms), db_text(members), db_text(vcenter_id)), 0};
    return store_tx(store, registration_write, &call, err);
}

int registration_store_set_role(struct store *store, const char *vcenter_id, const struct registration_row *role,
                                struct err *err) {
    struct registration_write call = {
        vcenter_id,
        "UPDATE vcenter_registrations SET role_name = ?, role_id = ?, role_principal = ?, object_role_id = ?, role_objects = ?,"
        " role_on_used = ? WHERE vcenter_id = ?",
        DB_ARGS(db_text(role ? role->role_name : NULL), db_number(role ? role->role_id : 0),
                db_text(role ? role->role_principal : NULL), db_number(role ? role->object_role_id : 0),
                db_text(role ? role->role_objects : NULL), db_number(role && role->is_role_on_used), db_text(vcenter_id)),
        0};
    return store_tx(store, registration_write, &call, err);
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

int manifest_store_load(struct store *store, const char *vcenter_id, struct manifest_fetch *out, struct err *err) {
    struct manifest_fetch read = {.at_ms = 0};
    int rc = store_query_row(store, "SELECT address, version, fetched_at_ms FROM manifest_fetches WHERE vcenter_id = ?",
                             DB_ARGS(db_text(vcenter_id)), DB_INTO(DB_TO(read.address), DB_TO(read.version), DB_TO(read.at_ms)),
                             NULL, err);
    if (!rc)
        *out = read;
    return rc;
}
