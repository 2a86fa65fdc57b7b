/* The tables of audit lines and open operations: writing, reading, shortening the audit log from its old end. Layer 2 (store).
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

/* -- reading ------------------------------------------------------------------------------------------------------- */

#define FILTER(column) \
    " AND (? IS NULL OR " column " = ?)" /* the server drops it where the value is NULL, and then uses the keys */

static void audit_store_entry_done(struct audit_entry *entry) {
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        free(entry->texts[i]);
}

void audit_page_done(struct audit_page *page) {
    if (!page)
        return;
    for (size_t i = 0; i < page->count; i++)
        audit_store_entry_done(&page->items[i]);
    free(page->items);
    *page = (struct audit_page){0};
}

static int audit_store_add_entry(const struct db_row *row, void *arg, struct err *err) {
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
        "iiitttttttttttt", audit_store_add_entry, &call->page, err);
}

int audit_store_list(struct store *store, const struct audit_query *query, struct audit_page *out, struct err *err) {
    struct listing call = {.query = query};
    int rc = store_read(store, audit_list_lines, &call, err);
    if (rc) {
        audit_page_done(&call.page);
        return rc;
    }
    if (call.page.count > query->limit) {
        audit_store_entry_done(&call.page.items[--call.page.count]);
        call.page.is_more = true;
    }
    *out = call.page;
    return 0;
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

static int audit_store_by_number(const void *a, const void *b) {
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
        qsort(list->items, list->count, sizeof(*list->items), audit_store_by_number);
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

/* -- shortening it ------------------------------------------------------------------------------------------------------------------ */

struct pruning {
    const struct audit_pruning *wanted;
    const struct audit_chain *chain;
    uint8_t before[AUDIT_HASH_BYTES]; /* of the line before the one that comes */
    struct audit_end end;             /* the last line to be removed */
    uint64_t deleted;
};

/* Only a line whose hash fits tells a time that nobody has changed, and that all before it are as old: else whoever can write to the database
 * would have us remove lines, and sign for it. */
static int audit_store_look_at(const struct db_row *row, void *arg, struct err *err) {
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
                    DB_ARGS(db_number(p->wanted->replica_id), db_number(p->wanted->limit)), AUDIT_LINE_KINDS, audit_store_look_at,
                    p, err);
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

/* -- operations outside of the database --------------------------------------------------------------------------------- */

#define CLOSE_BATCH 100U
#define WHY_UNKNOWN \
    "nobody wrote down how it ended: kaasd was stopped, or the database was away; look at the vCenter and at the log"

/* -- begin and end ------------------------------------------------------------------------------------------------------------ */

struct operation_begin {
    const char *id;
    const struct audit_record *record;
};

static int operation_insert_row(struct store_tx *tx, const struct operation_begin *begin, struct err *err) {
    const struct audit_texts texts = audit_texts_of(&begin->record->event);
    const struct db_arg *t = texts.items;
    return db_run(
        store_tx_conn(tx),
        "INSERT INTO audit_deeds (id, replica_id, begun_at_ms, action, principal_id, principal_name, source, object_kind,"
        " object_id, object_name, address, request_id, acting_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        DB_ARGS(db_text(begin->id), db_number(store_tx_replica(tx)), db_number(begin->record->at_ms), t[AUDIT_ACTION],
                t[AUDIT_PRINCIPAL_ID], t[AUDIT_PRINCIPAL_NAME], t[AUDIT_SOURCE], t[AUDIT_OBJECT_KIND], t[AUDIT_OBJECT_ID],
                t[AUDIT_OBJECT_NAME], t[AUDIT_ADDRESS], t[AUDIT_REQUEST_ID], t[AUDIT_ACTING_ID]),
        NULL, err);
}

static int operation_begin(struct store_tx *tx, void *arg, struct err *err) {
    const struct operation_begin *begin = arg;
    int rc = operation_insert_row(tx, begin, err);
    return rc ? rc : audit_tx_append(tx, begin->record, 1, err);
}

int operation_store_begin(struct store *store, const char *id, const struct audit_record *record, struct err *err) {
    struct audit_record line = *record;
    struct operation_begin begin = {id, &line};
    line.event.result = OPERATION_PENDING;
    return store_tx(store, operation_begin, &begin, err);
}

static int operation_remove_row(struct store_tx *tx, const char *id, uint64_t *met, struct err *err) {
    return db_run(store_tx_conn(tx), "DELETE FROM audit_deeds WHERE id = ?", DB_ARGS(db_text(id)), met, err);
}

int operation_tx_end(struct store_tx *tx, const struct operation_end *end, struct err *err) {
    int rc = end ? operation_remove_row(tx, end->id, NULL, err) : 0;
    return rc || !end ? rc : audit_tx_append(tx, end->record, 1, err);
}

static int end_operation(struct store_tx *tx, void *arg, struct err *err) {
    return operation_tx_end(tx, arg, err);
}

int operation_store_end(struct store *store, const struct operation_end *end, struct err *err) {
    struct operation_end copy = *end;
    return store_tx(store, end_operation, &copy, err);
}

/* -- an open one ---------------------------------------------------------------------------------------------------------------- */

static int operation_take_id(const struct db_row *row, void *arg, struct err *err) {
    (void)err;
    db_row_copy(row, 0, arg, UUID_TEXT_BYTES);
    return 0;
}

int operation_store_find(struct store *store, const struct audit_event *like, char id[UUID_TEXT_BYTES], struct err *err) {
    id[0] = '\0';
    return store_query(
        store,
        "SELECT id FROM audit_deeds WHERE replica_id = ? AND action = ? AND source = ?"
        " AND object_id = ? ORDER BY begun_at_ms DESC, id LIMIT 1",
        DB_ARGS(db_number(store_get_replica(store)), db_text(like->action), db_text(like->source), db_text(like->object_id)), "t",
        operation_take_id, id, err);
}

/* -- those that nobody works on --------------------------------------------------------------------------------------------------- */

enum {
    ID,
    ACTION,
    PRINCIPAL_ID,
    PRINCIPAL_NAME,
    SOURCE,
    OBJECT_KIND,
    OBJECT_ID,
    OBJECT_NAME,
    ADDRESS,
    REQUEST_ID,
    ACTING_ID,
    TEXTS
};

struct left_one {
    char *texts[TEXTS];
};

struct left_list {
    const struct operation_left *wanted;
    struct left_one *items;
    size_t count;
};

static void audit_store_list_done(struct left_list *list) {
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < TEXTS; j++)
            free(list->items[i].texts[j]);
    free(list->items);
    list->items = NULL;
    list->count = 0;
}

static int audit_store_add_left(const struct db_row *row, void *arg, struct err *err) {
    struct left_list *list = arg;
    struct left_one *one = db_list_add(&list->items, &list->count, sizeof(*one), err);
    if (!one)
        return ERR_NOMEM;
    for (size_t i = 0; i < TEXTS; i++)
        one->texts[i] = db_row_dup(row, i);
    return 0;
}

static int audit_store_list_left(struct db_conn *conn, void *arg, struct err *err) {
    struct left_list *list = arg;
    const struct operation_left *w = list->wanted;
    audit_store_list_done(list);
    return db_query(
        conn,
        "SELECT id, action, principal_id, principal_name, source, object_kind, object_id,"
        " object_name, address, request_id, acting_id FROM audit_deeds"
        " WHERE (? = 0 OR replica_id = ?) AND begun_at_ms < ? ORDER BY begun_at_ms, id LIMIT ?",
        DB_ARGS(db_number(w->replica_id), db_number(w->replica_id), db_number(w->begun_before_ms), db_number(CLOSE_BATCH)),
        "ttttttttttt", audit_store_add_left, list, err);
}

/* Another replica, or whoever worked on it after all, may be quicker: then there is nothing to say. */
static int audit_store_close_one(struct store_tx *tx, void *arg, struct err *err) {
    const struct operation_end *end = arg;
    uint64_t met = 0;
    int rc = operation_remove_row(tx, end->id, &met, err);
    return rc || !met ? rc : audit_tx_append(tx, end->record, 1, err);
}

static int audit_store_close_left(struct store *store, const struct left_one *one, int64_t now_ms, struct err *err) {
    char *const *t = one->texts;
    const struct audit_record record = {.at_ms = now_ms,
                                        .event = {.action = t[ACTION],
                                                  .principal_id = t[PRINCIPAL_ID],
                                                  .principal_name = t[PRINCIPAL_NAME],
                                                  .acting_id = t[ACTING_ID],
                                                  .source = t[SOURCE],
                                                  .object_kind = t[OBJECT_KIND],
                                                  .object_id = t[OBJECT_ID],
                                                  .object_name = t[OBJECT_NAME],
                                                  .address = t[ADDRESS],
                                                  .request_id = t[REQUEST_ID],
                                                  .result = OPERATION_UNKNOWN,
                                                  .reason = WHY_UNKNOWN}};
    struct operation_end end = {t[ID], &record};
    return store_tx(store, audit_store_close_one, &end, err);
}

int operation_store_close(struct store *store, const struct operation_left *left, unsigned *closed, struct err *err) {
    struct left_list list = {.wanted = left};
    int rc;
    *closed = 0;
    do {
        rc = store_read(store, audit_store_list_left, &list, err);
        for (size_t i = 0; i < list.count && !rc; i++) {
            rc = audit_store_close_left(store, &list.items[i], left->now_ms, err);
            *closed += !rc;
        }
    } while (!rc && list.count == CLOSE_BATCH);
    audit_store_list_done(&list);
    return rc;
}
