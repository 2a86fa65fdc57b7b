/* A request of a connection: its begin, who asks, its end. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "httpd_private.h"
#include "uuid.h"

#define ID_PREFIX_BYTES 18U /* of a UUID: up to its third hyphen */

struct http_request *httpd_request_new(struct http_conn *conn, const char *target) {
    struct httpd *httpd = conn->httpd;
    struct http_request *req = http_request_new(httpd, httpd->options.room_bytes, target);
    if (!req)
        return NULL;
    req->conn = conn;
    req->app = httpd->options.app;
    req->is_tls = httpd->is_tls;
    return req;
}

static bool is_good_id(const char *id) {
    size_t n = id ? strlen(id) : 0;
    return n > 0 && n < HTTP_REQUEST_ID_BYTES &&
           n == strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-");
}

/* A random prefix for each thread and a count: unique without asking the kernel for each request. */
static void make_id(char out[HTTP_REQUEST_ID_BYTES]) {
    static _Thread_local char prefix[UUID_TEXT_BYTES];
    static _Thread_local uint32_t count;
    if (!count++)
        uuid_new(prefix);
    memcpy(out, prefix, ID_PREFIX_BYTES);
    out[ID_PREFIX_BYTES] = '-';
    for (unsigned i = 0; i < 8; i++)
        out[ID_PREFIX_BYTES + 1 + i] = "0123456789abcdef"[count >> (28 - 4 * i) & 15];
    out[ID_PREFIX_BYTES + 9] = '\0';
}

/* Of a header that was not taken over whole nothing is believed: what a proxy wrote into it may be missing. */
void httpd_request_identify(struct http_request *req) {
    const struct http_conn *conn = req->conn;
    const bool is_proxy = conn->is_proxy && !req->result;
    const char *id = is_proxy || conn->httpd->is_unix ? http_request_header(req, "X-Request-ID") : NULL;
    const char *forwarded = is_proxy ? http_request_header(req, "X-Forwarded-For") : NULL;
    if (is_good_id(id))
        (void)snprintf(req->id, sizeof(req->id), "%s", id);
    else
        make_id(req->id);
    memcpy(req->client, conn->peer, sizeof(req->client));
    if (forwarded)
        http_client_behind(forwarded, conn->httpd->proxies, conn->httpd->proxies_count, req->client);
    req->has_uid = conn->has_uid;
    req->uid = conn->uid;
    req->pid = conn->pid;
}

void httpd_request_release(struct http_request *req) {
    struct httpd *httpd = req->httpd;
    if (!http_request_unref(req))
        return;
    struct httpd_outcome outcome = {
        .status = req->sent_status,
        .body_bytes = req->sent_bytes,
        .duration_ms = clock_mono_ms() - req->started_ms,
        .is_delivered = req->is_delivered,
        .is_abandoned = http_request_is_abandoned(req),
    };
    if (req->is_prepared && httpd->options.hooks.after)
        httpd->options.hooks.after(req, &outcome);
    httpd_press_let_go(req);
    http_request_destroy(req);
    atomic_fetch_sub_explicit(&httpd->requests_alive, 1, memory_order_release);
}
