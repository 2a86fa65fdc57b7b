/* Runs jobs periodically: period, jitter, back-off, one run of a job at a time. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "backoff.h"
#include "err.h"

struct scheduler;

/* One job. The runner owns when; the job only does its work. */
struct job {
    const char *name;                       /* static */
    int64_t period_ms;                      /* from the end of a good run to the next one */
    unsigned jitter_percent;                /* share of the period that is taken off at random */
    struct backoff retry;                   /* after failed runs */
    int (*run)(void *arg, struct err *err); /* ERR_CANCELED: done for good, never run again */
    void *arg;
};

/* Makes a scheduler with one thread for each job, so that no job waits for another. `thread_begin/end` as in worker_pool.h. The jobs are copied;
 * nothing runs yet. ERR_NOMEM. */
int scheduler_new(const struct job *jobs, unsigned count, void (*thread_begin)(void), void (*thread_end)(void),
                  struct scheduler **out, struct err *err);

/* Starts the clockwork: every job is due at once. ERR_NOMEM, ERR_INTERNAL. */
int scheduler_start(struct scheduler *scheduler, struct err *err);

/* Makes a job due now. */
void scheduler_wake(struct scheduler *scheduler, const char *name);

/* Waits for running jobs and frees. NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);
