/* A new login certificate for each vCenter, as a job: those that are away get theirs when they answer again. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "rotation_job.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "rotation.h"
#include "str.h"
#include "vcenter_store.h"

#define ROTATION_LIMIT_MS (7 * CLOCK_DAY_MS) /* a vCenter may be down for days; its certificate is good for two years */
#define ROTATION_GENERATION_BYTES 16

/* The generation of the certificate that kaasd logs in with; 0: it has none. */
static int rotation_job_read(struct platform *platform, const char *vcenter_id, unsigned *generation, struct err *err) {
    _cleanup_(vcenter_credential_free) struct vcenter_credential *active = NULL;
    struct store *store = platform_options_of(platform)->runtime->store;
    int rc = credential_store_load(store, vcenter_id, CREDENTIAL_ACTIVE, &active, err);
    *generation = active && active->kind == CREDENTIAL_CERTIFICATE ? active->generation : 0;
    return rc;
}

static int rotation_job_add(struct platform *platform, const struct link *link, struct job_plan *plan, struct err *err) {
    struct vcenter vc = {0};
    unsigned generation = 0;
    int rc = rotation_job_read(platform, link_id(link), &generation, err);
    if (rc || !generation)
        return rc;
    rc = link_get_info((struct link *)(uintptr_t)link, &vc, err);
    rc = rc ? rc : job_plan_add(plan, "rotate", link_id(link), vc.name, -1);
    vcenter_done(&vc);
    return rc < 0 ? rc : 1;
}

static int rotation_job_plan(void *arg, const json_t *params, struct job_plan *plan, struct err *err) {
    size_t count = 0;
    struct link **links = platform_list(arg, &count);
    int rc = links ? 0 : err_set(err, ERR_NOMEM, "out of memory"), planned = 0;
    (void)params;
    for (size_t i = 0; i < count; i++) {
        rc = rc < 0 ? rc : rotation_job_add(arg, links[i], plan, err);
        planned += rc > 0;
        link_unref(links[i]);
    }
    free(links);
    return rc < 0 || planned ? rc : err_set(err, ERR_UNPROCESSABLE, "kaasd logs in to no vCenter by a certificate");
}

static int rotation_job_run(struct job_call *call, struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    const char *before = json_get_string(call->data, "generation");
    char now[ROTATION_GENERATION_BYTES];
    unsigned generation = 0;
    struct principal who;
    const struct actor actor = job_actor(call, &who);
    int rc = rotation_job_read(call->arg, call->item, &generation, err);
    if (rc)
        return rc;
    (void)snprintf(now, sizeof(now), "%u", generation);
    if (before && !str_eq(before, now))
        return 0; /* this step had done it, and was cut off before it could say so */
    rc = before ? 0 : job_decide(call, "generation", now, err);
    if (!rc && platform_find(call->arg, call->item, &link, NULL)) {
        job_say(call, "it was removed: there is nothing to do");
        return 0;
    }
    return rc ? rc : rotation_rotate(link, &actor, err);
}

static int rotation_job_submit(void *arg, const struct job *job, const char *item, worker_fn *fn, void *fn_arg, struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    int rc = platform_find(arg, item, &link, err);
    (void)job;
    return rc ? rc : worker_pool_submit(link_pool(link), fn, fn_arg, err); /* a pool that ends calls what waits in it */
}

static const struct job_step_kind rotation_job_steps[] = {
    {.name = "rotate", .title = "replace the login certificate", .run = rotation_job_run, .limit_ms = ROTATION_LIMIT_MS},
    {.name = NULL},
};

struct job_kind rotation_job_kind(struct platform *platform) {
    return (struct job_kind){.name = ROTATION_JOB,
                             .title = "replace the login certificates of all vCenters",
                             .action = "vcenter.rotate_certificate",
                             .steps = rotation_job_steps,
                             .plan = rotation_job_plan,
                             .submit = rotation_job_submit,
                             .arg = platform};
}
