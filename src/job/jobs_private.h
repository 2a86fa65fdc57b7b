/* Inside the engine of jobs. Layer 4 (job); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>

#include "jobs.h"

#define JOBS_TTL_MS 10000 /* a replica that is gone is missed after that */
#define JOBS_RENEW_MS 3000
#define JOBS_KINDS_MAX 32U

struct jobs {
    struct jobs_options options;
    const struct job_kind *kinds[JOBS_KINDS_MAX];
    size_t kinds_count;
    int64_t look_ms, renew_ms; /* monotonic: when it is done next; the tick's own */

    pthread_mutex_t lock; /* guards the rest, and what runs say of themselves */
    pthread_cond_t idle;  /* a run has become idle */
    bool is_stopping;
    bool is_woken;
    struct job_run *runs;
};

/* A step as this replica works on it. */
struct job_mark {
    bool is_busy;    /* queued or running in a worker */
    bool is_woken;   /* meanwhile: it may have looked before what it waits for came, so it looks once more */
    int64_t due_ms;  /* monotonic: it waits until then */
    unsigned errors; /* that passed, in a row */
    bool is_undoing; /* is being taken back */
    struct err *why; /* it fails, once what must not stay is gone; NULL: it does not. The worker's own */
};

/* A job that this replica holds. */
struct job_run {
    struct job_run *next;
    struct jobs *jobs;
    const struct job_kind *kind;
    struct job_hold hold;
    struct job *job; /* its state is changed by turns only, with the lock */
    json_t *params;
    struct job_step_list steps; /* a step is written by its worker, its state with the lock */
    struct job_mark *marks;     /* of each step */
    int64_t ahead_ms;           /* the database's clock before clock_mono_ms */
    unsigned busy;              /* steps in workers */
    int failed_code;            /* why a step failed; 0: none did here */
    bool is_turning;            /* a turn is queued or running; */
    bool is_due;                /* another one is wanted */
    bool is_cancel_asked;
    bool is_over; /* ended, or lost to another replica: freed by the tick once it is idle */
};

/* The kind of this name; NULL: this version does not know it. Borrowed. */
const struct job_kind *job_run_find_kind(const struct jobs *jobs, const char *name);

/* Takes a job up that was just taken in the database; the list of runs gets it. */
int job_run_new(struct jobs *jobs, const struct job_hold *hold, int64_t now_ms, struct err *err);
void job_run_free(struct job_run *run); /* NULL is allowed */
/* Needs the lock: has somebody look at what the job can do now, in a worker. */
void job_run_turn(struct job_run *run);
/* Needs the lock. */
bool job_run_is_idle(const struct job_run *run);
