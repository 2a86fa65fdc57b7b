/* Connections: who the peer is, what it is waiting for. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "http_request.h"
#include "httpd_private.h"
#include "net_addr.h"

/* -- what one request leaves for the next one of its connection ---------------------------------------------------- */

void *http_request_take_kept(struct http_request *req) {
    void *data = req->conn ? req->conn->kept : NULL;
    if (data)
        req->conn->kept = NULL;
    return data;
}

static void httpd_kept_drop(struct http_conn *conn) {
    if (conn->kept && conn->kept_destroy)
        conn->kept_destroy(conn->kept);
    conn->kept = NULL;
}

/* Whatever was there before was for this request, which did not want it. */
void httpd_conn_keep(struct http_request *req) {
    struct http_conn *conn = req->conn;
    httpd_kept_drop(conn);
    conn->kept = req->next_data;
    conn->kept_destroy = req->next_destroy;
    req->next_data = NULL;
}

/* -- who the peer is, what the connection waits for ------------------------------------------------------------ */

struct http_conn *httpd_conn_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static int64_t phase_limit_ms(const struct httpd *httpd, enum conn_phase phase) {
    switch (phase) {
    case CONN_HEADER: return httpd->options.header_timeout_ms;
    case CONN_BODY: return httpd->options.body_timeout_ms;
    case CONN_SEND: return httpd->options.send_timeout_ms;
    case CONN_WORK: break;
    }
    return 0;
}

static void set_deadline(struct http_conn *conn, enum conn_phase phase, int64_t limit_ms) {
    atomic_store_explicit(&conn->phase, phase, memory_order_relaxed);
    if (limit_ms) {
        int64_t now_ms = clock_mono_coarse_ms();
        atomic_store_explicit(&conn->since_ms, now_ms, memory_order_relaxed);
        atomic_store_explicit(&conn->deadline_ms, now_ms + limit_ms, memory_order_relaxed);
    } else {
        atomic_store_explicit(&conn->deadline_ms, CONN_NO_DEADLINE, memory_order_relaxed);
    }
}

void httpd_conn_enter(struct http_conn *conn, enum conn_phase phase) {
    int64_t limit_ms = phase_limit_ms(conn->httpd, phase);
    conn->header_bytes = 0;
    /* After an answer the connection may idle first; the library cuts a silent one at the idle limit. */
    if (phase == CONN_HEADER)
        limit_ms += conn->httpd->options.idle_timeout_ms;
    set_deadline(conn, phase, limit_ms);
}

static void find_ip_peer(struct http_conn *conn, const struct sockaddr *addr) {
    uint8_t raw[16] = {[10] = 0xff, [11] = 0xff};
    if (addr->sa_family == AF_INET)
        memcpy(raw + 12, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
    else
        memcpy(raw, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, 16);
    net_addr_format(raw, conn->peer);
    conn->is_proxy = net_block_has(conn->httpd->proxies, conn->httpd->proxies_count, raw);
    httpd_press_begin(conn, raw);
}

static void find_peer(struct http_conn *conn) {
    struct ucred cred;
    socklen_t len = sizeof(cred);
    if (conn->httpd->is_unix) {
        (void)snprintf(conn->peer, sizeof(conn->peer), "unix");
        conn->is_proxy = conn->httpd->trusts_unix;
        conn->has_uid = getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0;
        conn->uid = conn->has_uid ? cred.uid : (uid_t)-1;
        conn->pid = conn->has_uid ? cred.pid : 0;
        httpd_press_begin_uid(conn);
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info && info->client_addr)
        find_ip_peer(conn, info->client_addr);
}

static struct http_conn *conn_new(struct httpd *httpd, struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_conn *conn = calloc(1, sizeof(*conn));
    if (!info || !conn) {
        free(conn);
        return NULL;
    }
    conn->httpd = httpd;
    conn->mhd = mhd;
    conn->fd = info->connect_fd;
    find_peer(conn);
    set_deadline(conn, CONN_HEADER, httpd->options.header_timeout_ms);
    if (httpd->is_tls)
        httpd_handshake_begin(conn);
    return conn;
}

static void conn_begin(struct httpd *httpd, struct MHD_Connection *mhd, void **context) {
    struct http_conn *conn = conn_new(httpd, mhd);
    *context = conn;
    if (!conn)
        return; /* its requests will be refused */
    atomic_fetch_add(&httpd->connections, 1);
    pthread_mutex_lock(&httpd->lock);
    conn->next = httpd->conns;
    if (conn->next)
        conn->next->prev = conn;
    httpd->conns = conn;
    pthread_mutex_unlock(&httpd->lock);
    if (atomic_load(&httpd->is_stopping))
        (void)shutdown(conn->fd, SHUT_RDWR);
}

/* The library closes the descriptor after this call, so until then the sweeper may still use it. */
static void conn_end(struct httpd *httpd, struct http_conn *conn) {
    httpd_recv_forget(conn);
    httpd_kept_drop(conn);
    httpd_press_end(conn);
    pthread_mutex_lock(&httpd->lock);
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        httpd->conns = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    if (conn->is_lingering)
        httpd_sweep_linger(httpd, conn->fd);
    bool is_kept = conn->is_kept;
    if (is_kept) {
        conn->next = httpd->ended;
        httpd->ended = conn;
    }
    pthread_mutex_unlock(&httpd->lock); /* from here on a kept one is the sweeper's, who frees it */
    atomic_fetch_sub(&httpd->connections, 1);
    if (!is_kept)
        free(conn);
}

void httpd_conn_notify(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        conn_begin(cls, mhd, context);
    else if (*context)
        conn_end(cls, *context);
}
