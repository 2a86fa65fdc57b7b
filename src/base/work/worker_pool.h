/* A worker pool: a bounded queue of work with its own few threads. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Slow work of each kind (password hashing, database, each vCenter) runs in its own worker pool, so that one hanging peer
 * cannot slow any other. Threads start on first use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct worker_pool;

struct worker_pool_options {
    const char *name;           /* for logs and metrics; copied */
    unsigned threads;           /* 1 to 64 */
    unsigned queue_count;       /* greatest number of work items waiting, running ones not counted */
    void (*thread_begin)(void); /* run in each new thread, e.g. mysql_thread_init; may be NULL */
    void (*thread_end)(void);
};

/* One piece of work. `is_canceled` is true if the worker pool is being shut down, or the work item had to give way to that of another party: then it only
 * cleans up and ends quickly; it runs in any thread, also one without thread_begin, and must not take a lock that a caller of worker_pool_submit holds. */
typedef void worker_fn(void *arg, bool is_canceled);

/* Makes a worker pool. Returns 0 and *out, freed by worker_pool_free; ERR_NOMEM. */
int worker_pool_new(const struct worker_pool_options *options, struct worker_pool **out, struct err *err);

/* Queues fn(arg, false). Returns ERR_BUSY if the queue is full or no thread can be started and ERR_CANCELED after worker_pool_stop; fn is then not called. */
int worker_pool_submit(struct worker_pool *workers, worker_fn *fn, void *arg, struct err *err);

/* As worker_pool_submit, for a party (net_addr.h). Waiting parties are served in turn, the items of one party in the order they came, so a party with much
 * waiting delays only itself. A full queue refuses the party with most waiting: that is this work item, or the newest one of that party, which is canceled.
 * Work for WORKER_POOL_NO_PARTY is kaasd's own: each item counts as a party of its own and never gives way. */
#define WORKER_POOL_NO_PARTY 0U
int worker_pool_submit_for(struct worker_pool *workers, uint64_t party, worker_fn *fn, void *arg, struct err *err);

/* Waits until no work item waits or runs, at most `timeout_ms`. True if the pool became idle. */
bool worker_pool_wait_idle(struct worker_pool *workers, int64_t timeout_ms);

/* Refuses new work, calls every queued fn with is_canceled, waits for the running ones and the threads. May be called
 * twice and by several threads, never by a work item of this worker pool. */
void worker_pool_stop(struct worker_pool *workers);

/* Stops the worker pool and frees it. NULL is allowed. */
void worker_pool_free(struct worker_pool *workers);

struct worker_pool_stats {
    unsigned waiting, running;
    unsigned long done, refused;
};
/* A consistent copy of the counters. */
void worker_pool_get_stats(struct worker_pool *workers, struct worker_pool_stats *out);

struct metric_page;
/* Puts kaas_worker_pool_* on the page. `pool` says what the pool is for; `vcenter` or `directory` which of them, NULL if it is the only one. `workers` NULL: nothing. */
void worker_pool_write_metrics(struct worker_pool *workers, struct metric_page *page, const char *pool, const char *vcenter,
                               const char *directory);
