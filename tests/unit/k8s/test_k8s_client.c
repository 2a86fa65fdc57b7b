/* Unit tests of src/k8s/k8s_client: addresses, what a call sends, what its answers mean.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cleanup.h"
#include "k8s.h"
#include "net_policy.h"
#include "str.h"
#include "strbuf.h"
#include "tls_server.h"

static struct test_cert ca, good;
static char asked[4096]; /* the newest request */
static const char *told; /* the answer to it */

static const char *answer(void *arg, const char *request) {
    (void)arg;
    (void)snprintf(asked, sizeof(asked), "%s", request);
    return told;
}

static struct k8s_client *client_of(const struct tls_server *server, const char *path, const char *token) {
    struct k8s_client *client = NULL;
    _cleanup_free_ char *url = str_format("https://localhost:%u%s", tls_server_port(server), path);
    struct k8s_endpoint endpoint = {
        .url = url, .trust.ca_pem = ca.cert_pem, .connect_timeout_ms = 20000, .call_timeout_ms = 30000};
    assert_int_equal(k8s_client_new(&endpoint, token, &client, NULL), 0);
    return client;
}

static struct tls_server *start(void) {
    return tls_server_start(&(struct tls_server_options){.cert = &good, .answer = answer});
}

static void test_addresses(void **state) {
    (void)state;
    static const struct {
        const char *url, *base; /* base NULL: refused */
    } rows[] = {
        {"https://api.example.com:6443", "https://api.example.com:6443"},
        {"https://api.example.com:6443/", "https://api.example.com:6443"},
        {"https://rancher.example.com/k8s/clusters/c-1//", "https://rancher.example.com/k8s/clusters/c-1"},
        {"https://[2001:db8::1]:6443", "https://[2001:db8::1]:6443"},
        {"http://api.example.com:6443", NULL},
        {"HTTPS:api.example.com", NULL},
        {"api.example.com:6443", NULL},
        {"https://", NULL},
        {"https:///path", NULL},
        {"https://user:password@api.example.com", NULL},
        {"https://api.example.com/?a=b", NULL},
        {"https://api.example.com/#a", NULL},
        {"https://api.example.com\\@other.example.com", NULL},
        {"https://api.example.com/ x", NULL},
        {"https://api.example.com/\r\nHost: other", NULL},
        {"https://\xc3\xa4.example.com", NULL},
        {"https://xn--4ca.example.com", "https://xn--4ca.example.com"},
        {"https://api_1.example.com", NULL},
        {"https://192.0.2.1:6443", "https://192.0.2.1:6443"},
        {"https://[::ffff:192.0.2.1]", "https://[::ffff:192.0.2.1]"}, /* judged as IPv4 */
        {"https://2130706433:6443", NULL},                            /* 127.0.0.1 to libcurl, as the next six */
        {"https://0x7f000001", NULL},
        {"https://0x7f.0.0.0x1", NULL},
        {"https://127.0x.0x0.0X", NULL},
        {"https://0xylo.0xygen", "https://0xylo.0xygen"},
        {"https://0177.0.0.1", NULL},
        {"https://127.1", NULL},
        {"https://%31%32%37.0.0.1", NULL},
        {"https://127.0.0.1.", NULL},
        {"https://0", NULL},
        {"https://1.2.3.4.5", NULL},
        {"https://api.example.com.:6443", NULL},
        {"https://api..example.com", NULL},
        {"https://.example.com", NULL},
        {"https://-a.example.com", NULL},
        {"https://[fe80::1%25eth0]:6443", NULL},
        {"https://[fe80::1%eth0]:6443", NULL},
        {"https://[::1", NULL},
        {"https://[::1]6443", NULL},
        {"https://[192.0.2.1]:6443", NULL},
        {"https://[v1.x]:6443", NULL},
        {"https://2001:db8::1", NULL},
        {"https://:6443", NULL},
        {"https://api.example.com:", NULL},
        {"https://api.example.com:0", NULL},
        {"https://api.example.com:65535", "https://api.example.com:65535"},
        {"https://api.example.com:65536", NULL},
        {"https://api.example.com:+443", NULL},
        {"https://api.example.com:6443:1", NULL},
        {"https://a@b:c@api.example.com", NULL},
        {"https:\\\\api.example.com", NULL},
        {"https:/api.example.com", NULL},
        {"//api.example.com", NULL},
        {"ftp://api.example.com", NULL},
        {"https://a.example.com,b.example.com", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        _cleanup_free_ char *base = NULL;
        struct err err = {0};
        int rc = k8s_url_check(rows[i].url, &base, &err);
        if (rc != (rows[i].base ? 0 : ERR_CONFIG))
            print_message("%s: %s\n", rows[i].url, base ? base : err.text);
        assert_int_equal(rc, rows[i].base ? 0 : ERR_CONFIG);
        if (rows[i].base)
            assert_string_equal(base, rows[i].base);
        else
            assert_true(err.remedy[0] != '\0');
    }
}

/* The same judge as for each connection that is opened (net_policy.h), over the host that libcurl reads out of what k8s_url_check takes. */
static void test_addresses_that_are_not_connected_to(void **state) {
    (void)state;
    static const struct {
        const char *url;
        bool is_allowed;
    } rows[] = {
        {"https://192.0.2.1", true},
        {"https://10.0.0.1:6443", true},
        {"https://[2001:db8::1]:6443", true},
        {"https://[::ffff:10.0.0.1]", true},
        {"https://127.0.0.1:6443", false},
        {"https://0.0.0.0", false},
        {"https://169.254.169.254", false},
        {"https://224.0.0.1", false},
        {"https://255.255.255.255", false},
        {"https://[::]", false},
        {"https://[::1]:6443", false},
        {"https://[0:0:0:0:0:0:0:1]", false},
        {"https://[::127.0.0.1]", false},
        {"https://[::ffff:127.0.0.1]", false},
        {"https://[::ffff:7f00:1]", false},
        {"https://[::FFFF:A9FE:A9FE]", false},
        {"https://[64:ff9b::127.0.0.1]", false},
        {"https://[64:ff9b::a9fe:a9fe]", false},
        {"https://[fe80::1]", false},
        {"https://[ff02::1]", false},
        {"https://[fd00:ec2::254]", false},
    };
    struct net_policy policy;
    assert_int_equal(net_policy_init(&policy, "kubernetes.allowed_networks", NULL, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        _cleanup_free_ char *base = NULL, *host = NULL;
        struct err err = {0};
        unsigned port = 0;
        assert_int_equal(k8s_url_check(rows[i].url, &base, NULL), 0);
        host = http_url_host(base, &port);
        assert_non_null(host);
        int rc = net_policy_check(&policy, host, host, &err);
        if (rc != (rows[i].is_allowed ? 0 : ERR_UNREACHABLE))
            fail_msg("%s: %s", rows[i].url, err.text);
    }
}

static void test_what_is_sent(void **state) {
    (void)state;
    struct tls_server *server = start();
    _cleanup_(k8s_client_free) struct k8s_client *client = client_of(server, "/behind/", "a-token");
    _cleanup_strbuf_ struct strbuf body, reply;
    strbuf_init(&body, 1000);
    strbuf_init(&reply, 100000);
    strbuf_adds(&body, "{\"a\":1}");
    told = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nmade";
    struct k8s_call call = {
        .method = "POST", .path = "/api/v1/namespaces?dryRun=All", .body_type = "application/json", .body = &body};
    assert_int_equal(k8s_call(client, &call, &reply, NULL, NULL), 0);
    assert_string_equal(reply.data, "made");
    assert_non_null(strstr(asked, "POST /behind/api/v1/namespaces?dryRun=All HTTP/1.1\r\n"));
    assert_non_null(strstr(asked, "\r\nAuthorization: Bearer a-token\r\n"));
    assert_non_null(strstr(asked, "\r\nAccept: application/json\r\n"));
    assert_non_null(strstr(asked, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(asked, "\r\n\r\n{\"a\":1}"));
    tls_server_stop(server);
}

static void test_tokens_that_no_header_holds(void **state) {
    (void)state;
    static const char *const tokens[] = {"a b", "a\r\nX: y", "a\tb", "\xc3\xa4"};
    for (size_t i = 0; i < UNIT_COUNT(tokens); i++) {
        struct k8s_client *client = NULL;
        struct err err = {0};
        struct k8s_endpoint endpoint = {.url = "https://localhost:1", .trust.ca_pem = ca.cert_pem};
        assert_int_equal(k8s_client_new(&endpoint, tokens[i], &client, &err), ERR_CONFIG);
        assert_null(strstr(err.text, tokens[i]));
    }
}

#define STATUS(code, reason)                                                                                    \
    "HTTP/1.1 " code " X\r\nConnection: close\r\n\r\n{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":" code \
    ",\"reason\":\"" reason "\",\"message\":\"its words\"}"

static void test_answers(void **state) {
    (void)state;
    static const struct {
        const char *answer;
        int code;
        const char *text;
    } rows[] = {
        {STATUS("401", "Unauthorized"), ERR_UNAUTHENTICATED, "answers 401 to GET /version: its words"},
        {STATUS("403", "Forbidden"), ERR_UPSTREAM_DENIED, "its words"},
        {STATUS("404", "NotFound"), ERR_NOT_FOUND, "its words"},
        {STATUS("409", "AlreadyExists"), ERR_EXISTS, "its words"},
        {STATUS("409", "Conflict"), ERR_CONFLICT, "its words"},
        {STATUS("410", "Expired"), ERR_UPSTREAM, "its words"},
        {STATUS("422", "Invalid"), ERR_UNPROCESSABLE, "its words"},
        {STATUS("429", "TooManyRequests"), ERR_TOO_MANY, "its words"},
        {STATUS("500", "InternalError"), ERR_UPSTREAM, "its words"},
        {STATUS("418", "Teapot"), ERR_PROTOCOL, "its words"},
        {"HTTP/1.1 302 Found\r\nLocation: /\r\nConnection: close\r\n\r\n", ERR_PROTOCOL, "answers 302 to GET /version"},
        {"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n<html>a proxy</html>", ERR_UPSTREAM,
         "answers 502 to GET /version"},
        {"", ERR_UNREACHABLE, "broke"},
    };
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct tls_server *server = start();
        _cleanup_(k8s_client_free) struct k8s_client *client = client_of(server, "", NULL);
        _cleanup_strbuf_ struct strbuf reply;
        struct err err = {0};
        strbuf_init(&reply, 100000);
        told = rows[i].answer;
        struct k8s_call call = {.method = "GET", .path = "/version?a=b"};
        int rc = k8s_call(client, &call, &reply, NULL, &err);
        if (rc != rows[i].code || !strstr(err.text, rows[i].text))
            print_message("row %zu: %s: %s\n", i, err_slug(rc), err.text);
        assert_int_equal(rc, rows[i].code);
        assert_non_null(strstr(err.text, rows[i].text));
        assert_null(strstr(err.text, "html"));
        assert_true(err.remedy[0] != '\0');
        if (rc == ERR_TOO_MANY)
            assert_int_equal(err.retry_after_s, 1);
        assert_null(strstr(asked, "Authorization"));
        tls_server_stop(server);
    }
}

/* Checks of /readyz come with a 500: its text is there beside the error, and the server's clock. */
static void test_what_comes_with_an_error(void **state) {
    (void)state;
    struct tls_server *server = start();
    _cleanup_(k8s_client_free) struct k8s_client *client = client_of(server, "", NULL);
    _cleanup_strbuf_ struct strbuf reply;
    long status = 0;
    strbuf_init(&reply, 100000);
    told = "HTTP/1.1 500 Internal Server Error\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 12\r\n\r\n[-]etcd fail";
    int64_t date_ms = -1;
    struct k8s_call call = {.method = "GET", .path = "/readyz?verbose", .date_ms = &date_ms};
    assert_int_equal(k8s_call(client, &call, &reply, &status, NULL), ERR_UPSTREAM);
    assert_int_equal(date_ms, INT64_C(784111777000)); /* the example of RFC 9110 5.6.7 */
    assert_int_equal(status, 500);
    assert_string_equal(reply.data, "[-]etcd fail");
    tls_server_stop(server);
}

static int setup(void **state) {
    (void)state;
    test_cert_make(&(struct test_cert_request){.common_name = "Test CA", .is_ca = true}, &ca);
    test_cert_make(&(struct test_cert_request){.common_name = "good", .san = "DNS:localhost", .issuer = &ca}, &good);
    return http_client_global_init(NULL);
}

static int teardown(void **state) {
    (void)state;
    test_cert_done(&ca);
    test_cert_done(&good);
    http_client_global_done();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),    cmocka_unit_test(test_addresses_that_are_not_connected_to),
        cmocka_unit_test(test_what_is_sent), cmocka_unit_test(test_tokens_that_no_header_holds),
        cmocka_unit_test(test_answers),      cmocka_unit_test(test_what_comes_with_an_error),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
