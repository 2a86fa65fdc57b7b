/* Reading Kubernetes clusters (cluster_store.h): some hundred at once, by four queries joined in memory. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_store.h"
#include "cluster_tx.h"
#include "db_stmt.h"
#include "store_tx.h"
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

static void cluster_list_done(struct cluster_list *list) {
    for (size_t i = 0; i < list->count; i++)
        cluster_done(&list->items[i]);
    free(list->items);
    *list = (struct cluster_list){0};
}

#define CLUSTERS_AT_ONCE 500U /* the price of 100,000 nodes is then paid in small change */

struct cluster_reading {
    const char *id; /* NULL: all */
    const struct cluster_sink *sink;
    char after[UUID_TEXT_BYTES]; /* all clusters up to this one were given */
    struct cluster_list list;
    size_t at; /* where the rows of a list have come to: both sides are in order of the cluster's id */
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
    void *items = c->labels;
    struct label *label = db_list_add(&items, &c->labels_count, sizeof(*label));
    c->labels = items;
    if (!label)
        return err_set(err, ERR_NOMEM, "out of memory");
    label->key = db_row_dup(row, 1);
    label->value = db_row_dup(row, 2);
    return 0;
}

/* The texts of a row, borrowed: the record gets one block of memory, not one for each of 18 texts. */
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
    void *items = c->nodes;
    struct node *n = db_list_add(&items, &c->nodes_count, sizeof(*n));
    c->nodes = items;
    return n ? node_pack(&view, n, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* Runs a query for what belongs to the clusters of a list; its rows are in order of the cluster's id. */
static int load_part(struct store_tx *tx, struct cluster_reading *load, const char *sql, const char *kinds, db_row_fn *row,
                     struct err *err) {
    const struct cluster *first = load->list.items, *last = first + load->list.count - 1;
    load->at = 0;
    return db_query(
        store_tx_conn(tx),
        &(struct db_query){
            .sql = sql, .args = DB_ARGS(db_text(first->id), db_text(last->id)), .columns = kinds, .row = row, .arg = load},
        err);
}

static int load_nodes(struct store_tx *tx, struct cluster_reading *load, struct err *err) {
    char kinds[DB_COLUMNS_MAX + 1] = "t";
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, CLUSTER_SQL_BYTES_MAX);
    strbuf_adds(&sql, "SELECT n.cluster_id, ");
    db_members_columns(node_members, "n.", &sql, kinds);
    strbuf_adds(&sql, ", ");
    db_members_columns(observation_members, "o.", &sql, kinds);
    strbuf_adds(&sql, " FROM nodes n LEFT JOIN node_observations o ON o.node_id = n.id WHERE n.cluster_id BETWEEN ? AND ?"
                      " ORDER BY n.cluster_id, n.name");
    int rc = strbuf_check(&sql, "a statement", err);
    return rc ? rc : load_part(tx, load, sql.data, kinds, cluster_add_node, err);
}

static int load_parts(struct store_tx *tx, struct cluster_reading *load, struct err *err) {
    int rc;
    if (!load->list.count)
        return 0;
    rc = load_part(tx, load,
                   "SELECT cluster_id, vcenter_id, moref FROM cluster_placements WHERE cluster_id BETWEEN ? AND ?"
                   " ORDER BY cluster_id, vcenter_id, moref",
                   "ttt", add_placement, err);
    if (!rc)
        rc = load_part(tx, load,
                       "SELECT cluster_id, label_key, label_value FROM cluster_labels WHERE cluster_id BETWEEN ? AND ?"
                       " ORDER BY cluster_id, label_key",
                       "ttt", cluster_add_label, err);
    return rc ? rc : load_nodes(tx, load, err);
}

static int cluster_read_rows(struct store_tx *tx, struct cluster_reading *load, const char *rest, struct db_args args,
                             struct err *err) {
    struct db_records found = {0};
    int rc = db_table_query(store_tx_conn(tx), &cluster_table, rest, args, &found, err);
    load->list = (struct cluster_list){found.items, found.count};
    return rc ? rc : load_parts(tx, load, err);
}

/* The array grew by doubling; the record lives long. */
static void fit_nodes(struct cluster *c) {
    struct node *fit = c->nodes_count ? reallocarray(c->nodes, c->nodes_count, sizeof(*fit)) : NULL;
    c->nodes = fit ? fit : c->nodes;
}

/* Hands the records over, each in memory of its own. */
static int give(struct cluster_reading *load, struct err *err) {
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
    rc = rc ? rc : give(load, err);
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

static int add_time(const struct db_row *row, void *arg, struct err *err) {
    struct report_times *times = arg;
    void *items = times->items;
    struct report_time *item = db_list_add(&items, &times->count, sizeof(*item));
    times->items = items;
    if (!item)
        return err_set(err, ERR_NOMEM, "out of memory");
    db_row_copy(row, 0, item->cluster_id, sizeof(item->cluster_id));
    item->at_ms = db_row_number(row, 1);
    return 0;
}

struct load_times {
    int64_t since_ms;
    struct report_times list;
};

static int load_times(struct db_conn *conn, void *arg, struct err *err) {
    struct load_times *call = arg;
    report_times_done(&call->list);
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT id, reported_at_ms FROM clusters WHERE reported_at_ms >= ? ORDER BY id",
                                       .args = DB_ARGS(db_number(call->since_ms)),
                                       .columns = "ti",
                                       .row = add_time,
                                       .arg = &call->list},
                    err);
}

void report_times_done(struct report_times *times) {
    if (!times)
        return;
    free(times->items);
    *times = (struct report_times){0};
}

int cluster_store_list_report_times(struct store *store, int64_t since_ms, struct report_times *out, struct err *err) {
    struct load_times call = {.since_ms = since_ms};
    int rc = store_read(store, load_times, &call, err);
    if (rc)
        report_times_done(&call.list);
    else
        *out = call.list;
    return rc;
}
