/* Connections to Kubernetes clusters. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_store.h"

#include <stdlib.h>
#include <string.h>

#include "cluster_tx.h"
#include "kube_facts.h"
#include "lease_store.h"
#include "limits.h"
#include "record_tx.h"
#include "str.h"
#include "uuid.h"

static const struct db_table kube_connection_table = {.name = "kube_connections",
                                                      .noun = "connection",
                                                      .members = kube_connection_members,
                                                      .bytes = sizeof(struct kube_connection)};
static const struct db_table kube_status_table = {
    .name = "kube_statuses", .noun = "connection", .members = kube_status_members, .bytes = sizeof(struct kube_status)};
const struct db_table node_kube_table = {
    .name = "kube_nodes", .noun = "node", .members = node_kube_members, .bytes = sizeof(struct node_kube)};

/* -- reading --------------------------------------------------------------------------------------------------------------- */

int kube_store_list(struct store *store, struct kube_connection_list *out, struct err *err) {
    return db_table_list(store, &kube_connection_table, " ORDER BY cluster_id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int kube_store_list_statuses(struct store *store, struct kube_status_list *out, struct err *err) {
    return db_table_list(store, &kube_status_table, " ORDER BY cluster_id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int kube_store_load(struct store *store, const char *cluster_id, struct kube_connection **out, struct err *err) {
    return db_table_load(store, &kube_connection_table, " WHERE cluster_id = ?", DB_ARGS(db_text(cluster_id)), out, err);
}

int kube_store_load_status(struct store *store, const char *cluster_id, struct kube_status **out, struct err *err) {
    return db_table_load(store, &kube_status_table, " WHERE cluster_id = ?", DB_ARGS(db_text(cluster_id)), out, err);
}

int kube_store_load_by_uid(struct store *store, const char *cluster_uid, struct kube_connection **out, struct err *err) {
    return db_table_load(store, &kube_connection_table, " WHERE cluster_uid = ?", DB_ARGS(db_text(cluster_uid)), out, err);
}

struct secret_place kube_store_place(const char *cluster_id) {
    return (struct secret_place){SECRET_OWNER_KUBE_CONNECTION, cluster_id, "kube-token"};
}

/* -- the connection -------------------------------------------------------------------------------------------------------- */

/* Of what is set anew nothing is known yet. The version of a status rises also then, so that a try that began before cannot write over it. */
static int kube_store_begin_status(struct store_tx *tx, const struct kube_write *write, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    const struct kube_connection *c = write->connection;
    struct kube_status fresh = {
        .cluster_id = c->cluster_id,
        .remote.since_ms = c->updated_at_ms,
        .token_until_ms = write->token_until_ms,
        .token_renew_at_ms = write->token_renew_at_ms,
        .health = {.control_plane_ready = -1, .control_plane_desired = -1, .workers_ready = -1, .workers_desired = -1}};
    int rc = db_query_number(conn, "SELECT version_no FROM kube_statuses WHERE cluster_id = ? FOR UPDATE",
                             DB_ARGS(db_text(c->cluster_id)), &fresh.version_no, err);
    if (rc)
        return rc;
    return fresh.version_no ? db_table_update(conn, &kube_status_table, &fresh, DB_MORE_NONE, err)
                            : db_table_insert(conn, &kube_status_table, &fresh, DB_MORE_NONE, err);
}

static int kube_store_write_connection(struct store_tx *tx, const struct kube_connection *given, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    struct kube_connection row = *given;
    row.created_at_ms = row.updated_at_ms; /* an update leaves it */
    int rc = row.version_no ? db_table_update(conn, &kube_connection_table, &row, DB_MORE_NONE, err)
                            : db_table_insert(conn, &kube_connection_table, &row, DB_MORE_NONE, err);
    if (str_eq(conn->last_key, "kube_connections_uid"))
        db_explain(rc, ERR_EXISTS, err, "another cluster here is connected to this Kubernetes cluster already");
    else
        db_explain(rc, ERR_EXISTS, err, "the cluster has a connection already");
    return db_explain(rc, ERR_CONFLICT, err, "the cluster is not there any more");
}

static int kube_store_put_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct kube_write *write = arg;
    const struct secret_place token = kube_store_place(write->connection->cluster_id);
    int rc = write->cluster ? cluster_tx_insert(tx, write->cluster, write->room, err) : 0;
    rc = rc ? rc : kube_store_write_connection(tx, write->connection, err);
    rc = rc ? rc : kube_store_begin_status(tx, write, err);
    rc = rc ? rc : secret_tx_put(tx, &token, write->token, err);
    return rc ? rc : record_tx_end(tx, CHANGE_CLUSTER, write->connection->cluster_id, write->audit, err);
}

int kube_store_put(struct store *store, const struct kube_write *write, struct err *err) {
    struct kube_write borrowed = *write;
    return store_tx(store, kube_store_put_in_tx, &borrowed, err);
}

/* Nodes that nobody declared go with the connection; the rows of what Kubernetes told go by ON DELETE CASCADE. */
static int kube_store_remove_made(struct store_tx *tx, const struct record_write *write, struct err *err) {
    const struct db_args id = DB_ARGS(db_text(write->key));
    struct db_conn *conn = store_tx_conn(tx);
    int rc = db_run(conn,
                    "DELETE o FROM node_observations o JOIN kube_nodes k ON k.node_id = o.node_id"
                    " WHERE k.cluster_id = ? AND k.is_made",
                    id, NULL, err);
    return rc ? rc
              : db_run(conn, "DELETE n FROM nodes n JOIN kube_nodes k ON k.node_id = n.id WHERE k.cluster_id = ? AND k.is_made",
                       id, NULL, err);
}

static int kube_store_purge_token(struct store_tx *tx, const struct record_write *write, struct err *err) {
    (void)write;
    return secret_tx_purge(tx, err);
}

int kube_store_delete(struct store *store, const char *cluster_id, int64_t version_no, const struct audit_record *audit,
                      struct err *err) {
    return record_store_write(store,
                              &(struct record_write){.table = &kube_connection_table,
                                                     .how = RECORD_DELETE,
                                                     .key = cluster_id,
                                                     .version_no = version_no,
                                                     .change = CHANGE_CLUSTER,
                                                     .before = kube_store_remove_made,
                                                     .after = kube_store_purge_token,
                                                     .audit = audit},
                              err);
}

/* The record says the version that the API server says, whoever typed another one. Lists show that, also where they show nothing else that is new. */
static int kube_store_follow_status(struct store_tx *tx, const struct record_write *write, struct err *err) {
    const struct kube_status *status = write->record;
    const struct secret_place token = kube_store_place(status->cluster_id);
    uint64_t changed = 0;
    int rc = write->arg ? secret_tx_put(tx, &token, write->arg, err) : 0;
    if (rc || !status->version)
        return rc;
    rc =
        db_run(store_tx_conn(tx),
               "UPDATE clusters SET kubernetes_version = ?, version_no = version_no + 1 WHERE id = ? AND kubernetes_version <> ?",
               DB_ARGS(db_text(status->version), db_text(status->cluster_id), db_text(status->version)), &changed, err);
    return rc || !changed || write->change == CHANGE_CLUSTER ? rc
                                                             : store_tx_note_change(tx, CHANGE_CLUSTER, status->cluster_id, err);
}

int kube_store_save_status(struct store *store, struct kube_status *status, const struct secret_value *token,
                           const struct lease_fence *fence, bool is_news, struct err *err) {
    int rc = record_store_write(store,
                                &(struct record_write){.table = &kube_status_table,
                                                       .how = RECORD_UPDATE,
                                                       .record = status,
                                                       .change = is_news ? CHANGE_CLUSTER : CHANGE_KIND_COUNT,
                                                       .fence = fence,
                                                       .after = kube_store_follow_status,
                                                       .arg = token},
                                err);
    if (!rc)
        status->version_no++;
    return rc;
}

/* -- nodes ----------------------------------------------------------------------------------------------------------------- */

/* They are compared with what is stored in a read-only snapshot first; only if something differs it is done again in a transaction that writes. That one
 * holds the row of the cluster, as everybody does who writes its list of nodes. */

#define KUBE_STORE_SQL_BYTES_MAX 4096

/* A node as stored. */
struct kube_row {
    char id[UUID_TEXT_BYTES];
    char *name, *role;
    char *seen_bios_uuid;  /* of the virtual machine that a vCenter shows; NULL: none, or another one was declared */
    struct node_kube kube; /* node_id NULL: Kubernetes has told nothing of it */
};
struct kube_rows {
    struct kube_row *items; /* by name */
    size_t count;
};

static void kube_row_done(struct kube_row *row) {
    free(row->name);
    free(row->role);
    free(row->seen_bios_uuid);
    node_kube_done(&row->kube);
}
static DB_LIST_DEFINE(kube_rows, kube_row_done);

struct kube_saving {
    const char *cluster_id;
    const struct kube_nodes *nodes;
    const struct kube_node **told; /* by name */
    const struct cluster_room *room;
    const struct lease_fence *fence;
    struct db_conn *conn;
    bool is_dry; /* count what differs, write nothing */
    bool is_fuller;
    unsigned changed;
};

static int kube_store_add_row(const struct db_row *row, void *arg, struct err *err) {
    struct kube_rows *rows = arg;
    struct kube_row *item = db_list_add(&rows->items, &rows->count, sizeof(*item), err);
    size_t at = 4;
    if (!item)
        return ERR_NOMEM;
    db_row_copy(row, 0, item->id, sizeof(item->id));
    item->name = db_row_dup(row, 1);
    item->role = db_row_dup(row, 2);
    item->seen_bios_uuid = db_row_dup(row, 3);
    return db_members_read(row, &at, &node_kube_table, false, &item->kube, err);
}

static int kube_store_read_rows(const struct kube_saving *call, struct kube_rows *out, struct err *err) {
    char kinds[DB_COLUMNS_MAX + 1] = "tttt";
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, KUBE_STORE_SQL_BYTES_MAX);
    strbuf_adds(&sql, "SELECT n.id, n.name, n.role, IF(n.vm_instance_uuid IS NULL, o.bios_uuid, NULL), ");
    db_members_columns(node_kube_members, "k.", &sql, kinds);
    strbuf_adds(&sql, " FROM nodes n LEFT JOIN kube_nodes k ON k.node_id = n.id LEFT JOIN node_observations o ON o.node_id = n.id"
                      " WHERE n.cluster_id = ? ORDER BY n.name");
    int rc = strbuf_check(&sql, "a statement", err);
    return rc ? rc : db_query(call->conn, sql.data, DB_ARGS(db_text(call->cluster_id)), kinds, kube_store_add_row, out, err);
}

static int kube_store_run_on_node(const struct kube_saving *call, const char *sql, const char *node_id, struct err *err) {
    return db_run(call->conn, sql, DB_ARGS(db_text(node_id)), NULL, err);
}

static int kube_store_forget_seen(const struct kube_saving *call, const char *node_id, struct err *err) {
    return kube_store_run_on_node(call, "DELETE FROM node_observations WHERE node_id = ?", node_id, err);
}

/* A node that Kubernetes no longer has. */
static int kube_store_drop(struct kube_saving *call, const struct kube_row *row, struct err *err) {
    int rc = 0;
    if (!row->kube.node_id)
        return 0;
    call->changed++;
    if (call->is_dry)
        return 0;
    if (row->kube.is_made)
        rc = kube_store_forget_seen(call, row->id, err);
    if (!rc && row->kube.is_made)
        rc = kube_store_run_on_node(call, "DELETE FROM nodes WHERE id = ?", row->id, err);
    return rc ? rc : kube_store_run_on_node(call, "DELETE FROM kube_nodes WHERE node_id = ?", row->id, err);
}

static int kube_store_insert_told(const struct kube_saving *call, const struct node_kube *kube, struct err *err) {
    return db_table_insert(call->conn, &node_kube_table, kube, DB_MORE({"cluster_id", db_text(call->cluster_id), NULL}), err);
}

/* A node that is not in the list yet. */
static int kube_store_make(struct kube_saving *call, const struct kube_node *told, struct err *err) {
    char pressure[NODE_KUBE_PRESSURE_BYTES], id[UUID_TEXT_BYTES];
    struct node_kube kube;
    call->changed++;
    call->is_fuller = true;
    if (call->is_dry)
        return 0;
    uuid_new(id);
    node_kube_view(told, pressure, &kube);
    kube.node_id = id;
    kube.is_made = true;
    const struct node node = {.id = id, .name = told->name, .role = kube.is_control_plane ? NODE_CONTROL_PLANE : NODE_WORKER};
    int rc = db_table_insert(call->conn, &node_table, &node, DB_MORE({"cluster_id", db_text(call->cluster_id), NULL}), err);
    return rc ? rc : kube_store_insert_told(call, &kube, err);
}

/* A node of this name is there, declared or made. */
static int kube_store_renew(struct kube_saving *call, struct kube_row *row, const struct kube_node *told, struct err *err) {
    const bool is_known = row->kube.node_id != NULL;
    char pressure[NODE_KUBE_PRESSURE_BYTES];
    struct node_kube kube;
    int rc = 0;
    node_kube_view(told, pressure, &kube);
    kube.node_id = row->id;
    kube.is_made = row->kube.is_made;
    const char *role = node_role_words[kube.is_control_plane ? NODE_CONTROL_PLANE : NODE_WORKER];
    const bool is_role_other = kube.is_made && !str_eq(role, row->role);
    if (is_known && !is_role_other && members_same(node_kube_members, &row->kube, &kube))
        return 0;
    call->changed++;
    if (call->is_dry)
        return 0;
    if (is_role_other)
        rc = db_run(call->conn, "UPDATE nodes SET role = ? WHERE id = ?", DB_ARGS(db_text(role), db_text(row->id)), NULL, err);
    if (!rc && node_kube_is_other_machine(&kube, &row->kube, row->seen_bios_uuid))
        rc = kube_store_forget_seen(call, row->id, err);
    if (!rc && is_known)
        rc = kube_store_run_on_node(call, "DELETE FROM kube_nodes WHERE node_id = ?", row->id, err);
    return rc ? rc : kube_store_insert_told(call, &kube, err);
}

/* Both lists are in order of the name: walks them side by side. */
static int kube_store_merge(struct kube_saving *call, struct kube_rows *rows, struct err *err) {
    size_t at = 0, row = 0;
    int rc = 0;
    while (!rc && (at < call->nodes->count || row < rows->count)) {
        struct kube_row *stored = row < rows->count ? &rows->items[row] : NULL;
        const struct kube_node *told = at < call->nodes->count ? call->told[at] : NULL;
        const int order = !told ? -1 : !stored ? 1 : strcmp(stored->name, told->name);
        if (stored && order <= 0)
            rc = order ? kube_store_drop(call, stored, err) : kube_store_renew(call, stored, told, err);
        else
            rc = kube_store_make(call, told, err);
        row += order <= 0;
        at += order >= 0;
    }
    return rc;
}

#define KUBE_LOST_ROWS " FROM kube_nodes WHERE cluster_id = ? AND node_id NOT IN (SELECT id FROM nodes)"

/* What is left of nodes whose rows went without it: a program of the version before replaces lists of nodes. */
static int kube_store_purge_lost(struct kube_saving *call, struct err *err) {
    const struct db_args id = DB_ARGS(db_text(call->cluster_id));
    int64_t count = 0;
    int rc = db_query_number(call->conn, "SELECT COUNT(*)" KUBE_LOST_ROWS, id, &count, err);
    call->changed += (unsigned)count;
    return rc || !count || call->is_dry ? rc : db_run(call->conn, "DELETE" KUBE_LOST_ROWS, id, NULL, err);
}

static int kube_store_hold_cluster(const struct kube_saving *call, struct err *err) {
    const struct db_args id = DB_ARGS(db_text(call->cluster_id));
    int64_t count = 0;
    int rc = call->is_dry
                 ? db_query_number(call->conn, "SELECT COUNT(*) FROM kube_connections WHERE cluster_id = ?", id, &count, err)
                 : db_query_number(call->conn,
                                   "SELECT COUNT(*) FROM clusters c JOIN kube_connections k ON k.cluster_id = c.id"
                                   " WHERE c.id = ? FOR UPDATE",
                                   id, &count, err);
    return rc || count ? rc : err_set(err, ERR_NOT_FOUND, "there is no such connection");
}

static int kube_store_save_all(struct kube_saving *call, struct err *err) {
    struct kube_rows rows = {0};
    int rc = kube_store_hold_cluster(call, err);
    rc = rc ? rc : kube_store_purge_lost(call, err);
    rc = rc ? rc : kube_store_read_rows(call, &rows, err);
    rc = rc ? rc : kube_store_merge(call, &rows, err);
    kube_rows_done(&rows);
    return rc;
}

static int kube_store_run_save(struct store_tx *tx, void *arg, struct err *err) {
    struct kube_saving *call = arg;
    const struct cluster_room *room = call->is_fuller ? call->room : NULL; /* by the comparison before */
    call->conn = store_tx_conn(tx);
    call->changed = 0;
    if (call->is_dry)
        return kube_store_save_all(call, err);
    int rc = lease_tx_check(tx, call->fence, err);
    rc = rc ? rc : cluster_tx_begin_room(tx, room, err);
    rc = rc ? rc : kube_store_save_all(call, err);
    rc = rc ? rc : cluster_tx_check_room(tx, room, err);
    return rc || !call->changed ? rc : store_tx_note_change(tx, CHANGE_CLUSTER, call->cluster_id, err);
}

static int kube_store_compare_told(const void *a, const void *b) {
    return strcmp((*(const struct kube_node *const *)a)->name, (*(const struct kube_node *const *)b)->name);
}

int kube_store_save_nodes(struct store *store, const char *cluster_id, const struct kube_nodes *told,
                          const struct cluster_room *room, const struct lease_fence *fence, unsigned *changed, struct err *err) {
    struct kube_saving call = {.cluster_id = cluster_id, .nodes = told, .room = room, .fence = fence, .is_dry = true};
    if (told->count > KAAS_NODES_PER_CLUSTER_MAX)
        return err_set(err, ERR_INVENTORY_FULL, "the cluster has %zu nodes; up to %d are kept", told->count,
                       KAAS_NODES_PER_CLUSTER_MAX);
    call.told = calloc(told->count + 1, sizeof(*call.told));
    if (!call.told)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < told->count; i++)
        call.told[i] = &told->items[i];
    qsort(call.told, told->count, sizeof(*call.told), kube_store_compare_told);
    int rc = store_tx_snapshot(store, kube_store_run_save, &call, err);
    call.is_dry = false;
    if (!rc && call.changed)
        rc = store_tx(store, kube_store_run_save, &call, err);
    free(call.told);
    if (!rc)
        *changed = call.changed;
    return rc;
}
