/* Making, reading and ending a request. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stddef.h>
#include <strings.h>

#include "clock.h"
#include "http_kept.h"
#include "http_private.h"
#include "net_addr.h"
#include "secret.h"
#include "str.h"

/* All-zero is what it must look like; behind the end of a text nobody looks. */
static void err_begin(struct err *err) {
    err->code = err->line = 0;
    err->retry_after_s = 0;
    err->text[0] = err->remedy[0] = err->detail[0] = '\0';
    err->file = NULL;
}

struct http_request *http_request_new(struct httpd *httpd, const char *target) {
    size_t n = strlen(target);
    struct http_request *req = malloc(sizeof(*req));
    if (!req)
        return NULL;
    memset(req, 0, offsetof(struct http_request, err));
    err_begin(&req->err);
    req->target = malloc(2 * n + 4);
    if (!req->target) {
        free(req);
        return NULL;
    }
    memcpy(req->target, target, n + 1);
    req->path_text = req->target + n + 1;
    memcpy(req->path_text, target, n + 1);
    req->target_len = n;
    req->target[strcspn(target, "?#")] = '\0'; /* for logs: a query may hold what a client should not have put there */
    req->httpd = httpd;
    http_request_set_method(req, "?");
    req->started_ms = clock_mono_ms();
    atomic_init(&req->refs, 1);
    strbuf_init(&req->body, KAAS_HTTP_BODY_BYTES_MAX);
    http_response_init(&req->resp);
    return req;
}

void http_request_set_method(struct http_request *req, const char *name) {
    req->method_name = name;
    req->method = http_method_parse(name);
}

struct http_request *http_request_ref(struct http_request *req) {
    atomic_fetch_add_explicit(&req->refs, 1, memory_order_relaxed);
    return req;
}

bool http_request_unref(struct http_request *req) {
    return atomic_fetch_sub_explicit(&req->refs, 1, memory_order_acq_rel) == 1;
}

void http_request_destroy(struct http_request *req) {
    http_request_set_data(req, NULL, NULL);
    http_request_keep_for_next(req, NULL, NULL);
    strbuf_done(&req->body);
    http_response_done(&req->resp);
    if (req->fields_text)
        secret_wipe(req->fields_text, req->fields_text_bytes);
    free(req->fields_text);
    free(req->target);
    free(req);
}

static size_t fields_bytes(const struct http_request *req) {
    size_t n = strlen(req->method_name) + 1;
    for (unsigned i = 0; i < req->fields_count; i++)
        n += req->fields[i].name_len + req->fields[i].value_len + 2;
    return n;
}

static const char *keep_text(char **at, const char *text, size_t len) {
    char *copy = *at;
    memcpy(copy, text, len);
    copy[len] = '\0';
    *at += len + 1;
    return copy;
}

int http_request_keep_fields(struct http_request *req) {
    size_t n = fields_bytes(req);
    char *at = malloc(n);
    if (!at)
        return ERR_NOMEM;
    req->fields_text = at;
    req->fields_text_bytes = n;
    req->method_name = keep_text(&at, req->method_name, strlen(req->method_name));
    for (unsigned i = 0; i < req->fields_count; i++) {
        struct http_field *field = &req->fields[i];
        field->name = keep_text(&at, field->name, field->name_len);
        field->value = keep_text(&at, field->value, field->value_len);
    }
    return 0;
}

enum http_method http_request_method(const struct http_request *req) {
    return req->method;
}

const char *http_request_method_name(const struct http_request *req) {
    return req->method_name;
}

const char *http_request_path(const struct http_request *req) {
    return req->target;
}

void *http_request_app(const struct http_request *req) {
    return req->app;
}

const struct route *http_request_route(const struct http_request *req) {
    return req->match.route;
}

const char *http_request_param(const struct http_request *req, const char *name) {
    size_t n = strlen(name);
    for (unsigned i = 0; i < req->match.params_count; i++)
        if (req->match.params[i].name_len == n && !memcmp(req->match.params[i].name, name, n))
            return req->match.params[i].value;
    assert(0 && "a handler asks for a parameter that its route does not have");
    abort();
}

const char *http_request_query(const struct http_request *req, const char *name) {
    for (unsigned i = 0; i < req->query_count; i++)
        if (!strcmp(req->query[i].name, name))
            return req->query[i].value;
    return NULL;
}

unsigned http_request_query_count(const struct http_request *req) {
    return req->query_count;
}

void http_request_query_at(const struct http_request *req, unsigned i, const char **name, const char **value) {
    assert(i < req->query_count);
    *name = req->query[i].name;
    *value = req->query[i].value;
}

static bool is_listed(const char *name, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(*list, name))
            return true;
    return false;
}

static void add_query_remedy(const char *const *allowed, struct err *err) {
    struct strbuf known _cleanup_strbuf_;
    strbuf_init(&known, ERR_REMEDY_BYTES - 1);
    for (const char *const *name = allowed; *name; name++)
        strbuf_addf(&known, "%s%s", name == allowed ? "known here: " : ", ", *name);
    if (!*allowed)
        strbuf_adds(&known, "this path takes no query parameters");
    err_remedy(err, "%s", known.data);
}

int http_request_check_query(const struct http_request *req, const char *const *allowed, struct err *err) {
    for (unsigned i = 0; i < req->query_count; i++) {
        if (is_listed(req->query[i].name, allowed))
            continue;
        int r = err_set(err, ERR_INVALID, "unknown query parameter \"%.64s\"", req->query[i].name);
        add_query_remedy(allowed, err);
        return r;
    }
    return 0;
}

const char *http_request_header(const struct http_request *req, const char *name) {
    size_t n = strlen(name);
    for (unsigned i = 0; i < req->fields_count; i++)
        if (req->fields[i].name_len == n && !strncasecmp(req->fields[i].name, name, n))
            return req->fields[i].value;
    return NULL;
}

bool http_request_is_media_type(const struct http_request *req, const char *type) {
    const char *value = http_request_header(req, "Content-Type");
    size_t n = strlen(type);
    if (!value || strncasecmp(value, type, n) != 0)
        return false;
    value += n;
    return value[strspn(value, " \t")] == '\0' || value[strspn(value, " \t")] == ';';
}

const char *http_request_body(const struct http_request *req, size_t *len) {
    *len = req->body.len;
    return req->body.data;
}

const char *http_request_client(const struct http_request *req) {
    return req->client;
}

bool http_request_peer_uid(const struct http_request *req, uid_t *uid) {
    if (req->has_uid)
        *uid = req->uid;
    return req->has_uid;
}

pid_t http_request_peer_pid(const struct http_request *req) {
    return req->has_uid ? req->pid : 0;
}

bool http_request_is_tls(const struct http_request *req) {
    return req->is_tls;
}

const char *http_request_id(const struct http_request *req) {
    return req->id;
}

bool http_request_is_abandoned(const struct http_request *req) {
    return atomic_load_explicit(&req->slow_state, memory_order_acquire) >= SLOW_EXPIRED;
}

void http_request_set_data(struct http_request *req, void *data, void (*destroy)(void *)) {
    if (req->data_destroy && req->data)
        req->data_destroy(req->data);
    req->data = data;
    req->data_destroy = destroy;
}

void *http_request_data(const struct http_request *req) {
    return req->data;
}

int http_request_go_slow_by(struct http_request *req, http_submit_fn *submit, void *arg, http_handler_fn *fn) {
    assert(submit && fn && !req->slow_fn);
    req->slow_submit = submit;
    req->slow_submit_arg = arg;
    req->slow_fn = fn;
    return HTTP_GO_SLOW;
}

int http_request_go_waiting(struct http_request *req, const struct http_wait *wait) {
    req->wait_until_ms = wait->until_ms;
    return http_request_go_slow_by(req, wait->submit, wait->arg, wait->fn);
}

/* What runs is the request (httpd_slow.c). */
static int submit_to_lane(void *lane, lane_fn *run, void *run_arg, struct err *err) {
    const struct http_request *req = run_arg;
    return lane_submit_for(lane, net_party(req->client), run, run_arg, err);
}

int http_request_go_slow(struct http_request *req, struct lane *lane, http_handler_fn *fn) {
    assert(lane);
    return http_request_go_slow_by(req, submit_to_lane, lane, fn);
}
