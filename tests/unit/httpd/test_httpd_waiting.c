/* Requests that wait because the client asked for it: their time limit, clients that go away meanwhile, the connection afterwards.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "httpd_fixture.h"

#include <sys/socket.h>
#include <unistd.h>

#define REQUEST "GET /wait HTTP/1.1\r\nHost: t\r\nX-Mark: kept\r\n\r\n"

static struct fixture fx;

static int set_up(void **state) {
    (void)state;
    fixture_init(&fx);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fixture_stop(&fx);
    return 0;
}

static int ask_to_wait(void) {
    int fd = client_connect(fx.port);
    client_send(fd, REQUEST);
    UNIT_WAIT_FOR(atomic_load(&fx.parked) != NULL);
    return fd;
}

static void run_parked(void) {
    worker_fn *run = atomic_exchange(&fx.parked, NULL);
    run(fx.parked_arg, false);
}

static void expect_answer(int fd) {
    struct reply r;
    client_read(fd, false, &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "slow 0 kept");
    reply_done(&r);
}

/* Twice: what is left of the first wait must not disturb the second. */
static void test_the_connection_is_kept(void **state) {
    (void)state;
    fixture_start(&fx);
    int fd = ask_to_wait();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fixture_stats(&fx).suspended, 1);
        run_parked();
        expect_answer(fd);
        client_send(fd, i ? "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n" : REQUEST);
        if (!i)
            UNIT_WAIT_FOR(atomic_load(&fx.parked) != NULL);
    }
    struct reply r;
    client_read(fd, false, &r);
    assert_string_equal(r.body, "fast");
    reply_done(&r);
    close(fd);
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 0);
    assert_int_equal(fixture_stats(&fx).gone, 0);
}

/* The library does not look at a suspended connection: without our own look it would stay until the wait ends. */
static void test_a_client_that_goes_away_is_noticed(void **state) {
    (void)state;
    fixture_start(&fx);
    int fd = ask_to_wait();
    close(fd);
    UNIT_WAIT_FOR(fixture_stats(&fx).gone == 1);
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 0);
    assert_int_equal(fixture_stats(&fx).suspended, 0);
    assert_int_equal(atomic_load(&fx.after), 0); /* whoever holds it lets go of it */
    run_parked();
    UNIT_WAIT_FOR(atomic_load(&fx.after) == 1);
    assert_int_equal(atomic_load(&fx.abandoned), 1);
    assert_int_equal(atomic_load(&fx.delivered), 0);
    assert_int_equal(atomic_load(&fx.slow_running), 0); /* no handler was run for nobody */
}

static void test_a_reset_is_noticed(void **state) {
    const struct linger at_once = {1, 0};
    (void)state;
    fixture_start(&fx);
    int fd = ask_to_wait();
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(fd);
    UNIT_WAIT_FOR(fixture_stats(&fx).gone == 1);
    run_parked();
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 0);
}

/* More bytes from the client are no sign that it has gone. */
static void test_pipelined_requests_wait_behind(void **state) {
    (void)state;
    fixture_start(&fx);
    int fd = ask_to_wait();
    client_send(fd, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n");
    run_parked();
    expect_answer(fd);
    struct reply r;
    client_read(fd, false, &r);
    assert_string_equal(r.body, "fast");
    reply_done(&r);
    close(fd);
}

/* A wait that ends at once, and then nobody works: the limit of slow work ends it. So the sweeper has looked at all connections. */
static void run_into_the_limit(void) {
    struct reply r;
    int fd = client_connect(fx.port);
    client_send(fd, "GET /wait?ms=1 HTTP/1.1\r\nHost: t\r\n\r\n");
    UNIT_WAIT_FOR(atomic_load(&fx.parked) != NULL);
    client_read(fd, false, &r);
    assert_int_equal(r.status, 504);
    reply_done(&r);
    run_parked();
    close(fd);
}

static void test_the_limit_of_slow_work_counts_from_the_end_of_the_wait(void **state) {
    (void)state;
    fx.options.slow_timeout_ms = 50; /* the wait may last for a minute */
    fixture_start(&fx);
    int fd = ask_to_wait();
    worker_fn *run = atomic_exchange(&fx.parked, NULL);
    void *arg = fx.parked_arg;
    for (unsigned i = 1; i <= 2; i++) { /* by the second one's end the round that ended the first is over */
        run_into_the_limit();
        assert_int_equal(fixture_stats(&fx).abandoned, i);
    }
    run(arg, false);
    expect_answer(fd);
    close(fd);
}

static void test_a_wait_that_is_not_ended_in_time(void **state) {
    (void)state;
    fx.options.slow_timeout_ms = 50;
    fixture_start(&fx);
    run_into_the_limit();
}

static void test_many_clients_that_go_away(void **state) {
    enum { COUNT = 60 };
    int fds[COUNT];
    worker_fn *runs[COUNT];
    void *args[COUNT];
    (void)state;
    fixture_start(&fx);
    for (int i = 0; i < COUNT; i++) {
        fds[i] = ask_to_wait();
        args[i] = fx.parked_arg;
        runs[i] = atomic_exchange(&fx.parked, NULL);
    }
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    for (int i = 0; i < COUNT; i++)
        runs[i](args[i], false); /* at the same time as the sweeper */
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 0);
    UNIT_WAIT_FOR(atomic_load(&fx.after) == COUNT);
}

static void test_stop_ends_waits(void **state) {
    (void)state;
    fixture_start(&fx);
    int fd = ask_to_wait();
    httpd_stop(fx.httpd, 1);
    struct reply r;
    client_read(fd, false, &r);
    assert_int_equal(r.status, 503);
    reply_done(&r);
    run_parked();
    close(fd);
    worker_pool_free(fx.workers);
    httpd_free(fx.httpd);
}

static void expect_allow(const char *request, int status, const char *allow) {
    struct reply r;
    client_ask(fx.port, request, &r);
    assert_int_equal(r.status, status);
    if (allow)
        assert_string_equal(reply_header(&r, "Allow"), allow);
    assert_null(reply_header(&r, "Access-Control-Allow-Origin"));
    assert_int_equal(r.body_len && status == 204, 0);
    reply_done(&r);
}

static void test_what_a_server_and_a_path_allow(void **state) {
    (void)state;
    fixture_start(&fx);
    expect_allow("OPTIONS * HTTP/1.1", 204, "GET, HEAD, POST, OPTIONS");
    expect_allow("OPTIONS /body HTTP/1.1", 204, "POST, OPTIONS");
    expect_allow("DELETE /body HTTP/1.1", 405, "POST, OPTIONS");
    expect_allow("OPTIONS /nothing HTTP/1.1", 404, NULL);
    expect_allow("GET * HTTP/1.1", 400, NULL);
    expect_allow("OPTIONS /things:count HTTP/1.1", 204, "POST, OPTIONS");
    expect_allow("OPTIONS /things%3acount HTTP/1.1", 204, "POST, OPTIONS");
    expect_allow("OPTIONS /things:other HTTP/1.1", 404, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_connection_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_client_that_goes_away_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_reset_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pipelined_requests_wait_behind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_limit_of_slow_work_counts_from_the_end_of_the_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_wait_that_is_not_ended_in_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_clients_that_go_away, set_up, tear_down),
        cmocka_unit_test_setup(test_stop_ends_waits, set_up),
        cmocka_unit_test_setup_teardown(test_what_a_server_and_a_path_allow, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
