/* What GnuTLS reads from the socket: TLS handshakes wait for the client without burning a core, headers end. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * With epoll, libmicrohttpd 0.9.75 forgets to note that a handshake is waiting for bytes: as long as one is, its server thread asks
 * again and again. One client with half a ClientHello so takes a whole core, and a busy server's honest handshakes get slow. So we
 * read for GnuTLS ourselves: when there is nothing to read, the connection is suspended ("parked") and the sweeper's thread waits for
 * its socket. Parked connections have the header deadline like any other. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "httpd_private.h"
#include "limits.h"

#define RECORD_WIRE_BYTES (17U * 1024U) /* the largest TLS record */
#define HEADER_WIRE_BYTES_MAX (KAAS_HTTP_CONNECTION_MEMORY_BYTES + KAAS_HTTP_HEADER_BYTES_MAX + 2 * RECORD_WIRE_BYTES)

void httpd_handshake_ready(struct http_conn *conn) {
    (void)epoll_ctl(conn->httpd->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
    if (!atomic_exchange(&conn->is_parked, false))
        return; /* somebody else ends the parking, and resumes */
    atomic_fetch_sub(&conn->httpd->parked, 1);
    MHD_resume_connection(conn->mhd);
}

/* In a server thread, inside the library's call of gnutls_handshake. */
static void httpd_handshake_park(struct http_conn *conn) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = conn};
    MHD_suspend_connection(conn->mhd);
    atomic_fetch_add(&conn->httpd->parked, 1);
    atomic_store(&conn->is_parked, true);
    if (epoll_ctl(conn->httpd->epoll_fd, EPOLL_CTL_ADD, conn->fd, &event) != 0 || atomic_load(&conn->httpd->is_stopping))
        httpd_handshake_ready(conn); /* the stop may have looked before we were parked */
}

/* The library looks through an unfinished header line from its start each time a little more has come, a millisecond for one that fills its
 * buffer. A header that does not fit there is refused with an answer; what is longer still was cut into many small records. */
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

static ssize_t httpd_handshake_pull(gnutls_transport_ptr_t ptr, void *data, size_t n) {
    struct http_conn *conn = ptr;
    ssize_t got = recv(conn->fd, data, n, 0);
    if (got < 0 && errno == EAGAIN && conn->is_handshaking) {
        if (!atomic_load(&conn->is_parked))
            httpd_handshake_park(conn);
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
    struct http_conn *conn = gnutls_transport_get_ptr(session);
    (void)type, (void)when, (void)message;
    if (incoming)
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
    if (conn->httpd->options.asks_client_certificate)
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST); /* see httpd_tls.c */
    httpd_recv_begin(session, conn);
    gnutls_transport_set_pull_function(session, httpd_handshake_pull);
}

void httpd_handshake_resume_all(struct httpd *httpd) {
    pthread_mutex_lock(&httpd->lock);
    for (struct http_conn *conn = httpd->conns; conn; conn = conn->next)
        if (atomic_load(&conn->is_parked))
            httpd_handshake_ready(conn);
    pthread_mutex_unlock(&httpd->lock);
}
