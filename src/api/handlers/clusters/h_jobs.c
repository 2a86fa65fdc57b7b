/* Handlers of /v2/jobs, and of the calls that begin one and are no other object's. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Administrators see all jobs; others those about clusters that they see, without what they may not do about them. */
#include "h_jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "cluster_watch.h"
#include "inventory.h"
#include "job_store.h"
#include "jobs.h"
#include "limits.h"
#include "list_wait.h"
#include "problem.h"
#include "reply.h"
#include "rotation_job.h"
#include "str.h"
#include "views.h"

#define JOBS_LISTED_MAX 1000U /* the newest */
#define JOB_LINES_PAGE 500U

/* -- what is shown ------------------------------------------------------------------------------------------------------- */

static struct store *job_store(const struct api_call *call) {
    return jobs_store(call->api->options.jobs);
}

static const char *job_id(const struct api_call *call) {
    return http_request_param(call->req, "id");
}

static bool job_is_visible(const struct api_call *call, const struct job *job) {
    const struct inventory_cluster *entry;
    uint64_t mask;
    if (policy_may(call->who->role, PERMISSION_JOBS_MANAGE))
        return true;
    return str_eq(job->object_kind, "cluster") && call->snapshot &&
           !inventory_get_visible_cluster(call->snapshot, &call->viewer, job->object_id, &entry, &mask, NULL);
}

static json_t *job_view_row(const struct api_call *call, const void *record) {
    (void)call;
    return member_json_show(job_members, record);
}

static json_t *job_view_whole(const struct job *job, const struct job_step_list *steps) {
    json_t *object = member_json_show(job_members, job), *items = json_array();
    for (size_t i = 0; i < steps->count; i++) {
        json_t *step = member_json_show(job_step_members, &steps->items[i]);
        if (steps->items[i].percent >= 0)
            json_put_int(step, "percent", steps->items[i].percent);
        else
            json_put(step, "percent", json_null());
        json_add(items, step);
    }
    json_put(object, "steps", items);
    return object;
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

/* The newest first: what is listed rises. */
static const char *job_key(const void *record, char *buffer, size_t n) {
    const struct job *job = record;
    (void)snprintf(buffer, n, "%019" PRId64 "%s", INT64_MAX - job->created_at_ms, job->id);
    return buffer;
}

static bool job_is_wanted(const struct api_call *call, const void *record, const void *filter) {
    (void)filter;
    return job_is_visible(call, record);
}

int h_jobs_list(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct job_query query = {.object_id = http_request_query(call->req, "object_id"),
                                    .kind = http_request_query(call->req, "kind"),
                                    .state = http_request_query(call->req, "state"),
                                    .limit = JOBS_LISTED_MAX};
    struct job_list jobs = {0};
    unsigned state;
    if (query.state && !words_find(job_state_words, query.state, &state))
        return problem_parameter(call, "state", "must be queued, running, undoing, done, failed or canceled", err);
    int rc = job_store_list(job_store(call), &query, &jobs, err);
    if (!rc)
        rc = view_list(call, resp, VIEW_LIST(jobs.items, jobs.count, job_key, job_view_row, .is_wanted = job_is_wanted), err);
    job_list_done(&jobs);
    return rc;
}

static int job_missing(const struct api_call *call, struct err *err) {
    err_clear(err);
    (void)err_set(err, ERR_NOT_FOUND, "there is no job %s", job_id(call));
    return err_remedy(err, "see: kaasctl job list, or GET /v2/jobs; jobs are kept for 90 days after their end");
}

/* One that the caller does not see is not there. */
static int job_load(const struct api_call *call, struct job **out, struct job_step_list *steps, struct err *err) {
    int rc = job_store_load(job_store(call), job_id(call), out, steps, err);
    if (rc == ERR_NOT_FOUND || (!rc && !job_is_visible(call, *out)))
        return job_missing(call, err);
    return rc;
}

static int job_reply(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(job_free) struct job *job = NULL;
    _cleanup_done_(job_step_list_done) struct job_step_list steps = {0};
    int rc = job_load(call, &job, &steps, err);
    return rc ? rc : reply_json(resp, 200, job_view_whole(job, &steps), err);
}

int h_jobs_show(struct api_call *call, struct http_response *resp, struct err *err) {
    return job_reply(call, resp, err);
}

/* -- lines ------------------------------------------------------------------------------------------------------------------ */

struct job_lines_wish {
    unsigned after, wait_s;
};

static int job_lines_read(struct api_call *call, struct job_lines_wish *out, struct err *err) {
    const char *after = http_request_query(call->req, "after"), *wait = http_request_query(call->req, "wait");
    int64_t number = 0, seconds = 0;
    if (after && !str_to_i64(after, 0, JOB_LINES_MAX, &number))
        return problem_parameter(call, "after", "must be the number of a line, or 0", err);
    if (wait && !str_to_i64(wait, 0, KAAS_WATCH_WAIT_MAX_S, &seconds))
        return problem_parameter(call, "wait", "must be a whole number of seconds from 0 to 60", err);
    *out = (struct job_lines_wish){(unsigned)number, (unsigned)seconds};
    return 0;
}

static int job_lines_reply(struct http_response *resp, const struct job *job, const struct job_line_list *lines,
                           struct err *err) {
    json_t *object = json_object(), *items = json_array();
    for (size_t i = 0; i < lines->count; i++) {
        json_t *line = member_json_show(job_line_members, &lines->items[i]);
        if (lines->items[i].step_no >= 0)
            json_put_int(line, "step", lines->items[i].step_no);
        else
            json_put(line, "step", json_null());
        json_add(items, line);
    }
    json_put_string(object, "state", job_state_words[job->state]);
    json_put(object, "items", items);
    return reply_json(resp, 200, object, err);
}

/* Answers with what is there; without anything new, and while the job is under way, the request waits without a thread, and comes back when something has changed. */
int h_jobs_lines(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(job_free) struct job *job = NULL;
    _cleanup_done_(job_line_list_done) struct job_line_list lines = {0};
    struct job_lines_wish wish = {0};
    int rc = job_lines_read(call, &wish, err);
    rc = rc ? rc : job_load(call, &job, NULL, err);
    rc = rc ? rc : job_store_list_lines(job_store(call), job->id, wish.after, JOB_LINES_PAGE, &lines, err);
    if (rc)
        return rc;
    struct cluster_waiter *waiter = wish.wait_s ? list_waiter(call, wish.wait_s) : NULL;
    if (wish.wait_s && !waiter)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (waiter && !lines.count && job_state_is_active(job->state) && clock_mono_ms() < waiter->until_ms)
        return list_wait_on(call, waiter, err);
    return job_lines_reply(resp, job, &lines, err);
}

/* -- orders ------------------------------------------------------------------------------------------------------------------- */

static int job_order_reply(struct api_call *call, struct http_response *resp, int rc, struct err *err) {
    if (rc == ERR_NOT_FOUND)
        return job_missing(call, err);
    return rc ? rc : job_reply(call, resp, err);
}

int h_jobs_cancel(struct api_call *call, struct http_response *resp, struct err *err) {
    return job_order_reply(call, resp, jobs_cancel(call->api->options.jobs, job_id(call), API_ACTOR(call), err), err);
}

int h_jobs_retry(struct api_call *call, struct http_response *resp, struct err *err) {
    return job_order_reply(call, resp, jobs_retry(call->api->options.jobs, job_id(call), API_ACTOR(call), err), err);
}

int jobs_reply_begun(struct api_call *call, struct http_response *resp, const struct job_new *wanted, struct err *err) {
    char id[UUID_TEXT_BYTES] = "";
    int rc = jobs_start(call->api->options.jobs, wanted, id, err);
    if (*id && rc)
        problem_add(call, "job_id", json_string(id));
    if (rc)
        return rc;
    json_t *object = json_object();
    json_put_string(object, "job_id", id);
    reply_location(resp, "/v2/jobs/", id);
    return reply_json(resp, 202, object, err);
}

int h_vcenters_rotate_all(struct api_call *call, struct http_response *resp, struct err *err) {
    return jobs_reply_begun(call, resp, &(struct job_new){.kind = ROTATION_JOB, .actor = API_ACTOR(call)}, err);
}
