/* Limits of time, connections, requests; stopping: what the HTTP library does not do by itself.
 * SPDX-License-Identifier: GPL-3.0-or-later
 * Limits are set low and their effect is waited for; nothing here asserts how fast anything is. */
#include "unit.h"

#include "httpd_fixture.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* After a stop of the test's own, for the tear-down. */
static void begin_anew(void) {
    worker_pool_free(fx.workers);
    httpd_free(fx.httpd);
    set_up(NULL);
    fixture_start(&fx);
}

/* Drips byte by byte, until the server ends it. */
static void drip(int fd, int most) {
    struct pollfd end = {.fd = fd, .events = POLLIN};
    for (int i = 0; i < most && !poll(&end, 1, 10); i++)
        client_send(fd, "x");
}

/* One byte now and then is activity to the library; its own time-out would never end this. */
static void test_dripping_headers_are_cut(void **state) {
    (void)state;
    fx.options.header_timeout_ms = 300;
    fx.options.idle_timeout_ms = 600000; /* not by the library's own limit */
    fixture_start(&fx);
    int fd = client_connect(fx.port);
    client_send(fd, "GET /fast HTTP/1.1\r\nX: ");
    drip(fd, 6000);
    UNIT_WAIT_FOR(fixture_stats(&fx).cut_header == 1);
    assert_true(client_is_closed(fd));
    close(fd);
}

static void test_a_dripping_body_is_cut(void **state) {
    (void)state;
    fx.options.body_timeout_ms = 300;
    fx.options.idle_timeout_ms = 600000; /* not by the library's own limit */
    fixture_start(&fx);
    int fd = client_connect(fx.port);
    client_send(fd, "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 900\r\n\r\n");
    drip(fd, 800);
    UNIT_WAIT_FOR(fixture_stats(&fx).cut_body == 1);
    assert_true(client_is_closed(fd));
    UNIT_WAIT_FOR(atomic_load(&fx.after) == 1);
    assert_int_equal(atomic_load(&fx.delivered), 0);
    close(fd);
}

static void test_a_client_that_never_reads_is_cut(void **state) {
    (void)state;
    fx.options.send_timeout_ms = 300;
    fx.options.idle_timeout_ms = 600000; /* not by the library's own limit */
    fixture_start(&fx);
    int fd = client_connect(fx.port);
    client_send(fd, "GET /big HTTP/1.1\r\nHost: t\r\n\r\n");
    UNIT_WAIT_FOR(fixture_stats(&fx).cut_send == 1);
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 0);
    close(fd);
}

static void test_idle_connections_are_closed(void **state) {
    struct reply r;
    (void)state;
    fx.options.idle_timeout_ms = 1000;
    fixture_start(&fx);
    int fd = client_connect(fx.port);
    client_send(fd, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n");
    client_read(fd, false, &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
    assert_true(client_is_closed(fd));
    close(fd);
}

/* The work takes as long as it likes; the client is answered at the deadline, and what the worker pool makes later is dropped. */
static void test_slow_work_past_its_deadline(void **state) {
    struct reply r;
    (void)state;
    fx.options.slow_timeout_ms = 200;
    fixture_start(&fx);
    fixture_gate(&fx, false);
    int fd = client_connect(fx.port);
    client_send(fd, "GET /slow HTTP/1.1\r\nHost: t\r\nX-Mark: late\r\n\r\n");
    client_read(fd, false, &r);
    assert_int_equal(r.status, 504);
    assert_string_equal(reply_header(&r, "X-Common"), "yes");
    reply_done(&r);
    assert_int_equal(fixture_stats(&fx).abandoned, 1);
    assert_int_equal(atomic_load(&fx.after), 0);              /* the worker pool still uses the request */
    client_send(fd, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n"); /* the connection lives on */
    client_read(fd, false, &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
    close(fd);
    UNIT_WAIT_FOR(atomic_load(&fx.after) == 1);
    fixture_gate(&fx, true);
    UNIT_WAIT_FOR(atomic_load(&fx.after) == 2);
    assert_int_equal(atomic_load(&fx.abandoned), 1);
    assert_int_equal(atomic_load(&fx.last_status), 504);
}

static void test_a_client_that_leaves_during_slow_work(void **state) {
    (void)state;
    fixture_start(&fx);
    fixture_gate(&fx, false);
    int fd = client_connect(fx.port);
    client_send(fd, "GET /slow HTTP/1.1\r\nHost: t\r\n\r\n");
    UNIT_WAIT_FOR(atomic_load(&fx.slow_running) == 1);
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
    close(fd); /* a reset */
    fixture_gate(&fx, true);
    UNIT_WAIT_FOR(atomic_load(&fx.after) == 1);
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 0);
    assert_int_equal(fixture_stats(&fx).slow_done, 1);
}

/* The library aborts the process when it is stopped with a suspended connection. */
static void test_stop_with_suspended_connections(void **state) {
    int fds[5];
    struct reply r;
    (void)state;
    fixture_start(&fx);
    fixture_gate(&fx, false);
    for (size_t i = 0; i < UNIT_COUNT(fds); i++) {
        fds[i] = client_connect(fx.port);
        client_send(fds[i], "GET /slow HTTP/1.1\r\nHost: t\r\n\r\n");
    }
    UNIT_WAIT_FOR(fixture_stats(&fx).suspended == 5);
    httpd_stop(fx.httpd, 10);
    for (size_t i = 0; i < UNIT_COUNT(fds); i++) {
        client_read(fds[i], false, &r);
        assert_int_equal(r.status, 503);
        assert_non_null(strstr(r.body, "canceled"));
        assert_string_equal(reply_header(&r, "Connection"), "close");
        reply_done(&r);
        close(fds[i]);
    }
    fixture_gate(&fx, true);
    worker_pool_stop(fx.workers);
    assert_int_equal(atomic_load(&fx.after), 5);
    begin_anew();
}

static void *stop_server(void *arg) {
    struct fixture *f = arg;
    httpd_stop(f->httpd, 60000);
    return NULL;
}

/* Work under way is finished within the grace; new requests hear 503. */
static void test_stop_waits_for_work_under_way(void **state) {
    struct reply r;
    pthread_t stopper;
    (void)state;
    fixture_start(&fx);
    fixture_gate(&fx, false);
    int fd = client_connect(fx.port), other = client_connect(fx.port);
    client_send(other, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n");
    client_read(other, false, &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
    client_send(fd, "GET /slow HTTP/1.1\r\nHost: t\r\n\r\n");
    UNIT_WAIT_FOR(atomic_load(&fx.slow_running) == 1); /* not before: work that no worker has begun is given up by a stop */
    assert_int_equal(pthread_create(&stopper, NULL, stop_server, &fx), 0);
    for (bool is_told = false; !is_told; reply_done(&r)) { /* until the stop has begun, maybe between request and answer */
        client_send(other, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n");
        client_read(other, false, &r);
        is_told = r.status == 503 || (r.status == 200 && reply_header(&r, "Connection"));
        assert_true(is_told || r.status == 200);
    }
    fixture_gate(&fx, true);
    client_read(fd, false, &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
    pthread_join(stopper, NULL);
    close(fd);
    close(other);
    begin_anew();
}

static void test_the_limit_of_one_client(void **state) {
    struct reply r;
    (void)state;
    fx.options.connections_per_client_max = 2;
    fx.options.threads = 1;
    fixture_start(&fx);
    int a = client_connect(fx.port), b = client_connect(fx.port), c;
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 2);
    c = client_connect(fx.port);
    assert_true(client_is_closed(c));
    client_send(a, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n");
    client_read(a, false, &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
    close(a);
    close(b);
    close(c);
    assert_true(atomic_load(&fx.notices) > 0);
}

static int ask_thrice_at_one_a_second(void) {
    static const char ask[] = "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n";
    struct reply r;
    fx.options.requests_per_client_max = 1;
    fixture_start(&fx);
    int fd = client_connect(fx.port);
    for (unsigned i = 0; i < 3; i++)
        client_send(fd, ask);
    client_read(fd, false, &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
    return fd;
}

/* What is beyond the rate waits, and is refused then; the connection goes on. */
static void test_the_rate_of_one_client(void **state) {
    struct reply r;
    unsigned refused = 0;
    (void)state;
    int fd = ask_thrice_at_one_a_second();
    for (unsigned i = 0; i < 2; i++) {
        client_read(fd, false, &r);
        assert_int_equal(r.status, r.status == 429 ? 429 : 200);
        assert_true(r.status == 200 || !strcmp(reply_header(&r, "Retry-After"), "1"));
        refused += r.status == 429;
        reply_done(&r);
    }
    assert_in_range(refused, 1, 2);
    assert_int_equal(fixture_stats(&fx).paced, refused);
    assert_int_equal(fixture_stats(&fx).abandoned, 0);
    close(fd);
}

static void test_stop_with_a_request_held_back(void **state) {
    struct reply r;
    (void)state;
    int fd = ask_thrice_at_one_a_second();
    UNIT_WAIT_FOR(fixture_stats(&fx).paced > 0);
    httpd_stop(fx.httpd, 0);
    client_read(fd, false, &r);
    assert_in_range(r.status, 429, 503); /* the former if its wait was over just then */
    reply_done(&r);
    close(fd);
    begin_anew();
}

/* Beyond the limit clients wait in the kernel's queue and are served when there is room. */
static void test_the_connection_limit(void **state) {
    struct reply r;
    (void)state;
    fx.options.connections_max = 2;
    fx.options.threads = 1;
    fixture_start(&fx);
    int a = client_connect(fx.port), b = client_connect(fx.port), c;
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 2);
    c = client_connect(fx.port);
    client_send(c, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n");
    close(a);
    client_read(c, false, &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
    close(b);
    close(c);
}

static void start_fails(int code, const char *reason, const char *remedy) {
    struct httpd *httpd = NULL;
    struct err err = {0};
    assert_int_equal(httpd_start(&fx.options, &httpd, &err), code);
    assert_null(httpd);
    if (!strstr(err.text, reason) || !strstr(err.remedy, remedy))
        fail_msg("\"%s; %s\" lacks \"%s\" or \"%s\"", err.text, err.remedy, reason, remedy);
}

/* One thread each: connections, listening socket, two of the thread, two of the sweeper, 64 that are read to their end. */
#define OF_A_SERVER 69U

static void set_limit(rlim_t soft, rlim_t hard) {
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* In a child, since a hard limit that was lowered stays low: 0 if they fit and the soft limit is the hard one, 1 with `text` if not. */
static int check_within(const struct httpd_options servers[3], rlim_t hard, char text[512]) {
    int pipe_fds[2], status;
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        struct err err = {0};
        struct rlimit limit;
        char said[512] = "";
        set_limit(64, hard);
        int r = httpd_check_descriptors(servers, 3, 300, &err);
        int n = r ? snprintf(said, sizeof(said), "%s; %s", err.text, err.remedy) : 0;
        bool is_raised = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == hard;
        bool is_told = write(pipe_fds[1], said, (size_t)n + 1) == n + 1;
        _exit(!is_told ? 3 : r ? (r == ERR_CONFIG ? 1 : 2) : is_raised ? 0 : 4);
    }
    assert_true(read(pipe_fds[0], text, 511) > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_descriptors_are_counted_before_the_start(void **state) {
    struct httpd_options servers[3] = {{.listen = "127.0.0.1:0", .threads = 1, .connections_max = 1000},
                                       {.listen = "", .threads = 1, .connections_max = 1000},
                                       {.listen = "unix:/admin", .threads = 1, .connections_max = 100}};
    const unsigned need = 1000 + 100 + 2 * OF_A_SERVER + 300;
    char text[512] = "", want[64];
    (void)state;
    assert_int_equal(check_within(servers, need, text), 0);
    assert_int_equal(check_within(servers, need - 1, text), 1);
    (void)snprintf(want, sizeof(want), "LimitNOFILE=%u ", need);
    if (!strstr(text, want) || !strstr(text, "number of connections to 999"))
        fail_msg("\"%s\" does not say what to set", text);
    servers[1].listen = "unix:/proxy"; /* both have the same option: lowering it counts twice */
    assert_int_equal(check_within(servers, need + 500 + OF_A_SERVER, text), 1);
    if (!strstr(text, "number of connections to 750"))
        fail_msg("\"%s\" does not say what fits", text);
    assert_int_equal(check_within(servers, 300, text), 1); /* not even without connections */
    assert_null(strstr(text, "lower"));
}

/* Peers of a unix socket are told apart by user id. */
static void test_the_limit_of_one_user(void **state) {
    char dir[] = "/tmp/kaas-httpd-XXXXXX", path[128], listen[160];
    struct reply r;
    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/admin.sock", dir);
    (void)snprintf(listen, sizeof(listen), "unix:%s", path);
    fx.options.listen = listen;
    fx.options.connections_per_uid_max = 2;
    fx.options.threads = 1;
    fixture_start(&fx);
    int a = client_connect_unix(path), b = client_connect_unix(path), c;
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 2);
    c = client_connect_unix(path);
    assert_true(client_is_closed(c));
    close(c);
    close(b);
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 1);
    b = client_connect_unix(path); /* there is room again */
    client_send(b, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n");
    client_read(b, false, &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
    close(a);
    close(b);
    fixture_stop(&fx);
    assert_int_equal(rmdir(dir), 0);
    set_up(NULL); /* for the tear-down */
    fixture_start(&fx);
}

static void test_bad_addresses_are_refused(void **state) {
    static const char *const bad[] = {
        "",        "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:http", "localhost:80", "::1:80",
        "[::1:80", "[::1]80",   ":80",        "unix:",           "256.0.0.1:80"};
    char taken[64];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        fx.options.listen = bad[i];
        start_fails(ERR_CONFIG, "listen address", "unix:/path");
    }
    fx.options.listen = "127.0.0.1:0";
    fixture_start(&fx);
    (void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", fx.port);
    fx.options.listen = taken;
    start_fails(ERR_IO, taken, "another program");
    static const char *const proxies[] = {"10.0.0.0/8", "nonsense", NULL};
    fx.options.listen = "127.0.0.1:0";
    fx.options.trusted_proxies = proxies;
    start_fails(ERR_CONFIG, "\"nonsense\"", "192.0.2.0/24");
}

/* A proxy's own line comes behind those of the client: where the header is not read to its end, it is missing. */
static void test_of_a_header_that_is_cut_nothing_is_believed(void **state) {
    _cleanup_strbuf_ struct strbuf text;
    struct reply r;
    (void)state;
    fx.options.trusted_proxies = (const char *const[]){"127.0.0.1", NULL};
    fixture_start(&fx);
    strbuf_init(&text, 2000);
    strbuf_adds(&text, "GET /who HTTP/1.1\r\nHost: t\r\nX-Request-ID: theirs\r\n");
    for (int i = 0; i < 64; i++) /* as many as there may be */
        strbuf_adds(&text, "A: 1\r\n");
    strbuf_adds(&text, "X-Request-ID: ours\r\n\r\n");
    int fd = client_connect(fx.port);
    client_send(fd, text.data);
    client_read(fd, false, &r);
    assert_int_equal(r.status, 431);
    assert_string_not_equal(reply_header(&r, "X-Request-ID"), "theirs");
    reply_done(&r);
    close(fd);
}

static void test_unix_socket(void **state) {
    char dir[] = "/tmp/kaas-httpd-XXXXXX", path[128], listen[160], want[64];
    struct stat st;
    struct reply r;
    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/admin.sock", dir);
    (void)snprintf(listen, sizeof(listen), "unix:%s", path);
    fx.options.listen = listen;
    fx.options.unix_mode = 0660;
    fixture_start(&fx);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    int fd = client_connect_unix(path);
    client_send(fd, "GET /who HTTP/1.1\r\nHost: t\r\nX-Request-ID: from.balancer_1-2\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n");
    client_read(fd, false, &r);
    (void)snprintf(want, sizeof(want), "client=unix uid=%ld tls=0 id=from.balancer_1-2", (long)getuid());
    assert_string_equal(r.body, want); /* not a trusted proxy: the forwarded address is not believed */
    reply_done(&r);
    close(fd);
    start_fails(ERR_IO, "another server answers", "stop it");
    fixture_stop(&fx);
    assert_int_not_equal(stat(path, &st), 0);
    fd = socket(AF_UNIX, SOCK_STREAM, 0); /* what a crash leaves behind */
    fixture_init(&fx);
    fx.options.listen = listen;
    fx.options.trusted_proxies = (const char *const[]){"unix", NULL};
    fixture_start(&fx);
    close(fd);
    fd = client_connect_unix(path);
    client_send(fd, "GET /who HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 203.0.113.9, 192.0.2.1\r\n\r\n");
    client_read(fd, false, &r);
    assert_non_null(strstr(r.body, "client=192.0.2.1 ")); /* the rightmost that no proxy vouches for */
    reply_done(&r);
    /* a client's own line, and that of a proxy which appends one, as haproxy does */
    client_send(fd, "GET /who HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 203.0.113.9\r\nX-Request-ID: theirs\r\n"
                    "X-Forwarded-For: 192.0.2.1\r\nX-Request-ID: ours\r\n\r\n");
    client_read(fd, false, &r);
    assert_non_null(strstr(r.body, "client=192.0.2.1 "));
    assert_null(strstr(r.body, "theirs"));
    reply_done(&r);
    close(fd);
    fixture_stop(&fx);
    assert_int_equal(rmdir(dir), 0);
    set_up(NULL); /* for the tear-down */
    fixture_start(&fx);
}

static unsigned count_descriptors(void) {
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void test_no_descriptor_is_left(void **state) {
    (void)state;
    unsigned before = count_descriptors();
    for (int i = 0; i < 3; i++) {
        struct reply r;
        fixture_start(&fx);
        client_ask(fx.port, "POST /body HTTP/1.1\r\nContent-Length: 5000\r\n\r\nhello", &r); /* lingers */
        assert_int_equal(r.status, 413);
        reply_done(&r);
        fixture_stop(&fx);
        set_up(NULL);
    }
    assert_int_equal(count_descriptors(), before);
    fixture_start(&fx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_dripping_headers_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_dripping_body_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_client_that_never_reads_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_idle_connections_are_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_work_past_its_deadline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_client_that_leaves_during_slow_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop_with_suspended_connections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop_waits_for_work_under_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_limit_of_one_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_rate_of_one_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop_with_a_request_held_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_connection_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_limit_of_one_user, set_up, tear_down),
        cmocka_unit_test(test_descriptors_are_counted_before_the_start),
        cmocka_unit_test_setup_teardown(test_bad_addresses_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_of_a_header_that_is_cut_nothing_is_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unix_socket, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_descriptor_is_left, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
