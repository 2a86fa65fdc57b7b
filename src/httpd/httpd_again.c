/* The same request once more on the same connection. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Clients that poll send the same bytes again and again, and checking and taking them apart costs more than the answer. So a connection
 * may keep the last request, with the head of its answer; when the next one has the very same bytes, what was found out about the
 * bytes holds, and only the hook `again` looks at what may have changed meanwhile. Behind a proxy a connection carries the requests of
 * many people: all of the bytes are compared each time, in constant time, since a token is among them. */
#include "httpd_private.h"
#include "secret.h"
#include "str.h"

#define FIELDS_MAX 24U
#define TEXT_BYTES_MAX 4096U
#define WAIT_MAX 64U /* requests */

struct kept_field {
    unsigned name_len, value_len;
};

struct http_again {
    void *data;
    void (*destroy)(void *);
    const struct route *route;
    bool was_used;
    /* the answer */
    int status;
    struct strbuf head;
    unsigned head_count;
    struct http_header head_fields[HTTP_RESPONSE_FIELDS_MAX];
    /* the request */
    unsigned fields_count;
    struct kept_field fields[FIELDS_MAX];
    size_t target_len, bytes;
    char text[]; /* target, then name and value of each field, without anything between them */
};

static void again_free(struct http_again *again) {
    if (!again)
        return;
    if (again->data && again->destroy)
        again->destroy(again->data);
    strbuf_done(&again->head);
    secret_wipe(again->text, again->bytes);
    free(again);
}

void httpd_again_drop(struct http_conn *conn) {
    again_free(conn->again);
    conn->again = NULL;
}

/* -- is it the same? ------------------------------------------------------------------------------------------------------ */

static bool has_same_fields(const struct http_request *req, const struct http_again *again) {
    const char *at = again->text + again->target_len;
    for (unsigned i = 0; i < again->fields_count; i++) {
        const struct http_field *field = &req->fields[i];
        const struct kept_field *kept = &again->fields[i];
        if (field->name_len != kept->name_len || memcmp(field->name, at, kept->name_len) != 0)
            return false;
        at += kept->name_len;
        if (!secret_eq(field->value, field->value_len, at, kept->value_len))
            return false;
        at += kept->value_len;
    }
    return true;
}

bool httpd_again_recognize(struct http_request *req) {
    struct http_again *again = req->conn->again;
    if (!again || req->method != HTTP_METHOD_GET || req->is_http10 || req->fields_count != again->fields_count ||
        atomic_load_explicit(&req->httpd->is_stopping, memory_order_relaxed))
        return false;
    size_t n = req->target_len;
    if (n != again->target_len || memcmp(req->path_text, again->text, n) != 0 || /* nothing was decoded yet */
        !has_same_fields(req, again))
        return false;
    req->match.route = again->route;
    return true;
}

/* -- the answer ------------------------------------------------------------------------------------------------------------ */

bool httpd_again_answer(struct http_request *req) {
    struct http_again *again = req->conn->again;
    struct http_response *resp = &req->resp;
    strbuf_add(&resp->text, again->head.data, again->head.len);
    memcpy(resp->fields, again->head_fields, again->head_count * sizeof(resp->fields[0]));
    resp->fields_count = again->head_count;
    resp->status = again->status;
    log_set_request_id(req->id);
    bool is_answered = !resp->text.failed && req->httpd->options.hooks.again(req, again->data, resp) && !resp->is_broken;
    log_set_request_id(NULL);
    again->was_used |= is_answered;
    if (is_answered)
        return true;
    http_response_reset(resp);
    httpd_again_drop(req->conn);
    return false;
}

/* -- keeping ----------------------------------------------------------------------------------------------------------------- */

static size_t count_bytes(const struct http_request *req) {
    size_t n = req->target_len;
    for (unsigned i = 0; i < req->fields_count; i++)
        n += (size_t)req->fields[i].name_len + req->fields[i].value_len;
    return n;
}

static void put(struct http_again *again, const char *text, size_t n) {
    memcpy(again->text + again->bytes, text, n);
    again->bytes += n;
}

static void copy_request(struct http_again *again, const struct http_request *req) {
    again->route = req->match.route;
    again->target_len = req->target_len;
    put(again, req->target, req->target_len);
    if (req->target_cut < req->target_len)
        again->text[req->target_cut] = req->target_cut_char;
    again->fields_count = req->fields_count;
    for (unsigned i = 0; i < req->fields_count; i++) {
        const struct http_field *field = &req->fields[i];
        again->fields[i] = (struct kept_field){field->name_len, field->value_len};
        put(again, field->name, field->name_len);
        put(again, field->value, field->value_len);
    }
}

static bool copy_answer(struct http_again *again, const struct http_response *resp) {
    strbuf_init(&again->head, resp->text.max_bytes);
    strbuf_add(&again->head, resp->text.data, resp->text.len);
    memcpy(again->head_fields, resp->fields, resp->fields_count * sizeof(resp->fields[0]));
    again->head_count = resp->fields_count;
    again->status = resp->status;
    return !again->head.failed;
}

/* What was kept in vain makes the connection wait longer before it keeps something again: one that carries different requests pays nothing. */
static bool is_due(struct http_conn *conn) {
    if (conn->again && !conn->again->was_used)
        conn->again_wait = conn->again_wait * 2 + 1 < WAIT_MAX ? conn->again_wait * 2 + 1 : WAIT_MAX;
    else if (conn->again)
        conn->again_wait = 0;
    if (conn->again)
        conn->again_left = conn->again_wait;
    httpd_again_drop(conn);
    if (!conn->again_left)
        return true;
    conn->again_left--;
    return false;
}

static bool may_be_kept(const struct http_request *req, const struct http_response *resp, size_t bytes) {
    return req->httpd->options.hooks.again && req->method == HTTP_METHOD_GET && !req->is_http10 && !req->is_refused &&
           !req->result && atomic_load(&req->slow_state) == SLOW_NONE && resp->kind == HTTP_BODY_SHARED && !resp->is_closing &&
           req->fields_count <= FIELDS_MAX && bytes <= TEXT_BYTES_MAX;
}

void httpd_again_keep(struct http_request *req, const struct http_response *resp) {
    size_t bytes = req->keep_data ? count_bytes(req) : 0;
    if (!bytes || !may_be_kept(req, resp, bytes) || !is_due(req->conn))
        return;
    struct http_again *again = calloc(1, sizeof(*again) + bytes);
    if (!again)
        return;
    copy_request(again, req);
    if (!copy_answer(again, resp)) {
        again_free(again);
        return;
    }
    again->data = req->keep_data;
    again->destroy = req->keep_destroy;
    req->keep_data = NULL;
    req->conn->again = again;
}
