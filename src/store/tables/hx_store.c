/* Connections to the management of HX clusters. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hx_store.h"

#include <stdlib.h>

#include "cluster_tx.h"
#include "lease_store.h"
#include "record_tx.h"
#include "str.h"

static const struct db_table connection_table = {
    .name = "hx_connections", .noun = "connection", .members = hx_connection_members, .bytes = sizeof(struct hx_connection)};
const struct db_table hx_status_table = {
    .name = "hx_statuses", .noun = "connection", .members = hx_status_members, .bytes = sizeof(struct hx_status)};

/* -- reading --------------------------------------------------------------------------------------------------------------- */

int hx_store_list(struct store *store, struct hx_connection_list *out, struct err *err) {
    return db_table_list(store, &connection_table, " ORDER BY hx_cluster_id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int hx_store_list_statuses(struct store *store, struct hx_status_list *out, struct err *err) {
    return db_table_list(store, &hx_status_table, " ORDER BY hx_cluster_id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int hx_store_load(struct store *store, const char *hx_id, struct hx_connection **out, struct err *err) {
    return db_table_load(store, &connection_table, " WHERE hx_cluster_id = ?", DB_ARGS(db_text(hx_id)), out, err);
}

int hx_store_load_status(struct store *store, const char *hx_id, struct hx_status **out, struct err *err) {
    return db_table_load(store, &hx_status_table, " WHERE hx_cluster_id = ?", DB_ARGS(db_text(hx_id)), out, err);
}

struct secret_place hx_store_place(const char *hx_id, enum hx_secret_kind kind) {
    return (struct secret_place){SECRET_OWNER_HX_CONNECTION, hx_id, kind == HX_SECRET_PASSWORD ? "hx-password" : "hx-token"};
}

struct secret_place hx_store_credential_place(const char *vcenter_id) {
    return (struct secret_place){SECRET_OWNER_HX_CREDENTIAL, vcenter_id, "hx-credential"};
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

/* Of what is set anew nothing is known yet. The version of a status rises also then, so that a try that began before cannot write over it. */
static int connection_begin(struct store_tx *tx, const struct record_write *write, struct err *err) {
    static const struct secret_value none = {0};
    struct db_conn *conn = store_tx_conn(tx);
    const struct hx_connection *c = write->record;
    struct hx_status fresh = {.hx_id = c->hx_id, .remote.since_ms = c->updated_at_ms, .facts = HX_FACTS_NONE};
    struct db_records old = {0};
    const struct secret_place password = hx_store_place(c->hx_id, HX_SECRET_PASSWORD);
    const struct secret_place token = hx_store_place(c->hx_id, HX_SECRET_TOKEN);
    int rc = secret_tx_put(tx, &password, write->arg, err);
    if (!rc)
        rc = secret_tx_put(tx, &token, &none, err);
    if (!rc)
        rc = db_run(conn, "DELETE FROM hx_left_alone WHERE hx_cluster_id = ?", DB_ARGS(db_text(c->hx_id)), NULL, err);
    if (!rc) /* it is told anew where KaaS is */
        rc = db_run(conn, "UPDATE hx_publications SET next_at_ms = 0, version_no = version_no + 1 WHERE hx_cluster_id = ?",
                    DB_ARGS(db_text(c->hx_id)), NULL, err);
    if (!rc)
        rc = db_table_query(conn, &hx_status_table, " WHERE hx_cluster_id = ? FOR UPDATE", DB_ARGS(db_text(c->hx_id)), &old, err);
    fresh.version_no = old.count ? ((const struct hx_status *)old.items)->version_no : 0;
    db_records_done(&hx_status_table, &old);
    if (rc)
        return rc;
    return fresh.version_no ? db_table_update(conn, &hx_status_table, &fresh, DB_MORE_NONE, err)
                            : db_table_insert(conn, &hx_status_table, &fresh, DB_MORE_NONE, err);
}

int hx_store_put(struct store *store, const struct hx_connection *connection, const struct secret_value *password,
                 const struct audit_record *audit, const struct lease_fence *fence, struct err *err) {
    struct hx_connection row = *connection;
    const struct record_write write = {.table = &connection_table,
                                       .how = row.version_no ? RECORD_UPDATE : RECORD_INSERT,
                                       .record = &row,
                                       .change = CHANGE_HX_CLUSTER,
                                       .audit = audit,
                                       .fence = fence,
                                       .after = connection_begin,
                                       .arg = password};
    row.created_at_ms = row.updated_at_ms; /* an update leaves it */
    int rc = record_store_write(store, &write, err);
    db_explain(rc, ERR_EXISTS, err, "somebody else has just set the connection of this HX cluster");
    return db_explain(rc, ERR_CONFLICT, err, "the HX cluster is not there any more");
}

/* Without a connection the HX cluster is called what vCenter calls it. Its uuid stays: by that it is known again. One whose vCenter was removed goes. */
static int connection_end(struct store_tx *tx, const struct record_write *write, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    int rc = db_run(conn, "DELETE FROM hx_clusters WHERE id = ? AND vcenter_id NOT IN (SELECT id FROM vcenters)",
                    DB_ARGS(db_text(write->key)), NULL, err);
    if (!rc)
        rc = db_run(conn, "REPLACE INTO hx_left_alone (hx_cluster_id) SELECT id FROM hx_clusters WHERE id = ?",
                    DB_ARGS(db_text(write->key)), NULL, err);
    if (!rc)
        rc = secret_tx_purge(tx, err);
    if (rc)
        return rc;
    return db_run(
        conn,
        "UPDATE hx_clusters h LEFT JOIN vsphere_clusters v ON v.vcenter_id = h.vcenter_id AND v.moref = h.moref"
        " SET h.name = COALESCE(v.name, h.moref), h.is_name_set = 0, h.is_name_read = 0, h.version_no = h.version_no + 1"
        " WHERE h.id = ? AND h.is_name_read = 1",
        DB_ARGS(db_text(write->key)), NULL, err);
}

int hx_store_delete(struct store *store, const struct hx_removal *removal, struct err *err) {
    return record_store_write(store,
                              &(struct record_write){.table = &connection_table,
                                                     .how = RECORD_DELETE,
                                                     .key = removal->hx_id,
                                                     .version_no = removal->version_no,
                                                     .change = CHANGE_HX_CLUSTER,
                                                     .after = connection_end,
                                                     .audit = removal->audit},
                              err);
}

static int status_keep_token(struct store_tx *tx, const struct record_write *write, struct err *err) {
    const struct hx_status *status = write->record;
    const struct secret_place token = hx_store_place(status->hx_id, HX_SECRET_TOKEN);
    return write->arg ? secret_tx_put(tx, &token, write->arg, err) : 0;
}

int hx_store_save_status(struct store *store, struct hx_status *status, const struct secret_value *token,
                         const struct audit_record *audit, const struct lease_fence *fence, struct err *err) {
    int rc = record_store_write(store,
                                &(struct record_write){.table = &hx_status_table,
                                                       .how = RECORD_UPDATE,
                                                       .record = status,
                                                       .change = CHANGE_KIND_COUNT,
                                                       .audit = audit,
                                                       .fence = fence,
                                                       .after = status_keep_token,
                                                       .arg = token},
                                err);
    if (!rc)
        status->version_no++;
    return rc;
}

/* -- what HX clusters of a vCenter inherit ----------------------------------------------------------------------------------- */

static const struct db_table credential_table = {
    .name = "hx_credentials", .noun = "credential", .members = hx_credential_members, .bytes = sizeof(struct hx_credential)};

int hx_store_list_credentials(struct store *store, struct hx_credential_list *out, struct err *err) {
    return db_table_list(store, &credential_table, " ORDER BY vcenter_id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int hx_store_load_credential(struct store *store, const char *vcenter_id, struct hx_credential **out, struct err *err) {
    return db_table_load(store, &credential_table, " WHERE vcenter_id = ?", DB_ARGS(db_text(vcenter_id)), out, err);
}

int hx_store_load_credential_of(struct store *store, const char *hx_id, struct hx_credential **out, struct err *err) {
    return db_table_load(store, &credential_table, " WHERE vcenter_id = (SELECT vcenter_id FROM hx_clusters WHERE id = ?)",
                         DB_ARGS(db_text(hx_id)), out, err);
}

static int credential_keep_password(struct store_tx *tx, const struct record_write *write, struct err *err) {
    const struct hx_credential *credential = write->record;
    const struct secret_place place = hx_store_credential_place(credential->vcenter_id);
    return secret_tx_put(tx, &place, write->arg, err);
}

int hx_store_put_credential(struct store *store, const struct hx_credential *credential, const struct secret_value *password,
                            const struct audit_record *audit, struct err *err) {
    struct hx_credential row = *credential;
    const struct record_write write = {.table = &credential_table,
                                       .how = row.version_no ? RECORD_UPDATE : RECORD_INSERT,
                                       .record = &row,
                                       .change = CHANGE_KIND_COUNT,
                                       .audit = audit,
                                       .after = credential_keep_password,
                                       .arg = password};
    row.created_at_ms = row.updated_at_ms; /* an update leaves it */
    int rc = record_store_write(store, &write, err);
    db_explain(rc, ERR_EXISTS, err, "somebody else has just set the credential of this vCenter");
    return db_explain(rc, ERR_CONFLICT, err, "the vCenter is not there any more");
}

static int credential_end(struct store_tx *tx, const struct record_write *write, struct err *err) {
    (void)write;
    return secret_tx_purge(tx, err);
}

int hx_store_delete_credential(struct store *store, const struct hx_removal *removal, struct err *err) {
    return record_store_write(store,
                              &(struct record_write){.table = &credential_table,
                                                     .how = RECORD_DELETE,
                                                     .key = removal->hx_id,
                                                     .version_no = removal->version_no,
                                                     .change = CHANGE_KIND_COUNT,
                                                     .after = credential_end,
                                                     .audit = removal->audit},
                              err);
}

struct refusal {
    const struct hx_credential *credential;
    const struct lease_fence *fence;
    int64_t now_ms;
};

static int credential_refuse(struct store_tx *tx, void *arg, struct err *err) {
    const struct refusal *call = arg;
    int rc = lease_tx_check(tx, call->fence, err);
    return rc ? rc
              : db_run(
                    store_tx_conn(tx),
                    "UPDATE hx_credentials SET refused_at_ms = ?, version_no = version_no + 1 WHERE vcenter_id = ? AND version_no = ?",
                    DB_ARGS(db_number(call->now_ms), db_text(call->credential->vcenter_id),
                            db_number(call->credential->version_no)),
                    NULL, err);
}

int hx_store_refuse_credential(struct store *store, const struct hx_credential *credential, const struct lease_fence *fence,
                               int64_t now_ms, struct err *err) {
    struct refusal call = {credential, fence, now_ms};
    return store_tx(store, credential_refuse, &call, err);
}

struct heirs {
    char **ids;
    size_t count;
};

static int heirs_add(const struct db_row *row, void *arg, struct err *err) {
    struct heirs *heirs = arg;
    char **at = db_list_add(&heirs->ids, &heirs->count, sizeof(*at), err);
    if (!at)
        return ERR_NOMEM;
    *at = db_row_dup(row, 0);
    return 0;
}

int hx_store_list_heirs(struct store *store, char ***ids, size_t *count, struct err *err) {
    struct heirs heirs = {0};
    int rc = store_query(store,
                         "SELECT h.id FROM hx_clusters h JOIN hx_credentials c ON c.vcenter_id = h.vcenter_id"
                         " LEFT JOIN hx_connections n ON n.hx_cluster_id = h.id LEFT JOIN hx_statuses s ON s.hx_cluster_id = h.id"
                         " WHERE c.refused_at_ms = 0 AND h.is_gone = FALSE AND (n.hx_cluster_id IS NULL"
                         " OR (n.is_inherited AND s.reason IN ('unreachable', 'timeout', 'tls_untrusted')))"
                         " AND h.id NOT IN (SELECT hx_cluster_id FROM hx_left_alone) ORDER BY h.id",
                         DB_ARGS_NONE, "t", heirs_add, &heirs, err);
    *ids = heirs.ids;
    *count = heirs.count;
    return rc;
}
