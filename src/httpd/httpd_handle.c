/* The library's callbacks, in the order they come: target, request (headers, body parts, end), completed. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An answer queued at the headers makes the library close the connection, so a refusal waits for the end of the request unless there
 * is a body that should not be read. All calls for one connection come from one server thread. */
#include "http_response.h"
#include "httpd_private.h"
#include "secret.h"
#include "str.h"

#define HOLD_MS 1000

void *httpd_handle_target(void *cls, const char *target, struct MHD_Connection *mhd) {
    struct httpd *httpd = cls;
    struct http_conn *conn = httpd_conn_of(mhd);
    struct http_request *req = conn ? httpd_request_new(conn, target) : NULL;
    if (!req)
        return NULL; /* httpd_handle_request closes the connection */
    conn->request = req;
    httpd_recv_note(conn);
    atomic_fetch_add_explicit(&httpd->requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&httpd->requests_alive, 1, memory_order_relaxed);
    return req;
}

/* -- the head ---------------------------------------------------------------------------------------------------------------- */

/* The library ends each text at its first NUL, and the whole head at a line that begins with NUL or colon. Another server may read on there
 * and see another request (RFC 9112 11.2). Nothing tells how long a text really was, but all of them lie in the library's buffer as they
 * came, with NULs in the place of blank, colon and line end: so each has to begin where the one before it ends. That of a folded field (RFC 9112
 * 5.2) was made anew elsewhere. */
struct head {
    struct http_request *req;
    const char *end; /* of what is accounted for */
    bool has_gap;
};

static bool is_behind(const char *end, const char *next, uintptr_t min, uintptr_t max) {
    const uintptr_t gap = (uintptr_t)next - (uintptr_t)end;
    return gap >= min && gap <= max;
}

/* The NULs of LF or CRLF. Newer versions of the library, which refuse a NUL by themselves, cut trailing blanks off and leave what is behind. */
static bool is_next_line(const char *end, const char *next) {
    const char *at = end + 1;
    if (is_behind(end, next, 1, 2))
        return true;
    if (!is_behind(end, next, 3, KAAS_HTTP_HEADER_BYTES_MAX))
        return false;
    at += strspn(at, " \t");
    return at + strspn(at, "\r\n") == next;
}

static enum MHD_Result collect_field(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_len, const char *value,
                                     size_t value_len) {
    struct head *head = cls;
    (void)kind;
    head->has_gap |= !is_next_line(head->end, name);
    value = value ? value : name + name_len;
    head->end = value + value_len;
    head->req->result =
        http_fields_add(head->req, (struct http_field){name, value, (unsigned)name_len, (unsigned)value_len, 0}, &head->req->err);
    return head->req->result ? MHD_NO : MHD_YES;
}

/* What the library's memory holds beside the head of the answer, of which that of a page is the largest: when that does not fit, it closes without a word. */
#define FIELD_INDEX_BYTES 64U
#define HEAD_BYTES_MAX (KAAS_HTTP_CONNECTION_MEMORY_BYTES - 1536U)

/* The library takes the first line of cookies apart, in a copy. */
static size_t index_bytes(const struct http_request *req) {
    const char *cookies = http_request_header(req, "Cookie");
    const int count = cookies ? MHD_get_connection_values(req->conn->mhd, MHD_COOKIE_KIND, NULL, NULL) : 0;
    return (req->fields_count + (count > 0 ? (size_t)count : 0)) * FIELD_INDEX_BYTES + (cookies ? strlen(cookies) : 0);
}

static void collect_head(struct http_request *req, const char *method, const char *url, const char *version) {
    struct head head = {.req = req, .end = version + strlen(version)};
    const char *end; /* behind the empty line */
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(req->conn->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    head.has_gap = !is_behind(method + strlen(method), url, 1, 1) || !is_behind(url + req->target_len, version, 1, 1);
    (void)MHD_get_connection_values_n(req->conn->mhd, MHD_HEADER_KIND, collect_field, &head);
    end = info ? method + info->header_size : head.end;
    head.has_gap |= !is_next_line(head.end, end - 1) && !is_next_line(head.end, end - 2);
    if (head.has_gap && !req->result)
        req->result =
            err_set(&req->err, ERR_INVALID,
                    "the request line or the header has a NUL, two blanks in a row, or a field that goes on in the next line");
    if (!req->result && info && info->header_size + index_bytes(req) > HEAD_BYTES_MAX)
        req->result = http_fields_too_large(&req->err);
    if (!req->result)
        req->result = http_fields_restore(req, &req->err);
    if (!req->result)
        req->result = http_fields_join(req, &req->err);
}

static int check_body(const struct http_request *req, bool has_body, int64_t body_bytes, struct err *err) {
    size_t max = req->match.route ? req->match.route->body_bytes_max : 0;
    if (!has_body)
        return 0;
    if (!max)
        return err_set(err, ERR_INVALID, "%.16s takes no request body here", req->method_name);
    if (body_bytes > (int64_t)max)
        return err_set(err, ERR_TOO_LARGE, "the request body is larger than %zu bytes", max);
    return 0;
}

static int accept_request(struct http_request *req, bool has_body, int64_t body_bytes) {
    struct httpd *httpd = req->httpd;
    const struct route *route;
    if (atomic_load_explicit(&httpd->is_stopping, memory_order_relaxed))
        return err_set(&req->err, ERR_UNAVAILABLE, "the service is stopping");
    int r = http_target_parse(req, httpd->routes, &req->err);
    r = r ? r : check_body(req, has_body, body_bytes, &req->err);
    route = req->match.route;
    if (r || !route)
        return r;
    if (route->options & ROUTE_SECRET_BODY)
        strbuf_init_secret(&req->body, route->body_bytes_max);
    else
        strbuf_init(&req->body, route->body_bytes_max);
    return httpd->options.hooks.before ? httpd->options.hooks.before(req, &req->err) : 0;
}

/* A result must be described, whatever a handler forgot. */
static void httpd_handle_set_result(struct http_request *req, int r) {
    req->result = r;
    if (r && !req->err.code)
        (void)err_set(&req->err, r, "%s", err_default_text(r));
}

static enum MHD_Result handle_headers(struct http_request *req, const char *method, const char *url, const char *version) {
    bool has_body = true;
    int64_t body_bytes = -1;
    req->is_prepared = true;
    req->is_http10 = str_eq(version, "HTTP/1.0");
    http_request_set_method(req, method);
    collect_head(req, method, url, version);
    httpd_request_identify(req);
    if (!req->result)
        httpd_handle_set_result(req, http_target_check(req, &req->err));
    if (!req->result)
        httpd_handle_set_result(req, http_fields_check(req, &has_body, &body_bytes, &req->err));
    if (req->result == ERR_HEADERS_TOO_LARGE && httpd_early_refuse(req, &req->err))
        return MHD_NO;
    bool is_doubtful = req->result != 0; /* where this request ends is not certain */
    if (!req->result)
        httpd_handle_set_result(req, accept_request(req, has_body, body_bytes));
    httpd_conn_enter(req->conn, has_body ? CONN_BODY : CONN_WORK);
    if (!req->result || (!has_body && !is_doubtful))
        return MHD_YES;
    req->is_refused = true;
    req->conn->is_lingering = true;
    return httpd_answer(req);
}

/* Too much: the rest is read and dropped, within reason, because the library takes no answer in the middle of a body. */
static enum MHD_Result httpd_handle_drop_part(struct http_request *req, size_t n) {
    req->body_dropped_bytes += n;
    return req->body_dropped_bytes <= HTTP_DISCARD_BYTES_MAX ? MHD_YES : MHD_NO;
}

static enum MHD_Result httpd_handle_part(struct http_request *req, const char *part, size_t *n) {
    enum MHD_Result ok = MHD_YES;
    size_t got = *n;
    if (!req->result && !httpd_press_hold(req, req->body.len + got)) {
        httpd_handle_set_result(req, err_set(&req->err, ERR_BUSY, "too many large requests at a time; try again shortly"));
        strbuf_done(&req->body);
    }
    if (!req->result)
        strbuf_add(&req->body, part, got);
    /* The library's buffer is plain writable memory that nobody reads again; without this a password would stay in it. */
    if (req->body.is_secret)
        secret_wipe((void *)(uintptr_t)part, got);
    *n = 0;
    if (req->result)
        return httpd_handle_drop_part(req, got);
    if (req->body.failed == ERR_TOO_LARGE) {
        httpd_handle_set_result(
            req, err_set(&req->err, ERR_TOO_LARGE, "the request body is larger than %zu bytes", req->body.max_bytes));
        ok = httpd_handle_drop_part(req, got);
    } else if (req->body.failed) {
        httpd_handle_set_result(req, err_set(&req->err, ERR_NOMEM, "out of memory"));
    }
    return ok;
}

static void answer_options(struct http_request *req) {
    char allow[ROUTE_ALLOW_BYTES];
    route_format_allow(req->match.allowed, allow);
    http_response_set_status(&req->resp, 204);
    http_response_set_header(&req->resp, "Allow", allow);
}

/* True if the request goes slow. */
static bool run_fast(struct http_request *req) {
    const struct route *route = req->match.route;
    if (!route) {
        answer_options(req);
        return false;
    }
    log_set_request_id(req->id);
    int r = route->handler(req, &req->resp, &req->err);
    log_set_request_id(NULL);
    if (r == HTTP_GO_SLOW && req->slow_fn)
        return true;
    httpd_handle_set_result(req, r > 0 ? ERR_INTERNAL : r);
    return false;
}

/* It is refused, but not at once: who asks over and over gets one answer a second on each connection, and that costs next to nothing. */
static void hold_back(struct http_request *req) {
    struct httpd *httpd = req->httpd;
    atomic_fetch_add(&httpd->paced, 1);
    httpd_notice_note(httpd, NOTICE_ADDRESS_RATE);
    if (!req->result) {
        httpd_handle_set_result(req, err_set(&req->err, ERR_TOO_MANY, "more than %u requests a second come from this address",
                                             httpd->options.requests_per_client_max));
        err_remedy(&req->err, "ask less often; to wait for a change of the list use watch=");
    }
    httpd_slow_hold(req, HOLD_MS);
}

static enum MHD_Result httpd_handle_end(struct http_request *req) {
    if (atomic_load_explicit(&req->slow_state, memory_order_acquire) != SLOW_NONE) {
        httpd_slow_end(req);
        return atomic_load(&req->slow_state) == SLOW_GONE ? MHD_NO : httpd_answer(req);
    }
    httpd_conn_enter(req->conn, CONN_WORK);
    if (!httpd_press_admits(req->conn)) {
        hold_back(req);
        return MHD_YES;
    }
    if (!req->result && run_fast(req)) {
        httpd_slow_start(req);
        return MHD_YES;
    }
    return httpd_answer(req);
}

enum MHD_Result httpd_handle_request(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                     const char *version, const char *upload, size_t *upload_bytes, void **context) {
    struct http_request *req = *context;
    (void)cls, (void)mhd;
    if (!req)
        return MHD_NO;
    httpd_recv_note(req->conn);
    if (!req->is_prepared)
        return handle_headers(req, method, url, version);
    if (*upload_bytes)
        return httpd_handle_part(req, upload, upload_bytes);
    return httpd_handle_end(req);
}

void httpd_handle_completed(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code) {
    struct httpd *httpd = cls;
    struct http_request *req = *context;
    (void)mhd;
    *context = NULL;
    if (!req)
        return;
    req->is_delivered = code == MHD_REQUEST_TERMINATED_COMPLETED_OK || req->is_early;
    req->conn->request = NULL;
    httpd_recv_note(req->conn);
    if (req->is_suspended) /* resumed, but the connection broke before it was asked for the answer */
        httpd_slow_end(req);
    httpd_conn_enter(req->conn, CONN_HEADER);
    req->conn = NULL;
    httpd_request_release(req);
    atomic_fetch_add_explicit(&httpd->completed, 1, memory_order_release);
}
