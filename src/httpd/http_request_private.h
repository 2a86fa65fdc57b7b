/* Insides of requests and answers, shared by the files of this folder only. Layer 2 (httpd), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "http_request.h"
#include "net_addr.h"
#include "limits.h"
#include "route.h"
#include "strbuf.h"

struct http_conn;
struct http_shared;
struct httpd;

#define HTTP_FIELDS_MAX 64U       /* header fields of a request */
#define HTTP_QUERY_MAX 32U        /* query parameters */
#define HTTP_REQUEST_ID_BYTES 64U /* what base/work/log.h keeps */
#define HTTP_GO_SLOW 1            /* what http_request_go_slow returns */
/* Body bytes beyond the cap that are read and dropped, so that the client hears the 413 instead of a reset connection. */
#define HTTP_DISCARD_BYTES_MAX (1024U * 1024U)

struct http_pair {
    const char *name, *value;
};

/* A header field of a request. */
struct http_field {
    const char *name, *value;
    unsigned name_len, value_len;
    unsigned single; /* number among the fields that may come once only; set by http_fields_add */
};

/* Life of slow work; changes only by compare-and-swap, so that exactly one side ends the wait. */
enum slow_state {
    SLOW_NONE,
    SLOW_WAITING, /* suspended: in the worker's queue or running */
    SLOW_DONE,    /* the worker pool finished; the server thread will answer */
    SLOW_EXPIRED, /* the deadline passed: the worker pool's result will be dropped */
    SLOW_STOPPED, /* the server stops: the result will be dropped */
    SLOW_GONE,    /* the client closed its side during a long wait: the result is dropped, and no answer is sent */
};

/* -- an answer ----------------------------------------------------------------------------------------------------------- */

#define HTTP_RESPONSE_FIELDS_MAX 24U

enum http_body_kind { HTTP_BODY_NONE, HTTP_BODY_TEXT, HTTP_BODY_SHARED, HTTP_BODY_STATIC };

struct http_header {
    unsigned name, value; /* offsets into text */
    unsigned name_len, value_len;
};

struct http_response {
    int status;
    bool is_closing;
    bool is_broken; /* a setter failed */
    enum http_body_kind kind;
    struct strbuf body;
    struct http_shared *shared;
    const void *bytes;
    size_t bytes_count;
    struct strbuf text; /* names and values of the headers, each NUL-terminated */
    unsigned fields_count;
    struct http_header fields[HTTP_RESPONSE_FIELDS_MAX];
};

/* Makes an empty answer with status 200; http_response_done frees its members, not the struct. */
void http_response_init(struct http_response *resp);
void http_response_done(struct http_response *resp);

/* -- a request ------------------------------------------------------------------------------------------ */

struct http_request {
    size_t alloc_bytes; /* size of the memory block that begins with this struct */
    struct httpd *httpd;
    void *app;
    struct http_conn *conn; /* NULL once the server side has ended */
    _Atomic unsigned refs;  /* server side, worker pool */
    _Atomic int slow_state; /* enum slow_state */
    bool is_prepared;       /* the headers were checked: it has id and client and gets a line in the access log */
    bool is_refused;        /* answered before all of it was read: the connection must end */
    bool is_http10;
    bool is_early;     /* answered by us in place of the library (httpd_early.c) */
    bool is_suspended; /* suspended, until the server thread goes on with it */
    bool is_tls, has_uid, is_delivered;
    uid_t uid;
    pid_t pid;
    enum http_method method;
    const char *method_name;
    char *target;      /* the request target without query */
    size_t target_len; /* with query */
    char *path_text;   /* decoded path, cut into segments; behind target */
    char *query_text;  /* decoded query, cut into pairs; NULL without one */
    struct route_path path;
    struct route_match match;
    unsigned query_count, fields_count;
    struct strbuf authorization; /* the part of Authorization hidden from the library (httpd_recv.c); later all of it */
    size_t authorization_at;     /* position of that part in the line; 0: nothing was hidden */
    char *joined, *joined_end;   /* values of fields that came in several lines */
    size_t joined_bytes;
    char *fields_text; /* own copy of the header fields, once the request goes slow */
    size_t fields_text_bytes;
    struct strbuf body;
    size_t body_dropped_bytes; /* bytes beyond the cap, dropped */
    size_t held_bytes;         /* counted by httpd_press */
    char client[INET6_ADDRSTRLEN];
    char id[HTTP_REQUEST_ID_BYTES];
    int64_t started_ms, deadline_ms;
    int64_t wait_until_ms; /* end of the wait that the client asked for; 0: none, or the deadline has it already */
    void *data;
    void (*data_destroy)(void *);
    http_submit_fn *slow_submit; /* with slow_submit_arg */
    void *slow_submit_arg;
    http_handler_fn *slow_fn;
    int result;      /* 0 or the code in err */
    bool is_held;    /* suspended for a fixed time, without work (httpd_slow_hold) */
    void *next_data; /* of http_request_keep_for_next, with next_destroy, until the connection has it */
    void (*next_destroy)(void *);
    int sent_status;
    size_t sent_bytes;
    /* not zeroed at the start */
    struct err err; /* found by httpd or returned by a handler */
    struct http_response resp;
    struct http_pair query[HTTP_QUERY_MAX];
    struct http_field fields[HTTP_FIELDS_MAX]; /* point into the library's memory until the request goes slow */
    _Alignas(max_align_t) char room[];         /* memory for the layer above; the texts of target and path_text follow it */
};

/* A request with `room_bytes` for the layer above. NULL without memory. */
struct http_request *http_request_new(struct httpd *httpd, size_t room_bytes, const char *target);
/* The request line's method; `name` must live as long as the request is fast. */
void http_request_set_method(struct http_request *req, const char *name);
struct http_request *http_request_ref(struct http_request *req);
/* Drops one reference; true if it was the last: then the caller runs the after hook and http_request_destroy. */
bool http_request_unref(struct http_request *req);
void http_request_destroy(struct http_request *req);
/* Copies the header fields into own memory, since the library's goes away with the connection. 0 or ERR_NOMEM. */
int http_request_keep_fields(struct http_request *req);

/* Refuses a request line of more than three words, as another server may see its end elsewhere. ERR_INVALID. */
int http_target_check(const struct http_request *req, struct err *err);

/* Decodes path and query and finds the route. 400, 404, 405; match.allowed is set for 405. */
int http_target_parse(struct http_request *req, const struct route_table *table, struct err *err);

/* Adds one line of the header, as the library has it, without the blanks around its value (RFC 9112 5.1); the texts must be writable, end with NUL, and live
 * as long as the request is fast. Call http_fields_join after the last line. ERR_HEADERS_TOO_LARGE: there are too many. */
int http_fields_add(struct http_request *req, struct http_field line, struct err *err);
/* Puts the hidden part of an Authorization line back into its field. ERR_INVALID: there is no such line; ERR_NOMEM. */
int http_fields_restore(struct http_request *req, struct err *err);
/* Joins the lines of one name into one field, in their order (RFC 9110 5.3; cookies: RFC 9113 8.2.3), so that no reader sees only a part. Fields that may
 * come once only are not joined; http_fields_check refuses them. ERR_NOMEM. */
int http_fields_join(struct http_request *req, struct err *err);

/* Checks all header fields: size, token names, no control characters, single-valued ones single, framing unambiguous (RFC 9112 6.3:
 * Content-Length and Transfer-Encoding together, or either twice, is an attack). Sets *has_body and *body_bytes (-1: unknown, chunked). */
int http_fields_check(const struct http_request *req, bool *has_body, int64_t *body_bytes, struct err *err);

/* Sets the error for a header that is too large, with the remedy. Returns ERR_HEADERS_TOO_LARGE. */
int http_fields_too_large(struct err *err);

/* The client behind proxies: walks X-Forwarded-For from the right over trusted addresses; `out` keeps the peer if there is none. */
void http_client_behind(const char *forwarded, const struct net_block *nets, size_t count, char out[INET6_ADDRSTRLEN]);
