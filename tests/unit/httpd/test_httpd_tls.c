/* TLS: versions, a new certificate without a restart, handshakes that never end, secrets that must not stay in memory.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The client is OpenSSL, the server GnuTLS: neither can agree with itself about a mistake. */
#include "unit.h"

#include "httpd_fixture.h"
#include "secret.h"
#include "str.h"
#include "tls_server.h"

#include <limits.h>
#include <malloc.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fixture fx;
static struct test_cert first, second;
static char fill[4000];

static int make_certs(void **state) {
    struct test_cert_request request = {.common_name = "first", .san = "DNS:localhost"};
    (void)state;
    test_cert_make(&request, &first);
    request.common_name = "second";
    test_cert_make(&request, &second);
    return 0;
}

static int drop_certs(void **state) {
    (void)state;
    test_cert_done(&first);
    test_cert_done(&second);
    return 0;
}

static int set_up(void **state) {
    (void)state;
    fixture_init(&fx);
    fx.options.cert_pem = first.cert_pem;
    fx.options.key_pem = first.key_pem;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fixture_stop(&fx);
    return 0;
}

struct tls {
    int fd;
    SSL_CTX *ctx;
    SSL *ssl;
};

/* True if the handshake succeeds. */
static bool tls_open(struct tls *t, int min, int max) {
    t->fd = client_connect(fx.port);
    t->ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(t->ctx, min);
    SSL_CTX_set_max_proto_version(t->ctx, max);
    t->ssl = SSL_new(t->ctx);
    SSL_set_fd(t->ssl, t->fd);
    return SSL_connect(t->ssl) == 1;
}

static void tls_close(struct tls *t) {
    SSL_free(t->ssl);
    SSL_CTX_free(t->ctx);
    close(t->fd);
}

static char *tls_ask(struct tls *t, const char *request, const char *want) {
    static char text[65536];
    int n = 0;
    if (SSL_write(t->ssl, request, (int)strlen(request)) <= 0)
        return NULL;
    memset(text, 0, sizeof(text));
    while (n < (int)sizeof(text) - 1 && !strstr(text, want)) {
        int got = SSL_read(t->ssl, text + n, (int)sizeof(text) - 1 - n);
        if (got <= 0)
            return NULL;
        n += got;
    }
    return text;
}

static bool has_cert(struct tls *t, const struct test_cert *cert) {
    X509 *peer = SSL_get1_peer_certificate(t->ssl);
    bool same = peer && X509_cmp(peer, cert->cert) == 0;
    X509_free(peer);
    return same;
}

static void test_versions(void **state) {
    struct tls t;
    (void)state;
    fixture_start(&fx);
    assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
    assert_non_null(tls_ask(&t, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\nfast"));
    assert_non_null(tls_ask(&t, "GET /who HTTP/1.1\r\nHost: t\r\n\r\n", "tls=1"));
    assert_non_null(tls_ask(&t, "GET /slow HTTP/1.1\r\nHost: t\r\n\r\n", "slow 0"));
    tls_close(&t);
    assert_true(tls_open(&t, TLS1_2_VERSION, TLS1_2_VERSION));
    assert_non_null(tls_ask(&t, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\nfast"));
    tls_close(&t);
    assert_false(tls_open(&t, TLS1_VERSION, TLS1_1_VERSION));
    tls_close(&t);
}

/* The one answer on a connection that is closed then; its body. What the library answers by itself would come in HTML, or with its head twice. */
static const char *only_answer(struct tls *t, const char *request, const char *status_line) {
    static char text[65536];
    const char *body, *length;
    size_t n = 0;
    int got;
    assert_true(SSL_write(t->ssl, request, (int)strlen(request)) > 0);
    while ((got = SSL_read(t->ssl, text + n, (int)(sizeof(text) - 1 - n))) > 0)
        n += (size_t)got;
    text[n] = '\0';
    body = strstr(text, "\r\n\r\n");
    length = strstr(text, "Content-Length: ");
    assert_true(str_starts(text, status_line));
    assert_non_null(strstr(text, "Connection: close\r\n"));
    assert_true(body && length && length < body);
    assert_int_equal(strlen(body + 4), strtoul(length + 16, NULL, 10));
    assert_null(strstr(text + 1, "HTTP/1.1"));
    assert_null(strstr(text, "html"));
    return body + 4;
}

/* Whatever the library cannot take or read is answered by us: once, in our form, and so that the client sees it while it still sends. */
static void test_what_the_library_refuses(void **state) {
    static const char ten_fields[] = "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: 6\r\nG: 7\r\nH: 8\r\nI: 9\r\nJ: 10\r\n";
    static const char *const lengths[] = {"5, 5", "+5", "", "0x5", "5 ", "18446744073709551616"};
    static char text[200000];
    struct tls t;
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    fixture_start(&fx);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        for (size_t i = 0; i < UNIT_COUNT(lengths); i++) {
            (void)snprintf(
                text, sizeof(text),
                "POST /body HTTP/1.1\r\nHost: t\r\nContent-Length: %s\r\n\r\n12345GET /fast HTTP/1.1\r\nHost: t\r\n\r\n",
                lengths[i]);
            assert_true(tls_open(&t, version, version));
            assert_non_null(strstr(only_answer(&t, text, "HTTP/1.1 4"),
                                   i + 1 < UNIT_COUNT(lengths) ? "invalid_request: Content-Length" : "too_large"));
            tls_close(&t);
        }
        for (size_t n = 19000; n < sizeof(text); n += 45000) { /* ours, what does not fit, and much more */
            memset(text, 'x', n);
            memcpy(text, "GET /fast HTTP/1.1\r\nHost: t\r\nCookie: ", 37);
            memcpy(text + n, "\r\n\r\n", 5);
            assert_true(tls_open(&t, version, version));
            assert_non_null(strstr(only_answer(&t, text, "HTTP/1.1 431 "), "headers_too_large"));
            tls_close(&t);
        }
        assert_true(tls_open(&t, version, version));
        memset(text, 'x', 60000);
        memcpy(text, "GET /", 5);
        text[60000] = '\0';
        assert_non_null(strstr(only_answer(&t, text, "HTTP/1.1 414 "), "uri_too_long"));
        tls_close(&t);
        assert_true(tls_open(&t, version, version)); /* behind one that is answered as usual */
        assert_non_null(tls_ask(&t, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\nfast"));
        assert_non_null(
            strstr(only_answer(&t, "POST /body HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", "HTTP/1.1 400 "),
                   "invalid_request"));
        tls_close(&t);
    }
    for (size_t n = 17000; n < 20800; n += 61) { /* where head and answer together do not fit any more */
        const int head =
            snprintf(text, sizeof(text), "GET /fast HTTP/1.1\r\nHost: t\r\n%s%s%sCookie: ", ten_fields, ten_fields, ten_fields);
        memset(text + head, 'x', n - (size_t)head);
        memcpy(text + n, "\r\n\r\n", 5);
        assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
        const char *answer = tls_ask(&t, text, "HTTP/1.1 ");
        if (!answer || (!str_starts(answer, "HTTP/1.1 200") && !str_starts(answer, "HTTP/1.1 431")))
            fail_msg("%zu bytes: %s", n, answer ? answer : "no answer");
        tls_close(&t);
    }
    assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
    assert_non_null(tls_ask(&t, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\nfast"));
    tls_close(&t);
    const unsigned logged = atomic_load(&fx.after); /* every answer was taken, and is said to have been */
    assert_true(logged > 0 && atomic_load(&fx.delivered) >= logged);
}

/* The library looks through a line from its start each time a byte has come: what is cut into very many records is not read to its end. What is long because it is
 * many requests, is. */
static void test_an_endless_header_is_cut(void **state) {
    static char text[40000];
    const char *one = "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n";
    struct tls t;
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    fixture_start(&fx);
    assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
    assert_true(SSL_write(t.ssl, "GET /fast HTTP/1.1\r\nX: ", 23) > 0);
    for (int i = 0; i < 10000 && SSL_write(t.ssl, "x", 1) > 0; i++)
        ;
    UNIT_WAIT_FOR(fixture_stats(&fx).cut_header == 1);
    tls_close(&t);
    assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
    size_t n = 0;
    while (n + 100 < sizeof(text))
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", one);
    (void)snprintf(text + n, sizeof(text) - n, "GET /who HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    assert_true(SSL_write(t.ssl, text, (int)strlen(text)) > 0);
    char last[65536];
    int got;
    for (size_t kept = 0; (got = SSL_read(t.ssl, last + kept, (int)(sizeof(last) / 2))) > 0;) {
        kept += (size_t)got;
        last[kept] = '\0';
        if (kept > sizeof(last) / 2 - 1) {
            memmove(last, last + kept - 1024, 1025);
            kept = 1024;
        }
    }
    assert_non_null(strstr(last, "tls=1"));
    assert_int_equal(fixture_stats(&fx).cut_header, 1);
    tls_close(&t);
}

/* -- a long Authorization field --------------------------------------------------------------------------------------- */

#define TOKEN_BYTES_MAX 65400U

/* Bytes that are different everywhere, so that none can be lost, doubled or moved. */
static void make_token(char *out, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(i * 7 + i / 61 + i / 3989) % 64];
    out[n] = '\0';
}

static void send_in_pieces(struct tls *t, const char *text, size_t piece) {
    for (size_t at = 0, n = strlen(text); at < n; at += piece)
        assert_true(SSL_write(t->ssl, text + at, (int)(n - at < piece ? n - at : piece)) > 0);
}

/* All up to the end of an answer with this body. */
static bool is_answered(struct tls *t, const char *body) {
    static char text[2 * TOKEN_BYTES_MAX];
    const size_t want = strlen(body);
    const char *head_end = NULL;
    size_t n = 0;
    while (!head_end || strlen(head_end + 4) < want) {
        const int got = SSL_read(t->ssl, text + n, (int)(sizeof(text) - 1 - n));
        if (got <= 0)
            return false;
        n += (size_t)got;
        text[n] = '\0';
        head_end = strstr(text, "\r\n\r\n");
    }
    return str_starts(text, "HTTP/1.1 200 ") && !strcmp(head_end + 4, body);
}

static void ask_with_token(const char *path, const char *before, size_t token_bytes, size_t piece) {
    static char text[2 * TOKEN_BYTES_MAX], token[TOKEN_BYTES_MAX + 1];
    struct tls t;
    make_token(token, token_bytes);
    (void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: t\r\n%sAuthorization: Negotiate %s\r\nX-Behind: 1\r\n\r\n", path,
                   before, token);
    assert_true(tls_open(&t, TLS1_2_VERSION, TLS1_3_VERSION));
    for (int i = 0; i < 2; i++) { /* a second one on the same connection */
        send_in_pieces(&t, text, piece);
        if (!is_answered(&t, token))
            fail_msg("%s, %zu bytes in pieces of %zu: wrong", path, token_bytes, piece);
    }
    assert_non_null(tls_ask(&t, "GET /credentials HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\nnone"));
    tls_close(&t);
}

static void test_a_ticket_for_many_groups(void **state) {
    static const size_t sizes[] = {1, 4000, 4096, 4097, 9000, 10200, 16384, 20000, 48000, 64000, TOKEN_BYTES_MAX};
    static const size_t pieces[] = {16384, 1000, 4096, 61, 100000};
    static char cookies[8200];
    (void)state;
    fixture_start(&fx);
    memset(cookies, 'c', sizeof(cookies));
    memcpy(cookies, "X-Before: ", 10);
    memcpy(cookies + sizeof(cookies) - 3, "\r\n", 3);
    for (size_t i = 0; i < UNIT_COUNT(sizes); i++)
        for (size_t k = 0; k < UNIT_COUNT(pieces); k++)
            ask_with_token(k % 2 ? "/credentials" : "/credentials/slow", sizes[i] > 48000 ? "" : cookies, sizes[i],
                           sizes[i] > 20000 && pieces[k] < 1000 ? 1000 : pieces[k]);
    ask_with_token("/credentials", "authorized: Negotiate x\r\nx: authorization:\r\n", 48000, 16384);
}

/* Wherever the records are cut in the begin of the line: also before its blanks. */
static void test_a_ticket_in_records_cut_anywhere(void **state) {
    static const char begin[] = "GET /credentials HTTP/1.1\r\nHost: t\r\n", name[] = "Authorization: Negotiate  ";
    static char text[2 * TOKEN_BYTES_MAX], token[TOKEN_BYTES_MAX + 1];
    struct tls t;
    (void)state;
    fixture_start(&fx);
    make_token(token, 48000);
    (void)snprintf(text, sizeof(text), "%s%s%s\r\n\r\n", begin, name, token);
    assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
    for (size_t cut = sizeof(begin) - 1; cut < sizeof(begin) + sizeof(name); cut++) {
        assert_true(SSL_write(t.ssl, text, (int)cut) > 0);
        send_in_pieces(&t, text + cut, 16384);
        if (!is_answered(&t, token))
            fail_msg("cut at %zu: wrong", cut);
    }
    tls_close(&t);
}

/* What would not be one token stays the library's, which sees line ends, blanks and control characters as ever. */
static void test_a_long_field_that_is_no_token(void **state) {
    static const char *const behind[] = {"\r\nAuthorization: x", "\r\n folded", "\rX: y",
                                         " with a blank",        "\x01",        "\r\nAuthorization: "};
    static char text[2 * TOKEN_BYTES_MAX + 1000], token[TOKEN_BYTES_MAX + 1];
    struct tls t;
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    fixture_start(&fx);
    make_token(token, 20000);
    for (size_t i = 0; i < UNIT_COUNT(behind); i++) {
        const bool is_good = behind[i][0] == ' ';
        (void)snprintf(text, sizeof(text),
                       "GET /credentials HTTP/1.1\r\nHost: t\r\nAuthorization: Negotiate %s%s%s\r\nConnection: close\r\n\r\n",
                       token, behind[i], i == 5 ? token : "");
        assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
        const char *answer = tls_ask(&t, text, is_good ? " with a blank" : "\r\n\r\n");
        if (!answer || !str_starts(answer, is_good ? "HTTP/1.1 200" : "HTTP/1.1 4"))
            fail_msg("%zu: %.200s", i, answer ? answer : "no answer");
        tls_close(&t);
    }
    make_token(token, TOKEN_BYTES_MAX);
    for (size_t more = 200; more < 60000; more += 29000) {
        (void)snprintf(text, sizeof(text), "GET /credentials HTTP/1.1\r\nHost: t\r\nAuthorization: Negotiate %s%.*s\r\n\r\n",
                       token, (int)more, token);
        assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
        assert_non_null(strstr(only_answer(&t, text, "HTTP/1.1 431 "), "headers_too_large"));
        tls_close(&t);
    }
}

static char huge[65536 + 1];

struct asker {
    pthread_t thread;
    bool is_good;
    unsigned wrong;
};

static void *ask_often(void *arg) {
    static const char request[] = "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n", begin[] = "GET /fast HTTP/1.1\r\nHost: t\r\nX: ";
    struct asker *me = arg;
    struct tls t;
    char text[4096];
    if (me->is_good) {
        bool is_open = tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION);
        for (int i = 0; is_open && i < 400; i++) {
            size_t n = 0;
            int got = SSL_write(t.ssl, request, sizeof(request) - 1);
            for (text[0] = '\0'; got > 0 && !strstr(text, "\r\n\r\nfast"); text[n] = '\0') {
                got = SSL_read(t.ssl, text + n, (int)(sizeof(text) - 1 - n));
                n += got > 0 ? (size_t)got : 0;
            }
            me->wrong += !str_starts(text, "HTTP/1.1 200 ");
        }
        tls_close(&t);
        return NULL;
    }
    for (int i = 0; i < 40; i++) {
        if (tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION) && SSL_write(t.ssl, begin, sizeof(begin) - 1) > 0 &&
            SSL_write(t.ssl, huge, (int)strlen(huge)) > 0) {
            int got = SSL_read(t.ssl, text, sizeof(text) - 1);
            me->wrong += got > 0 && !str_starts(text, "HTTP/1.1 431 ");
        }
        tls_close(&t);
    }
    return NULL;
}

/* Whoever sends what cannot be read gets the refusal, not whoever was read before. */
static void test_a_refusal_goes_to_its_own(void **state) {
    struct asker askers[12] = {0};
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    memset(huge, 'x', sizeof(huge) - 1);
    fx.options.threads = 1;
    fixture_start(&fx);
    for (size_t i = 0; i < UNIT_COUNT(askers); i++) {
        askers[i].is_good = i % 2;
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_often, &askers[i]), 0);
    }
    for (size_t i = 0; i < UNIT_COUNT(askers); i++)
        (void)pthread_join(askers[i].thread, NULL);
    for (size_t i = 0; i < UNIT_COUNT(askers); i++)
        assert_int_equal(askers[i].wrong, 0);
}

/* The records of several requests, as they go over the wire together. The caller frees. */
static char *records_of(struct tls *t, const char *const *requests, size_t count, size_t *len) {
    char *bytes;
    BIO *out = BIO_new(BIO_s_mem());
    SSL_set0_wbio(t->ssl, out);
    for (size_t i = 0; i < count; i++)
        assert_true(SSL_write(t->ssl, requests[i], (int)strlen(requests[i])) > 0);
    long n = BIO_get_mem_data(out, &bytes);
    char *copy = malloc((size_t)n);
    assert_non_null(copy);
    memcpy(copy, bytes, (size_t)n);
    *len = (size_t)n;
    SSL_set0_wbio(t->ssl, BIO_new_socket(t->fd, BIO_NOCLOSE));
    return copy;
}

/* Everything until the server closes; what was read before is part of it. The caller frees. */
static char *read_all(struct tls *t) {
    size_t n = 0, room = 1U << 20;
    char *text = malloc(room);
    assert_non_null(text);
    for (int got; n < room - 1 && (got = SSL_read(t->ssl, text + n, (int)(room - 1 - n))) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    return text;
}

static unsigned count_of(const char *text, const char *what) {
    unsigned n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

#define TOGETHER 40U

/* Requests of `step` bytes more each, every third of them one that waits; cut at `cut` bytes into two packets (0: not at all). */
static void ask_together(size_t step, size_t cut) {
    static char texts[TOGETHER][4096];
    const char *requests[TOGETHER + 1];
    struct tls t;
    size_t len;
    for (size_t i = 0; i < TOGETHER; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "GET /%s HTTP/1.1\r\nHost: t\r\nX: %.*s\r\n\r\n", i % 3 == 2 ? "slow" : "fast",
                       (int)(step * i), fill);
        requests[i] = texts[i];
    }
    requests[TOGETHER] = "GET /who HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
    assert_true(tls_open(&t, TLS1_2_VERSION, TLS1_3_VERSION));
    assert_non_null(tls_ask(&t, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\nfast"));
    char *bytes = records_of(&t, requests, TOGETHER + 1, &len);
    client_send_bytes(t.fd, bytes, cut);
    client_send_bytes(t.fd, bytes + cut, len - cut);
    free(bytes);
    char *answers = read_all(&t);
    assert_int_equal(count_of(answers, "HTTP/1.1 200"), TOGETHER + 1);
    assert_int_equal(count_of(answers, "slow 0"), TOGETHER / 3);
    assert_non_null(strstr(answers, "tls=1"));
    free(answers);
    tls_close(&t);
}

/* More than one record may come by one call to receive: none is left behind, wherever the cut between two calls falls. */
static void test_records_that_come_together(void **state) {
    (void)state;
    memset(fill, 'x', sizeof(fill) - 1);
    fixture_start(&fx);
    for (size_t step = 0; step < 95; step += 19)
        ask_together(step, 0);
    for (size_t cut = 1; cut < 4500; cut += 307)
        ask_together(23, cut);
}

/* A client that is gone with a part of a record sent, or with records that nobody asked for, leaves nothing behind. */
static void test_records_that_nobody_reads(void **state) {
    const char *requests[] = {"GET /slow HTTP/1.1\r\nHost: t\r\n\r\n", "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n"};
    struct tls t;
    size_t len;
    (void)state;
    /* The library may overlook an end that comes behind a part of a record. The handshake counts as well. */
    fx.options.header_timeout_ms = 2000;
    fixture_start(&fx);
    for (size_t less = 0; less < 90; less += 17) {
        assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
        char *bytes = records_of(&t, requests, 2, &len);
        client_send_bytes(t.fd, bytes, len - less);
        free(bytes);
        tls_close(&t);
    }
    UNIT_WAIT_FOR(fixture_stats(&fx).connections == 0);
}

/* A client that speaks HTTP to the TLS port is a failed handshake: reported, not fatal. */
static void test_plain_http_on_the_tls_port(void **state) {
    (void)state;
    fixture_start(&fx);
    int fd = client_connect(fx.port);
    client_send(fd, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n");
    char c[256];
    while (recv(fd, c, sizeof(c), 0) > 0) {}
    UNIT_WAIT_FOR(atomic_load(&fx.notices) > 0);
    close(fd);
}

static void test_a_large_answer(void **state) {
    static const char request[] = "GET /big HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
    struct tls t;
    char part[16384];
    size_t total = 0;
    (void)state;
    fixture_start(&fx);
    assert_true(tls_open(&t, TLS1_2_VERSION, TLS1_3_VERSION));
    assert_true(SSL_write(t.ssl, request, (int)strlen(request)) > 0);
    for (int n = 1; n > 0; total += n > 0 ? (size_t)n : 0)
        n = SSL_read(t.ssl, part, sizeof(part));
    assert_true(total > 8U * 1024U * 1024U);
    tls_close(&t);
}

static void test_reload(void **state) {
    struct tls old, fresh;
    struct err err = {0};
    (void)state;
    fixture_start(&fx);
    assert_true(tls_open(&old, TLS1_3_VERSION, TLS1_3_VERSION));
    assert_true(has_cert(&old, &first));
    assert_int_equal(httpd_reload_tls(fx.httpd, second.cert_pem, second.key_pem, &err), 0);
    assert_true(tls_open(&fresh, TLS1_3_VERSION, TLS1_3_VERSION));
    assert_true(has_cert(&fresh, &second));
    assert_non_null(tls_ask(&old, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\nfast")); /* not dropped */
    tls_close(&fresh);
    assert_int_equal(httpd_reload_tls(fx.httpd, first.cert_pem, second.key_pem, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "does not belong"));
    assert_true(tls_open(&fresh, TLS1_3_VERSION, TLS1_3_VERSION));
    assert_true(has_cert(&fresh, &second)); /* a bad pair changes nothing */
    tls_close(&fresh);
    tls_close(&old);
}

static void start_fails(const char *cert, const char *key, const char *priority, const char *reason) {
    struct httpd_options o = fx.options;
    struct httpd *httpd = NULL;
    struct err err = {0};
    o.cert_pem = cert;
    o.key_pem = key;
    o.tls_priority = priority;
    assert_int_equal(httpd_start(&o, &httpd, &err), ERR_CONFIG);
    assert_null(httpd);
    if (!strstr(err.text, reason))
        fail_msg("\"%s\" lacks \"%s\"", err.text, reason);
}

static void test_bad_certificates_are_refused(void **state) {
    (void)state;
    start_fails("nonsense", first.key_pem, NULL, "certificate cannot be used");
    start_fails(first.cert_pem, "nonsense", NULL, "private key cannot be used");
    start_fails(first.cert_pem, second.key_pem, NULL, "does not belong");
    start_fails(first.cert_pem, NULL, NULL, "needs its key");
    start_fails(first.cert_pem, first.key_pem, "NONSENSE", "priority string");
    fixture_start(&fx);
}

/* The first bytes of a ClientHello: record header that announces 512 bytes, handshake header, version. */
static const unsigned char half_hello[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x01, 0x02, 0x03};

/* The library alone would ask such a connection for bytes as fast as it can. */
static void test_half_a_handshake_is_parked(void **state) {
    int fds[4];
    struct tls t;
    (void)state;
    fixture_start(&fx);
    for (size_t i = 0; i < UNIT_COUNT(fds); i++) {
        fds[i] = client_connect(fx.port);
        client_send_bytes(fds[i], half_hello, sizeof(half_hello));
    }
    UNIT_WAIT_FOR(fixture_stats(&fx).parked == 4);
    assert_true(tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION));
    assert_non_null(tls_ask(&t, "GET /fast HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\nfast"));
    assert_int_equal(fixture_stats(&fx).parked, 4);
    tls_close(&t);
    client_send_bytes(fds[0], half_hello, 1); /* a dripping client is woken and parked again */
    close(fds[1]);                            /* one that goes away is noticed */
    UNIT_WAIT_FOR(fixture_stats(&fx).parked == 3);
    for (size_t i = 0; i < UNIT_COUNT(fds); i++)
        if (i != 1)
            close(fds[i]);
    UNIT_WAIT_FOR(fixture_stats(&fx).parked == 0 && fixture_stats(&fx).connections == 0);
}

static void test_a_parked_handshake_has_a_deadline(void **state) {
    (void)state;
    fx.options.header_timeout_ms = 200;
    fixture_start(&fx);
    int fd = client_connect(fx.port);
    client_send_bytes(fd, half_hello, sizeof(half_hello));
    UNIT_WAIT_FOR(fixture_stats(&fx).cut_header == 1);
    assert_true(client_is_closed(fd));
    UNIT_WAIT_FOR(fixture_stats(&fx).parked == 0 && fixture_stats(&fx).connections == 0);
    close(fd);
}

/* Suspended connections would make the library abort the process. */
static void test_stop_with_parked_handshakes(void **state) {
    int fds[8];
    (void)state;
    fixture_start(&fx);
    for (size_t i = 0; i < UNIT_COUNT(fds); i++) {
        fds[i] = client_connect(fx.port);
        client_send_bytes(fds[i], half_hello, sizeof(half_hello));
    }
    UNIT_WAIT_FOR(fixture_stats(&fx).parked == 8);
    fixture_stop(&fx);
    for (size_t i = 0; i < UNIT_COUNT(fds); i++) {
        assert_true(client_is_closed(fds[i]));
        close(fds[i]);
    }
    set_up(NULL); /* for the tear-down */
    fixture_start(&fx);
}

/* ---- secrets ---- */

#define SECRET_BYTES 900
#define SECRET_TAIL_BYTES 16
#define MASK 0x5a
#define MAPPING_BYTES_MAX (256UL * 1024UL * 1024UL) /* beyond it lie the sanitizers' own tables */

enum client_end { STAYS, CLOSES, BREAKS_OFF, CLOSES_AFTER_A_FIELD };

/* In a process of its own, so that the server's memory holds only what the server keeps. The port comes through a pipe: the fork
 * must come before the server's threads, one of which could hold the allocator's lock. */
static void send_secret(int port_fd, int report_fd, enum client_end end) {
    unsigned char raw[SECRET_BYTES / 2];
    char secret[SECRET_BYTES + 1], request[SECRET_BYTES + 256];
    struct tls t, later;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(port_fd, &fx.port, sizeof(fx.port)) != sizeof(fx.port))
        _exit(1);
    RAND_bytes(raw, sizeof(raw));
    for (size_t i = 0; i < sizeof(raw); i++)
        (void)snprintf(secret + 2 * i, 3, "%02x", raw[i]);
    (void)snprintf(request, sizeof(request), "POST /secret HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n%s\r\n%s",
                   SECRET_BYTES + (end == BREAKS_OFF), end == STAYS ? "" : "Connection: close\r\n", secret);
    if (end == CLOSES_AFTER_A_FIELD)
        (void)snprintf(
            request, sizeof(request),
            "POST /secret HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n-",
            secret);
    /* The second connection's memory lies behind the first's, which therefore is not given back to the kernel. */
    bool ok = tls_open(&t, TLS1_3_VERSION, TLS1_3_VERSION) && tls_open(&later, TLS1_3_VERSION, TLS1_3_VERSION);
    if (end == BREAKS_OFF)
        ok = ok && SSL_write(t.ssl, request, (int)strlen(request)) > 0;
    else
        ok = ok && tls_ask(&t, request, end == CLOSES_AFTER_A_FIELD ? "-" : secret);
    if (end != STAYS)
        tls_close(&t);
    for (size_t i = 0; i < SECRET_BYTES; i++)
        secret[i] ^= MASK;
    if (!ok || write(report_fd, secret, SECRET_BYTES) != SECRET_BYTES)
        _exit(1);
    for (;;)
        pause(); /* the parent ends us */
}

/* Looks for the end of the secret: the allocator writes its links over the start of freed memory. */
__attribute__((no_sanitize("address", "thread"))) static unsigned count_in(const unsigned char *from, const unsigned char *to,
                                                                           const unsigned char *masked) {
    unsigned found = 0;
    for (const unsigned char *p = from; p + SECRET_TAIL_BYTES <= to; p++) {
        size_t i = 0;
        while (i < SECRET_TAIL_BYTES && (p[i] ^ MASK) == masked[SECRET_BYTES - SECRET_TAIL_BYTES + i])
            i++;
        found += i == SECRET_TAIL_BYTES;
    }
    return found;
}

/* Copies of the secret in all writable memory of this process. */
__attribute__((no_sanitize("address", "thread"))) static unsigned count_copies(const unsigned char *masked) {
    char line[512], perms[8];
    unsigned long from, to;
    unsigned found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3 && perms[0] == 'r' && perms[1] == 'w' &&
            to - from < MAPPING_BYTES_MAX)
            found += count_in((const unsigned char *)from, (const unsigned char *)to, masked);
    fclose(maps);
    return found;
}

static void test_a_secret_leaves_no_trace(enum client_end end) {
    unsigned char masked[SECRET_BYTES];
    int report[2], port[2];
    assert_int_equal(pipe(report), 0);
    assert_int_equal(pipe(port), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        send_secret(port[0], report[1], end);
    close(report[1]);
    fixture_start(&fx);
    assert_int_equal(write(port[1], &fx.port, sizeof(fx.port)), sizeof(fx.port));
    assert_int_equal(read(report[0], masked, sizeof(masked)), SECRET_BYTES);
    UNIT_WAIT_FOR(atomic_load(&fx.after) == 1 && fixture_stats(&fx).connections == (end == STAYS ? 2 : 1));
    unsigned copies = count_copies(masked);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(report[0]);
    close(port[0]);
    close(port[1]);
    if (SECRET_FREED_IS_WIPED)
        assert_int_equal(copies, 0);
}

static void test_no_trace_while_connected(void **state) {
    (void)state;
    test_a_secret_leaves_no_trace(STAYS);
}

static void test_no_trace_after_the_end(void **state) {
    (void)state;
    test_a_secret_leaves_no_trace(CLOSES);
}

static void test_no_trace_of_half_a_body(void **state) {
    (void)state;
    test_a_secret_leaves_no_trace(BREAKS_OFF);
}

static void test_no_trace_of_a_field(void **state) {
    (void)state;
    test_a_secret_leaves_no_trace(CLOSES_AFTER_A_FIELD);
}

int main(void) {
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX); /* freed memory stays where the search for secrets can see it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_versions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_the_library_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_endless_header_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_ticket_for_many_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_ticket_in_records_cut_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_long_field_that_is_no_token, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_refusal_goes_to_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_records_that_come_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_records_that_nobody_reads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plain_http_on_the_tls_port, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_large_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_certificates_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_half_a_handshake_is_parked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_parked_handshake_has_a_deadline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop_with_parked_handshakes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_trace_while_connected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_trace_after_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_trace_of_half_a_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_trace_of_a_field, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_certs, drop_certs);
}
