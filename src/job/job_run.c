/* A job that this replica works on: what can go on now, its steps, and what is written of them. Layer 4 (job).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A turn looks at the whole job and has steps run; there is one at a time for each job, and only turns change the job's own state. A step runs in a worker of the
 * system that it touches, writes what it did, and asks for the next turn. Whoever finds that a write is refused, or cannot be made, lets go of the job: the database
 * says who goes on with it, and from where. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "jobs_private.h"
#include "metric.h"
#include "str.h"
#include "strbuf.h"

#define JOB_DATA_BYTES_MAX 16384U
#define JOB_BUSY_MS 1000 /* the worker pool of a step is full */

static const struct backoff job_backoff = {.first_ms = 1000, .max_ms = 60000, .jitter_percent = 20};

/* -- life ------------------------------------------------------------------------------------------------------------------- */

const struct job_kind *job_run_find_kind(const struct jobs *jobs, const char *name) {
    for (size_t i = 0; i < jobs->kinds_count; i++)
        if (str_eq(jobs->kinds[i]->name, name))
            return jobs->kinds[i];
    return NULL;
}

void job_run_free(struct job_run *run) {
    if (!run)
        return;
    for (size_t i = 0; run->marks && i < run->steps.count; i++)
        free(run->marks[i].why);
    job_step_list_done(&run->steps);
    json_decref(run->params);
    job_free(run->job);
    free(run->marks);
    free(run);
}

static int job_run_load(struct job_run *run, struct err *err) {
    int rc = job_store_load(run->jobs->options.runtime->store, run->hold.id, &run->job, &run->steps, err);
    if (rc)
        return rc;
    run->kind = job_run_find_kind(run->jobs, run->job->kind);
    if (!run->kind)
        return err_set(err, ERR_UNPROCESSABLE, "this version of kaasd does not know jobs of the kind %s", run->job->kind);
    run->marks = calloc(run->steps.count + 1, sizeof(*run->marks));
    if (!run->marks)
        return err_set(err, ERR_NOMEM, "out of memory");
    run->is_cancel_asked = run->job->is_cancel_asked;
    return json_parse(run->job->params, strlen(run->job->params), &run->params, err);
}

int job_run_new(struct jobs *jobs, const struct job_hold *hold, int64_t now_ms, struct err *err) {
    struct job_run *run = calloc(1, sizeof(*run));
    if (!run)
        return err_set(err, ERR_NOMEM, "out of memory");
    run->jobs = jobs;
    run->hold = *hold;
    run->ahead_ms = now_ms - clock_mono_ms();
    int rc = job_run_load(run, err);
    if (rc) {
        job_run_free(run);
        return rc;
    }
    LOCKED(&jobs->lock);
    run->next = jobs->runs;
    jobs->runs = run;
    job_run_turn(run);
    return 0;
}

static int64_t job_run_now(const struct job_run *run) {
    return clock_mono_ms() + run->ahead_ms;
}

bool job_run_is_idle(const struct job_run *run) {
    return !run->busy && !run->is_turning;
}

/* -- writing ---------------------------------------------------------------------------------------------------------------- */

static int job_run_write(struct job_run *run, struct job_write w, struct err *err) {
    w.hold = &run->hold;
    w.ttl_ms = JOBS_TTL_MS;
    w.at_ms = job_run_now(run);
    int rc = job_store_write(run->jobs->options.runtime->store, &w, err);
    runtime_note_written(run->jobs->options.runtime);
    if (!rc)
        return 0;
    LOCKED(&run->jobs->lock);
    run->is_over = true; /* somebody else goes on, or this replica itself, from what the database has */
    return rc;
}

/* A step is written with a line about it; NULL: nothing new is told. */
static int job_step_write(struct job_run *run, const struct job_step *step, const char *told, struct err *err) {
    _cleanup_free_ char *line = told ? str_format("%s: %s", step->title, told) : NULL;
    return job_run_write(run, (struct job_write){.step = step, .line = line}, err);
}

static void job_step_set_state(struct job_run *run, struct job_step *step, enum job_step_state state) {
    LOCKED(&run->jobs->lock);
    step->state = state;
}

/* -- what a step can do ------------------------------------------------------------------------------------------------------ */

int job_wait(struct job_call *call, int64_t ms, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(call->wait_reason, sizeof(call->wait_reason), fmt, args);
    va_end(args);
    str_trim_utf8(call->wait_reason);
    call->wait_remedy[0] = '\0';
    call->wait_ms = ms;
    return JOB_WAIT;
}

int job_wait_remedy(struct job_call *call, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(call->wait_remedy, sizeof(call->wait_remedy), fmt, args);
    va_end(args);
    str_trim_utf8(call->wait_remedy);
    return JOB_WAIT;
}

int64_t job_spent_ms(const struct job_call *call) {
    return job_run_now(call->run) - call->step->started_at_ms;
}

/* What a step waits for, as the reason of its not being done. */
static void job_wait_as_err(const struct job_call *call, struct err *why) {
    (void)err_set(why, ERR_TIMEOUT, "%s", call->wait_reason);
    (void)err_remedy(why, "%s", call->wait_remedy);
}

int job_decide(struct job_call *call, const char *name, const char *value, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, JOB_DATA_BYTES_MAX);
    json_put_string(call->decided, name, value);
    int rc = json_write(call->decided, &text, err);
    rc = rc ? rc : str_replace(&call->step->data, text.data, err);
    return rc ? rc : job_step_write(call->run, call->step, NULL, err);
}

void job_say(struct job_call *call, const char *fmt, ...) {
    char text[ERR_TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    str_trim_utf8(text);
    (void)job_step_write(call->run, call->step, text, NULL);
}

bool job_is_done(const struct job_call *call, const char *name, const char *item) {
    const struct job_run *run = call->run;
    LOCKED(&run->jobs->lock);
    for (size_t i = 0; i < run->steps.count; i++) {
        const struct job_step *s = &run->steps.items[i];
        if (str_eq(s->name, name) && (!item || str_eq(s->item, item)) && s->state != JOB_STEP_DONE)
            return false;
    }
    return true;
}

struct actor job_actor(const struct job_call *call, struct principal *who) {
    *who = (struct principal){.id = call->job->created_by, .name = call->job->created_by_name};
    return (struct actor){.principal = who->id ? who : NULL, .request_id = call->job->request_id};
}

/* -- a step ------------------------------------------------------------------------------------------------------------------ */

struct job_task {
    struct job_run *run;
    unsigned no;
    bool is_undo;
};

static const struct job_step_kind *job_step_kind_of(const struct job_run *run, const struct job_step *step) {
    const struct job_step_kind *kind = run->kind->steps;
    while (kind->name && !str_eq(kind->name, step->name))
        kind++;
    return kind->name ? kind : NULL;
}

static bool job_is_passing(int rc) {
    return rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_BUSY || rc == ERR_UNAVAILABLE || rc == ERR_TOO_MANY ||
           rc == ERR_DATABASE || rc == ERR_CANCELED;
}

/* Each time but after a wait. One that was cut off while it ran begins anew, and finds what is there. */
static int job_step_begin(struct job_run *run, struct job_step *step, bool is_undo, struct err *err) {
    struct job_mark *mark = &run->marks[step->no];
    const bool is_new = !step->started_at_ms || mark->is_undoing != is_undo;
    mark->is_undoing = is_undo;
    if (!is_new && step->state == JOB_STEP_WAITING)
        return 0;
    if (is_new)
        step->started_at_ms = job_run_now(run);
    step->ended_at_ms = 0;
    step->tries++;
    job_step_set_state(run, step, JOB_STEP_RUNNING);
    return job_step_write(run, step, !is_new ? NULL : is_undo ? "is taken back" : "begins", err);
}

static int job_step_fail(struct job_run *run, struct job_step *step, int rc, const struct err *why, struct err *err) {
    int set = str_replace(&step->reason, why->text[0] ? why->text : err_default_text(rc), err);
    set = set ? set : str_replace(&step->remedy, why->remedy[0] ? why->remedy : NULL, err);
    step->ended_at_ms = job_run_now(run);
    (void)pthread_mutex_lock(&run->jobs->lock);
    step->state = JOB_STEP_FAILED;
    run->failed_code = rc;
    (void)pthread_mutex_unlock(&run->jobs->lock);
    return set ? set : job_step_write(run, step, step->reason, err);
}

static int job_step_end(struct job_run *run, struct job_step *step, bool is_undo, struct err *err) {
    free(STEAL(step->reason));
    free(STEAL(step->remedy));
    step->percent = -1;
    step->ended_at_ms = job_run_now(run);
    job_step_set_state(run, step, is_undo ? JOB_STEP_UNDONE : JOB_STEP_DONE);
    return job_step_write(run, step, is_undo ? "taken back" : "done", err);
}

/* Waits for what `why` says; it is written if it is another reason than before, or another percentage. */
static int job_step_wait(struct job_run *run, struct job_step *step, const struct err *why, int percent, struct err *err) {
    const bool is_news = step->state != JOB_STEP_WAITING || !str_eq(step->reason, why->text);
    const bool is_other = is_news || step->percent != percent;
    int rc = str_replace(&step->reason, why->text, err);
    rc = rc ? rc : str_replace(&step->remedy, why->remedy[0] ? why->remedy : NULL, err);
    step->percent = percent;
    job_step_set_state(run, step, JOB_STEP_WAITING);
    return rc || !is_other ? rc : job_step_write(run, step, is_news ? step->reason : NULL, err);
}

static void job_mark_put_off(struct job_run *run, struct job_mark *mark, int64_t ms) {
    LOCKED(&run->jobs->lock);
    mark->due_ms = mark->is_woken ? 1 : clock_mono_ms() + ms;
}

/* The step is about to fail with mark->why: what must not stay is taken away first, which may take its time. */
static int job_step_leave(struct job_call *call, const struct job_step_kind *kind, struct err *err) {
    struct job_mark *mark = &call->run->marks[call->step->no];
    struct err left = {0}, both = {0};
    const int outcome = kind->leave ? kind->leave(call, &left) : 0;
    if (!outcome) {
        const struct err why = *mark->why;
        free(STEAL(mark->why));
        return job_step_fail(call->run, call->step, why.code, &why, err);
    }
    if (outcome == JOB_WAIT)
        job_wait_as_err(call, &left);
    (void)err_set(&both, mark->why->code, "%.250s; before this step ends: %.200s", mark->why->text, left.text);
    (void)err_remedy(&both, "%s", left.remedy);
    mark->errors = outcome == JOB_WAIT ? 0 : mark->errors + 1;
    job_mark_put_off(call->run, mark,
                     outcome == JOB_WAIT ? call->wait_ms : backoff_delay_ms(&job_backoff, mark->errors, random_u32()));
    return job_step_wait(call->run, call->step, &both, -1, err);
}

static int job_step_begin_leaving(struct job_call *call, int rc, const struct job_step_kind *kind, const struct err *why,
                                  struct err *err) {
    struct job_mark *mark = &call->run->marks[call->step->no];
    mark->why = calloc(1, sizeof(*mark->why));
    if (!mark->why)
        return err_set(err, ERR_NOMEM, "out of memory");
    *mark->why = *why;
    mark->why->code = rc;
    return job_step_leave(call, kind, err);
}

static int job_step_settle(struct job_call *call, int outcome, const struct job_step_kind *kind, bool is_undo, struct err *why,
                           struct err *err) {
    struct job_run *run = call->run;
    struct job_step *step = call->step;
    struct job_mark *mark = &run->marks[step->no];
    const int64_t spent_ms = job_spent_ms(call);
    if (!outcome)
        return job_step_end(run, step, is_undo, err);
    if (outcome == JOB_WAIT)
        job_wait_as_err(call, why);
    else if (!job_is_passing(outcome))
        return is_undo ? job_step_fail(run, step, outcome, why, err) : job_step_begin_leaving(call, outcome, kind, why, err);
    if (kind->limit_ms && spent_ms >= kind->limit_ms) {
        struct err late = {0};
        (void)err_set(&late, ERR_TIMEOUT, "not done after %" PRId64 " s: %s", spent_ms / 1000, why->text);
        (void)err_remedy(&late, "%s", why->remedy);
        return is_undo ? job_step_fail(run, step, ERR_TIMEOUT, &late, err)
                       : job_step_begin_leaving(call, ERR_TIMEOUT, kind, &late, err);
    }
    mark->errors = outcome == JOB_WAIT ? 0 : mark->errors + 1;
    const int64_t wait_ms = outcome == JOB_WAIT ? call->wait_ms : backoff_delay_ms(&job_backoff, mark->errors, random_u32());
    job_mark_put_off(run, mark, wait_ms);
    return job_step_wait(run, step, why, call->percent, err);
}

static void job_step_run(struct job_run *run, struct job_step *step, bool is_undo) {
    const struct job_step_kind *kind = job_step_kind_of(run, step);
    struct err why = {0}, err = {0};
    json_t *decided = NULL;
    if (!kind) {
        (void)err_set(&why, ERR_UNPROCESSABLE, "this version of kaasd does not know the step %s", step->name);
        (void)job_step_fail(run, step, ERR_UNPROCESSABLE, &why, &err);
        return;
    }
    if (is_undo && !kind->undo) {
        (void)job_step_end(run, step, true, &err);
        return;
    }
    if (job_step_begin(run, step, is_undo, &err))
        return;
    if (step->data && json_parse(step->data, strlen(step->data), &decided, &why)) {
        (void)job_step_fail(run, step, ERR_SCHEMA, &why, &err);
        return;
    }
    struct job_call call = {.job = run->job,
                            .params = run->params,
                            .item = step->item,
                            .arg = run->kind->arg,
                            .percent = -1,
                            .run = run,
                            .step = step,
                            .decided = decided ? decided : json_object()};
    call.data = call.decided;
    struct job_mark *mark = &run->marks[step->no];
    const bool is_leaving = mark->why && !is_undo;
    if (mark->why && is_undo)
        free(STEAL(mark->why));
    const int outcome = is_leaving ? 0 : (is_undo ? kind->undo : kind->run)(&call, &why);
    (void)pthread_mutex_lock(&run->jobs->lock);
    const bool is_over = run->is_over;
    (void)pthread_mutex_unlock(&run->jobs->lock);
    if (!is_over && is_leaving)
        (void)job_step_leave(&call, kind, &err);
    else if (!is_over)
        (void)job_step_settle(&call, outcome, kind, is_undo, &why, &err);
    json_decref(call.decided);
}

static void job_run_work(void *arg, bool is_canceled);

/* Needs the lock. True if the caller is to turn, or to have it done. */
static bool job_run_begin_turn(struct job_run *run) {
    run->is_due = true;
    if (run->is_turning || run->is_over || run->jobs->is_stopping)
        return false;
    run->is_turning = true;
    return true;
}

static void job_step_work(void *arg, bool is_canceled) {
    struct job_task *task = arg;
    struct job_run *run = task->run;
    struct jobs *jobs = run->jobs;
    bool is_turning = false;
    if (!is_canceled)
        job_step_run(run, &run->steps.items[task->no], task->is_undo);
    (void)pthread_mutex_lock(&jobs->lock);
    run->marks[task->no].is_busy = false;
    run->busy--;
    if (is_canceled) {
        run->marks[task->no].due_ms = clock_mono_ms() + JOB_BUSY_MS;
        job_run_turn(run);
    } else {
        is_turning = job_run_begin_turn(run);
    }
    (void)pthread_cond_broadcast(&jobs->idle);
    (void)pthread_mutex_unlock(&jobs->lock);
    free(task);
    if (is_turning) /* here, which spares waking another thread */
        job_run_work(run, false);
}

/* -- a turn ------------------------------------------------------------------------------------------------------------------ */

/* What a turn found to do. */
enum job_next {
    JOB_NEXT_NOTHING,
    JOB_NEXT_STEP,
    JOB_NEXT_UNDO_STEP,
    JOB_NEXT_UNDOING,
    JOB_NEXT_DONE,
    JOB_NEXT_FAILED,
    JOB_NEXT_CANCELED
};

/* One that is done and still busy is not written yet: what comes behind it waits for that. */
static bool job_step_can_begin(const struct job_run *run, const struct job_step *step, int64_t now_ms) {
    const struct job_mark *mark = &run->marks[step->no];
    if (mark->is_busy || step->state == JOB_STEP_DONE || (mark->due_ms && mark->due_ms > now_ms))
        return false;
    return step->after_no < 0 || (run->steps.items[step->after_no].state == JOB_STEP_DONE && !run->marks[step->after_no].is_busy);
}

/* One that has begun, and comes to its end whatever happens to others. */
static bool job_step_is_finished(const struct job_run *run, const struct job_step *step) {
    const struct job_step_kind *kind = job_step_kind_of(run, step);
    return kind && kind->is_finished && (step->state == JOB_STEP_RUNNING || step->state == JOB_STEP_WAITING);
}

/* Needs the lock. A step has failed: what else goes on. */
static enum job_next job_run_find_last_step(const struct job_run *run, unsigned *no) {
    const int64_t now_ms = clock_mono_ms();
    bool is_any = run->busy > 0;
    for (*no = 0; *no < run->steps.count; (*no)++) {
        if (!job_step_is_finished(run, &run->steps.items[*no]))
            continue;
        if (job_step_can_begin(run, &run->steps.items[*no], now_ms))
            return JOB_NEXT_STEP;
        is_any = true;
    }
    return is_any ? JOB_NEXT_NOTHING : JOB_NEXT_FAILED;
}

/* Needs the lock. The next step forward. */
static enum job_next job_run_find_step(const struct job_run *run, unsigned *no) {
    const int64_t now_ms = clock_mono_ms();
    bool is_all = true, is_failed = false;
    for (size_t i = 0; i < run->steps.count; i++) {
        is_all &= run->steps.items[i].state == JOB_STEP_DONE;
        is_failed |= run->steps.items[i].state == JOB_STEP_FAILED;
    }
    if (is_all)
        return run->busy ? JOB_NEXT_NOTHING : JOB_NEXT_DONE;
    if (is_failed)
        return job_run_find_last_step(run, no);
    for (*no = 0; *no < run->steps.count; (*no)++)
        if (job_step_can_begin(run, &run->steps.items[*no], now_ms))
            return JOB_NEXT_STEP;
    return JOB_NEXT_NOTHING;
}

/* Needs the lock. The next step back: one at a time, the last first. */
static enum job_next job_run_find_undo(const struct job_run *run, unsigned *no) {
    if (run->busy)
        return JOB_NEXT_NOTHING;
    if (run->failed_code)
        return JOB_NEXT_FAILED;
    for (size_t i = run->steps.count; i-- > 0;) {
        const enum job_step_state state = run->steps.items[i].state;
        if (state == JOB_STEP_PENDING || state == JOB_STEP_UNDONE)
            continue;
        *no = (unsigned)i;
        return run->marks[i].due_ms > clock_mono_ms() ? JOB_NEXT_NOTHING : JOB_NEXT_UNDO_STEP;
    }
    return JOB_NEXT_CANCELED;
}

static enum job_next job_run_find(struct job_run *run, unsigned *no) {
    LOCKED(&run->jobs->lock);
    run->is_due = false;
    if (run->is_over || run->jobs->is_stopping)
        return JOB_NEXT_NOTHING;
    if (run->job->state == JOB_UNDOING)
        return job_run_find_undo(run, no);
    if (run->is_cancel_asked)
        return run->busy ? JOB_NEXT_NOTHING : JOB_NEXT_UNDOING;
    return job_run_find_step(run, no);
}

static int job_task_submit(struct job_task *task, const char *item) {
    const struct job_run *run = task->run;
    const struct job_kind *kind = run->kind;
    int rc = kind->submit ? kind->submit(kind->arg, run->job, item, job_step_work, task, NULL) : ERR_NOT_FOUND;
    return rc == ERR_NOT_FOUND ? worker_pool_submit(run->jobs->options.workers, job_step_work, task, NULL) : rc;
}

static void job_run_submit(struct job_run *run, unsigned no, bool is_undo) {
    struct jobs *jobs = run->jobs;
    struct job_task *task = calloc(1, sizeof(*task));
    (void)pthread_mutex_lock(&jobs->lock);
    run->marks[no].is_busy = true;
    run->marks[no].is_woken = false;
    run->marks[no].due_ms = 0;
    run->busy++;
    (void)pthread_mutex_unlock(&jobs->lock);
    if (task)
        *task = (struct job_task){run, no, is_undo};
    if (task && !job_task_submit(task, run->steps.items[no].item))
        return;
    free(task);
    LOCKED(&jobs->lock);
    run->marks[no].is_busy = false;
    run->marks[no].due_ms = clock_mono_ms() + JOB_BUSY_MS;
    run->busy--;
}

/* The failed step, whose reason is the job's. */
static const struct job_step *job_run_failed_step(const struct job_run *run) {
    for (size_t i = 0; i < run->steps.count; i++)
        if (run->steps.items[i].state == JOB_STEP_FAILED)
            return &run->steps.items[i];
    return NULL;
}

/* Who began the job answers for how it ended; the replica that ends it may be another one. */
static struct audit_record job_run_end_line(const struct job_run *run, enum job_state state, const char *reason) {
    const struct job *job = run->job;
    const int code = state == JOB_DONE       ? 0
                     : state == JOB_CANCELED ? ERR_CANCELED
                     : run->failed_code      ? run->failed_code
                                             : ERR_CONFLICT;
    const struct audit_event event = {.action = run->kind->action,
                                      .principal_id = job->created_by,
                                      .principal_name = job->created_by_name,
                                      .source = AUDIT_SOURCE_SYSTEM,
                                      .object_kind = job->object_kind ? job->object_kind : "job",
                                      .object_id = job->object_id ? job->object_id : job->id,
                                      .object_name = job->object_name ? job->object_name : job->title,
                                      .request_id = job->request_id,
                                      .result = err_slug(code),
                                      .reason = reason};
    return audit_record_make(NULL, &event);
}

static void job_run_set_state(struct job_run *run, enum job_state state) {
    struct jobs *jobs = run->jobs;
    const struct job_step *failed = state == JOB_FAILED ? job_run_failed_step(run) : NULL;
    _cleanup_free_ char *reason = failed ? str_format("%s: %s", failed->title, failed->reason ? failed->reason : "") : NULL;
    const char *remedy = failed ? failed->remedy : NULL;
    const struct audit_record line = job_run_end_line(run, state, reason);
    struct err err = {0};
    const bool is_end = !job_state_is_active(state);
    int rc = job_run_write(run,
                           (struct job_write){.is_state = true,
                                              .state = state,
                                              .reason = reason,
                                              .remedy = remedy,
                                              .line = job_state_words[state],
                                              .audit = is_end ? &line : NULL},
                           &err);
    if (rc)
        return;
    (void)pthread_mutex_lock(&jobs->lock);
    run->job->state = state;
    run->is_over |= is_end;
    run->failed_code = 0;
    (void)pthread_mutex_unlock(&jobs->lock);
    if (is_end)
        metric_add(metric_get(METRIC_JOBS_ENDED, run->kind->name, job_state_words[state]), 1);
    (void)str_replace(&run->job->reason, reason, NULL);
    (void)str_replace(&run->job->remedy, remedy, NULL);
    if (is_end && jobs->options.on_end)
        jobs->options.on_end(jobs->options.arg, run->job);
}

/* Does what there is to do; false: nothing more at this moment. */
static bool job_run_do(struct job_run *run) {
    static const enum job_state states[] = {[JOB_NEXT_UNDOING] = JOB_UNDOING,
                                            [JOB_NEXT_DONE] = JOB_DONE,
                                            [JOB_NEXT_FAILED] = JOB_FAILED,
                                            [JOB_NEXT_CANCELED] = JOB_CANCELED};
    unsigned no = 0;
    const enum job_next next = job_run_find(run, &no);
    if (next == JOB_NEXT_NOTHING)
        return false;
    if (next == JOB_NEXT_STEP || next == JOB_NEXT_UNDO_STEP)
        job_run_submit(run, no, next == JOB_NEXT_UNDO_STEP);
    else
        job_run_set_state(run, states[next]);
    return true;
}

static bool job_run_end_turn(struct job_run *run) {
    LOCKED(&run->jobs->lock);
    run->is_turning = run->is_due && !run->is_over && !run->jobs->is_stopping;
    (void)pthread_cond_broadcast(&run->jobs->idle);
    return !run->is_turning;
}

static void job_run_work(void *arg, bool is_canceled) {
    struct job_run *run = arg;
    do {
        while (!is_canceled && job_run_do(run)) {}
    } while (!job_run_end_turn(run) && !is_canceled);
}

void job_run_turn(struct job_run *run) {
    if (job_run_begin_turn(run))
        run->is_turning = !worker_pool_submit(run->jobs->options.workers, job_run_work, run, NULL);
}
