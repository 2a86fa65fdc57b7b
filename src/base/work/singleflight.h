/* Singleflight: identical questions under way share one answer. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A singleflight asks nothing itself and has no thread. The first caller with a key leads: it is told to have the question asked. Callers who come
 * with the same key before the answer is there wait for it. A waiter is a struct of the caller's, so waiting takes neither a thread nor a place in a queue. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "worker_pool.h"

#define SINGLEFLIGHT_KEY_BYTES 32U

struct singleflight;
struct singleflight_call;

struct singleflight_options {
    void *(*result_ref)(void *);   /* takes one more reference to a result and returns it */
    void (*result_unref)(void *);  /* gives one reference back */
    unsigned waiters_max;          /* in all calls together */
    unsigned waiters_per_call_max; /* in one call, so that one crowd leaves room for others */
};

/* One caller that waits. Zeroed at its start; must live until run was called and singleflight_leave. */
struct singleflight_waiter {
    /* Called once, run(arg, false), by the thread that completes the call: must not block, unless it is the leader's. */
    worker_fn *run;
    void *arg;
    int code; /* outcome; set when run is called, as `err` and `result` */
    struct err err;
    void *result;                     /* one reference of the waiter's; NULL on failure */
    struct singleflight_waiter *next; /* used by the singleflight only, as has_place */
    bool has_place;
};

/* NULL without memory. Freed by singleflight_free. */
struct singleflight *singleflight_new(const struct singleflight_options *options);

/* Joins the call for `key` that is under way. If there is none, one begins: then *lead is set, and the caller must see to it that
 * singleflight_complete is called for it once; else NULL. A `key` of NULL is shared with nobody. Keys are compared in constant time and should be keyed
 * digests. Never blocks. ERR_BUSY (too many wait), ERR_NOMEM: then nobody has joined. */
int singleflight_join(struct singleflight *singleflight, const uint8_t *key, struct singleflight_waiter *waiter,
                      struct singleflight_call **lead, struct err *err);

/* Ends a call with its outcome: `code` 0 with a result, of which one reference is taken over, or an ERR_* described in `why`. Gives it to every waiter
 * of the call and runs them; whoever joins later begins a new call. The leader is run last, so that it may go on in this thread without delaying others. */
void singleflight_complete(struct singleflight *singleflight, struct singleflight_call *call, int code, void *result,
                           const struct err *why);

/* Ends the waiter's part: gives its reference to the result and its place back. Not between singleflight_join and its run. Does nothing if it has never
 * joined. */
void singleflight_leave(struct singleflight *singleflight, struct singleflight_waiter *waiter);

/* Frees the singleflight; no call may be under way and nobody waiting. NULL is allowed. */
void singleflight_free(struct singleflight *singleflight);
