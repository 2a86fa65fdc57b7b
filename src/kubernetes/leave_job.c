/* Disconnecting a cluster that is away, as a job: what we made there is removed when it answers again. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "kubernetes_private.h"
#include "str.h"

#define LEAVE_LIMIT_MS (7 * CLOCK_DAY_MS)
#define LEAVE_DENIED_S 120 /* an API server that has just started says 401 and 403 until it has read its rules */
#define LEAVE_LOOK_MS 5000

/* What is denied for longer than a start takes is denied. */
static int leave_job_judge_denied(struct job_call *call, int rc, const struct err *why, struct err *err) {
    const int64_t now_s = clock_wall_s();
    const char *since = json_get_string(call->data, "denied_since");
    int64_t since_s = now_s;
    char text[24];
    if (since && str_to_i64(since, 0, INT64_MAX, &since_s) && now_s - since_s >= LEAVE_DENIED_S)
        return err_move(err, rc, why);
    (void)snprintf(text, sizeof(text), "%" PRId64, since_s);
    int decided = since ? 0 : job_decide(call, "denied_since", text, err);
    return decided ? decided : job_wait(call, LEAVE_LOOK_MS, "%s", why->text);
}

/* Looks first by itself: a connection that is gone is left. */
static int leave_job_run(struct job_call *call, struct err *err) {
    _cleanup_done_(findings_done) struct findings steps = {.count = 0};
    struct err why = {0};
    struct principal who;
    const struct actor actor = job_actor(call, &who);
    int rc = kubernetes_disconnect(call->arg, &actor, call->job->object_id, 0, KUBE_LEAVE_REMOVE, &steps, &why);
    if (rc == ERR_NOT_FOUND)
        return 0;
    if (rc == ERR_UNAUTHENTICATED || rc == ERR_UPSTREAM_DENIED)
        return leave_job_judge_denied(call, rc, &why, err);
    for (size_t i = 0; i < steps.count && !rc; i++)
        job_say(call, "%s", steps.items[i].text);
    return err_move(err, rc, &why);
}

static int leave_job_submit(void *arg, const struct job *job, const char *item, worker_fn *fn, void *fn_arg, struct err *err) {
    (void)job;
    (void)item;
    return kubernetes_submit(arg, fn, fn_arg, err);
}

static const struct job_step_kind leave_job_steps[] = {
    {.name = "leave",
     .title = "remove what kaasd made in the cluster, and the connection",
     .run = leave_job_run,
     .limit_ms = LEAVE_LIMIT_MS},
    {.name = NULL},
};

struct job_kind kubernetes_leave_job_kind(struct kubernetes *k) {
    return (struct job_kind){.name = KUBERNETES_LEAVE_JOB,
                             .title = "disconnect",
                             .action = "kube_connection.remove",
                             .steps = leave_job_steps,
                             .submit = leave_job_submit,
                             .arg = k};
}
