/* Is there room for what a transaction writes? Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * More than the caps would be refused by every replica when it reads it, and their lists would age. Counting takes some milliseconds, so it
 * is done once for a transaction, and only by those who know that it is close. */
#include "cluster_room.h"

#include "db_stmt.h"

int cluster_tx_begin_room(struct store_tx *tx, const struct cluster_room *room, struct room_count *out, struct err *err) {
    *out = (struct room_count){.room = room};
    return room ? store_tx_lock(tx, "room for clusters", err) : 0;
}

static int room_take_counts(const struct db_row *row, void *arg, struct err *err) {
    struct room_count *count = arg;
    (void)err;
    count->clusters = db_row_number(row, 0);
    count->nodes = db_row_number(row, 1);
    count->is_counted = true;
    return 0;
}

static int room_count_all(struct store_tx *tx, struct room_count *count, struct err *err) {
    return db_query(store_tx_conn(tx),
                    &(struct db_query){.sql = "SELECT (SELECT COUNT(*) FROM clusters), (SELECT COUNT(*) FROM nodes)",
                                       .args = DB_ARGS_NONE,
                                       .columns = "ii",
                                       .row = room_take_counts,
                                       .arg = count},
                    err);
}

static bool has_room(const struct room_count *count) {
    return count->clusters <= (int64_t)count->room->clusters_max && count->nodes <= (int64_t)count->room->nodes_max;
}

static int room_refuse(const struct room_count *count, struct err *err) {
    const bool is_nodes = count->clusters <= (int64_t)count->room->clusters_max;
    (void)err_set(err, ERR_DIRECTORY_FULL, "the directory is full: it holds at most %zu %s",
                  is_nodes ? count->room->nodes_max : count->room->clusters_max, is_nodes ? "nodes" : "Kubernetes clusters");
    return err_remedy(err, "remove clusters that are no more");
}

int cluster_tx_check_room(struct store_tx *tx, struct room_count *count, const struct cluster *c, bool is_new, struct err *err) {
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
    rc = room_refuse(count, err);
    count->clusters -= is_new;
    count->nodes -= (int64_t)c->nodes_count;
    count->is_counted = is_new; /* what a change takes back is not known */
    return rc;
}
