/* What one request leaves for the next one of its connection, and large tokens in a header.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdatomic.h>
#include <unistd.h>

#include "http_request.h"
#include "httpd_fixture.h"

static struct fixture fx;
static _Atomic unsigned freed;

static void free_note(void *data) {
    atomic_fetch_add(&freed, 1);
    free(data);
}

/* Answers with what was left, and leaves its own name. */
static void exchange(struct http_request *req, struct http_response *resp, const char *taken) {
    struct strbuf body;
    strbuf_init(&body, 100);
    strbuf_adds(&body, taken ? taken : "nothing");
    http_response_set_text(resp, "text/plain", &body);
    http_request_keep_for_next(req, strdup(http_request_param(req, "name")), free_note);
}

static int h_fast(struct http_request *req, struct http_response *resp, struct err *err) {
    char *taken = http_request_take_kept(req);
    (void)err;
    exchange(req, resp, taken);
    free(taken);
    return http_request_query(req, "fail") ? err_set(err, ERR_UNAUTHENTICATED, "once more") : 0;
}

static int in_pool(struct http_request *req, struct http_response *resp, struct err *err) {
    char *taken = http_request_data(req);
    (void)err;
    exchange(req, resp, taken);
    return 0;
}

static int h_slow(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)resp, (void)err;
    http_request_set_data(req, http_request_take_kept(req), free);
    return http_request_go_slow(req, fx.workers, in_pool);
}

static int h_plain(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)req, (void)err;
    http_response_set_static(resp, "text/plain", "plain", 5);
    return 0;
}

static const struct route routes[] = {
    {.method = HTTP_METHOD_GET, .pattern = "/fast/{name}", .handler = h_fast},
    {.method = HTTP_METHOD_GET, .pattern = "/slow/{name}", .handler = h_slow},
    {.method = HTTP_METHOD_GET, .pattern = "/plain", .handler = h_plain},
};

static int set_up(void **state) {
    (void)state;
    atomic_store(&freed, 0);
    fixture_init(&fx);
    fx.options.routes = routes;
    fx.options.routes_count = UNIT_COUNT(routes);
    fixture_start(&fx);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fixture_stop(&fx);
    return 0;
}

static void say(int fd, const char *path, int status, const char *expected) {
    char text[200];
    struct reply reply;
    (void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    client_send(fd, text);
    client_read(fd, false, &reply);
    assert_int_equal(reply.status, status);
    if (expected)
        assert_string_equal(reply.body, expected);
    reply_done(&reply);
}

static void goes_to_the_next_request(void **state) {
    int fd = client_connect(fx.port);
    (void)state;
    say(fd, "/fast/a", 200, "nothing");
    say(fd, "/fast/b", 200, "a");
    say(fd, "/slow/c", 200, "b");
    say(fd, "/fast/d?fail", 401, NULL);
    say(fd, "/slow/e", 200, "d");
    assert_int_equal(atomic_load(&freed), 0); /* each was taken */
    (void)close(fd);
    UNIT_WAIT_FOR(atomic_load(&freed) == 1); /* the last one goes with the connection */
}

static void not_to_other_connections(void **state) {
    int one = client_connect(fx.port), other = client_connect(fx.port);
    (void)state;
    say(one, "/fast/a", 200, "nothing");
    say(other, "/fast/b", 200, "nothing");
    say(one, "/slow/c", 200, "a");
    (void)close(one);
    (void)close(other);
    UNIT_WAIT_FOR(atomic_load(&freed) == 2);
}

static void not_to_the_one_after(void **state) {
    int fd = client_connect(fx.port);
    (void)state;
    say(fd, "/fast/a", 200, "nothing");
    say(fd, "/plain", 200, "plain");
    assert_int_equal(atomic_load(&freed), 1);
    say(fd, "/nowhere", 404, NULL);
    say(fd, "/fast/b", 200, "nothing");
    (void)close(fd);
    UNIT_WAIT_FOR(atomic_load(&freed) == 2);
}

static void ask_with_token(const char *scheme, size_t token_bytes, int status, const char *expected) {
    struct strbuf text;
    struct reply reply;
    strbuf_init(&text, 100000);
    strbuf_addf(&text, "GET /plain HTTP/1.1\r\nAuthorization: %s ", scheme);
    for (size_t i = 0; i < token_bytes; i++)
        strbuf_addc(&text, 'x');
    strbuf_adds(&text, "\r\n\r\n");
    client_ask(fx.port, text.data, &reply);
    assert_int_equal(reply.status, status);
    if (expected)
        assert_non_null(strstr(reply.body, expected));
    reply_done(&reply);
    strbuf_done(&text);
}

static void tokens_may_be_large(void **state) {
    (void)state;
    ask_with_token("Negotiate", 16000, 200, NULL);
    ask_with_token("negotiate", 16000, 200, NULL);
    ask_with_token("Bearer", 16000, 200, NULL);
    ask_with_token("Negotiate", 19000, 431, "headers_too_large");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(goes_to_the_next_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_to_other_connections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_to_the_one_after, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tokens_may_be_large, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("httpd_kept", tests, NULL, NULL);
}
