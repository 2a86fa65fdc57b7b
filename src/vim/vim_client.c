/* The client: pool of call contexts, breaker, identity of a call. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"

/* ---- life ---- */

static int check_options(const struct vim_options *o, struct err *err) {
    if (str_empty(o->host) || !o->port || o->port > 65535)
        return err_set(err, ERR_CONFIG, "a vCenter needs an address and a port from 1 to 65535");
    if (str_has_control(o->host) || strpbrk(o->host, " /@?#\"<>\\"))
        return err_set(err, ERR_CONFIG, "the address of the vCenter must be a bare host name or IP address");
    if (!o->ca_pem == !o->pin_sha256)
        return err_set(err, ERR_CONFIG, "vCenter %s needs exactly one of a CA certificate and a SHA-256 of its certificate",
                       o->host);
    return 0;
}

static void init_locks(struct vim_client *c) {
    pthread_condattr_t attr;
    (void)pthread_mutex_init(&c->connect_lock, NULL);
    (void)pthread_mutex_init(&c->login_lock, NULL);
    (void)pthread_mutex_init(&c->side_lock, NULL);
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&c->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
}

static bool copy_texts(struct vim_client *c, const struct vim_options *o) {
    bool is_v6 = strchr(o->host, ':');
    const char *open = is_v6 ? "[" : "", *close = is_v6 ? "]" : "";
    c->host = str_format("%s%s%s", open, o->host, close);
    c->verify_host = str_dup(o->host);
    c->peer = str_format("%s%s%s:%u", open, o->host, close, o->port);
    c->url = str_format("https://%s%s%s:%u/sdk", open, o->host, close, o->port);
    c->versions_url = str_format("https://%s%s%s:%u/sdk/vimServiceVersions.xml", open, o->host, close, o->port);
    c->user_agent = str_dup(o->user_agent ? o->user_agent : "harmony-kaas");
    c->ca_pem = str_dup(o->ca_pem);
    c->instance_uuid = str_dup(o->instance_uuid);
    return (c->instance_uuid || !o->instance_uuid) && c->host && c->verify_host && c->peer && c->url && c->versions_url &&
           c->user_agent && (c->ca_pem || !o->ca_pem);
}

static void fill_route(struct vim_client *c, const struct vim_options *o) {
    struct vim_route *r = &c->route;
    if (o->pin_sha256)
        memcpy(c->pin_sha256, o->pin_sha256, sizeof(c->pin_sha256));
    r->transport = o->transport ? o->transport : vim_transport_https();
    r->http.trust.ca_pem = c->ca_pem;
    r->http.trust.pin_sha256 = o->pin_sha256 ? c->pin_sha256 : NULL;
    r->http.user_agent = c->user_agent;
    r->http.connect_timeout_ms = o->connect_timeout_ms > 0 ? o->connect_timeout_ms : KAAS_VIM_CONNECT_TIMEOUT_MS;
    r->timeout_ms = o->call_timeout_ms > 0 ? o->call_timeout_ms : KAAS_VIM_CALL_TIMEOUT_MS;
    r->url = c->url;
    r->peer = c->peer;
    c->port = o->port;
    c->tunnel_port = o->tunnel_port;
    c->direct_port = o->direct_port;
}

int vim_client_new(const struct vim_options *options, struct vim_client **out, struct err *err) {
    _cleanup_(vim_client_free) struct vim_client *c = NULL;
    int ret = check_options(options, err);
    if (ret)
        return ret;
    c = calloc(1, sizeof(*c));
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory");
    init_locks(c);
    if (!copy_texts(c, options))
        return err_set(err, ERR_NOMEM, "out of memory");
    fill_route(c, options);
    *out = STEAL(c);
    return 0;
}

void vim_client_free(struct vim_client *c) {
    if (!c)
        return;
    for (unsigned i = 0; i < c->context_count; i++)
        vim_context_free(c->contexts[i]);
    secret_free(c->cookie);
    vim_user_session_done(&c->own);
    (void)pthread_mutex_destroy(&c->connect_lock);
    (void)pthread_mutex_destroy(&c->login_lock);
    (void)pthread_mutex_destroy(&c->side_lock);
    (void)pthread_mutex_destroy(&c->lock);
    (void)pthread_cond_destroy(&c->changed);
    free(c->host);
    free(c->verify_host);
    free(c->peer);
    free(c->url);
    free(c->versions_url);
    free(c->user_agent);
    free(c->ca_pem);
    free(c->instance_uuid);
    free(c);
}

void vim_client_cancel(struct vim_client *c) {
    (void)pthread_mutex_lock(&c->lock);
    c->is_canceled = true;
    for (unsigned i = 0; i < c->context_count; i++)
        vim_context_cancel(c->contexts[i]);
    if (c->side)
        vim_context_cancel(c->side);
    for (struct vim_context *ctx = c->beside; ctx; ctx = ctx->next_beside)
        vim_context_cancel(ctx);
    (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_mutex_unlock(&c->lock);
}

void vim_client_put_beside(struct vim_client *c, struct vim_context *ctx) {
    (void)pthread_mutex_lock(&c->lock);
    ctx->next_beside = c->beside;
    c->beside = ctx;
    if (c->is_canceled)
        vim_context_cancel(ctx);
    (void)pthread_mutex_unlock(&c->lock);
}

void vim_client_take_beside(struct vim_client *c, struct vim_context *ctx) {
    (void)pthread_mutex_lock(&c->lock);
    for (struct vim_context **at = &c->beside; *at; at = &(*at)->next_beside)
        if (*at == ctx) {
            *at = ctx->next_beside;
            break;
        }
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- the pool; c->lock is held ---- */

static int fail_canceled(struct err *err) {
    return err_set(err, ERR_CANCELED, "the call to vCenter was given up because the service is stopping");
}

static struct vim_context *find_idle(struct vim_client *c) {
    for (unsigned i = 0; i < c->context_count; i++)
        if (!c->contexts[i]->is_busy)
            return c->contexts[i];
    return NULL;
}

static int wait_for_change(struct vim_client *c, const struct timespec *until, struct err *err) {
    int rc;
    if (c->waiting >= KAAS_VIM_QUEUE_COUNT_MAX)
        return err_set(err, ERR_BUSY, "too many calls wait for vCenter %s", c->peer);
    c->waiting++;
    rc = pthread_cond_timedwait(&c->changed, &c->lock, until);
    c->waiting--;
    return rc == ETIMEDOUT ? err_set(err, ERR_BUSY, "all connections to vCenter %s stayed busy", c->peer) : 0;
}

static int take_context(struct vim_client *c, struct vim_context **out, struct err *err) {
    struct timespec until;
    int ret = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += c->route.timeout_ms / 1000 + 1;
    while (!ret && !c->is_canceled) {
        *out = find_idle(c);
        if (*out)
            return 0;
        if (c->context_count < KAAS_VIM_CONTEXTS_COUNT) {
            ret = vim_context_new(&c->route, &c->contexts[c->context_count], err);
            c->context_count += !ret;
        } else {
            ret = wait_for_change(c, &until, err);
        }
    }
    return ret ? ret : fail_canceled(err);
}

static int borrow_context(struct vim_client *c, struct vim_context **out, struct err *err) {
    struct vim_context *ctx = NULL;
    int ret;
    (void)pthread_mutex_lock(&c->lock);
    ret = take_context(c, &ctx, err);
    if (!ret)
        ret = vim_breaker_enter(&c->breaker, clock_mono_ms(), err);
    if (!ret) {
        ctx->is_busy = true;
        *out = ctx;
    } else if (ctx) {
        (void)pthread_cond_signal(&c->changed); /* nobody may sleep on because we did not use it */
    }
    (void)pthread_mutex_unlock(&c->lock);
    return ret;
}

static void return_context(struct vim_client *c, struct vim_context *ctx, int outcome) {
    (void)pthread_mutex_lock(&c->lock);
    vim_breaker_leave(&c->breaker, clock_mono_ms(), outcome, random_u32());
    ctx->is_busy = false;
    (void)pthread_cond_signal(&c->changed);
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- running an operation ---- */

/* Copies what the call needs out of the client; *session_no tells which session it is made with. */
static int dress_context(struct vim_client *c, struct vim_context *ctx, const struct vim_run *run, uint64_t *session_no,
                         struct err *err) {
    int ret;
    (void)pthread_mutex_lock(&c->lock);
    ctx->content = c->content;
    *session_no = c->session_no;
    ret = vim_context_set_cookie(ctx,
                                 run->identity == VIM_AS_US      ? c->cookie
                                 : run->identity == VIM_AS_GIVEN ? run->cookie
                                                                 : NULL,
                                 err);
    if (!ret && c->is_canceled)
        ret = fail_canceled(err);
    (void)pthread_mutex_unlock(&c->lock);
    return ret;
}

static void undress_context(struct vim_context *ctx) {
    vim_context_reset(ctx);
    (void)vim_context_set_cookie(ctx, NULL, NULL);
}

/* The server has been exchanged for an older one, or perhaps for another vCenter: the next call, which may bear a cookie, says hello first. */
static void forget_content(struct vim_client *c) {
    (void)pthread_mutex_lock(&c->lock);
    c->is_connected = false;
    (void)pthread_mutex_unlock(&c->lock);
}

/* What one attempt left behind. */
struct attempt {
    uint64_t session_no;
    bool lost_session;
};

static int run_on(struct vim_client *c, struct vim_context *ctx, const struct vim_run *run, struct attempt *attempt,
                  struct err *err) {
    int ret = dress_context(c, ctx, run, &attempt->session_no, err);
    memset(&ctx->fault, 0, sizeof(ctx->fault));
    if (!ret)
        ret = run->fn(ctx, run->arg, err);
    attempt->lost_session = ret && ctx->fault.kind == VIM_FAULT_NOT_AUTHENTICATED;
    if (ret == ERR_UNREACHABLE || (ret && ctx->fault.kind == VIM_FAULT_BAD_VERSION))
        forget_content(c);
    undress_context(ctx);
    return ret;
}

int vim_client_run_on(struct vim_client *client, struct vim_context *ctx, const struct vim_run *run, struct err *err) {
    struct attempt attempt = {0};
    int ret;
    if (!run->is_before_connect && (ret = vim_client_need_content(client, err)))
        return ret;
    return run_on(client, ctx, run, &attempt, err);
}

static int run_pooled(struct vim_client *c, const struct vim_run *run, struct attempt *attempt, struct err *err) {
    struct vim_context *ctx = NULL;
    int ret = borrow_context(c, &ctx, err);
    if (ret)
        return ret;
    ret = run_on(c, ctx, run, attempt, err);
    return_context(c, ctx, ret);
    return ret;
}

int vim_client_run(struct vim_client *client, const struct vim_run *run, struct err *err) {
    struct attempt attempt = {0};
    struct err first = {0};
    int ret = run->is_before_connect ? 0 : vim_client_need_content(client, err);
    if (!ret && run->identity == VIM_AS_US)
        ret = vim_ensure_session(client, err);
    if (ret)
        return ret;
    ret = run_pooled(client, run, &attempt, &first);
    for (unsigned i = 0; i < VIM_RENEWALS_MAX && ret && attempt.lost_session && run->identity == VIM_AS_US; i++) {
        err_clear(&first);
        ret = vim_client_renew_session(client, attempt.session_no, &first);
        attempt.lost_session = false;
        if (!ret)
            ret = run_pooled(client, run, &attempt, &first);
    }
    if (ret && err && !err->code)
        *err = first;
    return ret;
}

int vim_client_run_as_us(struct vim_client *client, vim_op_fn *fn, void *arg, struct err *err) {
    return vim_client_run(client, &(struct vim_run){.identity = VIM_AS_US, .fn = fn, .arg = arg}, err);
}
