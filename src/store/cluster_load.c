/* Reading Kubernetes clusters (cluster_store.h): some hundred at once, by four queries joined in memory. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_store.h"
#include "db_stmt.h"
#include "observation_row.h"
#include "store_tx.h"
#include "uuid.h"

#define SELECT_CLUSTER                                                                                                                       \
    "SELECT id, name, description, state, state_reason, state_source, kubernetes_version, api_endpoint, dashboard_url, control_plane_ready," \
    " control_plane_desired, workers_ready, workers_desired, placement_source, created_at_ms, updated_at_ms, observed_at_ms, version_no,"    \
    " reported_state, reported_reason, reported_by, reported_at_ms FROM clusters"
#define CLUSTER_KINDS "tttttttttiiiitiiiittti"
#define SELECT_PLACEMENT "SELECT cluster_id, vcenter_id, moref FROM cluster_placements"
#define ORDER_PLACEMENT " ORDER BY cluster_id, vcenter_id, moref"
#define PLACEMENT_KINDS "ttt"
#define SELECT_LABEL "SELECT cluster_id, label_key, label_value FROM cluster_labels"
#define ORDER_LABEL " ORDER BY cluster_id, label_key"
#define LABEL_KINDS "ttt"
#define SELECT_NODE                                                                                                                                                 \
    "SELECT n.cluster_id, n.id, n.name, n.role, n.vcenter_id, n.vm_instance_uuid, n.vm_bios_uuid, n.vm_name, n.kubernetes_version, n.address, " OBSERVATION_COLUMNS \
    " FROM nodes n LEFT JOIN node_observations o ON o.node_id = n.id"
#define ORDER_NODE " ORDER BY n.cluster_id, n.name"
#define NODE_COLUMNS_COUNT 10
#define NODE_KINDS "tttttttttt" OBSERVATION_KINDS

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

struct load {
    const char *id; /* NULL: all */
    const struct cluster_sink *sink;
    char after[UUID_TEXT_BYTES]; /* all clusters up to this one were given */
    struct cluster_list list;
    size_t at; /* where the rows of a list have come to: both sides are in order of the cluster's id */
};

static void read_texts(const struct db_row *row, struct cluster *c) {
    c->id = db_row_dup(row, 0);
    c->name = db_row_dup(row, 1);
    c->description = db_row_dup(row, 2);
    c->state_reason = db_row_dup(row, 4);
    c->state_source = db_row_dup(row, 5);
    c->kubernetes_version = db_row_dup(row, 6);
    c->api_endpoint = db_row_dup(row, 7);
    c->dashboard_url = db_row_dup(row, 8);
    c->placement_source = db_row_dup(row, 13);
    c->reported_reason = db_row_dup(row, 19);
    c->reported_by = db_row_dup(row, 20);
}

static void read_numbers(const struct db_row *row, struct cluster *c) {
    c->control_plane_ready = (int)db_row_number(row, 9);
    c->control_plane_desired = (int)db_row_number(row, 10);
    c->workers_ready = (int)db_row_number(row, 11);
    c->workers_desired = (int)db_row_number(row, 12);
    c->created_at_ms = db_row_number(row, 14);
    c->updated_at_ms = db_row_number(row, 15);
    c->observed_at_ms = db_row_number(row, 16);
    c->version_no = db_row_number(row, 17);
    c->reported_at_ms = db_row_number(row, 21);
}

static int add_cluster(const struct db_row *row, void *arg, struct err *err) {
    struct load *load = arg;
    void *items = load->list.items;
    struct cluster *c = db_list_add(&items, &load->list.count, sizeof(*c));
    load->list.items = items;
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory");
    read_texts(row, c);
    read_numbers(row, c);
    /* a state that only a newer version knows is one we cannot judge */
    if (!cluster_state_parse(db_row_text(row, 3), &c->state))
        c->state = CLUSTER_UNKNOWN;
    if (!cluster_state_parse(db_row_text(row, 18), &c->reported_state))
        c->reported_state = CLUSTER_UNKNOWN;
    return 0;
}

/* The cluster that this row belongs to. NULL only if the snapshot held a row without its cluster, which the foreign key forbids. */
static struct cluster *find_owner(struct load *load, const struct db_row *row) {
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

static int add_label(const struct db_row *row, void *arg, struct err *err) {
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
static int add_node(const struct db_row *row, void *arg, struct err *err) {
    struct cluster *c = find_owner(arg, row);
    struct node_observation seen = {0};
    struct node view = {.id = db_row_lend(row, 1),
                        .name = db_row_lend(row, 2),
                        .vcenter_id = db_row_lend(row, 4),
                        .vm_instance_uuid = db_row_lend(row, 5),
                        .vm_bios_uuid = db_row_lend(row, 6),
                        .vm_name = db_row_lend(row, 7),
                        .kubernetes_version = db_row_lend(row, 8),
                        .address = db_row_lend(row, 9)};
    if (!c)
        return 0;
    if (!node_role_parse(db_row_text(row, 3), &view.role))
        return err_set(err, ERR_SCHEMA, "a node has an unknown role");
    if (db_row_text(row, NODE_COLUMNS_COUNT)) { /* it has been seen: then the vCenter is not NULL */
        observation_row_lend(row, NODE_COLUMNS_COUNT, &seen);
        seen.node_id = view.id;
        view.seen = &seen;
    }
    void *items = c->nodes;
    struct node *n = db_list_add(&items, &c->nodes_count, sizeof(*n));
    c->nodes = items;
    return n ? node_pack(&view, n, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* What belongs to the clusters of a list; the rows of each query are in order of the cluster's id. */
static const struct part {
    const char *sql, *kinds;
    db_row_fn *row;
} parts[] = {
    {SELECT_PLACEMENT " WHERE cluster_id BETWEEN ? AND ?" ORDER_PLACEMENT, PLACEMENT_KINDS, add_placement},
    {SELECT_LABEL " WHERE cluster_id BETWEEN ? AND ?" ORDER_LABEL, LABEL_KINDS, add_label},
    {SELECT_NODE " WHERE n.cluster_id BETWEEN ? AND ?" ORDER_NODE, NODE_KINDS, add_node},
};

static int load_parts(struct store_tx *tx, struct load *load, struct err *err) {
    int rc = 0;
    if (!load->list.count)
        return 0;
    for (size_t i = 0; i < ARRAY_COUNT(parts) && !rc; i++) {
        load->at = 0;
        rc = db_query(store_tx_conn(tx),
                      &(struct db_query){
                          .sql = parts[i].sql,
                          .args = DB_ARGS(db_text(load->list.items[0].id), db_text(load->list.items[load->list.count - 1].id)),
                          .columns = parts[i].kinds,
                          .row = parts[i].row,
                          .arg = load},
                      err);
    }
    return rc;
}

/* The array grew by doubling; the record lives long. */
static void fit_nodes(struct cluster *c) {
    struct node *fit = c->nodes_count ? reallocarray(c->nodes, c->nodes_count, sizeof(*fit)) : NULL;
    c->nodes = fit ? fit : c->nodes;
}

/* Hands the records over, each in memory of its own. */
static int give(struct load *load, struct err *err) {
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

static int load_some(struct store_tx *tx, struct load *load, bool *is_end, struct err *err) {
    int rc;
    widen_heap();
    rc = db_query(store_tx_conn(tx),
                  &(struct db_query){.sql = SELECT_CLUSTER " WHERE id > ? ORDER BY id LIMIT ?",
                                     .args = DB_ARGS(db_text(load->after), db_number(CLUSTERS_AT_ONCE)),
                                     .columns = CLUSTER_KINDS,
                                     .row = add_cluster,
                                     .arg = load},
                  err);
    rc = rc ? rc : load_parts(tx, load, err);
    *is_end = load->list.count < CLUSTERS_AT_ONCE;
    if (!rc && load->list.count)
        (void)snprintf(load->after, sizeof(load->after), "%s", load->list.items[load->list.count - 1].id);
    rc = rc ? rc : give(load, err);
    cluster_list_done(&load->list);
    return rc;
}

static int load_all(struct store_tx *tx, void *arg, struct err *err) {
    struct load *load = arg;
    bool is_end = false;
    int rc = 0;
    load->after[0] = 0;
    load->sink->begin(load->sink->arg);
    while (!rc && !is_end)
        rc = load_some(tx, load, &is_end, err);
    return rc;
}

int cluster_store_each(struct store *store, const struct cluster_sink *sink, struct err *err) {
    struct load load = {.sink = sink};
    return store_tx_snapshot(store, load_all, &load, err);
}

static int load_one(struct store_tx *tx, void *arg, struct err *err) {
    struct load *load = arg;
    cluster_list_done(&load->list);
    int rc = db_query(store_tx_conn(tx),
                      &(struct db_query){.sql = SELECT_CLUSTER " WHERE id = ?",
                                         .args = DB_ARGS(db_text(load->id)),
                                         .columns = CLUSTER_KINDS,
                                         .row = add_cluster,
                                         .arg = load},
                      err);
    return rc ? rc : load_parts(tx, load, err);
}

int cluster_store_load(struct store *store, const char *id, struct cluster **out, struct err *err) {
    struct load load = {.id = id};
    int rc = store_tx_snapshot(store, load_one, &load, err);
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
