/* Reading and pruning the change log; it is written by store_tx.c. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "change_store.h"

#include <stdlib.h>
#include <string.h>

#include "db_table.h"
#include "store_tx.h"

#define CHANGES_MAX 10000

DB_LIST_DEFINE(change_positions, (void));
DB_LIST_DEFINE(change_list, (void));

static const struct member position_members[] = {
    MEMBER_AS(change_position, replica_id, "id", NULL),
    MEMBER_AS(change_position, seq, "seq", NULL),
    MEMBERS_END,
};
static const struct db_table position_table = {
    .name = "replicas", .noun = "replica", .members = position_members, .bytes = sizeof(struct change_position)};

int change_store_load_positions(struct store *store, struct change_positions *out, struct err *err) {
    return db_table_list(store, &position_table, " ORDER BY id", DB_ARGS_NONE, &out->items, &out->count, err);
}

static uint64_t find_seq(const struct change_positions *positions, unsigned replica_id) {
    for (size_t i = 0; i < positions->count; i++)
        if (positions->items[i].replica_id == replica_id)
            return positions->items[i].seq;
    return 0;
}

/* One poll. */
struct poll {
    const struct change_positions *before;
    struct change_positions now; /* where the replicas stand; becomes the new positions */
    struct change_list list;
    struct change_position *reading; /* the replica being read */
};

static int change_store_add_change(const struct db_row *row, void *arg, struct err *err) {
    struct poll *poll = arg;
    struct change change = {
        .replica_id = poll->reading->replica_id, .seq = (uint64_t)db_row_number(row, 0), .at_ms = db_row_number(row, 3)};
    if (change.seq != poll->reading->seq + 1)
        poll->list.is_gap = true;
    poll->reading->seq = change.seq;
    if (!change_kind_parse(db_row_text(row, 1), &change.kind))
        return 0; /* of a newer version that runs beside this one: nothing here depends on it */
    db_row_copy(row, 2, change.object_id, sizeof(change.object_id));
    struct change *item = db_list_add(&poll->list.items, &poll->list.count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    *item = change;
    return 0;
}

static int read_replica(struct db_conn *conn, struct poll *poll, struct change_position *position, struct err *err) {
    const uint64_t head = position->seq, before = find_seq(poll->before, position->replica_id);
    const size_t room = CHANGES_MAX - poll->list.count;
    position->seq = before;
    if (head <= before || !room) {
        poll->list.is_more = poll->list.is_more || head > before;
        return 0;
    }
    poll->reading = position;
    int rc = db_query(
        conn, "SELECT seq, kind, object_id, created_at_ms FROM change_log WHERE replica_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        DB_ARGS(db_number(position->replica_id), db_number((int64_t)before), db_number((int64_t)room)), "itti",
        change_store_add_change, poll, err);
    if (rc)
        return rc;
    if (position->seq == before) { /* raised, but no rows left: pruned */
        poll->list.is_gap = true;
        position->seq = head;
    }
    poll->list.is_more = poll->list.is_more || position->seq < head;
    return 0;
}

static int change_load(struct db_conn *conn, void *arg, struct err *err) {
    struct poll *poll = arg;
    struct db_records now = {0};
    change_list_done(&poll->list);
    change_positions_done(&poll->now);
    int rc = db_table_query(conn, &position_table, " ORDER BY id", DB_ARGS_NONE, &now, err);
    poll->now = (struct change_positions){now.items, now.count};
    for (size_t i = 0; i < poll->now.count && !rc; i++)
        rc = read_replica(conn, poll, &poll->now.items[i], err);
    return rc;
}

int change_store_load(struct store *store, struct change_positions *positions, struct change_list *out, struct err *err) {
    struct poll poll = {.before = positions};
    int rc = store_read(store, change_load, &poll, err);
    if (rc) {
        change_positions_done(&poll.now);
        change_list_done(&poll.list);
        return rc;
    }
    change_positions_done(positions);
    *positions = poll.now;
    *out = poll.list;
    return 0;
}

int change_store_prune(struct store *store, int64_t older_than_ms, unsigned limit, unsigned long *deleted, struct err *err) {
    uint64_t count = 0;
    int rc = store_run(store, "DELETE FROM change_log WHERE created_at_ms < ? ORDER BY replica_id, seq LIMIT ?",
                       DB_ARGS(db_number(older_than_ms), db_number(limit)), &count, err);
    if (!rc)
        *deleted = (unsigned long)count;
    return rc;
}
