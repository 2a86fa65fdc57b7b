/* One connection: options, session set-up, failures. And the pool: a bounded set of them, opened when needed, with back-off while the database is away.
 * Statements are in db_stmt.c. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_conn.h"

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backoff.h"
#include "cleanup.h"
#include "clock.h"
#include "metric.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"

/* A statement that broke this close to the time-out ran into it. */
#define TIMEOUT_SLACK_MS 100

void db_conn_begin(struct db_conn *conn) {
    conn->began_at_ms = clock_mono_ms();
    atomic_store_explicit(&conn->asked_ms, conn->began_at_ms, memory_order_relaxed);
    conn->last_errno = 0;
    conn->last_key[0] = '\0';
}

void db_conn_heard(struct db_conn *conn, bool has_more) {
    int64_t now_ms = clock_mono_ms();
    conn->has_answered = true;
    if (!has_more)
        metric_observe(metric_get(METRIC_DATABASE_STATEMENT), now_ms - conn->began_at_ms);
    atomic_store_explicit(&conn->asked_ms, has_more ? now_ms : 0, memory_order_relaxed);
    if (conn->pulse)
        atomic_store_explicit(&conn->pulse->heard_ms, now_ms, memory_order_relaxed);
}

static void conn_note_refusal(struct db_conn *conn, unsigned number) {
    if (!conn->pulse || db_errno_code(number) != ERR_DATABASE)
        return;
    atomic_store_explicit(&conn->pulse->refused_errno, number, memory_order_relaxed);
    atomic_store_explicit(&conn->pulse->refused_ms, clock_mono_ms(), memory_order_relaxed);
}

int db_conn_fail(struct db_conn *conn, unsigned number, const char *message, struct err *err) {
    const char *remedy = db_errno_remedy(number);
    conn->last_errno = number;
    db_errno_key(message, conn->last_key);
    metric_add(metric_get(METRIC_DATABASE_ERRORS, err_slug(db_errno_code(number))), 1);
    if (db_errno_is_lost(number)) {
        conn->is_broken = true;
        conn->is_timed_out = clock_mono_ms() - conn->began_at_ms >= conn->call_timeout_ms - TIMEOUT_SLACK_MS;
        atomic_store_explicit(&conn->asked_ms, 0, memory_order_relaxed);
    } else {
        db_conn_heard(conn, false);
        conn_note_refusal(conn, number);
    }
    if (err && !err->code) {
        if (db_errno_code(number) == ERR_INTERNAL) /* who meets it can look it up, and say it when asking for help */
            err_set(err, ERR_INTERNAL, "internal error: the database answered with error %u", number);
        else
            err_set(err, db_errno_code(number), "%s", db_errno_text(number));
        err_detail(err, "error %u: %s", number, message);
    }
    if (remedy)
        err_remedy(err, "%s", remedy);
    return db_errno_code(number);
}

static int fail_from_mysql(struct db_conn *conn, struct err *err) {
    return db_conn_fail(conn, mysql_errno(conn->mysql), mysql_error(conn->mysql), err);
}

int db_conn_exec(struct db_conn *conn, const char *sql, struct err *err) {
    db_conn_begin(conn);
    if (mysql_real_query(conn->mysql, sql, strlen(sql)))
        return fail_from_mysql(conn, err);
    /* a statement with rows has no place here; drop them, so that the connection stays in step */
    MYSQL_RES *rows = mysql_use_result(conn->mysql);
    if (rows)
        mysql_free_result(rows);
    db_conn_heard(conn, false);
    return 0;
}

int db_conn_ping(struct db_conn *conn, struct err *err) {
    db_conn_begin(conn);
    if (mysql_ping(conn->mysql))
        return fail_from_mysql(conn, err);
    db_conn_heard(conn, false);
    return 0;
}

#define NO_TLS \
    "the server offers no TLS: give it a certificate (ssl_cert, ssl_key in its configuration), " DOC_PAGE("admin/install.md")

static void set_transport(MYSQL *mysql, const struct store_options *options) {
    const my_bool yes = 1;
    const unsigned protocol = options->unix_socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &protocol);
    if (options->unix_socket)
        return;
    mysql_optionsv(mysql, MYSQL_OPT_SSL_CA, options->ca_file);
    mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
}

static void conn_set_options(MYSQL *mysql, const struct store_options *options) {
    const unsigned no = 0; /* a server must not be able to ask for our files */
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &no);
    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &options->connect_timeout_s);
    mysql_optionsv(mysql, MYSQL_OPT_READ_TIMEOUT, &options->call_timeout_s);
    mysql_optionsv(mysql, MYSQL_OPT_WRITE_TIMEOUT, &options->call_timeout_s);
    set_transport(mysql, options);
}

/* Galera: reads see what was committed on any node before (wsrep_sync_wait; once per transaction, at its start), and a node that has
 * no part in the cluster is found out now, not by the first request: https://mariadb.com/kb/en/galera-cluster-system-variables/.
 * Without Galera both do nothing; a server built without it does not know the variable. */
static int join_cluster(struct db_conn *conn, struct err *err) {
    struct err why = {0};
    int rc = db_conn_exec(conn, "SET SESSION wsrep_sync_wait = 1", &why);
    if (rc && conn->last_errno != ER_UNKNOWN_SYSTEM_VARIABLE)
        return err_move(err, rc, &why);
    return db_conn_exec(conn, "DO 0", err);
}

/* The server must give up before the client does, or a lost statement may still take effect later: it gets a second to end the statement
 * and say so, of very short time-outs a third. */
static unsigned statement_limit_ms(unsigned call_timeout_s) {
    return call_timeout_s > 3 ? (call_timeout_s - 1) * 1000 : call_timeout_s * 2000 / 3;
}

static int set_session(struct db_conn *conn, const struct store_options *options, struct err *err) {
    const unsigned lock_s = options->call_timeout_s / 3, limit_ms = statement_limit_ms(options->call_timeout_s);
    _cleanup_free_ char *limits = str_format("SET SESSION innodb_lock_wait_timeout = %u, max_statement_time = %u.%03u",
                                             lock_s ? lock_s : 1, limit_ms / 1000, limit_ms % 1000);
    if (!limits)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc =
        db_conn_exec(conn,
                     "SET SESSION autocommit = 1, time_zone = '+00:00',"
                     " sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'",
                     err);
    if (!rc)
        rc = db_conn_exec(conn, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", err);
    if (!rc)
        rc = db_conn_exec(conn, limits, err);
    return rc ? rc : join_cluster(conn, err);
}

/* What a server says before TLS is not proved to be its own word; the client library hands it on inside of an error of its own. */
static unsigned told_before_tls(unsigned number, const char *message) {
    static const char mark[] = "cannot be verified: ";
    const char *at = number >= CR_MIN_ERROR ? strstr(message, mark) : NULL;
    const unsigned long told = at ? strtoul(at + sizeof(mark) - 1, NULL, 10) : 0;
    return told && told < CR_MIN_ERROR && db_errno_code((unsigned)told) != ERR_INTERNAL ? (unsigned)told : number;
}

static bool db_conn_is_refusal(unsigned number) {
    return number == ER_ACCESS_DENIED_ERROR || number == ER_ACCESS_DENIED_NO_PASSWORD_ERROR || number == ER_HOST_NOT_PRIVILEGED;
}

/* Says which server, and what to do for this account. */
static int fail_to_connect(struct db_conn *conn, const struct store_options *options, struct err *err) {
    const char *message = mysql_error(conn->mysql);
    const unsigned number = told_before_tls(mysql_errno(conn->mysql), message);
    if (db_errno_code(number) == ERR_DATABASE) {
        if (options->host)
            err_set(err, ERR_DATABASE, "%s (%s:%u)", db_errno_text(number), options->host, options->port);
        else
            err_set(err, ERR_DATABASE, "%s", db_errno_text(number));
        err_detail(err, "error %u: %s", number, message);
        if (db_conn_is_refusal(number) && options->account_remedy)
            err_remedy(err, "%s", options->account_remedy);
        if (number == CR_SSL_CONNECTION_ERROR && strstr(message, "server does not support it"))
            err_remedy(err, NO_TLS);
    }
    return db_conn_fail(conn, number, message, err);
}

static int connect_now(struct db_conn *conn, const struct store_options *options, struct err *err) {
    const char *host = options->unix_socket ? NULL : options->host;
    db_conn_begin(conn);
    conn->call_timeout_ms = (int64_t)options->connect_timeout_s * 1000;
    /* FOUND_ROWS: an UPDATE that changes nothing still counts the row it found */
    if (!mysql_real_connect(conn->mysql, host, options->user, options->password, options->database, options->port,
                            options->unix_socket, CLIENT_FOUND_ROWS))
        return fail_to_connect(conn, options, err);
    conn->call_timeout_ms = (int64_t)options->call_timeout_s * 1000;
    return set_session(conn, options, err);
}

int db_conn_open(const struct store_options *options, struct db_pulse *pulse, struct db_conn **out, struct err *err) {
    _cleanup_(db_conn_close) struct db_conn *conn = calloc(1, sizeof(*conn));
    if (!conn || !(conn->mysql = mysql_init(NULL)))
        return err_set(err, ERR_NOMEM, "out of memory");
    conn->pulse = pulse;
    conn_set_options(conn->mysql, options);
    int rc = connect_now(conn, options, err);
    if (rc)
        return rc;
    *out = STEAL(conn);
    return 0;
}

void db_conn_close(struct db_conn *conn) {
    if (!conn)
        return;
    for (size_t i = 0; i < conn->cached_count; i++) {
        mysql_stmt_close(conn->cached[i].stmt);
        free(conn->cached[i].sql);
    }
    free(conn->cached);
    if (conn->mysql)
        mysql_close(conn->mysql);
    free(conn);
}

char *db_conn_quote(struct db_conn *conn, const char *text) {
    size_t n = strlen(text);
    char *out = malloc(2 * n + 3);
    if (!out)
        return NULL;
    out[0] = '\'';
    unsigned long written = mysql_real_escape_string(conn->mysql, out + 1, text, n);
    out[written + 1] = '\'';
    out[written + 2] = '\0';
    return out;
}

unsigned long db_conn_version(struct db_conn *conn, bool *is_mariadb) {
    *is_mariadb = mariadb_connection(conn->mysql);
    return mysql_get_server_version(conn->mysql);
}

/* -- error numbers in one table: https://mariadb.com/kb/en/mariadb-error-codes/ ------------------------------------ */

enum trait { PLAIN = 0, TRANSIENT = 1, LOST = 2 };

struct errno_row {
    unsigned number;
    int code;
    unsigned traits;
    const char *text, *remedy;
};

#define AWAY "the database cannot be reached"
#define STOPPING "the database is stopping"
#define CONFLICTING "other changes were in the way; try again"
#define NO_RIGHT "the database account lacks a right that is needed"
#define LOGIN_REFUSED "the database refused the account"
#define OLD_SCHEMA "the database schema does not fit this version"
#define MIGRATE "run: kaasctl db migrate"
#define GRANT "give the account its rights with: kaasctl init; after an uninstall: systemctl disable --now kaasd"
#define HOST "make an account there for the name or address of this host, or for all ('%'); kaasctl init makes those of kaasd"
#define ACCOUNT "check database.user and the password file in the configuration"
#define CLUSTER "see that the node is connected with the others: SHOW STATUS LIKE 'wsrep_cluster_status'"
#define SERVER_UP "check that the database server runs and that the address in the configuration is right"

static const struct errno_row db_errno_rows[] = {
    {CR_CONNECTION_ERROR, ERR_DATABASE, LOST, AWAY, SERVER_UP},
    {CR_CONN_HOST_ERROR, ERR_DATABASE, LOST, AWAY, SERVER_UP},
    {CR_UNKNOWN_HOST, ERR_DATABASE, LOST, "the database's host name is unknown", SERVER_UP},
    {CR_SERVER_GONE_ERROR, ERR_DATABASE, LOST, AWAY, NULL},
    {CR_SERVER_LOST, ERR_DATABASE, LOST, "the database did not answer", NULL},
    {CR_SERVER_LOST_EXTENDED, ERR_DATABASE, LOST, "the database did not answer", NULL},
    {CR_SERVER_HANDSHAKE_ERR, ERR_DATABASE, LOST, "the database did not answer", NULL},
    {CR_SSL_CONNECTION_ERROR, ERR_DATABASE, LOST, "the TLS connection to the database failed",
     "check that database.tls_ca_file holds the CA of the server's certificate and that the host name is in it"},
    {CR_COMMANDS_OUT_OF_SYNC, ERR_INTERNAL, LOST, "internal error", NULL},
    {CR_MALFORMED_PACKET, ERR_DATABASE, LOST, "the database sent something that is not its protocol", NULL},
    {CR_OUT_OF_MEMORY, ERR_NOMEM, PLAIN, "out of memory", NULL},
    {ER_SERVER_SHUTDOWN, ERR_DATABASE, LOST, STOPPING, NULL},
    {ER_NORMAL_SHUTDOWN, ERR_DATABASE, LOST, STOPPING, NULL},
    {ER_CONNECTION_KILLED, ERR_DATABASE, LOST, "the database ended the connection", NULL},
    {ER_NEW_ABORTING_CONNECTION, ERR_DATABASE, LOST, "the database ended the connection", NULL},
    {ER_CON_COUNT_ERROR, ERR_DATABASE, LOST, "the database has no connection left",
     "raise max_connections of the database server"},
    {ER_TOO_MANY_USER_CONNECTIONS, ERR_DATABASE, LOST, "the database has no connection left for this account",
     "raise max_user_connections of the account"},
    {ER_HOST_IS_BLOCKED, ERR_DATABASE, LOST, "the database blocks this host after many failed connections",
     "run on the database server: mariadb-admin flush-hosts"},
    {ER_OUT_OF_RESOURCES, ERR_DATABASE, PLAIN, "the database is out of memory", NULL},
    {ER_RECORD_FILE_FULL, ERR_DATABASE, PLAIN, "the database's disk is full", "make room on the database server"},
    {ER_DISK_FULL, ERR_DATABASE, PLAIN, "the database's disk is full", "make room on the database server"},
    {ER_STATEMENT_TIMEOUT, ERR_DATABASE, PLAIN, "the database did not finish in time", NULL},
    {ER_MAX_PREPARED_STMT_COUNT_REACHED, ERR_DATABASE, PLAIN, "the database has no prepared statement left",
     "raise max_prepared_stmt_count of the database server"},
    /* Galera: the node is not (yet) part of the primary component; reported as "unknown command". Another node may be */
    {ER_UNKNOWN_COM_ERROR, ERR_DATABASE, LOST, "the database node is not part of its cluster at the moment", CLUSTER},
    /* Galera: the node fell out of the primary component while saving; others may have got it */
    {ER_ERROR_DURING_COMMIT, ERR_DATABASE, LOST, "the database broke off while saving", CLUSTER},
    {ER_QUERY_INTERRUPTED, ERR_DATABASE, PLAIN, "the database ended the statement", NULL},
    {ER_LOCK_DEADLOCK, ERR_BUSY, TRANSIENT, CONFLICTING, NULL}, /* Galera's certification failure too */
    {ER_LOCK_WAIT_TIMEOUT, ERR_BUSY, TRANSIENT, CONFLICTING, NULL},
    {ER_CHECKREAD, ERR_BUSY, TRANSIENT, CONFLICTING, NULL}, /* innodb_snapshot_isolation */
    {ER_OPTION_PREVENTS_STATEMENT, ERR_DATABASE, PLAIN, "the database server is read-only",
     "point the configuration at a server that takes writes"},
    {ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ERR_INTERNAL, PLAIN, "internal error", NULL},
    {ER_DBACCESS_DENIED_ERROR, ERR_DATABASE, PLAIN, NO_RIGHT, GRANT},
    {ER_TABLEACCESS_DENIED_ERROR, ERR_DATABASE, PLAIN, NO_RIGHT, GRANT},
    {ER_COLUMNACCESS_DENIED_ERROR, ERR_DATABASE, PLAIN, NO_RIGHT, GRANT},
    {ER_SPECIFIC_ACCESS_DENIED_ERROR, ERR_DATABASE, PLAIN, NO_RIGHT, GRANT},
    {ER_ACCESS_DENIED_ERROR, ERR_DATABASE, LOST, LOGIN_REFUSED, ACCOUNT},
    {ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ERR_DATABASE, LOST, LOGIN_REFUSED, ACCOUNT},
    {ER_HOST_NOT_PRIVILEGED, ERR_DATABASE, LOST, "the database has no account that may come from this host", HOST},
    {ER_BAD_DB_ERROR, ERR_SCHEMA, LOST, "there is no such database", "run: kaasctl init"},
    {ER_NO_SUCH_TABLE, ERR_SCHEMA, PLAIN, OLD_SCHEMA, MIGRATE},
    {ER_BAD_FIELD_ERROR, ERR_SCHEMA, PLAIN, OLD_SCHEMA, MIGRATE},
    {ER_UNKNOWN_TABLE, ERR_SCHEMA, PLAIN, OLD_SCHEMA, MIGRATE},
    {ER_DUP_ENTRY, ERR_EXISTS, PLAIN, "an object with this name or id exists already", NULL},
    {ER_DUP_ENTRY_WITH_KEY_NAME, ERR_EXISTS, PLAIN, "an object with this name or id exists already", NULL},
    {ER_NO_REFERENCED_ROW, ERR_CONFLICT, PLAIN, "an object that this refers to does not exist", NULL},
    {ER_NO_REFERENCED_ROW_2, ERR_CONFLICT, PLAIN, "an object that this refers to does not exist", NULL},
    {ER_ROW_IS_REFERENCED, ERR_CONFLICT, PLAIN, "other objects still refer to this one", NULL},
    {ER_ROW_IS_REFERENCED_2, ERR_CONFLICT, PLAIN, "other objects still refer to this one", NULL},
    {ER_DATA_TOO_LONG, ERR_UNPROCESSABLE, PLAIN, "a text is too long", NULL},
    {ER_WARN_DATA_OUT_OF_RANGE, ERR_UNPROCESSABLE, PLAIN, "a number is out of range", NULL},
    {ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ERR_UNPROCESSABLE, PLAIN, "a text is not valid UTF-8", NULL},
    {ER_NET_PACKET_TOO_LARGE, ERR_TOO_LARGE, LOST, "too large for the database",
     "raise max_allowed_packet of the database server"},
};

static const struct errno_row *db_errno_find(unsigned number) {
    for (size_t i = 0; i < ARRAY_COUNT(db_errno_rows); i++)
        if (db_errno_rows[i].number == number)
            return &db_errno_rows[i];
    return NULL;
}

/* Client library errors (CR_MIN_ERROR and up) that are not in the table still say that the connection is of no use. */
static bool is_client_error(unsigned number) {
    return number >= CR_MIN_ERROR && number <= CR_MYSQL_LAST_ERROR;
}

int db_errno_code(unsigned number) {
    const struct errno_row *row = db_errno_find(number);
    if (row)
        return row->code;
    return ERR_INTERNAL;
}

const char *db_errno_text(unsigned number) {
    const struct errno_row *row = db_errno_find(number);
    return row ? row->text : "internal error";
}

const char *db_errno_remedy(unsigned number) {
    const struct errno_row *row = db_errno_find(number);
    return row ? row->remedy : NULL;
}

static bool has_trait(unsigned number, enum trait trait) {
    const struct errno_row *row = db_errno_find(number);
    return row && (row->traits & trait);
}

bool db_errno_is_transient(unsigned number) {
    return has_trait(number, TRANSIENT);
}

bool db_errno_is_lost(unsigned number) {
    return db_errno_find(number) ? has_trait(number, LOST) : is_client_error(number);
}

bool db_errno_is_open(unsigned number) {
    return db_errno_is_lost(number) || number == ER_STATEMENT_TIMEOUT || number == ER_QUERY_INTERRUPTED || !db_errno_find(number);
}

static const char *db_conn_find_last(const char *text, const char *word) {
    const char *last = NULL;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        last = at;
    return last;
}

void db_errno_key(const char *message, char out[DB_KEY_BYTES]) {
    static const struct {
        const char *before;
        char quote;
    } marks[] = {{" for key '", '\''}, {" CONSTRAINT `", '`'}};
    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        const char *start = db_conn_find_last(message, marks[i].before);
        const char *end = start ? strchr(start += strlen(marks[i].before), marks[i].quote) : NULL;
        size_t n = end ? (size_t)(end - start) : 0;
        if (!end || n >= DB_KEY_BYTES)
            continue;
        memcpy(out, start, n);
        out[n] = '\0';
        return;
    }
}

/* -- the pool ------------------------------------------------------------------------------------------------------- */

#define CONNECTIONS_MAX 64
#define IDLE_CHECK_MS 5000 /* an idle connection older than this is pinged before use */
#define SILENT_MS 1500     /* asked this long ago, and nothing was heard on any connection since: the server hangs */
#define LOOK_MS 100        /* those who wait for a connection look so often whether the server still answers */
#define REFUSED_MS 15000   /* how long a refusal to write is told: longer than the time between two heartbeats */

static const struct backoff reconnect = {.first_ms = 100, .max_ms = 1000, .jitter_percent = 30};

struct store {
    struct store_options options; /* texts are ours */
    atomic_uint replica_id;
    struct audit_side *audit;                                         /* not ours */
    void (*on_lock)(void *arg, const char *problem, const char *sql); /* NULL: nobody listens */
    void *on_lock_arg;
    pthread_mutex_t lock;   /* guards all below */
    pthread_cond_t changed; /* a connection was given back or closed, or an attempt to connect ended */
    struct db_conn *idle[CONNECTIONS_MAX];
    unsigned idle_count, open_count; /* open: idle, lent and being opened */
    struct db_conn *lent[CONNECTIONS_MAX];
    unsigned lent_count, opening_count;
    unsigned waiting_count;   /* threads that wait for a connection */
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

void store_set_lock_listener(struct store *store, void (*fn)(void *arg, const char *problem, const char *sql), void *arg) {
    store->on_lock = fn;
    store->on_lock_arg = arg;
}

void db_pool_tell_lock(struct store *store, const char *problem, const char *sql) {
    if (store->on_lock)
        store->on_lock(store->on_lock_arg, problem, sql);
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

/* The texts of options, which a store has copies of. */
static const size_t option_texts[] = {offsetof(struct store_options, unix_socket), offsetof(struct store_options, host),
                                      offsetof(struct store_options, ca_file),     offsetof(struct store_options, database),
                                      offsetof(struct store_options, user),        offsetof(struct store_options, password)};

static const char **option_text_at(struct store_options *options, size_t i) {
    return (const char **)(void *)((char *)options + option_texts[i]);
}

static int pool_copy_options(struct store *store, const struct store_options *from, struct err *err) {
    struct store_options *to = &store->options, given = *from;
    if (!given.password)
        given.password = "";
    *to = given;
    to->port = from->port ? from->port : 3306;
    to->connections_max = from->connections_max ? from->connections_max : 8;
    to->connect_timeout_s = from->connect_timeout_s ? from->connect_timeout_s : 5;
    to->call_timeout_s = from->call_timeout_s ? from->call_timeout_s : 15;
    to->borrow_timeout_ms = from->borrow_timeout_ms ? from->borrow_timeout_ms : 5000;
    bool is_whole = true;
    for (size_t i = 0; i < ARRAY_COUNT(option_texts); i++) {
        const char *text = *option_text_at(&given, i);
        *option_text_at(to, i) = str_dup(text);
        is_whole = is_whole && (!text || *option_text_at(to, i));
    }
    return is_whole ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int db_pool_new(const struct store_options *options, struct audit_side *audit, struct store **out, struct err *err) {
    _cleanup_(db_pool_free) struct store *store = NULL;
    pthread_condattr_t attributes;
    int rc = pool_check_options(options, err);
    if (rc)
        return rc;
    (void)pthread_once(&library_once, init_library);
    store = calloc(1, sizeof(*store));
    if (!store)
        return err_set(err, ERR_NOMEM, "out of memory");
    pthread_mutex_init(&store->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&store->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    store->state_since_ms = clock_wall_ms();
    store->audit = audit;
    rc = pool_copy_options(store, options, err);
    if (rc)
        return rc;
    *out = STEAL(store);
    return 0;
}

void db_pool_free(struct store *store) {
    if (!store)
        return;
    while (store->idle_count)
        db_conn_close(store->idle[--store->idle_count]);
    for (size_t i = 0; i < ARRAY_COUNT(option_texts); i++)
        secret_free((char *)(uintptr_t)*option_text_at(&store->options, i));
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

void store_write_metrics(struct store *store, struct metric_page *page) {
    int64_t since_ms;
    const bool is_up = store_get_state(store, &since_ms, NULL) == STORE_ANSWERS;
    pthread_mutex_lock(&store->lock);
    const unsigned used = store->lent_count, idle = store->idle_count, opening = store->opening_count,
                   waiting = store->waiting_count;
    pthread_mutex_unlock(&store->lock);
    metric_sample(page, METRIC_DATABASE_UP, is_up);
    metric_sample(page, METRIC_DATABASE_CONNECTIONS, used, "used");
    metric_sample(page, METRIC_DATABASE_CONNECTIONS, idle, "idle");
    metric_sample(page, METRIC_DATABASE_CONNECTIONS, opening, "opening");
    metric_sample(page, METRIC_DATABASE_CONNECTIONS_MAX, store->options.connections_max);
    metric_sample(page, METRIC_DATABASE_WAITING, waiting);
}

/* The real clock, also when tests fake the others: it bounds a wait on a condition. */
static struct timespec pool_deadline_after(long ms) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
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

/* Called and left without the lock, with open_count and opening_count raised for the new connection. */
static int open_connection(struct store *store, bool is_sounder, struct db_conn **out, struct err *err) {
    struct err why = {0};
    int64_t asked_ms = clock_mono_ms();
    int rc = db_conn_open(&store->options, &store->pulse, out, &why);
    pthread_mutex_lock(&store->lock);
    store->is_probing = false;
    store->opening_count--;
    if (rc) {
        store->has_sounder = store->has_sounder && !is_sounder;
        store->open_count--;
        note_away(store, asked_ms, &why);
    } else {
        pool_lend(store, *out, is_sounder);
        note_answer(store);
    }
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
        store->waiting_count++;
        (void)pthread_cond_timedwait(&store->changed, &store->lock, &look_at);
        store->waiting_count--;
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

static void give_broken(struct store *store, struct db_conn *conn) {
    struct db_conn *dead[CONNECTIONS_MAX];
    struct err why = {0};
    err_set(&why, db_errno_code(conn->last_errno), "%s", db_errno_text(conn->last_errno));
    pthread_mutex_lock(&store->lock);
    const unsigned count = store->idle_count; /* to be closed without the lock */
    memcpy(dead, store->idle, count * sizeof(*dead));
    store->idle_count = 0;
    pool_take_back(store, conn);
    store->open_count -= count + 1;
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
