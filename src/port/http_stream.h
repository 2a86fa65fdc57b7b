/* Many long HTTPS transfers on one thread, over libcurl. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For answers that go on for hours, as a watch of Kubernetes does: the body is handed on piece by piece, and a transfer costs a connection but no thread.
 * Each transfer has a connection of its own: streams of one HTTP/2 connection share a receive window, so that a slow reader would starve its neighbour.
 * Trust, allowed networks and limits are those of http_client.h; HTTP/2 is used where the server has it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "http_options.h"

/* Who reads a transfer. All are called in the one thread, so none may wait for anything: neither for a lock that is held during work, nor for a
 * database or a peer. None may call http_stream_stop or http_streams_free. */
struct http_stream_user {
    void *arg;
    /* A header line of the answer, without line end; NULL: nobody asks. */
    void (*on_header)(void *arg, const char *line, size_t n);
    /* The next piece of the body (1 to some thousand bytes) of an answer with this HTTP status. An error ends the transfer with it. */
    int (*on_data)(void *arg, long status, const void *bytes, size_t n, struct err *err);
    /* Called once, last. `err` is NULL when the server has ended its answer in order, with this HTTP status. Else the answer broke off or never came, and `err` is
     * one of those of http_client_run, of on_data, or ERR_TIMEOUT after idle_ms, ERR_CANCELED after a stop; `status` is 0 if there was no answer yet.
     * May start the next transfer. */
    void (*on_end)(void *arg, long status, const struct err *err);
};

struct http_stream_request {
    const struct http_client_options *client; /* copied but for `networks`, which outlives the transfer */
    const char *url;                          /* asked by GET */
    const char *const *headers;               /* "Name: value" lines ended by NULL; NULL: none */
    int64_t idle_ms; /* above 0: the transfer ends when nothing of a body has come for so long, also before the first byte */
};

struct http_streams;

/* Starts the thread. http_streams_free ends it. ERR_NOMEM. */
int http_streams_new(struct http_streams **out, struct err *err);

/* Ends all transfers (ERR_CANCELED), then the thread. Only on_end may still try to start one. NULL is allowed. */
void http_streams_free(struct http_streams *streams);

/* Begins a transfer; *id, never 0, is set before the first call of `user`. ERR_CONFIG (bad PEM or URL), ERR_INTERNAL (a header line that cannot be sent), ERR_CANCELED (within http_streams_free), ERR_NOMEM:
 * then nothing was begun and on_end is not called. */
int http_stream_start(struct http_streams *streams, const struct http_stream_request *request,
                      const struct http_stream_user *user, uint64_t *id, struct err *err);

/* Ends a transfer by ERR_CANCELED and waits until its on_end has returned: no call for it comes afterwards. One that has ended is left as it is. */
void http_stream_stop(struct http_streams *streams, uint64_t id);
