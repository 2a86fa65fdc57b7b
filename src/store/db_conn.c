/* One connection: options, session set-up, failures. Pooling is in store.c, statements in db_stmt.c. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_conn.h"

#include <mysql.h>
#include <mysqld_error.h>
#include <string.h>

#include "clock.h"
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
