/* What has come in under TLS, on its way from GnuTLS to the library. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library gives each connection memory of one size, zeroes all of it for each request, and has no hook in which a header could be read by somebody else: memory for the
 * Kerberos ticket of somebody in a thousand groups would be paid for by each request of everybody (docs/design/http.md). Nor does it say which connection its messages are
 * about. Both is known here: libmicrohttpd reads with gnutls_record_recv, and as that of a program goes before that of a library, it finds this one. Of a long Authorization
 * line, which the library shows to us as unfinished, the middle is kept in the request and never seen by it. What is taken out is visible ASCII within a line: where lines,
 * fields and requests begin and end is for the library alone to say. */
#include <dlfcn.h>
#include <string.h>
#include <strings.h>

#include "httpd_private.h"

#define LONG_BYTES 4096U /* of a line that the library has in its memory */
#define LONG_NAME "authorization:"
_Static_assert(sizeof(LONG_NAME) - 1 == sizeof(((struct http_line *)NULL)->begin), "the begin of a line is a name and its colon");

static const char ours; /* its address marks our sessions: this process has others, of its LDAP and its database connections */

static ssize_t (*record_recv)(gnutls_session_t session, void *data, size_t n); /* of GnuTLS */

__attribute__((constructor)) static void find_record_recv(void) {
    void *found = dlsym(RTLD_NEXT, "gnutls_record_recv");
    memcpy(&record_recv, &found, sizeof(found)); /* as POSIX has it, in words of C */
}

/* What this thread was called for last: the library works on one connection at a time, and each of its reads, and each request that it begins or ends, passes by here. */
static _Thread_local struct http_conn *current;

void httpd_recv_note(struct http_conn *conn) {
    current = conn;
}

void httpd_recv_forget(struct http_conn *conn) {
    if (current == conn)
        current = NULL;
}

struct http_conn *httpd_recv_current(void) {
    return current;
}

void httpd_recv_begin(gnutls_session_t session, struct http_conn *conn) {
    gnutls_transport_set_ptr2(session, conn, (gnutls_transport_ptr_t)(intptr_t)conn->fd);
    gnutls_db_set_ptr(session, (void *)(uintptr_t)&ours); /* there is no database of sessions that would use it */
}

/* Follows the line that the last of these bytes belong to. */
static void follow_line(struct http_line *line, const char *data, size_t n) {
    const char *lf = memrchr(data, '\n', n);
    if (lf) {
        n -= (size_t)(lf + 1 - data);
        data = lf + 1;
        *line = (struct http_line){0};
    }
    if (line->bytes < sizeof(line->begin)) {
        const size_t room = sizeof(line->begin) - line->bytes;
        memcpy(line->begin + line->bytes, data, n < room ? n : room);
    }
    line->bytes += n;
}

/* The library is in the middle of a header, in an Authorization line. */
static bool is_held_back(const struct http_conn *conn) {
    return conn->request && !conn->line.is_past && conn->line.bytes >= sizeof(conn->line.begin) &&
           atomic_load_explicit(&conn->phase, memory_order_relaxed) == CONN_HEADER &&
           strncasecmp(conn->line.begin, LONG_NAME, sizeof(conn->line.begin)) == 0;
}

/* Keeps these bytes, which lie behind `shown` more that the library gets of the line. */
static bool hold(struct http_request *req, struct http_line *line, size_t shown, const char *data, size_t n) {
    if (!line->is_held) {
        if (req->authorization_at)
            return false; /* the second line of that name, which will be refused */
        if (!httpd_press_hold(req, KAAS_HTTP_HEADER_BYTES_MAX)) {
            req->result = err_set(&req->err, ERR_BUSY, "too many large requests at a time; try again shortly");
            return false;
        }
        line->is_held = true;
        req->authorization_at = line->bytes + shown;
        strbuf_init_secret(&req->authorization, KAAS_HTTP_HEADER_BYTES_MAX);
    }
    strbuf_add(&req->authorization, data, n);
    return !req->authorization.failed;
}

size_t httpd_recv_take(struct http_conn *conn, char *data, size_t n) {
    struct http_line *line = &conn->line;
    const size_t shown = line->bytes < LONG_BYTES ? LONG_BYTES - line->bytes : 0; /* whatever it is */
    if (n > shown && is_held_back(conn) && !memchr(data, '\n', shown)) {
        size_t end = shown;
        while (end < n && data[end] > ' ' && data[end] <= '~')
            end++;
        line->is_past = end < n;
        if (end > shown && hold(conn->request, line, shown, data + shown, end - shown)) {
            memmove(data + shown, data + end, n - end);
            n -= end - shown;
        } else if (end > shown) {
            line->is_past = true; /* the library will find that it is too much */
        }
    }
    follow_line(line, data, n);
    return n;
}

/* The library's way to GnuTLS. */
__attribute__((visibility("default"))) ssize_t gnutls_record_recv(gnutls_session_t session, void *data, size_t n) {
    struct http_conn *conn = gnutls_db_get_ptr(session) == &ours ? gnutls_transport_get_ptr(session) : NULL;
    ssize_t got = 0;
    size_t left = 0;
    if (conn)
        httpd_recv_note(conn);
    do {
        got = record_recv(session, data, n);
        if (!conn || got <= 0)
            return got;
        left = httpd_recv_take(conn, data, (size_t)got);
    } while (!left);
    return (ssize_t)left;
}
