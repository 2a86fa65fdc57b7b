/* The HTTP interface: how a request finds its handler. Layer 6 (api). The table is routes.def.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "api_call.h"
#include "authn.h"
#include "cluster_list.h"
#include "cluster_watch.h"
#include "digest.h"
#include "inventory.h"
#include "limits.h"
#include "log.h"
#include "machine_usage.h"
#include "metric.h"
#include "openapi_text.h"
#include "pages.h"
#include "platform_links.h"
#include "plugin_manifest.h"
#include "problem.h"
#include "route.h"
#include "str.h"

static int api_entry(struct http_request *req, struct http_response *resp, struct err *err);

static const struct route routes[] = {
#define ROUTE(m, p, h, l, bound, perm, f, o, b, q, c) \
    {.method = HTTP_METHOD_##m, .pattern = p, .handler = api_entry, .options = o, .body_bytes_max = b},
#include "routes.def"
#undef ROUTE
};

static const struct api_endpoint endpoints[] = {
#define ROUTE(m, p, h, l, bound, perm, f, o, b, q, c) {h, l, BOUND_##bound, PERMISSION_##perm, f, q, API_BODY_##c(h)},
#include "routes.def"
#undef ROUTE
};

/* Nothing that takes a worker is without a bound; a handler that goes into one by itself is met by api_go_slow. */
#define ROUTE(m, p, h, l, bound, perm, f, o, b, q, c) \
    _Static_assert(BOUND_##bound != BOUND_NONE || (l) == API_FAST, p " takes a worker, so it needs a bound");
#include "routes.def"
#undef ROUTE

static const struct api_endpoint *endpoint_of(const struct http_request *req) {
    const struct route *route = http_request_route(req);
    return route ? &endpoints[route - routes] : NULL;
}

/* -- from the server thread into a worker pool ------------------------------------------------------------------------------ */

/* Its worker pool is not for those whom a database that is away would refuse anyway: a few calls that hang would hold up all of them. */
static int go_to_database(struct api_call *call, api_handler_fn *fn, struct err *err) {
    const struct api_options *options = &call->api->options;
    int rc = options->check_database(options->arg, err);
    return rc ? rc : api_run_in(call, options->database, fn);
}

static int api_run(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    int rc = api_admit(call, call->endpoint->bound, err);
    if (rc)
        return rc;
    switch (call->endpoint->workers) {
    case API_DATABASE: return go_to_database(call, api_handle, err);
    case API_HASHING: return api_go_slow(call, options->hashing, api_handle, err);
    case API_OUTSIDE: return api_go_slow(call, options->outside, api_handle, err);
    case API_VCENTER:
        rc = api_use_link(call, http_request_param(call->req, "id"), err);
        return rc ? rc : api_go_slow(call, link_pool(call->link), api_handle, err);
    case API_FAST:
    default: return api_handle(call, resp, err);
    }
}

static int load_session_in_worker(struct api_call *call, struct http_response *resp, struct err *err);
static int go_on_with_rights(struct http_request *req, struct http_response *resp, struct err *err);

/* Any route may, also one that has no bound of its own. Who asks is not known before. */
static int read_session(struct api_call *call, struct err *err) {
    int rc = api_admit(call, BOUND_SESSION, err);
    return rc ? rc : go_to_database(call, load_session_in_worker, err);
}

/* Gets what is missing, then runs the handler where it belongs. */
static int api_proceed(struct api_call *call, enum authn_step step, struct http_response *resp, struct err *err) {
    switch (step) {
    case AUTHN_NEEDS_DATABASE: return read_session(call, err);
    case AUTHN_NEEDS_RIGHTS: return http_request_go_slow_by(call->req, authn_wait, call, go_on_with_rights);
    case AUTHN_DONE:
    default: return api_run(call, resp, err);
    }
}

static int load_session_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    enum authn_step step = AUTHN_DONE;
    int rc = authn_load_session(call, &step, err);
    return rc ? rc : api_proceed(call, step, resp, err);
}

/* In the thread that brought the answer. */
static int go_on_with_rights(struct http_request *req, struct http_response *resp, struct err *err) {
    struct api_call *call = api_call_of(req);
    enum authn_step step = AUTHN_DONE;
    int rc;
    log_set_request_id(http_request_id(req));
    rc = authn_take_answer(call, &step, err);
    return rc ? rc : api_proceed(call, step, resp, err);
}

/* A header that a foreign web page cannot send keeps sign-on our own clients' affair. */
static int check_signon_header(const struct api_call *call, struct err *err) {
    const char *kaas = http_request_header(call->req, "X-KaaS");
    const bool is_due = (call->endpoint->flags & API_SIGNON) || ((call->endpoint->flags & API_COOKIE) && kaas);
    if (!is_due || str_eq(kaas, "1"))
        return 0;
    (void)err_set(err, ERR_INVALID, "the header X-KaaS is %s", kaas ? "not 1" : "missing");
    return err_remedy(err, "send the header X-KaaS: 1");
}

static int api_prepare(struct api_call *call, struct err *err) {
    const struct api_options *options = &call->api->options;
    int rc = 0;
    call->endpoint = endpoint_of(call->req);
    call->list_mark = cluster_watch_mark(call->api->list_watch); /* before the look: a change in between is looked at again */
    call->snapshot = inventory_get(options->inventory);
    if (!(call->endpoint->flags & API_ALWAYS))
        rc = options->check_ready(options->arg, err);
    if (!rc)
        rc = check_signon_header(call, err);
    if (!rc &&
        (call->endpoint->flags & API_SIGNON)) /* before a password is hashed or a vCenter is asked: no session without it */
        rc = options->check_database(options->arg, err);
    return rc;
}

static int api_entry(struct http_request *req, struct http_response *resp, struct err *err) {
    struct api_call *call = api_call_of(req);
    enum authn_step step = AUTHN_DONE;
    int rc = api_prepare(call, err);
    if (!rc)
        rc = authn_check(call, &step, err);
    return rc ? rc : api_proceed(call, step, resp, err);
}

/* -- hooks ------------------------------------------------------------------------------------------------------------ */

static int take_bulk(struct api_call *call, struct err *err) {
    call->is_bulk = true;
    if (atomic_fetch_add(&call->api->bulks, 1) < KAAS_IMPORTS_AT_ONCE)
        return 0;
    (void)err_set(err, ERR_BUSY, "other imports are under way");
    return err_remedy(err, "try again when they are done");
}

/* A large body is read for those only who may send it. What memory does not know is found out when it has been read. */
static int admit_bulk(struct http_request *req, struct err *err) {
    struct api_call *call = api_call_of(req);
    enum authn_step step = AUTHN_DONE;
    int rc = api_prepare(call, err);
    if (!rc)
        rc = authn_check(call, &step, err);
    if (!rc)
        rc = take_bulk(call, err);
    if (!rc) /* who was refused stays known for the audit log */
        api_forget(call);
    return rc;
}

static int api_before(struct http_request *req, struct err *err) {
    const struct api_endpoint *endpoint = endpoint_of(req);
    log_set_request_id(http_request_id(req));
    return endpoint && (endpoint->flags & API_BULK) ? admit_bulk(req, err) : 0;
}

/* Strict-Transport-Security only here, where people come to our own address: other answers may go through the proxy of a vCenter and
 * would lay the rule upon vCenter's own address (RFC 6797). */
static void page_headers(const struct http_request *req, struct http_response *resp) {
    if (http_request_is_tls(req))
        http_response_set_header(resp, "Strict-Transport-Security", "max-age=31536000");
    if (http_response_header(resp, "Content-Security-Policy")) /* the panel has its own */
        return;
    http_response_set_header(resp, "Content-Security-Policy", PAGE_CSP "'none'");
    http_response_set_header(resp, "Cross-Origin-Opener-Policy", "same-origin"); /* who opens it has no hold on it */
}

static void negotiate_header(const struct api_call *call, struct http_response *resp) {
    _cleanup_free_ char *challenge = NULL;
    if (!call || !call->negotiate || (!*call->negotiate && http_response_status(resp) != 401))
        return;
    challenge = str_format("Negotiate%s%s", *call->negotiate ? " " : "", call->negotiate);
    if (challenge)
        http_response_set_header(resp, "WWW-Authenticate", challenge);
}

static void api_headers(const struct http_request *req, struct http_response *resp) {
    const struct api_endpoint *endpoint = endpoint_of(req);
    const struct api_entrance *entrance = http_request_app(req);
    if (entrance->api->options.is_leaving(entrance->api->options.arg))
        http_response_set_close(resp);
    http_response_set_header(resp, "KaaS-Request-Id", http_request_id(req));
    if (http_response_status(resp) != 304) { /* who has the answer has its rules (RFC 9110 section 15.4.5) */
        http_response_set_header(resp, "X-Content-Type-Options", "nosniff");
        http_response_set_header(resp, "Referrer-Policy", "no-referrer");
    }
    if (endpoint && (endpoint->flags & (API_STATIC | API_PLUGIN)))
        http_response_set_header(resp, "Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()");
    if (endpoint && (endpoint->flags & API_STATIC))
        page_headers(req, resp);
    if (endpoint && (endpoint->flags & API_PLUGIN)) /* through vCenter's proxy 'self' is vCenter, which makes the frame */
        http_response_set_header(resp, "Content-Security-Policy", PAGE_CSP "'self'");
    negotiate_header(http_request_data(req), resp);
    if (!http_response_header(resp, "Cache-Control"))
        http_response_set_header(resp, "Cache-Control", "no-store");
}

/* The metric in `kept`, looked up at first: no lock in each request. */
static struct metric *api_metric(_Atomic(struct metric *) *kept, enum metric_id id, const char *const labels[METRIC_LABELS_MAX]) {
    struct metric *metric = atomic_load_explicit(kept, memory_order_acquire);
    if (!metric) {
        metric = metric_find(id, labels);
        atomic_store_explicit(kept, metric, memory_order_release);
    }
    return metric;
}

/* A request that waits for a change takes as long as the client wants: it says nothing about us. */
static void count_request(const struct http_request *req, const struct httpd_outcome *outcome) {
    static const char *const classes[] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};
    static const char *const methods[] = {
#define ROUTE(m, p, h, l, bound, perm, f, o, b, q, c) #m,
#include "routes.def"
#undef ROUTE
    };
    static _Atomic(struct metric *) totals[ARRAY_COUNT(classes)], durations[ARRAY_COUNT(routes)][ARRAY_COUNT(classes)];
    const struct route *route = http_request_route(req);
    const size_t class = outcome->status >= 100 && outcome->status < 600 ? (size_t)outcome->status / 100 : 0;
    metric_add(api_metric(&totals[class], METRIC_HTTP_REQUESTS, METRIC_LABELS(classes[class])), 1);
    const char *cursor = http_request_query(req, "watch");
    if (!route || (cursor && *cursor))
        return;
    const char *const labels[METRIC_LABELS_MAX] = {route->pattern, methods[route - routes], classes[class]};
    metric_observe(api_metric(&durations[route - routes][class], METRIC_HTTP_DURATION, labels), outcome->duration_ms);
}

/* Which permission the role lacks; with the permission it is the object that was refused. */
static const char *api_reason_of(const struct api_call *call) {
    if (call->who && policy_may(call->who->role, call->endpoint->permission))
        return "not this object";
    return log_fmt("role %s lacks %s", call->who ? role_name(call->who->role) : "none",
                   permission_name(call->endpoint->permission));
}

static void denial_write(const struct api_call *call, const char *name, const char *reason) {
    const struct actor actor = api_actor(call);
    const struct route *route = http_request_route(call->req);
    const struct audit_event what = {
        .action = "request.deny",
        .principal_name = name,
        .source = call->who ? NULL : source_name(SOURCE_SOCKET),
        .object_kind = "request",
        .object_name = log_fmt("%s %s", http_request_method_name(call->req), route ? route->pattern : ""),
        .result = err_slug(ERR_FORBIDDEN),
        .reason = reason,
    };
    const struct audit_record line = audit_record_make(&actor, &what);
    access_note_refusal(call->api->options.access, &line.event);
}

/* Notes the error that this call is answered with, if it is a refusal (403) to somebody who is signed in or came by the admin socket. Memory only. */
static void denial_note(const struct api_call *call, const struct err *err) {
    uid_t uid;
    if (!call || !call->endpoint || err->code != ERR_FORBIDDEN || (call->endpoint->flags & API_PUBLIC))
        return;
    if (call->who)
        denial_write(call, call->who->name, api_reason_of(call));
    else if (call->door == API_DOOR_ADMIN && http_request_peer_uid(call->req, &uid))
        denial_write(call, log_fmt("user id %u", (unsigned)uid), "not an administrator of this host");
}

static void api_fail(struct http_request *req, const struct err *err, struct http_response *resp) {
    denial_note(http_request_data(req), err);
    problem_write(req, err, resp);
}

static void api_after(struct http_request *req, const struct httpd_outcome *outcome) {
    const struct api_call *call = http_request_data(req);
    enum log_level level = outcome->status >= 500 ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO;
    if (call && call->endpoint && call->endpoint->handler == h_clusters_list &&
        outcome->status == 204) /* waited in vain, as every open page does every five seconds */
        level = LOG_LEVEL_DEBUG;
    count_request(req, outcome);
    if (level > log_get_level()) /* before anything is formatted for it */
        return;
    log_set_request_id(http_request_id(req));
    log_event(level, "request", "method", http_request_method_name(req), "path", http_request_path(req), "status",
              log_fmt("%d", outcome->status), "ms", log_fmt("%lld", (long long)outcome->duration_ms), "client",
              http_request_client(req), "principal", call && call->who ? call->who->id : NULL, "delivered",
              outcome->is_delivered ? NULL : "no", NULL);
    log_set_request_id(NULL);
}

static void api_notice(void *app, const char *kind, const char *text, unsigned long suppressed) {
    (void)app;
    log_event(LOG_LEVEL_NOTICE, "http_notice", "kind", kind, "text", text, "suppressed",
              suppressed ? log_fmt("%lu", suppressed) : NULL, NULL);
}

/* -- life -------------------------------------------------------------------------------------------------------------- */

static int load_openapi(struct api *api, struct err *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    struct strbuf text;
    uint64_t hash;
    strbuf_init(&text, 4U * 1024U * 1024U);
    strbuf_add(&text, openapi_text, openapi_text_bytes);
    digest_sha256(openapi_text, openapi_text_bytes, digest);
    memcpy(&hash, digest, sizeof(hash));
    (void)snprintf(api->openapi_etag, sizeof(api->openapi_etag), "\"%016" PRIx64 "\"", hash);
    api->openapi = http_shared_new(&text);
    strbuf_done(&text);
    return api->openapi ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int api_new(const struct api_options *options, struct api **out, struct err *err) {
    struct api *api = calloc(1, sizeof(*api));
    int rc;
    if (!api)
        return err_set(err, ERR_NOMEM, "out of memory");
    api->options = *options;
    api->options.version = str_dup(options->version);
    rc = cluster_watch_new(&api->list_watch, err);
    if (!rc)
        rc = list_memo_new(&api->list_memo, err);
    if (!rc)
        rc = machine_usage_new(&api->machine_usage, err);
    if (!rc && options->is_bounded)
        rc = bounds_new(&api->bounds, err);
    if (!rc)
        rc = api->options.version ? load_openapi(api, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = pages_load(options->page_dir, &api->pages, err);
    if (!rc)
        rc = plugin_manifest_new(options->version, api->pages, &api->manifest, err);
    if (rc) {
        api_free(api);
        return rc;
    }
    *out = api;
    return 0;
}

void api_free(struct api *api) {
    if (!api)
        return;
    cluster_watch_free(api->list_watch);
    list_memo_free(api->list_memo);
    bounds_free(api->bounds);
    machine_usage_free(api->machine_usage);
    http_shared_unref(api->openapi);
    pages_free(api->pages);
    plugin_manifest_free(api->manifest);
    free((void *)(uintptr_t)api->options.version);
    free(api);
}

void api_stop_waiting(struct api *api) {
    if (api)
        cluster_watch_stop(api->list_watch);
}

void api_note_change(struct api *api) {
    cluster_watch_wake(api->list_watch);
}

void api_note_session_change(struct api *api, const char *sid) {
    cluster_watch_wake_session(api->list_watch, cluster_watch_key(sid));
}

const char *api_plugin_version(const struct api *api) {
    return api->manifest->version;
}

void api_plug_in(struct api *api, enum api_door door, struct httpd_options *httpd) {
    httpd->routes = routes;
    httpd->routes_count = sizeof(routes) / sizeof(routes[0]);
    httpd->hooks = (struct httpd_hooks){
        .before = api_before, .on_error = api_fail, .headers = api_headers, .after = api_after, .notice = api_notice};
    api->entrances[door] = (struct api_entrance){.api = api, .door = door};
    httpd->app = &api->entrances[door];
    httpd->room_bytes = sizeof(struct api_call);
}
