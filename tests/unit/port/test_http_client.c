/* Unit tests of src/port/http_client: trust, limits, proxy, cancel, against a server inside the test.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "http_client.h"
#include "str.h"
#include "tls_server.h"

static struct test_cert ca, good, other, expired, client_cert;

/* One exchange and everything it gave. */
struct run {
    struct http_client_options options;
    struct http_exchange exchange;
    struct http_client *client;
    struct strbuf reply;
    char headers[4096];
    long status;
    struct err err;
    int rc;
};

static void collect_header(void *arg, const char *line, size_t n) {
    struct run *r = arg;
    size_t len = strlen(r->headers);
    (void)snprintf(r->headers + len, sizeof(r->headers) - len, "%.*s\n", (int)n, line);
}

static void run_begin(struct run *r) {
    memset(r, 0, sizeof(*r));
    r->options.trust.ca_pem = ca.cert_pem;
    r->options.user_agent = "kaas-test/1";
    r->options.connect_timeout_ms = 20000;
    r->exchange = (struct http_exchange){.method = "GET", .timeout_ms = 30000, .reply_max_bytes = 100000};
    strbuf_init(&r->reply, 200000);
}

static void run_again(struct run *r, const struct tls_server *server, const char *host, const char *path) {
    _cleanup_free_ char *url = str_format("https://%s:%u%s", host, tls_server_port(server), path);
    strbuf_reset(&r->reply);
    err_clear(&r->err);
    r->headers[0] = '\0';
    r->status = 0;
    r->exchange.url = url;
    r->exchange.on_header = collect_header;
    r->exchange.on_header_arg = r;
    r->rc = http_client_run(r->client, &r->exchange, &r->reply, &r->status, &r->err);
}

static void run_first(struct run *r, const struct tls_server *server, const char *host, const char *path) {
    assert_int_equal(http_client_new(&r->options, &r->client, &r->err), 0);
    run_again(r, server, host, path);
}

static void run_end(struct run *r) {
    http_client_free(r->client);
    strbuf_done(&r->reply);
}

static void assert_failed(const struct run *r, int code, const char *word) {
    if (r->rc != code || !strstr(r->err.text, word))
        print_message("got %s: %s (%s)\n", err_slug(r->rc), r->err.text, r->err.detail);
    assert_int_equal(r->rc, code);
    assert_int_equal(r->err.code, code);
    assert_non_null(strstr(r->err.text, word));
    assert_int_equal(r->status, 0);
}

static void assert_answered(const struct run *r, long status, const char *body) {
    if (r->rc)
        print_message("got %s: %s (%s)\n", err_slug(r->rc), r->err.text, r->err.detail);
    assert_int_equal(r->rc, 0);
    assert_int_equal(r->status, status);
    assert_string_equal(r->reply.data, body);
}

static struct tls_server *start(const struct test_cert *cert) {
    return tls_server_start(&(struct tls_server_options){.cert = cert});
}

static void test_ca_trusted(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    run_first(&r, server, "localhost", "/hello");
    assert_answered(&r, 200, "hello");
    assert_string_equal(r.headers, "X-Test: yes\nContent-Length: 5\n");
    assert_string_equal(tls_server_sni(server), "localhost");
    run_again(&r, server, "localhost", "/hello");
    assert_answered(&r, 200, "hello");
    assert_int_equal(tls_server_connections(server), 1); /* kept alive */
    run_end(&r);
    tls_server_stop(server);
}

static void test_ca_address(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    run_first(&r, server, "127.0.0.1", "/hello"); /* IP entry of the certificate */
    assert_answered(&r, 200, "hello");
    run_end(&r);
    tls_server_stop(server);
}

static void test_ca_wrong_name(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&other); /* for other.example only */
    run_begin(&r);
    run_first(&r, server, "localhost", "/hello");
    assert_failed(&r, ERR_TLS, "ostname mismatch");
    assert_int_equal(tls_server_requests(server), 0);
    run_again(&r, server, "127.0.0.1", "/hello");
    assert_failed(&r, ERR_TLS, "IP address mismatch");
    run_end(&r);

    run_begin(&r);
    r.options.trust.verify_host = "other.example";
    run_first(&r, server, "localhost", "/hello");
    assert_answered(&r, 200, "hello");
    run_end(&r);

    run_begin(&r); /* the URL's own name does not help when another one is demanded */
    r.options.trust.verify_host = "third.example";
    run_first(&r, server, "localhost", "/hello");
    assert_failed(&r, ERR_TLS, "third.example");
    run_end(&r);
    tls_server_stop(server);
}

static void test_common_name_does_not_count(void **state) {
    (void)state;
    struct run r;
    struct test_cert bare;
    test_cert_make(&(struct test_cert_request){.common_name = "localhost", .issuer = &ca}, &bare);
    struct tls_server *server = start(&bare);
    run_begin(&r);
    run_first(&r, server, "localhost", "/hello");
    assert_failed(&r, ERR_TLS, "ostname mismatch");
    run_end(&r);
    tls_server_stop(server);
    test_cert_done(&bare);
}

static void test_unknown_ca(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    r.options.trust.ca_pem = expired.cert_pem; /* some other certificate */
    run_first(&r, server, "localhost", "/hello");
    assert_failed(&r, ERR_TLS, "not trusted");
    assert_true(r.err.remedy[0] != '\0');
    run_end(&r);
    tls_server_stop(server);
}

/* RFC 5280 4.2.1.12: what is for clients only is no server's certificate. */
static void test_certificate_for_clients(void **state) {
    (void)state;
    struct run r;
    struct test_cert cert;
    test_cert_make(
        &(struct test_cert_request){.common_name = "client", .san = "DNS:localhost", .usage = "clientAuth", .issuer = &ca},
        &cert);
    struct tls_server *server = start(&cert);
    run_begin(&r);
    run_first(&r, server, "localhost", "/hello");
    assert_failed(&r, ERR_TLS, "purpose");
    assert_int_equal(tls_server_requests(server), 0);
    run_end(&r);
    tls_server_stop(server);
    test_cert_done(&cert);
}

static void test_expired(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&expired);
    run_begin(&r);
    run_first(&r, server, "localhost", "/hello");
    assert_failed(&r, ERR_TLS, "expired");
    assert_int_equal(tls_server_requests(server), 0);
    run_end(&r);
    run_begin(&r); /* a pin looks at nothing else */
    r.options.trust = (struct http_trust){.pin_sha256 = expired.sha256};
    run_first(&r, server, "localhost", "/hello");
    assert_answered(&r, 200, "hello");
    run_end(&r);
    tls_server_stop(server);
}

static void test_pin(void **state) {
    (void)state;
    struct run r;
    char *seen, first[3];
    struct tls_server *server = start(&good);
    run_begin(&r);
    r.options.trust = (struct http_trust){.pin_sha256 = good.sha256};
    run_first(&r, server, "127.0.0.1", "/hello");
    assert_answered(&r, 200, "hello");
    run_end(&r);
    run_begin(&r);
    r.options.trust = (struct http_trust){.pin_sha256 = ca.sha256}; /* of the issuer: the leaf counts */
    run_first(&r, server, "127.0.0.1", "/hello");
    assert_failed(&r, ERR_TLS, "expected SHA-256");
    tls_server_wait_ended(server, 2);
    assert_int_equal(tls_server_requests(server), 1);   /* only the one above */
    assert_int_equal(tls_server_handshakes(server), 1); /* refused before our client certificate would have been sent */
    str_hex(good.sha256, 1, first);
    assert_non_null(seen = strstr(r.err.text, "seen "));
    assert_int_equal(strncasecmp(seen + 5, first, 2), 0);
    run_end(&r);
    tls_server_stop(server);
}

/* Each byte of a pin counts: somebody who can make certificates at will finds one whose digest begins like any other. */
static void test_pin_to_the_last_bit(void **state) {
    static const size_t bytes[] = {0, 1, 15, 16, 30, 31};
    struct tls_server *server = start(&good);
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(bytes); i++) {
        struct run r;
        uint8_t pin[sizeof(good.sha256)];
        memcpy(pin, good.sha256, sizeof(pin));
        pin[bytes[i]] ^= 1;
        run_begin(&r);
        r.options.trust = (struct http_trust){.pin_sha256 = pin};
        run_first(&r, server, "127.0.0.1", "/hello");
        assert_failed(&r, ERR_TLS, "expected SHA-256");
        run_end(&r);
    }
    assert_int_equal(tls_server_requests(server), 0);
    tls_server_stop(server);
}

static void test_no_trust_no_client(void **state) {
    (void)state;
    struct run r;
    run_begin(&r);
    r.options.trust = (struct http_trust){0};
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), ERR_CONFIG);
    run_end(&r);
    run_begin(&r);
    r.options.trust = (struct http_trust){.ca_pem = ca.cert_pem, .pin_sha256 = good.sha256};
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), ERR_CONFIG);
    run_end(&r);
    run_begin(&r);
    r.options.trust.ca_pem = "no certificate";
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), ERR_CONFIG);
    assert_null(r.client);
    run_end(&r);
    run_begin(&r);
    r.options.client_cert_pem = client_cert.cert_pem;
    r.options.client_key_pem = good.key_pem;
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), ERR_CONFIG);
    assert_non_null(strstr(r.err.text, "does not belong"));
    run_end(&r);
}

static void test_client_certificate(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = tls_server_start(&(struct tls_server_options){.cert = &good, .asks_client_cert = true});
    run_begin(&r);
    r.options.client_cert_pem = client_cert.cert_pem;
    r.options.client_key_pem = client_cert.key_pem;
    run_first(&r, server, "localhost", "/whoami");
    assert_answered(&r, 200, "com.example.client");
    run_end(&r);
    run_begin(&r);
    run_first(&r, server, "localhost", "/whoami");
    assert_answered(&r, 200, "nobody");
    run_end(&r);
    tls_server_stop(server);
}

/* CA, certificate and key as people paste them. */
static void test_dresses(void **state) {
    (void)state;
    static const char *const dresses[][2] = {{"\xEF\xBB\xBF", "\r\n"}, {"\n  ", "\n\n  "}, {"\t", " \t\n\t"}};
    struct tls_server *server = tls_server_start(&(struct tls_server_options){.cert = &good, .asks_client_cert = true});
    for (size_t i = 0; i < ARRAY_COUNT(dresses); i++) {
        _cleanup_free_ char *trusted = test_pem_dress(ca.cert_pem, dresses[i][0], dresses[i][1]);
        _cleanup_free_ char *cert = test_pem_dress(client_cert.cert_pem, dresses[i][0], dresses[i][1]);
        _cleanup_free_ char *key = test_pem_dress(client_cert.key_pem, dresses[i][0], dresses[i][1]);
        struct run r;
        run_begin(&r);
        r.options.trust.ca_pem = trusted;
        r.options.client_cert_pem = cert;
        r.options.client_key_pem = key;
        run_first(&r, server, "localhost", "/whoami");
        assert_answered(&r, 200, "com.example.client");
        run_end(&r);
    }
    tls_server_stop(server);
}

static void test_request_form(void **state) {
    (void)state;
    struct run r;
    const char *const headers[] = {"Cookie: a=b", NULL};
    struct tls_server *server = start(&good);
    run_begin(&r);
    r.exchange.headers = headers;
    r.exchange.method = "POST";
    r.exchange.body = "{\"a\":1}";
    r.exchange.body_bytes = 7;
    run_first(&r, server, "localhost", "/echo");
    assert_int_equal(r.rc, 0);
    assert_true(str_starts(r.reply.data, "POST /echo HTTP/1.1\r\n"));
    assert_non_null(strstr(r.reply.data, "\r\nCookie: a=b\r\n"));
    assert_non_null(strstr(r.reply.data, "\r\nUser-Agent: kaas-test/1\r\n"));
    assert_non_null(strstr(r.reply.data, "\r\nContent-Length: 7\r\n"));
    assert_true(str_ends(r.reply.data, "\r\n\r\n{\"a\":1}"));
    assert_null(strcasestr(r.reply.data, "Content-Type"));
    assert_null(strcasestr(r.reply.data, "Expect"));
    assert_non_null(strstr(r.reply.data, "\r\nAccept-Encoding: identity\r\n"));
    r.exchange.method = "DELETE";
    r.exchange.body_bytes = 0;
    run_again(&r, server, "localhost", "/echo");
    assert_true(str_starts(r.reply.data, "DELETE /echo HTTP/1.1\r\n"));
    assert_null(strcasestr(r.reply.data, "Content-Length"));
    r.exchange.method = "GET";
    r.exchange.headers = NULL;
    run_again(&r, server, "localhost", "/echo");
    assert_true(str_starts(r.reply.data, "GET /echo HTTP/1.1\r\n"));
    assert_null(strstr(r.reply.data, "Cookie"));
    r.exchange.method = "POST";
    run_again(&r, server, "localhost", "/echo");
    assert_non_null(strstr(r.reply.data, "\r\nContent-Length: 0\r\n"));
    run_end(&r);
    tls_server_stop(server);
}

static void test_header_injection(void **state) {
    (void)state;
    struct run r;
    const char *const headers[] = {"Cookie: a=b\r\nX-Evil: 1", NULL};
    struct tls_server *server = start(&good);
    run_begin(&r);
    r.exchange.headers = headers;
    run_first(&r, server, "localhost", "/echo");
    assert_failed(&r, ERR_INTERNAL, "header");
    assert_int_equal(tls_server_connections(server), 0);
    run_end(&r);
    tls_server_stop(server);
}

static void test_answers(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    run_first(&r, server, "localhost", "/status/500");
    assert_answered(&r, 500, "word");
    run_again(&r, server, "localhost", "/redirect"); /* not followed */
    assert_answered(&r, 302, "");
    assert_non_null(strstr(r.headers, "Location: /hello\n"));
    run_again(&r, server, "localhost", "/interim");
    assert_answered(&r, 200, "late");
    assert_null(strstr(r.headers, "X-Early"));
    assert_non_null(strstr(r.headers, "X-Test: yes"));
    run_again(&r, server, "localhost", "/coded");
    assert_failed(&r, ERR_PROTOCOL, "Content-Encoding \"gzip\"");
    run_again(&r, server, "localhost", "/plain");
    assert_answered(&r, 200, "ok");
    run_again(&r, server, "localhost", "/cut");
    assert_failed(&r, ERR_UNREACHABLE, "broke");
    run_again(&r, server, "localhost", "/garbage");
    assert_int_equal(r.rc, ERR_PROTOCOL);
    run_end(&r);
    tls_server_stop(server);
}

static void test_timeouts(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    r.exchange.timeout_ms = 300;
    run_first(&r, server, "localhost", "/silent");
    assert_failed(&r, ERR_TIMEOUT, "in time");
    run_again(&r, server, "localhost", "/drip");
    assert_failed(&r, ERR_TIMEOUT, "in time");
    r.exchange.timeout_ms = 30000;
    run_again(&r, server, "localhost", "/hello"); /* usable again */
    assert_answered(&r, 200, "hello");
    run_end(&r);
    tls_server_stop(server);
    server = tls_server_start(&(struct tls_server_options){.stays_silent = true}); /* no TLS handshake */
    run_begin(&r);
    r.options.connect_timeout_ms = 200;
    run_first(&r, server, "localhost", "/hello");
    assert_failed(&r, ERR_TIMEOUT, "in time");
    run_end(&r);
    tls_server_stop(server);
}

static void test_floods(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    run_first(&r, server, "localhost", "/flood");
    assert_failed(&r, ERR_TOO_LARGE, "100000 bytes");
    assert_true(r.reply.len <= 100000);
    run_again(&r, server, "localhost", "/flood-headers");
    assert_int_equal(r.rc, ERR_TOO_LARGE);
    strbuf_done(&r.reply);
    strbuf_init(&r.reply, 3); /* the caller's own cap is smaller */
    run_again(&r, server, "localhost", "/hello");
    assert_int_equal(r.rc, ERR_TOO_LARGE);
    strbuf_done(&r.reply);
    strbuf_init(&r.reply, 100);
    r.exchange.reply_max_bytes = 5; /* exactly */
    run_again(&r, server, "localhost", "/hello");
    assert_answered(&r, 200, "hello");
    r.exchange.reply_max_bytes = 4;
    run_again(&r, server, "localhost", "/hello");
    assert_int_equal(r.rc, ERR_TOO_LARGE);
    run_end(&r);
    tls_server_stop(server);
}

static void test_tunnel(void **state) {
    (void)state;
    struct run r;
    const char *const headers[] = {"Cookie: secret=1", NULL};
    struct tls_server *proxy = tls_server_start(&(struct tls_server_options){.cert = &other, .is_proxy = true});
    _cleanup_free_ char *address = str_format("http://127.0.0.1:%u", tls_server_port(proxy));
    assert_int_equal(setenv("no_proxy", "*", 1), 0); /* must not switch the proxy off */
    run_begin(&r);
    r.options.proxy = address;
    r.options.trust.verify_host = "other.example";
    r.exchange.headers = headers;
    r.exchange.url = "https://sdkTunnel:8089/echo";
    r.exchange.on_header = collect_header;
    r.exchange.on_header_arg = &r;
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), 0);
    r.rc = http_client_run(r.client, &r.exchange, &r.reply, &r.status, &r.err);
    assert_int_equal(r.rc, 0);
    assert_true(str_starts(tls_server_connect_text(proxy), "CONNECT sdkTunnel:8089 HTTP/1.1\r\n"));
    assert_null(strstr(tls_server_connect_text(proxy), "secret"));
    assert_non_null(strstr(r.reply.data, "secret=1"));
    assert_null(strstr(r.headers, "X-Proxy"));
    assert_non_null(strstr(r.headers, "X-Test"));
    run_end(&r);
    tls_server_stop(proxy);
    (void)unsetenv("no_proxy");
}

static void test_tunnel_refused(void **state) {
    (void)state;
    struct run r;
    struct tls_server *proxy = tls_server_start(&(struct tls_server_options){.is_proxy = true, .connect_status = 403});
    _cleanup_free_ char *address = str_format("http://127.0.0.1:%u", tls_server_port(proxy));
    run_begin(&r);
    r.options.proxy = address;
    r.exchange.url = "https://sdkTunnel:8089/echo";
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), 0);
    r.rc = http_client_run(r.client, &r.exchange, &r.reply, &r.status, &r.err);
    assert_failed(&r, ERR_UNREACHABLE, "403");
    run_end(&r);
    tls_server_stop(proxy);
}

static void test_environment_proxy_ignored(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    assert_int_equal(setenv("https_proxy", "http://127.0.0.1:1", 1), 0);
    run_begin(&r);
    run_first(&r, server, "localhost", "/hello");
    assert_answered(&r, 200, "hello");
    run_end(&r);
    (void)unsetenv("https_proxy");
    tls_server_stop(server);
}

static void test_unreachable(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good), *closing = tls_server_start(&(struct tls_server_options){.closes_at_once = true});
    struct tls_server *plain = tls_server_start(&(struct tls_server_options){0});
    run_begin(&r);
    run_first(&r, closing, "localhost", "/hello");
    assert_int_equal(r.rc, ERR_UNREACHABLE);
    run_again(&r, plain, "localhost", "/hello"); /* plain HTTP where TLS is expected */
    assert_int_equal(r.rc, ERR_PROTOCOL);
    /* a label over 63 characters fails without asking any name server (RFC 1035 2.3.4) */
    run_again(&r, server, "a-name-of-more-than-sixty-three-characters-which-no-server-can-know-at-all", "/hello");
    assert_failed(&r, ERR_UNREACHABLE, "resolved");
    _cleanup_free_ char *gone = str_format("https://127.0.0.1:%u/", tls_server_port(server));
    tls_server_stop(server);
    err_clear(&r.err);
    r.exchange.url = gone;
    r.rc = http_client_run(r.client, &r.exchange, &r.reply, &r.status, &r.err);
    assert_failed(&r, ERR_UNREACHABLE, "does not accept");
    err_clear(&r.err);
    r.exchange.url = "http://127.0.0.1/";
    r.rc = http_client_run(r.client, &r.exchange, &r.reply, &r.status, &r.err);
    assert_failed(&r, ERR_CONFIG, "https");
    run_end(&r);
    tls_server_stop(closing);
    tls_server_stop(plain);
}

static bool is_peer_gone;

/* libcurl asks for the address of the peer behind each connect; a peer may be gone by then. */
int getpeername(int fd, struct sockaddr *address, socklen_t *n) {
    if (!is_peer_gone)
        return (int)syscall(SYS_getpeername, fd, address, n);
    errno = ENOTCONN;
    return -1;
}

static void test_gone_before_the_handshake(void **state) {
    (void)state;
    struct run r;
    struct tls_server *closing = tls_server_start(&(struct tls_server_options){.closes_at_once = true});
    run_begin(&r);
    is_peer_gone = true;
    run_first(&r, closing, "localhost", "/hello");
    is_peer_gone = false;
    assert_failed(&r, ERR_UNREACHABLE, "during the TLS handshake");
    assert_non_null(strstr(r.err.detail, "getpeername"));
    run_end(&r);
    tls_server_stop(closing);
}

static atomic_int writes_to_break; /* read by the thread of the server, too */
static atomic_bool is_sending_broken;

/* What OpenSSL says of a write behind one that was cut off. */
int SSL_write(SSL *ssl, const void *bytes, int n) {
    size_t written = 0;
    if (atomic_load(&writes_to_break) > 0) {
        atomic_fetch_sub(&writes_to_break, 1);
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
        return -1;
    }
    const int is_written = SSL_write_ex(ssl, bytes, (size_t)n, &written);
    return is_written ? (int)written : is_written;
}

ssize_t send(int fd, const void *bytes, size_t n, int flags) {
    if (!atomic_load(&is_sending_broken))
        return syscall(SYS_sendto, fd, bytes, n, flags, NULL, 0);
    errno = EPIPE;
    return -1;
}

/* libcurl keeps what it complained of the kept connection, and then tries another: what becomes of that is told. */
static void test_said_of_the_connection_before(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    run_first(&r, server, "localhost", "/hello");
    assert_answered(&r, 200, "hello");
    atomic_store(&writes_to_break, 1);
    atomic_store(&is_sending_broken, true);
    run_again(&r, server, "localhost", "/hello");
    atomic_store(&is_sending_broken, false);
    assert_failed(&r, ERR_UNREACHABLE, "during the TLS handshake");
    assert_non_null(strstr(r.err.detail, "bad length"));
    run_again(&r, server, "localhost", "/hello");
    assert_answered(&r, 200, "hello");
    atomic_store(&writes_to_break, 1);
    run_again(&r, server, "localhost", "/garbage");
    assert_failed(&r, ERR_PROTOCOL, "is not HTTP");
    assert_non_null(strstr(r.err.detail, "bad length"));
    run_end(&r);
    tls_server_stop(server);
}

static void test_reconnect(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    run_first(&r, server, "localhost", "/close"); /* answers, then drops the kept connection */
    assert_answered(&r, 200, "bye");
    r.exchange.method = "POST";
    r.exchange.body = "again";
    r.exchange.body_bytes = 5;
    run_again(&r, server, "localhost", "/echo");
    assert_int_equal(r.rc, 0);
    assert_true(str_ends(r.reply.data, "again"));
    assert_int_equal(tls_server_connections(server), 2);
    run_end(&r);
    tls_server_stop(server);
}

static void post(struct run *r, const struct tls_server *server, const char *path, bool is_once) {
    r->exchange.method = "POST";
    r->exchange.body = "now";
    r->exchange.body_bytes = 3;
    r->exchange.is_once = is_once;
    run_again(r, server, "localhost", path);
}

/* A kept connection that breaks before a byte came back: nobody knows whether the request arrived, and libcurl would send it again. */
static void test_once(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    run_first(&r, server, "localhost", "/hello");
    post(&r, server, "/echo", true); /* on the kept connection */
    assert_int_equal(r.rc, 0);
    assert_int_equal(tls_server_connections(server), 1);
    post(&r, server, "/hang-up", true);
    assert_failed(&r, ERR_UNREACHABLE, "broke");
    assert_int_equal(tls_server_requests(server), 3);
    post(&r, server, "/echo", true); /* works again */
    assert_int_equal(r.rc, 0);
    assert_int_equal(tls_server_requests(server), 4);
    post(&r, server, "/hang-up", false);
    assert_failed(&r, ERR_UNREACHABLE, "broke");
    assert_int_equal(tls_server_requests(server), 6); /* that one was sent twice */
    run_end(&r);
    tls_server_stop(server);
}

/* Of a connection that was dropped while nobody used it nothing is sent. */
static void test_once_after_a_drop(void **state) {
    (void)state;
    struct run r;
    struct tls_server *server = start(&good);
    run_begin(&r);
    run_first(&r, server, "localhost", "/close");
    tls_server_wait_ended(server, 1);
    post(&r, server, "/echo", true);
    assert_int_equal(r.rc, 0);
    assert_int_equal(tls_server_requests(server), 2);
    assert_int_equal(tls_server_connections(server), 2);
    run_end(&r);
    tls_server_stop(server);
}

static void *run_in_thread(void *arg) {
    struct run *r = arg;
    r->rc = http_client_run(r->client, &r->exchange, &r->reply, &r->status, &r->err);
    return NULL;
}

static void test_cancel(void **state) {
    (void)state;
    struct run r;
    pthread_t thread;
    struct tls_server *server = start(&good);
    _cleanup_free_ char *url = str_format("https://localhost:%u/silent", tls_server_port(server));
    run_begin(&r);
    r.exchange.url = url;
    r.exchange.timeout_ms = 600000;
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &r), 0);
    tls_server_wait_requests(server, 1);
    http_client_cancel(r.client);
    pthread_join(thread, NULL);
    assert_failed(&r, ERR_CANCELED, "given up");
    run_again(&r, server, "localhost", "/hello"); /* and every later one */
    assert_failed(&r, ERR_CANCELED, "given up");
    run_end(&r);
    tls_server_stop(server);
}

static void test_unix_socket(void **state) {
    (void)state;
    struct run r;
    char folder[] = "/tmp/kaas-http-XXXXXX";
    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *path = str_format("%s/s", folder);
    struct tls_server *server = tls_server_start(&(struct tls_server_options){.unix_path = path});
    struct tls_server *tls = NULL;
    run_begin(&r);
    r.options.trust = (struct http_trust){0};
    r.options.unix_socket = path;
    r.exchange.url = "http://kaasd/hello";
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), 0);
    r.rc = http_client_run(r.client, &r.exchange, &r.reply, &r.status, &r.err);
    assert_answered(&r, 200, "hello");
    run_end(&r);
    tls_server_stop(server);
    assert_int_equal(unlink(path), 0);
    tls = tls_server_start(&(struct tls_server_options){.unix_path = path, .cert = &good});
    run_begin(&r); /* https there, with nothing to trust */
    r.options.trust = (struct http_trust){0};
    r.options.unix_socket = path;
    r.exchange.url = "https://localhost/hello";
    assert_int_equal(http_client_new(&r.options, &r.client, &r.err), 0);
    r.rc = http_client_run(r.client, &r.exchange, &r.reply, &r.status, &r.err);
    assert_int_equal(r.rc, ERR_TLS);
    run_end(&r);
    tls_server_stop(tls);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static int setup(void **state) {
    (void)state;
    test_cert_make(&(struct test_cert_request){.common_name = "Test CA", .is_ca = true}, &ca);
    test_cert_make(&(struct test_cert_request){.common_name = "good", .san = "DNS:localhost,IP:127.0.0.1", .issuer = &ca}, &good);
    test_cert_make(&(struct test_cert_request){.common_name = "other", .san = "DNS:other.example", .issuer = &ca}, &other);
    test_cert_make(
        &(struct test_cert_request){
            .common_name = "old", .san = "DNS:localhost", .issuer = &ca, .not_before_s = -7200, .not_after_s = -3600},
        &expired);
    test_cert_make(&(struct test_cert_request){.common_name = "com.example.client"}, &client_cert);
    return http_client_global_init(NULL);
}

static int teardown(void **state) {
    (void)state;
    test_cert_done(&ca);
    test_cert_done(&good);
    test_cert_done(&other);
    test_cert_done(&expired);
    test_cert_done(&client_cert);
    http_client_global_done();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ca_trusted),
        cmocka_unit_test(test_ca_address),
        cmocka_unit_test(test_ca_wrong_name),
        cmocka_unit_test(test_common_name_does_not_count),
        cmocka_unit_test(test_unknown_ca),
        cmocka_unit_test(test_expired),
        cmocka_unit_test(test_certificate_for_clients),
        cmocka_unit_test(test_pin),
        cmocka_unit_test(test_pin_to_the_last_bit),
        cmocka_unit_test(test_no_trust_no_client),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_dresses),
        cmocka_unit_test(test_request_form),
        cmocka_unit_test(test_header_injection),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_floods),
        cmocka_unit_test(test_tunnel),
        cmocka_unit_test(test_tunnel_refused),
        cmocka_unit_test(test_environment_proxy_ignored),
        cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_gone_before_the_handshake),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_once_after_a_drop),
        cmocka_unit_test(test_said_of_the_connection_before),
        cmocka_unit_test(test_reconnect),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_unix_socket),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
