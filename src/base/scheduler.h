/* Runs periodic work periodically: period, jitter, back-off, one run of a periodic work at a time. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "backoff.h"
#include "err.h"

struct scheduler;

/* One piece of periodic work. The runner owns when; the periodic work only does its work. */
struct periodic {
    const char *name;                       /* static */
    int64_t period_ms;                      /* from the end of a good run to the next one */
    unsigned jitter_percent;                /* share of the period that is taken off at random */
    struct backoff retry;                   /* after failed runs */
    int (*run)(void *arg, struct err *err); /* ERR_CANCELED: done for good, never run again */
    void *arg;
};

/* Makes a scheduler with one thread for each periodic work, so that no periodic work waits for another. `thread_begin/end` as in worker_pool.h. The periodic work are copied;
 * nothing runs yet. ERR_NOMEM. */
int scheduler_new(const struct periodic *table, unsigned count, void (*thread_begin)(void), void (*thread_end)(void),
                  struct scheduler **out, struct err *err);

/* Starts the clockwork: every periodic work is due at once. ERR_NOMEM, ERR_INTERNAL. */
int scheduler_start(struct scheduler *scheduler, struct err *err);

/* Makes a periodic work due now. */
void scheduler_wake(struct scheduler *scheduler, const char *name);

/* Waits for running periodic work and frees. NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);
