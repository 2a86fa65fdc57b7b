/* The HTTP server: listeners, TLS, time limits, start and stop. Layer 2 (httpd), the only folder that knows libmicrohttpd and GnuTLS.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Several servers may run in one process (TLS port, unix socket). What holds for each request: docs/http.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "http_request.h"
#include "http_response.h"
#include "worker_pool.h"
#include "route.h"

struct httpd;

struct httpd_outcome {
    int status;          /* as sent */
    size_t body_bytes;   /* of the answer's body, also if it was not sent (HEAD, 304) */
    int64_t duration_ms; /* from the request line to the last byte handed to the kernel, or to the end of abandoned work */
    bool is_delivered;   /* false: the client went away before the whole answer was taken */
    bool is_abandoned;   /* the slow deadline passed, or the server stopped, before the work was done */
};

/* Called by httpd in server threads unless noted; must not block. Each may be NULL except on_error. */
struct httpd_hooks {
    /* After routing, before the body is read. Not called for requests that httpd itself refuses. A negative ERR_* refuses the
     * request: on_error writes the answer and the body is not read. The place for authentication from memory. */
    int (*before)(struct http_request *req, struct err *err);
    /* Writes the answer for any error, from httpd (400 404 405 413 414 431 503 504) or from a handler. `resp` is reset; Allow and
     * Retry-After are added by httpd. May run in a worker thread or the sweeper's. */
    void (*on_error)(struct http_request *req, const struct err *err, struct http_response *resp);
    /* Called for every answer just before it is sent: sets common headers. Same threads as on_error. */
    void (*headers)(const struct http_request *req, struct http_response *resp);
    /* Called once per request, when nothing uses it any more: access log. Any thread. */
    void (*after)(struct http_request *req, const struct httpd_outcome *outcome);
    /* Called with the library's reports (TLS failures, vanished clients, descriptors exhausted), reworded, at most one per kind and minute; `suppressed` is
     * how many were dropped since the last. */
    void (*notice)(void *app, const char *kind, const char *text, unsigned long suppressed);
};

/* CAs and revocation lists for client certificates. */
struct httpd_client_ca {
    const char *ca_pem;  /* one or several CAs; NULL: none */
    const char *crl_pem; /* their revocation lists; NULL: none is looked at */
};

struct httpd_options {
    const char
        *listen; /* "127.0.0.1:8443", "[::]:8443", "*:8443" (both families), port 0 = any; or "unix:/run/kaas/admin.sock" */
    unsigned unix_mode;   /* permission bits of the socket file; 0 means 0600 */
    const char *cert_pem; /* TLS: chain, leaf first, and its key; both NULL: plain HTTP. Copied */
    const char *key_pem;
    bool asks_client_certificate; /* TLS: clients are asked for a certificate, and may go on without one; see http_request.h */
    struct httpd_client_ca client_ca;    /* copied */
    const char *tls_priority;            /* GnuTLS priority string; NULL: TLS 1.2 and 1.3 */
    unsigned threads;                    /* 0: one per core */
    unsigned connections_max;            /* 0: KAAS_HTTP_CONNECTIONS_DEFAULT; see httpd_check_descriptors */
    unsigned connections_per_client_max; /* 0: no limit; trusted proxies and unix peers have none */
    unsigned requests_per_client_max;    /* in a second, of one address; 0: no limit; trusted proxies and unix peers have none */
    unsigned connections_per_uid_max;    /* unix sockets only; 0: no limit */
    const char *const *trusted_proxies;  /* addresses or CIDR blocks, ended by NULL; NULL: none. "unix" trusts every unix peer */
    int64_t idle_timeout_ms;             /* silent connection; 0 = default of limits.h, also below */
    int64_t header_timeout_ms;           /* accept (TLS included) to the end of the headers, however slowly they drip */
    int64_t body_timeout_ms;             /* end of headers to end of body */
    int64_t slow_timeout_ms;             /* end of body to the end of slow work: then 504 */
    int64_t send_timeout_ms;             /* answer ready to last byte taken */
    const struct route *routes;
    size_t routes_count;
    struct httpd_hooks hooks;
    void *app;
    size_t room_bytes; /* of http_request_room */
};

/* Checks that RLIMIT_NOFILE allows all connections_max of these servers (those without `listen` are not counted) and `rest` further descriptors. Sets the
 * soft limit to the hard one. Call it before they start. ERR_CONFIG if the hard limit is too low: says what fits and what to set. */
int httpd_check_descriptors(const struct httpd_options *servers, size_t count, unsigned rest, struct err *err);

/* Starts a server; everything in `options` is copied except routes and app. ERR_CONFIG (address, certificate: names the
 * thing and the remedy), ERR_IO (address in use), ERR_NOMEM. */
int httpd_start(const struct httpd_options *options, struct httpd **out, struct err *err);

/* Replaces certificate and key for connections made from now on; existing ones stay. ERR_CONFIG leaves the old ones in use. */
int httpd_reload_tls(struct httpd *httpd, const char *cert_pem, const char *key_pem, struct err *err);

/* Replaces CAs and revocation lists; the next http_request_peer uses them. ERR_CONFIG leaves the old ones in use. */
int httpd_reload_client_ca(struct httpd *httpd, const struct httpd_client_ca *ca, struct err *err);

/* For tests, which listen on port 0. TCP: the port in use; 0 for unix sockets. */
unsigned httpd_port(const struct httpd *httpd);

/* For metrics, tests and scripts/bench. */
struct httpd_stats {
    unsigned connections, connections_max;        /* open now, and allowed */
    unsigned suspended;                           /* requests waiting for a worker pool now */
    unsigned parked;                              /* TLS handshakes waiting for the client now */
    unsigned long requests;                       /* started */
    unsigned long completed;                      /* ended, answered or not */
    unsigned long slow_started, slow_done;        /* suspended and resumed; equal when idle */
    unsigned long abandoned;                      /* slow work that missed its deadline */
    unsigned long gone;                           /* clients that closed their side during a long wait */
    unsigned long cut_header, cut_body, cut_send; /* connections cut by the sweeper */
    unsigned long cut_address;                    /* connections ended because their address had too many */
    unsigned long paced;                          /* requests refused because their address sent too many in a second */
};
void httpd_get_stats(struct httpd *httpd, struct httpd_stats *out);

/* Stops: refuses new connections and slow work, waits up to grace_ms for requests under way, answers what is left with 503, ends
 * every connection. Slow handlers may still be running in their worker pools when it returns. May be called once. */
void httpd_stop(struct httpd *httpd, int64_t grace_ms);

/* Frees a stopped server. Stop the worker pools first: no slow handler of this server may be running. NULL is allowed. */
void httpd_free(struct httpd *httpd);
