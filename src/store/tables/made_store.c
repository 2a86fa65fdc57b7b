/* Clusters that kaasd makes, or has made. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "made_store.h"

#include <stdlib.h>

#include "cluster_tx.h"
#include "provider_store.h"
#include "record_tx.h"
#include "str.h"

static const struct db_table made_table = {.name = "made_clusters",
                                           .noun = "cluster that kaasd has made",
                                           .members = made_cluster_members,
                                           .bytes = sizeof(struct made_cluster)};

int made_store_load(struct store *store, const char *cluster_id, struct made_cluster **out, struct err *err) {
    return db_table_load(store, &made_table, " WHERE cluster_id = ?", DB_ARGS(db_text(cluster_id)), out, err);
}

struct made_write {
    const struct made_cluster *made;
    const struct made_judged *judged;
    const struct cluster *cluster;
    const struct cluster_writing *with;
};

static int made_check_provider(struct store_tx *tx, const struct made_write *write, struct err *err) {
    int64_t met = 0;
    int rc = db_query_number(store_tx_conn(tx), "SELECT COUNT(*) FROM providers WHERE id = ? AND version_no = ?",
                             DB_ARGS(db_text(write->made->provider_id), db_number(write->judged->provider_no)), &met, err);
    return rc || met ? rc : err_set(err, ERR_BUSY, "the provider has changed since it was looked at");
}

static int made_check_known(const struct db_row *row, void *arg, struct err *err) {
    const struct made_name_list *others = arg;
    char id[UUID_TEXT_BYTES];
    db_row_copy(row, 0, id, sizeof(id));
    for (size_t i = 0; i < others->count; i++)
        if (str_eq(others->items[i].cluster_id, id))
            return 0;
    return err_set(err, ERR_BUSY, "another cluster has come since its addresses were looked at");
}

static int made_store_write(struct store_tx *tx, void *arg, struct err *err) {
    const struct made_write *write = arg;
    int rc = store_tx_lock(tx, PROVIDER_LOCK, err);
    rc = rc ? rc : made_check_provider(tx, write, err);
    rc = rc ? rc
            : db_query(store_tx_conn(tx), "SELECT cluster_id FROM made_clusters", DB_ARGS_NONE, "s", made_check_known,
                       (void *)(uintptr_t)write->judged->others, err);
    rc = rc ? rc : cluster_tx_insert(tx, write->cluster, write->with->room, err);
    rc = rc ? rc : db_table_insert(store_tx_conn(tx), &made_table, write->made, DB_MORE_NONE, err);
    return rc ? rc : record_tx_end(tx, CHANGE_CLUSTER, write->made->cluster_id, write->with->audit, err);
}

int made_store_insert(struct store *store, const struct made_cluster *made, const struct made_judged *judged,
                      const struct cluster *cluster, const struct cluster_writing *with, struct err *err) {
    struct made_write write = {made, judged, cluster, with};
    return store_tx(store, made_store_write, &write, err);
}

int made_store_delete(struct store *store, const char *cluster_id, struct err *err) {
    return store_run(store, "DELETE FROM made_clusters WHERE cluster_id = ?", DB_ARGS(db_text(cluster_id)), NULL, err);
}

void made_ids_done(struct made_ids *ids) {
    if (ids)
        free(STEAL(ids->items));
}

static int made_store_take_id(const struct db_row *row, void *arg, struct err *err) {
    struct made_ids *ids = arg;
    char(*items)[UUID_TEXT_BYTES] = reallocarray(ids->items, ids->count + 1, sizeof(*items));
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    ids->items = items;
    db_row_copy(row, 0, items[ids->count++], sizeof(*items));
    return 0;
}

int made_store_list_left(struct store *store, struct made_ids *out, struct err *err) {
    *out = (struct made_ids){0};
    int rc = store_query(store,
                         "SELECT m.cluster_id FROM made_clusters m JOIN clusters c ON c.id = m.cluster_id"
                         " WHERE c.state IN ('creating', 'deleting') AND NOT EXISTS"
                         " (SELECT 1 FROM jobs j WHERE j.object_id = m.cluster_id AND j.active_key IS NOT NULL)",
                         DB_ARGS_NONE, "s", made_store_take_id, out, err);
    if (rc)
        made_ids_done(out);
    return rc;
}

/* -- names -------------------------------------------------------------------------------------------------------------------- */

void made_name_list_done(struct made_name_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        free(list->items[i].name);
    if (list)
        free(STEAL(list->items));
}

static int made_store_take_name(const struct db_row *row, void *arg, struct err *err) {
    struct made_name_list *list = arg;
    struct made_name *items = reallocarray(list->items, list->count + 1, sizeof(*items));
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    list->items = items;
    struct made_name *one = &items[list->count];
    db_row_copy(row, 0, one->provider_id, sizeof(one->provider_id));
    db_row_copy(row, 1, one->cluster_id, sizeof(one->cluster_id));
    one->name = db_row_dup(row, 2);
    if (!one->name)
        return err_set(err, ERR_NOMEM, "out of memory");
    list->count++;
    return 0;
}

int made_store_list_names(struct store *store, struct made_name_list *out, struct err *err) {
    *out = (struct made_name_list){0};
    int rc = store_query(store,
                         "SELECT m.provider_id, m.cluster_id, c.name FROM made_clusters m JOIN clusters c ON c.id = m.cluster_id"
                         " ORDER BY c.name",
                         DB_ARGS_NONE, "sss", made_store_take_name, out, err);
    if (rc)
        made_name_list_done(out);
    return rc;
}
