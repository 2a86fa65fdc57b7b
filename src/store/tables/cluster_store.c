/* Kubernetes clusters: read some hundred at once by six queries joined in memory, written with their nodes. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "cluster_tx.h"
#include "kube_facts.h"
#include "names.h"
#include "record_tx.h"
#include "str.h"
#include "uuid.h"

#define CLUSTER_SQL_BYTES_MAX 4096

static void cluster_record_done(void *record) {
    cluster_done(record);
}

const struct db_table cluster_table = {.name = "clusters",
                                       .noun = "cluster",
                                       .members = cluster_members,
                                       .bytes = sizeof(struct cluster),
                                       .done = cluster_record_done};
const struct db_table node_table = {.name = "nodes", .noun = "node", .members = node_members, .bytes = sizeof(struct node)};
const struct db_table observation_table = {
    .name = "node_observations", .noun = "node", .members = observation_members, .bytes = sizeof(struct node_observation)};

struct cluster_list {
    struct cluster *items; /* by id */
    size_t count;
};

static DB_LIST_DEFINE(cluster_list, cluster_done);

#define CLUSTERS_AT_ONCE 500U /* the price of 100,000 nodes is then paid in small change */

struct cluster_reading {
    const char *id; /* NULL: all */
    const struct cluster_sink *sink;
    char after[UUID_TEXT_BYTES]; /* all clusters up to this one were given */
    struct cluster_list list;
    struct db_records kube; /* what Kubernetes tells of their nodes, by node_id: few clusters are connected, so no join */
    size_t at;              /* where the rows of a list have come to: both sides are in order of the cluster's id */
};

/* The cluster that this row belongs to. NULL only if the snapshot held a row without its cluster, which the foreign key forbids. */
static struct cluster *find_owner(struct cluster_reading *load, const struct db_row *row) {
    const char *id = db_row_text(row, 0);
    while (load->at < load->list.count && strcmp(load->list.items[load->at].id, id) < 0)
        load->at++;
    if (load->at == load->list.count || strcmp(load->list.items[load->at].id, id))
        return NULL;
    return &load->list.items[load->at];
}

static int add_placement(const struct db_row *row, void *arg, struct err *err) {
    struct cluster *c = find_owner(arg, row);
    struct object_ref ref;
    if (!c)
        return 0;
    int rc = object_ref_make(db_row_text(row, 1), db_row_text(row, 2), &ref, err);
    return rc ? rc : object_set_add(&c->placement, &ref, err);
}

static int cluster_add_label(const struct db_row *row, void *arg, struct err *err) {
    struct cluster *c = find_owner(arg, row);
    if (!c)
        return 0;
    struct label *label = db_list_add(&c->labels, &c->labels_count, sizeof(*label), err);
    if (!label)
        return ERR_NOMEM;
    label->key = db_row_dup(row, 1);
    label->value = db_row_dup(row, 2);
    return 0;
}

static int cluster_compare_kube(const void *id, const void *kube) {
    return strcmp(id, ((const struct node_kube *)kube)->node_id);
}

static struct node_kube *cluster_find_kube(const struct cluster_reading *load, const char *node_id) {
    return load->kube.count ? bsearch(node_id, load->kube.items, load->kube.count, sizeof(struct node_kube), cluster_compare_kube)
                            : NULL;
}

/* The texts of a row, borrowed: the record gets one block of memory, not one for each of 26 texts. */
static int cluster_add_node(const struct db_row *row, void *arg, struct err *err) {
    struct cluster *c = find_owner(arg, row);
    struct node_observation seen = {0};
    struct node view = {0};
    size_t at = 1;
    if (!c)
        return 0;
    int rc = db_members_read(row, &at, &node_table, true, &view, err);
    rc = rc ? rc : db_members_read(row, &at, &observation_table, true, &seen, err);
    if (rc)
        return rc;
    if (seen.node_id)
        view.seen = &seen;
    view.kube = cluster_find_kube(arg, view.id);
    struct node *n = db_list_add(&c->nodes, &c->nodes_count, sizeof(*n), err);
    return n ? node_pack(&view, n, err) : ERR_NOMEM;
}

static const struct db_table cluster_kube_table = {
    .name = "kube_statuses", .noun = "connection", .members = cluster_kube_members, .bytes = sizeof(struct cluster_kube)};

static int cluster_add_kube(const struct db_row *row, void *arg, struct err *err) {
    struct cluster *c = find_owner(arg, row);
    size_t at = 1;
    if (!c)
        return 0;
    c->kube = calloc(1, sizeof(*c->kube));
    return c->kube ? db_members_read(row, &at, &cluster_kube_table, false, c->kube, err)
                   : err_set(err, ERR_NOMEM, "out of memory");
}

/* Runs a query for what belongs to the clusters of a list; its rows are in order of the cluster's id. */
static int cluster_store_load_part(struct store_tx *tx, struct cluster_reading *load, const char *sql, const char *kinds,
                                   db_row_fn *row, struct err *err) {
    const struct cluster *first = load->list.items, *last = first + load->list.count - 1;
    load->at = 0;
    return db_query(store_tx_conn(tx), sql, DB_ARGS(db_text(first->id), db_text(last->id)), kinds, row, load, err);
}

static int cluster_read_told(struct store_tx *tx, struct cluster_reading *load, struct err *err) {
    const struct cluster *first = load->list.items, *last = first + load->list.count - 1;
    return db_table_query(store_tx_conn(tx), &node_kube_table, " WHERE cluster_id BETWEEN ? AND ? ORDER BY node_id",
                          DB_ARGS(db_text(first->id), db_text(last->id)), &load->kube, err);
}

static int cluster_read_kube(struct store_tx *tx, struct cluster_reading *load, struct err *err) {
    char kinds[DB_COLUMNS_MAX + 1] = "t";
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, CLUSTER_SQL_BYTES_MAX);
    strbuf_adds(&sql, "SELECT cluster_id, ");
    db_members_columns(cluster_kube_members, "", &sql, kinds);
    strbuf_adds(&sql, " FROM kube_statuses WHERE cluster_id BETWEEN ? AND ? ORDER BY cluster_id");
    int rc = strbuf_check(&sql, "a statement", err);
    return rc ? rc : cluster_store_load_part(tx, load, sql.data, kinds, cluster_add_kube, err);
}

static int cluster_read_rows(struct store_tx *tx, struct cluster_reading *load, const char *rest, struct db_args args,
                             struct err *err) {
    struct db_records found = {0};
    char kinds[DB_COLUMNS_MAX + 1] = "t";
    _cleanup_strbuf_ struct strbuf sql;
    int rc = db_table_query(store_tx_conn(tx), &cluster_table, rest, args, &found, err);
    load->list = (struct cluster_list){found.items, found.count};
    strbuf_init(&sql, CLUSTER_SQL_BYTES_MAX);
    if (rc || !found.count)
        return rc;
    rc = cluster_store_load_part(tx, load,
                                 "SELECT cluster_id, vcenter_id, moref FROM cluster_placements WHERE cluster_id BETWEEN ? AND ?"
                                 " ORDER BY cluster_id, vcenter_id, moref",
                                 "ttt", add_placement, err);
    rc = rc ? rc
            : cluster_store_load_part(
                  tx, load,
                  "SELECT cluster_id, label_key, label_value FROM cluster_labels WHERE cluster_id BETWEEN ? AND ?"
                  " ORDER BY cluster_id, label_key",
                  "ttt", cluster_add_label, err);
    strbuf_adds(&sql, "SELECT n.cluster_id, ");
    db_members_columns(node_members, "n.", &sql, kinds);
    strbuf_adds(&sql, ", ");
    db_members_columns(observation_members, "o.", &sql, kinds);
    strbuf_adds(&sql, " FROM nodes n LEFT JOIN node_observations o ON o.node_id = n.id WHERE n.cluster_id BETWEEN ? AND ?"
                      " ORDER BY n.cluster_id, n.name");
    rc = rc ? rc : cluster_read_told(tx, load, err);
    rc = rc ? rc : strbuf_check(&sql, "a statement", err);
    rc = rc ? rc : cluster_store_load_part(tx, load, sql.data, kinds, cluster_add_node, err);
    db_records_done(&node_kube_table, &load->kube);
    return rc ? rc : cluster_read_kube(tx, load, err);
}

/* The array grew by doubling; the record lives long. */
static void fit_nodes(struct cluster *c) {
    struct node *fit = c->nodes_count ? reallocarray(c->nodes, c->nodes_count, sizeof(*fit)) : NULL;
    c->nodes = fit ? fit : c->nodes;
}

/* Hands the records over, each in memory of its own. */
static int cluster_store_give(struct cluster_reading *load, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < load->list.count && !rc; i++) {
        struct cluster *record = malloc(sizeof(*record));
        if (!record)
            return err_set(err, ERR_NOMEM, "out of memory");
        *record = load->list.items[i];
        fit_nodes(record);
        memset(&load->list.items[i], 0, sizeof(load->list.items[i]));
        rc = load->sink->take(load->sink->arg, record, err);
    }
    return rc;
}

#define HEAP_STEP_BYTES (120U * 1024U) /* below the size that malloc maps for itself */
#define HEAP_STEPS 32U                 /* what some hundred clusters with five nodes each need */

/* glibc grows the heap of a thread by one page at a time, each by an mprotect(2), a tenth of the time of a large load; what was grown once
 * stays accessible. Freed in this order the pieces become one with the rest at the last of them. */
static void widen_heap(void) {
    void *pieces[HEAP_STEPS];
    for (size_t i = 0; i < HEAP_STEPS; i++)
        pieces[i] = malloc(HEAP_STEP_BYTES);
    for (size_t i = 0; i < HEAP_STEPS; i++)
        free(pieces[i]);
}

static int cluster_read_some(struct store_tx *tx, struct cluster_reading *load, bool *is_end, struct err *err) {
    int rc;
    widen_heap();
    rc = cluster_read_rows(tx, load, " WHERE id > ? ORDER BY id LIMIT ?",
                           DB_ARGS(db_text(load->after), db_number(CLUSTERS_AT_ONCE)), err);
    *is_end = load->list.count < CLUSTERS_AT_ONCE;
    if (!rc && load->list.count)
        (void)snprintf(load->after, sizeof(load->after), "%s", load->list.items[load->list.count - 1].id);
    rc = rc ? rc : cluster_store_give(load, err);
    cluster_list_done(&load->list);
    return rc;
}

static int cluster_read_all(struct store_tx *tx, void *arg, struct err *err) {
    struct cluster_reading *load = arg;
    bool is_end = false;
    int rc = 0;
    load->after[0] = 0;
    load->sink->begin(load->sink->arg);
    while (!rc && !is_end)
        rc = cluster_read_some(tx, load, &is_end, err);
    return rc;
}

int cluster_store_each(struct store *store, const struct cluster_sink *sink, struct err *err) {
    struct cluster_reading load = {.sink = sink};
    return store_tx_snapshot(store, cluster_read_all, &load, err);
}

static int cluster_read_one(struct store_tx *tx, void *arg, struct err *err) {
    struct cluster_reading *load = arg;
    cluster_list_done(&load->list);
    return cluster_read_rows(tx, load, " WHERE id = ?", DB_ARGS(db_text(load->id)), err);
}

int cluster_store_load(struct store *store, const char *id, struct cluster **out, struct err *err) {
    struct cluster_reading load = {.id = id};
    int rc = store_tx_snapshot(store, cluster_read_one, &load, err);
    if (!rc && !load.list.count)
        rc = err_set(err, ERR_NOT_FOUND, "there is no such cluster");
    if (rc)
        cluster_list_done(&load.list);
    else
        *out = load.list.items; /* an array of one is one */
    return rc;
}

DB_LIST_DEFINE(report_times, (void));

int cluster_store_list_report_times(struct store *store, int64_t since_ms, struct report_times *out, struct err *err) {
    static const struct member members[] = {
        MEMBER_AS(report_time, cluster_id, "id", NULL),
        MEMBER_AS(report_time, at_ms, "reported_at_ms", NULL),
        MEMBERS_END,
    };
    static const struct db_table table = {
        .name = "clusters", .noun = "cluster", .members = members, .bytes = sizeof(struct report_time)};
    return db_table_list(store, &table, " WHERE reported_at_ms >= ? ORDER BY id", DB_ARGS(db_number(since_ms)), &out->items,
                         &out->count, err);
}

/* -- nodes, as part of writing their cluster ------------------------------------------------------------ */

/* ERR_EXISTS if a name is there twice, or a virtual machine belongs to another node. */
static int insert_node(struct db_conn *conn, const char *cluster_id, const struct node *n, struct err *err) {
    int rc = db_table_insert(conn, &node_table, n, DB_MORE({"cluster_id", db_text(cluster_id), NULL}), err);
    if (str_eq(conn->last_key, "nodes_vm"))
        return db_explain(rc, ERR_EXISTS, err, "the virtual machine of node \"%s\" belongs to another node already", n->name);
    return db_explain(rc, ERR_EXISTS, err, "the node \"%s\" is there twice", n->name);
}

static const struct node *node_find_by_id(const struct node *nodes, size_t count, const char *id) {
    for (size_t i = 0; i < count; i++)
        if (str_eq(nodes[i].id, id))
            return &nodes[i];
    return NULL;
}

/* A node as stored, and what Kubernetes has to do with it. */
struct stored_node {
    struct node node;
    enum { NODE_UNTOLD, NODE_TOLD, NODE_MADE } told; /* it has told nothing of it; it has it; nobody but it has ever named it */
};

static int node_read_told(const struct db_row *row, size_t first, void *record, struct err *err) {
    struct stored_node *stored = record;
    (void)err;
    stored->told = (unsigned)db_row_number(row, first);
    return 0;
}

static const struct db_table stored_node_table = {
    .name = "nodes",
    .noun = "node",
    .members = node_members,
    .bytes = sizeof(struct stored_node),
    .more = ", COALESCE((SELECT IF(k.is_made, 2, 1) FROM kube_nodes k WHERE k.node_id = nodes.id), 0)",
    .more_kinds = "i",
    .read_more = node_read_told};

static const struct stored_node *node_find_stored(const struct db_records *stored, const char *id) {
    const struct stored_node *items = stored->items;
    for (size_t i = 0; i < stored->count; i++)
        if (str_eq(items[i].node.id, id))
            return &items[i];
    return NULL;
}

/* Nodes as they are to be stored: borrowed from `c`, but one that is new there and has the name of one that Kubernetes tells is that one. NULL: no memory. */
static struct node *node_list_wanted(const struct cluster *c, const struct db_records *before) {
    const struct stored_node *stored = before->items;
    struct node *wanted = calloc(c->nodes_count + 1, sizeof(*wanted));
    for (size_t i = 0; wanted && i < c->nodes_count; i++) {
        wanted[i] = c->nodes[i];
        if (node_find_stored(before, wanted[i].id))
            continue;
        for (size_t k = 0; k < before->count; k++)
            if (stored[k].told != NODE_UNTOLD && str_eq(stored[k].node.name, wanted[i].name))
                wanted[i].id = stored[k].node.id;
    }
    return wanted;
}

static int node_forget_seen(struct db_conn *conn, const char *id, struct err *err) {
    return db_run(conn, "DELETE FROM node_observations WHERE node_id = ?", DB_ARGS(db_text(id)), NULL, err);
}

/* A node that is no longer declared, but that Kubernetes has: it stays, as one that the connection has made. */
static int node_undeclare(struct db_conn *conn, const struct stored_node *stored, struct err *err) {
    const struct node bare = {.id = stored->node.id, .name = stored->node.name, .role = stored->node.role};
    const struct db_args id = DB_ARGS(db_text(bare.id));
    int rc = 0;
    if (stored->told == NODE_MADE)
        return 0;
    if (!node_same_identity(&stored->node, &bare))
        rc = node_forget_seen(conn, bare.id, err);
    rc = rc ? rc
            : db_run(conn,
                     "UPDATE nodes SET vcenter_id = NULL, vm_instance_uuid = NULL, vm_bios_uuid = NULL, vm_name = NULL,"
                     " kubernetes_version = NULL, address = NULL WHERE id = ?",
                     id, NULL, err);
    return rc ? rc : db_run(conn, "UPDATE kube_nodes SET is_made = 1 WHERE node_id = ?", id, NULL, err);
}

/* Takes a stored row away unless it is to stay as it is; wanted NULL: it is not in the list any more. */
static int node_clear(struct db_conn *conn, const struct stored_node *stored, const struct node *wanted, struct err *err) {
    const struct db_args id = DB_ARGS(db_text(stored->node.id));
    int rc = 0;
    if (wanted && members_same(node_members, &stored->node, wanted))
        return 0;
    if (!wanted && stored->told != NODE_UNTOLD)
        return node_undeclare(conn, stored, err);
    if (!wanted || !node_same_identity(&stored->node, wanted))
        rc = node_forget_seen(conn, stored->node.id, err);
    if (!rc && stored->told == NODE_MADE) /* somebody declares it from now on */
        rc = db_run(conn, "UPDATE kube_nodes SET is_made = 0 WHERE node_id = ?", id, NULL, err);
    return rc ? rc : db_run(conn, "DELETE FROM nodes WHERE id = ?", id, NULL, err);
}

/* Makes the declared nodes of a cluster those of `c`, writing only what differs; what Kubernetes has stays. What is seen of a node is forgotten with the
 * node, and when another virtual machine is declared. Errors as above. */
static int node_replace(struct db_conn *conn, const struct cluster *c, struct err *err) {
    struct db_records before = {0};
    int rc =
        db_table_query(conn, &stored_node_table, " WHERE cluster_id = ? ORDER BY name", DB_ARGS(db_text(c->id)), &before, err);
    const struct stored_node *stored = before.items;
    _cleanup_free_ struct node *wanted = rc ? NULL : node_list_wanted(c, &before);
    if (!rc && !wanted)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    /* rows that change are removed first and written anew, so that nodes may swap names or virtual machines */
    for (size_t i = 0; i < before.count && !rc; i++)
        rc = node_clear(conn, &stored[i], node_find_by_id(wanted, c->nodes_count, stored[i].node.id), err);
    for (size_t i = 0; i < c->nodes_count && !rc; i++) {
        const struct stored_node *was = node_find_stored(&before, wanted[i].id);
        if (!was || !members_same(node_members, &was->node, &wanted[i]))
            rc = insert_node(conn, c->id, &wanted[i], err);
    }
    db_records_done(&stored_node_table, &before);
    return rc;
}

/* -- is there room for what a transaction writes? ------------------------------------------------------------------ */

/* Counts of one attempt of a transaction; begins all-zero. */
struct room_count {
    const struct cluster_room *room; /* NULL: nothing is counted */
    bool is_counted;
    int64_t clusters, nodes; /* at most so many, with what this transaction has written */
};

/* More than the caps would be refused by every replica when it reads it, and their lists would age. Counting takes some milliseconds, so it
 * is done once for a transaction, and only by those who know that it is close. */

/* Lets only one transaction that counts go ahead at a time, so that of two on different replicas the second sees what the first wrote. To
 * be called before anything is written. */
static int room_begin(struct store_tx *tx, const struct cluster_room *room, struct room_count *out, struct err *err) {
    *out = (struct room_count){.room = room};
    return room ? store_tx_lock(tx, "room for clusters", err) : 0;
}

static int room_count_all(struct store_tx *tx, struct room_count *count, struct err *err) {
    count->is_counted = true;
    return db_query_row(store_tx_conn(tx), "SELECT (SELECT COUNT(*) FROM clusters), (SELECT COUNT(*) FROM nodes)", DB_ARGS_NONE,
                        DB_INTO(DB_TO(count->clusters), DB_TO(count->nodes)), NULL, err);
}

static bool has_room(const struct room_count *count) {
    return count->clusters <= (int64_t)count->room->clusters_max && count->nodes <= (int64_t)count->room->nodes_max;
}

/* Counts a cluster that has just been written, new or with new nodes. ERR_INVENTORY_FULL if it is one too many: it must be taken back then. */
static int room_check(struct store_tx *tx, struct room_count *count, const struct cluster *c, bool is_new, struct err *err) {
    const bool is_first = !count->is_counted;
    int rc = 0;
    if (!count->room)
        return 0;
    if (is_first)
        rc = room_count_all(tx, count, err);
    else {
        count->clusters += is_new;
        count->nodes += (int64_t)c->nodes_count; /* of a change those that were there before are in it twice */
    }
    if (!rc && !is_first && !has_room(count))
        rc = room_count_all(tx, count, err);
    if (rc || has_room(count))
        return rc;
    const bool is_nodes = count->clusters <= (int64_t)count->room->clusters_max;
    (void)err_set(err, ERR_INVENTORY_FULL, "the inventory is full: it holds at most %zu %s",
                  is_nodes ? count->room->nodes_max : count->room->clusters_max, is_nodes ? "nodes" : "Kubernetes clusters");
    (void)err_remedy(err, "remove clusters that are no more");
    count->clusters -= is_new;
    count->nodes -= (int64_t)c->nodes_count;
    count->is_counted = is_new; /* what a change takes back is not known */
    return ERR_INVENTORY_FULL;
}

/* -- writing ----------------------------------------------------- */

#define REPORTS_PER_TX 500U /* rows locked at once */

struct cluster_write {
    const struct cluster *cluster;
    bool is_change;
    unsigned parts;
    struct cluster_writing with;
};

static int insert_placement(struct db_conn *conn, const struct cluster *c, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < c->placement.count && !rc; i++) {
        const struct object_ref *ref = &c->placement.items[i];
        rc = db_run(conn, "INSERT INTO cluster_placements (cluster_id, vcenter_id, moref) VALUES (?, ?, ?)",
                    DB_ARGS(db_text(c->id), db_text(ref->vcenter_id), db_text(ref->moref)), NULL, err);
        db_explain(rc, ERR_CONFLICT, err, "there is no vSphere cluster %s on vCenter %s", ref->moref, ref->vcenter_id);
        db_explain(rc, ERR_EXISTS, err, "the vSphere cluster %s is in the placement twice", ref->moref);
    }
    return rc;
}

static int insert_labels(struct db_conn *conn, const struct cluster *c, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < c->labels_count && !rc; i++) {
        rc = db_run(conn, "INSERT INTO cluster_labels (cluster_id, label_key, label_value) VALUES (?, ?, ?)",
                    DB_ARGS(db_text(c->id), db_text(c->labels[i].key), db_text(c->labels[i].value)), NULL, err);
        db_explain(rc, ERR_EXISTS, err, "the label \"%s\" is there twice", c->labels[i].key);
    }
    return rc;
}

/* Writes the rows of a new cluster, or of a change the row of the cluster and the lists in `parts`. After an error rows may be left that the caller has to
 * take back. */
static int cluster_write_rows(struct store_tx *tx, const struct cluster *c, bool is_change, unsigned parts, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    const struct db_args id = DB_ARGS(db_text(c->id));
    int rc = is_change ? db_table_update(conn, &cluster_table, c, DB_MORE_NONE, err)
                       : db_table_insert(conn, &cluster_table, c, DB_MORE_NONE, err);
    if (str_eq(conn->last_key, "clusters_name"))
        db_explain(rc, ERR_EXISTS, err, "a cluster named \"%s\" exists already", c->name);
    else
        db_explain(rc, ERR_EXISTS, err, "a cluster with id %s exists already", c->id);
    if (!rc && is_change && (parts & CLUSTER_PART_PLACEMENT))
        rc = db_run(conn, "DELETE FROM cluster_placements WHERE cluster_id = ?", id, NULL, err);
    if (!rc && (parts & CLUSTER_PART_PLACEMENT))
        rc = insert_placement(conn, c, err);
    if (!rc && is_change && (parts & CLUSTER_PART_LABELS))
        rc = db_run(conn, "DELETE FROM cluster_labels WHERE cluster_id = ?", id, NULL, err);
    if (!rc && (parts & CLUSTER_PART_LABELS))
        rc = insert_labels(conn, c, err);
    if (!rc && is_change && (parts & CLUSTER_PART_NODES))
        rc = node_replace(conn, c, err);
    for (size_t i = 0; !is_change && i < c->nodes_count && !rc; i++)
        rc = insert_node(conn, c->id, &c->nodes[i], err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_CLUSTER, c->id, err);
}

int cluster_tx_insert(struct store_tx *tx, const struct cluster *c, const struct cluster_room *room, struct err *err) {
    struct room_count count;
    int rc = room_begin(tx, room, &count, err);
    rc = rc ? rc : cluster_write_rows(tx, c, false, CLUSTER_PART_ALL, err);
    return rc ? rc : room_check(tx, &count, c, true, err);
}

int cluster_tx_begin_room(struct store_tx *tx, const struct cluster_room *room, struct err *err) {
    struct room_count count;
    return room_begin(tx, room, &count, err);
}

int cluster_tx_check_room(struct store_tx *tx, const struct cluster_room *room, struct err *err) {
    const struct cluster nothing_new = {.nodes_count = 0};
    struct room_count count = {.room = room};
    return room_check(tx, &count, &nothing_new, false, err);
}

static int cluster_write(struct store_tx *tx, void *arg, struct err *err) {
    const struct cluster_write *call = arg;
    struct room_count count;
    int rc = room_begin(tx, call->with.room, &count, err);
    rc = rc ? rc : cluster_write_rows(tx, call->cluster, call->is_change, call->parts, err);
    rc = rc ? rc : room_check(tx, &count, call->cluster, !call->is_change, err);
    return rc ? rc : audit_tx_append(tx, call->with.audit, 1, err);
}

int cluster_store_insert(struct store *store, const struct cluster *c, const struct cluster_writing *with, struct err *err) {
    struct cluster_write call = {.cluster = c, .parts = CLUSTER_PART_ALL};
    if (with)
        call.with = *with;
    return store_tx(store, cluster_write, &call, err);
}

int cluster_store_update(struct store *store, const struct cluster *c, unsigned parts, const struct cluster_writing *with,
                         struct err *err) {
    struct cluster_write call = {.cluster = c, .is_change = true, .parts = parts};
    if (with)
        call.with = *with;
    return store_tx(store, cluster_write, &call, err);
}

struct cluster_removal {
    const char *id;
    int64_t version_no;
    const struct audit_record *audit;
};

/* What was made in the Kubernetes cluster is to be taken back first. */
static int cluster_check_disconnected(struct store_tx *tx, const char *id, struct err *err) {
    char *name = NULL;
    int rc = db_query_row(store_tx_conn(tx),
                          "SELECT c.name FROM clusters c JOIN kube_connections k ON k.cluster_id = c.id WHERE c.id = ?",
                          DB_ARGS(db_text(id)), DB_INTO(DB_TO(name)), NULL, err);
    if (!rc && name) {
        rc = err_set(err, ERR_CONFLICT, "the cluster \"%s\" is connected", name);
        (void)err_remedy(err, "disconnect it first: kaasctl cluster disconnect %s", name_quote(name).text);
    }
    free(name);
    return rc;
}

/* Its machines would go on without anybody who knows of them. */
static int cluster_check_not_made(struct store_tx *tx, const char *id, struct err *err) {
    char *name = NULL;
    int rc = db_query_row(store_tx_conn(tx),
                          "SELECT c.name FROM clusters c JOIN made_clusters m ON m.cluster_id = c.id WHERE c.id = ?",
                          DB_ARGS(db_text(id)), DB_INTO(DB_TO(name)), NULL, err);
    if (!rc && name) {
        rc = err_set(err, ERR_CONFLICT, "the cluster \"%s\" was made by kaasd, and its machines are there", name);
        (void)err_remedy(err, "delete it with them: kaasctl cluster delete %s", name_quote(name).text);
    }
    free(name);
    return rc;
}

static int remove_cluster(struct store_tx *tx, void *arg, struct err *err) {
    const struct cluster_removal *call = arg;
    const struct db_args id = DB_ARGS(db_text(call->id));
    /* the rows of the lists and the grants go with it (ON DELETE CASCADE); what is seen of nodes does not */
    int rc = cluster_check_not_made(tx, call->id, err);
    rc = rc ? rc : cluster_check_disconnected(tx, call->id, err);
    rc = rc ? rc : audit_tx_append(tx, call->audit, 1, err); /* as long as it has a name */
    rc = rc ? rc : store_tx_note_rows(tx, CHANGE_GRANT, "SELECT id FROM grants WHERE cluster_id = ?", id, err);
    rc = rc ? rc
            : db_run(store_tx_conn(tx),
                     "DELETE o FROM node_observations o JOIN nodes n ON n.id = o.node_id WHERE n.cluster_id = ?", id, NULL, err);
    rc = rc ? rc : db_table_delete(store_tx_conn(tx), &cluster_table, call->id, call->version_no, err);
    return rc ? rc : record_tx_end(tx, CHANGE_CLUSTER, call->id, NULL, err);
}

int cluster_store_delete(struct store *store, const char *id, int64_t version_no, const struct audit_record *audit,
                         struct err *err) {
    struct cluster_removal call = {id, version_no, audit};
    return store_tx(store, remove_cluster, &call, err);
}

struct report_save {
    const struct report_time *items;
    size_t count;
    bool is_noted;
};

static int save_times(struct store_tx *tx, void *arg, struct err *err) {
    const struct report_save *call = arg;
    int rc = 0;
    for (size_t i = 0; i < call->count && !rc; i++) {
        const struct report_time *item = &call->items[i];
        uint64_t met = 0;
        rc = db_run(store_tx_conn(tx), "UPDATE clusters SET reported_at_ms = ? WHERE id = ? AND reported_at_ms < ?",
                    DB_ARGS(db_number(item->at_ms), db_text(item->cluster_id), db_number(item->at_ms)), &met, err);
        if (!rc && met && call->is_noted)
            rc = store_tx_note_change(tx, CHANGE_CLUSTER, item->cluster_id, err);
    }
    return rc;
}

int cluster_store_save_report_times(struct store *store, const struct report_time *items, size_t count, bool is_noted,
                                    struct err *err) {
    int rc = 0;
    for (size_t at = 0; at < count && !rc; at += REPORTS_PER_TX) {
        struct report_save call = {items + at, count - at < REPORTS_PER_TX ? count - at : REPORTS_PER_TX, is_noted};
        rc = store_tx(store, save_times, &call, err);
    }
    return rc;
}

/* -- writing many in one transaction ----------------------------------------------------------- */

/* What lies with the item, and not with the database or the transaction, which may be run again. */
static bool cluster_store_is_of_item(int code) {
    return code == ERR_EXISTS || code == ERR_CONFLICT || code == ERR_NOT_FOUND || code == ERR_PRECONDITION ||
           code == ERR_UNPROCESSABLE || code == ERR_INVENTORY_FULL;
}

/* A cluster is several rows: the savepoint takes all of them back. */
static int cluster_store_write_item(struct store_tx *tx, struct cluster_batch_item *item, struct room_count *count,
                                    struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    const unsigned parts = item->is_change ? item->parts : CLUSTER_PART_ALL;
    struct err why = {0};
    int rc = db_conn_exec(conn, "SAVEPOINT item", err);
    if (rc)
        return rc;
    rc = cluster_write_rows(tx, item->cluster, item->is_change, parts, &why);
    if (!rc && (parts & CLUSTER_PART_NODES))
        rc = room_check(tx, count, item->cluster, !item->is_change, &why);
    if (rc && !cluster_store_is_of_item(rc))
        return err_move(err, rc, &why);
    item->err = why;
    return rc ? db_conn_exec(conn, "ROLLBACK TO SAVEPOINT item", err) : 0;
}

/* The lines of those that were written, in one go: the row that numbers them is locked until the end. */
static int append_audit(struct store_tx *tx, const struct cluster_batch *batch, struct err *err) {
    _cleanup_free_ struct audit_record *records = calloc(batch->count + 1, sizeof(*records));
    size_t count = 0;
    if (!records)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->items[i].err.code && !batch->items[i].is_skipped && batch->items[i].audit.event.action)
            records[count++] = batch->items[i].audit;
    return audit_tx_append(tx, records, count, err);
}

static int write_items(struct store_tx *tx, void *arg, struct err *err) {
    const struct cluster_batch *batch = arg;
    struct room_count count;
    bool is_full = false;
    int rc = room_begin(tx, batch->room, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < batch->count; i++) { /* of the attempt before */
        err_clear(&batch->items[i].err);
        batch->items[i].is_skipped = false;
    }
    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i].is_skipped = is_full;
        rc = is_full ? 0 : cluster_store_write_item(tx, &batch->items[i], &count, err);
        if (rc)
            return rc;
        if (batch->is_atomic && batch->items[i].err.code)
            return batch->items[i].err.code;
        is_full |= batch->items[i].err.code == ERR_INVENTORY_FULL;
    }
    return append_audit(tx, batch, err);
}

static bool cluster_store_has_failed_item(const struct cluster_batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].err.code)
            return true;
    return false;
}

int cluster_store_write_batch(struct store *store, const struct cluster_batch *given, struct err *err) {
    struct cluster_batch batch = *given;
    struct err why = {0};
    int rc = store_tx(store, write_items, &batch, &why);
    if (rc && cluster_store_is_of_item(rc) && batch.is_atomic && cluster_store_has_failed_item(&batch))
        return 0;
    return err_move(err, rc, &why);
}
