/* TLS: head and body of an answer leave in one system call. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libmicrohttpd 0.9.75 gives the head to GnuTLS, then the body, and GnuTLS sends each as a record by itself: twice the way through the
 * kernel, and a packet for 500 bytes. Sending is a good half of what an answer costs. So the record of the head is kept here until that of the
 * body comes, which the library sends next in any case; then both go together. Short sends and full sockets look to GnuTLS as they would without. */
#include <errno.h>
#include <sys/uio.h>

#include "httpd_private.h"

#define HELD_BYTES_MAX 4096U
#define PIECES_MAX 16

struct http_held {
    size_t sent, len;
    char bytes[];
};

static size_t bytes_of(const giovec_t *pieces, int count) {
    size_t n = 0;
    for (int i = 0; i < count; i++)
        n += pieces[i].iov_len;
    return n;
}

/* False if it is too long, or without memory: then it is sent at once. */
static bool hold(struct http_conn *conn, const giovec_t *pieces, int count) {
    size_t n = bytes_of(pieces, count);
    struct http_held *held = n <= HELD_BYTES_MAX ? malloc(sizeof(*held) + n) : NULL;
    if (!held)
        return false;
    held->sent = held->len = 0;
    for (int i = 0; i < count; held->len += pieces[i++].iov_len)
        memcpy(held->bytes + held->len, pieces[i].iov_base, pieces[i].iov_len);
    conn->held = held;
    return true;
}

/* MSG_NOSIGNAL as GnuTLS itself does: a client that is gone is an error, not a signal. */
static ssize_t send_pieces(int fd, struct iovec *pieces, size_t count) {
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Of what went out, what GnuTLS asked for. */
static ssize_t settle(struct http_conn *conn, size_t sent) {
    struct http_held *held = conn->held;
    size_t left = held->len - held->sent;
    if (sent <= left) { /* nothing of it yet, and the socket is full */
        held->sent += sent;
        errno = EAGAIN;
        return -1;
    }
    httpd_send_drop(conn);
    return (ssize_t)(sent - left);
}

static ssize_t push(gnutls_transport_ptr_t ptr, const giovec_t *pieces, int count) {
    struct http_conn *conn = ptr;
    struct iovec all[PIECES_MAX];
    size_t n = 0;
    bool holds = conn->holds_next && !conn->held;
    conn->holds_next = false;
    if (holds && hold(conn, pieces, count))
        return (ssize_t)conn->held->len;
    if (conn->held)
        all[n++] = (struct iovec){conn->held->bytes + conn->held->sent, conn->held->len - conn->held->sent};
    for (int i = 0; i < count && n < PIECES_MAX; i++)
        all[n++] = (struct iovec){pieces[i].iov_base, pieces[i].iov_len};
    ssize_t sent = send_pieces(conn->fd, all, n);
    return sent > 0 && conn->held ? settle(conn, (size_t)sent) : sent;
}

void httpd_send_begin(struct http_conn *conn, gnutls_session_t session) {
    gnutls_transport_set_ptr2(session, conn, conn);
    gnutls_transport_set_vec_push_function(session, push);
}

void httpd_send_expect(struct http_request *req, size_t body_bytes) {
    req->conn->holds_next = req->is_tls && body_bytes && strcmp(req->method_name, "HEAD") != 0;
}

void httpd_send_drop(struct http_conn *conn) {
    free(conn->held);
    conn->held = NULL;
    conn->holds_next = false;
}
