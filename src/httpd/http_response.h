/* The answer a handler fills in. Layer 2 (httpd). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starts as 200 without body. Setters cannot fail visibly: a bad header or missing memory is remembered and answered as 500. Date,
 * Content-Length, Connection are made by the server. */
#pragma once

#include <stddef.h>

#include "strbuf.h"

struct http_response;

/* An immutable text shared by many answers without copying. Reference counted, thread-safe. */
struct http_shared;

/* Takes the buffer's memory (`from` is empty afterwards). NULL if `from` failed or without memory; then `from` is unchanged. */
struct http_shared *http_shared_new(struct strbuf *from);
struct http_shared *http_shared_ref(struct http_shared *shared); /* returns its argument */
void http_shared_unref(struct http_shared *shared);              /* NULL is allowed */
const char *http_shared_data(const struct http_shared *shared, size_t *len);

/* The compressed form that is kept with a text, and lives as long as the text; NULL if none is kept. */
struct http_shared *http_shared_gzip(const struct http_shared *shared);
/* Keeps the compressed form with its text, unless another thread was quicker; `gzip` is taken over. Returns the one that is kept. */
struct http_shared *http_shared_keep_gzip(struct http_shared *shared, struct http_shared *gzip);

void http_response_set_status(struct http_response *resp, int status); /* 200 to 599 */
int http_response_status(const struct http_response *resp);

/* Sets (replaces) a header; both texts are copied. At most 24. Name: a token; value: no control characters. */
void http_response_set_header(struct http_response *resp, const char *name, const char *value);
const char *http_response_header(const struct http_response *resp, const char *name); /* NULL if not set */

/* Set the body; a later call replaces it. `type` is the Content-Type, copied; NULL leaves it unset. A shared body is not sent with status 304, but set it: it
 * makes that answer cheaper. */
void http_response_set_text(struct http_response *resp, const char *type, struct strbuf *body); /* moves; body is empty then */
void http_response_set_shared(struct http_response *resp, const char *type,
                              struct http_shared *body); /* takes a reference of its own */
void http_response_set_static(struct http_response *resp, const char *type, const void *bytes, size_t n); /* lives for ever */

/* Sets status, headers and body back to those of a new answer. */
void http_response_reset(struct http_response *resp);

/* Close the connection after this answer. */
void http_response_set_close(struct http_response *resp);
