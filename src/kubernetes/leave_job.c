/* Disconnecting a cluster that is away, as a job: what we made there is removed when it answers again. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "clock.h"
#include "kubernetes_private.h"

#define LEAVE_LIMIT_MS (7 * CLOCK_DAY_MS)

/* In place of what kubernetes_disconnect advises, which is this job. Good while it waits, and when its limit is over. */
static void leave_job_advise(const struct job_call *call, struct err *why) {
    (void)snprintf(why->remedy, sizeof(why->remedy),
                   "if the cluster is gone for good: kaasctl job cancel %.36s, then kaasctl cluster disconnect %.36s --forget",
                   call->job->id, call->job->object_id);
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
    for (size_t i = 0; i < steps.count && !rc; i++)
        job_say(call, "%s", steps.items[i].text);
    rc = kubernetes_let_pass(call, rc, &why, err);
    if (rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_UNAVAILABLE)
        leave_job_advise(call, err);
    return rc;
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
