/* One request as handlers see it. Layer 2 (httpd); knows nothing of libmicrohttpd in its interface.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A request is used by one thread at a time: first the server thread (hooks, fast handler), then, if it goes slow, a worker pool. All
 * texts live as long as the request, are NUL-terminated, valid UTF-8 without control characters (headers: any bytes above 0x1F). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "worker_pool.h"
#include "route.h"

struct http_request;

/* Method, path and route of the request. The texts live as long as the request. */
enum http_method http_request_method(const struct http_request *req);
const char *http_request_method_name(const struct http_request *req);   /* as sent, for logs */
const char *http_request_path(const struct http_request *req);          /* raw, without query: for logs */
const struct route *http_request_route(const struct http_request *req); /* NULL in on_error for 404, 405, bad requests */
void *http_request_app(const struct http_request *req);                 /* httpd_options.app */

/* Value of {name} in the route's pattern, decoded; "*" for the rest. Never NULL: a name the pattern lacks is a mistake in the
 * program and ends it. */
const char *http_request_param(const struct http_request *req, const char *name);

/* Query parameters, decoded ('+' is a blank). Duplicates were refused already. NULL if absent, "" if without value. */
const char *http_request_query(const struct http_request *req, const char *name);
unsigned http_request_query_count(const struct http_request *req);
void http_request_query_at(const struct http_request *req, unsigned i, const char **name, const char **value);
/* ERR_INVALID naming the first query parameter that is not in `allowed` (ended by NULL); the remedy lists the known ones. */
int http_request_check_query(const struct http_request *req, const char *const *allowed, struct err *err);

/* Value of a header field, name in any case, without blanks around it; NULL if absent. A field sent in several lines is one list, in their order;
 * Authorization, Content-Length, Content-Type, Expect, Host, KaaS-Replaces, Transfer-Encoding, vmware-api-session-id and X-KaaS may be sent once only (else
 * 400 before any handler). */
const char *http_request_header(const struct http_request *req, const char *name);
/* The part of Authorization after this scheme ("Bearer") and its blanks, "" if empty; NULL if the field is absent or has another scheme (RFC 9110 11.4). */
const char *http_request_credentials(const struct http_request *req, const char *scheme);
/* Value of the first cookie of this name, *len bytes; NULL if there is none (RFC 6265 4.2.1). */
const char *http_request_cookie(const struct http_request *req, const char *name, size_t *len);
/* True if Content-Type names this media type ("application/json"), whatever its parameters. */
bool http_request_is_media_type(const struct http_request *req, const char *type);

/* True if the client accepts the content coding gzip with no lower weight than none (Accept-Encoding, RFC 9110 section 12.5.3). Without the header field:
 * false. */
bool http_request_accepts_gzip(const struct http_request *req);

/* The whole body; *len 0 and "" without one. NUL-terminated behind the last byte. Not checked for UTF-8. */
const char *http_request_body(const struct http_request *req, size_t *len);

/* The client's address as text ("192.0.2.7", "2001:db8::1", "unix"): the peer, or, if the peer is a trusted proxy, the rightmost
 * address in X-Forwarded-For that is not one. */
const char *http_request_client(const struct http_request *req);
/* Unix sockets: user id of the peer at connect time (SO_PEERCRED). False on TCP. */
bool http_request_peer_uid(const struct http_request *req, uid_t *uid);
/* Unix sockets: process id of the peer at connect time; 0 if it is not known, as from another pid namespace. */
pid_t http_request_peer_pid(const struct http_request *req);
bool http_request_is_tls(const struct http_request *req); /* this hop is TLS */

/* Up to 63 bytes of [A-Za-z0-9._-]: X-Request-ID of a trusted proxy or a unix peer if well formed, else made here. */
const char *http_request_id(const struct http_request *req);

/* True once the time limit of slow work has passed (or the server stops) and the server has answered the client: finish quickly. */
bool http_request_is_abandoned(const struct http_request *req);

/* A slot for the layer above (session, audit text). `destroy` (may be NULL) runs when the request ends or the slot is set anew. */
void http_request_set_data(struct http_request *req, void *data, void (*destroy)(void *));
void *http_request_data(const struct http_request *req);
/* Memory for that slot: httpd_options.room_bytes that live as long as the request. Not zeroed. */
void *http_request_room(struct http_request *req);

/* `return http_request_go_slow(req, worker pool, fn);` ends a handler and runs fn in the worker pool, where clients have their turns by party. A handler that
 * runs in a worker pool may pass the request on in the same way; the deadline stays. */
int http_request_go_slow(struct http_request *req, struct worker_pool *workers, http_handler_fn *fn);

/* Sees to it that run(run_arg, false) is called once, by any thread and at any time (run(run_arg, true) if the work must be given up
 * instead), or returns an error and calls nothing. */
typedef int http_submit_fn(void *arg, worker_fn *run, void *run_arg, struct err *err);

/* As http_request_go_slow, for work that takes no thread while it waits: fn runs where `submit` runs it. */
int http_request_go_slow_by(struct http_request *req, http_submit_fn *submit, void *arg, http_handler_fn *fn);

/* A wait that the client has asked for. */
struct http_wait {
    http_submit_fn *submit;
    void *arg;
    http_handler_fn *fn;
    int64_t until_ms; /* clock_mono_ms at which `submit` has fn run at the latest */
};

/* As http_request_go_slow_by for a long wait. The time limit of slow work counts from until_ms on. If the client closes its side of the connection meanwhile,
 * the request ends unanswered and http_request_is_abandoned is true: then `submit` should run fn soon. */
int http_request_go_waiting(struct http_request *req, const struct http_wait *wait);

/* -- the client's TLS certificate -------------------------------------------------------------------------------------- */

struct http_request;

/* Result of checking the certificate's chain against the CAs of the server's options. */
enum http_peer_chain {
    HTTP_CHAIN_NO_CA,     /* no CA is configured */
    HTTP_CHAIN_UNTRUSTED, /* issued by another one, not valid at this time, or not meant for clients */
    HTTP_CHAIN_REVOKED,   /* revoked, or the revocation list is out of date */
    HTTP_CHAIN_GOOD,
};

#define HTTP_PEER_SUBJECT_BYTES 512

/* The client's own certificate. TLS has proved that the client holds its key; nothing else is promised here. */
struct http_peer {
    char sha256[65];                       /* of the DER form, lower-case hex */
    char subject[HTTP_PEER_SUBJECT_BYTES]; /* RFC 4514, most specific part first; "" if it is longer */
    int64_t not_before_ms, not_after_ms;   /* wall clock */
    enum http_peer_chain chain;
};

/* Fills *out; false if the client showed no certificate, or was not asked for one. Costs some 0.1 ms where a CA is configured. In server threads only,
 * before the request goes slow. */
bool http_request_peer(const struct http_request *req, struct http_peer *out);

/* -- what one request leaves for the next one of its connection.  -------------------------------------------------- */

/* Behind a proxy the next request of a connection may be another client's: keep only data that is useless without more from the same client. */

struct http_request;

/* Leaves `data` for the next request of the connection, instead of what this one left before; `destroy` (may be NULL) is called when the next request ends
 * without taking it, or with the connection. In any thread that has the request. */
void http_request_keep_for_next(struct http_request *req, void *data, void (*destroy)(void *));

/* Takes what the request before has left; it belongs to the caller then. NULL: nothing. Only in server threads (hooks, fast handlers). */
void *http_request_take_kept(struct http_request *req);
