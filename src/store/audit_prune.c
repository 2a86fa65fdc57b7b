/* Shortening the audit trail from its old end, where that end is, and whose lines there are. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "audit_chain.h"
#include "audit_side.h"
#include "audit_ends.h"
#include "audit_store.h"
#include "audit_verify.h"
#include "db_stmt.h"
#include "store_tx.h"

struct reading {
    const uint8_t *key;
    unsigned replica_id;
    struct audit_ends ends;
};

static int take_ends(const struct db_row *row, void *arg, struct err *err) {
    struct reading *r = arg;
    const struct audit_owner of_head = {r->key, r->replica_id, AUDIT_END_HEAD};
    const struct audit_owner of_anchor = {r->key, r->replica_id, AUDIT_END_ANCHOR};
    size_t head_bytes = 0, anchor_bytes = 0;
    const uint8_t *head = db_row_bytes(row, 1, &head_bytes), *anchor = db_row_bytes(row, 2, &anchor_bytes);
    (void)err;
    r->ends =
        (struct audit_ends){.last_seq = (uint64_t)db_row_number(row, 0), .has_head = head != NULL, .has_anchor = anchor != NULL};
    r->ends.is_head_ok = audit_mac_check(&of_head, head, head_bytes, &r->ends.head);
    r->ends.is_anchor_ok = audit_mac_check(&of_anchor, anchor, anchor_bytes, &r->ends.anchor);
    return 0;
}

int audit_read_ends(struct db_conn *conn, unsigned replica_id, const uint8_t key[AUDIT_KEY_BYTES], struct audit_ends *out,
                    struct err *err) {
    struct reading reading = {.key = key, .replica_id = replica_id};
    int rc = db_query_one(conn,
                          &(struct db_query){.sql = "SELECT audit_seq, audit_head, audit_anchor FROM replicas WHERE id = ?",
                                             .args = DB_ARGS(db_number(replica_id)),
                                             .columns = "ibb",
                                             .row = take_ends,
                                             .arg = &reading},
                          "there is no such replica", err);
    if (!rc)
        *out = reading.ends;
    return rc;
}

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

static int list_chains(struct db_conn *conn, void *arg, struct err *err) {
    audit_chain_list_done(arg);
    return db_query(
        conn,
        &(struct db_query){.sql = "SELECT n.id, r.name FROM (SELECT id FROM replicas UNION"
                                  " SELECT DISTINCT replica_id FROM audit) n LEFT JOIN replicas r ON r.id = n.id ORDER BY 1",
                           .columns = "it",
                           .row = add_chain,
                           .arg = arg},
        err);
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
    struct audit_end seen, end; /* the last line looked at with the last hash so far; the last one to be removed */
    bool has_seen_hash, has_hash;
    uint64_t deleted;
};

static int look_at(const struct db_row *row, void *arg, struct err *err) {
    struct pruning *p = arg;
    size_t n = 0;
    const uint8_t *hash = db_row_bytes(row, 2, &n);
    (void)err;
    p->seen.seq = (uint64_t)db_row_number(row, 0);
    if (hash && n == sizeof(p->seen.hash)) {
        memcpy(p->seen.hash, hash, n);
        p->has_seen_hash = true;
    }
    if (db_row_number(row, 1) < p->wanted->older_than_ms) {
        p->end = p->seen;
        p->has_hash = p->has_seen_hash;
    }
    return 0;
}

/* Lines are numbered as they were committed, so times may go back a little, and a clock may have been wrong: up to the last that is old. */
static int find_end(struct db_conn *conn, struct pruning *p, struct err *err) {
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT seq, at_ms, hash FROM audit WHERE replica_id = ? ORDER BY seq LIMIT ?",
                                       .args = DB_ARGS(db_number(p->wanted->replica_id), db_number(p->wanted->limit)),
                                       .columns = "iib",
                                       .row = look_at,
                                       .arg = p},
                    err);
}

static int save_anchor(struct db_conn *conn, const struct pruning *p, struct err *err) {
    const struct audit_owner owner = {p->chain->key, p->wanted->replica_id, AUDIT_END_ANCHOR};
    uint8_t anchor[AUDIT_END_BYTES];
    audit_mac_sign(&owner, &p->end, anchor);
    return db_run(conn, "UPDATE replicas SET audit_anchor = ? WHERE id = ?",
                  DB_ARGS(db_bytes(anchor, sizeof(anchor)), db_number(p->wanted->replica_id)), NULL, err);
}

/* What is removed stays what the chain hangs on: the last hash before the new old end. Lines from before there was a chain leave nothing. */
static int prune(struct store_tx *tx, void *arg, struct err *err) {
    struct pruning *p = arg;
    struct db_conn *conn = store_tx_conn(tx);
    struct audit_ends ends = {0};
    const struct db_arg replica = db_number(p->wanted->replica_id);
    struct err why = {0};
    int rc = audit_read_ends(conn, p->wanted->replica_id, p->chain->key, &ends, &why);
    p->seen = p->end = ends.is_anchor_ok ? ends.anchor : (struct audit_end){0};
    p->has_seen_hash = p->has_hash = ends.is_anchor_ok;
    p->deleted = 0;
    if (rc && rc != ERR_NOT_FOUND && err)
        *err = why;
    if (!rc || rc == ERR_NOT_FOUND) /* a replica whose row is gone leaves lines, too */
        rc = find_end(conn, p, err);
    if (rc || p->end.seq <= ends.anchor.seq)
        return rc;
    rc = db_run(conn, "DELETE FROM audit WHERE replica_id = ? AND seq <= ? ORDER BY seq LIMIT ?",
                DB_ARGS(replica, db_number((int64_t)p->end.seq), db_number(p->wanted->limit)), &p->deleted, err);
    return !rc && p->has_hash && p->chain->has_key ? save_anchor(conn, p, err) : rc;
}

int audit_store_prune(struct store *store, const struct audit_pruning *wanted, unsigned long *deleted, struct err *err) {
    struct pruning call = {.wanted = wanted, .chain = store_chain(store)};
    int rc = store_tx(store, prune, &call, err);
    if (!rc)
        *deleted = call.deleted;
    return rc;
}
