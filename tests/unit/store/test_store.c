/* Pool and statements against a real server: set-up of a session, values there and back, borrowing, broken connections.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <mysql.h>
#include <pthread.h>

#include "blocked.h"
#include "clock.h"
#include "db_conn.h"
#include "db_stmt.h"
#include "store_tx.h"
#include "str.h"

static void test_options_refused(void **state) {
    struct store_options options = {.user = "x"};
    struct store *store = NULL;
    struct err err = {0};
    (void)state;
    ASSERT_CODE(store_new(&options, &store, &err), ERR_CONFIG, &err);
    options.unix_socket = "/s";
    options.host = "h";
    ASSERT_CODE(store_new(&options, &store, &err), ERR_CONFIG, &err);
    options.unix_socket = NULL;
    assert_int_equal(store_new(&options, &store, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "CA file"));
    assert_non_null(strstr(err.remedy, "database.tls_ca_file"));
    err_clear(&err);
    options.ca_file = "/ca";
    options.connections_max = 65;
    ASSERT_CODE(store_new(&options, &store, &err), ERR_CONFIG, &err);
    options.connections_max = 1;
    options.user = "";
    ASSERT_CODE(store_new(&options, &store, &err), ERR_CONFIG, &err);
    assert_null(store);
}

static void test_ping(void **state) {
    struct err err = {0};
    (void)state;
    struct store *store = fixture_runtime();
    assert_int_equal(store_away_since_ms(store), 0);
    ASSERT_OK(store_ping(store, &err), &err);
    assert_int_equal(store_away_since_ms(store), 0);
    store_free(store);
}

static void test_refused_logins(void **state) {
    struct store_options options = fixture_options("fixture_runtime", "wrong");
    struct store *store = NULL;
    struct err err = {0};
    (void)state;
    ASSERT_OK(store_new(&options, &store, &err), &err);
    assert_int_equal(store_ping(store, &err), ERR_DATABASE);
    assert_non_null(strstr(err.text, "refused the account"));
    assert_non_null(strstr(err.remedy, "password"));
    assert_null(strstr(err.detail, "wrong"));
    err_clear(&err);
    store_free(store);
    store = NULL;
    options = fixture_options("root", NULL);
    options.database = "there_is_no_such";
    ASSERT_OK(store_new(&options, &store, &err), &err);
    ASSERT_CODE(store_ping(store, &err), ERR_SCHEMA, &err);
    store_free(store);
}

static void test_away_and_back_off(void **state) {
    struct store_options options = fixture_options("root", NULL);
    struct store *store = NULL;
    struct err err = {0};
    (void)state;
    options.unix_socket = "/nonexistent/db.sock";
    ASSERT_OK(store_new(&options, &store, &err), &err);
    int64_t before_ms = clock_wall_ms();
    assert_int_equal(store_ping(store, &err), ERR_DATABASE);
    assert_true(err.remedy[0]);
    err_clear(&err);
    int64_t since_ms = store_away_since_ms(store);
    assert_true(since_ms >= before_ms && since_ms <= clock_wall_ms());
    /* more failures lengthen the pause; within it nobody tries, and is told when to come again */
    for (int i = 0; i < 200 && !err.retry_after_s; i++) {
        err_clear(&err);
        assert_int_equal(store_ping(store, &err), ERR_DATABASE);
    }
    assert_true(err.retry_after_s >= 1 && err.retry_after_s <= 3);
    assert_int_equal(store_away_since_ms(store), since_ms);
    store_free(store);
}

static void test_session_settings(void **state) {
    (void)state;
    /* what the server says about a session of ours: fixture_text uses the same connections */
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT @@session.time_zone", "+00:00"},
        {"SELECT @@session.tx_isolation", "READ-COMMITTED"},
        {"SELECT @@session.character_set_client", "utf8mb4"},
        {"SELECT @@session.autocommit + 0 = 1", "1"},
        {"SELECT @@session.sql_mode LIKE '%STRICT_ALL_TABLES%'", "1"},
        {"SELECT @@session.max_statement_time = 59", "1"},
        {"SELECT @@session.innodb_lock_wait_timeout", "20"},
    };
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        char *text = fixture_text(rows[i].sql);
        assert_string_equal(text, rows[i].want);
        free(text);
    }
}

/* As Connector/C 3.3.19 has it: binding a result sets the lengths of the row before to 0. */
my_bool __real_mysql_stmt_bind_result(MYSQL_STMT *stmt, MYSQL_BIND *binds);
my_bool __wrap_mysql_stmt_bind_result(MYSQL_STMT *stmt, MYSQL_BIND *binds);
my_bool __wrap_mysql_stmt_bind_result(MYSQL_STMT *stmt, MYSQL_BIND *binds) {
    for (unsigned i = 0; i < mysql_stmt_field_count(stmt); i++)
        if (binds[i].length)
            *binds[i].length = 0;
    return __real_mysql_stmt_bind_result(stmt, binds);
}

/* One value there and back. */
struct echo {
    struct db_arg arg;
    char *text;
    uint8_t *bytes;
    size_t count;
    int64_t number;
    int rows;
};

static int take_text(const struct db_row *row, void *arg, struct err *err) {
    struct echo *echo = arg;
    (void)err;
    echo->rows++;
    free(echo->text);
    echo->text = db_row_dup(row, 0);
    return 0;
}

static int echo_text(struct db_conn *conn, void *arg, struct err *err) {
    struct echo *echo = arg;
    return db_query(conn, "SELECT CAST(? AS CHAR)", (struct db_args){&echo->arg, 1}, "t", take_text, echo, err);
}

static void check_text(struct store *store, const char *text) {
    struct echo echo = {.arg = db_text(text)};
    struct err err = {0};
    ASSERT_OK(store_read(store, echo_text, &echo, &err), &err);
    assert_int_equal(echo.rows, 1);
    if (text)
        assert_string_equal(echo.text, text);
    else
        assert_null(echo.text);
    free(echo.text);
}

static void test_texts(void **state) {
    static const char *const texts[] = {"",
                                        "plain",
                                        "O'Neil \"x\" \\ % _ ; -- \n\t",
                                        "gr\xC3\xBCn",
                                        "\xF0\x9F\x9A\x80 rocket",
                                        " trailing ",
                                        "' OR 1=1; DROP TABLE clusters; --"};
    struct store *store = fixture_runtime();
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++)
        check_text(store, texts[i]);
    check_text(store, NULL);
    for (size_t n = 250; n < 260; n++) { /* around the first size of a column's buffer */
        char text[260];
        memset(text, 'x', n);
        text[n] = '\0';
        check_text(store, text);
    }
    store_free(store);
}

static void test_great_texts(void **state) {
    struct echo echo = {.rows = 0};
    struct err err = {0};
    char *great = malloc(DB_VALUE_BYTES_MAX + 2);
    struct store *store = fixture_runtime();
    (void)state;
    assert_non_null(great);
    memset(great, 'g', DB_VALUE_BYTES_MAX + 1);
    great[DB_VALUE_BYTES_MAX] = '\0';
    check_text(store, great);
    check_text(store, "short again");
    great[DB_VALUE_BYTES_MAX] = 'g';
    great[DB_VALUE_BYTES_MAX + 1] = '\0';
    echo.arg = db_text(great);
    ASSERT_CODE(store_read(store, echo_text, &echo, &err), ERR_TOO_LARGE, &err);
    assert_int_equal(echo.rows, 0);
    check_text(store, "and the connection is as good as before");
    free(great);
    store_free(store);
}

static int check_growing(const struct db_row *row, void *arg, struct err *err) {
    size_t *rows = arg, bytes = 0;
    const char *text = db_row_bytes(row, 1, &bytes);
    (void)err;
    ++*rows;
    assert_int_equal(db_row_number(row, 0), (int64_t)*rows);
    assert_int_equal(bytes, *rows % 2 ? *rows * 200 : *rows);
    assert_int_equal(strlen(text), bytes);
    const char letter[] = {(char)('a' + *rows % 26),
                           '\0'}; /* another in each row, so that no old buffer passes for the new one */
    assert_int_equal(strspn(text, letter), bytes);
    return 0;
}

static int read_growing(struct db_conn *conn, void *arg, struct err *err) {
    return db_query(conn, "SELECT seq, REPEAT(CHAR(97 + seq % 26), IF(seq % 2, seq * 200, seq)) FROM seq_1_to_40", DB_ARGS_NONE,
                    "it", check_growing, arg, err);
}

static void test_rows_of_growing_texts(void **state) {
    struct store *store = fixture_root(); /* the runtime account has no right to tables that the server makes up */
    struct err err = {0};
    size_t rows = 0;
    (void)state;
    ASSERT_OK(store_read(store, read_growing, &rows, &err), &err);
    assert_int_equal(rows, 40);
    store_free(store);
}

static int take_number(const struct db_row *row, void *arg, struct err *err) {
    struct echo *echo = arg;
    (void)err;
    echo->number = db_row_number(row, 0);
    echo->bytes = db_row_dup_bytes(row, 1, &echo->count);
    return 0;
}

static int echo_number(struct db_conn *conn, void *arg, struct err *err) {
    struct echo *echo = arg;
    const uint8_t blob[] = {0, 1, 0, 255, '\'', 0};
    return db_query(conn, "SELECT CAST(? AS SIGNED), CAST(? AS BINARY)", DB_ARGS(echo->arg, db_bytes(blob, sizeof(blob))), "ib",
                    take_number, echo, err);
}

static void test_numbers_and_bytes(void **state) {
    static const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1700000000000};
    struct store *store = fixture_runtime();
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(numbers); i++) {
        struct echo echo = {.arg = db_number(numbers[i])};
        ASSERT_OK(store_read(store, echo_number, &echo, &err), &err);
        assert_int_equal(echo.number, numbers[i]);
        assert_int_equal(echo.count, 6);
        assert_memory_equal(echo.bytes, "\0\1\0\377'\0", 6);
        free(echo.bytes);
    }
    store_free(store);
}

static int stop_early(const struct db_row *row, void *arg, struct err *err) {
    (void)row;
    ++*(int *)arg;
    return err_set(err, ERR_CONFLICT, "enough");
}

static int read_many(struct db_conn *conn, void *arg, struct err *err) {
    return db_query(conn, "SELECT seq FROM seq_1_to_5000", DB_ARGS_NONE, "i", stop_early, arg, err);
}

static int read_wrong(struct db_conn *conn, void *arg, struct err *err) {
    return db_query(conn, "SELECT 1, 2", DB_ARGS_NONE, "i", stop_early, arg, err);
}

static int run_wrong(struct db_conn *conn, void *arg, struct err *err) {
    (void)arg;
    return db_run(conn, "SELECT ?", DB_ARGS_NONE, NULL, err);
}

static void test_rows_left_over(void **state) {
    struct store *store = fixture_root();
    struct err err = {0};
    int rows = 0;
    (void)state;
    ASSERT_CODE(store_read(store, read_many, &rows, &err), ERR_CONFLICT, &err);
    assert_int_equal(rows, 1);
    ASSERT_CODE(store_read(store, read_wrong, &rows, &err), ERR_INTERNAL, &err);
    ASSERT_CODE(store_read(store, run_wrong, NULL, &err), ERR_INTERNAL, &err);
    check_text(store, "still in step");
    store_free(store);
}

static void test_borrowing(void **state) {
    struct store_options options = fixture_options("root", NULL);
    struct db_conn *one = NULL, *two = NULL, *three = NULL;
    struct store *store = NULL;
    struct err err = {0};
    (void)state;
    options.connections_max = 2;
    options.borrow_timeout_ms = 50;
    ASSERT_OK(store_new(&options, &store, &err), &err);
    ASSERT_OK(db_pool_borrow(store, &one, &err), &err);
    ASSERT_OK(db_pool_borrow(store, &two, &err), &err);
    assert_ptr_not_equal(one, two);
    ASSERT_CODE(db_pool_borrow(store, &three, &err), ERR_BUSY, &err);
    assert_null(three);
    db_pool_give(store, two);
    ASSERT_OK(db_pool_borrow(store, &three, &err), &err);
    assert_ptr_equal(three, two); /* taken again, not opened anew */
    three->is_broken = true;
    db_pool_give(store, three);
    ASSERT_OK(db_pool_borrow(store, &two, &err), &err); /* its place is free for a new one */
    db_pool_give(store, one);
    db_pool_give(store, two);
    store_free(store);
}

struct borrower {
    struct store *store;
    struct blocked thread;
};

static void *borrow_late(void *arg) {
    struct borrower *borrower = arg;
    struct db_conn *conn = NULL;
    struct err err = {0};
    store_thread_begin();
    blocked_begin(&borrower->thread);
    ASSERT_OK(db_pool_borrow(borrower->store, &conn, &err), &err);
    blocked_end(&borrower->thread);
    db_pool_give(borrower->store, conn);
    store_thread_end();
    return NULL;
}

static void test_waiter_is_woken(void **state) {
    struct store_options options = fixture_options("root", NULL);
    struct db_conn *conn = NULL;
    struct store *store = NULL;
    struct err err = {0};
    pthread_t thread;
    (void)state;
    options.connections_max = 1;
    options.borrow_timeout_ms = 60000;
    ASSERT_OK(store_new(&options, &store, &err), &err);
    for (int i = 0; i < 2; i++) { /* woken by a connection given back, and by one that broke */
        struct borrower borrower = {.store = store};
        ASSERT_OK(db_pool_borrow(store, &conn, &err), &err);
        assert_int_equal(pthread_create(&thread, NULL, borrow_late, &borrower), 0);
        BLOCKED_AWAIT(&borrower.thread);
        conn->is_broken = i == 1;
        db_pool_give(store, conn);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    store_free(store);
}

static void *ping_often(void *arg) {
    struct err err = {0};
    store_thread_begin();
    for (int i = 0; i < 100; i++)
        ASSERT_OK(store_ping(arg, &err), &err);
    store_thread_end();
    return NULL;
}

static void test_many_threads(void **state) {
    struct store_options options = fixture_options("root", NULL);
    struct store *store = NULL;
    struct err err = {0};
    pthread_t threads[8];
    (void)state;
    options.connections_max = 3;
    options.borrow_timeout_ms = 60000;
    ASSERT_OK(store_new(&options, &store, &err), &err);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ping_often, store), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    store_free(store);
}

/* Ends all connections of the runtime account, as a proxy or an administrator would. */
static void kill_runtime_connections(void) {
    for (;;) {
        static char sql[128];
        int64_t id =
            fixture_number("SELECT COALESCE(MAX(id), 0) FROM information_schema.processlist WHERE user = 'fixture_runtime'");
        if (!id)
            return;
        /* 1094, no such thread: it may have ended by itself since */
        (void)snprintf(sql, sizeof(sql), "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; KILL %lld; END",
                       (long long)id);
        fixture_exec(sql);
        UNIT_WAIT_FOR(
            fixture_number("SELECT COALESCE(MAX(id), 0) FROM information_schema.processlist WHERE user = 'fixture_runtime'") !=
            id);
    }
}

static int do_nothing(struct store_tx *tx, void *arg, struct err *err) {
    (void)tx;
    ++*(int *)arg;
    (void)err;
    return 0;
}

static void open_three(struct store *store) {
    struct db_conn *conns[3];
    struct err err = {0};
    for (size_t i = 0; i < UNIT_COUNT(conns); i++)
        ASSERT_OK(db_pool_borrow(store, &conns[i], &err), &err);
    for (size_t i = 0; i < UNIT_COUNT(conns); i++)
        db_pool_give(store, conns[i]);
}

static void test_killed_idle_connections(void **state) {
    struct store *store = fixture_runtime();
    struct err err = {0};
    int runs = 0;
    (void)state;
    open_three(store);
    kill_runtime_connections();
    ASSERT_OK(store_ping(store, &err), &err); /* the second try must not meet the next dead one */
    open_three(store);
    kill_runtime_connections();
    ASSERT_OK(store_tx(store, do_nothing, &runs, &err), &err);
    assert_int_equal(runs, 1);
    assert_int_equal(store_away_since_ms(store), 0);
    store_free(store);
}

static int be_cut_off(struct store_tx *tx, void *arg, struct err *err) {
    if (++*(int *)arg == 1)
        kill_runtime_connections();
    return db_conn_exec(store_tx_conn(tx), "DO 1", err);
}

/* On the first connection that the pool has opened, too: it has answered before, so the database is not away. */
static void test_a_fresh_connection_cut_off(void **state) {
    struct store *store = fixture_runtime();
    struct err err = {0};
    int runs = 0;
    (void)state;
    ASSERT_OK(store_tx(store, be_cut_off, &runs, &err), &err);
    assert_int_equal(runs, 2);
    assert_int_equal(store_away_since_ms(store), 0);
    store_free(store);
}

static int read_and_be_cut_off(struct db_conn *conn, void *arg, struct err *err) {
    int64_t *rows = arg;
    int64_t one = 0;
    int rc = db_query_number(conn, "SELECT 1", DB_ARGS_NONE, &one, err);
    *rows += one;
    kill_runtime_connections();
    return rc ? rc : db_query_number(conn, "SELECT 1", DB_ARGS_NONE, &one, err);
}

/* Rows that were handed over are not read a second time. */
static void test_a_read_cut_off_after_rows(void **state) {
    struct store *store = fixture_runtime();
    struct err err = {0};
    int64_t rows = 0;
    (void)state;
    open_three(store);
    assert_int_equal(store_read(store, read_and_be_cut_off, &rows, &err), ERR_DATABASE);
    assert_int_equal(rows, 1);
    assert_int_equal(store_away_since_ms(store), 0);
    store_free(store);
}

/* The limit that the store sets is one second below the client's, which a slow machine may need: here it is far below. */
static int run_sleep(struct db_conn *conn, void *arg, struct err *err) {
    int rc = db_conn_exec(conn, "SET SESSION max_statement_time = 1", err);
    return rc ? rc : db_query(conn, "SELECT SLEEP(30)", DB_ARGS_NONE, "i", stop_early, arg, err);
}

static int read_limit(struct db_conn *conn, void *arg, struct err *err) {
    return db_query_number(conn, "SELECT CAST(@@session.max_statement_time * 1000 AS SIGNED)", DB_ARGS_NONE, arg, err);
}

/* The server needs time to end a statement and to say so before the client gives up. */
static void test_the_server_gives_up_well_before_the_client(void **state) {
    static const unsigned limits[][2] = {{1, 666}, {2, 1333}, {3, 2000}, {4, 3000}, {15, 14000}, {600, 599000}}; /* s, ms */
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(limits); i++) {
        struct store_options options = fixture_options("fixture_runtime", FIXTURE_PASSWORD);
        struct store *store = NULL;
        struct err err = {0};
        int64_t limit_ms = 0;
        options.call_timeout_s = limits[i][0];
        ASSERT_OK(store_new(&options, &store, &err), &err);
        ASSERT_OK(store_read(store, read_limit, &limit_ms, &err), &err);
        assert_int_equal(limit_ms, limits[i][1]);
        store_free(store);
    }
}

static void test_slow_statement_is_stopped_by_server(void **state) {
    struct store *store = fixture_runtime();
    struct err err = {0};
    int rows = 0;
    (void)state;
    assert_int_equal(store_read(store, run_sleep, &rows, &err), ERR_DATABASE);
    assert_int_equal(rows, 0);
    assert_non_null(strstr(err.text, "in time"));
    assert_non_null(strstr(err.detail, "1969")); /* the server's own limit, not the client's */
    err_clear(&err);
    ASSERT_OK(store_ping(store, &err), &err);
    store_free(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_refused),
        cmocka_unit_test(test_ping),
        cmocka_unit_test(test_refused_logins),
        cmocka_unit_test(test_away_and_back_off),
        cmocka_unit_test(test_session_settings),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_great_texts),
        cmocka_unit_test(test_rows_of_growing_texts),
        cmocka_unit_test(test_numbers_and_bytes),
        cmocka_unit_test(test_rows_left_over),
        cmocka_unit_test(test_borrowing),
        cmocka_unit_test(test_waiter_is_woken),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_killed_idle_connections),
        cmocka_unit_test(test_a_fresh_connection_cut_off),
        cmocka_unit_test(test_a_read_cut_off_after_rows),
        cmocka_unit_test(test_the_server_gives_up_well_before_the_client),
        cmocka_unit_test(test_slow_statement_is_stopped_by_server),
    };
    return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
