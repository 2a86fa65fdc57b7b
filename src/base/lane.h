/* A lane: a bounded queue of work with its own few threads. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Slow work of each kind (password hashing, database, each vCenter) runs in its own lane, so that one hanging peer
 * cannot slow any other. Threads start on first use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct lane;

struct lane_options {
    const char *name;           /* for logs and metrics; copied */
    unsigned threads;           /* 1 to 64 */
    unsigned queue_count;       /* greatest number of jobs waiting, running ones not counted */
    void (*thread_begin)(void); /* run in each new thread, e.g. mysql_thread_init; may be NULL */
    void (*thread_end)(void);
};

/* One piece of work. `is_canceled` is true if the lane is being shut down, or the job had to give way to that of another party: then only clean up and
 * finish quickly; it runs in any thread, also where thread_begin was not called, and must not need a lock of those who submit. */
typedef void lane_fn(void *arg, bool is_canceled);

/* Makes a lane. Returns 0 and *out, freed by lane_free; ERR_NOMEM. */
int lane_new(const struct lane_options *options, struct lane **out, struct err *err);

/* Queues fn(arg, false). Returns ERR_BUSY if the queue is full or no thread can be started and ERR_CANCELED after lane_stop; fn is then not called. */
int lane_submit(struct lane *lane, lane_fn *fn, void *arg, struct err *err);

/* The same for somebody (net_addr.h). Parties that wait are served in turn, each first come, first served, so who has much waiting delays nobody but
 * themself. A queue that is full refuses whoever has most waiting: that may be this job, or the newest of that party, which is canceled. Jobs of nobody
 * are ours: each counts as a party of its own and never gives way. */
#define LANE_NO_PARTY 0U
int lane_submit_for(struct lane *lane, uint64_t party, lane_fn *fn, void *arg, struct err *err);

/* Waits until no job waits or runs, at most that long. True if it came to that. */
bool lane_wait_idle(struct lane *lane, int64_t timeout_ms);

/* Refuses new work, calls every queued fn with is_canceled, waits for the running ones and the threads. May be called
 * twice and by several threads, never by a job of this lane. */
void lane_stop(struct lane *lane);

/* Stops the lane and frees it. NULL is allowed. */
void lane_free(struct lane *lane);

struct lane_stats {
    unsigned waiting, running;
    unsigned long done, refused;
};
/* A consistent copy of the counters. */
void lane_get_stats(struct lane *lane, struct lane_stats *out);
