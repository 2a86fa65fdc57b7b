/* TLS handshakes that wait for the client, without burning a core. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * With epoll, libmicrohttpd 0.9.75 forgets to note that a handshake is waiting for bytes: as long as one is, its server thread asks
 * again and again. One client with half a ClientHello so takes a whole core, and a busy server's honest handshakes get slow. So we
 * read for GnuTLS ourselves: when there is nothing to read, the connection is suspended ("parked") and the sweeper's thread waits for
 * its socket. Parked connections have the header deadline like any other. */
#include <errno.h>
#include <sys/epoll.h>

#include "httpd_private.h"
#include "limits.h"

#define RECORD_WIRE_BYTES (17U * 1024U) /* the largest TLS record */
#define HEADER_WIRE_BYTES_MAX (KAAS_HTTP_URI_BYTES_MAX + KAAS_HTTP_HEADER_BYTES_MAX + RECORD_WIRE_BYTES)

/* True for the one caller that ends the parking: it has to resume. */
static bool take_out(struct http_conn *conn) {
    return atomic_exchange(&conn->is_parked, false);
}

static void resume(struct http_conn *conn) {
    (void)epoll_ctl(conn->httpd->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
    if (!take_out(conn))
        return;
    atomic_fetch_sub(&conn->httpd->parked, 1);
    MHD_resume_connection(conn->mhd);
}

/* In a server thread, inside the library's call of gnutls_handshake. */
static void park(struct http_conn *conn) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = conn};
    MHD_suspend_connection(conn->mhd);
    atomic_fetch_add(&conn->httpd->parked, 1);
    atomic_store(&conn->is_parked, true);
    if (epoll_ctl(conn->httpd->epoll_fd, EPOLL_CTL_ADD, conn->fd, &event) != 0 || atomic_load(&conn->httpd->is_stopping))
        resume(conn); /* the stop may have looked before we were parked */
}

/* The library looks through an unfinished header line from its start each time a little more has come, a millisecond for one that fills its
 * buffer. What is longer than any allowed header, with the record it may share with the request before, is not read. */
static bool is_endless(struct http_conn *conn, size_t more) {
    if (conn->is_handshaking || atomic_load_explicit(&conn->phase, memory_order_relaxed) != CONN_HEADER)
        return false;
    conn->header_bytes += more;
    if (conn->header_bytes <= HEADER_WIRE_BYTES_MAX)
        return false;
    atomic_fetch_add(&conn->httpd->cut_header, 1);
    httpd_notice_note(conn->httpd, NOTICE_BAD_REQUEST);
    return true;
}

static ssize_t pull(gnutls_transport_ptr_t ptr, void *data, size_t n) {
    struct http_conn *conn = ptr;
    ssize_t got = recv(conn->fd, data, n, 0);
    if (got < 0 && errno == EAGAIN && conn->is_handshaking) {
        if (!atomic_load(&conn->is_parked))
            park(conn);
        errno = EAGAIN;
    }
    if (got > 0 && is_endless(conn, (size_t)got)) {
        errno = ECONNRESET;
        return -1;
    }
    return got;
}

/* The client's Finished is the last message that a server waits for, in TLS 1.2 and 1.3. */
static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming, const gnutls_datum_t *message) {
    struct http_conn *conn = httpd_conn_of(gnutls_session_get_ptr(session));
    (void)type, (void)when, (void)message;
    if (conn && incoming)
        conn->is_handshaking = false;
    return 0;
}

void httpd_handshake_begin(struct http_conn *conn) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (!info || !info->tls_session)
        return;
    gnutls_session_t session = info->tls_session;
    conn->is_handshaking = true;
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, on_finished);
    httpd_peer_ask(conn, session);
    gnutls_transport_set_ptr2(session, conn, (gnutls_transport_ptr_t)(intptr_t)conn->fd);
    gnutls_transport_set_pull_function(session, pull);
}

void httpd_handshake_ready(struct http_conn *conn) {
    resume(conn);
}

void httpd_handshake_resume_all(struct httpd *httpd) {
    pthread_mutex_lock(&httpd->lock);
    for (struct http_conn *conn = httpd->conns; conn; conn = conn->next)
        if (atomic_load(&conn->is_parked))
            resume(conn);
    pthread_mutex_unlock(&httpd->lock);
}
