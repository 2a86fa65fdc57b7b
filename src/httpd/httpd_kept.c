/* What one request leaves for the next one of its connection. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "http_kept.h"

#include "httpd_private.h"

void http_request_keep_for_next(struct http_request *req, void *data, void (*destroy)(void *)) {
    if (req->next_data && req->next_destroy)
        req->next_destroy(req->next_data);
    req->next_data = data;
    req->next_destroy = destroy;
}

void *http_request_take_kept(struct http_request *req) {
    void *data = req->conn ? req->conn->kept : NULL;
    if (data)
        req->conn->kept = NULL;
    return data;
}

void httpd_kept_drop(struct http_conn *conn) {
    if (conn->kept && conn->kept_destroy)
        conn->kept_destroy(conn->kept);
    conn->kept = NULL;
}

/* Whatever was there before was for this request, which did not want it. */
void httpd_kept_take(struct http_request *req) {
    struct http_conn *conn = req->conn;
    httpd_kept_drop(conn);
    conn->kept = req->next_data;
    conn->kept_destroy = req->next_destroy;
    req->next_data = NULL;
}
