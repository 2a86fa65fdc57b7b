/* A small TLS server on 127.0.0.1 inside the test, and the certificates for it.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "tls_server.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "strbuf.h"

#define REQUEST_BYTES 65536

struct tls_server {
    struct tls_server_options options;
    SSL_CTX *ctx;
    int listener;
    unsigned port;
    pthread_t acceptor;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    int fds[TLS_SERVER_CONNECTIONS_MAX];
    pthread_t threads[TLS_SERVER_CONNECTIONS_MAX];
    unsigned connections, handshakes, requests, ended;
    char connect_text[REQUEST_BYTES];
    char sni[256];
    atomic_bool is_stopping;
};

struct conn {
    struct tls_server *server;
    unsigned index;
    int fd;
    SSL *ssl; /* NULL: plain */
    char request[REQUEST_BYTES];
    size_t len;
};

static char *bio_steal(BIO *bio) {
    char *data, *text;
    long n = BIO_get_mem_data(bio, &data);
    text = strndup(data, (size_t)n);
    BIO_free_all(bio);
    return text;
}

static void add_extension(X509 *cert, const X509 *issuer, int nid, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, (X509 *)(uintptr_t)issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(e);
    assert_int_equal(X509_add_ext(cert, e, -1), 1);
    X509_EXTENSION_free(e);
}

void test_cert_make(const struct test_cert_request *r, struct test_cert *out) {
    static long serial;
    bool has_dates = r->not_before_s || r->not_after_s;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    assert_true(key && cert);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8, (const uint8_t *)r->common_name, -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(r->issuer ? r->issuer->cert : cert));
    X509_gmtime_adj(X509_getm_notBefore(cert), has_dates ? r->not_before_s : -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), has_dates ? r->not_after_s : 86400);
    X509_set_pubkey(cert, key);
    add_extension(cert, cert, NID_basic_constraints, r->is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (r->san)
        add_extension(cert, cert, NID_subject_alt_name, r->san);
    if (r->usage)
        add_extension(cert, cert, NID_ext_key_usage, r->usage);
    assert_true(X509_sign(cert, r->issuer ? r->issuer->key : key, EVP_sha256()) > 0);
    *out = (struct test_cert){.cert = cert, .key = key};
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, cert);
    out->cert_pem = bio_steal(bio);
    bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    out->key_pem = bio_steal(bio);
    X509_digest(cert, EVP_sha256(), out->sha256, NULL);
}

void test_cert_done(struct test_cert *c) {
    X509_free(c->cert);
    EVP_PKEY_free(c->key);
    free(c->cert_pem);
    free(c->key_pem);
}

char *test_pem_dress(const char *pem, const char *before, const char *line_end) {
    struct strbuf out;
    strbuf_init(&out, 65536);
    strbuf_adds(&out, before);
    for (const char *at = pem; *at; at++)
        if (*at == '\n')
            strbuf_adds(&out, line_end);
        else
            strbuf_addc(&out, *at);
    return strbuf_steal(&out);
}

static long get_bytes(struct conn *c, void *out, size_t n) {
    return c->ssl ? SSL_read(c->ssl, out, (int)n) : recv(c->fd, out, n, 0);
}

static bool put_bytes(struct conn *c, const void *bytes, size_t n) {
    return c->ssl ? SSL_write(c->ssl, bytes, (int)n) > 0 : send(c->fd, bytes, n, MSG_NOSIGNAL) > 0;
}

static bool put_text(struct conn *c, const char *text) {
    return put_bytes(c, text, strlen(text));
}

/* Reads one request with its body into c->request; false at the end of the connection. */
static bool read_request(struct conn *c) {
    size_t wanted = 0;
    c->len = 0;
    for (;;) {
        c->request[c->len] = '\0';
        const char *end = strstr(c->request, "\r\n\r\n"), *length = strcasestr(c->request, "\r\nContent-Length:");
        if (end && !wanted)
            wanted = (size_t)(end + 4 - c->request) + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
        if (wanted && c->len >= wanted)
            return true;
        long n = get_bytes(c, c->request + c->len, sizeof(c->request) - 1 - c->len);
        if (n <= 0)
            return false;
        c->len += (size_t)n;
        if (!c->ssl && c->request[0] == 0x16) { /* a TLS ClientHello (RFC 8446 5.1): answer as web servers do */
            (void)put_text(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            return false;
        }
    }
}

/* Reads the preface of HTTP/2 (RFC 9113 3.4), then frames up to the first HEADERS. */
static bool read_h2_request(struct conn *c) {
    const size_t preface = strlen("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), head = 9, type = 3;
    size_t at = preface;
    for (c->len = 0;;) {
        const uint8_t *frame = (const uint8_t *)c->request + at;
        size_t whole = c->len < at + head ? 0 : head + ((size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2]);
        if (whole && c->len >= at + whole) {
            if (frame[type] == 1)
                return true;
            at += whole;
            continue;
        }
        long n = get_bytes(c, c->request + c->len, sizeof(c->request) - c->len);
        if (n <= 0)
            return false;
        c->len += (size_t)n;
    }
}

static bool is_path(const struct conn *c, const char *path) {
    const char *at = strchr(c->request, ' ');
    size_t n = strlen(path);
    return at && !strncmp(at + 1, path, n) && (at[1 + n] == ' ' || path[n - 1] == '/');
}

static bool answer_body(struct conn *c, const char *body) {
    char head[128];
    (void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nX-Test: yes\r\nContent-Length: %zu\r\n\r\n", strlen(body));
    return put_text(c, head) && put_text(c, body);
}

static bool answer_whoami(struct conn *c) {
    char name[256] = "nobody";
    X509 *peer = c->ssl ? SSL_get1_peer_certificate(c->ssl) : NULL;
    if (peer)
        X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name, sizeof(name));
    X509_free(peer);
    return answer_body(c, name);
}

static bool answer_endless(struct conn *c, const char *head, const char *piece, useconds_t pause_us) {
    if (!put_text(c, head))
        return false;
    while (put_text(c, piece) && !atomic_load(&c->server->is_stopping))
        if (pause_us)
            usleep(pause_us);
    return false;
}

static bool answer_status(struct conn *c) {
    char head[128];
    (void)snprintf(head, sizeof(head), "HTTP/1.1 %d Word\r\nContent-Length: 4\r\n\r\nword",
                   (int)strtol(strstr(c->request, "/status/") + 8, NULL, 10));
    return put_text(c, head);
}

static bool wait_for_end(struct conn *c) {
    char byte;
    while (get_bytes(c, &byte, 1) > 0)
        ;
    return false;
}

static bool answer_special(struct conn *c) {
    if (is_path(c, "/silent"))
        return wait_for_end(c);
    if (is_path(c, "/drip"))
        return answer_endless(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "x", 20000);
    if (is_path(c, "/flood"))
        return answer_endless(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                              "40\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n", 0);
    if (is_path(c, "/flood-headers"))
        return answer_endless(c, "HTTP/1.1 200 OK\r\n", "X-More: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\r\n", 0);
    if (is_path(c, "/cut"))
        return put_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this") && false;
    if (is_path(c, "/garbage"))
        return put_text(c, "this is no HTTP\r\n\r\n") && false;
    if (is_path(c, "/hang-up"))
        return false;
    if (is_path(c, "/close"))
        return answer_body(c, "bye") && false;
    return answer_body(c, "unknown path");
}

static bool answer_told(struct conn *c) {
    const char *text = c->server->options.answer(c->server->options.answer_arg, c->request);
    return put_text(c, text) && !strstr(text, "\r\nConnection: close\r\n");
}

static bool answer(struct conn *c) {
    if (c->server->options.answer)
        return answer_told(c);
    if (is_path(c, "/hello"))
        return answer_body(c, "hello");
    if (is_path(c, "/echo"))
        return answer_body(c, c->request);
    if (is_path(c, "/whoami"))
        return answer_whoami(c);
    if (is_path(c, "/interim"))
        return put_text(c, "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\nContent-Encoding: gzip\r\n\r\n") && answer_body(c, "late");
    if (is_path(c, "/coded"))
        return put_text(c, "HTTP/1.1 200 OK\r\ncontent-encoding: \tgzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b");
    if (is_path(c, "/plain"))
        return put_text(c, "HTTP/1.1 200 OK\r\nContent-Encoding: Identity\r\nContent-Length: 2\r\n\r\nok");
    if (is_path(c, "/redirect"))
        return put_text(c, "HTTP/1.1 302 Found\r\nLocation: /hello\r\nContent-Length: 0\r\n\r\n");
    if (is_path(c, "/status/"))
        return answer_status(c);
    return answer_special(c);
}

static bool answer_frames(struct conn *c) {
    const struct tls_server_options *options = &c->server->options;
    return put_bytes(c, options->frames, options->frames_bytes) && !options->hangs_up && wait_for_end(c);
}

static void note_request(struct conn *c) {
    struct tls_server *s = c->server;
    pthread_mutex_lock(&s->lock);
    s->requests++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static bool open_tunnel(struct conn *c) {
    char head[160];
    int status = c->server->options.connect_status;
    if (!read_request(c))
        return false;
    pthread_mutex_lock(&c->server->lock);
    memcpy(c->server->connect_text, c->request, c->len + 1);
    pthread_mutex_unlock(&c->server->lock);
    (void)snprintf(head, sizeof(head), "HTTP/1.1 %d Tunnel\r\nX-Proxy: yes\r\nContent-Length: 0\r\n\r\n", status ? status : 200);
    return put_text(c, head) && (!status || status == 200);
}

static bool start_tls(struct conn *c) {
    if (!c->server->ctx)
        return true;
    SSL *ssl = SSL_new(c->server->ctx);
    SSL_set_fd(ssl, c->fd);
    bool is_open = SSL_accept(ssl) == 1;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    pthread_mutex_lock(&c->server->lock);
    (void)snprintf(c->server->sni, sizeof(c->server->sni), "%s", name ? name : "");
    c->server->handshakes += is_open;
    pthread_mutex_unlock(&c->server->lock);
    c->ssl = ssl;
    return is_open;
}

static void *serve(void *arg) {
    struct conn *c = arg;
    struct tls_server *s = c->server;
    bool is_open = !s->options.closes_at_once;
    if (s->options.stays_silent)
        is_open = wait_for_end(c);
    if (is_open && s->options.is_proxy)
        is_open = open_tunnel(c);
    if (is_open)
        is_open = start_tls(c);
    while (is_open && (s->options.frames ? read_h2_request(c) : read_request(c))) {
        note_request(c);
        is_open = s->options.frames ? answer_frames(c) : answer(c);
    }
    if (c->ssl && is_open)
        SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    pthread_mutex_lock(&s->lock);
    s->fds[c->index] = -1;
    close(c->fd);
    s->ended++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    free(c);
    return NULL;
}

static void *accept_all(void *arg) {
    struct tls_server *s = arg;
    for (;;) {
        int fd = accept(s->listener, NULL, NULL);
        if (fd < 0 || atomic_load(&s->is_stopping)) {
            if (fd >= 0)
                close(fd);
            return NULL;
        }
        struct conn *c = calloc(1, sizeof(*c));
        pthread_mutex_lock(&s->lock);
        if (!c || s->connections == TLS_SERVER_CONNECTIONS_MAX)
            abort();
        c->server = s;
        c->fd = fd;
        c->index = s->connections++;
        s->fds[c->index] = fd;
        if (pthread_create(&s->threads[c->index], NULL, serve, c))
            abort();
        pthread_mutex_unlock(&s->lock);
    }
}

static int accept_any_cert(int is_ok, X509_STORE_CTX *ctx) {
    (void)is_ok, (void)ctx;
    return 1;
}

static int choose_h2(SSL *ssl, const uint8_t **out, uint8_t *n, const uint8_t *offered, unsigned offered_n, void *arg) {
    static const uint8_t h2[] = {2, 'h', '2'};
    uint8_t *chosen = NULL;
    int rc = SSL_select_next_proto(&chosen, n, h2, sizeof(h2), offered, offered_n);
    (void)ssl, (void)arg;
    *out = chosen;
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void listen_on(struct tls_server *s) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(in);
    s->listener = socket(s->options.unix_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->options.unix_path) {
        (void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", s->options.unix_path);
        assert_int_equal(bind(s->listener, (struct sockaddr *)&un, sizeof(un)), 0);
    } else {
        assert_int_equal(bind(s->listener, (struct sockaddr *)&in, sizeof(in)), 0);
        assert_int_equal(getsockname(s->listener, (struct sockaddr *)&in, &len), 0);
        s->port = ntohs(in.sin_port);
    }
    assert_int_equal(listen(s->listener, 16), 0);
}

struct tls_server *tls_server_start(const struct tls_server_options *options) {
    struct tls_server *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    s->options = *options;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (options->cert) {
        s->ctx = SSL_CTX_new(TLS_server_method());
        assert_int_equal(SSL_CTX_use_certificate(s->ctx, options->cert->cert), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(s->ctx, options->cert->key), 1);
        if (options->asks_client_cert)
            SSL_CTX_set_verify(s->ctx, SSL_VERIFY_PEER, accept_any_cert);
        if (options->frames)
            SSL_CTX_set_alpn_select_cb(s->ctx, choose_h2, NULL);
    }
    listen_on(s);
    assert_int_equal(pthread_create(&s->acceptor, NULL, accept_all, s), 0);
    return s;
}

void tls_server_stop(struct tls_server *s) {
    atomic_store(&s->is_stopping, true);
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->acceptor, NULL);
    close(s->listener);
    pthread_mutex_lock(&s->lock);
    unsigned count = s->connections;
    for (unsigned i = 0; i < count; i++)
        if (s->fds[i] >= 0)
            shutdown(s->fds[i], SHUT_RDWR);
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < count; i++)
        pthread_join(s->threads[i], NULL);
    SSL_CTX_free(s->ctx);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
}

unsigned tls_server_port(const struct tls_server *s) {
    return s->port;
}

static unsigned read_count(struct tls_server *s, const unsigned *count) {
    pthread_mutex_lock(&s->lock);
    unsigned n = *count;
    pthread_mutex_unlock(&s->lock);
    return n;
}

unsigned tls_server_connections(struct tls_server *s) {
    return read_count(s, &s->connections);
}

unsigned tls_server_requests(struct tls_server *s) {
    return read_count(s, &s->requests);
}

unsigned tls_server_handshakes(struct tls_server *s) {
    return read_count(s, &s->handshakes);
}

static void wait_for(struct tls_server *s, const unsigned *count, unsigned wanted) {
    struct timespec limit;
    int rc = clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    pthread_mutex_lock(&s->lock);
    while (!rc && *count < wanted)
        rc = pthread_cond_timedwait(&s->changed, &s->lock, &limit);
    pthread_mutex_unlock(&s->lock);
    assert_int_equal(rc, 0);
}

void tls_server_wait_requests(struct tls_server *s, unsigned count) {
    wait_for(s, &s->requests, count);
}

void tls_server_wait_ended(struct tls_server *s, unsigned count) {
    wait_for(s, &s->ended, count);
}

const char *tls_server_connect_text(struct tls_server *s) {
    return s->connect_text;
}

const char *tls_server_sni(struct tls_server *s) {
    return s->sni;
}
