/* Many clients of every bad habit against two servers (TLS and plain) that are stopped under load, again and again.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Usage: http_stress [rounds] [milliseconds per round] [seed]. Checked: every answer is the right one, every suspended request is resumed
 * once, every request is completed and logged once, no descriptor and no connection is left. Crashes, races and leaks show under the
 * sanitizers. What a client does is random; the seed is printed. */
#include <arpa/inet.h>
#include <dirent.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "httpd.h"
#include "worker_pool.h"
#include "tls_server.h"

#define CLIENTS 12
#define LANES 2
#define UPLOAD_MAX 300000U
#define REPLY_LIMIT_MS 30000
#define SLOW_TIMEOUT_MS 40

static struct world {
    struct httpd *plain, *tls;
    struct worker_pool *pools[LANES];
    struct test_cert cert;
    SSL_CTX *ctx;
    _Atomic bool is_over;     /* clients leave */
    _Atomic bool is_stopping; /* from here on refusals are right answers */
    _Atomic unsigned long before, after, data_freed, wrong, right, refused, expired, gone;
} w;

static void die(const char *what) {
    (void)fprintf(stderr, "http_stress: %s\n", what);
    abort();
}

static void pause_us(long us) {
    const struct timespec t = {0, us * 1000};
    (void)nanosleep(&t, NULL);
}

/* ---- server side ---- */

static int answer_sum(struct http_request *req, struct http_response *resp) {
    size_t n;
    const char *body = http_request_body(req, &n);
    unsigned long sum = 0;
    struct strbuf text;
    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + (unsigned char)body[i];
    strbuf_init(&text, 4096);
    strbuf_addf(&text, "<%s %lu %lu>", http_request_param(req, "tag"), (unsigned long)n, sum);
    http_response_set_text(resp, "text/plain", &text);
    return 0;
}

static int h_fast(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)err;
    return answer_sum(req, resp);
}

/* Waits as many microseconds as the query says. */
static int h_slow(struct http_request *req, struct http_response *resp, struct err *err) {
    const char *us = http_request_query(req, "us");
    (void)err;
    if (us)
        pause_us(strtol(us, NULL, 10));
    return answer_sum(req, resp);
}

static int h_to_lane_0(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)resp, (void)err;
    return http_request_go_slow(req, w.pools[0], h_slow);
}

static int h_to_lane_1(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)resp, (void)err;
    return http_request_go_slow(req, w.pools[1], h_slow);
}

static int h_maybe(struct http_request *req, struct http_response *resp, struct err *err) {
    return http_request_param(req, "tag")[0] & 1 ? h_to_lane_1(req, resp, err) : answer_sum(req, resp);
}

static const struct route routes[] = {
    {.method = HTTP_METHOD_GET, .pattern = "/fast/{tag}", .handler = h_fast},
    {.method = HTTP_METHOD_POST,
     .pattern = "/fast/{tag}",
     .handler = h_fast,
     .body_bytes_max = UPLOAD_MAX,
     .options = ROUTE_SECRET_BODY},
    {.method = HTTP_METHOD_GET, .pattern = "/slow/{tag}", .handler = h_to_lane_0},
    {.method = HTTP_METHOD_POST, .pattern = "/slow/{tag}", .handler = h_to_lane_1, .body_bytes_max = UPLOAD_MAX},
    {.method = HTTP_METHOD_GET, .pattern = "/maybe/{tag}", .handler = h_maybe},
};

static void free_data(void *data) {
    atomic_fetch_add(&w.data_freed, 1);
    free(data);
}

static int on_before(struct http_request *req, struct err *err) {
    (void)err;
    atomic_fetch_add(&w.before, 1);
    http_request_set_data(req, strdup(http_request_id(req)), free_data);
    return 0;
}

static void on_error(struct http_request *req, const struct err *err, struct http_response *resp) {
    (void)req;
    http_response_set_status(resp, err_http_status(err->code));
    http_response_set_static(resp, "text/plain", "error", 5);
}

static void on_after(struct http_request *req, const struct httpd_outcome *outcome) {
    const char *id = http_request_data(req);
    atomic_fetch_add(&w.after, 1);
    if (id && strcmp(id, http_request_id(req)) != 0)
        die("a request has another's data");
    (void)outcome;
}

/* ---- client side ---- */

struct link {
    int fd;
    SSL *ssl; /* NULL: plain */
};

struct client {
    pthread_t thread;
    unsigned rng;
    unsigned ports[2]; /* plain, TLS */
};

/* xorshift32 (Marsaglia 2003): the low bits of rand_r are too regular to choose by. */
static unsigned roll(struct client *c, unsigned below) {
    c->rng ^= c->rng << 13;
    c->rng ^= c->rng >> 17;
    c->rng ^= c->rng << 5;
    return c->rng % below;
}

static bool tcp_open(unsigned port, int *out) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {REPLY_LIMIT_MS / 1000, 0};
    *out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*out < 0)
        die("no socket");
    (void)setsockopt(*out, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(*out, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(*out, (struct sockaddr *)&to, sizeof(to)) == 0)
        return true;
    (void)close(*out);
    return false;
}

static bool link_open(struct client *c, struct link *l) {
    bool is_tls = roll(c, 2);
    *l = (struct link){0};
    if (!tcp_open(c->ports[is_tls], &l->fd))
        return false;
    if (!is_tls)
        return true;
    l->ssl = SSL_new(w.ctx);
    SSL_set_fd(l->ssl, l->fd);
    if (SSL_connect(l->ssl) == 1)
        return true;
    SSL_free(l->ssl);
    (void)close(l->fd);
    return false;
}

static void link_close(struct client *c, struct link *l) {
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    if (l->ssl && roll(c, 2))
        (void)SSL_shutdown(l->ssl);
    SSL_free(l->ssl);
    if (roll(c, 4) == 0)
        (void)setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* a reset */
    (void)close(l->fd);
}

static bool link_write(struct link *l, const char *data, size_t n) {
    while (n) {
        ssize_t sent = l->ssl ? SSL_write(l->ssl, data, (int)n) : send(l->fd, data, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        data += sent;
        n -= (size_t)sent;
    }
    return true;
}

static ssize_t link_read(struct link *l, char *to, size_t n) {
    return l->ssl ? SSL_read(l->ssl, to, (int)n) : recv(l->fd, to, n, 0);
}

/* Reads one whole answer; its status, or 0 if the connection ended. `body` needs 256 bytes. */
static int read_reply(struct link *l, char *body) {
    char head[4096];
    size_t n = 0, length;
    int status;
    do {
        if (n == sizeof(head) - 1 || link_read(l, head + n, 1) != 1)
            return 0;
        head[++n] = '\0';
    } while (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0);
    const char *field = strstr(head, "Content-Length: ");
    if (sscanf(head, "HTTP/1.1 %d", &status) != 1 || !field)
        die("an answer without status or length");
    length = strtoul(field + 16, NULL, 10);
    if (length > 255)
        die("an answer that nobody gave");
    for (n = 0; n < length; n++)
        if (link_read(l, body + n, 1) != 1)
            return 0;
    body[n] = '\0';
    return status;
}

/* Counts what came: the right answer, an honest refusal, a late 504, or the end of the connection. */
static bool judge(int status, const char *body, const char *want) {
    if (status == 200 && !strcmp(body, want))
        return atomic_fetch_add(&w.right, 1) + 1;
    if (status == 503) /* worker pool full or stopping */
        atomic_fetch_add(&w.refused, 1);
    else if (status == 504)
        atomic_fetch_add(&w.expired, 1);
    else if (status == 0 && atomic_load(&w.is_stopping))
        atomic_fetch_add(&w.gone, 1);
    else {
        (void)fprintf(stderr, "http_stress: wanted \"%s\", got %d \"%s\"\n", want, status, status ? body : "");
        atomic_fetch_add(&w.wrong, 1);
    }
    return status == 503 || status == 504;
}

static const char *pick_path(struct client *c) {
    static const char *const paths[] = {"fast", "slow", "maybe"};
    return paths[roll(c, 3)];
}

/* Up to four GETs at once on one connection, answered in order. */
static void do_pipeline(struct client *c, struct link *l) {
    char text[1024] = "", want[4][64], body[256];
    unsigned n = 1 + roll(c, 4);
    for (unsigned i = 0; i < n; i++) {
        unsigned tag = roll(c, 1000000);
        (void)snprintf(want[i], sizeof(want[i]), "<%u 0 0>", tag);
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "GET /%s/%u?us=%u HTTP/1.1\r\nHost: t\r\n\r\n",
                       pick_path(c), tag, roll(c, 40) ? roll(c, 1000) : SLOW_TIMEOUT_MS * 2000U);
    }
    if (!link_write(l, text, strlen(text)) && !atomic_load(&w.is_stopping))
        die("cannot send");
    for (unsigned i = 0; i < n; i++)
        if (!judge(read_reply(l, body), body, want[i]))
            return;
}

static size_t add_chunked(char *out, const char *data, size_t n, size_t step) {
    size_t at = 0;
    for (size_t i = 0; i < n; i += step) {
        size_t part = n - i < step ? n - i : step;
        at += (size_t)snprintf(out + at, 32, "%zx\r\n", part);
        memcpy(out + at, data + i, part);
        memcpy(out + at + part, "\r\n", 2);
        at += part + 2;
    }
    memcpy(out + at, "0\r\n\r\n", 5);
    return at + 5;
}

static void do_upload(struct client *c, struct link *l) {
    static _Thread_local char data[UPLOAD_MAX], wire[2 * UPLOAD_MAX];
    char head[256], want[128], body[256];
    size_t n = roll(c, 4) ? roll(c, 3000) : roll(c, UPLOAD_MAX), wire_n = n;
    bool is_chunked = roll(c, 2);
    unsigned tag = roll(c, 1000000);
    unsigned long sum = 0;
    for (size_t i = 0; i < n; i++) {
        data[i] = (char)roll(c, 256);
        sum = sum * 31 + (unsigned char)data[i];
    }
    (void)snprintf(want, sizeof(want), "<%u %lu %lu>", tag, (unsigned long)n, sum);
    if (is_chunked) {
        (void)snprintf(head, sizeof(head), "POST /%s/%u HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n",
                       roll(c, 2) ? "fast" : "slow", tag);
        wire_n = add_chunked(wire, data, n, 500 + roll(c, 40000));
    } else {
        (void)snprintf(head, sizeof(head), "POST /%s/%u HTTP/1.1\r\nHost: t\r\nContent-Length: %zu\r\n\r\n",
                       roll(c, 2) ? "fast" : "slow", tag, n);
    }
    if (link_write(l, head, strlen(head)))
        (void)link_write(l, is_chunked ? wire : data, wire_n);
    (void)judge(read_reply(l, body), body, want);
}

/* Asks and goes away: at once, after a while, in the middle of a body. */
static void do_vanish(struct client *c, struct link *l) {
    char text[256];
    (void)snprintf(text, sizeof(text),
                   roll(c, 2) ? "GET /slow/%u?us=2000 HTTP/1.1\r\nHost: t\r\n\r\n"
                              : "POST /slow/%u HTTP/1.1\r\nHost: t\r\nContent-Length: 5000\r\n\r\nhalf a body",
                   roll(c, 1000));
    (void)link_write(l, text, strlen(text));
    if (roll(c, 2))
        pause_us((long)roll(c, 3000));
}

/* Sends all it has to say, closes its side, and still reads. */
static void do_half_close(struct client *c, struct link *l) {
    char text[128], want[64], body[256];
    unsigned tag = roll(c, 1000000);
    if (l->ssl)
        return;
    (void)snprintf(text, sizeof(text), "GET /%s/%u?us=100 HTTP/1.1\r\nHost: t\r\n\r\n", pick_path(c), tag);
    (void)snprintf(want, sizeof(want), "<%u 0 0>", tag);
    (void)link_write(l, text, strlen(text));
    (void)shutdown(l->fd, SHUT_WR);
    int status = read_reply(l, body);
    if (status) /* some answers are lost with such clients: the library may take the end of input for the end of interest */
        (void)judge(status, body, want);
}

static void do_garbage(struct client *c, struct link *l) {
    static const char *const texts[] = {"\r\n\r\n\r\n",
                                        "GET\r\n\r\n",
                                        "GET /fast/1 HTTP/1.1\r\nBad Name: x\r\nHost: t\r\n\r\n",
                                        "POST /fast/1 HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                        "POST /fast/1 HTTP/1.1\r\nHost: t\r\nContent-Length: 999999\r\n\r\nx",
                                        "\x16\x03\x01\x02\x00\x01"};
    const char *text = texts[roll(c, sizeof(texts) / sizeof(texts[0]))];
    char part[512];
    struct pollfd p = {.fd = l->fd, .events = POLLIN};
    (void)link_write(l, text, strlen(text));
    if (roll(c, 2) && poll(&p, 1, 5) > 0)
        (void)link_read(l, part, sizeof(part));
}

/* Half a TLS handshake, or none. */
static void do_half_handshake(struct client *c) {
    static const unsigned char hello[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
    int fd;
    if (!tcp_open(c->ports[1], &fd))
        return;
    (void)send(fd, hello, 1 + roll(c, sizeof(hello)), MSG_NOSIGNAL);
    pause_us((long)roll(c, 3000));
    (void)close(fd);
}

static void *run_client(void *arg) {
    static void (*const habits[])(struct client *, struct link *) = {do_pipeline, do_pipeline,   do_upload,
                                                                     do_vanish,   do_half_close, do_garbage};
    struct client *c = arg;
    while (!atomic_load(&w.is_over)) {
        struct link l;
        if (roll(c, 12) == 0)
            do_half_handshake(c);
        if (!link_open(c, &l))
            continue;
        habits[roll(c, sizeof(habits) / sizeof(habits[0]))](c, &l);
        link_close(c, &l);
    }
    return NULL;
}

/* ---- rounds ---- */

static struct httpd *start(bool is_tls) {
    struct httpd_options o = {
        .listen = "127.0.0.1:0",
        .threads = 2,
        .connections_max = 200,
        .slow_timeout_ms = SLOW_TIMEOUT_MS,
        .routes = routes,
        .routes_count = sizeof(routes) / sizeof(routes[0]),
        .hooks = {.before = on_before, .on_error = on_error, .after = on_after},
    };
    struct httpd *httpd = NULL;
    struct err err = {0};
    if (is_tls) {
        o.cert_pem = w.cert.cert_pem;
        o.key_pem = w.cert.key_pem;
    }
    if (httpd_start(&o, &httpd, &err) != 0)
        die(err.text);
    return httpd;
}

static void check_server(struct httpd *httpd) {
    struct httpd_stats s;
    httpd_get_stats(httpd, &s);
    (void)printf("  %lu requests, %lu slow, %lu abandoned\n", s.requests, s.slow_started, s.abandoned);
    if (s.requests != s.completed)
        die("a request was not completed");
    if (s.slow_started != s.slow_done || s.suspended)
        die("a suspended request was not resumed");
    if (s.connections || s.parked)
        die("a connection is left");
    httpd_free(httpd);
}

static void make_pools(void) {
    for (int i = 0; i < LANES; i++) {
        struct worker_pool_options o = {.name = "stress", .threads = 3, .queue_count = i ? 6 : 100};
        if (worker_pool_new(&o, &w.pools[i], NULL) != 0)
            die("no worker");
    }
}

static void run_round(unsigned seed, long ms) {
    struct client clients[CLIENTS];
    make_pools();
    w.plain = start(false);
    w.tls = start(true);
    atomic_store(&w.is_over, false);
    atomic_store(&w.is_stopping, false);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] =
            (struct client){.rng = seed * 2654435761U + i * 40503U + 1, .ports = {httpd_port(w.plain), httpd_port(w.tls)}};
        if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0)
            die("no thread");
    }
    for (; ms > 0; ms--)
        pause_us(1000);
    if (httpd_reload_tls(w.tls, w.cert.cert_pem, w.cert.key_pem, NULL) != 0)
        die("no reload");
    atomic_store(&w.is_stopping, true);
    httpd_stop(w.plain, (long)(seed % 3) * 20);
    httpd_stop(w.tls, (long)(seed % 2) * 20);
    atomic_store(&w.is_over, true);
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    for (int i = 0; i < LANES; i++)
        worker_pool_free(w.pools[i]);
    check_server(w.plain);
    check_server(w.tls);
}

static unsigned count_descriptors(void) {
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    closedir(dir);
    return n;
}

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 4,
             seed = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : (unsigned)time(NULL);
    long ms = argc > 2 ? strtol(argv[2], NULL, 10) : 500;
    struct test_cert_request request = {.common_name = "stress", .san = "DNS:localhost"};
    unsigned descriptors;
    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL's writes */
    test_cert_make(&request, &w.cert);
    w.ctx = SSL_CTX_new(TLS_client_method());
    for (unsigned i = 0; i < rounds; i++) {
        (void)printf("round %u, seed %u\n", i, seed + i);
        run_round(seed + i, ms);
        if (i == 0)
            descriptors = count_descriptors(); /* libraries keep some from their first use on */
        else if (count_descriptors() != descriptors)
            die("a descriptor was left open");
    }
    (void)printf("%lu right, %lu refused, %lu past the deadline, %lu cut by the stop, %lu wrong; %lu logged\n",
                 atomic_load(&w.right), atomic_load(&w.refused), atomic_load(&w.expired), atomic_load(&w.gone),
                 atomic_load(&w.wrong), atomic_load(&w.after));
    SSL_CTX_free(w.ctx);
    test_cert_done(&w.cert);
    if (atomic_load(&w.before) != atomic_load(&w.data_freed))
        die("a request's data was freed twice or never");
    if (!atomic_load(&w.right))
        die("nothing was answered");
    return atomic_load(&w.wrong) ? 1 : 0;
}
