/* Header fields, addresses behind proxies, answers as data, without a server.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "http_request_private.h"
#include "http_response.h"
#include "http_text.h"
#include "net_addr.h"

/* Takes over "Name:value" texts, as the library would hand them on. */
static void set_fields(struct http_request *req, char (*store)[256], const char *const *lines) {
    req->fields_count = 0;
    for (unsigned i = 0; lines[i]; i++) {
        char *text = store[i];
        (void)snprintf(text, 256, "%s", lines[i]);
        char *colon = strchr(text, ':');
        *colon = '\0';
        const struct http_field line = {text, colon + 1, (unsigned)strlen(text), (unsigned)strlen(colon + 1), 0};
        assert_int_equal(http_fields_add(req, line, NULL), 0);
    }
    assert_int_equal(http_fields_join(req, NULL), 0);
}

static void test_fields(void **state) {
    static const struct {
        const char *lines[5];
        int code, has_body;
        long bytes;
    } cases[] = {
        {{"Host:a"}, 0, 0, 0},
        {{"Host:a", "Content-Length:0"}, 0, 0, 0},
        {{"Host:a", "Content-Length:12"}, 0, 1, 12},
        {{"Host:a", "Transfer-Encoding:Chunked"}, 0, 1, -1},
        {{"Host:a", "X:\xc3\xa4 and\ttab"}, 0, 0, 0},
        {{"X:a"}, ERR_INVALID, 0, 0},
        {{"Host:a", "host:b"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Content-Length:1", "Content-Length:1"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Content-Length:-1"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Content-Length:1 2"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Content-Length:99999999999999999999"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Content-Length:1", "Transfer-Encoding:chunked"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Transfer-Encoding:identity"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Transfer-Encoding:chunked, chunked"}, ERR_INVALID, 0, 0},
        {{"Host:a", "X y:1"}, ERR_INVALID, 0, 0},
        {{"Host:a", ":1"}, ERR_INVALID, 0, 0},
        {{"Host:a", "X:a\x7f"}, ERR_INVALID, 0, 0},
        {{"Host:a", "X:a\rb"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Content-Type:a", "Content-Type:b"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Content-Type: a", "X-Other: b", "content-type: a"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Authorization:Bearer a", "Authorization:Bearer a"}, ERR_INVALID, 0, 0},
        {{"Host:a", "X-KaaS:1", "X-KaaS:1"}, ERR_INVALID, 0, 0},
        {{"Host:a", "KaaS-Replaces:a", "KaaS-Replaces:b"}, ERR_INVALID, 0, 0},
        {{"Host:a", "vmware-api-session-id:a", "vmware-api-session-id:b"}, ERR_INVALID, 0, 0},
        {{"Host:a", "Expect:100-continue", "Expect:100-continue"}, ERR_INVALID, 0, 0},
        {{"Host: a\t", "Expect: 100-continue ", "X-Forwarded-For: a", "X-Forwarded-For: b"}, 0, 0, 0},
        {{"Host:a", "Transfer-Encoding:chunked "}, ERR_INVALID, 0, 0}, /* the library knows no such coding */
        {{"Host:a", "Empty:"}, 0, 0, 0},
        {{"Host:a", "Expect:100-Continue", "Content-Length:5"}, 0, 1, 5},
        {{"Host:a", "Expect:200-maybe"}, ERR_EXPECTATION, 0, 0},
    };
    struct http_request *req = http_request_new(NULL, 0, "/");
    char store[5][256];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        bool has_body = false;
        int64_t bytes = 0;
        set_fields(req, store, cases[i].lines);
        int r = http_fields_check(req, &has_body, &bytes, NULL);
        if (r != cases[i].code || has_body != cases[i].has_body || bytes != cases[i].bytes)
            fail_msg("case %zu gave %d %d %ld", i, r, has_body, (long)bytes);
    }
    http_request_destroy(req);
}

static void test_kept_fields_outlive_the_connection(void **state) {
    struct http_request *req = http_request_new(NULL, 0, "/");
    char store[5][256];
    (void)state;
    set_fields(req, store, (const char *const[]){"Host:a", "Authorization:Bearer x", "Empty:", NULL});
    assert_int_equal(http_request_keep_fields(req), 0);
    memset(store, 'z', sizeof(store));
    assert_string_equal(http_request_header(req, "authorization"), "Bearer x");
    assert_string_equal(http_request_header(req, "EMPTY"), "");
    assert_null(http_request_header(req, "Absent"));
    http_request_destroy(req);
}

/* One list of all lines, whoever stands between two of them. */
static void test_lines_of_one_name_are_one_list(void **state) {
    struct http_request *req = http_request_new(NULL, 0, "/");
    char store[8][256];
    size_t len = 0;
    (void)state;
    set_fields(req, store,
               (const char *const[]){"X-Forwarded-For: \t203.0.113.9 ", "Cookie: a=1", "x-forwarded-for:", "Accept-Encoding: br",
                                     "COOKIE: b=2;c=3\t", "X-Forwarded-For: 10.0.0.2", "Cookie:d=4 ", NULL});
    assert_int_equal(req->fields_count, 3);
    assert_string_equal(http_request_header(req, "X-Forwarded-For"), "203.0.113.9, , 10.0.0.2");
    assert_string_equal(http_request_header(req, "Cookie"), "a=1; b=2;c=3; d=4");
    assert_string_equal(http_request_header(req, "Accept-Encoding"), "br");
    assert_int_equal(http_request_keep_fields(req), 0);
    assert_string_equal(http_request_header(req, "Cookie"), "a=1; b=2;c=3; d=4");
    assert_memory_equal(http_request_cookie(req, "c", &len), "3", 1);
    assert_int_equal(len, 1);
    assert_non_null(http_request_cookie(req, "d", &len));
    assert_null(http_request_cookie(req, "e", &len));
    assert_null(http_request_cookie(req, "", &len));
    http_request_destroy(req);
}

/* RFC 9110 11.4: at least one blank between scheme and token. */
static void test_credentials(void **state) {
    static const struct {
        const char *line, *token;
    } rows[] = {
        {"Authorization:Bearer abc", "abc"},
        {"Authorization: bearer   abc \t", "abc"},
        {"Authorization:Bearer", ""},
        {"Authorization: Bearer ", ""},
        {"Authorization:Bearerabc", NULL},
        {"Authorization:Basic abc", NULL},
        {"Authorization:", NULL},
        {"X-Authorization:Bearer abc", NULL},
    };
    struct http_request *req = http_request_new(NULL, 0, "/");
    char store[2][256];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        set_fields(req, store, (const char *const[]){rows[i].line, NULL});
        const char *token = http_request_credentials(req, "Bearer");
        if (!token != !rows[i].token || (token && strcmp(token, rows[i].token) != 0))
            fail_msg("\"%s\" gave %s", rows[i].line, token ? token : "nothing");
    }
    http_request_destroy(req);
}

static void test_media_types(void **state) {
    struct http_request *req = http_request_new(NULL, 0, "/");
    char store[5][256];
    (void)state;
    assert_false(http_request_is_media_type(req, "application/json"));
    set_fields(req, store, (const char *const[]){"Content-Type:Application/JSON ; charset=utf-8", NULL});
    assert_true(http_request_is_media_type(req, "application/json"));
    set_fields(req, store, (const char *const[]){"Content-Type:application/jsonx", NULL});
    assert_false(http_request_is_media_type(req, "application/json"));
    http_request_destroy(req);
}

static void test_clients_behind_proxies(void **state) {
    static const struct {
        const char *forwarded, *client;
    } cases[] = {
        {"203.0.113.9", "203.0.113.9"},
        {"1.2.3.4, 203.0.113.9", "203.0.113.9"}, /* what the client wrote itself is not believed */
        {"203.0.113.9, 10.0.0.2", "203.0.113.9"},
        {"1.2.3.4,203.0.113.9 ,\t10.0.0.2, 10.0.0.3", "203.0.113.9"},
        {"10.0.0.2, 10.0.0.3", "10.0.0.2"}, /* proxies only: the outermost */
        {"203.0.113.9:4711", "203.0.113.9"},
        {"[2001:db8::9]:443", "2001:db8::9"},
        {"2001:DB8::9", "2001:db8::9"},
        {"nonsense, 10.0.0.2", "10.0.0.2"},
        {"203.0.113.9, nonsense", "peer"},
        {"unknown", "peer"},
        {"", "peer"},
        {",", "peer"},
        {"203.0.113.9,", "peer"},
        {"1.2.3.4 5.6.7.8", "peer"},
        {"1.2.3.4, , 10.0.0.2", "10.0.0.2"}, /* nobody vouches for what stands left of an empty element */
        {"1.2.3.4, 203.0.113.9:", "peer"},
        {"1.2.3.4, 203.0.113.9:x", "peer"},
        {"1.2.3.4, 203.0.113.9:123456", "peer"},
        {"1.2.3.4, [2001:db8::9]", "2001:db8::9"},
        {"1.2.3.4, [2001:db8::9", "peer"},
        {"1.2.3.4, [2001:db8::9]x", "peer"},
        {"1.2.3.4, [2001:db8::9]:", "peer"},
        {"1.2.3.4, []:1", "peer"},
        {"1.2.3.4, \"203.0.113.9\"", "peer"},
        {"1.2.3.4, ::ffff:203.0.113.9", "203.0.113.9"},
        {"1.2.3.4, [::ffff:203.0.113.9]:80, 10.0.0.2:80", "203.0.113.9"},
    };
    struct net_block nets[1];
    (void)state;
    assert_true(net_block_parse("10.0.0.0/8", nets));
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char client[INET6_ADDRSTRLEN] = "peer";
        http_client_behind(cases[i].forwarded, nets, 1, client);
        if (strcmp(client, cases[i].client) != 0)
            fail_msg("\"%s\" gave %s", cases[i].forwarded, client);
    }
}

static void test_answers(void **state) {
    struct http_response resp;
    struct strbuf text;
    size_t n;
    (void)state;
    http_response_init(&resp);
    http_response_set_header(&resp, "X-A", "1");
    http_response_set_header(&resp, "x-a", "2");
    assert_string_equal(http_response_header(&resp, "X-A"), "2");
    assert_int_equal(resp.fields_count, 1);
    strbuf_init(&text, 100);
    strbuf_adds(&text, "shared");
    struct http_shared *shared = http_shared_new(&text);
    assert_non_null(shared);
    assert_int_equal(text.len, 0);
    http_response_set_shared(&resp, "text/plain", shared);
    http_response_set_shared(&resp, "text/plain", shared); /* the same again */
    http_shared_unref(shared);
    assert_string_equal(http_shared_data(resp.shared, &n), "shared");
    strbuf_adds(&text, "own");
    http_response_set_text(&resp, "application/json", &text);
    assert_string_equal(resp.body.data, "own");
    assert_string_equal(http_response_header(&resp, "content-type"), "application/json");
    assert_false(resp.is_broken);
    http_response_reset(&resp);
    assert_null(http_response_header(&resp, "X-A"));
    assert_int_equal(http_response_status(&resp), 200);
    http_response_done(&resp);
}

static void test_bad_answers_are_remembered(void **state) {
    static const char *const bad[][2] = {{"X", "a\r\nY: b"}, {"X", "a\nb"}, {"X: Y", "a"},
                                         {"", "a"},          {"X\r", "a"},  {"X", "a\x01"}};
    struct http_response resp;
    struct strbuf small;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        http_response_init(&resp);
        http_response_set_header(&resp, bad[i][0], bad[i][1]);
        assert_true(resp.is_broken);
        http_response_done(&resp);
    }
    http_response_init(&resp);
    http_response_set_status(&resp, 99);
    assert_true(resp.is_broken);
    http_response_reset(&resp);
    strbuf_init(&small, 3);
    strbuf_adds(&small, "four");
    assert_null(http_shared_new(&small));
    http_response_set_text(&resp, NULL, &small); /* a text that did not fit is no answer */
    assert_true(resp.is_broken);
    http_response_reset(&resp);
    for (unsigned i = 0; i <= HTTP_RESPONSE_FIELDS_MAX; i++) {
        char name[16];
        assert_false(resp.is_broken);
        (void)snprintf(name, sizeof(name), "X-%u", i);
        http_response_set_header(&resp, name, "1");
    }
    assert_true(resp.is_broken);
    http_response_done(&resp);
}

/* Eight bytes at a time must find what one at a time finds, wherever it stands. */
static void test_every_byte_at_every_place(void **state) {
    char text[25];
    (void)state;
    for (unsigned c = 1; c < 256; c++) {
        bool is_control = (c < 0x20 && c != '\t') || c == 0x7f;
        for (size_t at = 0; at < sizeof(text) - 1; at++) {
            memset(text, 'a', sizeof(text));
            text[sizeof(text) - 1] = '\0';
            text[at] = (char)c;
            assert_int_equal(http_has_control(text, sizeof(text) - 1), is_control);
            bool is_fine = c >= 0x20 && c < 0x7f; /* a lone byte above is not UTF-8 */
            assert_int_equal(http_check_text(text, sizeof(text) - 1, "text", NULL), is_fine ? 0 : ERR_INVALID);
        }
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        text[0] = (char)c;
        assert_int_equal(http_is_token(text, 1), is_alnum || (c < 0x80 && strchr("!#$%&'*+-.^_`|~", (int)c)));
    }
    assert_false(http_is_token("", 0));
    assert_false(http_has_control("", 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_kept_fields_outlive_the_connection),
        cmocka_unit_test(test_every_byte_at_every_place),
        cmocka_unit_test(test_lines_of_one_name_are_one_list),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_media_types),
        cmocka_unit_test(test_clients_behind_proxies),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_bad_answers_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
