/* Transactions: begin, body, change log, commit, and when to run the whole again. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_tx.h"

#include <assert.h>
#include <errno.h>
#include <mysqld_error.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backoff.h"
#include "clock.h"
#include "db_conn.h"
#include "db_stmt.h"
#include "str.h"
#include "uuid.h"

#define TX_ATTEMPTS_MAX 6
#define FIND_OUT_MS 5000 /* how long a COMMIT without answer is looked after */
#define MARK_FOUND 1     /* no ERR_*: the look ends, and is undone */

static const struct backoff tx_retry = {.first_ms = 20, .max_ms = 640, .jitter_percent = 75};

struct store_tx {
    struct store *store;
    struct db_conn *conn;
    unsigned attempt;       /* from 1 */
    int64_t until_ms;       /* monotonic: none begins behind it */
    struct change *changes; /* notes of this attempt */
    size_t changes_count;
    struct tx_hook {
        const struct store_tx_hooks *hooks;
        void *arg;
    } hooks[STORE_TX_HOOKS_MAX]; /* of this attempt */
    size_t hooks_count;
    bool is_last;               /* of this attempt: store_tx_last_conn was called */
    int64_t marked_at_ms;       /* created_at_ms of the row that bears the mark; 0: there is none */
    char mark[UUID_TEXT_BYTES]; /* stands in its last change_log row */
};

struct tx_plan {
    const char *begin; /* NULL: the body begins the transaction */
    store_tx_fn *fn;
    void *arg;
    bool is_read_only;
};

/* How an attempt ended. Unknown: COMMIT had no answer, or one that leaves it open. */
enum tx_end { TX_DONE, TX_FAILED, TX_AGAIN, TX_LOST, TX_UNKNOWN };

struct db_conn *store_tx_conn(struct store_tx *tx) {
    assert(!tx->is_last); /* a row may be waited for: that comes before */
    return tx->conn;
}

struct db_conn *store_tx_last_conn(struct store_tx *tx) {
    tx->is_last = true;
    return tx->conn;
}

unsigned store_tx_replica(const struct store_tx *tx) {
    return store_get_replica(tx->store);
}

struct store *store_tx_store(const struct store_tx *tx) {
    return tx->store;
}

void store_tx_hook(struct store_tx *tx, const struct store_tx_hooks *hooks, void *arg) {
    if (tx->hooks_count < STORE_TX_HOOKS_MAX)
        tx->hooks[tx->hooks_count++] = (struct tx_hook){hooks, arg};
}

void *store_tx_hooked(const struct store_tx *tx, const struct store_tx_hooks *hooks) {
    for (size_t i = 0; i < tx->hooks_count; i++)
        if (tx->hooks[i].hooks == hooks)
            return tx->hooks[i].arg;
    return NULL;
}

static int tx_call_finish(struct store_tx *tx, struct err *err) {
    int rc = 0;
    for (size_t i = tx->hooks_count; i-- > 0 && !rc;)
        if (tx->hooks[i].hooks->finish)
            rc = tx->hooks[i].hooks->finish(tx, tx->hooks[i].arg, err);
    return rc;
}

static void tx_call_before_commit(const struct store_tx *tx) {
    for (size_t i = tx->hooks_count; i-- > 0;)
        if (tx->hooks[i].hooks->before_commit)
            tx->hooks[i].hooks->before_commit(tx->hooks[i].arg);
}

static void tx_call_after_attempt(const struct store_tx *tx, bool is_committed) {
    for (size_t i = tx->hooks_count; i-- > 0;)
        if (tx->hooks[i].hooks->after_attempt)
            tx->hooks[i].hooks->after_attempt(tx->hooks[i].arg, is_committed);
}

static void tx_drop_hooks(struct store_tx *tx, bool is_committed) {
    while (tx->hooks_count) {
        const struct tx_hook *hook = &tx->hooks[--tx->hooks_count];
        if (hook->hooks->done)
            hook->hooks->done(hook->arg, is_committed);
    }
}

int store_tx_lock(struct store_tx *tx, const char *name, struct err *err) {
    return db_run(store_tx_conn(tx),
                  "INSERT INTO leases (name, holder, expires_at_ms) VALUES (CONCAT('lock:', ?), '', 1)"
                  " ON DUPLICATE KEY UPDATE expires_at_ms = expires_at_ms + 1",
                  DB_ARGS(db_text(name)), NULL, err);
}

static bool tx_is_noted(const struct store_tx *tx, enum change_kind kind, const char *object_id) {
    for (size_t i = 0; i < tx->changes_count; i++)
        if (tx->changes[i].kind == kind && !strcmp(tx->changes[i].object_id, object_id))
            return true;
    return false;
}

int store_tx_note_change(struct store_tx *tx, enum change_kind kind, const char *object_id, struct err *err) {
    size_t bytes = strlen(object_id) + 1;
    struct change change = {.kind = kind};
    if (bytes > sizeof(change.object_id))
        return err_set(err, ERR_UNPROCESSABLE, "the id of an object is longer than %zu bytes", sizeof(change.object_id) - 1);
    if (tx_is_noted(tx, kind, object_id))
        return 0;
    memcpy(change.object_id, object_id, bytes);
    struct change *slot = db_list_add(&tx->changes, &tx->changes_count, sizeof(*slot), err);
    if (!slot)
        return ERR_NOMEM;
    *slot = change;
    return 0;
}

struct noting {
    struct store_tx *tx;
    enum change_kind kind;
};

static int tx_note_row(const struct db_row *row, void *arg, struct err *err) {
    const struct noting *noting = arg;
    return store_tx_note_change(noting->tx, noting->kind, db_row_text(row, 0), err);
}

int store_tx_note_rows(struct store_tx *tx, enum change_kind kind, const char *sql, struct db_args args, struct err *err) {
    return db_query(store_tx_conn(tx), sql, args, "t", tx_note_row, &(struct noting){tx, kind}, err);
}

const char *store_tx_mark(struct store_tx *tx, int64_t now_ms) {
    tx->marked_at_ms = now_ms;
    uuid_new(tx->mark);
    return tx->mark;
}

static int write_changes(struct store_tx *tx, struct err *err) {
    static const char raise[] = "UPDATE replicas SET seq = LAST_INSERT_ID(seq + ?) WHERE id = ?";
    const unsigned replica = store_get_replica(tx->store);
    const int64_t count = (int64_t)tx->changes_count;
    if (!count)
        return 0;
    int rc =
        db_run_one(tx->conn, raise, DB_ARGS(db_number(count), db_number(replica)), "this replica is not in the database", err);
    if (rc)
        return rc;
    int64_t seq = (int64_t)db_last_value(tx->conn, raise) - count;
    const int64_t last_seq = seq + count, now_ms = clock_wall_ms();
    const char *mark = store_tx_mark(tx, now_ms);
    for (size_t i = 0; i < tx->changes_count && !rc; i++) {
        seq++;
        rc = db_run(tx->conn,
                    "INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms, tx_id) VALUES (?, ?, ?, ?, ?, ?)",
                    DB_ARGS(db_number(replica), db_number(seq), db_text(change_kind_name(tx->changes[i].kind)),
                            db_text(tx->changes[i].object_id), db_number(now_ms), db_text(seq == last_seq ? mark : NULL)),
                    NULL, err);
    }
    return rc;
}

static bool is_last_attempt(const struct store_tx *tx) {
    return tx->attempt >= TX_ATTEMPTS_MAX || clock_mono_ms() >= tx->until_ms;
}

/* After a failure the number that caused it is still in the connection; rolling back must not hide it. */
static enum tx_end roll_back(struct store_tx *tx) {
    const unsigned number = tx->conn->last_errno;
    if (number == ER_LOCK_WAIT_TIMEOUT)
        db_pool_tell_lock(tx->store, "lock_wait_timeout", tx->conn->last_sql);
    if (number == ER_LOCK_DEADLOCK && is_last_attempt(tx))
        db_pool_tell_lock(tx->store, "deadlock", tx->conn->last_sql);
    if (tx->conn->is_broken)
        return tx->conn->is_timed_out ? TX_FAILED : TX_LOST;
    (void)db_conn_exec(tx->conn, "ROLLBACK", NULL);
    return db_errno_is_transient(number) ? TX_AGAIN : TX_FAILED;
}

static enum tx_end store_tx_commit(struct store_tx *tx, const struct tx_plan *plan, int *rc, struct err *err) {
    struct err why = {0};
    *rc = db_conn_exec(tx->conn, "COMMIT", &why);
    if (!*rc)
        return TX_DONE;
    if (!plan->is_read_only && db_errno_is_open(tx->conn->last_errno)) { /* running it again could do things twice */
        *rc = err_set(err, ERR_DATABASE, "the database broke off while saving: the change may or may not have been made");
        err_remedy(err, "look whether it was made before trying again");
        err_detail(err, "%s", why.detail);
        tx->conn->is_broken = true;
        return TX_UNKNOWN;
    }
    (void)err_move(err, *rc, &why);
    return roll_back(tx);
}

static enum tx_end run_attempt(struct store_tx *tx, const struct tx_plan *plan, int *rc, struct err *err) {
    tx->changes_count = 0;
    tx->marked_at_ms = 0;
    tx->is_last = false;
    *rc = plan->begin ? db_conn_exec(tx->conn, plan->begin, err) : 0;
    if (!*rc)
        *rc = plan->fn(tx, plan->arg, err);
    if (!*rc)
        *rc = tx_call_finish(tx, err);
    if (!*rc)
        *rc = write_changes(tx, err);
    if (*rc)
        return roll_back(tx);
    tx_call_before_commit(tx); /* in the database others wait for this transaction now: they need not wait here */
    return store_tx_commit(tx, plan, rc, err);
}

static void sleep_ms(int64_t ms) {
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

static enum tx_end borrow_and_run(struct store_tx *tx, const struct tx_plan *plan, int *rc, struct err *err) {
    *rc = db_pool_borrow(tx->store, &tx->conn, err);
    if (*rc)
        return TX_FAILED;
    enum tx_end end = run_attempt(tx, plan, rc, err);
    tx_call_after_attempt(tx, end == TX_DONE);
    db_pool_give(tx->store, tx->conn);
    tx->conn = NULL;
    return end;
}

/* -- finding out how a COMMIT without answer ended ------------------------------------------------------------------------- */

/* Writes the row that the lost transaction wrote: on the same node this waits for its end, on another node of a Galera cluster one of
 * the two is undone. So once this is committed, its mark is there or never will be. */
static int store_tx_look_for_mark(struct store_tx *tx, void *arg, struct err *err) {
    const struct store_tx *lost = arg;
    const unsigned replica = store_get_replica(tx->store);
    int64_t found = 0;
    int rc = db_run_one(tx->conn, "UPDATE replicas SET heartbeat_at_ms = heartbeat_at_ms + 1 WHERE id = ?",
                        DB_ARGS(db_number(replica)), "this replica is not in the database", err);
    if (rc)
        return rc;
    rc = db_query_number(tx->conn, "SELECT COUNT(*) FROM change_log WHERE replica_id = ? AND created_at_ms = ? AND tx_id = ?",
                         DB_ARGS(db_number(replica), db_number(lost->marked_at_ms), db_text(lost->mark)), &found, err);
    return rc ? rc : found ? MARK_FOUND : 0;
}

/* Tries for a while, since the node that broke off may come back or another take its place. */
static enum tx_end store_tx_find_out(const struct store_tx *lost) {
    const struct tx_plan look = {.begin = "START TRANSACTION", .fn = store_tx_look_for_mark, .arg = (void *)(uintptr_t)lost};
    const int64_t until_ms = clock_mono_ms() + FIND_OUT_MS;
    for (unsigned attempt = 1; lost->marked_at_ms; attempt++) {
        struct store_tx tx = {.store = lost->store};
        int rc = 0;
        enum tx_end end = borrow_and_run(&tx, &look, &rc, NULL);
        if (end == TX_DONE)
            return TX_AGAIN;
        if (rc == MARK_FOUND)
            return TX_DONE;
        if (clock_mono_ms() >= until_ms)
            break;
        sleep_ms(backoff_delay_ms(&tx_retry, attempt, random_u32()));
    }
    return TX_UNKNOWN;
}

static int run_plan(struct store *store, const struct tx_plan *plan, struct err *err) {
    struct store_tx tx = {.store = store, .until_ms = clock_mono_ms() + db_pool_call_timeout_ms(store)};
    struct err why = {0};
    bool was_lost = false;
    int rc = 0;
    for (;;) {
        tx.attempt++;
        err_clear(&why);
        enum tx_end end = borrow_and_run(&tx, plan, &rc, &why);
        if (end == TX_UNKNOWN && clock_mono_ms() < tx.until_ms)
            end = store_tx_find_out(&tx);
        rc = end == TX_DONE ? 0 : rc;
        bool is_again = end == TX_AGAIN || (end == TX_LOST && !was_lost);
        if (!is_again || is_last_attempt(&tx))
            break;
        tx_drop_hooks(&tx, false);
        was_lost = was_lost || end == TX_LOST;
        if (end == TX_AGAIN)
            sleep_ms(backoff_delay_ms(&tx_retry, tx.attempt, random_u32()));
    }
    free(tx.changes);
    tx_drop_hooks(&tx, !rc);
    return err_move(err, rc, &why);
}

int store_tx(struct store *store, store_tx_fn *fn, void *arg, struct err *err) {
    return run_plan(store, &(struct tx_plan){.begin = "START TRANSACTION", .fn = fn, .arg = arg}, err);
}

int store_tx_compound(struct store *store, store_tx_fn *fn, void *arg, struct err *err) {
    return run_plan(store, &(struct tx_plan){.fn = fn, .arg = arg}, err);
}

struct statement {
    const char *sql;
    struct db_args args;
    uint64_t affected;
};

static int tx_run_statement(struct store_tx *tx, void *arg, struct err *err) {
    struct statement *s = arg;
    return db_run(tx->conn, s->sql, s->args, &s->affected, err);
}

int store_run(struct store *store, const char *sql, struct db_args args, uint64_t *affected, struct err *err) {
    struct statement s = {sql, args, 0};
    int rc = store_tx(store, tx_run_statement, &s, err);
    if (!rc && affected)
        *affected = s.affected;
    return rc;
}

struct snapshot {
    store_tx_fn *fn;
    void *arg;
};

/* The isolation level is for the next transaction only, so it is set inside the attempt, and the transaction begun anew. */
static int run_snapshot(struct store_tx *tx, void *arg, struct err *err) {
    struct snapshot *snapshot = arg;
    int rc = db_conn_exec(tx->conn, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", err);
    return rc ? rc : snapshot->fn(tx, snapshot->arg, err);
}

int store_tx_snapshot(struct store *store, store_tx_fn *fn, void *arg, struct err *err) {
    struct snapshot snapshot = {fn, arg};
    const struct tx_plan plan = {
        .begin = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", .fn = run_snapshot, .arg = &snapshot, .is_read_only = true};
    return run_plan(store, &plan, err);
}

int store_read(struct store *store, store_read_fn *fn, void *arg, struct err *err) {
    for (bool is_second = false;; is_second = true) {
        struct db_conn *conn = NULL;
        struct err why = {0};
        int rc = db_pool_borrow(store, &conn, err);
        if (rc)
            return rc;
        rc = fn(conn, arg, &why);
        /* once it has answered, rows may have been handed over and statements run: not a second time */
        bool is_stale = rc && conn->is_broken && conn->idle_since_ms && !conn->has_answered && !conn->is_timed_out;
        db_pool_give(store, conn);
        if (is_stale && !is_second)
            continue;
        return err_move(err, rc, &why);
    }
}

static int store_tx_ping(struct db_conn *conn, void *arg, struct err *err) {
    (void)arg;
    return db_conn_ping(conn, err);
}

int store_ping(struct store *store, struct err *err) {
    return store_read(store, store_tx_ping, NULL, err);
}

struct single_query {
    const char *sql;
    struct db_args args;
    struct db_into into; /* of one row */
    const char *what;    /* NULL: it need not be there */
    const char *columns; /* else, of any number: */
    db_row_fn *fn;
    void *arg;
};

static int run_single_query(struct db_conn *conn, void *arg, struct err *err) {
    const struct single_query *q = arg;
    if (!q->fn)
        return db_query_row(conn, q->sql, q->args, q->into, q->what, err);
    return db_query(conn, q->sql, q->args, q->columns, q->fn, q->arg, err);
}

int store_query_row(struct store *store, const char *sql, struct db_args args, struct db_into into, const char *what,
                    struct err *err) {
    return store_read(store, run_single_query, &(struct single_query){.sql = sql, .args = args, .into = into, .what = what}, err);
}

int store_query(struct store *store, const char *sql, struct db_args args, const char *columns, db_row_fn *fn, void *arg,
                struct err *err) {
    return store_read(store, run_single_query,
                      &(struct single_query){.sql = sql, .args = args, .columns = columns, .fn = fn, .arg = arg}, err);
}
