/* Start and stop of a server. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "httpd.h"

#include <assert.h>

#include "clock.h"
#include "httpd_private.h"
#include "str.h"

/* TLS 1.2 and 1.3, forward secrecy, authenticated ciphers (BSI TR-02102-2, Mozilla "intermediate"). X25519 first: nearly every client
 * sends a key share for it, and another choice costs TLS 1.3 a second round trip (HelloRetryRequest). */
#define TLS_PRIORITY_DEFAULT                                                                                  \
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:" \
    "-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%SERVER_PRECEDENCE"
#define DRAIN_STEP_MS 2
#define ANSWER_GRACE_MS 1000 /* for the last answers to leave */
#define END_GRACE_MS 500     /* for the library to notice that its connections are closed */

static void set_default_ms(int64_t *ms, int64_t value) {
    if (*ms <= 0)
        *ms = value;
}

static void set_defaults(struct httpd_options *o) {
    o->threads = httpd_threads(o->threads);
    if (!o->connections_max)
        o->connections_max = KAAS_HTTP_CONNECTIONS_DEFAULT;
    if (o->threads > o->connections_max)
        o->threads = o->connections_max; /* the library splits the limit over its threads */
    set_default_ms(&o->idle_timeout_ms, KAAS_HTTP_IDLE_TIMEOUT_S * 1000);
    set_default_ms(&o->header_timeout_ms, KAAS_HTTP_HEADER_TIMEOUT_MS);
    set_default_ms(&o->body_timeout_ms, KAAS_HTTP_BODY_TIMEOUT_MS);
    set_default_ms(&o->slow_timeout_ms, KAAS_HTTP_SLOW_TIMEOUT_MS);
    set_default_ms(&o->send_timeout_ms, KAAS_HTTP_SEND_TIMEOUT_MS);
}

static int load_proxies(struct httpd *httpd, struct err *err) {
    const char *const *list = httpd->options.trusted_proxies;
    size_t n = 0;
    while (list && list[n])
        n++;
    httpd->proxies = calloc(n + 1, sizeof(*httpd->proxies));
    if (!httpd->proxies)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(list[i], "unix"))
            httpd->trusts_unix = true;
        else if (!net_block_parse(list[i], &httpd->proxies[httpd->proxies_count++])) {
            int r = err_set(err, ERR_CONFIG, "trusted proxy \"%s\" is not an address or a block of addresses", list[i]);
            err_remedy(err, "write it as 192.0.2.7, 192.0.2.0/24, 2001:db8::/32 or unix");
            return r;
        }
    }
    return 0;
}

static int load_tls(struct httpd *httpd, struct err *err) {
    const struct httpd_options *o = &httpd->options;
    httpd->is_tls = o->cert_pem != NULL;
    if (!httpd->is_tls)
        return 0;
    httpd->tls_priority = str_dup(o->tls_priority ? o->tls_priority : TLS_PRIORITY_DEFAULT);
    if (!httpd->tls_priority)
        return err_set(err, ERR_NOMEM, "out of memory");
    int r = httpd_tls_check_priority(httpd->tls_priority, err);
    r = r ? r : httpd_tls_load(httpd, o->cert_pem, o->key_pem, err);
    return r ? r : httpd_reload_client_ca(httpd, &o->client_ca, err);
}

/* The target is taken as it came and decoded by us (http_target_parse): the library need not do it too. */
static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *s) {
    (void)cls, (void)mhd;
    return strlen(s);
}

/* Nobody new once the stop has begun: see end_connections. */
static enum MHD_Result httpd_accepts(void *cls, const struct sockaddr *addr, socklen_t len) {
    const struct httpd *httpd = cls;
    (void)addr, (void)len;
    return atomic_load(&httpd->is_stopping) ? MHD_NO : MHD_YES;
}

static int start_library(struct httpd *httpd, struct err *err) {
    const struct httpd_options *o = &httpd->options;
    unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (httpd->is_tls ? MHD_USE_TLS : 0U);
    struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, o->threads, NULL}, {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)httpd_tls_retrieve},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, httpd->tls_priority},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    httpd->mhd = MHD_start_daemon(
        flags, 0, httpd_accepts, httpd, httpd_handle_request, httpd, MHD_OPTION_EXTERNAL_LOGGER, httpd_early_log,
        httpd, /* first, so that it gets every message */
        MHD_OPTION_LISTEN_SOCKET, httpd->listen_fd, MHD_OPTION_ARRAY, o->threads > 1 ? pool : none, MHD_OPTION_ARRAY,
        httpd->is_tls ? tls : none, MHD_OPTION_CONNECTION_LIMIT, o->connections_max, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)KAAS_HTTP_CONNECTION_MEMORY_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)((o->idle_timeout_ms + 999) / 1000),
        MHD_OPTION_STRICT_FOR_CLIENT, 0, /* what 1 checks is checked here, with an answer that has its headers once */
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK, httpd_handle_target, httpd,
        MHD_OPTION_NOTIFY_CONNECTION, httpd_conn_notify, httpd, MHD_OPTION_NOTIFY_COMPLETED, httpd_handle_completed, httpd,
        MHD_OPTION_END);
    httpd->listen_fd = -1; /* the library's from now on: it closes it when it stops, and in some cases when it does not start */
    if (!httpd->mhd)
        return err_set(err, ERR_IO, "the HTTP library does not start on \"%s\"", o->listen);
    return 0;
}

static struct httpd *httpd_new(const struct httpd_options *options) {
    struct httpd *httpd = calloc(1, sizeof(*httpd));
    if (!httpd)
        return NULL;
    httpd->options = *options;
    httpd->listen_fd = httpd->epoll_fd = httpd->stop_fd = -1;
    set_defaults(&httpd->options);
    pthread_mutex_init(&httpd->lock, NULL);
    httpd_peer_init(&httpd->peers);
    return httpd;
}

static int httpd_bring_up(struct httpd *httpd, struct err *err) {
    const struct httpd_options *o = &httpd->options;
    int r;
    if (!o->hooks.on_error)
        return err_set(err, ERR_INTERNAL, "the server has no error hook");
    if (!o->cert_pem != !o->key_pem)
        return err_set(err, ERR_CONFIG, "a certificate needs its key, and a key its certificate");
    if ((r = route_table_new(o->routes, o->routes_count, &httpd->routes, err)) || (r = load_proxies(httpd, err)) ||
        (r = load_tls(httpd, err)) || (r = httpd_listen_open(httpd, err)) || (r = httpd_sweep_start(httpd, err)))
        return r;
    return start_library(httpd, err);
}

int httpd_start(const struct httpd_options *options, struct httpd **out, struct err *err) {
    struct httpd *httpd = httpd_new(options);
    if (!httpd)
        return err_set(err, ERR_NOMEM, "out of memory");
    int r = httpd_bring_up(httpd, err);
    if (r) {
        httpd_sweep_stop(httpd);
        httpd_listen_close(httpd);
        httpd_free(httpd);
        return r;
    }
    /* The caller's texts may go away now. */
    httpd->options.listen = httpd->options.cert_pem = httpd->options.key_pem = httpd->options.tls_priority = NULL;
    httpd->options.trusted_proxies = NULL;
    httpd->options.client_ca = (struct httpd_client_ca){0};
    *out = httpd;
    return 0;
}

int httpd_reload_tls(struct httpd *httpd, const char *cert_pem, const char *key_pem, struct err *err) {
    if (!httpd->is_tls)
        return err_set(err, ERR_CONFIG, "this server has no TLS");
    return httpd_tls_load(httpd, cert_pem, key_pem, err);
}

unsigned httpd_port(const struct httpd *httpd) {
    return httpd->port;
}

void httpd_get_stats(struct httpd *httpd, struct httpd_stats *out) {
    *out = (struct httpd_stats){
        .connections = atomic_load(&httpd->connections),
        .connections_max = httpd->options.connections_max,
        .suspended = atomic_load(&httpd->suspended),
        .parked = atomic_load(&httpd->parked),
        .requests = atomic_load(&httpd->requests),
        .completed = atomic_load(&httpd->completed),
        .slow_started = atomic_load(&httpd->slow_started),
        .slow_done = atomic_load(&httpd->slow_done),
        .abandoned = atomic_load(&httpd->abandoned),
        .gone = atomic_load(&httpd->gone),
        .cut_header = atomic_load(&httpd->cut_header),
        .cut_body = atomic_load(&httpd->cut_body),
        .cut_send = atomic_load(&httpd->cut_send),
        .cut_address = atomic_load(&httpd->cut_address),
        .paced = atomic_load(&httpd->paced),
    };
}

static bool is_idle(struct httpd *httpd) {
    return !atomic_load(&httpd->suspended) && atomic_load(&httpd->completed) == atomic_load(&httpd->requests);
}

static void wait_idle(struct httpd *httpd, int64_t ms) {
    struct timespec step = {0, DRAIN_STEP_MS * 1000000L};
    for (int64_t left_ms = ms; left_ms > 0 && !is_idle(httpd); left_ms -= DRAIN_STEP_MS)
        (void)nanosleep(&step, NULL);
}

static void shut_down_all(struct httpd *httpd) {
    pthread_mutex_lock(&httpd->lock);
    for (struct http_conn *conn = httpd->conns; conn; conn = conn->next)
        (void)shutdown(conn->fd, SHUT_RDWR);
    pthread_mutex_unlock(&httpd->lock);
}

/* libmicrohttpd 0.9.75 that finds a malformed request after its stop has begun queues no answer, takes it for queued and reads it: a crash. So
 * there is nothing left to parse when it is stopped. Seen empty twice, for one that was let in just before shows up a moment later. One that
 * the library does not notice to be closed (half a TLS record) is not waited for: nothing more comes from it. */
static void end_connections(struct httpd *httpd) {
    struct timespec step = {0, DRAIN_STEP_MS * 1000000L};
    unsigned empty = 0;
    shut_down_all(httpd);
    for (int64_t left_ms = END_GRACE_MS; left_ms > 0 && empty < 2; left_ms -= DRAIN_STEP_MS) {
        (void)nanosleep(&step, NULL);
        empty = atomic_load(&httpd->connections) ? 0 : empty + 1;
    }
}

void httpd_stop(struct httpd *httpd, int64_t grace_ms) {
    struct timespec step = {0, DRAIN_STEP_MS * 1000000L};
    atomic_store(&httpd->is_stopping, true);
    wait_idle(httpd, grace_ms);
    (void)httpd_slow_expire_all(httpd);
    /* No longer than a resume takes: whoever ended a wait is about to call it. The library must not be stopped before. */
    while (atomic_load(&httpd->suspended))
        (void)nanosleep(&step, NULL);
    wait_idle(httpd, ANSWER_GRACE_MS);
    httpd_sweep_stop(httpd);
    httpd_handshake_resume_all(httpd);
    end_connections(httpd);
    MHD_stop_daemon(httpd->mhd);
    httpd->mhd = NULL;
    httpd_listen_close(httpd);
}

void httpd_free(struct httpd *httpd) {
    if (!httpd)
        return;
    assert(!httpd->mhd && !atomic_load(&httpd->requests_alive));
    httpd_tls_done(httpd);
    httpd_peer_done(&httpd->peers);
    httpd_sweep_done(httpd);
    route_table_free(httpd->routes);
    free(httpd->proxies);
    free(httpd->tls_priority);
    pthread_mutex_destroy(&httpd->lock);
    free(httpd);
}
