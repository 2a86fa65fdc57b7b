/* Fuzz target: the header of a request as it comes in under TLS, in records cut anywhere. SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "httpd_private.h"

#define CUTS 8U /* the first bytes of an input: how long the records are, in turns */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int is_so) {
    if (!is_so)
        abort();
}

/* What the library gets of these bytes; returns how many. */
static size_t receive(struct http_conn *conn, const uint8_t *cuts, const uint8_t *data, size_t n, char *seen) {
    size_t len = 0;
    for (size_t at = 0, i = 0; at < n; i++) {
        const size_t wanted = 1 + (size_t)cuts[i % CUTS] * cuts[i % CUTS] / 8, piece = wanted < n - at ? wanted : n - at;
        memcpy(seen + len, data + at, piece);
        len += httpd_recv_take(conn, seen + len, piece);
        at += piece;
    }
    return len;
}

/* What was held, put back into some line that begins as one of Authorization, is what came. */
static int is_whole(const struct http_request *req, const char *seen, size_t len, const uint8_t *data, size_t n) {
    const struct strbuf *held = &req->authorization;
    for (const char *line = seen, *end; line; line = end ? end + 1 : NULL) {
        const size_t at = (size_t)(line - seen) + req->authorization_at;
        end = memchr(line, '\n', len - (size_t)(line - seen));
        if (at <= len && !memcmp(seen, data, at) && !memcmp(held->data, data + at, held->len) &&
            !memcmp(seen + at, data + at + held->len, len - at) && !strncasecmp(line, "authorization:", 14))
            return len + held->len == n;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct httpd httpd = {0};
    if (n <= CUTS)
        return 0;
    n -= CUTS;
    struct http_conn conn = {.httpd = &httpd, .request = http_request_new(&httpd, 0, "/")};
    if (data[0] == 1) /* others have all the memory that there is for long headers */
        atomic_store(&httpd.press.held_bytes, KAAS_HTTP_HELD_BYTES_MAX);
    char *seen = malloc(n);
    must(conn.request && seen);
    const size_t len = receive(&conn, data, data + CUTS, n, seen);
    if (!conn.request->authorization_at)
        must(len == n && !memcmp(seen, data + CUTS, n));
    else
        must(is_whole(conn.request, seen, len, data + CUTS, n));
    for (size_t i = 0; i < conn.request->authorization.len; i++)
        must(conn.request->authorization.data[i] > ' ' && conn.request->authorization.data[i] <= '~');
    httpd_press_let_go(conn.request);
    http_request_destroy(conn.request);
    free(seen);
    return 0;
}
