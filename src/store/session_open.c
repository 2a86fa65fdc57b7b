/* A new session and its line in the audit trail: one transaction of two round trips, which several share when they come at once. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lines that stand for themselves (refusals) are written along with sessions: on a Galera cluster each transaction costs a round of all nodes.
 * Where a principal has as many sessions as it may, nothing is written, and all is done once more in a transaction that ends old ones first. */
#include <stdio.h>
#include <stdlib.h>

#include "audit_side.h"
#include "audit_tx.h"
#include "group_commit.h"
#include "session_rows.h"
#include "session_store.h"
#include "session_tx.h"
#include "store_tx.h"

#define SESSION_OPEN_REASON_BYTES 160
#define SETTLE_TRIES 3 /* the row of the replica is another one than was known; with one process for each it never is twice */

/* What one caller wants written. */
struct opening {
    struct group_entry entry;               /* first: the group knows this part only */
    struct session_new row;                 /* without a session: the line alone */
    bool is_to_try_alone;                   /* it was written together with others, and one of them is at fault */
    char reason[SESSION_OPEN_REASON_BYTES]; /* why others end for it */
};

/* What is written in one transaction. */
struct session_open_batch {
    struct opening *const *items;
    size_t count;
    struct group_lead *lead; /* NULL: it is nobody's turn */
    bool makes_room;         /* old sessions end for those of the batch */
};

/* From `from` on, as many as one statement takes; sessions stand first. */
static size_t take_alike(const struct session_open_batch *batch, size_t from, struct session_new out[SESSION_ROWS_MAX]) {
    size_t n = 0;
    while (n < SESSION_ROWS_MAX && from + n < batch->count) {
        const struct session_new *row = &batch->items[from + n]->row;
        if (!row->opening.session || (n && !row->opening.once != !out[0].opening.once))
            break;
        out[n++] = *row;
    }
    return n;
}

static void pass_on(void *arg) {
    group_commit_pass(arg);
}

/* -- making room --------------------------------------------------------------------------------------------------------------- */

/* Lines about sessions that end, behind those of the batch. Texts are borrowed from it. */
struct end_lines {
    struct audit_record *items;
    size_t count;
};

static int add_lines(const struct opening *call, const struct session_ends *ends, struct end_lines *out, struct err *err) {
    for (size_t i = 0; i < ends->count; i++) {
        void *items = out->items;
        struct audit_record *line = db_list_add(&items, &out->count, sizeof(*line));
        out->items = items;
        if (!line)
            return err_set(err, ERR_NOMEM, "out of memory");
        *line = *call->row.opening.line;
        line->event.action = "session.end";
        line->event.source = source_name(ends->items[i].source);
        line->event.object_kind = line->event.object_id = line->event.object_name = NULL;
        line->event.result = err_slug(ERR_SESSION_ENDED);
        line->event.reason = call->reason;
    }
    return 0;
}

/* One by one: those of one principal in a batch may be more than it may have. */
static int write_with_room(struct store_tx *tx, struct opening *call, struct end_lines *lines, struct err *err) {
    const struct session_opening *opening = &call->row.opening;
    struct session_new row = call->row;
    struct session_ends ends = {0};
    int rc = opening->live_max ? session_tx_make_room(tx, opening->session, opening->live_max, &ends, err) : 0;
    (void)snprintf(call->reason, sizeof(call->reason),
                   "signed in again with %u sessions under way, as many as auth.sessions_per_principal allows",
                   opening->live_max);
    if (!rc)
        rc = add_lines(call, &ends, lines, err);
    free(ends.items);
    row.opening.live_max = 0; /* there is room */
    return rc ? rc : session_rows_write(tx, &row, 1, false, err);
}

/* -- writing --------------------------------------------------------------------------------------------------------------------- */

/* The sessions of the batch; *done is their number. */
static int write_sessions(struct store_tx *tx, const struct session_open_batch *batch, struct end_lines *ended, size_t *done,
                          struct err *err) {
    struct session_new rows[SESSION_ROWS_MAX];
    size_t n;
    int rc = 0;
    while (!rc && (n = take_alike(batch, *done, rows)) != 0) {
        n = batch->makes_room ? 1 : n;
        rc = batch->makes_room ? write_with_room(tx, batch->items[*done], ended, err)
                               : session_rows_write(tx, rows, n, *done == 0, err);
        *done += n;
    }
    return rc;
}

static int write_batch(struct store_tx *tx, void *arg, struct err *err) {
    const struct session_open_batch *batch = arg;
    struct end_lines ended = {0};
    size_t done = 0;
    int rc;
    if (batch->lead)
        store_tx_before_commit(tx, pass_on, batch->lead);
    rc = write_sessions(tx, batch, &ended, &done, err);
    for (; done < batch->count && !rc; done++)
        rc = audit_tx_append(tx, batch->items[done]->row.opening.line, 1, err);
    if (!rc)
        rc = audit_tx_append(tx, ended.items, ended.count, err);
    free(ended.items);
    return rc;
}

static int session_open_run_batch(struct store *store, struct session_open_batch *batch, struct err *err) {
    int rc = AUDIT_TX_UNSETTLED;
    if (!batch->items[0]->row.opening.session)
        return store_tx(store, write_batch, batch, err);
    for (unsigned i = 0; i < SETTLE_TRIES && rc == AUDIT_TX_UNSETTLED; i++) {
        rc = batch->makes_room ? SESSION_ROWS_FULL : store_tx_compound(store, write_batch, batch, err);
        batch->makes_room = rc == SESSION_ROWS_FULL;
        if (batch->makes_room)
            rc = store_tx(store, write_batch, batch, err);
        if (rc == AUDIT_TX_UNSETTLED) {
            int settled = audit_store_settle(store, err);
            rc = settled ? settled : rc;
        }
    }
    return rc == AUDIT_TX_UNSETTLED ? err_set(err, ERR_BUSY, "the row of this replica changes all the time") : rc;
}

static int write_alone(struct store *store, struct opening *call, struct err *err) {
    return session_open_run_batch(store, &(struct session_open_batch){.items = &call, .count = 1}, err);
}

/* Where the database is away or busy, all of them hear so. What else failed may be one's own fault: each tries alone then. */
static bool is_for_all(int rc) {
    return !rc || rc == ERR_DATABASE || rc == ERR_BUSY || rc == ERR_NOMEM;
}

/* Sessions first: the statement that writes them begins the transaction. */
static void sort_in(struct group_entry *const *entries, size_t count, struct opening **out) {
    size_t n = 0;
    for (unsigned is_line = 0; is_line < 2; is_line++) {
        for (size_t i = 0; i < count; i++) {
            struct opening *call = (struct opening *)(void *)entries[i];
            if (!call->row.opening.session == (is_line != 0))
                out[n++] = call;
        }
    }
}

static void write_group(void *arg, struct group_lead *lead, struct group_entry *const *entries, size_t count) {
    struct opening *items[GROUP_COMMIT_MAX] = {NULL};
    struct session_open_batch batch = {.items = items, .count = count, .lead = lead};
    struct err why = {0};
    int rc;
    sort_in(entries, count, items);
    rc = session_open_run_batch(arg, &batch, &why);
    for (size_t i = 0; i < count; i++) {
        items[i]->is_to_try_alone = count > 1 && !is_for_all(rc);
        entries[i]->rc = rc;
        entries[i]->err = why;
    }
}

static int write_opening(struct store *store, struct opening *call, struct err *err) {
    group_commit_run(store_group(store), &call->entry, write_group, store);
    if (call->is_to_try_alone)
        return write_alone(store, call, err);
    return err_move(err, call->entry.rc, &call->entry.err);
}

int session_store_open(struct store *store, const struct session_opening *opening, struct err *err) {
    _cleanup_free_ char *group_ids = NULL;
    struct opening call = {.row = {.opening = *opening}};
    int rc = group_set_pack(&opening->session->groups, &group_ids, err);
    call.row.group_ids = group_ids;
    return rc ? rc : write_opening(store, &call, err);
}

int audit_store_append(struct store *store, const struct audit_record *record, struct err *err) {
    struct opening call = {.row = {.opening = {.line = record}}};
    return write_opening(store, &call, err);
}
