/* The client: pool of call contexts, breaker, identity of a call. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"

/* ---- life ---- */

static int vim_client_check_options(const struct vim_options *o, struct err *err) {
    if (str_empty(o->host) || !o->port || o->port > 65535)
        return err_set(err, ERR_CONFIG, "a vCenter needs an address and a port from 1 to 65535");
    if (str_has_control(o->host) || strpbrk(o->host, " /@?#\"<>\\"))
        return err_set(err, ERR_CONFIG, "the address of the vCenter must be a bare host name or IP address");
    if (!o->ca_pem == !o->pin_sha256)
        return err_set(err, ERR_CONFIG, "vCenter %s needs exactly one of a CA certificate and a SHA-256 of its certificate",
                       o->host);
    return 0;
}

static void vim_client_init_locks(struct vim_client *c) {
    (void)pthread_mutex_init(&c->connect_lock, NULL);
    (void)pthread_mutex_init(&c->login_lock, NULL);
    (void)pthread_mutex_init(&c->lock, NULL);
    clock_init_cond(&c->changed);
}

static bool vim_client_copy_texts(struct vim_client *c, const struct vim_options *o) {
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
    r->transport = o->transport ? o->transport : http_transport_https();
    r->http.networks = o->networks;
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
    int ret = vim_client_check_options(options, err);
    if (ret)
        return ret;
    c = calloc(1, sizeof(*c));
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_client_init_locks(c);
    if (!vim_client_copy_texts(c, options))
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
    LOCKED(&c->lock);
    c->is_canceled = true;
    for (unsigned i = 0; i < c->context_count; i++)
        vim_context_cancel(c->contexts[i]);
    for (struct vim_context *ctx = c->beside; ctx; ctx = ctx->next_beside)
        vim_context_cancel(ctx);
    (void)pthread_cond_broadcast(&c->changed);
}

void vim_client_put_beside(struct vim_client *c, struct vim_context *ctx) {
    LOCKED(&c->lock);
    ctx->next_beside = c->beside;
    c->beside = ctx;
    if (c->is_canceled)
        vim_context_cancel(ctx);
}

void vim_client_take_beside(struct vim_client *c, struct vim_context *ctx) {
    LOCKED(&c->lock);
    for (struct vim_context **at = &c->beside; *at; at = &(*at)->next_beside)
        if (*at == ctx) {
            *at = ctx->next_beside;
            break;
        }
}

/* ---- the pool; c->lock is held ---- */

static int vim_client_fail_canceled(struct err *err) {
    return err_set(err, ERR_CANCELED, "the call to vCenter was given up because the service is stopping");
}

static struct vim_context *find_idle(struct vim_client *c) {
    for (unsigned i = 0; i < c->context_count; i++)
        if (!c->contexts[i]->is_busy)
            return c->contexts[i];
    return NULL;
}

static int vim_client_wait_for_change(struct vim_client *c, const struct timespec *until, struct err *err) {
    int rc;
    if (c->waiting >= KAAS_VIM_QUEUE_COUNT_MAX)
        return err_set(err, ERR_BUSY, "too many calls wait for vCenter %s", c->peer);
    c->waiting++;
    rc = pthread_cond_timedwait(&c->changed, &c->lock, until);
    c->waiting--;
    return rc == ETIMEDOUT ? err_set(err, ERR_BUSY, "all connections to vCenter %s stayed busy", c->peer) : 0;
}

static int take_context(struct vim_client *c, struct vim_context **out, struct err *err) {
    const struct timespec until = clock_deadline(c->route.timeout_ms + 1000);
    int ret = 0;
    while (!ret && !c->is_canceled) {
        *out = find_idle(c);
        if (*out)
            return 0;
        if (c->context_count < KAAS_VIM_CONTEXTS_COUNT) {
            ret = vim_context_new(&c->route, &c->contexts[c->context_count], err);
            c->context_count += !ret;
        } else {
            ret = vim_client_wait_for_change(c, &until, err);
        }
    }
    return ret ? ret : vim_client_fail_canceled(err);
}

static int borrow_context(struct vim_client *c, struct vim_context **out, struct err *err) {
    struct vim_context *ctx = NULL;
    int ret;
    LOCKED(&c->lock);
    ret = take_context(c, &ctx, err);
    if (ret)
        return ret;
    ret = vim_breaker_enter(&c->breaker, clock_mono_ms(), err);
    if (ret) {
        (void)pthread_cond_signal(&c->changed); /* nobody may sleep on because we did not use it */
        return ret;
    }
    ctx->is_busy = true;
    *out = ctx;
    return 0;
}

static void return_context(struct vim_client *c, struct vim_context *ctx, int outcome) {
    LOCKED(&c->lock);
    vim_breaker_leave(&c->breaker, clock_mono_ms(), outcome, random_u32());
    ctx->is_busy = false;
    (void)pthread_cond_signal(&c->changed);
}

/* ---- running an operation ---- */

/* Makes sure that version and ServiceContent are known. */
static int vim_client_need_content(struct vim_client *client, struct err *err);

/* Copies what the call needs out of the client; *session_no tells which session it is made with. */
static int dress_context(struct vim_client *c, struct vim_context *ctx, const struct vim_run *run, uint64_t *session_no,
                         struct err *err) {
    int ret;
    LOCKED(&c->lock);
    ctx->content = c->content;
    *session_no = c->session_no;
    ret = vim_context_set_cookie(ctx,
                                 run->identity == VIM_AS_US      ? c->cookie
                                 : run->identity == VIM_AS_GIVEN ? run->cookie
                                                                 : NULL,
                                 err);
    if (!ret && c->is_canceled)
        ret = vim_client_fail_canceled(err);
    return ret;
}

/* The server has been exchanged for an older one, or perhaps for another vCenter: the next call, which may bear a cookie, says hello first. */
static void forget_content(struct vim_client *c) {
    LOCKED(&c->lock);
    c->is_connected = false;
}

/* What one attempt left behind. */
struct attempt {
    uint64_t session_no;
    bool lost_session;
};

static int vim_client_run_attempt(struct vim_client *c, struct vim_context *ctx, const struct vim_run *run,
                                  struct attempt *attempt, struct err *err) {
    int ret = dress_context(c, ctx, run, &attempt->session_no, err);
    memset(&ctx->fault, 0, sizeof(ctx->fault));
    if (!ret)
        ret = run->fn(ctx, run->arg, err);
    attempt->lost_session = ret && ctx->fault.kind == VIM_FAULT_NOT_AUTHENTICATED;
    if (ret == ERR_UNREACHABLE || (ret && ctx->fault.kind == VIM_FAULT_BAD_VERSION))
        forget_content(c);
    vim_context_reset(ctx);
    (void)vim_context_set_cookie(ctx, NULL, NULL);
    return ret;
}

int vim_client_run_on(struct vim_client *client, struct vim_context *ctx, const struct vim_run *run, struct err *err) {
    struct attempt attempt = {0};
    int ret;
    if (!run->is_before_connect && (ret = vim_client_need_content(client, err)))
        return ret;
    return vim_client_run_attempt(client, ctx, run, &attempt, err);
}

static int run_pooled(struct vim_client *c, const struct vim_run *run, struct attempt *attempt, struct err *err) {
    struct vim_context *ctx = NULL;
    int ret = borrow_context(c, &ctx, err);
    if (ret)
        return ret;
    ret = vim_client_run_attempt(c, ctx, run, attempt, err);
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
    return err_move(err, ret, &first);
}

int vim_client_run_as_us(struct vim_client *client, vim_op_fn *fn, void *arg, struct err *err) {
    return vim_client_run(client, &(struct vim_run){.identity = VIM_AS_US, .fn = fn, .arg = arg}, err);
}

/* -- first contact: version negotiation and ServiceContent; no login needed ---------------------------------------- */

void vim_about_done(struct vim_about *about) {
    if (!about)
        return;
    free(about->instance_uuid);
    free(about->full_name);
    free(about->version);
    free(about->build);
    free(about->api_version);
    free(about->server_api_version);
    memset(about, 0, sizeof(*about));
}

struct hello {
    const char *versions_url;
    struct vim_content content;
    struct vim_about about;
};

/* The reader of the list does not know whose it is: that is added here. */
static int choose_version(struct vim_context *ctx, struct hello *hello, struct err *err) {
    struct err why = {0};
    int ret = vim_version_choose(ctx->reply.data, ctx->reply.len, hello->content.version, &why);
    if (!ret)
        return 0;
    if (ret == ERR_TOO_LARGE) /* deep or long: no list of versions */
        ret = ERR_PROTOCOL;
    (void)err_set(err, ret, "/sdk/vimServiceVersions.xml of %s: %.400s", ctx->route->peer, why.text);
    return why.remedy[0] ? err_remedy(err, "%s", why.remedy) : ret;
}

static int vim_client_negotiate(struct vim_context *ctx, struct hello *hello, struct err *err) {
    long status = 0;
    int ret;
    ctx->operation = "vimServiceVersions";
    ret = vim_context_get(ctx, hello->versions_url, &status, err);
    if (ret && ret != ERR_PROTOCOL)
        return ret;
    if (vim_context_judge_front(ctx->route->peer, status, err))
        return ERR_UNREACHABLE;
    if (!ret && status == 200)
        ret = choose_version(ctx, hello, err);
    else if (!ret)
        ret = err_set(err, ERR_PROTOCOL, "%s answers HTTP %ld for /sdk/vimServiceVersions.xml", ctx->route->peer, status);
    if (ret == ERR_PROTOCOL)
        err_remedy(err, "check that this is the address and port of a vCenter, and not of a proxy or another web server");
    return ret;
}

/* Keeps the id of a manager, or notes which one is missing or too long. */
static void keep_id(const struct vim25__ManagedObjectReference *ref, char out[VIM_ID_BYTES], const char *what,
                    const char **missing) {
    if (!ref || str_empty(ref->__item) || strlen(ref->__item) >= VIM_ID_BYTES)
        *missing = what;
    else
        (void)snprintf(out, VIM_ID_BYTES, "%s", ref->__item);
}

static int keep_content(struct vim_context *ctx, const struct vim25__ServiceContent *from, struct hello *hello, struct err *err) {
    const char *missing = NULL, *optional = NULL;
    struct vim_content *to = &hello->content;
    keep_id(from->rootFolder, to->root_folder, "rootFolder", &missing);
    keep_id(from->propertyCollector, to->property_collector, "propertyCollector", &missing);
    keep_id(from->viewManager, to->view_manager, "viewManager", &missing);
    keep_id(from->sessionManager, to->session_manager, "sessionManager", &missing);
    keep_id(from->authorizationManager, to->authorization_manager, "authorizationManager", &missing);
    keep_id(from->extensionManager, to->extension_manager, "extensionManager", &missing);
    keep_id(from->eventManager, to->event_manager, "eventManager", &optional);
    keep_id(from->alarmManager, to->alarm_manager, "alarmManager", &optional);
    keep_id(from->searchIndex, to->search_index, "searchIndex", &optional);
    (void)optional; /* without them we are just not told of events, make no alarm, and do not find our own machines */
    return missing ? vim_call_lacks(ctx, "RetrieveServiceContent", missing, err) : 0;
}

static int keep_about(struct vim_context *ctx, const struct vim25__AboutInfo *from, struct hello *hello, struct err *err) {
    struct vim_about *to = &hello->about;
    if (!from)
        return vim_call_lacks(ctx, "RetrieveServiceContent", "about", err);
    if (from->apiType && !str_eq(from->apiType, "VirtualCenter")) {
        err_set(err, ERR_UPSTREAM, "%s is no vCenter: it says it is \"%.80s\" (API type %.40s)", ctx->route->peer,
                from->fullName ? from->fullName : "", from->apiType);
        return err_remedy(err, "give the address of the vCenter that manages this host");
    }
    if (str_empty(from->instanceUuid))
        return vim_call_lacks(ctx, "RetrieveServiceContent", "about.instanceUuid", err);
    to->instance_uuid = str_dup(from->instanceUuid);
    to->full_name = str_dup(from->fullName ? from->fullName : "");
    to->version = str_dup(from->version ? from->version : "");
    to->build = str_dup(from->build ? from->build : "");
    to->server_api_version = str_dup(from->apiVersion ? from->apiVersion : "");
    to->api_version = str_dup(hello->content.version);
    if (!to->instance_uuid || !to->full_name || !to->version || !to->build || !to->server_api_version || !to->api_version)
        return err_set(err, ERR_NOMEM, "out of memory");
    str_lower(to->instance_uuid);
    return 0;
}

static int op_hello(struct vim_context *ctx, void *arg, struct err *err) {
    struct hello *hello = arg;
    int ret = vim_client_negotiate(ctx, hello, err);
    if (ret)
        return ret;
    ctx->content = hello->content;
    VIM_REQUEST(ctx, RetrieveServiceContent, "ServiceInstance", "ServiceInstance");
    ret = VIM_CALL(ctx, RetrieveServiceContent, &request, &response, err);
    if (ret)
        return ret;
    if (!response.returnval)
        return vim_call_lacks(ctx, "RetrieveServiceContent", "returnval", err);
    ret = keep_about(ctx, response.returnval->about, hello, err);
    return ret ? ret : keep_content(ctx, response.returnval, hello, err);
}

static int vim_client_check_identity(const struct vim_client *client, const struct vim_about *about, struct err *err) {
    if (!client->instance_uuid || str_eq_nocase(about->instance_uuid, client->instance_uuid))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "another vCenter (%s) answers at the address of vCenter %s", about->instance_uuid,
                  client->instance_uuid);
    (void)err_remedy(err, "if the vCenter was replaced, remove it and add it again; if it moved, correct the address");
    return err_because(err, ERR_CAUSE_OTHER_PEER);
}

/* connect_lock is held */
static int say_hello(struct vim_client *client, struct vim_about *out, struct err *err) {
    struct hello hello = {.versions_url = client->versions_url};
    struct vim_run run = {.identity = VIM_AS_NOBODY, .is_before_connect = true, .fn = op_hello, .arg = &hello};
    int ret = vim_client_run(client, &run, err);
    if (!ret)
        ret = vim_client_check_identity(client, &hello.about, err);
    if (ret) {
        vim_about_done(&hello.about);
        return ret;
    }
    (void)pthread_mutex_lock(&client->lock);
    client->content = hello.content;
    client->is_connected = true;
    (void)pthread_mutex_unlock(&client->lock);
    if (out)
        *out = hello.about;
    else
        vim_about_done(&hello.about);
    return 0;
}

int vim_connect(struct vim_client *client, struct vim_about *out, struct err *err) {
    LOCKED(&client->connect_lock);
    return say_hello(client, out, err);
}

static bool is_connected(struct vim_client *client) {
    LOCKED(&client->lock);
    return client->is_connected;
}

static int vim_client_need_content(struct vim_client *client, struct err *err) {
    int ret = 0;
    if (is_connected(client))
        return 0;
    LOCKED(&client->connect_lock);
    if (!is_connected(client))
        ret = say_hello(client, NULL, err);
    return ret;
}

/* -- circuit breaker: stops asking a server that only times out ---------------------------------------------------- */

#define TIMEOUTS_TO_OPEN 3U

static const struct backoff pause_policy = {.first_ms = 2000, .max_ms = 60000, .jitter_percent = 25};

int vim_breaker_enter(struct vim_breaker *breaker, int64_t now_ms, struct err *err) {
    int64_t wait_ms = breaker->open_until_ms - now_ms;
    if (breaker->timeouts < TIMEOUTS_TO_OPEN)
        return 0;
    if (wait_ms <= 0 && !breaker->is_probing) {
        breaker->is_probing = true;
        return 0;
    }
    if (err_set(err, ERR_UNREACHABLE, "vCenter did not answer %u calls in a row; calls are held back for a while",
                breaker->timeouts) &&
        err)
        err->retry_after_s = wait_ms > 1000 ? (unsigned)((wait_ms + 999) / 1000) : 1;
    (void)err_because(err, ERR_CAUSE_NO_ANSWER);
    err_remedy(err, "check the vCenter and the network between; kaasd tries again by itself");
    return ERR_UNREACHABLE;
}

/* The server said something, or the failure says nothing about it being there. */
static bool is_answer(int outcome) {
    return outcome != ERR_TIMEOUT && outcome != ERR_UNREACHABLE && outcome != ERR_CANCELED && outcome != ERR_NOMEM &&
           outcome != ERR_UNPROCESSABLE;
}

void vim_breaker_leave(struct vim_breaker *breaker, int64_t now_ms, int outcome, uint32_t random) {
    bool was_probing = breaker->is_probing;
    breaker->is_probing = false;
    if (is_answer(outcome)) {
        breaker->timeouts = 0;
        return;
    }
    if (outcome == ERR_TIMEOUT || (outcome == ERR_UNREACHABLE && was_probing))
        breaker->timeouts++;
    if (breaker->timeouts >= TIMEOUTS_TO_OPEN && outcome != ERR_CANCELED)
        breaker->open_until_ms = now_ms + backoff_delay_ms(&pause_policy, breaker->timeouts - TIMEOUTS_TO_OPEN + 1, random);
}
