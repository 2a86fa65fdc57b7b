/* Making, reading and ending a request. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "http_request.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#include "clock.h"
#include "http_request_private.h"
#include "http_text.h"
#include "net_addr.h"
#include "secret.h"
#include "str.h"

#define TARGET_BYTES_USUAL 256U

/* All-zero is what it must look like; behind the end of a text nobody looks. */
static void err_begin(struct err *err) {
    err->code = err->line = 0;
    err->retry_after_s = 0;
    err->text[0] = err->remedy[0] = err->detail[0] = '\0';
    err->file = NULL;
}

/* A thread that answers requests keeps the memory of the one that ended last: a request and what the layer above adds are 7 KB, for which
 * malloc would join and split its free chunks each time. Not where AddressSanitizer looks for uses after the end. */
#if defined(__SANITIZE_ADDRESS__)
#define KEPT_BYTES_MAX 0U
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEPT_BYTES_MAX 0U
#endif
#endif
#ifndef KEPT_BYTES_MAX
#define KEPT_BYTES_MAX 16384U
#endif

static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static pthread_key_t kept_key;

static void http_request_kept_prepare(void) {
    if (pthread_key_create(&kept_key, free))
        abort(); /* as at the start of a program that has too many of them */
}

static struct http_request *request_alloc(size_t bytes) {
    (void)pthread_once(&kept_once, http_request_kept_prepare);
    struct http_request *req = pthread_getspecific(kept_key);
    if (req && req->alloc_bytes >= bytes) {
        (void)pthread_setspecific(kept_key, NULL);
        return req;
    }
    req = malloc(bytes);
    if (req)
        req->alloc_bytes = bytes;
    return req;
}

static void request_free(struct http_request *req) {
    if (req->alloc_bytes > KEPT_BYTES_MAX || pthread_getspecific(kept_key) || pthread_setspecific(kept_key, req))
        free(req);
}

struct http_request *http_request_new(struct httpd *httpd, size_t room_bytes, const char *target) {
    const size_t n = strlen(target), texts_at = sizeof(struct http_request) + room_bytes;
    struct http_request *req = request_alloc(texts_at + 2 * (n > TARGET_BYTES_USUAL ? n : TARGET_BYTES_USUAL) + 4);
    if (!req)
        return NULL;
    memset(&req->httpd, 0, offsetof(struct http_request, err) - offsetof(struct http_request, httpd));
    err_begin(&req->err);
    req->target = (char *)req + texts_at;
    req->path_text = req->target + n + 1;
    memcpy(req->target, target, n + 1);
    memcpy(req->path_text, target, n + 1);
    req->target_len = n;
    req->target[strcspn(target, "?#")] = '\0'; /* for logs: a query may hold what a client should not have put there */
    req->httpd = httpd;
    req->method_name = "?";
    req->method = HTTP_METHOD_OTHER;
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

void http_request_keep_for_next(struct http_request *req, void *data, void (*destroy)(void *)) {
    if (req->next_data && req->next_destroy)
        req->next_destroy(req->next_data);
    req->next_data = data;
    req->next_destroy = destroy;
}

void http_request_destroy(struct http_request *req) {
    http_request_set_data(req, NULL, NULL);
    http_request_keep_for_next(req, NULL, NULL);
    strbuf_done(&req->body);
    strbuf_done(&req->authorization);
    http_response_done(&req->resp);
    if (req->fields_text)
        secret_wipe(req->fields_text, req->fields_text_bytes);
    free(req->fields_text);
    if (req->joined)
        secret_wipe(req->joined, req->joined_bytes);
    free(req->joined);
    request_free(req);
}

static size_t fields_bytes(const struct http_request *req) {
    size_t n = strlen(req->method_name) + 1;
    for (unsigned i = 0; i < req->fields_count; i++)
        n += req->fields[i].name_len + req->fields[i].value_len + 2;
    return n;
}

static const char *http_request_keep_text(char **at, const char *text, size_t len) {
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
    req->method_name = http_request_keep_text(&at, req->method_name, strlen(req->method_name));
    for (unsigned i = 0; i < req->fields_count; i++) {
        struct http_field *field = &req->fields[i];
        field->name = http_request_keep_text(&at, field->name, field->name_len);
        field->value = http_request_keep_text(&at, field->value, field->value_len);
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

static bool http_request_is_listed(const char *name, const char *const *list) {
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
        if (http_request_is_listed(req->query[i].name, allowed))
            continue;
        int r = err_set(err, ERR_INVALID, "unknown query parameter \"%.64s\"", req->query[i].name);
        add_query_remedy(allowed, err);
        return r;
    }
    return 0;
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

void *http_request_room(struct http_request *req) {
    return req->room;
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
static int submit_to_pool(void *workers, worker_fn *run, void *run_arg, struct err *err) {
    const struct http_request *req = run_arg;
    return worker_pool_submit_for(workers, net_party(req->client), run, run_arg, err);
}

int http_request_go_slow(struct http_request *req, struct worker_pool *workers, http_handler_fn *fn) {
    assert(workers);
    return http_request_go_slow_by(req, submit_to_pool, workers, fn);
}

/* -- request target: path and query -------------------------------------------------------------------------------- */

/* RFC 3986 for the path; the query is form-encoded (WHATWG URL: '+' is a blank), since browsers send it so. */

/* RFC 9112 3.2.2: a server must understand the absolute form "http://authority/path" too. NULL if there is no authority, or one with
 * user information (RFC 9110 4.2.1 and 4.2.4). */
static const char *skip_authority(const char *target) {
    size_t scheme = str_starts(target, "http://") ? 7 : str_starts(target, "https://") ? 8 : 0;
    size_t len = scheme ? strcspn(target + scheme, "/?#") : 0;
    if (!scheme)
        return target;
    if (!len || memchr(target + scheme, '@', len))
        return NULL;
    return target[scheme + len] == '/' ? target + scheme + len : "/";
}

int http_target_check(const struct http_request *req, struct err *err) {
    if (strpbrk(req->path_text, " \t"))
        return err_set(err, ERR_INVALID, "the request target has a blank; write it as %%20");
    return 0;
}

static int add_pair(struct http_request *req, char *name, struct err *err) {
    char *value = strchr(name, '=');
    if (value)
        *value++ = '\0';
    else
        value = name + strlen(name);
    if (http_decode(name, true) < 0 || http_decode(value, true) < 0)
        return err_set(err, ERR_INVALID, "the query has a percent sign without two hexadecimal digits, or %%00");
    int r = http_check_text(name, strlen(name), "name of a query parameter", err);
    r = r ? r : http_check_text(value, strlen(value), "value of a query parameter", err);
    if (r)
        return r;
    if (!*name)
        return err_set(err, ERR_INVALID, "the query has a parameter without a name");
    if (http_request_query(req, name))
        return err_set(err, ERR_INVALID, "the query parameter \"%.64s\" is given twice", name);
    if (req->query_count == HTTP_QUERY_MAX)
        return err_set(err, ERR_INVALID, "the query has more than %u parameters", HTTP_QUERY_MAX);
    req->query[req->query_count++] = (struct http_pair){name, value};
    return 0;
}

static int http_request_parse_query(struct http_request *req, struct err *err) {
    char *rest = req->query_text;
    while (rest && *rest) {
        char *pair = strsep(&rest, "&");
        int r = *pair ? add_pair(req, pair, err) : 0;
        if (r)
            return r;
    }
    return 0;
}

static int match_path(struct http_request *req, const struct route_table *table, struct err *err) {
    int r = route_path_parse(req->path_text, &req->path, err);
    if (r)
        return r;
    route_find(table, req->method, &req->path, &req->match);
    if (!req->match.allowed)
        return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
    if (!req->match.route && req->method != HTTP_METHOD_OPTIONS)
        return err_set(err, ERR_METHOD, "%.16s is not allowed here", req->method_name);
    return 0;
}

int http_target_parse(struct http_request *req, const struct route_table *table, struct err *err) {
    char *text = req->path_text;
    if (req->method == HTTP_METHOD_OPTIONS && str_eq(text, "*")) { /* RFC 9110 9.3.7: asks about the server as a whole */
        req->match = (struct route_match){.allowed = route_table_methods(table)};
        return 0;
    }
    if (strlen(text) > KAAS_HTTP_URI_BYTES_MAX)
        return err_set(err, ERR_URI_TOO_LONG, "the request target is longer than %u bytes", KAAS_HTTP_URI_BYTES_MAX);
    const char *path = skip_authority(text);
    if (!path)
        return err_set(err, ERR_INVALID, "the request target names no host, or a user");
    size_t path_len = strcspn(path, "?#");
    bool has_query = path[path_len] == '?';
    memmove(text, path, strlen(path) + 1);
    text[path_len] = '\0';
    if (has_query)
        req->query_text = text + path_len + 1;
    int r = match_path(req, table, err);
    return r ? r : http_request_parse_query(req, err);
}
