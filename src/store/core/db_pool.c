/* The pool: a bounded set of connections opened when needed, with back-off while the database is away. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_pool.h"

#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backoff.h"
#include "clock.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"

#define CONNECTIONS_MAX 64
#define IDLE_CHECK_MS 5000 /* an idle connection older than this is pinged before use */
#define SILENT_MS 1500     /* asked this long ago, and nothing was heard on any connection since: the server hangs */
#define LOOK_MS 100        /* those who wait for a connection look so often whether the server still answers */
#define REFUSED_MS 15000   /* how long a refusal to write is told: longer than the time between two heartbeats */

static const struct backoff reconnect = {.first_ms = 100, .max_ms = 1000, .jitter_percent = 30};

struct store {
    struct store_options options; /* texts are ours */
    atomic_uint replica_id;
    struct audit_side *audit; /* not ours */
    pthread_mutex_t lock;     /* guards all below */
    pthread_cond_t changed;   /* a connection was given back or closed, or an attempt to connect ended */
    struct db_conn *idle[CONNECTIONS_MAX];
    unsigned idle_count, open_count; /* open: idle, lent and being opened */
    struct db_conn *lent[CONNECTIONS_MAX];
    unsigned lent_count, opening_count;
    int64_t opening_since_ms; /* monotonic: since then attempts to connect are under way */
    struct db_pulse pulse;    /* needs no lock */
    bool has_sounder;         /* while the server is silent one thread tries, the others fail at once */
    bool is_probing;          /* the same while it is away */
    unsigned failures;        /* attempts to connect that failed in a row */
    int64_t retry_at_ms;      /* monotonic: no attempt before */
    int64_t away_since_ms;    /* wall clock; 0: not away */
    struct err last_failure;  /* why */
    enum store_state state;   /* at the last look */
    int64_t state_since_ms;   /* wall clock */
};

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void init_library(void) {
    (void)mysql_library_init(0, NULL, NULL); /* the implicit call in mysql_init is not thread-safe */
}

void store_global_done(void) {
    mysql_library_end();
}

void store_thread_begin(void) {
    (void)mysql_thread_init();
}

void store_thread_end(void) {
    mysql_thread_end();
}

static int pool_check_options(const struct store_options *options, struct err *err) {
    if (!options->user || !*options->user)
        return err_set(err, ERR_CONFIG, "the database account has no name");
    if (!options->unix_socket && !options->host)
        return err_set(err, ERR_CONFIG, "neither a socket nor a host of the database is given");
    if (options->unix_socket && options->host)
        return err_set(err, ERR_CONFIG, "both a socket and a host of the database are given");
    if (options->host && !options->ca_file) {
        err_set(err, ERR_CONFIG, "the connection to the database at %s needs a CA file for TLS", options->host);
        return err_remedy(err, "set database.tls_ca_file, or use database.socket on the same machine");
    }
    if (options->connections_max > CONNECTIONS_MAX)
        return err_set(err, ERR_CONFIG, "more than %d database connections", CONNECTIONS_MAX);
    return 0;
}

static int pool_copy_text(const char *from, const char **to, struct err *err) {
    *to = str_dup(from);
    return from && !*to ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

static int pool_copy_options(struct store *store, const struct store_options *from, struct err *err) {
    struct store_options *to = &store->options;
    *to = *from;
    to->unix_socket = to->host = to->ca_file = to->database = to->user = to->password = NULL;
    to->port = from->port ? from->port : 3306;
    to->connections_max = from->connections_max ? from->connections_max : 8;
    to->connect_timeout_s = from->connect_timeout_s ? from->connect_timeout_s : 5;
    to->call_timeout_s = from->call_timeout_s ? from->call_timeout_s : 15;
    to->borrow_timeout_ms = from->borrow_timeout_ms ? from->borrow_timeout_ms : 5000;
    int rc = pool_copy_text(from->unix_socket, &to->unix_socket, err);
    rc = rc ? rc : pool_copy_text(from->host, &to->host, err);
    rc = rc ? rc : pool_copy_text(from->ca_file, &to->ca_file, err);
    rc = rc ? rc : pool_copy_text(from->database, &to->database, err);
    rc = rc ? rc : pool_copy_text(from->user, &to->user, err);
    rc = rc ? rc : pool_copy_text(from->password ? from->password : "", &to->password, err);
    return rc;
}

static void pool_init_locks(struct store *store) {
    pthread_condattr_t attributes;
    pthread_mutex_init(&store->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&store->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

int db_pool_new(const struct store_options *options, struct audit_side *audit, struct store **out, struct err *err) {
    _cleanup_(db_pool_free) struct store *store = NULL;
    int rc = pool_check_options(options, err);
    if (rc)
        return rc;
    (void)pthread_once(&library_once, init_library);
    store = calloc(1, sizeof(*store));
    if (!store)
        return err_set(err, ERR_NOMEM, "out of memory");
    pool_init_locks(store);
    store->state_since_ms = clock_wall_ms();
    store->audit = audit;
    rc = pool_copy_options(store, options, err);
    if (rc)
        return rc;
    *out = STEAL(store);
    return 0;
}

static void pool_free_text(const char *text) {
    union {
        const char *in;
        char *out;
    } owned = {.in = text};
    secret_free(owned.out);
}

void db_pool_free(struct store *store) {
    if (!store)
        return;
    while (store->idle_count)
        db_conn_close(store->idle[--store->idle_count]);
    pool_free_text(store->options.unix_socket);
    pool_free_text(store->options.host);
    pool_free_text(store->options.ca_file);
    pool_free_text(store->options.database);
    pool_free_text(store->options.user);
    pool_free_text(store->options.password);
    pthread_cond_destroy(&store->changed);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

void store_set_replica(struct store *store, unsigned replica_id) {
    atomic_store(&store->replica_id, replica_id);
}

unsigned store_get_replica(const struct store *store) {
    return atomic_load(&store->replica_id);
}

const char *store_replica_name(const struct store *store) {
    static _Thread_local char name[24];
    (void)snprintf(name, sizeof(name), "replica-%u", store_get_replica(store));
    return name;
}

struct audit_side *store_audit_side(struct store *store) {
    return store->audit;
}

int64_t db_pool_call_timeout_ms(const struct store *store) {
    return (int64_t)store->options.call_timeout_s * 1000;
}

static int64_t silence_ms(const struct store *store) {
    int64_t half_ms = db_pool_call_timeout_ms(store) / 2;
    return half_ms < SILENT_MS ? half_ms : SILENT_MS;
}

/* Under the lock: a server that is only slow with one thing answers others meanwhile. */
static bool pool_is_silent(struct store *store) {
    const int64_t before_ms = clock_mono_ms() - silence_ms(store);
    if (atomic_load_explicit(&store->pulse.heard_ms, memory_order_relaxed) > before_ms)
        return false;
    if (store->opening_count && store->opening_since_ms <= before_ms)
        return true;
    for (unsigned i = 0; i < store->lent_count; i++) {
        int64_t asked_ms = atomic_load_explicit(&store->lent[i]->asked_ms, memory_order_relaxed);
        if (asked_ms && asked_ms <= before_ms)
            return true;
    }
    return false;
}

int64_t store_away_since_ms(struct store *store) {
    pthread_mutex_lock(&store->lock);
    int64_t since_ms = store->away_since_ms;
    if (!since_ms && pool_is_silent(store))
        since_ms = clock_wall_ms() - silence_ms(store);
    pthread_mutex_unlock(&store->lock);
    return since_ms;
}

static int check_writable(struct store *store, struct err *err) {
    const int64_t refused_ms = atomic_load(&store->pulse.refused_ms);
    const unsigned number = atomic_load(&store->pulse.refused_errno);
    if (!refused_ms || clock_mono_ms() - refused_ms > REFUSED_MS)
        return 0;
    (void)err_set(err, db_errno_code(number), "%s", db_errno_text(number));
    return db_errno_remedy(number) ? err_remedy(err, "%s", db_errno_remedy(number)) : db_errno_code(number);
}

enum store_state store_get_state(struct store *store, int64_t *since_ms, struct err *why) {
    const int64_t away_ms = store_away_since_ms(store);
    enum store_state state = away_ms ? STORE_AWAY : check_writable(store, why) ? STORE_REFUSES : STORE_ANSWERS;
    pthread_mutex_lock(&store->lock);
    if (store->state != state)
        store->state_since_ms = away_ms ? away_ms : clock_wall_ms();
    store->state = state;
    *since_ms = store->state_since_ms;
    pthread_mutex_unlock(&store->lock);
    return state;
}

/* The real clock, also when tests fake the others: it bounds a wait on a condition. */
static struct timespec pool_deadline_after(long ms) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static long ms_until(const struct timespec *at) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)(at->tv_sec - now.tv_sec) * 1000 + (at->tv_nsec - now.tv_nsec) / 1000000;
}

/* Under the lock: the database did not answer what was asked at that time. That tells nothing if it has answered others since. */
static void note_away(struct store *store, int64_t asked_ms, const struct err *why) {
    if (atomic_load_explicit(&store->pulse.heard_ms, memory_order_relaxed) > asked_ms)
        return;
    if (!store->away_since_ms)
        store->away_since_ms = clock_wall_ms();
    store->failures++;
    store->retry_at_ms = clock_mono_ms() + backoff_delay_ms(&reconnect, store->failures, random_u32());
    store->last_failure = *why;
}

/* Under the lock: it did. */
static void note_answer(struct store *store) {
    store->away_since_ms = 0;
    store->failures = 0;
    store->retry_at_ms = 0;
}

/* Under the lock: what to tell those who come while the back-off runs or another thread is trying. */
static int refuse_while_away(struct store *store, struct err *err) {
    int64_t wait_ms = store->retry_at_ms - clock_mono_ms();
    if (err && !err->code) {
        *err = store->last_failure;
        err->retry_after_s = wait_ms > 0 ? (unsigned)((wait_ms + 999) / 1000) : 1;
    }
    return store->last_failure.code;
}

static int refuse_while_silent(struct err *err) {
    if (err && !err->code) {
        (void)err_set(err, ERR_DATABASE, "the database does not answer");
        err->retry_after_s = 1;
    }
    return ERR_DATABASE;
}

/* Under the lock: nobody asks a server that is known not to answer, but for one who tries. 0: go on. */
static int refuse_early(struct store *store, struct err *err) {
    if (store->failures && (store->is_probing || clock_mono_ms() < store->retry_at_ms))
        return refuse_while_away(store, err);
    bool has_room = store->idle_count || store->open_count < store->options.connections_max;
    if (!pool_is_silent(store) || (!store->has_sounder && has_room))
        return 0;
    return refuse_while_silent(err);
}

int store_check_answers(struct store *store, struct err *err) {
    int rc = 0;
    pthread_mutex_lock(&store->lock);
    /* a single lost connection may mean nothing: who comes next may try */
    bool is_open = store->failures == 1 && !store->is_probing && clock_mono_ms() >= store->retry_at_ms;
    if (store->failures && !is_open)
        rc = refuse_while_away(store, err);
    else if (pool_is_silent(store))
        rc = refuse_while_silent(err);
    pthread_mutex_unlock(&store->lock);
    return rc;
}

/* Under the lock. */
static void pool_lend(struct store *store, struct db_conn *conn, bool is_sounder) {
    conn->is_sounder = is_sounder;
    store->lent[store->lent_count++] = conn;
}

/* Under the lock. */
static void pool_take_back(struct store *store, struct db_conn *conn) {
    for (unsigned i = 0; i < store->lent_count; i++) {
        if (store->lent[i] != conn)
            continue;
        store->lent[i] = store->lent[--store->lent_count];
        break;
    }
    if (conn->is_sounder)
        store->has_sounder = conn->is_sounder = false;
}

/* Under the lock: what open_connection brought. */
static void note_opened(struct store *store, struct db_conn *conn, bool is_sounder) {
    store->is_probing = false;
    store->opening_count--;
    if (conn) {
        pool_lend(store, conn, is_sounder);
        note_answer(store);
        return;
    }
    if (is_sounder)
        store->has_sounder = false;
    store->open_count--;
}

/* Called and left without the lock, with open_count and opening_count raised for the new connection. */
static int open_connection(struct store *store, bool is_sounder, struct db_conn **out, struct err *err) {
    struct err why = {0};
    int64_t asked_ms = clock_mono_ms();
    int rc = db_conn_open(&store->options, &store->pulse, out, &why);
    pthread_mutex_lock(&store->lock);
    note_opened(store, rc ? NULL : *out, is_sounder);
    if (rc)
        note_away(store, asked_ms, &why);
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
    return err_move(err, rc, &why);
}

enum turn { TURN_TAKE, TURN_OPEN, TURN_REFUSED };

/* Under the lock: waits until there is an idle connection to take, room to open one, or a reason to give up. */
static enum turn pool_wait_for_turn(struct store *store, int *rc, struct err *err) {
    const struct timespec deadline = pool_deadline_after(store->options.borrow_timeout_ms);
    for (;;) {
        if (store->idle_count && !pool_is_silent(store))
            return TURN_TAKE;
        *rc = refuse_early(store, err);
        if (*rc)
            return TURN_REFUSED;
        if (store->idle_count)
            return TURN_TAKE;
        if (store->open_count < store->options.connections_max)
            return TURN_OPEN;
        long left_ms = ms_until(&deadline);
        if (left_ms <= 0) {
            *rc = err_set(err, ERR_BUSY, "all database connections are in use; try again shortly");
            return TURN_REFUSED;
        }
        struct timespec look_at = pool_deadline_after(left_ms < LOOK_MS ? left_ms : LOOK_MS);
        (void)pthread_cond_timedwait(&store->changed, &store->lock, &look_at);
    }
}

static int borrow_once(struct store *store, struct db_conn **out, struct err *err) {
    int rc = 0;
    pthread_mutex_lock(&store->lock);
    enum turn turn = pool_wait_for_turn(store, &rc, err);
    bool is_sounder = turn != TURN_REFUSED && pool_is_silent(store);
    if (is_sounder)
        store->has_sounder = true;
    if (turn == TURN_TAKE) {
        *out = store->idle[--store->idle_count];
        pool_lend(store, *out, is_sounder);
    }
    if (turn == TURN_OPEN) {
        store->open_count++;
        store->is_probing = store->failures != 0;
        if (!store->opening_count++)
            store->opening_since_ms = clock_mono_ms();
    }
    pthread_mutex_unlock(&store->lock);
    if (turn == TURN_OPEN)
        return open_connection(store, is_sounder, out, err);
    return rc;
}

int db_pool_borrow(struct store *store, struct db_conn **out, struct err *err) {
    struct db_conn *conn = NULL;
    for (;;) {
        int rc = borrow_once(store, &conn, err);
        if (rc)
            return rc;
        bool is_old = conn->idle_since_ms && clock_mono_ms() - conn->idle_since_ms > IDLE_CHECK_MS;
        if (!is_old || !db_conn_ping(conn, NULL))
            break;
        db_pool_give(store, conn); /* closes it and all idle ones: the next round opens a new one */
        conn = NULL;
    }
    conn->last_errno = 0;
    conn->has_answered = false;
    *out = conn;
    return 0;
}

/* Under the lock: moves the idle connections to `dead`, to be closed without the lock. */
static unsigned pool_take_idle(struct store *store, struct db_conn **dead) {
    unsigned count = store->idle_count;
    memcpy(dead, store->idle, count * sizeof(*dead));
    store->idle_count = 0;
    store->open_count -= count;
    return count;
}

static void give_broken(struct store *store, struct db_conn *conn) {
    struct db_conn *dead[CONNECTIONS_MAX];
    struct err why = {0};
    err_set(&why, db_errno_code(conn->last_errno), "%s", db_errno_text(conn->last_errno));
    pthread_mutex_lock(&store->lock);
    unsigned count = pool_take_idle(store, dead);
    pool_take_back(store, conn);
    store->open_count--;
    /* one that was idle or has answered may have been cut by a time-out of the server, a proxy or an administrator: only silence tells,
     * or the end of a new one that never answered; otherwise whoever opens the next one finds out */
    bool is_proven = conn->idle_since_ms || conn->has_answered;
    if (why.code == ERR_DATABASE && (conn->is_timed_out || !is_proven))
        note_away(store, conn->began_at_ms, &why);
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
    for (unsigned i = 0; i < count; i++)
        db_conn_close(dead[i]);
    db_conn_close(conn);
}

void db_pool_give(struct store *store, struct db_conn *conn) {
    if (conn->is_broken) {
        give_broken(store, conn);
        return;
    }
    conn->idle_since_ms = clock_mono_ms();
    atomic_store_explicit(&conn->asked_ms, 0, memory_order_relaxed);
    pthread_mutex_lock(&store->lock);
    pool_take_back(store, conn);
    store->idle[store->idle_count++] = conn;
    note_answer(store);
    pthread_cond_signal(&store->changed);
    pthread_mutex_unlock(&store->lock);
}
