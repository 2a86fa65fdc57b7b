/* The table of audit lines: appending, reading, shortening it from its old end. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_chain.h"
#include "audit_side.h"
#include "audit_tx.h"
#include "db_stmt.h"
#include "metric.h"
#include "store_tx.h"

void store_set_audit_listener(struct store *store, void (*fn)(void *arg, const struct audit_record *record), void *arg) {
    struct audit_side *side = store_audit_side(store);
    side->on_line = fn;
    side->on_line_arg = arg;
}

/* -- appending ------------------------------------------------------------------------------------------------------------------ */

struct audit_batch {
    const struct audit_record *records;
    size_t count;
};

static int audit_append(struct store_tx *tx, void *arg, struct err *err) {
    const struct audit_batch *batch = arg;
    return audit_tx_append(tx, batch->records, batch->count, err);
}

void audit_store_append_outcome(struct store *store, const struct audit_record *record, int rc) {
    const struct audit_record line = audit_record_now(record, rc);
    if (audit_store_append(store, &line, NULL))
        metric_add(audit_store_lost(), 1);
}

struct metric *audit_store_lost(void) {
    return metric_get(METRIC_COUNTER, "kaas_audit_lost_total", "Audit lines that could not be written", NULL, NULL);
}

int audit_store_append_batch(struct store *store, const struct audit_record *records, size_t count, struct err *err) {
    struct audit_batch batch = {records, count};
    return count ? store_tx(store, audit_append, &batch, err) : 0;
}

/* -- reading the audit trail (audit_store.h) ----------------------------------------------------------------------- */

#define FILTER(column) \
    " AND (? IS NULL OR " column " = ?)" /* the server drops it where the value is NULL, and then uses the keys */

static void entry_done(struct audit_entry *entry) {
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        free(entry->texts[i]);
}

void audit_page_done(struct audit_page *page) {
    if (!page)
        return;
    for (size_t i = 0; i < page->count; i++)
        entry_done(&page->items[i]);
    free(page->items);
    *page = (struct audit_page){0};
}

static int add_entry(const struct db_row *row, void *arg, struct err *err) {
    struct audit_page *page = arg;
    struct audit_entry *entry = db_list_add(&page->items, &page->count, sizeof(*entry), err);
    if (!entry)
        return ERR_NOMEM;
    entry->place = (struct audit_place){
        .at_ms = db_row_number(row, 0), .replica_id = (unsigned)db_row_number(row, 1), .seq = (uint64_t)db_row_number(row, 2)};
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        entry->texts[i] = db_row_dup(row, 3 + i);
    return 0;
}

struct listing {
    const struct audit_query *query;
    struct audit_page page;
};

static int audit_list_lines(struct db_conn *conn, void *arg, struct err *err) {
    struct listing *call = arg;
    const struct audit_query *q = call->query;
    const struct audit_place *after = &q->after;
    const int64_t top_ms = q->has_after ? after->at_ms : INT64_MAX;
    const int64_t until_ms = q->until_ms ? q->until_ms - 1 : INT64_MAX;
    audit_page_done(&call->page);
    return db_query(
        conn,
        "SELECT at_ms, replica_id, seq, action, principal_id, principal_name, source, object_kind, object_id, object_name,"
        " address, request_id, result, reason, acting_id FROM audit WHERE at_ms >= ? AND at_ms <= ?"
        " AND (at_ms < ? OR replica_id < ? OR (replica_id = ? AND seq < ?))" FILTER("action") FILTER("principal_id")
            FILTER("acting_id") FILTER("source") FILTER("object_kind") FILTER("object_id") FILTER("address") FILTER("result")
                FILTER("request_id") " ORDER BY at_ms DESC, replica_id DESC, seq DESC LIMIT ?",
        DB_ARGS(db_number(q->since_ms), db_number(until_ms < top_ms ? until_ms : top_ms), db_number(top_ms),
                db_number(after->replica_id), db_number(after->replica_id), db_number((int64_t)after->seq), db_text(q->action),
                db_text(q->action), db_text(q->principal_id), db_text(q->principal_id), db_text(q->acting_id),
                db_text(q->acting_id), db_text(q->source), db_text(q->source), db_text(q->object_kind), db_text(q->object_kind),
                db_text(q->object_id), db_text(q->object_id), db_text(q->address), db_text(q->address), db_text(q->result),
                db_text(q->result), db_text(q->request_id), db_text(q->request_id), db_number((int64_t)q->limit + 1)),
        "iiitttttttttttt", add_entry, &call->page, err);
}

int audit_store_list(struct store *store, const struct audit_query *query, struct audit_page *out, struct err *err) {
    struct listing call = {.query = query};
    int rc = store_read(store, audit_list_lines, &call, err);
    if (rc) {
        audit_page_done(&call.page);
        return rc;
    }
    if (call.page.count > query->limit) {
        entry_done(&call.page.items[--call.page.count]);
        call.page.is_more = true;
    }
    *out = call.page;
    return 0;
}

/* -- shortening the audit trail from its old end, and whose lines there are ---------------------------------------- */

/* -- whose lines there are ------------------------------------------------------------------------------------------------------ */

void audit_chain_list_done(struct audit_chain_list *list) {
    if (!list)
        return;
    free(list->items);
    *list = (struct audit_chain_list){0};
}

static int add_chain(const struct db_row *row, void *arg, struct err *err) {
    struct audit_chain_list *list = arg;
    struct audit_chain_name *item = db_list_add(&list->items, &list->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    item->replica_id = (unsigned)db_row_number(row, 0);
    db_row_copy(row, 1, item->name, sizeof(item->name));
    return 0;
}

/* One whose row and lines are gone was noted by others. */
static int audit_add_noted(void *arg, const struct audit_noted *noted, struct err *err) {
    struct audit_chain_list *list = arg;
    struct audit_chain_name *item;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].replica_id == noted->replica_id)
            return 0;
    item = db_list_add(&list->items, &list->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
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
                  "SELECT n.id, r.name FROM (SELECT id FROM replicas UNION"
                  " SELECT DISTINCT replica_id FROM audit) n LEFT JOIN replicas r ON r.id = n.id",
                  DB_ARGS_NONE, "it", add_chain, list, err);
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
    return db_query(conn, "SELECT " AUDIT_LINE_COLUMNS " FROM audit WHERE replica_id = ? ORDER BY seq LIMIT ?",
                    DB_ARGS(db_number(p->wanted->replica_id), db_number(p->wanted->limit)), AUDIT_LINE_KINDS, look_at, p, err);
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
    struct pruning call = {.wanted = wanted, .chain = store_audit_side(store)->chain};
    struct err why = {0};
    int rc = store_tx(store, audit_prune, &call, &why);
    *deleted = rc ? 0 : call.deleted;
    if (!rc || rc == ERR_NOT_FOUND) /* the lines of a replica whose row is gone stay: they tell that it was there */
        return 0;
    return err_move(err, rc, &why);
}
