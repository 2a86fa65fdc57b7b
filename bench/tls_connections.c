/* New TLS connections: handshake, one GET, close; where do they stall? Not part of the product.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Server: bare libmicrohttpd with epoll, poll or select, or the product's wrapper, in a child process. Client: threads with blocking
 * OpenSSL, TLS 1.2 or 1.3. Modes take turns in short rounds, so that a disturbance of the machine hits all of them. The time of each
 * stage is kept (TCP connect, handshake, request), and a watcher thread counts the moments when the machine itself stood still. */
#include <arpa/inet.h>
#include <getopt.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench_util.h"
#include "httpd.h"

#define STALL_S 0.2
#define CLIENTS_MAX 256U
#define HALVES_MAX 64U

enum server_kind { BARE_EPOLL, BARE_POLL, BARE_SELECT, BARE_TURBO, WRAPPER, SERVER_KINDS };
static const char *const server_names[SERVER_KINDS] = {"bare epoll", "bare poll", "bare select", "bare epoll turbo", "wrapper"};
enum stage { CONNECT, HANDSHAKE, REQUEST, TOTAL, STAGES };
static const char *const stage_names[STAGES] = {"connect", "handshake", "request", "total"};

static struct settings {
    unsigned connections, clients, rounds, server_threads;
    unsigned halves; /* connections with half a ClientHello, held open beside the measured ones */
    bool has_nagle;  /* client leaves Nagle's algorithm on */
    const char *only, *json;
    char *cert, *key;
} set = {.connections = 20000, .clients = 8, .rounds = 8, .server_threads = 2, .json = "tls_connections"};

struct mode {
    enum server_kind server;
    int tls; /* 12 or 13 */
    float *seconds[STAGES];
    size_t count;
    unsigned failures;
    unsigned stalls[STAGES];
    double cpu_s, wall_s;
};

/* ---- servers, in the child ---- */

static const char answer[] = "{\"items\":[]}";

static enum MHD_Result bare_handler(void *cls, struct MHD_Connection *c, const char *url, const char *method, const char *version,
                                    const char *data, size_t *n, void **ctx) {
    static int seen;
    (void)cls, (void)url, (void)method, (void)version, (void)data, (void)n;
    if (!*ctx) {
        *ctx = &seen;
        return MHD_YES;
    }
    struct MHD_Response *r =
        MHD_create_response_from_buffer(sizeof(answer) - 1, (void *)(uintptr_t)answer, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result ok = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return ok;
}

static void serve_bare(enum server_kind kind, int report_fd, int stop_fd) {
    static const unsigned how[] = {[BARE_EPOLL] = MHD_USE_EPOLL_INTERNAL_THREAD,
                                   [BARE_POLL] = MHD_USE_POLL_INTERNAL_THREAD,
                                   [BARE_SELECT] = MHD_USE_INTERNAL_POLLING_THREAD,
                                   [BARE_TURBO] = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *d =
        MHD_start_daemon(how[kind] | MHD_USE_TLS | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, bare_handler, NULL,
                         MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_THREAD_POOL_SIZE, set.server_threads, MHD_OPTION_CONNECTION_LIMIT,
                         1000U, MHD_OPTION_HTTPS_MEM_KEY, set.key, MHD_OPTION_HTTPS_MEM_CERT, set.cert, MHD_OPTION_END);
    if (!d)
        bench_die("MHD_start_daemon");
    bench_child_wait(MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port, report_fd, stop_fd);
    MHD_stop_daemon(d);
}

static int wrapped_handler(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)req, (void)err;
    http_response_set_static(resp, "application/json", answer, sizeof(answer) - 1);
    return 0;
}

static void wrapped_error(struct http_request *req, const struct err *err, struct http_response *resp) {
    (void)req;
    http_response_set_status(resp, err_http_status(err->code));
}

static void serve_wrapped(int report_fd, int stop_fd) {
    static const struct route routes[] = {{.method = HTTP_METHOD_GET, .pattern = "/", .handler = wrapped_handler}};
    struct httpd_options o = {.listen = "127.0.0.1:0",
                              .cert_pem = set.cert,
                              .key_pem = set.key,
                              .threads = set.server_threads,
                              .connections_max = 900,
                              .routes = routes,
                              .routes_count = 1,
                              .hooks.on_error = wrapped_error};
    struct httpd *httpd = NULL;
    struct err err = {0};
    if (httpd_start(&o, &httpd, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    bench_child_wait(httpd_port(httpd), report_fd, stop_fd);
    httpd_stop(httpd, 1000);
    httpd_free(httpd);
}

static void serve(void *arg, int report_fd, int stop_fd) {
    const struct mode *mode = arg;
    if (mode->server == WRAPPER)
        serve_wrapped(report_fd, stop_fd);
    else
        serve_bare(mode->server, report_fd, stop_fd);
}

/* ---- client ---- */

struct client {
    pthread_t thread;
    SSL_CTX *ctx;
    unsigned port, count, done, failures;
    float *seconds[STAGES];
};

static int connect_tcp(unsigned port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        bench_die("connect");
    if (!set.has_nagle)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static bool get_once(SSL *ssl) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char reply[4096];
    int got = 0;
    if (SSL_write(ssl, request, (int)sizeof(request) - 1) <= 0)
        return false;
    while (got < (int)sizeof(reply) - 1) {
        int n = SSL_read(ssl, reply + got, (int)sizeof(reply) - 1 - got);
        if (n <= 0)
            return false;
        got += n;
        reply[got] = '\0';
        if (strstr(reply, answer))
            return true;
    }
    return false;
}

static void one_connection(struct client *c) {
    double t[4];
    t[0] = bench_now_s();
    int fd = connect_tcp(c->port);
    SSL *ssl = SSL_new(c->ctx);
    SSL_set_fd(ssl, fd);
    t[1] = bench_now_s();
    bool ok = SSL_connect(ssl) == 1;
    t[2] = bench_now_s();
    ok = ok && get_once(ssl);
    t[3] = bench_now_s();
    if (ok)
        (void)SSL_shutdown(ssl);
    SSL_free(ssl);
    (void)close(fd);
    if (!ok) {
        ERR_clear_error();
        c->failures++;
        return;
    }
    for (int s = 0; s < TOTAL; s++)
        c->seconds[s][c->done] = (float)(t[s + 1] - t[s]);
    c->seconds[TOTAL][c->done++] = (float)(t[3] - t[0]);
}

static void *run_client(void *arg) {
    struct client *c = arg;
    for (unsigned i = 0; i < c->count; i++)
        one_connection(c);
    return NULL;
}

static SSL_CTX *make_ctx(int tls) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    int version = tls == 12 ? TLS1_2_VERSION : TLS1_3_VERSION;
    SSL_CTX_set_min_proto_version(ctx, version);
    SSL_CTX_set_max_proto_version(ctx, version);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL); /* the server is our own child on loopback */
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return ctx;
}

/* ---- rounds ---- */

static void collect(struct mode *mode, struct client *c) {
    for (int s = 0; s < STAGES; s++) {
        memcpy(mode->seconds[s] + mode->count, c->seconds[s], c->done * sizeof(float));
        for (unsigned i = 0; i < c->done; i++)
            mode->stalls[s] += c->seconds[s][i] > (float)STALL_S;
        free(c->seconds[s]);
    }
    mode->count += c->done;
    mode->failures += c->failures;
}

static void hold_halves(unsigned port, int *fds) {
    static const unsigned char hello[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 1, 2, 3};
    for (unsigned i = 0; i < set.halves; i++) {
        fds[i] = connect_tcp(port);
        if (send(fds[i], hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello))
            bench_die("send");
    }
}

static void run_round(struct mode *mode) {
    struct client clients[CLIENTS_MAX] = {0};
    int halves[HALVES_MAX];
    struct bench_child child;
    SSL_CTX *ctx = make_ctx(mode->tls);
    unsigned each = set.connections / set.rounds / set.clients;
    bench_child_start(&child, serve, mode);
    hold_halves(child.port, halves);
    double t0 = bench_now_s();
    for (unsigned i = 0; i < set.clients; i++) {
        clients[i] = (struct client){.ctx = ctx, .port = child.port, .count = each};
        for (int s = 0; s < STAGES; s++)
            clients[i].seconds[s] = calloc(each, sizeof(float));
        if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0)
            bench_die("pthread_create");
    }
    for (unsigned i = 0; i < set.clients; i++) {
        pthread_join(clients[i].thread, NULL);
        collect(mode, &clients[i]);
    }
    mode->wall_s += bench_now_s() - t0;
    for (unsigned i = 0; i < set.halves; i++)
        (void)close(halves[i]);
    mode->cpu_s += bench_child_stop(&child);
    SSL_CTX_free(ctx);
}

/* Sleeps 1 ms over and over; a sleep of more than a tenth of a second is the machine's fault, not the server's. */
static _Atomic unsigned machine_stalls;
static void *watch_machine(void *arg) {
    const struct timespec pause = {0, 1000000};
    (void)arg;
    for (;;) {
        double t = bench_now_s();
        (void)nanosleep(&pause, NULL);
        if (bench_now_s() - t > 0.1)
            atomic_fetch_add(&machine_stalls, 1);
    }
    return NULL;
}

/* ---- report ---- */

static void report(struct mode *modes, size_t n) {
    FILE *json = bench_json_open(set.json);
    (void)printf("%-17s %-4s %7s %5s %9s %8s %8s %8s %8s  %s\n", "server", "TLS", "conns", "fail", "conn/s", "cpu us", "p50 ms",
                 "p99 ms", "max ms", "stalls > 0.2 s: connect handshake request total");
    (void)fprintf(json, "{\"clients\":%u,\"halves\":%u,\"nagle\":%s,\"machine_stalls\":%u,\"rows\":[", set.clients, set.halves,
                  set.has_nagle ? "true" : "false", atomic_load(&machine_stalls));
    for (size_t i = 0; i < n; i++) {
        struct mode *m = &modes[i];
        double cpu_us = 1e6 * m->cpu_s / (double)m->count, rate = (double)m->count / m->wall_s;
        float p50 = bench_percentile(m->seconds[TOTAL], m->count, 0.5), p99 = bench_percentile(m->seconds[TOTAL], m->count, 0.99);
        float max = bench_percentile(m->seconds[TOTAL], m->count, 1.0);
        (void)printf("%-17s 1.%d %8zu %5u %9.0f %8.0f %8.2f %8.2f %8.1f  %u %u %u %u\n", server_names[m->server], m->tls - 10,
                     m->count, m->failures, rate, cpu_us, 1e3 * p50, 1e3 * p99, 1e3 * max, m->stalls[0], m->stalls[1],
                     m->stalls[2], m->stalls[3]);
        (void)fprintf(json,
                      "%s{\"server\":\"%s\",\"tls\":\"1.%d\",\"connections\":%zu,\"failures\":%u,\"per_s\":%.0f,\"cpu_us\":%.0f",
                      i ? "," : "", server_names[m->server], m->tls - 10, m->count, m->failures, rate, cpu_us);
        for (int s = 0; s < STAGES; s++)
            (void)fprintf(json, ",\"%s\":{\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.1f,\"stalls\":%u}", stage_names[s],
                          1e3 * bench_percentile(m->seconds[s], m->count, 0.5),
                          1e3 * bench_percentile(m->seconds[s], m->count, 0.99),
                          1e3 * bench_percentile(m->seconds[s], m->count, 1.0), m->stalls[s]);
        (void)fprintf(json, "}");
    }
    (void)fprintf(json, "]}\n");
    (void)fclose(json);
    (void)printf("moments of more than 0.1 s when the machine itself stood still: %u\n", atomic_load(&machine_stalls));
}

static bool is_wanted(const struct mode *m) {
    return !set.only || strstr(set.only, server_names[m->server]) != NULL;
}

static void parse_options(int argc, char **argv) {
    int c;
    while ((c = getopt(argc, argv, "n:c:r:t:o:j:h:N")) != -1) {
        switch (c) {
        case 'n': set.connections = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'c': set.clients = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'r': set.rounds = (unsigned)strtoul(optarg, NULL, 10); break;
        case 't': set.server_threads = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'o': set.only = optarg; break;
        case 'h': set.halves = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'j': set.json = optarg; break;
        case 'N': set.has_nagle = true; break;
        default:
            (void)fprintf(
                stderr,
                "usage: tls_connections [-n connections per mode] [-c clients] [-r rounds] [-t server threads] [-o modes]\n"
                "       [-h half handshakes held open] [-N (client with Nagle)] [-j name of the JSON file]\n");
            exit(2);
        }
    }
    if (!set.clients || set.clients > CLIENTS_MAX || !set.rounds || set.connections < set.rounds * set.clients ||
        set.halves > HALVES_MAX) {
        (void)fprintf(stderr,
                      "tls_connections: 1 to %u clients, at least one connection for each in each round; up to %u halves\n",
                      CLIENTS_MAX, HALVES_MAX);
        exit(2);
    }
}

int main(int argc, char **argv) {
    static struct mode modes[SERVER_KINDS * 2];
    pthread_t watcher;
    size_t n = 0;
    parse_options(argc, argv);
    bench_make_cert(&set.cert, &set.key);
    for (int i = 0; i < SERVER_KINDS * 2; i++) {
        struct mode m = {.server = (enum server_kind)(i / 2), .tls = i % 2 ? 13 : 12};
        for (int s = 0; s < STAGES; s++)
            m.seconds[s] = calloc(set.connections, sizeof(float));
        if (is_wanted(&m))
            modes[n++] = m;
    }
    if (pthread_create(&watcher, NULL, watch_machine, NULL) != 0)
        bench_die("pthread_create");
    for (unsigned r = 0; r < set.rounds; r++)
        for (size_t i = 0; i < n; i++)
            run_round(&modes[i]);
    report(modes, n);
    return 0;
}
