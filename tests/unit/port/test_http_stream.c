/* Unit tests of src/port/http_stream: pieces as they come, many on one thread, every way to end, against a server inside the test.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cleanup.h"
#include "clock.h"
#include "http_client.h"
#include "http_stream.h"
#include "net_policy.h"
#include "str.h"
#include "strbuf.h"
#include "tls_server.h"

static struct test_cert ca, good, other;
static struct http_streams *streams;

/* A reader that keeps what it is told. */
struct reader {
    uint64_t id;
    struct strbuf body; /* of the streams' thread until the end */
    char headers[2048]; /* likewise */
    long data_status;   /* likewise */
    atomic_uint pieces, ends;
    size_t refuse_after; /* on_data refuses when the body is longer; 0: never */
    unsigned again;      /* so many more transfers are begun by on_end */
    const struct http_stream_request *next;
    long status;
    struct err err; /* code 0: ended in order */
};

static int begin(struct reader *r, const struct http_stream_request *request, struct err *err);

static void read_header(void *arg, const char *line, size_t n) {
    struct reader *r = arg;
    size_t len = strlen(r->headers);
    (void)snprintf(r->headers + len, sizeof(r->headers) - len, "%.*s\n", (int)n, line);
}

static int read_data(void *arg, long status, const void *bytes, size_t n, struct err *err) {
    struct reader *r = arg;
    r->data_status = status;
    strbuf_add(&r->body, bytes, n);
    atomic_fetch_add(&r->pieces, 1);
    if (r->refuse_after && r->body.len > r->refuse_after)
        return err_set(err, ERR_UNPROCESSABLE, "one object is larger than %zu bytes", r->refuse_after);
    return 0;
}

static void read_end(void *arg, long status, const struct err *err) {
    struct reader *r = arg;
    r->status = status;
    r->err = err ? *err : (struct err){0};
    if (r->again && r->again--)
        assert_int_equal(begin(r, r->next, NULL), 0);
    atomic_fetch_add(&r->ends, 1);
}

static int begin(struct reader *r, const struct http_stream_request *request, struct err *err) {
    struct http_stream_user user = {r, read_header, read_data, read_end};
    return http_stream_start(streams, request, &user, &r->id, err);
}

static void reader_init(struct reader *r) {
    memset(r, 0, sizeof(*r));
    strbuf_init(&r->body, 1000000);
}

static char *url_of(const struct tls_server *server, const char *path) {
    return str_format("https://localhost:%u%s", tls_server_port(server), path);
}

/* Reads `path` by these options to its end. */
static void read_whole(struct reader *r, const struct tls_server *server, const struct http_client_options *options,
                       const char *path) {
    _cleanup_free_ char *url = url_of(server, path);
    static const char *const headers[] = {"Accept: text/plain", NULL};
    struct http_stream_request request = {options, url, headers, 60000};
    reader_init(r);
    assert_int_equal(begin(r, &request, NULL), 0);
    UNIT_WAIT_FOR(atomic_load(&r->ends) == 1);
}

static struct http_client_options trusting(const struct test_cert *anchor) {
    return (struct http_client_options){
        .trust.ca_pem = anchor->cert_pem, .user_agent = "kaas-test/1", .connect_timeout_ms = 20000};
}

static struct tls_server *start(const struct test_cert *cert) {
    return tls_server_start(&(struct tls_server_options){.cert = cert});
}

static void assert_ended(const struct reader *r, int code, const char *word) {
    if (r->err.code != code || !strstr(r->err.text, word))
        print_message("got %s: %s (%s), status %ld, body %s\n", err_slug(r->err.code), r->err.text, r->err.detail, r->status,
                      r->body.data);
    assert_int_equal(r->err.code, code);
    assert_non_null(strstr(r->err.text, word));
}

static void test_a_whole_answer(void **state) {
    (void)state;
    struct reader r;
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    read_whole(&r, server, &options, "/hello");
    assert_int_equal(r.err.code, 0);
    assert_int_equal(r.status, 200);
    assert_int_equal(r.data_status, 200);
    assert_string_equal(r.body.data, "hello");
    assert_string_equal(r.headers, "X-Test: yes\nContent-Length: 5\n");
    strbuf_done(&r.body);
    read_whole(&r, server, &options, "/echo");
    assert_non_null(strstr(r.body.data, "Accept: text/plain\r\n"));
    assert_non_null(strstr(r.body.data, "User-Agent: kaas-test/1\r\n"));
    strbuf_done(&r.body);
    assert_int_equal(tls_server_connections(server), 2); /* one each, closed at its end */
    tls_server_wait_ended(server, 2);
    tls_server_stop(server);
}

static void test_answers_that_are_not_200(void **state) {
    (void)state;
    struct reader r;
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    read_whole(&r, server, &options, "/status/410");
    assert_int_equal(r.err.code, 0);
    assert_int_equal(r.status, 410);
    assert_int_equal(r.data_status, 410);
    assert_string_equal(r.body.data, "word");
    strbuf_done(&r.body);
    read_whole(&r, server, &options, "/redirect");
    assert_int_equal(r.status, 302);
    assert_int_equal(tls_server_requests(server), 2); /* not followed */
    strbuf_done(&r.body);
    tls_server_stop(server);
}

/* An answer without an end: pieces come one by one, and after the stop nothing comes. */
static void test_pieces_until_it_is_stopped(void **state) {
    (void)state;
    struct reader r;
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    _cleanup_free_ char *url = url_of(server, "/drip");
    struct http_stream_request request = {&options, url, NULL, 60000};
    reader_init(&r);
    assert_int_equal(begin(&r, &request, NULL), 0);
    UNIT_WAIT_FOR(atomic_load(&r.pieces) >= 3);
    http_stream_stop(streams, r.id);
    assert_int_equal(atomic_load(&r.ends), 1);
    assert_ended(&r, ERR_CANCELED, "given up");
    assert_int_equal(r.status, 200);
    unsigned pieces = atomic_load(&r.pieces);
    tls_server_wait_ended(server, 1); /* the connection is closed */
    assert_int_equal(atomic_load(&r.pieces), pieces);
    http_stream_stop(streams, r.id); /* over already */
    assert_int_equal(atomic_load(&r.ends), 1);
    strbuf_done(&r.body);
    tls_server_stop(server);
}

#define MANY 60

/* A slow one, a silent one and a busy one do not wait for each other; the end of all ends each. */
static void test_many_on_one_thread(void **state) {
    (void)state;
    static struct reader readers[MANY];
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    _cleanup_free_ char *drip = url_of(server, "/drip"), *silent = url_of(server, "/silent");
    for (unsigned i = 0; i < MANY; i++) {
        struct http_stream_request request = {&options, i % 2 ? drip : silent, NULL, 60000};
        reader_init(&readers[i]);
        assert_int_equal(begin(&readers[i], &request, NULL), 0);
    }
    tls_server_wait_requests(server, MANY);
    for (unsigned i = 1; i < MANY; i += 2)
        UNIT_WAIT_FOR(atomic_load(&readers[i].pieces) >= 2);
    http_streams_free(streams);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(atomic_load(&readers[i].ends), 1);
        assert_ended(&readers[i], ERR_CANCELED, "given up");
        strbuf_done(&readers[i].body);
    }
    tls_server_wait_ended(server, MANY);
    tls_server_stop(server);
    assert_int_equal(http_streams_new(&streams, NULL), 0);
}

static const char *answer_begun(void *arg, const char *request) {
    (void)arg, (void)request;
    return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst";
}

/* Silence before and within an answer. The clock is moved, not waited for. */
static void test_silence(void **state) {
    (void)state;
    struct reader before, within;
    struct tls_server *silent = start(&good);
    struct tls_server *begun = tls_server_start(&(struct tls_server_options){.cert = &good, .answer = answer_begun});
    struct http_client_options options = trusting(&ca);
    _cleanup_free_ char *silent_url = url_of(silent, "/silent"), *begun_url = url_of(begun, "/");
    struct http_stream_request request = {&options, silent_url, NULL, 90000};
    clock_fake(1000000, 1000000);
    reader_init(&before);
    reader_init(&within);
    assert_int_equal(begin(&before, &request, NULL), 0);
    tls_server_wait_requests(silent, 1);
    clock_advance_ms(60000);
    request.url = begun_url;
    assert_int_equal(begin(&within, &request, NULL), 0);
    UNIT_WAIT_FOR(atomic_load(&within.pieces) == 1);
    assert_int_equal(atomic_load(&before.ends), 0);
    clock_advance_ms(31000); /* 91 s after the one, 31 s after the other */
    UNIT_WAIT_FOR(atomic_load(&before.ends) == 1);
    assert_ended(&before, ERR_TIMEOUT, "nothing has come from localhost:");
    assert_int_equal(before.status, 0);
    assert_int_equal(atomic_load(&within.ends), 0);
    clock_advance_ms(60000);
    UNIT_WAIT_FOR(atomic_load(&within.ends) == 1);
    assert_ended(&within, ERR_TIMEOUT, "for 91 s");
    assert_int_equal(within.status, 200);
    assert_string_equal(within.body.data, "first");
    clock_unfake();
    strbuf_done(&before.body);
    strbuf_done(&within.body);
    tls_server_stop(silent);
    tls_server_stop(begun);
}

static void test_the_reader_refuses(void **state) {
    (void)state;
    struct reader r;
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    _cleanup_free_ char *url = url_of(server, "/flood");
    struct http_stream_request request = {&options, url, NULL, 60000};
    reader_init(&r);
    r.refuse_after = 5000;
    assert_int_equal(begin(&r, &request, NULL), 0);
    UNIT_WAIT_FOR(atomic_load(&r.ends) == 1);
    assert_ended(&r, ERR_UNPROCESSABLE, "one object is larger than 5000 bytes");
    assert_true(r.body.len < 50000);
    tls_server_wait_ended(server, 1);
    strbuf_done(&r.body);
    tls_server_stop(server);
}

static void test_trust(void **state) {
    (void)state;
    struct reader r;
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&other);
    read_whole(&r, server, &options, "/hello");
    assert_ended(&r, ERR_TLS, "is not trusted");
    assert_true(r.err.remedy[0] != '\0');
    strbuf_done(&r.body);
    options = (struct http_client_options){.trust.pin_sha256 = other.sha256};
    read_whole(&r, server, &options, "/hello");
    assert_ended(&r, ERR_TLS, "not the expected one");
    strbuf_done(&r.body);
    options.trust = (struct http_trust){.ca_pem = ca.cert_pem, .verify_host = "third.example"};
    read_whole(&r, server, &options, "/hello");
    assert_ended(&r, ERR_TLS, "ostname mismatch");
    strbuf_done(&r.body);
    assert_int_equal(tls_server_requests(server), 0);
    options.trust = (struct http_trust){.pin_sha256 = good.sha256};
    read_whole(&r, server, &options, "/hello");
    assert_int_equal(r.err.code, 0);
    assert_string_equal(r.body.data, "hello");
    strbuf_done(&r.body);
    tls_server_stop(server);
}

static void test_client_certificate(void **state) {
    (void)state;
    struct reader r;
    struct tls_server *server = tls_server_start(&(struct tls_server_options){.cert = &good, .asks_client_cert = true});
    struct http_client_options options = trusting(&ca);
    options.client_cert_pem = other.cert_pem;
    options.client_key_pem = other.key_pem;
    read_whole(&r, server, &options, "/whoami");
    assert_string_equal(r.body.data, "other");
    strbuf_done(&r.body);
    tls_server_stop(server);
}

static void test_networks(void **state) {
    (void)state;
    struct reader r;
    struct net_policy networks;
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    assert_int_equal(net_policy_init(&networks, "kubernetes.allowed_networks", (const char *const[]){"192.0.2.0/24", NULL}, NULL),
                     0);
    options.networks = &networks;
    read_whole(&r, server, &options, "/hello");
    assert_ended(&r, ERR_UNREACHABLE, "where kaasd does not connect to");
    assert_non_null(strstr(r.err.remedy, "kubernetes.allowed_networks"));
    strbuf_done(&r.body);
    assert_int_equal(tls_server_connections(server), 0);
    tls_server_stop(server);
}

/* RFC 9113 4.1, of a frame on stream 1 */
#define FRAME(bytes, type, flags) 0, 0, bytes, type, flags, 0, 0, 0, 1
#define H2_BEGUN                                                                                 \
    0, 0, 0, 4, 0, 0, 0, 0, 0,                  /* SETTINGS */                                   \
        FRAME(1, 1, 4), 0x88,                   /* HEADERS: status 200 (RFC 7541, appendix A) */ \
        FRAME(5, 0, 0), 'f', 'i', 'r', 's', 't' /* DATA */

/* What an API server does to a watch of HTTP/2: ends it, resets it because its handler gave up, will not go on, or dies. */
static void test_ends_of_http_2(void **state) {
    (void)state;
    static const uint8_t ended[] = {H2_BEGUN, FRAME(0, 0, 1)};
    static const uint8_t reset[] = {H2_BEGUN, FRAME(4, 3, 0), 0, 0, 0, 2}; /* RST_STREAM, INTERNAL_ERROR */
    static const uint8_t refused[] = {H2_BEGUN, 0, 0, 8, 7, 0, 0, 0, 0,
                                      0,        0, 0, 0, 0, 0, 0, 0, 0}; /* GOAWAY, stream 0 was the last */
    static const uint8_t dies[] = {H2_BEGUN};
    static const struct {
        const uint8_t *frames;
        size_t bytes;
        int code;
    } rows[] = {{ended, sizeof(ended), 0},
                {reset, sizeof(reset), ERR_UNREACHABLE},
                {refused, sizeof(refused), ERR_UNREACHABLE},
                {dies, sizeof(dies), ERR_UNREACHABLE}};
    struct http_client_options options = trusting(&ca);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct tls_server_options server_options = {
            .cert = &good, .frames = rows[i].frames, .frames_bytes = rows[i].bytes, .hangs_up = rows[i].frames == dies};
        struct tls_server *server = tls_server_start(&server_options);
        struct reader r;
        read_whole(&r, server, &options, "/");
        assert_ended(&r, rows[i].code, rows[i].code ? "broke" : "");
        if (!rows[i].code)
            assert_string_equal(r.body.data, "first");
        strbuf_done(&r.body);
        tls_server_stop(server);
    }
}

static void test_answers_that_break(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int code;
        const char *word;
    } rows[] = {
        {"/cut", ERR_UNREACHABLE, "broke"},          {"/hang-up", ERR_UNREACHABLE, "broke"},
        {"/garbage", ERR_PROTOCOL, "is not HTTP"},   {"/coded", ERR_PROTOCOL, "Content-Encoding \"gzip\""},
        {"/flood-headers", ERR_TOO_LARGE, "header"},
    };
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct reader r;
        read_whole(&r, server, &options, rows[i].path);
        assert_ended(&r, rows[i].code, rows[i].word);
        strbuf_done(&r.body);
    }
    tls_server_stop(server);
}

/* What nobody listens on any more; and the proxy of the environment, which would not answer either. */
static void test_unreachable_and_proxies(void **state) {
    (void)state;
    struct reader r;
    struct tls_server *server = start(&good), *proxy;
    struct http_client_options options = trusting(&ca);
    assert_int_equal(setenv("https_proxy", "http://127.0.0.1:1", 1), 0);
    read_whole(&r, server, &options, "/hello");
    assert_int_equal(unsetenv("https_proxy"), 0);
    assert_string_equal(r.body.data, "hello");
    strbuf_done(&r.body);
    _cleanup_free_ char *url = url_of(server, "/hello");
    tls_server_stop(server);
    struct http_stream_request request = {&options, url, NULL, 60000};
    reader_init(&r);
    assert_int_equal(begin(&r, &request, NULL), 0);
    UNIT_WAIT_FOR(atomic_load(&r.ends) == 1);
    assert_ended(&r, ERR_UNREACHABLE, "does not accept connections");
    strbuf_done(&r.body);
    proxy = tls_server_start(&(struct tls_server_options){.cert = &good, .is_proxy = true, .connect_status = 403});
    _cleanup_free_ char *through = str_format("http://127.0.0.1:%u", tls_server_port(proxy));
    options.proxy = through;
    read_whole(&r, proxy, &options, "/hello");
    assert_ended(&r, ERR_UNREACHABLE, "refused the tunnel to localhost:");
    strbuf_done(&r.body);
    tls_server_stop(proxy);
}

static void test_what_cannot_begin(void **state) {
    (void)state;
    static const char *const split[] = {"X-A: 1\r\nX-B: 2", NULL};
    struct reader r = {0};
    struct err err = {0};
    struct http_client_options options = trusting(&ca);
    struct http_stream_request request = {&options, "https://localhost/", split, 1000};
    assert_int_equal(begin(&r, &request, &err), ERR_INTERNAL);
    request = (struct http_stream_request){&options, "https://[", NULL, 1000};
    assert_int_equal(begin(&r, &request, &err), ERR_CONFIG);
    options.proxy = "socks5://127.0.0.1:1";
    request.url = "https://localhost/";
    assert_int_equal(begin(&r, &request, &err), ERR_CONFIG);
    options = (struct http_client_options){.trust.ca_pem = "no PEM"};
    assert_int_equal(begin(&r, &request, &err), ERR_CONFIG);
    assert_int_equal(r.id, 0);
    assert_int_equal(atomic_load(&r.ends), 0);
}

/* A watch that the server ends is begun again from where it ended. */
static void test_the_end_begins_the_next(void **state) {
    (void)state;
    struct reader r;
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    _cleanup_free_ char *url = url_of(server, "/close");
    struct http_stream_request request = {&options, url, NULL, 60000};
    reader_init(&r);
    r.again = 3;
    r.next = &request;
    assert_int_equal(begin(&r, &request, NULL), 0);
    UNIT_WAIT_FOR(atomic_load(&r.ends) == 4);
    assert_string_equal(r.body.data, "byebyebyebye");
    assert_int_equal(tls_server_requests(server), 4);
    strbuf_done(&r.body);
    tls_server_stop(server);
}

/* A stop and the end that comes by itself at about the same time: one end, and none after the stop. */
static void test_stop_and_end_at_once(void **state) {
    (void)state;
    struct tls_server *server = start(&good);
    struct http_client_options options = trusting(&ca);
    _cleanup_free_ char *url = url_of(server, "/hello");
    struct http_stream_request request = {&options, url, NULL, 60000};
    for (unsigned i = 0; i < TLS_SERVER_CONNECTIONS_MAX; i++) {
        struct reader r;
        reader_init(&r);
        assert_int_equal(begin(&r, &request, NULL), 0);
        if (i % 4)
            UNIT_WAIT_FOR(tls_server_requests(server) > i / 8 || atomic_load(&r.ends));
        http_stream_stop(streams, r.id);
        assert_int_equal(atomic_load(&r.ends), 1);
        strbuf_done(&r.body);
    }
    tls_server_stop(server);
}

static int setup(void **state) {
    (void)state;
    test_cert_make(&(struct test_cert_request){.common_name = "Test CA", .is_ca = true}, &ca);
    test_cert_make(&(struct test_cert_request){.common_name = "good", .san = "DNS:localhost,IP:127.0.0.1", .issuer = &ca}, &good);
    test_cert_make(&(struct test_cert_request){.common_name = "other", .san = "DNS:other.example", .issuer = &ca}, &other);
    return http_client_global_init(NULL) || http_streams_new(&streams, NULL);
}

static int teardown(void **state) {
    (void)state;
    http_streams_free(streams);
    test_cert_done(&ca);
    test_cert_done(&good);
    test_cert_done(&other);
    http_client_global_done();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_answer),
        cmocka_unit_test(test_answers_that_are_not_200),
        cmocka_unit_test(test_pieces_until_it_is_stopped),
        cmocka_unit_test(test_many_on_one_thread),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_the_reader_refuses),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_ends_of_http_2),
        cmocka_unit_test(test_answers_that_break),
        cmocka_unit_test(test_unreachable_and_proxies),
        cmocka_unit_test(test_what_cannot_begin),
        cmocka_unit_test(test_the_end_begins_the_next),
        cmocka_unit_test(test_stop_and_end_at_once),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
