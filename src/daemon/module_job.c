/* Durable jobs, and the kinds of them. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs.h"
#include "log.h"
#include "provision.h"
#include "rotation_job.h"
#include "wire_private.h"

#define JOB_THREADS 4U
#define JOB_QUEUE_COUNT 256U

static void on_job_end(void *arg, const struct job *job) {
    const struct wire *w = arg;
    const bool is_failed = job->state == JOB_FAILED;
    log_event(is_failed ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "job_ended", "job", job->id, "kind", job->kind, "object",
              job->object_name, "state", job_state_words[job->state], "reason", job->reason, "remedy", job->remedy, NULL);
    provision_note_end(w->parts.provision, job);
}

static void on_job_retry(void *arg, const struct job *job) {
    const struct wire *w = arg;
    provision_note_retry(w->parts.provision, job);
}

static int make_jobs(struct wire *w, struct err *err) {
    const struct worker_pool_options pool = {.name = "jobs", .threads = JOB_THREADS, .queue_count = JOB_QUEUE_COUNT};
    int rc = wire_make_pool(&pool, &w->job_pool, err);
    if (rc)
        return rc;
    const struct jobs_options options = {
        .runtime = &w->runtime, .workers = w->job_pool, .on_end = on_job_end, .on_retry = on_job_retry, .arg = w};
    rc = jobs_new(&options, &w->parts.jobs, err);
    if (rc)
        return rc;
    w->job_kinds[0] = rotation_job_kind(w->parts.platform);
    w->job_kinds[1] = kubernetes_leave_job_kind(w->parts.kubernetes);
    w->job_kinds[2] = provision_create_kind(w->parts.provision);
    w->job_kinds[3] = provision_delete_kind(w->parts.provision);
    for (size_t i = 0; i < WIRE_JOB_KINDS; i++)
        jobs_add_kind(w->parts.jobs, &w->job_kinds[i]);
    return 0;
}

static void drop_jobs(struct wire *w) {
    jobs_stop(w->parts.jobs);
    worker_pool_free(w->job_pool);
    jobs_free(w->parts.jobs);
}

static int on_job_change(struct wire *w, const struct change *change, struct err *err) {
    (void)err;
    if (change->kind == CHANGE_CLUSTER) /* it may be back */
        jobs_wake_about(w->parts.jobs, change->object_id);
    if (change->kind != CHANGE_JOB)
        return 0;
    jobs_wake(w->parts.jobs, NULL);
    api_note_change(w->api);
    return 0;
}

MODULE_DO(stop_jobs, jobs_stop(w->parts.jobs))
MODULE_MEASURE(measure_jobs, jobs_write_metrics(w->parts.jobs, page))
MODULE_TRY(tick_jobs, jobs_tick(w->parts.jobs, err))
MODULE_TRY(prune_jobs, jobs_prune(w->parts.jobs, err))

const struct wire_module module_job = {
    .make = make_jobs,
    .stop = stop_jobs,
    .drop = drop_jobs,
    .on_change = on_job_change,
    .write_metrics = measure_jobs,
    .ticks = {{.name = "jobs", .period_ms = JOBS_TICK_MS, .retry = RETRY_QUICK, .run = tick_jobs},
              {.name = "old jobs", .period_ms = HOUR, .jitter_percent = 20, .retry = RETRY_SLOW, .run = prune_jobs}},
};
