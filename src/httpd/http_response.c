/* The answer as data: status, headers, one body. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "http_response.h"

#include <stdatomic.h>
#include <stddef.h>
#include <strings.h>

#include "http_request_private.h"
#include "http_text.h"
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
static unsigned find_field(const struct http_response *resp, const char *name, size_t n) {
    unsigned i = 0;
    while (i < resp->fields_count &&
           (resp->fields[i].name_len != n || strncasecmp(resp->text.data + resp->fields[i].name, name, n) != 0))
        i++;
    return i;
}

const char *http_response_header(const struct http_response *resp, const char *name) {
    unsigned i = find_field(resp, name, strlen(name));
    return i < resp->fields_count ? resp->text.data + resp->fields[i].value : NULL;
}

/* With its NUL; returns where it lies. */
static unsigned http_response_add_text(struct http_response *resp, const char *text, size_t n) {
    size_t at = resp->text.len;
    strbuf_add(&resp->text, text, n + 1);
    return (unsigned)at;
}

void http_response_set_header(struct http_response *resp, const char *name, const char *value) {
    const size_t name_len = strlen(name), value_len = strlen(value);
    const unsigned i = find_field(resp, name, name_len);
    struct http_header *field = &resp->fields[i];
    /* a line break in a value would let a caller's text write headers of its own */
    if (i == HTTP_RESPONSE_FIELDS_MAX || !http_is_token(name, name_len) || http_has_control(value, value_len)) {
        resp->is_broken = true;
        return;
    }
    if (!resp->text.alloc)
        strbuf_reserve(&resp->text, HEADERS_BYTES_USUAL);
    if (i == resp->fields_count) {
        resp->fields_count++;
        field->name = http_response_add_text(resp, name, name_len);
        field->name_len = (unsigned)name_len;
    }
    field->value = http_response_add_text(resp, value, value_len);
    field->value_len = (unsigned)value_len;
    resp->is_broken |= resp->text.failed != 0;
}

static void http_response_set_kind(struct http_response *resp, enum http_body_kind kind, const char *type) {
    drop_body(resp);
    resp->kind = kind;
    if (type)
        http_response_set_header(resp, "Content-Type", type);
}

void http_response_set_text(struct http_response *resp, const char *type, struct strbuf *body) {
    http_response_set_kind(resp, HTTP_BODY_TEXT, type);
    resp->is_broken |= body->failed != 0;
    resp->body = *body;
    if (body->is_secret)
        strbuf_init_secret(body, body->max_bytes);
    else
        strbuf_init(body, body->max_bytes);
}

void http_response_set_shared(struct http_response *resp, const char *type, struct http_shared *body) {
    http_shared_ref(body); /* first: it may be the one that is set already */
    http_response_set_kind(resp, HTTP_BODY_SHARED, type);
    resp->shared = body;
}

void http_response_set_static(struct http_response *resp, const char *type, const void *bytes, size_t n) {
    http_response_set_kind(resp, HTTP_BODY_STATIC, type);
    resp->bytes = bytes;
    resp->bytes_count = n;
}

void http_response_set_close(struct http_response *resp) {
    resp->is_closing = true;
}
