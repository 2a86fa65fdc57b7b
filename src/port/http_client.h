/* One HTTPS exchange at a time over libcurl. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * No redirects, no proxy from the environment, no cookies of its own, TLS 1.2 or newer, everything capped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "http_options.h"
#include "strbuf.h"

struct http_client;

struct http_exchange {
    const char *method; /* "GET", "POST", ... */
    const char *url;
    const char *const *headers; /* "Name: value" lines ended by NULL; NULL: none */
    const void *body;
    size_t body_bytes;
    long timeout_ms; /* whole exchange */
    size_t reply_max_bytes;
    bool is_handshake; /* stop after the TLS handshake: the certificate is checked, no request is sent, and *status is 0 */
    bool is_once; /* the request must not arrive twice: it is never sent again, not even when the kept connection breaks before
                     a byte came back (ERR_UNREACHABLE), nor is it sent on a connection that was idle for seconds */
    /* called for each header line of the final answer (not of a CONNECT), without line end; may be NULL */
    void (*on_header)(void *arg, const char *line, size_t n);
    void *on_header_arg;
};

/* Makes a client with one connection that is kept alive. One thread at a time. ERR_NOMEM, ERR_CONFIG (bad PEM). */
int http_client_new(const struct http_client_options *options, struct http_client **out, struct err *err);

/* Closes and frees; key material is wiped. NULL is allowed. */
void http_client_free(struct http_client *client);

/* Runs one exchange; the body of the answer is appended to `reply` (initialised by the caller) and *status is the HTTP status
 * of any complete answer. Errors: ERR_TLS (not trusted; text tells expected and seen SHA-256), ERR_TIMEOUT, ERR_UNREACHABLE,
 * ERR_TOO_LARGE (answer over reply_max_bytes or the reply's own cap), ERR_PROTOCOL (also a TLS handshake that fails without a
 * verdict on the certificate), ERR_CONFIG (not an https URL), ERR_CANCELED (after http_client_cancel), ERR_NOMEM. */
int http_client_run(struct http_client *client, const struct http_exchange *exchange, struct strbuf *reply, long *status,
                    struct err *err);

/* True if the last exchange began to send its request. If it failed then, nobody knows whether the request has arrived. */
bool http_client_has_sent(const struct http_client *client);

/* Writes the TLS channel binding of the server: "tls-server-end-point:" and the digest of the certificate of the newest connection, also a kept one (x509.h;
 * 85 bytes are enough). ERR_NOT_FOUND if there was no TLS handshake yet; ERR_UNPROCESSABLE for a certificate whose signature names no digest. */
int http_client_get_end_point(const struct http_client *client, uint8_t *out, size_t max, size_t *n, struct err *err);

/* Makes a running exchange of another thread, and every later one, end with ERR_CANCELED, at once. */
void http_client_cancel(struct http_client *client);

/* Once per process before threads start, and its counterpart at the end. Ignores SIGPIPE from then on. ERR_CONFIG if libcurl does
 * not use OpenSSL. */
int http_client_global_init(struct err *err);
void http_client_global_done(void);

/* -- the seam: who carries the bytes ------------------------------------------------------------------------------- */

/* The four functions that a client of vim or hx calls to reach its server. Pilot, tests and fuzzing put their own in place of those above, to look at each
 * exchange before it is sent or to answer in place of a server. */
struct http_transport {
    void *arg; /* handed to open */
    /* As http_client_new: *conn is what the others get. */
    int (*open)(void *arg, const struct http_client_options *options, void **conn, struct err *err);
    /* As http_client_run. */
    int (*run)(void *conn, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err);
    /* As http_client_cancel; called from another thread. */
    void (*cancel)(void *conn);
    /* As http_client_free. */
    void (*close)(void *conn);
};

/* The transport made of the functions above. Static. */
const struct http_transport *http_transport_https(void);
