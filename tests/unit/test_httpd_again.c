/* The same request once more on the same connection: when the hook is asked, and when nothing of the request before may count.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdatomic.h>
#include <unistd.h>

#include "httpd_fixture.h"

static struct fixture fx;
static struct http_shared *text;
static _Atomic unsigned handled, asked, kept, freed;
static _Atomic bool says_no, is_another_length;

static void free_note(void *data) {
    atomic_fetch_add(&freed, 1);
    free(data);
}

/* Says who asks, and whether it is the handler or the hook that answers. */
static void answer(struct http_request *req, struct http_response *resp, const char *by) {
    const char *token = http_request_header(req, "Authorization");
    http_response_set_header(resp, "X-By", by);
    http_response_set_header(resp, "X-Token", token ? token : "none");
}

static int h_list(struct http_request *req, struct http_response *resp, struct err *err) {
    const char *held = http_request_header(req, "If-None-Match");
    const char *note = http_request_header(req, "Authorization");
    (void)err;
    atomic_fetch_add(&handled, 1);
    answer(req, resp, "handler");
    http_response_set_shared(resp, "text/plain", text);
    if (held)
        http_response_set_status(resp, 304);
    if (http_request_query(req, "never"))
        return 0;
    atomic_fetch_add(&kept, 1);
    http_request_keep_again(req, strdup(note ? note : "none"), free_note);
    return http_request_query(req, "fail") ? err_set(err, ERR_CONFLICT, "not now") : 0;
}

static bool on_again(struct http_request *req, void *data, struct http_response *resp) {
    const char *token = http_request_header(req, "Authorization");
    atomic_fetch_add(&asked, 1);
    assert_string_equal(data, token ? token : "none"); /* of nobody else */
    assert_string_equal(http_response_header(resp, "X-Token"), data);
    http_response_set_header(resp, "X-By", atomic_load(&is_another_length) ? "the hook" : "thehook");
    if (atomic_load(&says_no))
        return false;
    http_response_set_shared(resp, NULL, text);
    http_response_set_header(resp, "X-Request-ID", http_request_id(req));
    return true;
}

static const struct route routes[] = {
    {.method = HTTP_METHOD_GET, .pattern = "/list/{name}", .handler = h_list},
    {.method = HTTP_METHOD_POST, .pattern = "/list/{name}", .handler = h_list, .body_bytes_max = 10},
};

static int set_up(void **state) {
    struct strbuf body;
    (void)state;
    fixture_init(&fx);
    fx.options.routes = routes;
    fx.options.routes_count = UNIT_COUNT(routes);
    fx.options.hooks.again = on_again;
    strbuf_init(&body, 100);
    strbuf_adds(&body, "the list");
    text = http_shared_new(&body);
    assert_non_null(text);
    atomic_store(&handled, 0);
    atomic_store(&asked, 0);
    atomic_store(&kept, 0);
    atomic_store(&freed, 0);
    atomic_store(&says_no, false);
    atomic_store(&is_another_length, false);
    fixture_start(&fx);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fixture_stop(&fx);
    http_shared_unref(text);
    assert_int_equal(atomic_load(&kept), atomic_load(&freed));
    return 0;
}

#define TOKEN_A "Authorization: Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"
#define TOKEN_B "Authorization: Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\r\n"
#define HOST "Host: test\r\n"
#define LIST "GET /list/x?a=b HTTP/1.1\r\n" HOST

static void expect(int fd, const char *request, int status, const char *by) {
    struct reply r;
    client_send(fd, request);
    client_send(fd, "\r\n");
    client_read(fd, request[0] == 'H' || status == 304, &r);
    if (r.status != status || !reply_header(&r, "X-By") || strcmp(reply_header(&r, "X-By"), by) != 0)
        fail_msg("%s: %d by %s", request, r.status, reply_header(&r, "X-By") ? reply_header(&r, "X-By") : "nobody");
    const char *token = strstr(request, "Bearer ");
    if (token && strncmp(reply_header(&r, "X-Token"), token, strlen(reply_header(&r, "X-Token"))) != 0)
        fail_msg("%s: answered for %s", request, reply_header(&r, "X-Token"));
    assert_string_equal(reply_header(&r, "X-Common"), "yes");
    if (status == 200 && request[0] != 'H')
        assert_string_equal(r.body, "the list");
    reply_done(&r);
}

static void test_the_same_bytes_are_answered_by_the_hook(void **state) {
    int fd = client_connect(fx.port);
    char first[64];
    struct reply r;
    (void)state;
    expect(fd, LIST TOKEN_A, 200, "handler");
    for (int i = 0; i < 5; i++) {
        atomic_store(&is_another_length, i % 2);
        expect(fd, LIST TOKEN_A, 200, i % 2 ? "the hook" : "thehook");
    }
    assert_int_equal(atomic_load(&handled), 1);
    assert_int_equal(atomic_load(&asked), 5);
    client_send(fd, LIST TOKEN_A "\r\n" LIST TOKEN_A "\r\n"); /* pipelined */
    client_read(fd, false, &r);
    (void)snprintf(first, sizeof(first), "%s", reply_header(&r, "X-Request-ID"));
    reply_done(&r);
    client_read(fd, false, &r);
    assert_string_not_equal(first, reply_header(&r, "X-Request-ID"));
    reply_done(&r);
    assert_int_equal(atomic_load(&asked), 7);
    (void)close(fd);
}

static void test_not_modified(void **state) {
    int fd = client_connect(fx.port);
    (void)state;
    expect(fd, LIST TOKEN_A "If-None-Match: x\r\n", 304, "handler");
    expect(fd, LIST TOKEN_A "If-None-Match: x\r\n", 304, "thehook");
    expect(fd, LIST TOKEN_A "If-None-Match: y\r\n", 304, "handler");
    expect(fd, LIST TOKEN_A, 200, "handler");
    (void)close(fd);
}

static void test_whatever_differs_is_looked_at(void **state) {
    static const char *const others[] = {
        LIST TOKEN_B,
        LIST "Authorization: Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n",
        LIST,
        "GET /list/x?a=c HTTP/1.1\r\n" HOST TOKEN_A,
        "GET /list/y?a=b HTTP/1.1\r\n" HOST TOKEN_A,
        "GET /list/x#a=b HTTP/1.1\r\n" HOST TOKEN_A,
        "GET /list/x?a=bb HTTP/1.1\r\n" HOST TOKEN_A,
        "HEAD /list/x?a=b HTTP/1.1\r\n" HOST TOKEN_A,
        LIST TOKEN_A "X-More: 1\r\n",
        "GET /list/x?a=b HTTP/1.1\r\n" TOKEN_A HOST,
        "GET /list/x?a=b HTTP/1.1\r\nHost: tess\r\n" TOKEN_A,
        "GET /list/x?a=b HTTP/1.1\r\nHosT: test\r\n" TOKEN_A,
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(others); i++) {
        int fd = client_connect(fx.port);
        expect(fd, LIST TOKEN_A, 200, "handler");
        expect(fd, LIST TOKEN_A, 200, "thehook");
        expect(fd, others[i], 200, "handler");
        (void)close(fd);
    }
    assert_int_equal(atomic_load(&asked), UNIT_COUNT(others));
}

/* The bytes are the same as those of a good one once the library has joined them. */
static void test_bad_ones_are_refused_behind_a_good_one(void **state) {
    static const char *const bad[] = {
        "GET /list/x?a=b HTTP/1.1\r\nHost: test\r\nX-A: b c\r\nX-A: b\r\n c\r\n\r\n",
        "GET /list/x?a=b HTTP/1.1\r\nHost: test\r\nX-A:\r\n b c\r\n\r\n",
        "GET /list/x?a=b HTTP/1.1\r\nHost: test\r\nX-A: b c\r\nHost: test\r\n\r\n",
        "GET /list/x?a=b HTTP/1.1\r\nHost: test\r\nX-A: b c\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    struct reply r;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        int fd = client_connect(fx.port);
        expect(fd, "GET /list/x?a=b HTTP/1.1\r\nHost: test\r\nX-A: b c\r\n", 200, "handler");
        expect(fd, "GET /list/x?a=b HTTP/1.1\r\nHost: test\r\nX-A: b c\r\n", 200, "thehook");
        client_send(fd, bad[i]);
        client_read(fd, false, &r);
        assert_int_equal(r.status, 400);
        reply_done(&r);
        (void)close(fd);
    }
}

static void test_two_connections_share_nothing(void **state) {
    int a = client_connect(fx.port), b = client_connect(fx.port);
    (void)state;
    expect(a, LIST TOKEN_A, 200, "handler");
    expect(b, LIST TOKEN_A, 200, "handler");
    expect(b, LIST TOKEN_B, 200, "handler");
    expect(a, LIST TOKEN_A, 200, "thehook");
    (void)close(a);
    (void)close(b);
}

/* The usual way, with nothing left from the attempt; and what it gives is kept. */
static void test_the_hook_may_say_no(void **state) {
    int fd = client_connect(fx.port);
    unsigned before;
    (void)state;
    expect(fd, LIST TOKEN_A, 200, "handler");
    expect(fd, LIST TOKEN_A, 200, "thehook");
    before = atomic_load(&fx.before);
    atomic_store(&says_no, true);
    expect(fd, LIST TOKEN_A, 200, "handler");
    assert_int_equal(atomic_load(&fx.before), before + 1);
    expect(fd, LIST TOKEN_A, 200, "handler");
    atomic_store(&says_no, false);
    expect(fd, LIST TOKEN_A, 200, "thehook");
    assert_int_equal(atomic_load(&asked), 4);
    (void)close(fd);
}

static void test_what_is_not_kept(void **state) {
    static const char *const requests[] = {
        "GET /list/x?never HTTP/1.1\r\n" HOST,
        "HEAD /list/x?a=b HTTP/1.1\r\n" HOST,
        "POST /list/x?a=b HTTP/1.1\r\n" HOST "Content-Length: 0\r\n",
    };
    struct reply r;
    int fd = client_connect(fx.port);
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(requests); i++)
        for (int k = 0; k < 3; k++)
            expect(fd, requests[i], 200, "handler");
    for (int k = 0; k < 3; k++) {
        client_send(fd, "GET /list/x?fail HTTP/1.1\r\n" HOST "\r\n");
        client_read(fd, false, &r);
        assert_int_equal(r.status, 409);
        reply_done(&r);
    }
    assert_int_equal(atomic_load(&asked), 0);
    (void)close(fd);
}

/* One that carries the requests of many people keeps fewer and fewer of them, and begins again when one comes twice. */
static void test_a_mixed_connection(void **state) {
    int fd = client_connect(fx.port);
    (void)state;
    for (int i = 0; i < 200; i++)
        expect(fd, i % 2 ? LIST TOKEN_A : LIST TOKEN_B, 200, "handler");
    assert_int_equal(atomic_load(&asked), 0);
    for (int i = 0; i < 200; i++) {
        struct reply r;
        client_send(fd, LIST TOKEN_A "\r\n");
        client_read(fd, false, &r);
        assert_int_equal(r.status, 200);
        reply_done(&r);
    }
    assert_true(atomic_load(&asked) > 0);
    (void)close(fd);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_the_same_bytes_are_answered_by_the_hook),
        CASE(test_not_modified),
        CASE(test_whatever_differs_is_looked_at),
        CASE(test_bad_ones_are_refused_behind_a_good_one),
        CASE(test_two_connections_share_nothing),
        CASE(test_the_hook_may_say_no),
        CASE(test_what_is_not_kept),
        CASE(test_a_mixed_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
