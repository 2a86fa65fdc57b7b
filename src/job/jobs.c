/* The engine of jobs: kinds, new jobs, which ones this replica works on. Layer 4 (job).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "jobs_private.h"
#include "metric.h"
#include "str.h"
#include "strbuf.h"

#define JOBS_KEPT_MS (90 * CLOCK_DAY_MS)
#define JOBS_PRUNED_MAX 500U
#define JOB_STEPS_MAX 1000U

/* -- life ------------------------------------------------------------------------------------------------------------------- */

int jobs_new(const struct jobs_options *options, struct jobs **out, struct err *err) {
    struct jobs *jobs = calloc(1, sizeof(*jobs));
    if (!jobs)
        return err_set(err, ERR_NOMEM, "out of memory");
    jobs->options = *options;
    (void)pthread_mutex_init(&jobs->lock, NULL);
    clock_init_cond(&jobs->idle);
    *out = jobs;
    return 0;
}

void jobs_add_kind(struct jobs *jobs, const struct job_kind *kind) {
    assert(jobs->kinds_count < JOBS_KINDS_MAX);
    jobs->kinds[jobs->kinds_count++] = kind;
}

struct store *jobs_store(const struct jobs *jobs) {
    return jobs->options.runtime->store;
}

static struct job_run *jobs_find_run(const struct jobs *jobs, const char *id) {
    struct job_run *run = jobs->runs;
    while (run && !str_eq(run->hold.id, id))
        run = run->next;
    return run;
}

static bool jobs_are_idle(const struct jobs *jobs) {
    for (const struct job_run *run = jobs->runs; run; run = run->next)
        if (!job_run_is_idle(run))
            return false;
    return true;
}

void jobs_stop(struct jobs *jobs) {
    if (!jobs)
        return;
    (void)pthread_mutex_lock(&jobs->lock);
    const bool is_first = !jobs->is_stopping;
    jobs->is_stopping = true;
    while (!jobs_are_idle(jobs))
        (void)pthread_cond_wait(&jobs->idle, &jobs->lock);
    const bool is_any = jobs->runs != NULL;
    (void)pthread_mutex_unlock(&jobs->lock);
    if (is_first && is_any)
        (void)job_store_give_back(jobs->options.runtime->store, NULL);
}

void jobs_free(struct jobs *jobs) {
    if (!jobs)
        return;
    jobs_stop(jobs);
    while (jobs->runs) {
        struct job_run *next = jobs->runs->next;
        job_run_free(jobs->runs);
        jobs->runs = next;
    }
    (void)pthread_cond_destroy(&jobs->idle);
    (void)pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

/* -- which ones this replica works on ---------------------------------------------------------------------------------------- */

/* Frees what is over, and has what is due looked at. True if there is anything left. */
static bool jobs_sweep(struct jobs *jobs, int64_t now_ms) {
    struct job_run *over = NULL;
    (void)pthread_mutex_lock(&jobs->lock);
    for (struct job_run **at = &jobs->runs; *at;) {
        struct job_run *run = *at;
        bool is_due = jobs->is_woken || run->is_due;
        for (size_t i = 0; i < run->steps.count; i++)
            is_due |= run->marks[i].due_ms && run->marks[i].due_ms <= now_ms;
        if (run->is_over && job_run_is_idle(run)) {
            *at = run->next;
            run->next = over;
            over = run;
            continue;
        }
        if (is_due)
            job_run_turn(run);
        at = &run->next;
    }
    const bool is_any = jobs->runs != NULL;
    (void)pthread_mutex_unlock(&jobs->lock);
    while (over) {
        struct job_run *next = over->next;
        job_run_free(over);
        over = next;
    }
    return is_any;
}

/* What the database says of jobs that we think are ours. */
static void jobs_compare(struct jobs *jobs, const struct job_dues *dues) {
    LOCKED(&jobs->lock);
    for (struct job_run *run = jobs->runs; run; run = run->next) {
        const struct job_due *due = NULL;
        for (size_t i = 0; i < dues->count && !due; i++)
            due = str_eq(dues->items[i].id, run->hold.id) ? &dues->items[i] : NULL;
        if (!due || due->generation != run->hold.generation) {
            run->is_over = true;
        } else if (due->is_cancel_asked && !run->is_cancel_asked) {
            run->is_cancel_asked = true;
            job_run_turn(run);
        }
    }
}

/* A kind that only another version knows is left to a replica of that version. */
static bool jobs_wants(struct jobs *jobs, const struct job_due *due) {
    LOCKED(&jobs->lock);
    return !jobs->is_stopping && (due->is_ours || !due->is_held) && !jobs_find_run(jobs, due->id) &&
           job_run_find_kind(jobs, due->kind);
}

static int jobs_take(struct jobs *jobs, const struct job_due *due, struct err *err) {
    struct job_hold hold;
    struct err why = {0};
    int64_t now_ms = 0;
    int rc = job_store_take(jobs->options.runtime->store, due, JOBS_TTL_MS, &hold, &now_ms, &why);
    if (rc == ERR_BUSY)
        return 0;
    rc = rc ? rc : job_run_new(jobs, &hold, now_ms, &why);
    return err_move(err, rc, &why);
}

/* One that cannot be taken up keeps none behind it from being so; the first error is told. */
static int jobs_look(struct jobs *jobs, struct err *err) {
    struct job_dues dues;
    int rc = job_store_list_active(jobs->options.runtime->store, &dues, err);
    if (rc)
        return rc;
    jobs_compare(jobs, &dues);
    for (size_t i = 0; i < dues.count; i++) {
        struct err why = {0};
        int one = jobs_wants(jobs, &dues.items[i]) ? jobs_take(jobs, &dues.items[i], &why) : 0;
        rc = rc ? rc : err_move(err, one, &why);
    }
    job_dues_done(&dues);
    return rc;
}

static bool jobs_take_woken(struct jobs *jobs) {
    LOCKED(&jobs->lock);
    const bool was_woken = jobs->is_woken;
    jobs->is_woken = false;
    return was_woken;
}

int jobs_tick(struct jobs *jobs, struct err *err) {
    const int64_t now_ms = clock_mono_ms();
    const bool is_any = jobs_sweep(jobs, now_ms);
    int rc = 0;
    if (is_any && now_ms >= jobs->renew_ms) {
        rc = job_store_renew(jobs->options.runtime->store, JOBS_TTL_MS, err);
        jobs->renew_ms = now_ms + JOBS_RENEW_MS;
    }
    if (jobs_take_woken(jobs) || now_ms >= jobs->look_ms) {
        rc = rc ? rc : jobs_look(jobs, err);
        jobs->look_ms = now_ms + JOBS_LOOK_MS;
    }
    return rc;
}

/* Needs the lock: what waits is due, and what is about to wait. */
static void job_run_wake(struct job_run *run) {
    for (size_t i = 0; i < run->steps.count; i++) {
        run->marks[i].due_ms = run->marks[i].due_ms ? 1 : 0;
        run->marks[i].is_woken = run->marks[i].is_busy;
    }
    job_run_turn(run);
}

void jobs_wake(struct jobs *jobs, const char *id) {
    LOCKED(&jobs->lock);
    struct job_run *run = id ? jobs_find_run(jobs, id) : NULL;
    if (run)
        job_run_wake(run);
    jobs->is_woken = true;
}

void jobs_wake_about(struct jobs *jobs, const char *object_id) {
    LOCKED(&jobs->lock);
    for (struct job_run *run = jobs->runs; run; run = run->next)
        if (str_eq(run->job->object_id, object_id))
            job_run_wake(run);
}

int jobs_prune(struct jobs *jobs, struct err *err) {
    uint64_t removed = 0;
    return job_store_prune(jobs->options.runtime->store, clock_wall_ms() - JOBS_KEPT_MS, JOBS_PRUNED_MAX, &removed, err);
}

void jobs_write_metrics(struct jobs *jobs, struct metric_page *page) {
    int64_t count = 0;
    (void)pthread_mutex_lock(&jobs->lock);
    for (const struct job_run *run = jobs->runs; run; run = run->next)
        count += !run->is_over;
    (void)pthread_mutex_unlock(&jobs->lock);
    metric_sample(page, METRIC_JOBS, (double)count);
}

/* -- new jobs ----------------------------------------------------------------------------------------------------------------- */

struct job_plan {
    const struct job_kind *kind;
    struct job_step_list steps;
};

static const struct job_step_kind *job_plan_find(const struct job_kind *kind, const char *name) {
    const struct job_step_kind *step = kind->steps;
    while (!str_eq(step->name, name)) {
        assert(step->name);
        step++;
    }
    return step;
}

int job_plan_add(struct job_plan *plan, const char *name, const char *item, const char *of, int after) {
    const struct job_step_kind *kind = job_plan_find(plan->kind, name);
    struct job_step *items = reallocarray(plan->steps.items, plan->steps.count + 1, sizeof(*items));
    if (!items)
        return ERR_NOMEM;
    plan->steps.items = items;
    struct job_step *step = &items[plan->steps.count];
    *step = (struct job_step){.no = (unsigned)plan->steps.count,
                              .name = str_dup(name),
                              .item = item ? str_dup(item) : NULL,
                              .title = of ? str_format("%s: %s", kind->title, of) : str_dup(kind->title),
                              .after_no = after,
                              .percent = -1};
    plan->steps.count++;
    return step->name && step->title && (step->item || !item) ? (int)step->no : ERR_NOMEM;
}

static int job_plan_make(struct job_plan *plan, const json_t *params, struct err *err) {
    const struct job_kind *kind = plan->kind;
    int rc = 0;
    if (kind->plan)
        rc = kind->plan(kind->arg, params, plan, err);
    for (const struct job_step_kind *step = kind->steps; !kind->plan && step->name && rc >= 0; step++)
        rc = job_plan_add(plan, step->name, NULL, NULL, (int)plan->steps.count - 1);
    if (rc < 0)
        return err_set(err, rc, "out of memory");
    if (!plan->steps.count || plan->steps.count > JOB_STEPS_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the job would have %zu steps; 1 to %u are possible", plan->steps.count,
                       JOB_STEPS_MAX);
    return 0;
}

static struct audit_event job_event(const char *action, const struct job *job) {
    return (struct audit_event){.action = action,
                                .object_kind = job->object_kind ? job->object_kind : "job",
                                .object_id = job->object_id ? job->object_id : job->id,
                                .object_name = job->object_name ? job->object_name : job->title};
}

static int jobs_begin(struct jobs *jobs, struct job_plan *plan, const struct job_new *wanted, struct job *job, struct err *err) {
    const struct audit_event event = job_event(plan->kind->action, job);
    const struct audit_record line = audit_record_make(wanted->actor, &event);
    struct job_begin begin = {.job = job, .steps = &plan->steps, .audit = &line};
    return job_store_begin(jobs->options.runtime->store, &begin, err);
}

static int job_make(const struct job_kind *kind, const struct job_new *wanted, struct job *job, struct err *err) {
    const struct principal *who = wanted->actor ? wanted->actor->principal : NULL;
    _cleanup_strbuf_ struct strbuf params;
    char id[UUID_TEXT_BYTES];
    strbuf_init(&params, 16384);
    int rc = wanted->params ? json_write(wanted->params, &params, err) : 0;
    if (rc)
        return rc;
    uuid_new(id);
    job->id = str_dup(id);
    job->kind = str_dup(kind->name);
    job->title = wanted->object_name ? str_format("%s %s", kind->title, wanted->object_name) : str_dup(kind->title);
    job->object_kind = wanted->object_kind ? str_dup(wanted->object_kind) : NULL;
    job->object_id = wanted->object_id ? str_dup(wanted->object_id) : NULL;
    job->object_name = wanted->object_name ? str_dup(wanted->object_name) : NULL;
    job->params = str_dup(wanted->params ? params.data : "{}");
    job->created_by = who ? str_dup(who->id) : NULL;
    job->created_by_name = who && who->name ? str_dup(who->name) : NULL;
    job->request_id = wanted->actor && wanted->actor->request_id ? str_dup(wanted->actor->request_id) : NULL;
    return job->id && job->kind && job->title && job->params ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Another job is at work on the object: says which. */
static int jobs_tell_other(struct jobs *jobs, const struct job *job, char id[UUID_TEXT_BYTES], struct err *err) {
    err_clear(err);
    int rc = job_store_find_active(jobs->options.runtime->store, job->object_kind ? job->object_kind : job->kind, job->object_id,
                                   id, err);
    if (rc)
        return rc;
    (void)err_set(err, ERR_EXISTS, "the job %s is at work on it", *id ? id : "that ended just now");
    return err_remedy(err, "wait for it, or end it: kaasctl job watch %s, kaasctl job cancel %s", id, id);
}

int jobs_start(struct jobs *jobs, const struct job_new *wanted, char id[UUID_TEXT_BYTES], struct err *err) {
    struct job_plan plan = {.kind = job_run_find_kind(jobs, wanted->kind)};
    struct job job = {0};
    if (!plan.kind)
        return err_set(err, ERR_NOT_FOUND, "there is no such kind of job: %s", wanted->kind);
    int rc = job_make(plan.kind, wanted, &job, err);
    rc = rc ? rc : job_plan_make(&plan, wanted->params, err);
    rc = rc ? rc : jobs_begin(jobs, &plan, wanted, &job, err);
    if (!rc)
        (void)snprintf(id, UUID_TEXT_BYTES, "%s", job.id);
    if (rc == ERR_EXISTS)
        rc = jobs_tell_other(jobs, &job, id, err);
    job_step_list_done(&plan.steps);
    job_done(&job);
    runtime_note_written(jobs->options.runtime);
    jobs_wake(jobs, NULL);
    return rc;
}

/* -- orders ------------------------------------------------------------------------------------------------------------------- */

typedef int job_order_fn(struct store *store, const char *id, const struct audit_record *audit, struct err *err);

static int jobs_order(struct jobs *jobs, const char *id, const char *action, const struct actor *actor, job_order_fn *fn,
                      struct err *err) {
    _cleanup_(job_free) struct job *job = NULL;
    struct store *store = jobs->options.runtime->store;
    char other[UUID_TEXT_BYTES];
    int rc = job_store_load(store, id, &job, NULL, err);
    if (rc)
        return rc;
    const struct audit_event event = job_event(action, job);
    const struct audit_record line = audit_record_make(actor, &event);
    rc = fn(store, id, &line, err);
    if (rc == ERR_EXISTS)
        return jobs_tell_other(jobs, job, other, err);
    if (!rc && fn == job_store_retry && jobs->options.on_retry)
        jobs->options.on_retry(jobs->options.arg, job);
    runtime_note_written(jobs->options.runtime);
    jobs_wake(jobs, id);
    return rc;
}

/* Other replicas hear of it by the change feed. */
static void jobs_note_cancel(struct jobs *jobs, const char *id) {
    LOCKED(&jobs->lock);
    struct job_run *run = jobs_find_run(jobs, id);
    if (!run)
        return;
    run->is_cancel_asked = true;
    job_run_turn(run);
}

int jobs_cancel(struct jobs *jobs, const char *id, const struct actor *actor, struct err *err) {
    int rc = jobs_order(jobs, id, "job.cancel", actor, job_store_cancel, err);
    if (!rc)
        jobs_note_cancel(jobs, id);
    return rc;
}

int jobs_retry(struct jobs *jobs, const char *id, const struct actor *actor, struct err *err) {
    return jobs_order(jobs, id, "job.retry", actor, job_store_retry, err);
}
