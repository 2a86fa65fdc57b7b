/* Verifying the chain of audit lines, and what replicas note of each other for that. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "audit_store.h"
#include "cleanup.h"
#include "clock.h"
#include "db_stmt.h"
#include "secret.h"
#include "store_tx.h"
#include "str.h"

#define LOOK_EVERY_MS 10000
#define NOTE_EVERY_MS 3600000
#define HEADS_REASON_BYTES 501U /* what the column holds */

/* -- noting where other chains end --------------------------------------------------------------------------------- */

/* The end of another replica's chain. */
struct other {
    unsigned replica_id;
    struct audit_end end;
    bool is_new, is_changed; /* to this process */
    uint64_t noted_seq;      /* by it; 0: none */
};

struct looking {
    const struct audit_heads_done *done;
    unsigned own_id;
    uint8_t key[AUDIT_KEY_BYTES];
    struct other *items;
    size_t count;
    bool is_due;
};

/* What is not signed is not noted: it would bear witness against the chain when that is put right again. */
static int audit_verify_take_other(const struct db_row *row, void *arg, struct err *err) {
    struct looking *l = arg;
    const unsigned replica_id = (unsigned)db_row_number(row, 0);
    const struct audit_head_done *done = NULL;
    const struct audit_owner owner = {l->key, replica_id, AUDIT_END_HEAD};
    struct audit_end end;
    size_t n = 0;
    const uint8_t *head = db_row_bytes(row, 1, &n);
    struct other *other;
    if (!audit_mac_check(&owner, head, n, &end))
        return 0;
    for (size_t i = 0; i < l->done->count && !done; i++)
        if (l->done->items[i].replica_id == replica_id)
            done = &l->done->items[i];
    other = db_list_add(&l->items, &l->count, sizeof(*other), err);
    if (!other)
        return ERR_NOMEM;
    *other = (struct other){replica_id, end, !done, !done || done->seq != end.seq, done ? done->seq : 0};
    return 0;
}

static int heads_look(struct db_conn *conn, void *arg, struct err *err) {
    struct looking *l = arg;
    l->count = 0;
    l->is_due = false;
    int rc = db_query(conn, "SELECT id, audit_head FROM replicas WHERE id > 0 AND id <> ? ORDER BY id",
                      DB_ARGS(db_number(l->own_id)), "ib", audit_verify_take_other, l, err);
    for (size_t i = 0; i < l->count && !rc && !l->is_due; i++) {
        const struct other *other = &l->items[i];
        int64_t is_worth = other->is_new;
        if (!other->is_new && other->is_changed) /* notes of notes would go on for ever */
            rc = db_query_number(conn,
                                 "SELECT EXISTS (SELECT 1 FROM audit WHERE replica_id = ? AND seq > ? AND action <> "
                                 "'" AUDIT_ACTION_HEADS "')",
                                 DB_ARGS(db_number(other->replica_id), db_number((int64_t)other->noted_seq)), &is_worth, err);
        l->is_due = is_worth != 0;
    }
    return rc;
}

static int audit_verify_append_note(struct store *store, const char *reason, struct err *err) {
    const struct audit_record record = audit_record_make(
        NULL, &(struct audit_event){
                  .action = AUDIT_ACTION_HEADS, .object_kind = "audit", .object_id = AUDIT_HEADS_ID, .reason = reason});
    return audit_store_append(store, &record, err);
}

static int write_notes(struct store *store, const struct looking *l, struct err *err) {
    char reason[HEADS_REASON_BYTES] = "", hash[2 * AUDIT_NOTED_BYTES + 1];
    size_t len = 0;
    int rc = 0;
    for (size_t i = 0; i < l->count && !rc; i++) {
        const struct other *other = &l->items[i];
        if (!other->is_changed)
            continue;
        if (len + AUDIT_NOTED_TEXT_BYTES > sizeof(reason)) {
            rc = audit_verify_append_note(store, reason, err);
            len = 0;
        }
        str_hex(other->end.hash, AUDIT_NOTED_BYTES, hash);
        len += (size_t)snprintf(reason + len, sizeof(reason) - len, "%s%u:%" PRIu64 ":%s", len ? " " : "", other->replica_id,
                                other->end.seq, hash);
    }
    return rc ? rc : audit_verify_append_note(store, reason, err);
}

int audit_store_note_heads(struct store *store, bool is_end, struct err *err) {
    struct audit_heads_done *done = &store_audit_side(store)->heads;
    struct looking l = {.done = done, .own_id = store_get_replica(store)};
    struct audit_state sure;
    const int64_t now_ms = clock_mono_ms();
    bool is_new = false;
    if ((!is_end && now_ms < done->look_ms) || !audit_chain_peek(&store_audit_side(store)->chain, &sure, l.key))
        return 0;
    done->look_ms = now_ms + LOOK_EVERY_MS;
    int rc = store_read(store, heads_look, &l, err);
    for (size_t i = 0; i < l.count; i++)
        is_new = is_new || l.items[i].is_new;
    if (!rc && l.is_due && (is_new || is_end || now_ms - done->noted_ms >= NOTE_EVERY_MS)) {
        struct audit_head_done *items = calloc(l.count + 1, sizeof(*items)); /* never of no size */
        rc = items ? write_notes(store, &l, err) : err_set(err, ERR_NOMEM, "out of memory");
        for (size_t i = 0; i < l.count && !rc; i++)
            items[i] = (struct audit_head_done){l.items[i].replica_id, l.items[i].end.seq};
        if (!rc) {
            free(done->items);
            *done = (struct audit_heads_done){STEAL(items), l.count, clock_mono_ms(), done->look_ms};
        }
        free(items);
    }
    free(l.items);
    secret_wipe(l.key, sizeof(l.key));
    return rc;
}

/* -- rows that have none yet ------------------------------------------------------------------------------------------------------ */

struct new_rows {
    uint8_t key[AUDIT_KEY_BYTES];
    unsigned *ids;
    size_t count;
    int64_t lines; /* of all chains, before */
};

static int heads_take_id(const struct db_row *row, void *arg, struct err *err) {
    struct new_rows *rows = arg;
    unsigned *id = db_list_add(&rows->ids, &rows->count, sizeof(*id), err);
    if (!id)
        return ERR_NOMEM;
    *id = (unsigned)db_row_number(row, 0);
    return 0;
}

static int drop_noted(void *arg, const struct audit_noted *noted, struct err *err) {
    struct new_rows *rows = arg;
    (void)err;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->ids[i] == noted->replica_id)
            rows->ids[i] = rows->ids[--rows->count];
    return 0;
}

/* Was it done before? */
static int heads_are_signed(struct store_tx *tx, const struct new_rows *rows, bool *out, struct err *err) {
    uint8_t wanted[AUDIT_HASH_BYTES], mark[AUDIT_HASH_BYTES];
    size_t bytes = DB_NULL;
    int rc =
        db_query_row(store_tx_conn(tx), "SELECT rows_signed FROM audit_keys WHERE id = ? FOR UPDATE",
                     DB_ARGS(db_text(AUDIT_KEY_ID)), DB_INTO(DB_TO_BYTES(mark, &bytes)), "there is no key of the audit log", err);
    audit_sign_rows(rows->key, wanted);
    *out = !rc && bytes == sizeof(mark) && !memcmp(mark, wanted, sizeof(mark));
    return rc;
}

static int sign_rows(struct store_tx *tx, void *arg, struct err *err) {
    struct new_rows *rows = arg;
    const struct audit_end end = {0};
    uint8_t head[AUDIT_END_BYTES], mark[AUDIT_HASH_BYTES];
    bool is_done = false;
    int rc = heads_are_signed(tx, rows, &is_done, err);
    rows->count = 0;
    if (rc || is_done)
        return rc;
    rc = db_query_number(store_tx_conn(tx), "SELECT SUM(audit_seq) FROM replicas", DB_ARGS_NONE, &rows->lines, err);
    rc = rc ? rc
            : db_query(store_tx_conn(tx),
                       "SELECT id FROM replicas WHERE audit_head IS NULL AND audit_seq = 0"
                       " AND NOT EXISTS (SELECT 1 FROM audit WHERE replica_id = id)",
                       DB_ARGS_NONE, "i", heads_take_id, rows, err);
    if (!rc && rows->count)
        rc = audit_read_noted(store_tx_conn(tx), drop_noted, rows, err);
    for (size_t i = 0; i < rows->count && !rc; i++) {
        audit_mac_sign(&(struct audit_owner){rows->key, rows->ids[i], AUDIT_END_HEAD}, &end, head);
        rc = db_run(store_tx_conn(tx), "UPDATE replicas SET audit_head = ? WHERE id = ? AND audit_head IS NULL AND audit_seq = 0",
                    DB_ARGS(db_bytes(head, sizeof(head)), db_number(rows->ids[i])), NULL, err);
    }
    audit_sign_rows(rows->key, mark);
    return rc ? rc
              : db_run(store_tx_conn(tx), "UPDATE audit_keys SET rows_signed = ? WHERE id = ?",
                       DB_ARGS(db_bytes(mark, sizeof(mark)), db_text(AUDIT_KEY_ID)), NULL, err);
}

/* Where a chain was taken away together with the mark that each had one, this line is what is left to see. */
static int heads_tell(struct store *store, const struct new_rows *rows, struct err *err) {
    char reason[HEADS_REASON_BYTES] = "no line and no head was there yet, and a first head was given: replicas";
    size_t len = strlen(reason);
    for (size_t i = 0; i < rows->count && len + sizeof(" 65535") < sizeof(reason); i++)
        len += (size_t)snprintf(reason + len, sizeof(reason) - len, " %u", rows->ids[i]);
    const struct audit_record record = audit_record_make(
        NULL, &(struct audit_event){.action = AUDIT_ACTION_ACCEPT, .object_kind = "audit", .result = "ok", .reason = reason});
    return audit_store_append(store, &record, err);
}

int audit_store_sign_new(struct store *store, struct err *err) {
    struct new_rows rows = {.count = 0};
    struct audit_state sure;
    int rc = audit_chain_peek(&store_audit_side(store)->chain, &sure, rows.key)
                 ? store_tx(store, sign_rows, &rows, err)
                 : err_set(err, ERR_UNAVAILABLE, "the key of the audit log has not been read yet");
    if (!rc && rows.count && rows.lines)
        rc = heads_tell(store, &rows, err);
    free(rows.ids);
    secret_wipe(rows.key, sizeof(rows.key));
    return rc;
}

/* -- verifying: the walk ------------------------------------------------------------------------------------------- */

#define PAGE_LINES 500U
#define RESTORE "compare with a backup of the database, and find out who had access to it"

struct verify_walk {
    struct audit_verification *v;
    const uint8_t *key;
    struct audit_ends ends;
    uint64_t last_seq; /* of a line that was there before the ends were read */
    struct audit_noted
        *noted; /* what is known of this chain from elsewhere, by line; read before the ends, which cannot be older then */
    size_t noted_count, noted_at;
    uint64_t next; /* number of the line to come */
    uint8_t before[AUDIT_HASH_BYTES];
    unsigned rows; /* of the page */
    int64_t at_ms; /* of the line before */
};

static const char *const fault_names[] = {
    [AUDIT_FAULT_NONE] = "none",         [AUDIT_FAULT_REMOVED] = "removed", [AUDIT_FAULT_CHANGED] = "changed",
    [AUDIT_FAULT_INSERTED] = "inserted", [AUDIT_FAULT_HEAD] = "head",       [AUDIT_FAULT_BROKEN] = "broken",
};

const char *audit_fault_name(enum audit_fault fault) {
    return (size_t)fault < ARRAY_COUNT(fault_names) ? fault_names[fault] : "none";
}

/* -- what is found ----------------------------------------------------------------------------------------------------------- */

struct lines {
    uint64_t first, last;
};

__attribute__((format(printf, 4, 5))) static void set_fault(struct verify_walk *w, enum audit_fault fault, struct lines lines,
                                                            const char *fmt, ...) {
    struct audit_verification *v = w->v;
    va_list args;
    if (v->fault)
        return;
    v->fault = fault;
    v->fault_seq = lines.first;
    v->fault_end = lines.last;
    v->fault_at_ms = w->at_ms;
    va_start(args, fmt);
    (void)vsnprintf(v->text, sizeof(v->text), fmt, args);
    va_end(args);
    (void)snprintf(v->remedy, sizeof(v->remedy), "%s",
                   fault == AUDIT_FAULT_BROKEN
                       ? "look at the lines around it; what was there before can be found in a backup only"
                       : RESTORE);
}

static void fault_removed(struct verify_walk *w, uint64_t first, uint64_t last) {
    const struct lines lines = {first, last};
    if (first == last)
        set_fault(w, AUDIT_FAULT_REMOVED, lines, "line %" PRIu64 " was removed", first);
    else
        set_fault(w, AUDIT_FAULT_REMOVED, lines, "lines %" PRIu64 " to %" PRIu64 " were removed", first, last);
}

/* -- what is known from elsewhere ------------------------------------------------------------------------------------------------ */

#define WITNESS_BYTES 64

static const char *witness_of(const struct verify_walk *w, const struct audit_noted *noted, char out[WITNESS_BYTES]) {
    if (noted->by_replica == w->v->replica_id)
        return "this replica itself";
    (void)snprintf(out, WITNESS_BYTES, "replica %u, by its line %" PRIu64, noted->by_replica, noted->by_seq);
    return out;
}

static void fault_missing(struct verify_walk *w, uint64_t first, const struct audit_noted *noted) {
    char witness[WITNESS_BYTES];
    set_fault(w, AUDIT_FAULT_REMOVED, (struct lines){first, noted->seq},
              "lines %" PRIu64 " to %" PRIu64 " were removed, or the chain was set back: line %" PRIu64 " is known to %s", first,
              noted->seq, noted->seq, witness_of(w, noted, witness));
}

/* A chain that was set back to an older end and went on from there has another line in the place of a noted one, or, where somebody accepted
 * that, none: a restore of the whole database would have taken the note away, too. */
static void check_noted(struct verify_walk *w, uint64_t seq, const uint8_t *hash) {
    for (; w->noted_at < w->noted_count && w->noted[w->noted_at].seq <= seq; w->noted_at++) {
        const struct audit_noted *noted = &w->noted[w->noted_at];
        char witness[WITNESS_BYTES];
        if (noted->seq < seq)
            fault_missing(w, w->next, noted);
        else if (memcmp(noted->hash, hash, sizeof(noted->hash)) != 0)
            set_fault(w, AUDIT_FAULT_CHANGED, (struct lines){seq, seq},
                      "line %" PRIu64 " is not the one that is known to %s: the chain was set back, and went on from there", seq,
                      witness_of(w, noted, witness));
    }
}

/* -- one line ------------------------------------------------------------------------------------------------------------------ */

static const uint8_t zeros[AUDIT_HASH_BYTES];

static bool verify_fits(const struct verify_walk *w, const struct audit_image *line, const uint8_t *hash, const uint8_t *before) {
    uint8_t wanted[AUDIT_HASH_BYTES];
    audit_mac_line(w->key, line, before, wanted);
    return !memcmp(wanted, hash, sizeof(wanted));
}

/* It fits nowhere. */
static void verify_note_bad(struct verify_walk *w, const struct db_row *row, const struct audit_image *line,
                            const uint8_t *hash) {
    const struct lines here = {line->seq, line->seq};
    const bool begins = hash && verify_fits(w, line, hash, zeros);
    if (begins)
        w->at_ms = line->at_ms;
    if (begins && audit_row_is(row, AUDIT_ACTION_BREAK))
        set_fault(w, AUDIT_FAULT_BROKEN, here, "kaasd noticed at line %" PRIu64 ": %s", line->seq,
                  db_row_text(row, 2 + AUDIT_REASON));
    else if (begins)
        set_fault(w, AUDIT_FAULT_HEAD, here, "the chain begins anew at line %" PRIu64 ": its head had been removed", line->seq);
    else
        set_fault(w, AUDIT_FAULT_CHANGED, here, "line %" PRIu64 " is not what was written: it was changed or put in", line->seq);
}

static int walk_line(const struct db_row *row, void *arg, struct err *err) {
    struct verify_walk *w = arg;
    struct audit_image line;
    const uint8_t *hash = audit_row_line(row, w->v->replica_id, &line);
    /* before these two numbers are left out: lines that had been written were gone */
    const bool is_break = audit_row_is(row, AUDIT_ACTION_BREAK), is_accept = audit_row_is(row, AUDIT_ACTION_ACCEPT);
    (void)err;
    w->rows++;
    if (w->v->fault)
        return 0;
    if (line.seq != w->next && !is_break && !is_accept)
        fault_removed(w, w->next, line.seq - 1);
    else if (!hash || is_break || !verify_fits(w, &line, hash, w->before))
        verify_note_bad(w, row, &line, hash);
    else {
        check_noted(w, line.seq, hash);
        memcpy(w->before, hash, sizeof(w->before));
        w->v->lines++;
        w->next = line.seq + 1;
        w->at_ms = line.at_ms;
    }
    return 0;
}

/* -- the way ------------------------------------------------------------------------------------------------------------------- */

static void start_behind(struct verify_walk *w, const struct audit_end *end) {
    w->next = end->seq + 1;
    memcpy(w->before, end->hash, sizeof(w->before));
    while (w->noted_at < w->noted_count && w->noted[w->noted_at].seq <= end->seq)
        w->noted_at++;
}

/* Lines may have been removed by age since the ends were read: then there is a newer anchor. */
static int follow_anchor(struct db_conn *conn, struct verify_walk *w, bool *is_moved, struct err *err) {
    struct audit_ends now;
    int rc = audit_read_ends(conn, w->v->replica_id, w->key, &now, err);
    *is_moved = !rc && now.is_anchor_ok && now.anchor.seq >= w->next && now.anchor.seq > w->ends.anchor.seq;
    if (!*is_moved)
        return rc;
    w->ends.anchor = now.anchor;
    w->v->fault = AUDIT_FAULT_NONE;
    start_behind(w, &now.anchor);
    return 0;
}

static int walk_pages(struct db_conn *conn, struct verify_walk *w, struct err *err) {
    bool is_moved = false;
    int rc = 0;
    do {
        is_moved = false;
        if (w->v->lines >= w->v->limit)
            return 0;
        w->rows = 0;
        rc = db_query(
            conn, "SELECT " AUDIT_LINE_COLUMNS " FROM audit WHERE replica_id = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?",
            DB_ARGS(db_number(w->v->replica_id), db_number((int64_t)w->next), db_number((int64_t)w->ends.head.seq),
                    db_number(PAGE_LINES)),
            AUDIT_LINE_KINDS, walk_line, w, err);
        if (!rc && (w->v->fault == AUDIT_FAULT_REMOVED || (!w->rows && w->next <= w->ends.head.seq)))
            rc = follow_anchor(conn, w, &is_moved, err);
    } while (!rc && !w->v->fault && (w->rows || is_moved) && w->next <= w->ends.head.seq);
    return rc;
}

/* All lines up to the head have been looked at. */
static void verify_finish(struct verify_walk *w) {
    const struct audit_end *head = &w->ends.head;
    const struct lines behind = {head->seq + 1, w->last_seq};
    const struct audit_noted *last = w->noted_count ? &w->noted[w->noted_count - 1] : NULL;
    if (w->next <= head->seq)
        fault_removed(w, w->next, head->seq);
    else if (w->next == head->seq + 1 && memcmp(w->before, head->hash, sizeof(w->before)) != 0)
        set_fault(w, AUDIT_FAULT_HEAD, (struct lines){head->seq, head->seq}, "the head is not that of line %" PRIu64, head->seq);
    if (last && last->seq > head->seq)
        fault_missing(w, head->seq + 1, last);
    if (w->last_seq > head->seq)
        set_fault(w, AUDIT_FAULT_INSERTED, behind, "line %" PRIu64 " was put in: the last one that was written is %" PRIu64,
                  w->last_seq, head->seq);
    if (w->ends.last_seq > head->seq)
        fault_removed(w, head->seq + 1, w->ends.last_seq);
    w->v->is_complete = true;
}

/* -- where it begins ----------------------------------------------------------------------------------------------------------- */

/* The line that the part before ended with was good then; its hash is looked up. */
static int begin_behind(struct db_conn *conn, struct verify_walk *w, struct err *err) {
    struct audit_end end = {.seq = w->v->after_seq};
    bool is_there = false;
    int rc = audit_read_hash(conn, w->v->replica_id, end.seq, end.hash, &is_there, err);
    if (!rc && is_there)
        start_behind(w, &end);
    else if (!rc && w->ends.is_anchor_ok && w->ends.anchor.seq >= w->v->after_seq)
        start_behind(w, &w->ends.anchor);
    else if (!rc)
        fault_removed(w, w->v->after_seq, w->v->after_seq);
    return rc;
}

/* Nothing stands up to the old end, which without an anchor is line 0. */
static int verify_begin(struct db_conn *conn, struct verify_walk *w, struct err *err) {
    const uint64_t old_end = w->ends.anchor.seq;
    int64_t count = 0;
    int rc;
    if (w->v->after_seq)
        return begin_behind(conn, w, err);
    start_behind(w, &w->ends.anchor);
    rc = db_query_number(conn, "SELECT COUNT(*) FROM audit WHERE replica_id = ? AND seq <= ?",
                         DB_ARGS(db_number(w->v->replica_id), db_number((int64_t)old_end)), &count, err);
    if (!rc && count)
        set_fault(w, AUDIT_FAULT_INSERTED, (struct lines){0, old_end},
                  "a line up to line %" PRIu64 " was put in: all of those had been removed by age", old_end);
    return rc;
}

/* The head first: without one nothing is known of the newest lines. */
static void check_ends(struct verify_walk *w) {
    const struct lines all = {w->ends.last_seq, w->ends.last_seq};
    if (!w->ends.has_head)
        set_fault(w, AUDIT_FAULT_HEAD, (struct lines){w->ends.anchor.seq + 1, w->last_seq}, "%s",
                  "the head of the chain was removed");
    else if (!w->ends.is_head_ok)
        set_fault(w, AUDIT_FAULT_HEAD, all, "%s", "the head of the chain is not one that this installation signed");
    else if (w->ends.has_anchor && !w->ends.is_anchor_ok)
        set_fault(w, AUDIT_FAULT_HEAD, all, "%s", "where the oldest lines were removed is not signed by this installation");
    else if (w->ends.last_seq < w->ends.head.seq)
        set_fault(w, AUDIT_FAULT_HEAD, all, "the row of the replica has line %" PRIu64 " as the last one, its head line %" PRIu64,
                  w->ends.last_seq, w->ends.head.seq);
}

/* -- all of it ----------------------------------------------------------------------------------------------------------------- */

static int read_ends(struct db_conn *conn, struct verify_walk *w, struct err *err) {
    struct err why = {0};
    int rc = db_query_row(conn, "SELECT MAX(seq) FROM audit WHERE replica_id = ?", DB_ARGS(db_number(w->v->replica_id)),
                          DB_INTO(DB_TO(w->last_seq)), NULL, err);
    if (rc)
        return rc;
    rc = audit_read_ends(conn, w->v->replica_id, w->key, &w->ends, &why);
    if (rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    set_fault(w, AUDIT_FAULT_HEAD, (struct lines){0, w->last_seq}, "%s",
              "the row of this replica was removed, and with it the head");
    return 0;
}

static int audit_verify_walk_part(struct db_conn *conn, struct verify_walk *w, struct err *err) {
    int rc = read_ends(conn, w, err);
    if (!rc && !w->v->fault)
        check_ends(w);
    if (!rc && !w->v->fault)
        rc = verify_begin(conn, w, err);
    if (!rc && !w->v->fault)
        rc = walk_pages(conn, w, err);
    w->v->after_seq = w->next ? w->next - 1 : 0;
    if (!rc && (w->v->fault || w->next > w->ends.head.seq || !w->rows))
        verify_finish(w);
    return rc;
}

struct verifying {
    const struct audit_verification *wanted;
    struct audit_verification done;
    uint8_t key[AUDIT_KEY_BYTES];
    struct audit_noted own; /* what this process knows of its own chain; replica_id 0: nothing */
    struct audit_noted *noted;
    size_t noted_count;
};

/* A replica does not bear witness for itself in its own lines. */
static int verify_add_noted(void *arg, const struct audit_noted *noted, struct err *err) {
    struct verifying *call = arg;
    struct audit_noted *item;
    if (noted->replica_id != call->wanted->replica_id || !noted->seq || (noted->by_replica == noted->replica_id && noted->by_seq))
        return 0;
    item = db_list_add(&call->noted, &call->noted_count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    *item = *noted;
    return 0;
}

static int by_seq(const void *a, const void *b) {
    const struct audit_noted *one = a, *other = b;
    return (one->seq > other->seq) - (one->seq < other->seq);
}

static int verify_chain(struct db_conn *conn, void *arg, struct err *err) {
    struct verifying *call = arg;
    struct verify_walk w = {.v = &call->done, .key = call->key};
    int rc;
    call->done = (struct audit_verification){
        .replica_id = call->wanted->replica_id, .after_seq = call->wanted->after_seq, .limit = call->wanted->limit};
    call->noted_count = 0;
    rc = audit_read_noted(conn, verify_add_noted, call, err);
    if (!rc)
        rc = verify_add_noted(call, &call->own, err);
    if (rc)
        return rc;
    if (call->noted_count)
        qsort(call->noted, call->noted_count, sizeof(*call->noted), by_seq);
    w.noted = call->noted;
    w.noted_count = call->noted_count;
    rc = audit_verify_walk_part(conn, &w, err);
    w.v->head_seq = w.ends.head.seq;
    if (w.ends.is_head_ok)
        str_hex(w.ends.head.hash, AUDIT_HASH_BYTES, w.v->head);
    return rc;
}

/* What this process knows of its own chain, before the database is asked. */
static int look_at_chain(struct store *store, struct verifying *call, struct err *err) {
    const struct audit_owner owner = {call->key, store_get_replica(store), AUDIT_END_HEAD};
    struct audit_state sure;
    struct audit_end end;
    if (!audit_chain_peek(&store_audit_side(store)->chain, &sure, call->key))
        return err_set(err, ERR_UNAVAILABLE, "the key of the audit log has not been read yet");
    if (!sure.has_head || !audit_mac_check(&owner, sure.head, sizeof(sure.head), &end))
        return 0;
    call->own = (struct audit_noted){.replica_id = owner.replica_id, .by_replica = owner.replica_id, .seq = end.seq};
    memcpy(call->own.hash, end.hash, sizeof(call->own.hash));
    return 0;
}

int audit_store_verify(struct store *store, struct audit_verification *v, struct err *err) {
    struct verifying call = {.wanted = v};
    int rc = look_at_chain(store, &call, err);
    if (!rc)
        rc = store_read(store, verify_chain, &call, err);
    free(call.noted);
    secret_wipe(call.key, sizeof(call.key));
    if (!rc)
        *v = call.done;
    return rc;
}
