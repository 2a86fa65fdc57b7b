/* TLS: a record is received by one system call. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GnuTLS asks for the five bytes of a record's head, then for the rest: two ways through the kernel for a request of a few hundred bytes. So more
 * is taken than was asked for, and the rest is kept here. What is left over is never waited for in vain: libmicrohttpd 0.9.75 holds a TLS
 * connection ready to be read, and asks again, until it is told EAGAIN; and that is told only with nothing kept and nothing in the socket. Not in a
 * handshake: there the socket alone says whether the client has to speak (httpd_handshake.c). */
#include <sys/socket.h>

#include "httpd_private.h"

#define AHEAD_BYTES 2048U /* a list request with its token is about 1 KB; larger asks go past */

struct http_ahead {
    size_t at, len;
    char bytes[AHEAD_BYTES];
};

static ssize_t give(struct http_ahead *ahead, void *data, size_t n) {
    size_t left = ahead->len - ahead->at;
    if (n > left)
        n = left;
    memcpy(data, ahead->bytes + ahead->at, n);
    ahead->at += n;
    return (ssize_t)n;
}

/* False without memory: then bytes are received as they are asked for. */
static bool has_buffer(struct http_conn *conn) {
    if (!conn->ahead)
        conn->ahead = calloc(1, sizeof(*conn->ahead));
    return conn->ahead;
}

ssize_t httpd_recv(struct http_conn *conn, void *data, size_t n, size_t *fresh) {
    struct http_ahead *ahead = conn->ahead;
    *fresh = 0;
    if (ahead && ahead->at < ahead->len)
        return give(ahead, data, n);
    const bool is_ahead = !conn->is_handshaking && n < AHEAD_BYTES && has_buffer(conn);
    ssize_t got = is_ahead ? recv(conn->fd, conn->ahead->bytes, AHEAD_BYTES, 0) : recv(conn->fd, data, n, 0);
    if (got <= 0)
        return got;
    *fresh = (size_t)got;
    if (!is_ahead)
        return got;
    conn->ahead->at = 0;
    conn->ahead->len = (size_t)got;
    return give(conn->ahead, data, n);
}

void httpd_recv_drop(struct http_conn *conn) {
    free(conn->ahead);
    conn->ahead = NULL;
}
