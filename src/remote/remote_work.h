/* Work that is done at a remote when asked or from time to time: kinds, and how it went. Layer 3 (remote).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A kind of work is a bit: asked for twice before it runs, it is done once. What is asked for with remote_request runs one after the other in the remote's worker
 * pool, only while the remote is in touch (in_any_state: also when it is not); requests before that wait. A run that fails is tried again with back-off (1 s to
 * 60 s) until it succeeds. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct remote;

/* Runs in the remote's worker pool and may block. 0: done. ERR_CANCELED: nothing to do any more (its object is gone): not tried again. Other errors: tried
 * again; `err` is shown in health. */
typedef int remote_work_fn(struct remote *remote, struct err *err);

struct remote_work {
    unsigned bit;        /* 1 << its index in the array */
    const char *name;    /* for metrics, logs, health: "reconcile"; static */
    remote_work_fn *run; /* NULL: no such work; requests for it are dropped */
    bool at_connect;     /* asked for by itself each time the remote gets in touch */
    bool in_any_state;   /* done also while the remote is not in touch */
    int64_t period_ms;   /* asked for by itself so long after the last good run, less up to a tenth at random; 0: never */
    bool is_for_health;  /* a failure is shown as a warning in health */
};
#define REMOTE_WORK_MAX 8U

/* The state of one kind of work at one remote. */
struct remote_work_state {
    const struct remote_work *work;
    bool is_wanted;           /* asked for and not done yet */
    int64_t done_at_ms;       /* wall clock of the last good run; 0: never */
    int64_t failing_since_ms; /* wall clock; 0: it does not fail */
    unsigned failures;        /* in a row */
    struct err err;           /* of the last run, if it failed */
};

/* -- what a remote was asked to do and has not done yet --------------------------------------------------------- */

struct remote_slot {
    struct remote_work_state state;
    int64_t not_before_ms; /* monotonic clock: after a failure */
    int64_t next_ms;       /* monotonic clock: next run by period; 0: not planned */
};

/* Belongs to one remote. Every function takes the lock itself. */
struct remote_queue {
    const struct remote_work *kinds; /* REMOTE_WORK_MAX */
    pthread_mutex_t lock;
    struct remote_slot slots[REMOTE_WORK_MAX];
};

/* Begins with nothing asked for. `kinds` are REMOTE_WORK_MAX, in the order of their bits, and outlive the queue; remote_queue_done gives it back. */
void remote_queue_init(struct remote_queue *queue, const struct remote_work *kinds);
/* Gives back what remote_queue_init made. */
void remote_queue_done(struct remote_queue *queue);

/* Asks for the work of these bits. `is_now`: it is to run at once, also where a failed run waits to be tried again. Kinds that are not plugged in are left out. */
void remote_queue_add(struct remote_queue *queue, unsigned bits, bool is_now);
/* Asks for what is done at each connect. */
void remote_queue_add_at_connect(struct remote_queue *queue);

/* True if something may run at this time (monotonic clock). `is_ok`: the remote is in touch; if not, only what may run in any state counts. */
bool remote_queue_is_due(struct remote_queue *queue, bool is_ok, int64_t now_ms);
/* Takes the next work that may run; NULL: none. */
const struct remote_work *remote_queue_take(struct remote_queue *queue, bool is_ok, int64_t now_ms);
/* Notes how a run ended; after a failure the work is asked for again, after the back-off. */
void remote_queue_note(struct remote_queue *queue, const struct remote_work *kind, int rc, const struct err *err);

/* Copies the states of the kinds there are; returns their number. */
size_t remote_queue_get(struct remote_queue *queue, struct remote_work_state out[REMOTE_WORK_MAX]);
