/* Verifying the chain of audit lines (audit_verify.h): the walk. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_chain.h"
#include "audit_side.h"
#include "audit_ends.h"
#include "audit_store.h"
#include "cleanup.h"
#include "db_stmt.h"
#include "secret.h"
#include "str.h"
#include "store_tx.h"

#define PAGE_LINES 500U
#define LINE_COLUMNS                                                                                                      \
    "seq, at_ms, action, principal_id, principal_name, source, object_kind, object_id, object_name, address, request_id," \
    " result, reason, acting_id, hash"
#define LINE_KINDS "iittttttttttttb"
#define HASH_COLUMN (2 + AUDIT_TEXTS)
#define RESTORE "compare with a backup of the database, and find out who had access to it"

struct walk {
    struct audit_verification *v;
    const uint8_t *key;
    struct audit_ends ends;
    uint64_t last_seq;  /* of a line that was there before the ends were read */
    uint64_t known_seq; /* what this process itself wrote last, for its own replica; 0: nothing */
    uint64_t next;      /* number of the line to come */
    uint64_t gap_seq;   /* first of the lines without a hash that came just now; 0: none did */
    uint8_t before[AUDIT_HASH_BYTES];
    bool is_begun;
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

__attribute__((format(printf, 4, 5))) static void set_fault(struct walk *w, enum audit_fault fault, struct lines lines,
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

static void fault_removed(struct walk *w, uint64_t first, uint64_t last) {
    const struct lines lines = {first, last};
    if (first == last)
        set_fault(w, AUDIT_FAULT_REMOVED, lines, "line %" PRIu64 " was removed", first);
    else
        set_fault(w, AUDIT_FAULT_REMOVED, lines, "lines %" PRIu64 " to %" PRIu64 " were removed", first, last);
}

/* -- one line ------------------------------------------------------------------------------------------------------------------ */

static void read_image(const struct walk *w, const struct db_row *row, struct audit_image *out) {
    *out = (struct audit_image){
        .replica_id = w->v->replica_id, .seq = (uint64_t)db_row_number(row, 0), .at_ms = db_row_number(row, 1)};
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        out->texts[i].data = db_row_bytes(row, 2 + i, &out->texts[i].bytes);
}

static bool fits(const struct walk *w, const struct audit_image *line, const uint8_t *hash, const uint8_t *before) {
    uint8_t wanted[AUDIT_HASH_BYTES];
    audit_mac_line(w->key, line, before, wanted);
    return !memcmp(wanted, hash, sizeof(wanted));
}

static void note_good(struct walk *w, const struct audit_image *line, const uint8_t *hash) {
    memcpy(w->before, hash, sizeof(w->before));
    w->is_begun = true;
    w->v->lines++;
    if (!w->v->first_seq)
        w->v->first_seq = line->seq;
    w->next = line->seq + 1;
    w->gap_seq = 0;
    w->at_ms = line->at_ms;
}

static void note_without_hash(struct walk *w, const struct audit_image *line) {
    if (!w->gap_seq)
        w->gap_seq = line->seq;
    w->next = line->seq + 1;
    w->v->unprotected++;
    w->v->unprotected_until_ms = line->at_ms;
}

static bool is_action(const struct db_row *row, const char *action) {
    return str_eq(db_row_text(row, 2 + AUDIT_ACTION), action);
}

/* It fits nowhere. */
static void note_bad(struct walk *w, const struct db_row *row, const struct audit_image *line, const uint8_t *hash) {
    static const uint8_t zeros[AUDIT_HASH_BYTES];
    const struct lines here = {line->seq, line->seq};
    if (fits(w, line, hash, zeros)) {
        w->at_ms = line->at_ms;
        if (is_action(row, AUDIT_ACTION_BREAK))
            set_fault(w, AUDIT_FAULT_BROKEN, here, "kaasd noticed at line %" PRIu64 ": %s", line->seq,
                      db_row_text(row, 2 + AUDIT_REASON));
        else
            set_fault(w, AUDIT_FAULT_HEAD, here, "the chain begins anew at line %" PRIu64 ": its head had been removed",
                      line->seq);
    } else if (!w->is_begun) {
        set_fault(w, AUDIT_FAULT_REMOVED, here, "the lines before line %" PRIu64 ", or their hashes, were removed", line->seq);
    } else if (w->gap_seq) {
        set_fault(w, AUDIT_FAULT_CHANGED, (struct lines){w->gap_seq, line->seq - 1},
                  "line %" PRIu64 " has no hash, though the chain had begun: it was changed or put in", w->gap_seq);
    } else {
        set_fault(w, AUDIT_FAULT_CHANGED, here, "line %" PRIu64 " is not what was written: it was changed or put in", line->seq);
    }
}

/* Only the marker may stand behind lines without a hash: it alone was written by somebody who knew of them. */
static bool is_in_place(const struct walk *w, const struct db_row *row) {
    return !w->gap_seq || is_action(row, AUDIT_ACTION_RESUME);
}

static int walk_line(const struct db_row *row, void *arg, struct err *err) {
    static const uint8_t zeros[AUDIT_HASH_BYTES];
    struct walk *w = arg;
    struct audit_image line;
    size_t n = 0;
    const uint8_t *hash = db_row_bytes(row, HASH_COLUMN, &n);
    const bool is_break = is_action(row, AUDIT_ACTION_BREAK); /* numbers may be left out before it */
    (void)err;
    w->rows++;
    if (w->v->fault)
        return 0;
    read_image(w, row, &line);
    if (w->is_begun && line.seq != w->next && !is_break) {
        fault_removed(w, w->next, line.seq - 1);
    } else if (!hash || n != AUDIT_HASH_BYTES) {
        note_without_hash(w, &line);
    } else if (w->is_begun ? is_in_place(w, row) && fits(w, &line, hash, w->before)
                           : is_action(row, AUDIT_ACTION_BEGIN) && fits(w, &line, hash, zeros)) {
        note_good(w, &line, hash);
    } else {
        note_bad(w, row, &line, hash);
    }
    return 0;
}

/* -- the way ------------------------------------------------------------------------------------------------------------------- */

static int read_page(struct db_conn *conn, struct walk *w, struct err *err) {
    w->rows = 0;
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT " LINE_COLUMNS
                                              " FROM audit WHERE replica_id = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?",
                                       .args = DB_ARGS(db_number(w->v->replica_id), db_number((int64_t)w->next),
                                                       db_number((int64_t)w->ends.head.seq), db_number(PAGE_LINES)),
                                       .columns = LINE_KINDS,
                                       .row = walk_line,
                                       .arg = w},
                    err);
}

static void start_behind(struct walk *w, const struct audit_end *end) {
    w->next = end->seq + 1;
    memcpy(w->before, end->hash, sizeof(w->before));
    w->is_begun = true;
    w->gap_seq = 0;
}

/* Lines may have been removed by age since the ends were read: then there is a newer anchor. */
static int follow_anchor(struct db_conn *conn, struct walk *w, bool *is_moved, struct err *err) {
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

static int walk_pages(struct db_conn *conn, struct walk *w, struct err *err) {
    const uint64_t before = w->v->unprotected; /* from before there was a chain: counted, not walked */
    bool is_moved = false;
    int rc = 0;
    do {
        const uint64_t done = w->v->lines + w->v->unprotected - before;
        is_moved = false;
        if (done >= w->v->limit && !w->gap_seq)
            return 0;
        rc = read_page(conn, w, err);
        if (!rc && (w->v->fault == AUDIT_FAULT_REMOVED || (!w->rows && w->next <= w->ends.head.seq)))
            rc = follow_anchor(conn, w, &is_moved, err);
    } while (!rc && !w->v->fault && (w->rows || is_moved) && w->next <= w->ends.head.seq);
    return rc;
}

struct tail {
    uint64_t lines, hashes;
    int64_t last_ms;
};

static int take_tail(const struct db_row *row, void *arg, struct err *err) {
    struct tail *tail = arg;
    (void)err;
    *tail = (struct tail){(uint64_t)db_row_number(row, 0), (uint64_t)db_row_number(row, 1), db_row_number(row, 2)};
    return 0;
}

static int count_lines(struct db_conn *conn, const struct walk *w, struct lines lines, struct tail *out, struct err *err) {
    return db_query(conn,
                    &(struct db_query){.sql =
                                           "SELECT COUNT(*), COUNT(hash), MAX(at_ms) FROM audit WHERE replica_id = ? AND seq >= ?"
                                           " AND seq <= ?",
                                       .args = DB_ARGS(db_number(w->v->replica_id), db_number((int64_t)lines.first),
                                                       db_number((int64_t)lines.last)),
                                       .columns = "iii",
                                       .row = take_tail,
                                       .arg = out},
                    err);
}

static int count_unprotected(struct db_conn *conn, struct walk *w, struct lines lines, struct tail *out, struct err *err) {
    int rc = count_lines(conn, w, lines, out, err);
    if (rc || !out->lines)
        return rc;
    w->v->unprotected += out->lines;
    w->v->unprotected_until_ms = out->last_ms;
    return 0;
}

/* Behind the head only an older program may have written, and it has raised the number of the last line. */
static int check_tail(struct db_conn *conn, struct walk *w, struct err *err) {
    const struct lines behind = {w->ends.head.seq + 1, w->ends.last_seq};
    struct tail tail = {0};
    int rc = 0;
    if (w->ends.last_seq > w->ends.head.seq)
        rc = count_unprotected(conn, w, behind, &tail, err);
    if (rc)
        return rc;
    if (w->last_seq > w->ends.last_seq)
        set_fault(w, AUDIT_FAULT_INSERTED, (struct lines){w->ends.last_seq + 1, w->last_seq},
                  "line %" PRIu64 " was put in: the last one that was written is %" PRIu64, w->last_seq, w->ends.last_seq);
    if (tail.hashes)
        set_fault(w, AUDIT_FAULT_INSERTED, behind, "a line behind line %" PRIu64 ", the head, was put in", w->ends.head.seq);
    if (tail.lines < w->ends.last_seq - w->ends.head.seq)
        fault_removed(w, behind.first, behind.last);
    return 0;
}

/* All lines up to the head have been looked at. */
static int finish(struct db_conn *conn, struct walk *w, struct err *err) {
    const struct audit_end *head = &w->ends.head;
    if (w->next <= head->seq)
        fault_removed(w, w->next, head->seq);
    else if (memcmp(w->before, head->hash, sizeof(w->before)) != 0 && w->next == head->seq + 1)
        set_fault(w, AUDIT_FAULT_HEAD, (struct lines){head->seq, head->seq}, "the head is not that of line %" PRIu64, head->seq);
    w->v->is_complete = true;
    return w->v->fault ? 0 : check_tail(conn, w, err);
}

/* -- where it begins ----------------------------------------------------------------------------------------------------------- */

static int take_hash(const struct db_row *row, void *arg, struct err *err) {
    struct audit_end *end = arg;
    size_t n = 0;
    const uint8_t *hash = db_row_bytes(row, 1, &n);
    (void)err;
    end->seq = (uint64_t)db_row_number(row, 0);
    if (hash && n == sizeof(end->hash))
        memcpy(end->hash, hash, n);
    return 0;
}

/* The line that the part before ended with was good then; its hash is looked up. */
static int begin_behind(struct db_conn *conn, struct walk *w, struct err *err) {
    struct audit_end end = {0};
    int rc = db_query(conn,
                      &(struct db_query){.sql = "SELECT seq, hash FROM audit WHERE replica_id = ? AND seq = ?",
                                         .args = DB_ARGS(db_number(w->v->replica_id), db_number((int64_t)w->v->after_seq)),
                                         .columns = "ib",
                                         .row = take_hash,
                                         .arg = &end},
                      err);
    if (!rc && end.seq)
        start_behind(w, &end);
    else if (!rc && w->ends.is_anchor_ok && w->ends.anchor.seq >= w->v->after_seq)
        start_behind(w, &w->ends.anchor);
    else if (!rc)
        fault_removed(w, w->v->after_seq, w->v->after_seq);
    return rc;
}

static int check_below_anchor(struct db_conn *conn, struct walk *w, struct err *err) {
    struct tail tail = {0};
    int rc = count_lines(conn, w, (struct lines){0, w->ends.anchor.seq}, &tail, err);
    if (!rc && tail.lines)
        set_fault(w, AUDIT_FAULT_INSERTED, (struct lines){0, w->ends.anchor.seq},
                  "a line up to line %" PRIu64 " was put in: all of those had been removed by age", w->ends.anchor.seq);
    return rc;
}

/* Lines are numbered from 1. */
static int check_zero(struct db_conn *conn, struct walk *w, struct err *err) {
    struct tail tail = {0};
    int rc = count_lines(conn, w, (struct lines){0, 0}, &tail, err);
    if (!rc && tail.lines)
        set_fault(w, AUDIT_FAULT_INSERTED, (struct lines){0, 0}, "%s", "a line with number 0 was put in");
    return rc;
}

/* Before the first line with a hash there was no chain. */
static int begin_first(struct db_conn *conn, struct walk *w, struct err *err) {
    struct audit_end first = {0};
    struct tail tail = {0};
    int rc = db_query(
        conn,
        &(struct db_query){.sql = "SELECT seq, hash FROM audit WHERE replica_id = ? AND hash IS NOT NULL ORDER BY seq LIMIT 1",
                           .args = DB_ARGS(db_number(w->v->replica_id)),
                           .columns = "ib",
                           .row = take_hash,
                           .arg = &first},
        err);
    w->next = first.seq ? first.seq : w->ends.has_head ? 1 : w->last_seq + 1;
    if (!rc)
        rc = check_zero(conn, w, err);
    if (!rc && w->next > 1)
        rc = count_unprotected(conn, w, (struct lines){1, w->next - 1}, &tail, err);
    if (!rc && first.seq && !w->ends.has_head)
        set_fault(w, AUDIT_FAULT_HEAD, (struct lines){first.seq, w->last_seq}, "%s", "the head of the chain was removed");
    return rc;
}

static int begin(struct db_conn *conn, struct walk *w, struct err *err) {
    if (w->v->after_seq)
        return begin_behind(conn, w, err);
    if (!w->ends.is_anchor_ok)
        return begin_first(conn, w, err);
    start_behind(w, &w->ends.anchor);
    return check_below_anchor(conn, w, err);
}

/* The head first: without one nothing is known of the newest lines. */
static void check_ends(struct walk *w) {
    const struct lines all = {w->ends.last_seq, w->ends.last_seq};
    if (w->ends.has_head && !w->ends.is_head_ok)
        set_fault(w, AUDIT_FAULT_HEAD, all, "%s", "the head of the chain is not one that this installation signed");
    else if (w->ends.has_anchor && !w->ends.is_anchor_ok)
        set_fault(w, AUDIT_FAULT_HEAD, all, "%s", "where the oldest lines were removed is not signed by this installation");
    else if (w->known_seq > w->ends.head.seq)
        set_fault(w, AUDIT_FAULT_HEAD, (struct lines){w->ends.head.seq + 1, w->known_seq},
                  "the head of the chain is that of line %" PRIu64 ", but this replica has written line %" PRIu64,
                  w->ends.head.seq, w->known_seq);
}

/* -- all of it ----------------------------------------------------------------------------------------------------------------- */

static int read_ends(struct db_conn *conn, struct walk *w, struct err *err) {
    struct err why = {0};
    int64_t last_seq = 0;
    int rc = db_query(conn,
                      &(struct db_query){.sql = "SELECT MAX(seq) FROM audit WHERE replica_id = ?",
                                         .args = DB_ARGS(db_number(w->v->replica_id)),
                                         .columns = "i",
                                         .row = db_take_number,
                                         .arg = &last_seq},
                      err);
    if (rc)
        return rc;
    w->last_seq = (uint64_t)last_seq;
    rc = audit_read_ends(conn, w->v->replica_id, w->key, &w->ends, &why);
    if (rc == ERR_NOT_FOUND)
        set_fault(w, AUDIT_FAULT_HEAD, (struct lines){0, w->last_seq}, "%s",
                  "the row of this replica was removed, and with it the head");
    else if (rc && err)
        *err = why;
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

static int walk_part(struct db_conn *conn, struct walk *w, struct err *err) {
    int rc = read_ends(conn, w, err);
    if (!rc && !w->v->fault)
        check_ends(w);
    if (!rc && !w->v->fault)
        rc = begin(conn, w, err);
    if (!rc && !w->v->fault && w->ends.has_head)
        rc = walk_pages(conn, w, err);
    w->v->after_seq = w->next ? w->next - 1 : 0;
    if (rc || w->v->fault) {
        w->v->is_complete = true;
        return rc;
    }
    if (!w->ends.has_head) {
        w->v->is_complete = true;
        return 0;
    }
    return w->next > w->ends.head.seq || !w->rows ? finish(conn, w, err) : 0;
}

struct verifying {
    const struct audit_verification *wanted;
    struct audit_verification done;
    uint8_t key[AUDIT_KEY_BYTES];
    uint64_t known_seq;
};

static void tell_head(const struct walk *w) {
    w->v->head_seq = w->ends.head.seq;
    for (size_t i = 0; i < AUDIT_HASH_BYTES && w->ends.is_head_ok; i++)
        (void)snprintf(w->v->head + 2 * i, 3, "%02x", w->ends.head.hash[i]);
}

static int verify(struct db_conn *conn, void *arg, struct err *err) {
    struct verifying *call = arg;
    struct walk w = {.v = &call->done, .key = call->key, .known_seq = call->known_seq};
    int rc;
    call->done = (struct audit_verification){
        .replica_id = call->wanted->replica_id, .after_seq = call->wanted->after_seq, .limit = call->wanted->limit};
    rc = walk_part(conn, &w, err);
    tell_head(&w);
    return rc;
}

/* What this process knows of its own chain, before the database is asked. */
static int look_at_chain(struct store *store, struct verifying *call, struct err *err) {
    uint64_t sure_seq = 0;
    if (!audit_chain_peek(store_chain(store), &sure_seq, call->key))
        return err_set(err, ERR_UNAVAILABLE, "the key of the audit trail has not been read yet");
    if (call->wanted->replica_id == store_get_replica(store))
        call->known_seq = sure_seq;
    return 0;
}

int audit_store_verify(struct store *store, struct audit_verification *v, struct err *err) {
    struct verifying call = {.wanted = v};
    int rc = look_at_chain(store, &call, err);
    if (!rc)
        rc = store_read(store, verify, &call, err);
    secret_wipe(call.key, sizeof(call.key));
    if (!rc)
        *v = call.done;
    return rc;
}
