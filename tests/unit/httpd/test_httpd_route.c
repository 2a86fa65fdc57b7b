/* Route patterns, matching, and the rules of decoding, without a server.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "http_request_private.h"
#include "http_text.h"

static int dummy(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)req, (void)resp, (void)err;
    return 0;
}

#define ROUTE(m, p) \
    { .method = HTTP_METHOD_##m, .pattern = (p), .handler = dummy }

static const struct route routes[] = {
    ROUTE(GET, "/"),
    ROUTE(GET, "/v2/clusters"),
    ROUTE(POST, "/v2/clusters"),
    ROUTE(GET, "/v2/clusters/{id}"),
    ROUTE(DELETE, "/v2/clusters/{id}"),
    ROUTE(GET, "/v2/clusters/{id}/nodes"),
    ROUTE(GET, "/v2/clusters/export"),
    ROUTE(PUT, "/v2/{kind}/{name}/grants"),
    ROUTE(GET, "/ui"),
    ROUTE(GET, "/ui/"),
    ROUTE(GET, "/ui/*"),
    ROUTE(GET, "/ui/logo.svg"),
};

static struct route_table *table;

static int set_up(void **state) {
    (void)state;
    return route_table_new(routes, UNIT_COUNT(routes), &table, NULL);
}

static int tear_down(void **state) {
    (void)state;
    route_table_free(table);
    return 0;
}

/* The pattern that `path` leads to, "405", "404" or "400"; params are written as "name=value;". */
static const char *find(enum http_method method, const char *path, char *params) {
    static char text[512];
    struct route_path parsed;
    struct route_match match;
    (void)snprintf(text, sizeof(text), "%s", path);
    params[0] = '\0';
    int r = route_path_parse(text, &parsed, NULL);
    if (r)
        return r == ERR_NOT_FOUND ? "404" : "400";
    route_find(table, method, &parsed, &match);
    for (unsigned i = 0; i < match.params_count; i++)
        (void)snprintf(params + strlen(params), 256, "%.*s=%s;", (int)match.params[i].name_len, match.params[i].name,
                       match.params[i].value);
    if (match.route)
        return match.route->pattern;
    return match.allowed ? "405" : "404";
}

static void test_matching(void **state) {
    static const struct {
        enum http_method method;
        const char *path, *pattern, *params;
    } cases[] = {
        {HTTP_METHOD_GET, "/", "/", ""},
        {HTTP_METHOD_GET, "/v2/clusters", "/v2/clusters", ""},
        {HTTP_METHOD_HEAD, "/v2/clusters", "/v2/clusters", ""},
        {HTTP_METHOD_GET, "/v2/%63lusters", "/v2/clusters", ""},
        {HTTP_METHOD_PUT, "/v2/clusters", "405", ""},
        {HTTP_METHOD_GET, "/v2/clusters/", "404", ""},
        {HTTP_METHOD_GET, "/v2/clusters/a%2Fb", "/v2/clusters/{id}", "id=a/b;"},
        {HTTP_METHOD_GET, "/v2/clusters/%25", "/v2/clusters/{id}", "id=%;"},
        {HTTP_METHOD_GET, "/v2/clusters/a+b", "/v2/clusters/{id}", "id=a+b;"},
        {HTTP_METHOD_GET, "/v2/clusters/export", "/v2/clusters/export", ""},
        {HTTP_METHOD_DELETE, "/v2/clusters/export", "405", ""}, /* the literal wins, whatever the method */
        {HTTP_METHOD_GET, "/v2/clusters/export/nodes", "/v2/clusters/{id}/nodes", "id=export;"},
        {HTTP_METHOD_PUT, "/v2/clusters/x/grants", "/v2/{kind}/{name}/grants", "kind=clusters;name=x;"},
        {HTTP_METHOD_GET, "/v2/clusters/x/other", "404", ""},
        {HTTP_METHOD_GET, "/ui", "/ui", ""},
        {HTTP_METHOD_GET, "/ui/", "/ui/", ""},
        {HTTP_METHOD_GET, "/ui/logo.svg", "/ui/logo.svg", ""},
        {HTTP_METHOD_GET, "/ui/a/b%20c/d.js", "/ui/*", "*=a/b c/d.js;"},
        {HTTP_METHOD_GET, "/ui/a/", "/ui/*", "*=a/;"},
        {HTTP_METHOD_GET, "/ui/a%2fb", "404", ""},
        {HTTP_METHOD_GET, "/ui/./a", "400", ""},
        {HTTP_METHOD_GET, "/ui/..", "400", ""},
        {HTTP_METHOD_GET, "/ui/.%2E/a", "400", ""},
        {HTTP_METHOD_GET, "/ui/...", "/ui/*", "*=...;"},
        {HTTP_METHOD_GET, "/v2/clusters/%7F", "400", ""},
        {HTTP_METHOD_GET, "/v2/clusters/%C2%80", "400", ""},
        {HTTP_METHOD_GET, "/v2/clusters/%C0%AF", "400", ""},
        {HTTP_METHOD_GET, "/v2/clusters/%", "400", ""},
        {HTTP_METHOD_GET, "/v2/clusters/%1", "400", ""},
        {HTTP_METHOD_GET, "/v2/clusters/%1g", "400", ""},
        {HTTP_METHOD_GET, "/v2/clusters/a%00b", "400", ""},
        {HTTP_METHOD_GET, "v2/clusters", "400", ""},
        {HTTP_METHOD_GET, "", "400", ""},
        {HTTP_METHOD_GET, "/ui/1/2/3/4/5/6/7/8/9/10/11", "/ui/*", "*=1/2/3/4/5/6/7/8/9/10/11;"},
        {HTTP_METHOD_GET, "/ui/1/2/3/4/5/6/7/8/9/10/11/12", "404", ""},
    };
    char params[600];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const char *pattern = find(cases[i].method, cases[i].path, params);
        if (strcmp(pattern, cases[i].pattern) != 0 || strcmp(params, cases[i].params) != 0)
            fail_msg("%s gave %s with %s", cases[i].path, pattern, params);
    }
}

static void test_allow(void **state) {
    char allow[ROUTE_ALLOW_BYTES];
    (void)state;
    route_format_allow(0, allow);
    assert_string_equal(allow, "");
    route_format_allow(1U << HTTP_METHOD_DELETE | 1U << HTTP_METHOD_GET, allow);
    assert_string_equal(allow, "GET, DELETE");
    route_format_allow(~0U, allow);
    assert_string_equal(allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
}

static void test_bad_tables_are_refused(void **state) {
    static const struct route bad[][2] = {
        {ROUTE(GET, "v2"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/a*"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/*/a"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/{}"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/{a"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/a}"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/{a}b"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/{{a}}"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/a%20b"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/{a}/{b}/{c}/{d}/{e}"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/1/2/3/4/5/6/7/8/9/10/11/12/13"), ROUTE(GET, "/a")},
        {ROUTE(HEAD, "/a"), ROUTE(GET, "/a")},
        {ROUTE(OPTIONS, "/a"), ROUTE(GET, "/a")},
        {ROUTE(GET, "/x/{a}"), ROUTE(GET, "/x/{b}")},
        {ROUTE(GET, "/x"), ROUTE(GET, "/x")},
        {{.method = HTTP_METHOD_GET, .pattern = "/x"}, ROUTE(GET, "/a")},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct route_table *out = NULL;
        struct err err = {0};
        if (route_table_new(bad[i], 2, &out, &err) != ERR_CONFIG)
            fail_msg("%s was accepted", bad[i][0].pattern);
        assert_null(out);
        assert_true(err.text[0]);
    }
}

static void test_decoding(void **state) {
    char text[32] = "%41%2b+%e2%82%ac";
    (void)state;
    assert_int_equal(http_decode(text, true), 6);
    assert_string_equal(text, "A+ \xe2\x82\xac");
    (void)snprintf(text, sizeof(text), "a+b");
    assert_int_equal(http_decode(text, false), 3);
    assert_string_equal(text, "a+b");
    static const char *const bad[] = {"%", "%1", "%g1", "%1g", "%%41", "%00", "a%0"};
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        (void)snprintf(text, sizeof(text), "%s", bad[i]);
        assert_int_equal(http_decode(text, true), -1);
    }
}

static void parse(struct http_request **req, const char *target, int code) {
    struct err err = {0};
    *req = http_request_new(NULL, 0, target);
    assert_non_null(*req);
    http_request_set_method(*req, "GET");
    if (http_target_parse(*req, table, &err) != code)
        fail_msg("%s gave %d: %s", target, err.code, err.text);
}

static void test_queries(void **state) {
    static const char *const known[] = {"name", "q", NULL}, *const none[] = {NULL};
    struct http_request *req;
    struct err err = {0};
    const char *name, *value;
    (void)state;
    parse(&req, "/v2/clusters?name=a%26b%3D%2B+c&q&&x=", 0);
    assert_string_equal(http_request_query(req, "name"), "a&b=+ c");
    assert_string_equal(http_request_query(req, "q"), "");
    assert_null(http_request_query(req, "absent"));
    assert_int_equal(http_request_query_count(req), 3);
    http_request_query_at(req, 2, &name, &value);
    assert_string_equal(name, "x");
    assert_string_equal(value, "");
    assert_int_equal(http_request_check_query(req, known, &err), ERR_INVALID);
    assert_string_equal(err.text, "unknown query parameter \"x\"");
    assert_string_equal(err.remedy, "known here: name, q");
    err_clear(&err);
    assert_int_equal(http_request_check_query(req, none, &err), ERR_INVALID);
    assert_string_equal(err.remedy, "this path takes no query parameters");
    http_request_destroy(req);
    parse(&req, "/v2/clusters?a=b=c", 0);
    assert_string_equal(http_request_query(req, "a"), "b=c");
    http_request_destroy(req);
    static const char *const bad[] = {
        "?a=1&%61=2", "?=1",
        "?a=%0",      "?a=%00",
        "?a=%0A",     "?%ff=1",
        "?a=\xff",    "?1&2&3&4&5&6&7&8&9&10&11&12&13&14&15&16&17&18&19&20&21&22&23&24&25&26&27&28&29&30&31&32&33"};
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        char target[256];
        (void)snprintf(target, sizeof(target), "/v2/clusters%s", bad[i]);
        parse(&req, target, ERR_INVALID);
        http_request_destroy(req);
    }
}

static void test_absolute_targets(void **state) {
    struct http_request *req;
    (void)state;
    parse(&req, "http://kaas.example:8443/v2/clusters/x?q=1", 0);
    assert_string_equal(http_request_param(req, "id"), "x");
    assert_string_equal(http_request_query(req, "q"), "1");
    http_request_destroy(req);
    parse(&req, "https://kaas.example", 0);
    assert_string_equal(http_request_route(req)->pattern, "/");
    http_request_destroy(req);
    parse(&req, "ftp://kaas.example/", ERR_INVALID);
    http_request_destroy(req);
    parse(&req, "https://kaas.example?a=/v2/clusters", 0); /* the slash belongs to the query */
    assert_string_equal(http_request_route(req)->pattern, "/");
    http_request_destroy(req);
    parse(&req, "http:///v2/clusters", ERR_INVALID);
    http_request_destroy(req);
    parse(&req, "http://me@kaas.example/v2/clusters", ERR_INVALID);
    http_request_destroy(req);
    parse(&req, "/v2/clusters", 0);
    assert_int_equal(http_target_check(req, NULL), 0);
    http_request_destroy(req);
    req = http_request_new(NULL, 0, "/v2/clusters x");
    assert_int_equal(http_target_check(req, NULL), ERR_INVALID);
    http_request_destroy(req);
    parse(&req, "/v3", ERR_NOT_FOUND);
    http_request_destroy(req);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matching), cmocka_unit_test(test_allow),   cmocka_unit_test(test_bad_tables_are_refused),
        cmocka_unit_test(test_decoding), cmocka_unit_test(test_queries), cmocka_unit_test(test_absolute_targets),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
