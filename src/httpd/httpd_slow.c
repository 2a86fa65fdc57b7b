/* Slow work: suspend, run in a worker, resume. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * While suspended the library looks neither at the clock nor at the client, and stopping it then aborts the process. So every wait
 * has a deadline of ours, and ends exactly once: by the worker pool (SLOW_DONE), the sweeper (SLOW_EXPIRED, SLOW_GONE) or the stop (SLOW_STOPPED), whoever swaps
 * the state first. Only that one resumes. After an expiry the worker pool still uses the request, so the request holds all it needs itself. */
#include <sys/epoll.h>

#include "clock.h"
#include "httpd_private.h"

static bool httpd_slow_end_wait(struct http_request *req, int to) {
    int from = SLOW_WAITING;
    return atomic_compare_exchange_strong_explicit(&req->slow_state, &from, to, memory_order_acq_rel, memory_order_acquire);
}

/* The count goes down last: the stop waits for it, since the library may not be stopped before the call has returned. */
static void httpd_slow_resume(struct httpd *httpd, struct http_conn *conn) {
    MHD_resume_connection(conn->mhd);
    atomic_fetch_sub(&httpd->suspended, 1);
}

static int run_handler(struct http_request *req, bool is_canceled) {
    if (is_canceled || http_request_is_abandoned(req))
        return err_set(&req->err, ERR_CANCELED,
                       "given up before it began: too much of yours is waiting, or the service is stopping");
    http_handler_fn *fn = req->slow_fn;
    req->slow_fn = NULL;
    int r = fn(req, &req->resp, &req->err);
    if (r == HTTP_GO_SLOW && req->slow_fn)
        return r;
    if (r <= 0 && (r == 0 || req->err.code))
        return r;
    return err_set(&req->err, ERR_INTERNAL, "internal error");
}

static void slow_run(void *arg, bool is_canceled);

/* With the lock held: the sweeper calls httpd_slow_gone when the client closes its side. */
static void watch_client(struct http_conn *conn) {
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = conn};
    if (conn->is_watched || !conn->httpd->has_sweeper)
        return;
    conn->is_watched = epoll_ctl(conn->httpd->epoll_fd, EPOLL_CTL_ADD, conn->fd, &event) == 0;
    conn->is_kept |= conn->is_watched;
}

static void unwatch_client(struct http_conn *conn) {
    if (conn->is_watched)
        (void)epoll_ctl(conn->httpd->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
    conn->is_watched = false;
}

/* The connection is there as long as the wait has not ended, which takes the lock for everybody but us. */
static void begin_waiting(struct http_request *req) {
    struct httpd *httpd = req->httpd;
    pthread_mutex_lock(&httpd->lock);
    if (atomic_load(&req->slow_state) == SLOW_WAITING) {
        req->deadline_ms = req->wait_until_ms + httpd->options.slow_timeout_ms;
        watch_client(req->conn);
    }
    pthread_mutex_unlock(&httpd->lock);
    req->wait_until_ms = 0;
}

/* From a good submit on the request belongs to whoever runs it, and that may be over already. */
static int httpd_slow_submit(struct http_request *req) {
    struct err err = {0};
    if (req->wait_until_ms)
        begin_waiting(req);
    int r = req->slow_submit(req->slow_submit_arg, slow_run, req, &err);
    if (r)
        req->err = err;
    return r;
}

/* In the worker. `err` and `resp` belong to the worker pool until the state is SLOW_DONE, and for good after SLOW_EXPIRED. */
static void slow_run(void *arg, bool is_canceled) {
    struct http_request *req = arg;
    struct httpd *httpd = req->httpd;
    log_set_request_id(req->id);
    int r = run_handler(req, is_canceled);
    log_set_request_id(NULL);
    if (r == HTTP_GO_SLOW) {
        r = httpd_slow_submit(req);
        if (!r)
            return;
    }
    req->result = r;
    if (httpd_slow_end_wait(req, SLOW_DONE))
        httpd_slow_resume(httpd, req->conn);
    httpd_request_release(req);
}

static void set_waiting(struct http_request *req, struct http_request *waiting) {
    pthread_mutex_lock(&req->httpd->lock);
    req->conn->waiting = waiting;
    if (!waiting)
        unwatch_client(req->conn);
    pthread_mutex_unlock(&req->httpd->lock);
}

/* Nothing was queued: the wait ends at once, with an error. */
static void httpd_slow_give_up(struct http_request *req, int result) {
    req->result = result;
    if (httpd_slow_end_wait(req, SLOW_DONE))
        httpd_slow_resume(req->httpd, req->conn);
    httpd_request_release(req);
}

static void httpd_slow_suspend(struct http_request *req, int64_t ms) {
    req->deadline_ms = clock_mono_ms() + ms;
    atomic_store(&req->slow_state, SLOW_WAITING);
    atomic_fetch_add(&req->httpd->slow_started, 1);
    atomic_fetch_add(&req->httpd->suspended, 1);
    req->is_suspended = true;
    MHD_suspend_connection(req->conn->mhd);
    set_waiting(req, req);
}

void httpd_slow_start(struct http_request *req) {
    struct httpd *httpd = req->httpd;
    http_request_ref(req);
    httpd_slow_suspend(req, httpd->options.slow_timeout_ms);
    if (http_request_keep_fields(req) != 0)
        httpd_slow_give_up(req, err_set(&req->err, ERR_NOMEM, "out of memory"));
    else if (atomic_load(&httpd->is_stopping))
        httpd_slow_give_up(req, err_set(&req->err, ERR_CANCELED, "the service is stopping"));
    else {
        int r = httpd_slow_submit(req);
        if (r)
            httpd_slow_give_up(req, r);
    }
}

/* Nobody works on it: the sweeper ends the wait, and the request goes on where it was. */
void httpd_slow_hold(struct http_request *req, int64_t ms) {
    struct httpd *httpd = req->httpd;
    req->is_held = true;
    httpd_slow_suspend(req, ms);
    if (atomic_load(&httpd->is_stopping) && httpd_slow_end_wait(req, SLOW_STOPPED)) /* or the stop did not see it any more */
        httpd_slow_resume(httpd, req->conn);
}

void httpd_slow_end(struct http_request *req) {
    req->is_suspended = false;
    set_waiting(req, NULL);
    atomic_fetch_add(&req->httpd->slow_done, 1);
}

bool httpd_slow_expire(struct http_conn *conn, bool is_stopping) {
    struct http_request *req = conn->waiting;
    if (!req)
        return false;
    const bool is_over = req->is_held && !is_stopping; /* as it should be */
    if (!httpd_slow_end_wait(req, is_over ? SLOW_DONE : is_stopping ? SLOW_STOPPED : SLOW_EXPIRED))
        return false;
    atomic_fetch_add(&conn->httpd->abandoned, is_over ? 0 : 1);
    httpd_slow_resume(conn->httpd, conn);
    return true;
}

void httpd_slow_gone(struct http_conn *conn) {
    struct httpd *httpd = conn->httpd;
    pthread_mutex_lock(&httpd->lock);
    if (conn->waiting && conn->is_watched && httpd_slow_end_wait(conn->waiting, SLOW_GONE)) {
        atomic_fetch_add(&httpd->gone, 1);
        httpd_slow_resume(httpd, conn);
    }
    pthread_mutex_unlock(&httpd->lock);
}

unsigned httpd_slow_expire_all(struct httpd *httpd) {
    unsigned n = 0;
    pthread_mutex_lock(&httpd->lock);
    for (struct http_conn *conn = httpd->conns; conn; conn = conn->next)
        n += httpd_slow_expire(conn, true);
    pthread_mutex_unlock(&httpd->lock);
    return n;
}
