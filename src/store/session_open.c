/* A new session and its line in the audit trail: one transaction of two round trips, which several share when they come at once. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lines that stand for themselves (refusals) are written along with sessions: on a Galera cluster each transaction costs a round of all nodes. */
#include "audit_side.h"
#include "audit_tx.h"
#include "group_commit.h"
#include "session_rows.h"
#include "session_store.h"
#include "store_tx.h"

#define SETTLE_TRIES 3 /* the row of the replica is another one than was known; with one process for each it never is twice */

/* What one caller wants written. */
struct opening {
    struct group_entry entry; /* first: the group knows this part only */
    struct session_new row;   /* without a session: the line alone */
    bool is_to_try_alone;     /* it was written together with others, and one of them is at fault */
};

/* What is written in one transaction. */
struct batch {
    struct opening *const *items;
    size_t count;
    struct group_lead *lead; /* NULL: it is nobody's turn */
};

/* From `from` on, as many as one statement takes; sessions stand first. */
static size_t take_alike(const struct batch *batch, size_t from, struct session_new out[SESSION_ROWS_MAX]) {
    size_t n = 0;
    while (n < SESSION_ROWS_MAX && from + n < batch->count) {
        const struct session_new *row = &batch->items[from + n]->row;
        if (!row->session || (n && !row->once != !out[0].once))
            break;
        out[n++] = *row;
    }
    return n;
}

static void pass_on(void *arg) {
    group_commit_pass(arg);
}

static int write_batch(struct store_tx *tx, void *arg, struct err *err) {
    const struct batch *batch = arg;
    struct session_new rows[SESSION_ROWS_MAX];
    size_t done = 0, n;
    int rc = 0;
    if (batch->lead)
        store_tx_before_commit(tx, pass_on, batch->lead);
    while (!rc && (n = take_alike(batch, done, rows)) != 0) {
        rc = session_rows_write(tx, rows, n, done == 0, err);
        done += n;
    }
    for (; done < batch->count && !rc; done++)
        rc = audit_tx_append(tx, batch->items[done]->row.line, 1, err);
    return rc;
}

static int run_batch(struct store *store, struct batch *batch, struct err *err) {
    int rc = AUDIT_TX_UNSETTLED;
    if (!batch->items[0]->row.session)
        return store_tx(store, write_batch, batch, err);
    for (unsigned i = 0; i < SETTLE_TRIES && rc == AUDIT_TX_UNSETTLED; i++) {
        rc = store_tx_compound(store, write_batch, batch, err);
        if (rc == AUDIT_TX_UNSETTLED) {
            int settled = audit_store_settle(store, err);
            rc = settled ? settled : rc;
        }
    }
    return rc == AUDIT_TX_UNSETTLED ? err_set(err, ERR_BUSY, "the row of this replica changes all the time") : rc;
}

static int write_alone(struct store *store, struct opening *call, struct err *err) {
    return run_batch(store, &(struct batch){.items = &call, .count = 1}, err);
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
            if (!call->row.session == (is_line != 0))
                out[n++] = call;
        }
    }
}

static void write_group(void *arg, struct group_lead *lead, struct group_entry *const *entries, size_t count) {
    struct opening *items[GROUP_COMMIT_MAX] = {NULL};
    struct batch batch = {.items = items, .count = count, .lead = lead};
    struct err why = {0};
    int rc;
    sort_in(entries, count, items);
    rc = run_batch(arg, &batch, &why);
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
    if (call->entry.rc && err && !err->code)
        *err = call->entry.err;
    return call->entry.rc;
}

int session_store_open(struct store *store, const struct session *s, const struct audit_record *line, struct err *err) {
    return session_store_open_once(store, s, line, NULL, err);
}

int session_store_open_once(struct store *store, const struct session *s, const struct audit_record *line,
                            const struct session_once *once, struct err *err) {
    _cleanup_free_ char *group_ids = NULL;
    struct opening call = {.row = {.session = s, .line = line, .once = once}};
    int rc = group_set_pack(&s->groups, &group_ids, err);
    call.row.group_ids = group_ids;
    return rc ? rc : write_opening(store, &call, err);
}

int audit_store_append(struct store *store, const struct audit_record *record, struct err *err) {
    struct opening call = {.row = {.line = record}};
    return write_opening(store, &call, err);
}
