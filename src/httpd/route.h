/* The route table: which method and path leads to which handler. Layer 2 (httpd); knows nothing of libmicrohttpd.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Routes are constant data. A pattern is literal segments, "{name}" segments (one segment each, any text, an encoded slash is
 * data), and at most one "*" as the last segment (the rest of the path, at least one byte, no encoded slash): "/v2/clusters/{id}",
 * "/ui/" and then "*". Literal segments win over {name}, which wins over "*". GET routes answer HEAD too; OPTIONS and 405 are made here. */
#pragma once

#include <stddef.h>

#include "err.h"

struct http_request;
struct http_response;

enum http_method {
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD, /* never in a table: served by the GET route */
    HTTP_METHOD_POST,
    HTTP_METHOD_PUT,
    HTTP_METHOD_PATCH,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_OPTIONS, /* never in a table: answered from it */
    HTTP_METHOD_OTHER,   /* anything else: 405 */
    HTTP_METHOD_COUNT_
};

/* Runs in a server thread: memory only, microseconds, may never block. Fills `resp` and returns 0, or returns a negative ERR_* with
 * `err` set (the error hook then writes the answer, whatever was put into `resp` before), or returns the value of http_request_go_slow,
 * which has another handler run in a worker while the connection is suspended. */
typedef int http_handler_fn(struct http_request *req, struct http_response *resp, struct err *err);

/* Bits of route.options, understood by httpd. */
enum route_option {
    ROUTE_SECRET_BODY = 1, /* the body is wiped after use, in our memory and in the library's read buffer */
};

struct route {
    enum http_method method;
    const char *pattern;
    http_handler_fn *handler;
    unsigned options;      /* enum route_option */
    size_t body_bytes_max; /* greatest request body; 0: a body is refused */
    unsigned permission;   /* not read here: for the hooks of the layer above */
    unsigned flags;        /* not read here: for the hooks of the layer above */
};

#define ROUTE_SEGMENTS_MAX 12U /* path segments of a request; more are 404 */
#define ROUTE_PARAMS_MAX 4U

struct route_table;

/* Checks and compiles `count` routes; they and their texts must live as long as the table. ERR_CONFIG names a bad pattern, a
 * method that cannot be in a table, two routes that mean the same; ERR_NOMEM. Free with route_table_free. */
int route_table_new(const struct route *routes, size_t count, struct route_table **out, struct err *err);
void route_table_free(struct route_table *table); /* NULL is allowed */

/* Bit (1 << method) of every method that some path of the table has. */
unsigned route_table_methods(const struct route_table *table);

/* A path cut at its slashes and percent-decoded: what route_find reads. Points into the decoded buffer. */
struct route_path {
    unsigned count;
    unsigned slashes;                  /* bit i: segment i has an encoded slash */
    char *segment[ROUTE_SEGMENTS_MAX]; /* NUL-terminated, one behind the other */
};

struct route_param {
    const char *name; /* as in the pattern, not NUL-terminated: name_len bytes; "*" for the rest */
    size_t name_len;
    const char *value; /* decoded, NUL-terminated; the rest of a "*" route keeps its slashes */
};

struct route_match {
    const struct route *route; /* NULL: no route has this path, or none with this method */
    unsigned allowed;          /* bit (1 << method) of every method the path has; 0: unknown path */
    unsigned params_count;
    struct route_param params[ROUTE_PARAMS_MAX];
};

/* Cuts and decodes `path` (starting with '/', no query) in place; `path` is overwritten and must live as long as `out` is used.
 * ERR_INVALID: does not start with '/', bad percent sequence, %00 or another control character, not UTF-8, "." or ".." segment.
 * ERR_NOT_FOUND: more than ROUTE_SEGMENTS_MAX segments. */
int route_path_parse(char *path, struct route_path *out, struct err *err);

/* Finds the route of a parsed path. Always fills *out; see struct route_match. Joins the segments of a "*" again, so a path can be
 * used for one search only. */
void route_find(const struct route_table *table, enum http_method method, const struct route_path *path, struct route_match *out);

/* Case-sensitive, RFC 9110 9.1; HTTP_METHOD_OTHER if unknown. */
enum http_method http_method_parse(const char *name);

#define ROUTE_ALLOW_BYTES 64
/* Writes the Allow header for `allowed` ("GET, HEAD, OPTIONS"); `out` needs ROUTE_ALLOW_BYTES. */
void route_format_allow(unsigned allowed, char *out);
