/* Answers in place of those that the library makes by itself, while it reads a request. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What does not fit into its buffer, or cannot be read, libmicrohttpd 0.9.75 answers with a page of its own, that for a malformed Content-Length with its head twice; then
 * it closes at once, and the kernel's reset takes the answer from a client that still sends. It has no hook for that, but says so in its log first, in the thread
 * and at the moment. So the answer is written there, into the TLS session, and what the library writes afterwards goes nowhere. Without TLS
 * nobody can tell which connection a message is about, and its own answers stay. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "http_response.h"
#include "httpd_private.h"
#include "str.h"

#define ANSWER_BYTES_MAX 8192U

static ssize_t push_nowhere(gnutls_transport_ptr_t ptr, const void *data, size_t n) {
    (void)ptr, (void)data, (void)n;
    errno = EPIPE;
    return -1;
}

static bool describe(unsigned status, const char *why, struct err *err) {
    switch (status) {
    case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE: http_fields_too_large(err); return true;
    case MHD_HTTP_URI_TOO_LONG:
        (void)err_set(err, ERR_URI_TOO_LONG, "the request target is longer than %u bytes", KAAS_HTTP_URI_BYTES_MAX);
        return true;
    case MHD_HTTP_CONTENT_TOO_LARGE:
        (void)err_set(err, ERR_TOO_LARGE, "the request body is larger than anything here takes");
        return true;
    case MHD_HTTP_BAD_REQUEST:
        (void)err_set(err, ERR_INVALID, "%s",
                      strcasestr(why, "content-length") ? "Content-Length is not a number" : "the request is malformed");
        return true;
    default: return false;
    }
}

static void put_head(const struct http_response *resp, struct strbuf *out) {
    const time_t now_s = clock_wall_ms() / 1000;
    struct tm now;
    char date[40];
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT",
                   gmtime_r(&now_s, &now)); /* RFC 9110 5.6.7; no locale is set */
    strbuf_addf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\nContent-Length: %zu\r\n", resp->status,
                MHD_get_reason_phrase_for((unsigned)resp->status), date, resp->body.len);
    for (unsigned i = 0; i < resp->fields_count; i++)
        strbuf_addf(out, "%s: %s\r\n", resp->text.data + resp->fields[i].name, resp->text.data + resp->fields[i].value);
    strbuf_adds(out, "\r\n");
}

/* The request gets its line in the access log when the library is done with it, if it has a target. */
static void make_answer(struct http_request *req, const struct err *err, struct strbuf *out) {
    struct http_response resp;
    if (!req->is_prepared)
        httpd_request_identify(req);
    req->is_prepared = req->is_early = true;
    http_response_init(&resp);
    httpd_answer_make_error(req, err, &resp);
    put_head(&resp, out);
    strbuf_add(out, resp.body.data, resp.body.len);
    req->sent_status = resp.status;
    req->sent_bytes = resp.body.len;
    http_response_done(&resp);
}

/* The session of a connection that nothing has been answered on since its request began; NULL: none. */
static gnutls_session_t session_of(const struct http_conn *conn) {
    const int phase = atomic_load_explicit(&conn->phase, memory_order_relaxed);
    const union MHD_ConnectionInfo *info = conn->httpd->is_tls && (phase == CONN_HEADER || phase == CONN_BODY)
                                               ? MHD_get_connection_info(conn->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)
                                               : NULL;
    return info ? info->tls_session : NULL;
}

bool httpd_early_refuse(struct http_request *req, const struct err *err) {
    struct http_conn *conn = req->conn;
    gnutls_session_t session = session_of(conn);
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init(&out, ANSWER_BYTES_MAX);
    if (!session)
        return false;
    make_answer(req, err, &out);
    if (out.failed)
        return false;
    conn->is_lingering = true;
    (void)gnutls_record_send(session, out.data, out.len); /* it fits into the socket's buffer, or the client does not read */
    (void)gnutls_bye(session, GNUTLS_SHUT_WR);
    gnutls_transport_set_push_function(session, push_nowhere);
    return true;
}

static void answer_early(unsigned status, const char *why) {
    struct http_conn *conn = httpd_recv_current();
    struct err err = {0};
    if (!conn || !session_of(conn) || !describe(status, why, &err))
        return;
    struct http_request *req = conn->request ? conn->request : httpd_request_new(conn, "?");
    if (!req)
        return;
    (void)httpd_early_refuse(req, req->err.code ? &req->err : &err);
    if (req != conn->request)
        http_request_destroy(req);
}

/* What the library says before it answers by itself, with the status and the text of the page. */
#define REFUSAL "Error processing request (HTTP response code is %u ('%s'))"

void httpd_early_log(void *cls, const char *fmt, va_list args) {
    if (str_starts(fmt, REFUSAL)) {
        va_list copy;
        va_copy(copy, args);
        const unsigned status = va_arg(copy, unsigned);
        answer_early(status, va_arg(copy, const char *));
        va_end(copy);
    }
    httpd_notice_log(cls, fmt, args);
}
