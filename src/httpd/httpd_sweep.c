/* The sweeper: one thread that enforces every time limit the library does not, and wakes parked handshakes. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library's own time-out is for silence only: one byte per second keeps a connection for ever. And it looks neither at time nor
 * at the client while a connection is suspended. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "httpd_private.h"

#define INTERVAL_MIN_MS 20
#define INTERVAL_MAX_MS 500
#define LINGER_MS 5000
#define LINGER_READ_BYTES (16U * 1024U)
#define LINGER_READS_MAX 256
#define EVENTS_MAX 64

/* Reads and drops what the client still sends. Closing at once would make the kernel send a reset, which can destroy our answer
 * before the client has read it (RFC 9112 9.6). False when it can be closed. */
static bool linger_on(const struct http_linger *l, int64_t now_ms) {
    char drop[LINGER_READ_BYTES];
    if (now_ms >= l->until_ms)
        return false;
    for (int i = 0; i < LINGER_READS_MAX; i++) {
        ssize_t n = recv(l->fd, drop, sizeof(drop), MSG_DONTWAIT);
        if (n == 0)
            return false;
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
    }
    return true;
}

static void sweep_lingers(struct httpd *httpd, int64_t now_ms) {
    for (unsigned i = 0; i < httpd->lingers_count;) {
        if (linger_on(&httpd->lingers[i], now_ms)) {
            i++;
            continue;
        }
        (void)close(httpd->lingers[i].fd);
        httpd->lingers[i] = httpd->lingers[--httpd->lingers_count];
    }
}

void httpd_sweep_linger(struct httpd *httpd, int fd) {
    if (!httpd->has_sweeper || httpd->lingers_count == HTTPD_LINGER_MAX)
        return;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return;
    (void)shutdown(copy, SHUT_WR); /* the library's close will not send a FIN any more */
    httpd->lingers[httpd->lingers_count++] = (struct http_linger){copy, clock_mono_ms() + LINGER_MS};
}

/* An event that was fetched before its connection ended still names it: such connections are freed here, by the sweeper between two fetches or when it has ended. */
static void free_ended(struct httpd *httpd) {
    pthread_mutex_lock(&httpd->lock);
    struct http_conn *conn = httpd->ended;
    httpd->ended = NULL;
    pthread_mutex_unlock(&httpd->lock);
    while (conn) {
        struct http_conn *next = conn->next;
        free(conn);
        conn = next;
    }
}

static void httpd_sweep_count_cut(struct httpd *httpd, int phase) {
    if (phase == CONN_HEADER)
        atomic_fetch_add(&httpd->cut_header, 1);
    else if (phase == CONN_BODY)
        atomic_fetch_add(&httpd->cut_body, 1);
    else
        atomic_fetch_add(&httpd->cut_send, 1);
}

static void sweep_conn(struct http_conn *conn, int64_t now_ms) {
    int phase = atomic_load_explicit(&conn->phase, memory_order_relaxed);
    if (phase == CONN_WORK) {
        if (conn->waiting && now_ms >= conn->waiting->deadline_ms)
            (void)httpd_slow_expire(conn, false);
        return;
    }
    int64_t deadline_ms = atomic_load_explicit(&conn->deadline_ms, memory_order_relaxed);
    bool is_early = now_ms < deadline_ms;
    if (deadline_ms == CONN_NO_DEADLINE || (is_early && !httpd_press_cuts(conn, phase, now_ms)))
        return;
    if (is_early)
        httpd_notice_note(conn->httpd, NOTICE_PRESSURE);
    atomic_store_explicit(&conn->deadline_ms, CONN_NO_DEADLINE, memory_order_relaxed);
    httpd_sweep_count_cut(conn->httpd, phase);
    (void)shutdown(conn->fd, SHUT_RDWR);
}

static int64_t httpd_sweep_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t interval_ms(const struct httpd_options *o) {
    int64_t n = httpd_sweep_least(httpd_sweep_least(o->header_timeout_ms, o->body_timeout_ms),
                                  httpd_sweep_least(o->slow_timeout_ms, o->send_timeout_ms)) /
                4;
    return n < INTERVAL_MIN_MS ? INTERVAL_MIN_MS : httpd_sweep_least(n, INTERVAL_MAX_MS);
}

static void httpd_sweep_all(struct httpd *httpd, int64_t now_ms) {
    pthread_mutex_lock(&httpd->lock);
    for (struct http_conn *conn = httpd->conns; conn; conn = conn->next)
        sweep_conn(conn, now_ms);
    sweep_lingers(httpd, now_ms);
    pthread_mutex_unlock(&httpd->lock);
}

/* Wakes the parked connections that have something to read, ends waits whose client is gone; false when the thread is to end. */
static bool wait_events(struct httpd *httpd, int64_t ms) {
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(httpd->epoll_fd, events, EVENTS_MAX, (int)ms);
    for (int i = 0; i < n; i++) {
        if (!events[i].data.ptr)
            return false;
        struct http_conn *conn = events[i].data.ptr;
        if (atomic_load(&conn->is_parked))
            httpd_handshake_ready(conn);
        else
            httpd_slow_gone(conn);
    }
    return true;
}

static void *httpd_sweep_run(void *arg) {
    struct httpd *httpd = arg;
    int64_t step_ms = interval_ms(&httpd->options), next_ms = 0;
    for (bool goes_on = true; goes_on;) {
        int64_t now_ms = clock_mono_ms();
        free_ended(httpd);
        if (now_ms >= next_ms) {
            httpd_sweep_all(httpd, now_ms);
            next_ms = now_ms + step_ms;
        }
        goes_on = wait_events(httpd, next_ms - now_ms);
    }
    return NULL;
}

int httpd_sweep_start(struct httpd *httpd, struct err *err) {
    struct epoll_event stop = {.events = EPOLLIN, .data.ptr = NULL};
    httpd->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    httpd->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (httpd->epoll_fd < 0 || httpd->stop_fd < 0 || epoll_ctl(httpd->epoll_fd, EPOLL_CTL_ADD, httpd->stop_fd, &stop) != 0)
        return err_set(err, ERR_IO, "cannot make an epoll set: %s", strerror(errno));
    if (pthread_create(&httpd->sweeper, NULL, httpd_sweep_run, httpd) != 0)
        return err_set(err, ERR_NOMEM, "cannot start a thread");
    httpd->has_sweeper = true;
    return 0;
}

void httpd_sweep_stop(struct httpd *httpd) {
    uint64_t one = 1;
    if (!httpd->has_sweeper)
        return;
    (void)!write(httpd->stop_fd, &one, sizeof(one));
    pthread_join(httpd->sweeper, NULL);
    pthread_mutex_lock(&httpd->lock);
    httpd->has_sweeper = false;
    sweep_lingers(httpd, INT64_MAX);
    pthread_mutex_unlock(&httpd->lock);
}

void httpd_sweep_done(struct httpd *httpd) {
    free_ended(httpd);
    if (httpd->epoll_fd >= 0)
        (void)close(httpd->epoll_fd);
    if (httpd->stop_fd >= 0)
        (void)close(httpd->stop_fd);
}
