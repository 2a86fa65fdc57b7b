/* The answer as data: status, headers, one body. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "http_response.h"

#include <stdatomic.h>
#include <stddef.h>
#include <strings.h>

#include "http_private.h"
#include "httpd_private.h"
#include "secret.h"
#include "str.h"

#define HEADERS_BYTES_MAX (8U * 1024U)
#define HEADERS_BYTES_USUAL 448U /* one allocation for most answers */

struct http_shared {
    _Atomic unsigned refs;
    size_t len;
    char *data;
    _Atomic(struct http_shared *) gzip;
};

struct http_shared *http_shared_new(struct strbuf *from) {
    struct http_shared *shared;
    if (from->failed)
        return NULL;
    shared = calloc(1, sizeof(*shared));
    if (!shared)
        return NULL;
    shared->len = from->len;
    shared->data = strbuf_steal(from);
    if (!shared->data) {
        free(shared);
        return NULL;
    }
    atomic_init(&shared->refs, 1);
    return shared;
}

struct http_shared *http_shared_ref(struct http_shared *shared) {
    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void http_shared_unref(struct http_shared *shared) {
    if (!shared || atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) != 1)
        return;
    http_shared_unref(atomic_load(&shared->gzip));
    free(shared->data);
    free(shared);
}

const char *http_shared_data(const struct http_shared *shared, size_t *len) {
    *len = shared->len;
    return shared->data;
}

struct http_shared *http_shared_gzip(const struct http_shared *shared) {
    return atomic_load(&shared->gzip);
}

struct http_shared *http_shared_keep_gzip(struct http_shared *shared, struct http_shared *gzip) {
    struct http_shared *kept = NULL;
    if (atomic_compare_exchange_strong(&shared->gzip, &kept, gzip))
        return gzip;
    http_shared_unref(gzip);
    return kept;
}

void http_response_init(struct http_response *resp) {
    memset(resp, 0, offsetof(struct http_response, fields));
    resp->status = 200;
    strbuf_init(&resp->text, HEADERS_BYTES_MAX);
}

static void drop_body(struct http_response *resp) {
    if (resp->kind == HTTP_BODY_TEXT)
        strbuf_done(&resp->body);
    if (resp->kind == HTTP_BODY_SHARED)
        http_shared_unref(resp->shared);
    resp->kind = HTTP_BODY_NONE;
}

void http_response_done(struct http_response *resp) {
    drop_body(resp);
    strbuf_done(&resp->text);
}

void http_response_reset(struct http_response *resp) {
    drop_body(resp);
    strbuf_reset(&resp->text);
    resp->status = 200;
    resp->is_closing = resp->is_broken = false;
    resp->fields_count = 0;
}

void http_response_set_status(struct http_response *resp, int status) {
    if (status < 200 || status > 599)
        resp->is_broken = true;
    else
        resp->status = status;
}

int http_response_status(const struct http_response *resp) {
    return resp->status;
}

/* Index of the header, or fields_count. */
static unsigned find_field(const struct http_response *resp, const char *name) {
    size_t n = strlen(name);
    unsigned i = 0;
    while (i < resp->fields_count &&
           (resp->fields[i].name_len != n || strncasecmp(resp->text.data + resp->fields[i].name, name, n) != 0))
        i++;
    return i;
}

const char *http_response_header(const struct http_response *resp, const char *name) {
    unsigned i = find_field(resp, name);
    return i < resp->fields_count ? resp->text.data + resp->fields[i].value : NULL;
}

static unsigned add_text(struct http_response *resp, const char *text, size_t n) {
    size_t at = resp->text.len;
    strbuf_add(&resp->text, text, n + 1);
    return (unsigned)at;
}

static void set_value(struct http_response *resp, struct http_header *field, const char *value) {
    size_t n = strlen(value);
    if (n == field->value_len)
        memcpy(resp->text.data + field->value, value, n);
    else
        field->value = add_text(resp, value, n);
    field->value_len = (unsigned)n;
}

static void add_field(struct http_response *resp, const char *name, const char *value) {
    struct http_header *field = &resp->fields[resp->fields_count++];
    field->name_len = (unsigned)strlen(name);
    field->value_len = (unsigned)strlen(value);
    field->name = add_text(resp, name, field->name_len);
    field->value = add_text(resp, value, field->value_len);
}

/* A line break in a value would let a caller's text write headers of its own. */
static bool is_safe(const char *name, const char *value) {
    return http_is_token(name, strlen(name)) && !http_has_control(value, strlen(value));
}

void http_response_set_header(struct http_response *resp, const char *name, const char *value) {
    unsigned i = find_field(resp, name);
    if (!is_safe(name, value) || i == HTTP_RESPONSE_FIELDS_MAX) {
        resp->is_broken = true;
        return;
    }
    if (!resp->text.alloc)
        strbuf_reserve(&resp->text, HEADERS_BYTES_USUAL);
    if (i == resp->fields_count)
        add_field(resp, name, value);
    else
        set_value(resp, &resp->fields[i], value);
    resp->is_broken |= resp->text.failed != 0;
}

static void set_kind(struct http_response *resp, enum http_body_kind kind, const char *type) {
    drop_body(resp);
    resp->kind = kind;
    if (type)
        http_response_set_header(resp, "Content-Type", type);
}

void http_response_set_text(struct http_response *resp, const char *type, struct strbuf *body) {
    set_kind(resp, HTTP_BODY_TEXT, type);
    resp->is_broken |= body->failed != 0;
    resp->body = *body;
    if (body->is_secret)
        strbuf_init_secret(body, body->max_bytes);
    else
        strbuf_init(body, body->max_bytes);
}

void http_response_set_shared(struct http_response *resp, const char *type, struct http_shared *body) {
    http_shared_ref(body); /* first: it may be the one that is set already */
    set_kind(resp, HTTP_BODY_SHARED, type);
    resp->shared = body;
}

void http_response_set_static(struct http_response *resp, const char *type, const void *bytes, size_t n) {
    set_kind(resp, HTTP_BODY_STATIC, type);
    resp->bytes = bytes;
    resp->bytes_count = n;
}

void http_response_set_close(struct http_response *resp) {
    resp->is_closing = true;
}

/* -- from a handler's result to bytes on the wire ------------------------------------------------------------------ */

#define RETRY_AFTER_DEFAULT_S 1U

struct secret_body {
    size_t bytes;
    char *data;
};

static void free_secret(void *arg) {
    struct secret_body *body = arg;
    secret_wipe(body->data, body->bytes);
    free(body->data);
    free(body);
}

static struct MHD_Response *from_secret(size_t n, char *data) {
    struct secret_body *body = calloc(1, sizeof(*body));
    if (!body) {
        secret_wipe(data, n);
        free(data);
        return NULL;
    }
    *body = (struct secret_body){n, data};
    return MHD_create_response_from_buffer_with_free_callback_cls(n, data, free_secret, body);
}

static struct MHD_Response *from_bytes(const void *bytes, size_t n) {
    return MHD_create_response_from_buffer(n, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *from_text(struct http_response *resp, size_t *n) {
    *n = resp->body.len;
    bool is_secret = resp->body.is_secret;
    char *data = *n ? strbuf_steal(&resp->body) : NULL;
    if (!data)
        return *n ? NULL : from_bytes("", 0);
    if (is_secret)
        return from_secret(*n, data);
    struct MHD_Response *out = MHD_create_response_from_buffer(*n, data, MHD_RESPMEM_MUST_FREE);
    if (!out)
        free(data);
    return out;
}

static void unref_shared(void *shared) {
    http_shared_unref(shared);
}

/* The library gives the reference back when the last byte is sent. */
static struct MHD_Response *from_shared(struct http_response *resp, size_t *n) {
    const char *data = http_shared_data(resp->shared, n);
    struct MHD_Response *out =
        MHD_create_response_from_buffer_with_free_callback_cls(*n, (void *)(uintptr_t)data, unref_shared, resp->shared);
    if (out)
        resp->kind = HTTP_BODY_NONE;
    return out;
}

static struct MHD_Response *make_body(struct http_response *resp, size_t *n) {
    *n = 0;
    if (resp->kind == HTTP_BODY_TEXT)
        return from_text(resp, n);
    if (resp->kind == HTTP_BODY_SHARED && resp->status != MHD_HTTP_NOT_MODIFIED)
        return from_shared(resp, n);
    if (resp->kind != HTTP_BODY_STATIC)
        return from_bytes("", 0);
    *n = resp->bytes_count;
    return from_bytes(resp->bytes, resp->bytes_count);
}

static bool add_headers(const struct http_response *resp, struct MHD_Response *out) {
    for (unsigned i = 0; i < resp->fields_count; i++)
        if (MHD_add_response_header(out, resp->text.data + resp->fields[i].name, resp->text.data + resp->fields[i].value) !=
            MHD_YES)
            return false;
    return !resp->is_closing || MHD_add_response_header(out, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
}

static void make_error(struct http_request *req, const struct err *err, struct http_response *resp) {
    char allow[ROUTE_ALLOW_BYTES], after[16];
    http_response_reset(resp);
    req->httpd->options.hooks.on_error(req, err, resp);
    if (err->code == ERR_METHOD && req->match.allowed) {
        route_format_allow(req->match.allowed, allow);
        http_response_set_header(resp, "Allow", allow);
    }
    if (resp->status == 503 || resp->status == 429 || err->retry_after_s) {
        (void)snprintf(after, sizeof(after), "%u", err->retry_after_s ? err->retry_after_s : RETRY_AFTER_DEFAULT_S);
        http_response_set_header(resp, "Retry-After", after);
    }
}

static void make_expired(struct http_request *req, int state, struct http_response *resp) {
    struct err err = {0};
    if (state == SLOW_STOPPED)
        (void)err_set(&err, ERR_CANCELED, "the service is stopping");
    else
        (void)err_set(&err, ERR_TIMEOUT, "the work was not done in time");
    make_error(req, &err, resp);
}

/* Bytes in memory for as long as the client takes to take them. Those of one list in several answers count several times. */
static size_t body_bytes(const struct http_response *resp) {
    size_t n = resp->kind == HTTP_BODY_TEXT ? resp->body.len : 0;
    if (resp->kind == HTTP_BODY_SHARED)
        (void)http_shared_data(resp->shared, &n);
    return n;
}

static void make_crowded(struct http_request *req, struct http_response *resp) {
    struct err err = {0};
    (void)err_set(&err, ERR_BUSY, "too many large answers are on their way; try again shortly, or ask for smaller pages");
    make_error(req, &err, resp);
}

static enum MHD_Result queue(struct http_request *req, struct http_response *resp) {
    size_t n = 0;
    resp->is_closing |= req->is_refused || atomic_load_explicit(&req->httpd->is_stopping, memory_order_relaxed);
    struct MHD_Response *out = make_body(resp, &n);
    if (!out)
        return MHD_NO;
    enum MHD_Result ok = add_headers(resp, out) ? MHD_YES : MHD_NO;
    req->sent_status = resp->status;
    req->sent_bytes = n;
    httpd_conn_enter(req->conn, CONN_SEND);
    if (ok)
        ok = MHD_queue_response(req->conn->mhd, (unsigned)resp->status, out);
    MHD_destroy_response(out);
    return ok;
}

static void finish(struct http_request *req, struct http_response *resp) {
    struct err err = {0};
    if (req->httpd->options.hooks.headers)
        req->httpd->options.hooks.headers(req, resp);
    if (!resp->is_broken)
        return;
    (void)err_set(&err, ERR_INTERNAL, "internal error");
    make_error(req, &err, resp);
    if (req->httpd->options.hooks.headers)
        req->httpd->options.hooks.headers(req, resp);
}

/* After an expiry the lane may still be writing to req->resp and req->err: then the answer is made beside them. */
enum MHD_Result httpd_answer(struct http_request *req) {
    int state = atomic_load_explicit(&req->slow_state, memory_order_acquire);
    struct http_response own;
    struct http_response *resp = &req->resp;
    if (state >= SLOW_EXPIRED) {
        http_response_init(&own);
        resp = &own;
        make_expired(req, state, resp);
    } else if (req->result) {
        make_error(req, &req->err, resp);
    }
    finish(req, resp);
    if (!httpd_press_hold(req, body_bytes(resp))) {
        make_crowded(req, resp);
        finish(req, resp);
    }
    if (state < SLOW_EXPIRED)
        httpd_conn_keep(req);
    enum MHD_Result ok = queue(req, resp);
    if (resp == &own)
        http_response_done(&own);
    return ok;
}
