/* Durable jobs: work of several steps in systems out there, that outlives a kill, a restart and the loss of the replica that did it. Layer 4 (job).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A kind of job is a table of steps, handed in by the module whose work it is. One replica at a time works on a job (job_store.h). Each step first looks whether its
 * work is done, then does one thing; what it will be found by again is decided and committed before anything is asked for outside (job_decide). So a step that runs twice
 * does its work once, and going on after a kill, another replica's going on, and a retry are the same. A step that waits holds no thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "job.h"
#include "job_store.h"
#include "json.h"
#include "principal.h"
#include "runtime.h"
#include "uuid.h"
#include "worker_pool.h"

struct jobs;
struct metric_page;

/* -- what a kind says ------------------------------------------------------------------------------------------------------ */

struct job_run;
/* What a step is given. Borrowed while it runs. */
struct job_call {
    const struct job *job;
    const json_t *params;
    const char *item;   /* what it works on, of a step that there is once for each of several things; else NULL */
    const json_t *data; /* object: what this step has decided */
    void *arg;          /* the kind's */
    /* The step's own: how far it is, in percent; -1: not known. */
    int percent;

    struct job_run *run; /* below this the runner's */
    struct job_step *step;
    json_t *decided;
    int64_t wait_ms;
    char wait_reason[ERR_TEXT_BYTES];
    char wait_remedy[ERR_REMEDY_BYTES];
};

#define JOB_WAIT 1
/* Does one thing, or takes it back. 0: it is done. job_wait(...): it waits. Errors that pass (ERR_UNREACHABLE, ERR_TIMEOUT, ERR_BUSY, ERR_UNAVAILABLE,
 * ERR_TOO_MANY, ERR_DATABASE) are tried again with a back-off until the step's limit; any other fails the step. Texts hold no secrets. */
typedef int job_step_fn(struct job_call *call, struct err *err);
/* For `return job_wait(...)`: has the step run again after `ms`; `fmt` says what it waits for, for people. */
int job_wait(struct job_call *call, int64_t ms, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* For `return job_wait_remedy(...)` behind job_wait: what people can do about it, shown while it waits, and when the step's limit is over. Returns JOB_WAIT. */
int job_wait_remedy(struct job_call *call, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For how long this try of the step has been at work, with all its waits, in ms. */
int64_t job_spent_ms(const struct job_call *call);
/* Commits a value that the work will be found by again. To be called before anything is asked for outside; on any error nothing may be asked for. */
int job_decide(struct job_call *call, const char *name, const char *value, struct err *err);
/* Tells a line, of at most JOB_LINE_CHARS_MAX characters. */
void job_say(struct job_call *call, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* True if the steps of this name are done: those of `item`, or all if that is NULL. */
bool job_is_done(const struct job_call *call, const char *step, const char *item);

/* Who began the job, as the modules want it. `who` is filled, and borrows from the job. */
struct actor job_actor(const struct job_call *call, struct principal *who);

struct job_step_kind {
    const char *name, *title; /* "remove-account"; "remove our account in the cluster" */
    job_step_fn *run;
    job_step_fn *undo; /* NULL: nothing is to be taken back */
    int64_t limit_ms;  /* of run or undo, from its begin, with all waits and tries; 0: none */
    /* Called when the step is about to fail, by an error of its own or by its limit: takes away what must not stay behind. Until it returns 0 it is called again and again,
     * however long that takes, instead of `run`; then the step fails. NULL: nothing must go. */
    job_step_fn *leave;
    bool is_finished; /* once it has begun it comes to its end although another step fails: only then does the job */
};

/* The steps that a new job will have. */
struct job_plan;
/* Adds a step, `of` (NULL: none) being its item's name for people. `after`: the number of the step that must be done before; -1: none. Returns its number, or
 * ERR_NOMEM. */
int job_plan_add(struct job_plan *plan, const char *step, const char *item, const char *of, int after);

struct job_kind {
    const char *name;                  /* "cluster.disconnect" */
    const char *title;                 /* "disconnect", before the name of the object */
    const char *action;                /* of the audit log */
    const struct job_step_kind *steps; /* ended by one without a name */
    /* Makes the plan by the parameters. Blocks. NULL: each step once, in the order of the table. */
    int (*plan)(void *arg, const json_t *params, struct job_plan *plan, struct err *err);
    /* Has `fn` run in the worker pool of the system that the step touches, as worker_pool_submit. NULL, or ERR_NOT_FOUND: in that of the jobs. */
    int (*submit)(void *arg, const struct job *job, const char *item, worker_fn *fn, void *fn_arg, struct err *err);
    void *arg;
};

/* -- life ------------------------------------------------------------------------------------------------------------------- */

struct jobs_options {
    const struct runtime *runtime;
    struct worker_pool *workers; /* for steps of kinds without a pool of their own, and for what is written between steps */
    void (*on_end)(void *arg, const struct job *job); /* a job has ended here; from a worker. NULL: nobody listens */
    void (*on_retry)(
        void *arg,
        const struct job *job); /* it is about to go on, having failed or been canceled; from jobs_retry. NULL: nobody listens */
    void *arg;
};
/* Makes the engine; nothing runs before jobs_tick. Freed by jobs_free. ERR_NOMEM. */
int jobs_new(const struct jobs_options *options, struct jobs **out, struct err *err);
/* Adds a kind, which outlives the engine. Before the first tick. */
void jobs_add_kind(struct jobs *jobs, const struct job_kind *kind);
/* Takes nothing up any more, waits for the steps that run, and gives all jobs back, so that another replica goes on at once. May be called twice. NULL is allowed. */
void jobs_stop(struct jobs *jobs);
void jobs_free(struct jobs *jobs); /* NULL is allowed; after the stop of the worker pools */

/* Call it every JOBS_TICK_MS: has due steps run, holds on to what is ours, and looks for work every JOBS_LOOK_MS, or when jobs_wake was called. Blocks. */
#define JOBS_TICK_MS 500
#define JOBS_LOOK_MS 2000
int jobs_tick(struct jobs *jobs, struct err *err);
/* Something has happened to this job, or to one of them (NULL): its steps that wait look again, and orders are taken with the next tick. Does not block. */
void jobs_wake(struct jobs *jobs, const char *id);
/* The same for all jobs about this object. */
void jobs_wake_about(struct jobs *jobs, const char *object_id);
/* Removes jobs that ended more than 90 days ago, some hundred at a time. Blocks. */
int jobs_prune(struct jobs *jobs, struct err *err);

/* Where they are kept, for reading (job_store.h). */
struct store *jobs_store(const struct jobs *jobs);

/* -- what people do --------------------------------------------------------------------------------------------------------- */

struct job_new {
    const char *kind;
    const char *object_kind, *object_id, *object_name; /* NULL: it is about no one object */
    const json_t *params;                              /* object, without secrets; NULL: none */
    const struct actor *actor;
};
/* Makes a job and begins it; its id goes to `id`, also with ERR_EXISTS: that of the job that is at work on the object. ERR_NOT_FOUND: no such kind, and errors of
 * the kind's plan. Blocks. */
int jobs_start(struct jobs *jobs, const struct job_new *wanted, char id[UUID_TEXT_BYTES], struct err *err);
/* As job_store_cancel, job_store_retry, with their line in the audit log. Block. */
int jobs_cancel(struct jobs *jobs, const char *id, const struct actor *actor, struct err *err);
int jobs_retry(struct jobs *jobs, const char *id, const struct actor *actor, struct err *err);

/* Puts kaas_jobs on the page: how many this replica works on. */
void jobs_write_metrics(struct jobs *jobs, struct metric_page *page);
