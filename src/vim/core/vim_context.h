/* One call context: gSOAP as codec over a transport. One thread at a time. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gSOAP writes the request through our hooks into `request`, the transport carries it, gSOAP reads from `reply`. What was decoded
 * lives until vim_context_reset. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "strbuf.h"
#include "vim_fault.h"
#include "vim_soap.h"
#include "http_client.h"
#include "vim_version.h"

#define VIM_ID_BYTES 81

/* What must be known before the first real call: API version and the ids of the managers (ServiceContent). */
struct vim_content {
    char version[VIM_VERSION_BYTES];
    char root_folder[VIM_ID_BYTES];
    char property_collector[VIM_ID_BYTES];
    char view_manager[VIM_ID_BYTES];
    char session_manager[VIM_ID_BYTES];
    char authorization_manager[VIM_ID_BYTES];
    char extension_manager[VIM_ID_BYTES];
    char event_manager[VIM_ID_BYTES]; /* empty: none was told */
    char alarm_manager[VIM_ID_BYTES]; /* likewise */
    char search_index[VIM_ID_BYTES];  /* likewise */
};

/* Where a context connects to; borrowed, must outlive the context. */
struct vim_route {
    const struct http_transport *transport;
    struct http_client_options http;
    const char *url;  /* of the SDK endpoint */
    const char *peer; /* "vc.example.com:443", for messages */
    long timeout_ms;
};

struct vim_context {
    struct soap *soap;
    const struct vim_route *route;
    void *conn;                      /* opened by the first exchange; atomic */
    bool is_canceled;                /* atomic */
    bool is_busy;                    /* guarded by the client's lock */
    struct vim_context *next_beside; /* next one outside the pool; guarded by the client's lock */
    long timeout_ms;                 /* of the next exchange; 0: the route's */
    size_t reply_max_bytes;          /* limit of the next answer; 0: that of the operation */
    const char *operation;           /* of the current call, static */
    char *cookie;                    /* sent with each call; secret; NULL: none */
    char *cookie_seen;               /* raw value of the cookie that an answer has set; secret; NULL: none */
    struct vim_content content;
    struct vim_fault fault; /* of the last call that failed */
    struct strbuf request, reply;
    size_t reply_at;
    int64_t decode_until_ms; /* monotonic clock */
    size_t buf_used;         /* of gSOAP's buffer, since the last reset */
    struct err err;          /* why nothing was sent, or the exchange failed */
    struct SOAP_ENV__Header header;
    char action[sizeof("urn:vim25/") + VIM_VERSION_BYTES];
    char operation_id[64];
};

/* Makes a context; nothing is sent. ERR_NOMEM. */
int vim_context_new(const struct vim_route *route, struct vim_context **out, struct err *err);
void vim_context_free(struct vim_context *ctx); /* wipes secrets; NULL is allowed */
CLEANUP_DEFINE(struct vim_context, vim_context_free);

/* Gives back all that was decoded and wipes the request. Call after each operation, whatever its outcome. */
void vim_context_reset(struct vim_context *ctx);

/* Wipes and replaces the cookie that is sent; NULL: none. ERR_NOMEM. */
int vim_context_set_cookie(struct vim_context *ctx, const char *cookie, struct err *err);

/* From another thread: makes the running exchange, or the decoding of its answer, and all later ones end with ERR_CANCELED. */
void vim_context_cancel(struct vim_context *ctx);

/* GET of a small file of the same server into ctx->reply. *status is the HTTP status. */
int vim_context_get(struct vim_context *ctx, const char *url, long *status, struct err *err);

/* Another exchange with the same server that is not SOAP; the answer is in ctx->reply. Time limit and header hook of `x` are set here. */
int vim_context_exchange(struct vim_context *ctx, struct http_exchange *x, long *status, struct err *err);

/* What stands in front of vCenter's services does not reach them: 502, 503, 504 (RFC 9110 15.6.3 to 15.6.5). ERR_UNREACHABLE; 0 for any
 * other status. */
int vim_context_judge_front(const char *peer, long status, struct err *err);

/* -- around each SOAP call: putting texts in, turning the outcome into an error ------------------------------------ */

/* Declares `request` of operation `op` on the managed object `id`, with the further members that are given, and `response`. */
#define VIM_REQUEST(ctx, op, type, id, ...)                                                      \
    struct _vim25__##op request = {._USCOREthis = vim_in_ref((ctx), (type), (id)), __VA_ARGS__}; \
    struct _vim25__##op##Response response

/* Calls operation `op` with pointers to its request and response structs; 0, or the error with ctx->fault set for a fault. The
 * response lives until vim_context_reset. A request text that was refused by vim_in_* ends the call before anything is sent. */
#define VIM_CALL(ctx, op, request, response, err)                                                                              \
    vim_call_end((ctx),                                                                                                        \
                 soap_call___vim25__##op(vim_call_begin((ctx), #op), (ctx)->route->url, (ctx)->action, (request), (response)), \
                 (err))

/* The same of an operation whose name ends with "_Task"; `op` is what stands before. */
#define VIM_CALL_TASK(ctx, op, request, response, err)                                                                      \
    vim_call_end((ctx),                                                                                                     \
                 soap_call___vim25__##op##_USCORETask(vim_call_begin((ctx), #op "_Task"), (ctx)->route->url, (ctx)->action, \
                                                      (request), (response)),                                               \
                 (err))

/* The two halves of VIM_CALL; use the macro. */
struct soap *vim_call_begin(struct vim_context *ctx, const char *operation);
int vim_call_end(struct vim_context *ctx, int rc, struct err *err);

/* Request members. What XML cannot carry (bad UTF-8, control characters), or a required text that is missing, is noted in
 * ctx->err, naming `what`; the call then fails with ERR_UNPROCESSABLE. Results live until vim_context_reset. */
char *vim_in_text(struct vim_context *ctx, const char *text, const char *what);     /* required, one line */
char *vim_in_lines(struct vim_context *ctx, const char *text, const char *what);    /* required, tabs and line ends allowed */
char *vim_in_optional(struct vim_context *ctx, const char *text, const char *what); /* NULL stays NULL; lines allowed */
/* A required secret: not copied, so it must stay where it is during the call. */
char *vim_in_secret(struct vim_context *ctx, const char *text, const char *what);
char **vim_in_texts(struct vim_context *ctx, const char *const *texts, size_t count, const char *what);
/* A reference to a managed object. */
struct vim25__ManagedObjectReference *vim_in_ref(struct vim_context *ctx, const char *type, const char *id);
/* Zeroed memory for `count` items; NULL without memory (noted in ctx->err), or for no items. */
void *vim_in_alloc(struct vim_context *ctx, size_t count, size_t size);

/* "vCenter's answer to OP lacks X": ERR_PROTOCOL. */
int vim_call_lacks(struct vim_context *ctx, const char *operation, const char *what, struct err *err);

/* -- the session cookie: reading it from an answer and sending it -------------------------------------------------- */

#define VIM_COOKIE_NAME "vmware_soap_session"
#define VIM_COOKIE_BYTES_MAX 256

/* The raw value (quotes kept, as servers expect it back) of our cookie in a header line "Set-Cookie: ...", or NULL when the line is
 * anything else, is malformed or deletes the cookie. Caller frees by secret_free. */
char *vim_cookie_of_header(const char *line, size_t n);
