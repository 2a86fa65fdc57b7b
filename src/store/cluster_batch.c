/* Writing many Kubernetes clusters in one transaction. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_batch.h"

#include <stdlib.h>

#include "audit_tx.h"
#include "cluster_room.h"
#include "cluster_tx.h"
#include "db_conn.h"
#include "store_tx.h"

/* What lies with the item, and not with the database or the transaction, which may be run again. */
static bool is_of_item(int code) {
    return code == ERR_EXISTS || code == ERR_CONFLICT || code == ERR_NOT_FOUND || code == ERR_PRECONDITION ||
           code == ERR_UNPROCESSABLE || code == ERR_DIRECTORY_FULL;
}

static int write_and_count(struct store_tx *tx, const struct cluster_batch_item *item, struct room_count *count,
                           struct err *err) {
    const struct cluster *c = item->cluster;
    int rc = item->is_change ? cluster_tx_update(tx, c, item->parts, err) : cluster_tx_insert(tx, c, err);
    if (!rc && (!item->is_change || (item->parts & CLUSTER_PART_NODES)))
        rc = cluster_tx_check_room(tx, count, c, !item->is_change, err);
    return rc;
}

/* A cluster is several rows: the savepoint takes all of them back. */
static int write_item(struct store_tx *tx, struct cluster_batch_item *item, struct room_count *count, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    struct err why = {0};
    int rc = db_conn_exec(conn, "SAVEPOINT item", err);
    if (rc)
        return rc;
    rc = write_and_count(tx, item, count, &why);
    if (rc && !is_of_item(rc))
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
    int rc = cluster_tx_begin_room(tx, batch->room, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < batch->count; i++) { /* of the attempt before */
        err_clear(&batch->items[i].err);
        batch->items[i].is_skipped = false;
    }
    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i].is_skipped = is_full;
        rc = is_full ? 0 : write_item(tx, &batch->items[i], &count, err);
        if (rc)
            return rc;
        if (batch->is_atomic && batch->items[i].err.code)
            return batch->items[i].err.code;
        is_full |= batch->items[i].err.code == ERR_DIRECTORY_FULL;
    }
    return append_audit(tx, batch, err);
}

static bool has_failed_item(const struct cluster_batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].err.code)
            return true;
    return false;
}

int cluster_store_write_batch(struct store *store, const struct cluster_batch *given, struct err *err) {
    struct cluster_batch batch = *given;
    struct err why = {0};
    int rc = store_tx(store, write_items, &batch, &why);
    if (rc && is_of_item(rc) && batch.is_atomic && has_failed_item(&batch))
        return 0;
    return err_move(err, rc, &why);
}
