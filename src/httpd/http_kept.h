/* What one request leaves for the next one of its connection. Layer 2 (httpd). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Behind a proxy the next request of a connection may be anybody's: only for what is of no use without more of the same client. */
#pragma once

struct http_request;

/* Leaves something for the next request of the connection; `destroy` (may be NULL) is called when that has ended without taking it, or with the connection. Instead of
 * what was left before. In any thread that has the request. */
void http_request_keep_for_next(struct http_request *req, void *data, void (*destroy)(void *));

/* What the request before has left; it is the caller's from then on. NULL: nothing. Only in server threads (hooks, fast handlers). */
void *http_request_take_kept(struct http_request *req);
