/* The tables of audit lines and open operations: writing, reading, shortening the audit log from its old end; refusals that are written later. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_store.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "clock.h"
#include "db_table.h"
#include "metric.h"
#include "net_addr.h"
#include "str.h"

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

int audit_store_append(struct store *store, const struct audit_record *record, struct err *err) {
    const struct audit_side *side = store_audit_side(store);
    struct audit_append call = {.line = record};
    group_commit_run(side->group, &call.entry, side->write_group, store);
    if (call.entry.is_to_try_alone)
        return audit_store_append_batch(store, record, 1, err);
    return err_move(err, call.entry.rc, &call.entry.err);
}

void audit_store_append_outcome(struct store *store, const struct audit_record *record, int rc, const struct err *why) {
    struct audit_record line = audit_record_now(record, rc);
    char reason[2 * sizeof(why->text)];
    if (rc && why && why->text[0]) {
        (void)snprintf(reason, sizeof(reason), "%s%s%s", record->event.reason ? record->event.reason : "",
                       record->event.reason ? ": " : "", why->text);
        line.event.reason = reason;
    }
    if (audit_store_append(store, &line, NULL))
        metric_add(audit_store_lost(), 1);
}

struct metric *audit_store_lost(void) {
    return metric_get(METRIC_AUDIT_LOST);
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

DB_LIST_DEFINE(audit_page, audit_store_entry_done);

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
    return db_query(conn,
                    "SELECT at_ms, replica_id, seq, " AUDIT_TEXT_COLUMNS " FROM audit WHERE at_ms >= ? AND at_ms <= ?"
                    " AND (at_ms < ? OR replica_id < ? OR (replica_id = ? AND seq < ?))" FILTER("action") FILTER("principal_id")
                        FILTER("acting_id") FILTER("source") FILTER("object_kind") FILTER("object_id") FILTER("address")
                            FILTER("result") FILTER("request_id") " ORDER BY at_ms DESC, replica_id DESC, seq DESC LIMIT ?",
                    DB_ARGS(db_number(q->since_ms), db_number(until_ms < top_ms ? until_ms : top_ms), db_number(top_ms),
                            db_number(after->replica_id), db_number(after->replica_id), db_number((int64_t)after->seq),
                            db_text(q->action), db_text(q->action), db_text(q->principal_id), db_text(q->principal_id),
                            db_text(q->acting_id), db_text(q->acting_id), db_text(q->source), db_text(q->source),
                            db_text(q->object_kind), db_text(q->object_kind), db_text(q->object_id), db_text(q->object_id),
                            db_text(q->address), db_text(q->address), db_text(q->result), db_text(q->result),
                            db_text(q->request_id), db_text(q->request_id), db_number((int64_t)q->limit + 1)),
                    "iii" AUDIT_TEXT_KINDS, audit_store_add_entry, &call->page, err);
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

DB_LIST_DEFINE(audit_chain_list, (void));

static const struct member chain_members[] = {
    MEMBER_AS(audit_chain_name, replica_id, "n.id", NULL),
    MEMBER_AS(audit_chain_name, name, "r.name", NULL),
    MEMBERS_END,
};
static const struct db_table chain_table = {.name = "(SELECT id FROM replicas UNION SELECT DISTINCT replica_id FROM audit) n"
                                                    " LEFT JOIN replicas r ON r.id = n.id",
                                            .noun = "replica",
                                            .members = chain_members,
                                            .bytes = sizeof(struct audit_chain_name)};

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
    struct db_records found = {0};
    audit_chain_list_done(list);
    int rc = db_table_query(conn, &chain_table, "", DB_ARGS_NONE, &found, err);
    *list = (struct audit_chain_list){found.items, found.count};
    rc = rc ? rc : audit_read_noted(conn, audit_add_noted, list, err);
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
    /* lines are numbered as they were committed, so times may go back a little, and a clock may have been wrong: up to the last that is old */
    rc = db_query(conn, "SELECT " AUDIT_LINE_COLUMNS " FROM audit WHERE replica_id = ? ORDER BY seq LIMIT ?",
                  DB_ARGS(replica, db_number(p->wanted->limit)), AUDIT_LINE_KINDS, audit_store_look_at, p, err);
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
    struct pruning call = {.wanted = wanted, .chain = &store_audit_side(store)->chain};
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

struct operation_begin {
    const char *id;
    const struct audit_record *record;
};

int operation_tx_begin(struct store_tx *tx, const char *id, const struct audit_record *record, struct err *err) {
    struct audit_record line = *record;
    line.event.result = OPERATION_PENDING;
    const struct audit_texts texts = audit_texts_of(&line.event);
    const struct db_arg *t = texts.items;
    int rc =
        db_run(store_tx_conn(tx),
               "INSERT INTO audit_deeds (id, replica_id, begun_at_ms, action, principal_id, principal_name, source, object_kind,"
               " object_id, object_name, address, request_id, acting_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               DB_ARGS(db_text(id), db_number(store_tx_replica(tx)), db_number(line.at_ms), t[AUDIT_ACTION],
                       t[AUDIT_PRINCIPAL_ID], t[AUDIT_PRINCIPAL_NAME], t[AUDIT_SOURCE], t[AUDIT_OBJECT_KIND], t[AUDIT_OBJECT_ID],
                       t[AUDIT_OBJECT_NAME], t[AUDIT_ADDRESS], t[AUDIT_REQUEST_ID], t[AUDIT_ACTING_ID]),
               NULL, err);
    return rc ? rc : audit_tx_append(tx, &line, 1, err);
}

static int operation_begin(struct store_tx *tx, void *arg, struct err *err) {
    const struct operation_begin *begin = arg;
    return operation_tx_begin(tx, begin->id, begin->record, err);
}

int operation_store_begin(struct store *store, const char *id, const struct audit_record *record, struct err *err) {
    struct operation_begin begin = {id, record};
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

int operation_store_find(struct store *store, const struct audit_event *like, char id[UUID_TEXT_BYTES], struct err *err) {
    char found[UUID_TEXT_BYTES] = "";
    int rc = store_query_row(
        store,
        "SELECT id FROM audit_deeds WHERE replica_id = ? AND action = ? AND source = ?"
        " AND object_id = ? ORDER BY begun_at_ms DESC, id LIMIT 1",
        DB_ARGS(db_number(store_get_replica(store)), db_text(like->action), db_text(like->source), db_text(like->object_id)),
        DB_INTO(DB_TO(found)), NULL, err);
    memcpy(id, found, sizeof(found));
    return rc;
}

/* -- those that nobody works on --------------------------------------------------------------------------------------------------- */

struct left_reading {
    const struct operation_left *wanted;
    struct audit_page found;
};

/* As lines, which the id is the result of: there is none yet. */
static int audit_store_list_left(struct db_conn *conn, void *arg, struct err *err) {
    struct left_reading *call = arg;
    const struct operation_left *w = call->wanted;
    audit_page_done(&call->found);
    return db_query(
        conn,
        "SELECT begun_at_ms, replica_id, 0, action, principal_id, principal_name, source, object_kind, object_id,"
        " object_name, address, request_id, id, NULL, acting_id FROM audit_deeds"
        " WHERE (? = 0 OR replica_id = ?) AND begun_at_ms < ? AND id NOT IN (SELECT id FROM jobs)"
        " ORDER BY begun_at_ms, id LIMIT ?",
        DB_ARGS(db_number(w->replica_id), db_number(w->replica_id), db_number(w->begun_before_ms), db_number(CLOSE_BATCH)),
        "iii" AUDIT_TEXT_KINDS, audit_store_add_entry, &call->found, err);
}

/* Another replica, or whoever worked on it after all, may be quicker: then there is nothing to say. */
static int audit_store_close_one(struct store_tx *tx, void *arg, struct err *err) {
    const struct operation_end *end = arg;
    uint64_t met = 0;
    int rc = operation_remove_row(tx, end->id, &met, err);
    return rc || !met ? rc : audit_tx_append(tx, end->record, 1, err);
}

static int audit_store_close_left(struct store *store, const struct audit_entry *left, int64_t now_ms, struct err *err) {
    struct audit_record record = {.at_ms = now_ms};
    struct operation_end end = {left->texts[AUDIT_RESULT], &record};
    for (unsigned i = 0; i < AUDIT_TEXTS; i++)
        audit_text_set(&record.event, i, left->texts[i]);
    record.event.result = OPERATION_UNKNOWN;
    record.event.reason = WHY_UNKNOWN;
    return store_tx(store, audit_store_close_one, &end, err);
}

int operation_store_close(struct store *store, const struct operation_left *left, unsigned *closed, struct err *err) {
    struct left_reading call = {.wanted = left};
    int rc;
    *closed = 0;
    do {
        rc = store_read(store, audit_store_list_left, &call, err);
        for (size_t i = 0; i < call.found.count && !rc; i++) {
            rc = audit_store_close_left(store, &call.found.items[i], left->now_ms, err);
            *closed += !rc;
        }
    } while (!rc && call.found.count == CLOSE_BATCH);
    audit_page_done(&call.found);
    return rc;
}

/* -- refusals: noted in memory, written later ------------------------------------------------------------------------------------- */

#define NOTES_REASON_BYTES 96
#define NOTES_SPAN_MS 60000

static void notes_forget(struct audit_note *note) {
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        free(note->texts[i]);
    *note = (struct audit_note){0};
}

static struct audit_event event_of(const struct audit_note *note) {
    struct audit_event event = {0};
    for (unsigned i = 0; i < AUDIT_TEXTS; i++)
        audit_text_set(&event, i, note->texts[i]);
    return event;
}

/* Request and reason do not tell kinds apart. Addresses of one party are alike: else one host could make as many kinds as it has addresses. */
static bool notes_is_alike(const struct audit_note *note, const struct audit_event *event) {
    for (unsigned i = 0; i < AUDIT_TEXTS; i++) {
        const char *a = note->texts[i], *b = audit_text_get(event, i);
        const bool is_same = i == AUDIT_REQUEST_ID || i == AUDIT_REASON || str_eq(a, b) ||
                             (i == AUDIT_ADDRESS && a && b && net_party(a) == net_party(b));
        if (!is_same)
            return false;
    }
    return true;
}

static bool notes_fill(struct audit_note *note, const struct audit_event *event) {
    bool is_whole = true;
    for (unsigned i = 0; i < AUDIT_TEXTS; i++) {
        const char *text = audit_text_get(event, i);
        note->texts[i] = str_dup(text);
        is_whole = is_whole && (!text || note->texts[i]);
    }
    note->is_used = is_whole;
    note->at_ms = clock_wall_ms();
    note->since_ms = clock_mono_ms();
    if (!is_whole)
        notes_forget(note);
    return is_whole;
}

void audit_store_note(struct store *store, const struct audit_event *event) {
    struct audit_notes *box = &store_audit_side(store)->notes;
    struct audit_note *room = NULL, *same = NULL;
    (void)pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < AUDIT_NOTES_MAX && !same; i++) {
        struct audit_note *note = &box->notes[i];
        if (note->is_used && notes_is_alike(note, event))
            same = note;
        else if (!note->is_used && !room)
            room = note;
    }
    if (same)
        same->more++;
    else if (!room || !notes_fill(room, event))
        box->left_out++;
    (void)pthread_mutex_unlock(&box->lock);
}

/* What one round writes; texts are copies, since notes go on changing. */
struct round {
    struct audit_note copies[AUDIT_NOTES_MAX + 1];
    char reasons[AUDIT_NOTES_MAX + 1][NOTES_REASON_BYTES];
    struct audit_record records[AUDIT_NOTES_MAX + 1];
    size_t count;
    uint64_t left_out;
};

static bool audit_store_is_over(const struct audit_note *note) {
    return clock_mono_ms() - note->since_ms >= NOTES_SPAN_MS;
}

static void audit_store_add_copy(struct round *round, const struct audit_note *note) {
    struct audit_note *copy = &round->copies[round->count];
    const struct audit_event event = event_of(note);
    if (!notes_fill(copy, &event))
        return;
    round->records[round->count] =
        (struct audit_record){.at_ms = note->is_told ? clock_wall_ms() : note->at_ms, .event = event_of(copy)};
    if (note->is_told) {
        (void)snprintf(round->reasons[round->count], NOTES_REASON_BYTES, "%" PRIu64 " more like this within a minute",
                       note->more);
        round->records[round->count].event.reason = round->reasons[round->count];
        round->records[round->count].event.request_id = NULL;
    }
    round->count++;
}

static bool notes_is_due(const struct audit_note *note) {
    return note->is_used && (!note->is_told || audit_store_is_over(note));
}

/* A note whose minute has passed without another like it is done with. */
static void notes_collect(struct audit_notes *box, struct round *round) {
    for (size_t i = 0; i < AUDIT_NOTES_MAX; i++) {
        struct audit_note *note = &box->notes[i];
        note->is_taken = false; /* of a round before */
        if (!notes_is_due(note))
            continue;
        if (note->is_told && !note->more) {
            notes_forget(note);
            continue;
        }
        note->is_taken = true;
        note->taken = note->is_told ? note->more : 0;
        audit_store_add_copy(round, note);
    }
    if (!box->left_out || clock_mono_ms() - box->left_out_told_ms < NOTES_SPAN_MS)
        return;
    round->left_out = box->left_out;
    (void)snprintf(round->reasons[round->count], NOTES_REASON_BYTES, "%" PRIu64 " refusals more, of too many kinds to name them",
                   box->left_out);
    round->records[round->count] = audit_record_make(
        NULL, &(struct audit_event){.action = "audit.left_out", .object_kind = "audit", .reason = round->reasons[round->count]});
    round->count++;
}

static void notes_settle(struct audit_notes *box, const struct round *round) {
    for (size_t i = 0; i < AUDIT_NOTES_MAX; i++) {
        struct audit_note *note = &box->notes[i];
        if (!note->is_taken)
            continue;
        note->more -= note->taken; /* what came meanwhile is told after another minute */
        note->is_told = true;
        if (audit_store_is_over(note))
            note->since_ms = clock_mono_ms();
    }
    if (!round->left_out)
        return;
    box->left_out -= round->left_out;
    box->left_out_told_ms = clock_mono_ms();
}

static bool has_due(struct audit_notes *box) {
    bool is_any = box->left_out != 0;
    for (size_t i = 0; i < AUDIT_NOTES_MAX && !is_any; i++)
        is_any = notes_is_due(&box->notes[i]);
    return is_any;
}

int audit_store_write_notes(struct store *store, struct err *err) {
    struct audit_notes *box = &store_audit_side(store)->notes;
    struct round *round = NULL;
    (void)pthread_mutex_lock(&box->lock);
    if (has_due(box))
        round = calloc(1, sizeof(*round));
    if (round)
        notes_collect(box, round);
    (void)pthread_mutex_unlock(&box->lock);
    if (!round)
        return 0;
    int rc = audit_store_append_batch(store, round->records, round->count, err);
    (void)pthread_mutex_lock(&box->lock);
    if (!rc)
        notes_settle(box, round);
    (void)pthread_mutex_unlock(&box->lock);
    for (size_t i = 0; i < round->count; i++)
        notes_forget(&round->copies[i]);
    free(round);
    return rc;
}
