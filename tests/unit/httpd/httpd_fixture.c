/* A server with one route of each kind, and a client that sends bytes as they are.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "httpd_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

#define READ_LIMIT_MS 60000
#define BIG_BYTES (8U * 1024U * 1024U)

static char big[BIG_BYTES];

static struct fixture *fixture_of(const struct http_request *req) {
    return http_request_app(req);
}

static int answer_text(struct http_response *resp, const char *text) {
    struct strbuf b;
    strbuf_init(&b, 1U << 20);
    strbuf_adds(&b, text);
    http_response_set_text(resp, "text/plain", &b);
    return 0;
}

static int h_fast(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)req, (void)err;
    return answer_text(resp, "fast");
}

static int h_echo(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)err;
    return answer_text(resp, http_request_param(req, "name"));
}

static int h_files(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)err;
    return answer_text(resp, http_request_param(req, "*"));
}

static int h_query(struct http_request *req, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"a", "b", NULL};
    const char *a = http_request_query(req, "a");
    int r = http_request_check_query(req, known, err);
    return r ? r : answer_text(resp, a ? a : "(none)");
}

static int h_body(struct http_request *req, struct http_response *resp, struct err *err) {
    size_t n;
    const char *body = http_request_body(req, &n);
    struct strbuf b;
    (void)err;
    strbuf_init_secret(&b, 1U << 20);
    strbuf_add(&b, body, n);
    http_response_set_text(resp, "application/octet-stream", &b);
    return 0;
}

static int h_fail(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)req;
    (void)answer_text(resp, "half made");
    http_response_set_header(resp, "X-Half", "made");
    return err_set(err, ERR_CONFLICT, "not now");
}

static int h_who(struct http_request *req, struct http_response *resp, struct err *err) {
    struct strbuf b;
    uid_t uid = 0;
    bool has_uid = http_request_peer_uid(req, &uid);
    (void)err;
    strbuf_init(&b, 1024);
    strbuf_addf(&b, "client=%s uid=%ld tls=%d id=%s", http_request_client(req), has_uid ? (long)uid : -1L,
                http_request_is_tls(req), http_request_id(req));
    http_response_set_text(resp, "text/plain", &b);
    return 0;
}

/* The credentials as they came, in an answer of the same size. */
static int h_credentials(struct http_request *req, struct http_response *resp, struct err *err) {
    const char *token = http_request_credentials(req, "Negotiate");
    (void)err;
    return answer_text(resp, token ? token : "none");
}

static int h_credentials_slow(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)resp, (void)err;
    return http_request_go_slow(req, fixture_of(req)->workers, h_credentials);
}

static int h_big(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)req, (void)err;
    http_response_set_static(resp, "application/octet-stream", big, sizeof(big));
    return 0;
}

static int h_broken(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)req, (void)err;
    http_response_set_header(resp, "X-Evil", "a\r\nSet-Cookie: b");
    return 0;
}

static int h_slow(struct http_request *req, struct http_response *resp, struct err *err) {
    struct fixture *f = fixture_of(req);
    const char *mark = http_request_header(req, "X-Mark");
    char text[256];
    size_t n;
    (void)err;
    atomic_fetch_add(&f->slow_running, 1);
    pthread_mutex_lock(&f->gate_lock);
    while (!f->gate_open)
        pthread_cond_wait(&f->gate_wake, &f->gate_lock);
    pthread_mutex_unlock(&f->gate_lock);
    (void)http_request_body(req, &n);
    (void)snprintf(text, sizeof(text), "slow %zu %s", n, mark ? mark : "-");
    atomic_fetch_add(&f->slow_finished, 1);
    return answer_text(resp, text);
}

static int submit_busy(void *arg, worker_fn *run, void *run_arg, struct err *err) {
    (void)arg, (void)run, (void)run_arg;
    return err_set(err, ERR_BUSY, "nobody takes it");
}

static int submit_parked(void *arg, worker_fn *run, void *run_arg, struct err *err) {
    struct fixture *f = arg;
    (void)err;
    f->parked_arg = run_arg;
    atomic_store(&f->parked, run);
    return 0;
}

static int h_wait(struct http_request *req, struct http_response *resp, struct err *err) {
    const int64_t ms = http_request_query(req, "ms") ? 1 : 60000;
    (void)resp, (void)err;
    return http_request_go_waiting(req, &(struct http_wait){submit_parked, fixture_of(req), h_slow, clock_mono_ms() + ms});
}

/* In the worker: hands on. */
static int h_hand_on(struct http_request *req, struct http_response *resp, struct err *err) {
    struct fixture *f = fixture_of(req);
    (void)resp, (void)err;
    if (http_request_query(req, "parked"))
        return http_request_go_slow_by(req, submit_parked, f, h_slow);
    if (http_request_query(req, "refused"))
        return http_request_go_slow_by(req, submit_busy, f, h_slow);
    return http_request_go_slow(req, f->workers, h_slow);
}

static int h_to_pool(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)resp, (void)err;
    return http_request_go_slow(req, fixture_of(req)->workers, h_slow);
}

static int h_maybe(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)err;
    if (http_request_query(req, "slow"))
        return h_to_pool(req, resp, err);
    if (http_request_query_count(req))
        return http_request_go_slow(req, fixture_of(req)->workers, h_hand_on);
    return answer_text(resp, "fast after all");
}

static const struct route routes[] = {
    {.method = HTTP_METHOD_GET, .pattern = "/fast", .handler = h_fast},
    {.method = HTTP_METHOD_GET, .pattern = "/echo/{name}", .handler = h_echo},
    {.method = HTTP_METHOD_GET, .pattern = "/files/*", .handler = h_files},
    {.method = HTTP_METHOD_GET, .pattern = "/query", .handler = h_query},
    {.method = HTTP_METHOD_POST, .pattern = "/body", .handler = h_body, .body_bytes_max = 1000},
    {.method = HTTP_METHOD_POST, .pattern = "/large", .handler = h_body, .body_bytes_max = 300000},
    {.method = HTTP_METHOD_POST, .pattern = "/secret", .handler = h_body, .body_bytes_max = 1000, .options = ROUTE_SECRET_BODY},
    {.method = HTTP_METHOD_GET, .pattern = "/fail", .handler = h_fail},
    {.method = HTTP_METHOD_GET, .pattern = "/who", .handler = h_who},
    {.method = HTTP_METHOD_GET, .pattern = "/credentials", .handler = h_credentials},
    {.method = HTTP_METHOD_GET, .pattern = "/credentials/slow", .handler = h_credentials_slow},
    {.method = HTTP_METHOD_GET, .pattern = "/big", .handler = h_big},
    {.method = HTTP_METHOD_GET, .pattern = "/broken", .handler = h_broken},
    {.method = HTTP_METHOD_GET, .pattern = "/slow", .handler = h_to_pool},
    {.method = HTTP_METHOD_POST, .pattern = "/slow", .handler = h_to_pool, .body_bytes_max = 100000},
    {.method = HTTP_METHOD_GET, .pattern = "/maybe", .handler = h_maybe},
    {.method = HTTP_METHOD_GET, .pattern = "/wait", .handler = h_wait},
    {.method = HTTP_METHOD_POST, .pattern = "/things:count", .handler = h_fast},
};

static void free_data(void *data) {
    struct fixture *f = data;
    atomic_fetch_add(&f->data_freed, 1);
}

static int on_before(struct http_request *req, struct err *err) {
    struct fixture *f = fixture_of(req);
    atomic_fetch_add(&f->before, 1);
    http_request_set_data(req, f, free_data);
    if (http_request_header(req, "X-Deny"))
        return err_set(err, ERR_UNAUTHENTICATED, "denied");
    return 0;
}

static void on_error(struct http_request *req, const struct err *err, struct http_response *resp) {
    struct strbuf b;
    atomic_fetch_add(&fixture_of(req)->errors, 1);
    strbuf_init(&b, 4096);
    strbuf_addf(&b, "%s: %s; %s", err_slug(err->code), err->text, err->remedy);
    http_response_set_status(resp, err_http_status(err->code));
    http_response_set_text(resp, "application/problem+json", &b);
}

static void on_headers(const struct http_request *req, struct http_response *resp) {
    http_response_set_header(resp, "X-Request-ID", http_request_id(req));
    http_response_set_header(resp, "X-Common", "yes");
}

static void on_after(struct http_request *req, const struct httpd_outcome *outcome) {
    struct fixture *f = fixture_of(req);
    atomic_fetch_add(&f->delivered, outcome->is_delivered);
    atomic_fetch_add(&f->abandoned, outcome->is_abandoned);
    atomic_store(&f->last_status, outcome->status);
    atomic_fetch_add(&f->after, 1);
}

static void on_notice(void *app, const char *kind, const char *text, unsigned long suppressed) {
    struct fixture *f = app;
    (void)suppressed;
    assert_non_null(kind);
    assert_non_null(text);
    atomic_fetch_add(&f->notices, 1);
}

void fixture_init(struct fixture *f) {
    struct worker_pool_options workers = {.name = "test", .threads = 2, .queue_count = 8};
    memset(f, 0, sizeof(*f));
    pthread_mutex_init(&f->gate_lock, NULL);
    pthread_cond_init(&f->gate_wake, NULL);
    f->gate_open = true;
    assert_int_equal(worker_pool_new(&workers, &f->workers, NULL), 0);
    f->options = (struct httpd_options){
        .listen = "127.0.0.1:0",
        .threads = 2,
        .connections_max = 100,
        .routes = routes,
        .routes_count = UNIT_COUNT(routes),
        .hooks = {.before = on_before, .on_error = on_error, .headers = on_headers, .after = on_after, .notice = on_notice},
        .app = f,
    };
}

void fixture_start(struct fixture *f) {
    struct err err = {0};
    if (httpd_start(&f->options, &f->httpd, &err) != 0)
        fail_msg("%s; %s", err.text, err.remedy);
    f->port = httpd_port(f->httpd);
}

void fixture_gate(struct fixture *f, bool open) {
    pthread_mutex_lock(&f->gate_lock);
    f->gate_open = open;
    pthread_cond_broadcast(&f->gate_wake);
    pthread_mutex_unlock(&f->gate_lock);
}

struct httpd_stats fixture_stats(struct fixture *f) {
    struct httpd_stats stats;
    httpd_get_stats(f->httpd, &stats);
    return stats;
}

void fixture_stop(struct fixture *f) {
    httpd_stop(f->httpd, READ_LIMIT_MS);
    fixture_gate(f, true);
    worker_pool_free(f->workers);
    struct httpd_stats s = fixture_stats(f);
    assert_int_equal(s.connections, 0);
    assert_int_equal(s.suspended, 0);
    assert_int_equal(s.requests, s.completed);
    assert_int_equal(s.slow_started, s.slow_done);
    assert_int_equal(atomic_load(&f->data_freed), atomic_load(&f->before));
    httpd_free(f->httpd);
    pthread_cond_destroy(&f->gate_wake);
    pthread_mutex_destroy(&f->gate_lock);
}

int client_connect(unsigned port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

int client_connect_unix(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

void client_send_bytes(int fd, const void *bytes, size_t n) {
    const char *at = bytes;
    while (n) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the server has had enough: the answer tells */
        at += sent;
        n -= (size_t)sent;
    }
}

void client_send(int fd, const char *text) {
    client_send_bytes(fd, text, strlen(text));
}

/* Appends what comes next to *text, up to `want` bytes in all; false at the end of the connection. */
static bool read_more(int fd, char **text, size_t *len, size_t want) {
    char part[65536];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_true(poll(&p, 1, READ_LIMIT_MS) > 0);
    size_t room = want - *len < sizeof(part) ? want - *len : sizeof(part);
    ssize_t n = recv(fd, part, room, 0);
    if (n <= 0)
        return false;
    *text = realloc(*text, *len + (size_t)n + 1);
    assert_non_null(*text);
    memcpy(*text + *len, part, (size_t)n);
    *len += (size_t)n;
    (*text)[*len] = '\0';
    return true;
}

/* Reads up to and including the empty line, one byte too many never. */
static char *read_head(int fd) {
    char *text = calloc(1, 65536);
    size_t len = 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_non_null(text);
    while (len < 65535 && !strstr(text, "\r\n\r\n")) {
        assert_true(poll(&p, 1, READ_LIMIT_MS) > 0);
        if (recv(fd, text + len, 1, 0) <= 0)
            break;
        text[++len] = '\0';
    }
    return text;
}

void client_read(int fd, bool is_head, struct reply *out) {
    *out = (struct reply){0};
    out->head = read_head(fd);
    out->body = calloc(1, 1);
    if (sscanf(out->head, "HTTP/1.1 %d", &out->status) != 1) /* also fits 100 */
        return;
    const char *length = reply_header(out, "Content-Length");
    size_t want = length && !is_head ? strtoul(length, NULL, 10) : 0;
    while (out->body_len < want && read_more(fd, &out->body, &out->body_len, want)) {}
}

void reply_done(struct reply *r) {
    free(r->head);
    free(r->body);
    *r = (struct reply){0};
}

const char *reply_header(const struct reply *r, const char *name) {
    static char value[1024];
    size_t n = strlen(name);
    for (const char *line = strstr(r->head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, n) != 0 || line[n] != ':')
            continue;
        line += n + 1 + strspn(line + n + 1, " ");
        (void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(line, "\r"), line);
        return value;
    }
    return NULL;
}

bool client_is_closed(int fd) {
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, READ_LIMIT_MS) <= 0)
        return false;
    return recv(fd, &c, 1, 0) <= 0;
}

void client_ask(unsigned port, const char *request, struct reply *out) {
    size_t line = strcspn(request, "\r");
    int fd = client_connect(port);
    client_send_bytes(fd, request, line);
    client_send(fd, "\r\nHost: test\r\nConnection: close");
    client_send(fd, request + line);
    if (!strstr(request, "\r\n\r\n"))
        client_send(fd, "\r\n\r\n");
    client_read(fd, !strncmp(request, "HEAD ", 5), out);
    (void)close(fd);
}
