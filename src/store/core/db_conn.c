/* One connection: options, session set-up, failures. Pooling is in store.c, statements in db_stmt.c. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_conn.h"

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <stddef.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "err.h"
#include "secret.h"
#include "str.h"

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

static int connect_now(struct db_conn *conn, const struct store_options *options, struct err *err) {
    const char *host = options->unix_socket ? NULL : options->host;
    db_conn_begin(conn);
    conn->call_timeout_ms = (int64_t)options->connect_timeout_s * 1000;
    /* FOUND_ROWS: an UPDATE that changes nothing still counts the row it found */
    if (!mysql_real_connect(conn->mysql, host, options->user, options->password, options->database, options->port,
                            options->unix_socket, CLIENT_FOUND_ROWS))
        return fail_from_mysql(conn, err);
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
#define GRANT "give the account its rights with: kaasctl init"
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
    {ER_HOST_NOT_PRIVILEGED, ERR_DATABASE, LOST, "the database refuses connections from this host", ACCOUNT},
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
