/* The server as a client sees it: routes, errors, bodies, keep-alive, slow work, unix sockets.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "httpd_fixture.h"
#include "limits.h"

#include <linux/sockios.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fixture fx;

static int set_up(void **state) {
    (void)state;
    fixture_init(&fx);
    fixture_start(&fx);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fixture_stop(&fx);
    return 0;
}

static void ask_for(const char *request, int status, const char *body) {
    struct reply r;
    client_ask(fx.port, request, &r);
    if (r.status != status || (body && !strstr(r.body, body)))
        fail_msg("%s\ngave %d \"%s\", not %d \"%s\"", request, r.status, r.body, status, body ? body : "");
    reply_done(&r);
}

static void test_routes(void **state) {
    (void)state;
    ask_for("GET /fast HTTP/1.1", 200, "fast");
    ask_for("GET /echo/a%2Fb%20c HTTP/1.1", 200, "a/b c");
    ask_for("GET /echo/%F0%9F%98%80'%22%5C HTTP/1.1", 200, "\xF0\x9F\x98\x80'\"\\");
    ask_for("GET /files/a/b.txt HTTP/1.1", 200, "a/b.txt");
    ask_for("GET http://other.example/fast HTTP/1.1", 200, "fast");
    ask_for("GET /query?a=1%202+3 HTTP/1.1", 200, "1 2 3");
    ask_for("GET /query HTTP/1.1", 200, "(none)");
    ask_for("GET /fail HTTP/1.1", 409, "conflict: not now");
    ask_for("GET /broken HTTP/1.1", 500, "internal");
}

static void test_bad_targets(void **state) {
    (void)state;
    ask_for("GET /nothing HTTP/1.1", 404, "not_found");
    ask_for("GET /fast/ HTTP/1.1", 404, NULL);
    ask_for("GET //fast HTTP/1.1", 404, NULL);
    ask_for("GET /echo/ HTTP/1.1", 404, NULL);
    ask_for("GET /files/../fast HTTP/1.1", 400, "segment");
    ask_for("GET /files/%2e%2E/fast HTTP/1.1", 400, "segment");
    ask_for("GET /files/a%2Fb HTTP/1.1", 404, NULL);
    ask_for("GET /echo/%zz HTTP/1.1", 400, "percent");
    ask_for("GET /echo/%00 HTTP/1.1", 400, "percent");
    ask_for("GET /echo/%4 HTTP/1.1", 400, "percent");
    ask_for("GET /echo/%ff HTTP/1.1", 400, "UTF-8");
    ask_for("GET /echo/%0a HTTP/1.1", 400, "control");
    ask_for("GET /echo/a b HTTP/1.1", 400, "blank");
    ask_for("GET * HTTP/1.1", 400, "starts with");
    ask_for("GET /query?a=1&a=2 HTTP/1.1", 400, "twice");
    ask_for("GET /query?c=1 HTTP/1.1", 400, "known here: a, b");
    ask_for("GET /query?=1 HTTP/1.1", 400, "without a name");
    ask_for("GET /query?a=%f HTTP/1.1", 400, "percent");
}

static void test_methods(void **state) {
    struct reply r;
    (void)state;
    client_ask(fx.port, "PUT /fast HTTP/1.1", &r);
    assert_int_equal(r.status, 405);
    assert_string_equal(reply_header(&r, "Allow"), "GET, HEAD, OPTIONS");
    reply_done(&r);
    client_ask(fx.port, "OPTIONS /slow HTTP/1.1", &r);
    assert_int_equal(r.status, 204);
    assert_string_equal(reply_header(&r, "Allow"), "GET, HEAD, POST, OPTIONS");
    reply_done(&r);
    client_ask(fx.port, "BREW /slow HTTP/1.1", &r);
    assert_int_equal(r.status, 405);
    reply_done(&r);
    client_ask(fx.port, "HEAD /fast HTTP/1.1", &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Content-Length"), "4");
    assert_string_equal(reply_header(&r, "X-Common"), "yes");
    reply_done(&r);
    client_ask(fx.port, "HEAD /slow HTTP/1.1", &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
}

static void test_an_error_drops_what_the_handler_made(void **state) {
    struct reply r;
    (void)state;
    client_ask(fx.port, "GET /fail HTTP/1.1", &r);
    assert_null(reply_header(&r, "X-Half"));
    assert_string_equal(reply_header(&r, "Content-Type"), "application/problem+json");
    assert_string_equal(reply_header(&r, "X-Common"), "yes");
    reply_done(&r);
}

static void test_bodies(void **state) {
    (void)state;
    ask_for("POST /body HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
    ask_for("POST /secret HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
    ask_for("POST /body HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: x\r\n\r\n", 200,
            "abcde");
    ask_for("POST /body HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 200, "");
    ask_for("POST /slow HTTP/1.1\r\nContent-Length: 5\r\nX-Mark: kept\r\n\r\nhello", 200, "slow 5 kept");
    ask_for("GET /fast HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 400, "takes no request body");
    ask_for("GET /fast HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "takes no request body");
}

static void test_a_body_over_the_cap_is_413(void **state) {
    struct reply r;
    int unread = 0;
    char *zeros = calloc(1, 300000);
    (void)state;
    ask_for("POST /body HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413, "too_large"); /* nothing of it was sent yet */
    int fd = client_connect(fx.port);
    client_send(fd, "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 4194304\r\n\r\n");
    client_read(fd, false, &r);
    assert_int_equal(r.status, 413);
    assert_true(client_is_closed(fd)); /* its side; ours is still read, since a reset would destroy the answer for some clients */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send(fd, zeros, 300000, MSG_NOSIGNAL), 300000);
        UNIT_WAIT_FOR(!ioctl(fd, SIOCOUTQ, &unread) && unread == 0); /* all has come there */
    }
    reply_done(&r);
    close(fd);
    free(zeros);
}

static void test_a_chunked_body_over_the_cap_is_413(void **state) {
    struct reply r;
    char part[1200];
    (void)state;
    memset(part, 'x', sizeof(part));
    int fd = client_connect(fx.port);
    client_send(fd, "POST /body HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n4b0\r\n");
    client_send_bytes(fd, part, sizeof(part));
    client_send(fd, "\r\n0\r\n\r\n");
    client_read(fd, false, &r);
    assert_int_equal(r.status, 413);
    reply_done(&r);
    close(fd);
    fd = client_connect(fx.port); /* one that never ends is cut */
    client_send(fd, "POST /body HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 2000; i++) {
        client_send(fd, "4b0\r\n");
        client_send_bytes(fd, part, sizeof(part));
        client_send(fd, "\r\n");
    }
    assert_true(client_is_closed(fd));
    close(fd);
}

static void test_expect_continue(void **state) {
    struct reply r;
    (void)state;
    int fd = client_connect(fx.port);
    client_send(fd, "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    client_read(fd, false, &r);
    assert_int_equal(r.status, 100);
    reply_done(&r);
    client_send(fd, "hello");
    client_read(fd, false, &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "hello");
    reply_done(&r);
    close(fd);
    fd = client_connect(fx.port); /* refused before the body is sent */
    client_send(fd, "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n");
    client_read(fd, false, &r);
    assert_int_equal(r.status, 413);
    reply_done(&r);
    close(fd);
}

static void test_ambiguous_messages_are_refused_and_closed(void **state) {
    static const char *const bad[] = {
        "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /fast HTTP/1.1\r\n\r\n",
        "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: +5\r\n\r\nhello",
        "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 5,5\r\n\r\nhello",
        "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 0x5\r\n\r\nhello",
        "POST /body HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST /body HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /body HTTP/1.1\r\nHost: t\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "POST /body HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        "GET /fast HTTP/1.1\r\nHost: t\r\nHost: u\r\n\r\n",
        "GET /fast HTTP/1.1\r\nHost: t\r\nAuthorization: a\r\nauthorization: b\r\n\r\n",
        "GET /fast HTTP/1.1\r\nHost: t\r\nX-A: b\001c\r\n\r\n",
        "GET /fast HTTP/1.1\r\n\r\n",
        "POST /body HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct reply r;
        int fd = client_connect(fx.port);
        client_send(fd, bad[i]);
        client_read(fd, false, &r);
        if (r.status != 400)
            fail_msg("%s\ngave %d", bad[i], r.status);
        char rest[4096] = ""; /* nothing behind it may be taken for a request; the library repeats the head of its own answers */
        for (ssize_t n = 1; n > 0; assert_null(strstr(rest, "HTTP/1.1 200")))
            if ((n = recv(fd, rest, sizeof(rest) - 1, 0)) >= 0)
                rest[n] = '\0';
        reply_done(&r);
        close(fd);
    }
}

static char *repeat(const char *start, const char *part, int count, const char *end) {
    struct strbuf b;
    strbuf_init(&b, 1U << 20);
    strbuf_adds(&b, start);
    for (int i = 0; i < count; i++)
        strbuf_adds(&b, part);
    strbuf_adds(&b, end);
    return strbuf_steal(&b);
}

static void ask_repeated(const char *part, int count, const char *end, int status) {
    char *text = repeat("GET /echo/", part, count, end);
    ask_for(text, status, NULL);
    free(text);
}

/* Ours come first and as problem+json; beyond the library's own memory it answers itself, without TLS in HTML, with the same status. */
static void test_large_heads(void **state) {
    (void)state;
    ask_repeated("x", 4000, " HTTP/1.1", 200);
    ask_repeated("x", 4096, " HTTP/1.1", 414);
    ask_repeated("x", 40000, " HTTP/1.1", 414);
    char *text = repeat("GET /fast HTTP/1.1\r\nX-A: ", "b", 18000, "");
    ask_for(text, 200, "fast");
    free(text);
    text = repeat("GET /fast HTTP/1.1\r\nX-A: ", "b", 18500, "");
    ask_for(text, 431, "headers_too_large");
    free(text);
    text = repeat("GET /fast HTTP/1.1", "\r\nX-A: b", 70, "");
    ask_for(text, 431, "more than 64");
    free(text);
    text = repeat("GET /fast HTTP/1.1\r\nX-A: ", "b", 40000, "");
    ask_for(text, 431, NULL);
    free(text);
    text = repeat("GET /query?", "a=1&b=2&", 100, " HTTP/1.1");
    ask_for(text, 400, "twice");
    free(text);
}

/* A long target and many fields of some length, at once, fit into the memory of a connection. The client adds "Host: t" and "Connection: close". */
static void test_the_largest_head(void **state) {
    struct strbuf b;
    size_t at;
    (void)state;
    strbuf_init(&b, 1U << 20);
    strbuf_adds(&b, "GET /fast?");
    for (int i = 0; i < 31; i++)
        strbuf_addf(&b, "p%02d=%0*d&", i, 120, i);
    strbuf_adds(&b, "last=1 HTTP/1.1");
    assert_true(b.len < KAAS_HTTP_URI_BYTES_MAX);
    at = b.len;
    for (int i = 0; i < 62; i++)
        strbuf_addf(&b, "\r\nX-%02d: %0*d", i, 123, i);
    assert_true(b.len - at > 8000);
    char *text = strbuf_steal(&b);
    ask_for(text, 200, "fast");
    free(text);
}

static void test_keep_alive_and_pipelining(void **state) {
    struct reply r;
    (void)state;
    int fd = client_connect(fx.port);
    client_send(fd, "GET /echo/1 HTTP/1.1\r\nHost: t\r\n\r\nGET /slow HTTP/1.1\r\nHost: t\r\n\r\n"
                    "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n33GET /nothing HTTP/1.1\r\nHost: t\r\n\r\n");
    static const char *const want[] = {"1", "slow", "33", "not_found"};
    for (size_t i = 0; i < UNIT_COUNT(want); i++) {
        client_read(fd, false, &r);
        assert_non_null(strstr(r.body, want[i]));
        reply_done(&r);
    }
    close(fd);
}

static void test_the_before_hook_refuses(void **state) {
    struct reply r;
    (void)state;
    int fd = client_connect(fx.port);
    client_send(fd, "GET /fast HTTP/1.1\r\nHost: t\r\nX-Deny: 1\r\n\r\n"); /* without a body the connection lives on */
    client_read(fd, false, &r);
    assert_int_equal(r.status, 401);
    reply_done(&r);
    client_send(fd, "POST /body HTTP/1.1\r\nHost: t\r\nX-Deny: 1\r\nContent-Length: 900\r\n\r\n");
    client_read(fd, false, &r); /* and the body is not waited for */
    assert_int_equal(r.status, 401);
    reply_done(&r);
    assert_true(client_is_closed(fd));
    close(fd);
}

static void test_slow_at_run_time(void **state) {
    (void)state;
    ask_for("GET /maybe HTTP/1.1", 200, "fast after all");
    ask_for("GET /maybe?slow=1 HTTP/1.1", 200, "slow 0 -");
    assert_int_equal(fixture_stats(&fx).slow_started, 1);
}

static void test_slow_work_hands_on(void **state) {
    (void)state;
    ask_for("GET /maybe?on=1 HTTP/1.1\r\nX-Mark: kept", 200, "slow 0 kept");
    ask_for("GET /maybe?refused=1 HTTP/1.1", 503, NULL);
    assert_int_equal(fixture_stats(&fx).slow_started, 2);
    assert_int_equal(fixture_stats(&fx).slow_done, 2);
}

/* Waiting costs no thread: whoever has the answer runs the rest. */
static void test_slow_work_waits_without_a_thread(void **state) {
    int fd = client_connect(fx.port);
    struct reply r;
    (void)state;
    client_send(fd, "GET /maybe?parked=1 HTTP/1.1\r\nHost: t\r\nX-Mark: kept\r\n\r\n");
    UNIT_WAIT_FOR(atomic_load(&fx.parked) != NULL);
    ask_for("GET /maybe?slow=1 HTTP/1.1", 200, NULL);
    UNIT_WAIT_FOR(fixture_stats(&fx).suspended == 1); /* counted after the connection goes on */
    atomic_load (&fx.parked)(fx.parked_arg, false);
    client_read(fd, false, &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "slow 0 kept");
    reply_done(&r);
    close(fd);
}

static void test_a_full_lane_is_503(void **state) {
    int fds[10];
    struct reply r;
    (void)state;
    fixture_gate(&fx, false);
    for (size_t i = 0; i < UNIT_COUNT(fds); i++) { /* 2 running, 8 waiting */
        fds[i] = client_connect(fx.port);
        client_send(fds[i], "GET /slow HTTP/1.1\r\nHost: t\r\n\r\n");
        UNIT_WAIT_FOR(fixture_stats(&fx).suspended == i + 1);
        UNIT_WAIT_FOR(atomic_load(&fx.slow_running) == (i < 2 ? i + 1 : 2));
    }
    client_ask(fx.port, "GET /slow HTTP/1.1", &r);
    assert_int_equal(r.status, 503);
    assert_non_null(strstr(r.body, "busy"));
    assert_string_equal(reply_header(&r, "Retry-After"), "1");
    reply_done(&r);
    ask_for("GET /fast HTTP/1.1", 200, "fast"); /* fast work goes on */
    fixture_gate(&fx, true);
    for (size_t i = 0; i < UNIT_COUNT(fds); i++) {
        client_read(fds[i], false, &r);
        assert_int_equal(r.status, 200);
        reply_done(&r);
        close(fds[i]);
    }
}

static void test_request_ids(void **state) {
    struct reply a, b;
    (void)state;
    client_ask(fx.port, "GET /who HTTP/1.1\r\nX-Request-ID: forged-id-1", &a);
    client_ask(fx.port, "GET /who HTTP/1.1", &b);
    assert_null(strstr(a.body, "forged")); /* only proxies and unix peers may name it */
    assert_string_not_equal(a.body, b.body);
    assert_non_null(strstr(a.body, "client=127.0.0.1 uid=-1 tls=0 id="));
    reply_done(&a);
    reply_done(&b);
}

static void test_the_access_log_hook_runs_once(void **state) {
    (void)state;
    ask_for("GET /fast HTTP/1.1", 200, NULL);
    ask_for("GET /nothing HTTP/1.1", 404, NULL);
    ask_for("GET /slow HTTP/1.1", 200, NULL);
    UNIT_WAIT_FOR(atomic_load(&fx.after) == 3);
    assert_int_equal(atomic_load(&fx.delivered), 3);
    assert_int_equal(atomic_load(&fx.before), 2); /* not for the unknown path */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_routes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_targets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_methods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_error_drops_what_the_handler_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_body_over_the_cap_is_413, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_chunked_body_over_the_cap_is_413, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_expect_continue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ambiguous_messages_are_refused_and_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_heads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_largest_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keep_alive_and_pipelining, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_before_hook_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_at_run_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_work_hands_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_work_waits_without_a_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_lane_is_503, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_request_ids, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_access_log_hook_runs_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
