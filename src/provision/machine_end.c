/* Removing machines: off, destroyed, forgotten. Layer 5 (provision). SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "machine_steps_private.h"
#include "str.h"

/* -- off ------------------------------------------------------------------------------------------------------------------------ */

static int machine_begin_off(struct machine_call *mc, const char *moref, struct err *err) {
    struct vim_task begun;
    int rc = vim_power_off(link_client(mc->link), moref, &begun, err);
    if (!rc && (begun.trouble == VIM_TROUBLE_POWER || begun.trouble == VIM_TROUBLE_GONE))
        return job_wait(mc->call, 500, "%s is off", mc->machine->name);
    return rc ? rc : machine_task_begin(mc, MACHINE_OFF, &begun, err);
}

/* What stands in the way of nothing: it is off already, or gone. */
static int machine_judge_end(struct machine_call *mc, const struct machine_task *task, struct err *err) {
    const struct vim_task *end = &task->end;
    const bool is_fine = end->phase != VIM_TASK_FAILED || end->trouble == VIM_TROUBLE_POWER || end->trouble == VIM_TROUBLE_GONE;
    return is_fine ? 0 : machine_task_explain(mc, end, err);
}

/* Where the machine is, and whether it runs. moref "": there is none. JOB_WAIT while a task goes on, or the machine is being cloned. */
static int machine_find_to_end(struct machine_call *mc, char moref[VIM_MOREF_BYTES], struct vim_machine_now *now,
                               struct err *err) {
    struct machine_task task;
    struct err why = {0};
    bool is_unborn = false;
    int rc = machine_task_end(mc, &task, err);
    rc = rc ? rc : machine_judge_end(mc, &task, err);
    if (!rc && task.doing == MACHINE_DESTROYING && task.end.phase == VIM_TASK_DONE)
        return 0;
    rc = rc ? rc : machine_locate(mc, moref, &is_unborn, err);
    if (rc || !moref[0])
        return rc;
    if (is_unborn)
        return job_wait(mc->call, 2000, "%s is still being cloned, or out of the vCenter's reach: it is removed after that",
                        mc->machine->name);
    rc = vim_read_machine(link_client(mc->link), moref, NULL, now, &why);
    if (rc == ERR_NOT_FOUND)
        moref[0] = '\0';
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

/* How long ago the guest was asked to shut down; -1: it was not. */
static int64_t machine_asked_ago_ms(const struct job_call *call) {
    const char *text = json_get_string(call->data, "shutdown_at_ms");
    int64_t at_ms = 0;
    return text && str_to_i64(text, 0, INT64_MAX, &at_ms) ? clock_wall_ms() - at_ms : -1;
}

/* A guest that cannot be asked is powered off. */
static int machine_ask_guest(struct machine_call *mc, const char *moref, struct err *err) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, clock_wall_ms());
    int rc = job_decide(mc->call, "shutdown_at_ms", text, err);
    if (rc)
        return rc;
    if (vim_shutdown_guest(link_client(mc->link), moref, NULL))
        return machine_begin_off(mc, moref, err);
    return job_wait(mc->call, MACHINE_SHUTDOWN_MS, "%s was asked to shut down", mc->machine->name);
}

static int machine_off(struct machine_call *mc, struct err *err) {
    struct vim_machine_now now;
    struct vim_guest_state guest;
    char moref[VIM_MOREF_BYTES] = "";
    int rc = machine_find_to_end(mc, moref, &now, err);
    if (rc || !moref[0] || !now.guest.is_on)
        return rc;
    const int64_t asked_ago_ms = machine_asked_ago_ms(mc->call);
    if (asked_ago_ms >= MACHINE_SHUTDOWN_MS || (asked_ago_ms < 0 && !now.guest.has_tools))
        return machine_begin_off(mc, moref, err);
    rc = vc_follow_machine(mc->link, moref, mc->call->job->id, &guest, err); /* its end wakes the job */
    if (rc)
        return rc;
    if (asked_ago_ms < 0)
        return machine_ask_guest(mc, moref, err);
    return job_wait(mc->call, MACHINE_SHUTDOWN_MS - asked_ago_ms, "%s was asked to shut down", mc->machine->name);
}

/* -- destroyed ------------------------------------------------------------------------------------------------------------------ */

int machine_remove(struct machine_call *mc, struct err *err) {
    struct vim_machine_now now;
    struct vim_task begun;
    char moref[VIM_MOREF_BYTES] = "";
    int rc = machine_find_to_end(mc, moref, &now, err);
    if (rc || !moref[0])
        return rc;
    if (now.guest.is_on)
        return machine_begin_off(mc, moref, err);
    vc_unfollow(mc->link, moref);
    rc = vim_destroy_machine(link_client(mc->link), moref, &begun, err);
    if (!rc && begun.trouble == VIM_TROUBLE_GONE)
        return 0;
    return rc ? rc : machine_task_begin(mc, MACHINE_DESTROYING, &begun, err);
}

static int machine_end_step(struct job_call *call, machine_fn *fn, struct err *err) {
    bool is_gone;
    int rc = machine_call_run(call, 0, fn, &is_gone, err);
    return is_gone ? 0 : rc;
}

int machine_step_off(struct job_call *call, struct err *err) {
    return machine_end_step(call, machine_off, err);
}

int machine_step_destroy(struct job_call *call, struct err *err) {
    return machine_end_step(call, machine_remove, err);
}

int machine_step_release(struct job_call *call, struct err *err) {
    const struct machine_work *work = call->arg;
    return machine_store_release(work->store, call->item, err);
}

/* -- the cluster's folder --------------------------------------------------------------------------------------------------------- */

static int machine_begin_destroy_folder(struct machine_call *mc, const char *moref, struct err *err) {
    struct vim_task begun;
    struct err why = {0};
    bool is_empty = false;
    int rc = vim_is_folder_empty(link_client(mc->link), moref, &is_empty, &why);
    if (rc == ERR_NOT_FOUND)
        return 0;
    if (rc)
        return err_move(err, rc, &why);
    if (!is_empty) {
        job_say(mc->call, "its folder at vCenter %s stays: there is something in it", mc->vcenter);
        return 0;
    }
    rc = vim_destroy_folder(link_client(mc->link), moref, &begun, err);
    return rc ? rc : machine_task_begin(mc, MACHINE_DESTROYING, &begun, err);
}

static int machine_remove_folder(struct machine_call *mc, const struct machine_folder *folder, struct err *err) {
    struct machine_task task;
    int rc = platform_find(mc->work->platform, folder->vcenter_id, &mc->link, err);
    if (rc)
        return rc;
    link_get_name(mc->link, mc->vcenter);
    rc = machine_task_end(mc, &task, err);
    rc = rc ? rc : machine_judge_end(mc, &task, err);
    rc = rc || task.end.phase == VIM_TASK_DONE ? rc : machine_begin_destroy_folder(mc, folder->moref, err);
    return rc ? rc : machine_store_set_folder(mc->work->store, mc->call->job->object_id, folder->vcenter_id, NULL, err);
}

int machine_step_remove_folder(struct job_call *call, struct err *err) {
    struct machine_call mc = {.call = call, .work = call->arg};
    struct machine_folder folder;
    int rc = machine_store_get_folder(mc.work->store, call->job->object_id, &folder, err);
    if (rc || !folder.moref[0])
        return rc;
    rc = machine_remove_folder(&mc, &folder, err);
    link_unref(mc.link);
    return rc;
}
