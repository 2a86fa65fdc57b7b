/* Single flight: identical questions under way share one answer. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The flight asks nothing and has no thread: whoever comes first is told to have the question asked, whoever comes with the same key until the
 * answer is there takes a seat beside it. A seat is a record of the one who waits, so waiting costs neither a thread nor a place in a queue. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "worker_pool.h"

#define FLIGHT_KEY_BYTES 32U

struct flight;
struct flight_call;

struct flight_options {
    void *(*result_ref)(void *);  /* one more reference to a result */
    void (*result_unref)(void *); /* gives one back */
    unsigned seats_max;           /* in all */
    unsigned seats_per_call_max;  /* so that one crowd leaves seats for others */
};

/* Somebody who waits. Zeroed at its start; must live until run was called and flight_leave. */
struct flight_seat {
    worker_fn
        *run; /* called once, run(arg, false), by the thread that lands the call: must not block, unless it is the leader's */
    void *arg;
    int code; /* set when run is called, as the next two */
    struct err err;
    void *result;             /* one reference of the seat's; NULL on failure */
    struct flight_seat *next; /* of the flight, as the next */
    bool has_place;
};

/* NULL without memory. Freed by flight_free. */
struct flight *flight_new(const struct flight_options *options);

/* Takes a seat in the call for `key` that is under way. If there is none, one begins: then *lead is set, and the caller must see to it that
 * flight_land is called for it once; else NULL. A `key` of NULL is shared with nobody. Keys are compared in constant time and should be keyed
 * digests. Never blocks. ERR_BUSY (no seat is left), ERR_NOMEM: then nothing was taken. */
int flight_board(struct flight *flight, const uint8_t *key, struct flight_seat *seat, struct flight_call **lead, struct err *err);

/* The outcome is there: `code` 0 with a result, of which one reference is taken over, or an ERR_* described in `why`. Everybody in the call gets
 * it and is called; who comes later begins anew. The leader is called last, so that it may go on in this thread, and blocks nobody. */
void flight_land(struct flight *flight, struct flight_call *call, int code, void *result, const struct err *why);

/* Gives the seat back, with its result. Not between flight_board and its run. Nothing if it was never taken. */
void flight_leave(struct flight *flight, struct flight_seat *seat);

/* Frees the flight; no call may be under way and no seat taken. NULL is allowed. */
void flight_free(struct flight *flight);
