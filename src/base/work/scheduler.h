/* Runs periodic work: period, jitter, back-off, one run of each at a time. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "backoff.h"
#include "err.h"

struct scheduler;

/* One piece of periodic work. The scheduler says when; `run` only does the work. */
struct periodic {
    const char *name;                       /* static */
    int64_t period_ms;                      /* from the end of a good run to the next one */
    unsigned jitter_percent;                /* share of the period that is taken off at random */
    struct backoff retry;                   /* after failed runs */
    int (*run)(void *arg, struct err *err); /* ERR_CANCELED: done for good, never run again */
    void *arg;
};

/* Makes a scheduler with one thread for each row of `table`, so that none waits for another. `thread_begin/end` as in worker_pool.h. The rows are copied;
 * nothing runs yet. ERR_NOMEM. */
int scheduler_new(const struct periodic *table, unsigned count, void (*thread_begin)(void), void (*thread_end)(void),
                  struct scheduler **out, struct err *err);

/* Starts the threads; every row is due at once. ERR_INTERNAL. */
int scheduler_start(struct scheduler *scheduler, struct err *err);

/* Makes the row with this name due now. */
void scheduler_wake(struct scheduler *scheduler, const char *name);

/* Waits for the runs under way, ends the threads and frees. NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);
