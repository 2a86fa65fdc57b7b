/* Shortening the audit trail from its old end, and whose lines there are. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "audit_chain.h"
#include "audit_heads.h"
#include "audit_side.h"
#include "audit_store.h"
#include "audit_verify.h"
#include "db_stmt.h"
#include "store_tx.h"

/* -- whose lines there are ------------------------------------------------------------------------------------------------------ */

void audit_chain_list_done(struct audit_chain_list *list) {
    if (!list)
        return;
    free(list->items);
    *list = (struct audit_chain_list){0};
}

static int add_chain(const struct db_row *row, void *arg, struct err *err) {
    struct audit_chain_list *list = arg;
    void *items = list->items;
    struct audit_chain_name *item = db_list_add(&items, &list->count, sizeof(*item));
    list->items = items;
    if (!item)
        return err_set(err, ERR_NOMEM, "out of memory");
    item->replica_id = (unsigned)db_row_number(row, 0);
    db_row_copy(row, 1, item->name, sizeof(item->name));
    return 0;
}

/* One whose row and lines are gone was noted by others. */
static int audit_add_noted(void *arg, const struct audit_noted *noted, struct err *err) {
    struct audit_chain_list *list = arg;
    void *items = list->items;
    struct audit_chain_name *item;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].replica_id == noted->replica_id)
            return 0;
    item = db_list_add(&items, &list->count, sizeof(*item));
    list->items = items;
    if (!item)
        return err_set(err, ERR_NOMEM, "out of memory");
    item->replica_id = noted->replica_id;
    return 0;
}

static int by_number(const void *a, const void *b) {
    const struct audit_chain_name *one = a, *other = b;
    return (one->replica_id > other->replica_id) - (one->replica_id < other->replica_id);
}

static int list_chains(struct db_conn *conn, void *arg, struct err *err) {
    struct audit_chain_list *list = arg;
    int rc;
    audit_chain_list_done(list);
    rc = db_query(conn,
                  &(struct db_query){.sql = "SELECT n.id, r.name FROM (SELECT id FROM replicas UNION"
                                            " SELECT DISTINCT replica_id FROM audit) n LEFT JOIN replicas r ON r.id = n.id",
                                     .columns = "it",
                                     .row = add_chain,
                                     .arg = list},
                  err);
    if (!rc)
        rc = audit_read_noted(conn, audit_add_noted, list, err);
    if (!rc && list->count)
        qsort(list->items, list->count, sizeof(*list->items), by_number);
    return rc;
}

int audit_store_list_chains(struct store *store, struct audit_chain_list *out, struct err *err) {
    struct audit_chain_list list = {0};
    int rc = store_read(store, list_chains, &list, err);
    if (rc)
        audit_chain_list_done(&list);
    else
        *out = list;
    return rc;
}

/* -- removing ------------------------------------------------------------------------------------------------------------------ */

struct pruning {
    const struct audit_pruning *wanted;
    const struct audit_chain *chain;
    uint8_t before[AUDIT_HASH_BYTES]; /* of the line before the one that comes */
    struct audit_end end;             /* the last line to be removed */
    uint64_t deleted;
};

/* Only a line whose hash fits tells a time that nobody has changed, and that all before it are as old: else whoever can write to the database
 * would have us remove lines, and sign for it. */
static int look_at(const struct db_row *row, void *arg, struct err *err) {
    static const uint8_t zeros[AUDIT_HASH_BYTES];
    struct pruning *p = arg;
    struct audit_image line;
    const uint8_t *hash = audit_row_line(row, p->wanted->replica_id, &line);
    const uint8_t *before = audit_row_is(row, AUDIT_ACTION_BREAK) ? zeros : p->before;
    uint8_t wanted[AUDIT_HASH_BYTES] = {0};
    (void)err;
    audit_mac_line(p->chain->key, &line, before, wanted);
    if (hash && !memcmp(wanted, hash, sizeof(wanted)) && line.at_ms < p->wanted->older_than_ms) {
        p->end.seq = line.seq;
        memcpy(p->end.hash, hash, sizeof(p->end.hash));
    }
    memcpy(p->before, hash ? hash : zeros, sizeof(p->before));
    return 0;
}

/* Lines are numbered as they were committed, so times may go back a little, and a clock may have been wrong: up to the last that is old. */
static int audit_find_end(struct db_conn *conn, struct pruning *p, struct err *err) {
    return db_query(
        conn,
        &(struct db_query){.sql = "SELECT " AUDIT_LINE_COLUMNS " FROM audit WHERE replica_id = ? ORDER BY seq LIMIT ?",
                           .args = DB_ARGS(db_number(p->wanted->replica_id), db_number(p->wanted->limit)),
                           .columns = AUDIT_LINE_KINDS,
                           .row = look_at,
                           .arg = p},
        err);
}

/* What is removed stays what the chain hangs on: the last hash before the new old end. */
static int audit_prune(struct store_tx *tx, void *arg, struct err *err) {
    struct pruning *p = arg;
    struct db_conn *conn = store_tx_conn(tx);
    const struct db_arg replica = db_number(p->wanted->replica_id);
    const struct audit_owner owner = {p->chain->key, p->wanted->replica_id, AUDIT_END_ANCHOR};
    struct audit_ends ends = {0};
    uint8_t anchor[AUDIT_END_BYTES];
    int rc = audit_read_ends(conn, p->wanted->replica_id, p->chain->key, &ends, err);
    if (rc)
        return rc;
    p->end = ends.anchor;
    memcpy(p->before, ends.anchor.hash, sizeof(p->before));
    p->deleted = 0;
    rc = audit_find_end(conn, p, err);
    if (rc || p->end.seq <= ends.anchor.seq)
        return rc;
    rc = db_run(conn, "DELETE FROM audit WHERE replica_id = ? AND seq <= ? ORDER BY seq LIMIT ?",
                DB_ARGS(replica, db_number((int64_t)p->end.seq), db_number(p->wanted->limit)), &p->deleted, err);
    if (rc)
        return rc;
    audit_mac_sign(&owner, &p->end, anchor);
    return db_run(conn, "UPDATE replicas SET audit_anchor = ? WHERE id = ?", DB_ARGS(db_bytes(anchor, sizeof(anchor)), replica),
                  NULL, err);
}

int audit_store_prune(struct store *store, const struct audit_pruning *wanted, unsigned long *deleted, struct err *err) {
    struct pruning call = {.wanted = wanted, .chain = store_chain(store)};
    struct err why = {0};
    int rc = store_tx(store, audit_prune, &call, &why);
    *deleted = rc ? 0 : call.deleted;
    if (!rc || rc == ERR_NOT_FOUND) /* the lines of a replica whose row is gone stay: they tell that it was there */
        return 0;
    return err_move(err, rc, &why);
}
