/* A server that answers every GET with the same bytes: what libmicrohttpd can do at best, and what the product's wrapper makes of it.
 * Not part of the product. SPDX-License-Identifier: GPL-3.0-or-later
 *
 * list_server -m bare|fresh|wrapper|slow [-f FILE | -b BYTES] [-H FILE] [-t (TLS) [-c CERT -k KEY] | -u SOCKET] [-T threads]
 *   bare: one response object for all; fresh: one per request; wrapper: httpd with a shared body and five headers; slow: the same through
 *   a worker pool. -H: lines "Name: value", sent by bare and fresh. bare and fresh start the library with the settings of src/httpd, so that a
 *   difference is the product's own. Prints the port, serves until standard input ends, then prints "requests N cpu_us U" for itself. */
#include <arpa/inet.h>
#include <getopt.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench_util.h"
#include "httpd.h"
#include "limits.h"

#define BODY_BYTES_MAX (16U * 1024U * 1024U)
#define HEADERS_MAX 24U
#define LINE_BYTES 512
#define CONNECTIONS_MAX 4096U
/* What src/httpd/httpd.c asks for, which keeps it to itself. */
#define TLS_PRIORITY                                                                                          \
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:" \
    "-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%SERVER_PRECEDENCE"

static struct settings {
    const char *mode, *file, *headers_file, *cert_file, *key_file, *unix_path;
    size_t bytes;
    bool is_tls;
    unsigned threads;
    char *cert, *key;
} set = {.mode = "wrapper", .bytes = 10763, .threads = 2};

static char *body;
static size_t body_bytes;
static struct MHD_Response *kept;
static _Atomic unsigned long requests;

static const char *headers[HEADERS_MAX][2] = {
    {"Content-Type", "application/json"},       {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},      {"ETag", "W/\"0123456789abcdef0123456789abcdef\""},
    {"KaaS-As-Of", "2026-01-01T00:00:00.000Z"},
};
static size_t headers_count = 5;

static void load_headers(void) {
    char line[LINE_BYTES];
    FILE *f = fopen(set.headers_file, "re");
    if (!f)
        bench_die(set.headers_file);
    headers_count = 0;
    while (headers_count < HEADERS_MAX && fgets(line, sizeof(line), f)) {
        char *value = strstr(line, ": ");
        line[strcspn(line, "\r\n")] = '\0';
        if (!value)
            continue;
        *value = '\0';
        headers[headers_count][0] = strdup(line);
        headers[headers_count++][1] = strdup(value + 2);
    }
    (void)fclose(f);
}

static char *load_text(const char *path) {
    char *text = calloc(1, BODY_BYTES_MAX);
    FILE *f = fopen(path, "re");
    if (!f || !text || !fread(text, 1, BODY_BYTES_MAX - 1, f))
        bench_die(path);
    (void)fclose(f);
    return text;
}

static void load_body(void) {
    FILE *f = set.file ? fopen(set.file, "r") : NULL;
    if (set.file && !f)
        bench_die(set.file);
    body = calloc(1, f ? BODY_BYTES_MAX : set.bytes + 1);
    if (!body)
        bench_die("calloc");
    body_bytes = f ? fread(body, 1, BODY_BYTES_MAX, f) : set.bytes;
    if (!f)
        memset(body, 'x', body_bytes);
    else
        (void)fclose(f);
}

static struct MHD_Response *make_response(void) {
    struct MHD_Response *r = MHD_create_response_from_buffer(body_bytes, body, MHD_RESPMEM_PERSISTENT);
    for (size_t i = 0; i < headers_count; i++)
        (void)MHD_add_response_header(r, headers[i][0], headers[i][1]);
    return r;
}

static enum MHD_Result bare_handler(void *cls, struct MHD_Connection *c, const char *url, const char *method, const char *version,
                                    const char *data, size_t *n, void **ctx) {
    static int seen;
    (void)cls, (void)url, (void)method, (void)version, (void)data, (void)n;
    if (!*ctx) {
        *ctx = &seen;
        return MHD_YES;
    }
    atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
    if (kept)
        return MHD_queue_response(c, 200, kept);
    struct MHD_Response *r = make_response();
    enum MHD_Result ok = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return ok;
}

static void wait_for_end(unsigned port) {
    char c;
    (void)printf("%u\n", port);
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) > 0) {}
}

/* A bound socket that listens: at the given path, or at any port of the loopback. */
static int listen_somewhere(void) {
    struct sockaddr_in ip = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    bool is_unix = set.unix_path != NULL;
    int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (is_unix)
        (void)snprintf(path.sun_path, sizeof(path.sun_path), "%s", set.unix_path);
    if (fd < 0 || bind(fd, is_unix ? (struct sockaddr *)&path : (struct sockaddr *)&ip, is_unix ? sizeof(path) : sizeof(ip)) ||
        listen(fd, SOMAXCONN))
        bench_die("listen");
    return fd;
}

static unsigned port_of(int fd) {
    struct sockaddr_in ip = {.sin_port = 0};
    socklen_t n = sizeof(ip);
    return set.unix_path || getsockname(fd, (struct sockaddr *)&ip, &n) ? 0 : ntohs(ip.sin_port);
}

static void serve_bare(void) {
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, set.key},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, set.cert},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITY},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    if (!strcmp(set.mode, "bare"))
        kept = make_response();
    int fd = listen_somewhere();
    unsigned port = port_of(fd);
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (set.is_tls ? MHD_USE_TLS : 0U), 0, NULL, NULL, bare_handler,
        NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, set.threads, MHD_OPTION_CONNECTION_LIMIT,
        CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)KAAS_HTTP_CONNECTION_MEMORY_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, KAAS_HTTP_IDLE_TIMEOUT_S, MHD_OPTION_ARRAY, set.is_tls ? tls : none, MHD_OPTION_END);
    if (!d)
        bench_die("MHD_start_daemon");
    wait_for_end(port);
    MHD_stop_daemon(d);
}

static int wrapped_handler(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)err;
    for (size_t i = 1; i < headers_count; i++)
        http_response_set_header(resp, headers[i][0], headers[i][1]);
    http_response_set_shared(resp, headers[0][1], http_request_app(req));
    return 0;
}

static struct worker_pool *workers; /* NULL: the server thread answers */

static int wrapped_list(struct http_request *req, struct http_response *resp, struct err *err) {
    return workers ? http_request_go_slow(req, workers, wrapped_handler) : wrapped_handler(req, resp, err);
}

static void wrapped_error(struct http_request *req, const struct err *err, struct http_response *resp) {
    (void)req;
    http_response_set_status(resp, err_http_status(err->code));
}

static void serve_wrapped(bool is_slow) {
    struct worker_pool_options worker_pool_options = {.name = "bench", .threads = 8, .queue_count = 1000};
    struct route routes[] = {{.method = HTTP_METHOD_GET, .pattern = "/v2/clusters", .handler = wrapped_list},
                             {.method = HTTP_METHOD_GET, .pattern = "/v2/clusters/{id}", .handler = wrapped_handler}};
    struct strbuf text;
    struct httpd *httpd = NULL;
    struct err err = {0};
    strbuf_init(&text, BODY_BYTES_MAX);
    strbuf_add(&text, body, body_bytes);
    struct http_shared *shared = http_shared_new(&text);
    struct httpd_options o = {.listen = "127.0.0.1:0",
                              .cert_pem = set.cert,
                              .key_pem = set.key,
                              .threads = set.threads,
                              .connections_max = 800,
                              .routes = routes,
                              .routes_count = 2,
                              .hooks.on_error = wrapped_error,
                              .app = shared};
    if ((is_slow && worker_pool_new(&worker_pool_options, &workers, &err) != 0) || httpd_start(&o, &httpd, &err) != 0) {
        (void)fprintf(stderr, "list_server: %s\n", err.text);
        exit(1);
    }
    wait_for_end(httpd_port(httpd));
    struct httpd_stats stats;
    httpd_stop(httpd, 1000);
    httpd_get_stats(httpd, &stats);
    atomic_store(&requests, stats.requests);
    worker_pool_free(workers);
    httpd_free(httpd);
    http_shared_unref(shared);
}

static void report(void) {
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    double us = 1e6 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    unsigned long n = atomic_load(&requests);
    (void)printf("requests %lu cpu_us %.2f\n", n, n ? us / (double)n : 0);
}

static void prepare(void) {
    if (set.headers_file)
        load_headers();
    load_body();
    if (!set.is_tls)
        return;
    if (!set.cert_file || !set.key_file) {
        bench_make_cert(&set.cert, &set.key);
        return;
    }
    set.cert = load_text(set.cert_file);
    set.key = load_text(set.key_file);
}

int main(int argc, char **argv) {
    int c;
    while ((c = getopt(argc, argv, "m:f:b:H:tc:k:u:T:")) != -1) {
        switch (c) {
        case 'm': set.mode = optarg; break;
        case 'f': set.file = optarg; break;
        case 'b': set.bytes = strtoul(optarg, NULL, 10); break;
        case 'H': set.headers_file = optarg; break;
        case 't': set.is_tls = true; break;
        case 'c': set.cert_file = optarg; break;
        case 'k': set.key_file = optarg; break;
        case 'u': set.unix_path = optarg; break;
        case 'T': set.threads = (unsigned)strtoul(optarg, NULL, 10); break;
        default:
            (void)fprintf(stderr, "usage: list_server -m bare|fresh|wrapper|slow [-f FILE | -b BYTES] [-H FILE] "
                                  "[-t [-c CERT -k KEY] | -u SOCKET] [-T threads]\n");
            return 2;
        }
    }
    prepare();
    if (!strcmp(set.mode, "bare") || !strcmp(set.mode, "fresh"))
        serve_bare();
    else
        serve_wrapped(!strcmp(set.mode, "slow"));
    report();
    free(body);
    return 0;
}
