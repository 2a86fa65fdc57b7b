/* From a handler's result, or an error, to bytes on the wire. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "http_response.h"
#include "httpd_private.h"
#include "secret.h"

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

static struct MHD_Response *httpd_answer_from_text(struct http_response *resp, size_t *n) {
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
        return httpd_answer_from_text(resp, n);
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

static void make_failure(struct http_request *req, int code, const char *text, struct http_response *resp) {
    struct err err = {0};
    (void)err_set(&err, code, "%s", text);
    make_error(req, &err, resp);
}

/* Bytes in memory for as long as the client takes to take them. Those of one list in several answers count several times. */
static size_t body_bytes(const struct http_response *resp) {
    size_t n = resp->kind == HTTP_BODY_TEXT ? resp->body.len : 0;
    if (resp->kind == HTTP_BODY_SHARED)
        (void)http_shared_data(resp->shared, &n);
    return n;
}

static enum MHD_Result httpd_answer_queue(struct http_request *req, struct http_response *resp) {
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

static void httpd_answer_finish(struct http_request *req, struct http_response *resp) {
    const struct httpd_hooks *hooks = &req->httpd->options.hooks;
    if (hooks->headers)
        hooks->headers(req, resp);
    if (!resp->is_broken)
        return;
    make_failure(req, ERR_INTERNAL, "internal error", resp);
    if (hooks->headers)
        hooks->headers(req, resp);
}

void httpd_answer_make_error(struct http_request *req, const struct err *err, struct http_response *resp) {
    make_error(req, err, resp);
    httpd_answer_finish(req, resp);
}

/* After an expiry the worker pool may still be writing to req->resp and req->err: then the answer is made beside them. */
enum MHD_Result httpd_answer(struct http_request *req) {
    int state = atomic_load_explicit(&req->slow_state, memory_order_acquire);
    struct http_response own;
    struct http_response *resp = &req->resp;
    if (state >= SLOW_EXPIRED) {
        http_response_init(&own);
        resp = &own;
        make_failure(req, state == SLOW_STOPPED ? ERR_CANCELED : ERR_TIMEOUT,
                     state == SLOW_STOPPED ? "the service is stopping" : "the work was not done in time", resp);
    } else if (req->result) {
        make_error(req, &req->err, resp);
    }
    httpd_answer_finish(req, resp);
    if (!httpd_press_hold(req, body_bytes(resp))) {
        make_failure(req, ERR_BUSY, "too many large answers are on their way; try again shortly, or ask for smaller pages", resp);
        httpd_answer_finish(req, resp);
    }
    if (state < SLOW_EXPIRED)
        httpd_conn_keep(req);
    enum MHD_Result ok = httpd_answer_queue(req, resp);
    if (resp == &own)
        http_response_done(&own);
    return ok;
}
