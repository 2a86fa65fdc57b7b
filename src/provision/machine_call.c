/* What the steps about machines share: the machine, its vCenter, its task. Layer 5 (provision). SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "machine_steps_private.h"
#include "names.h"
#include "str.h"

void machine_want_done(struct machine_want *want) {
    if (!want)
        return;
    provider_free(want->provider);
    free(want->cluster_id);
    free(want->cluster_name);
    *want = (struct machine_want){.provider = NULL};
}

int machine_submit(const struct machine_work *work, const char *vcenter_id, worker_fn *fn, void *fn_arg, struct err *err) {
    return vc_machines_submit(work->platform, vcenter_id, fn, fn_arg, err);
}

/* -- a step at work ---------------------------------------------------------------------------------------------------------- */

static void machine_call_done(struct machine_call *mc) {
    machine_free(mc->machine);
    machine_want_done(&mc->want);
    link_unref(mc->link);
}

static int machine_call_want(struct machine_call *mc, struct err *err) {
    int rc = mc->work->want(mc->work, mc->call, &mc->want, err);
    if (rc)
        return rc;
    const struct provider_place *network = &mc->want.provider->places[PROVIDER_NETWORK];
    mc->network = (struct vim_network){network->type, network->moref, network->name};
    return 0;
}

static int machine_call_load(struct machine_call *mc, unsigned flags, bool *is_gone, struct err *err) {
    struct err why = {0};
    int rc = machine_store_load(mc->work->store, mc->call->item, &mc->machine, &why);
    *is_gone = rc == ERR_NOT_FOUND;
    if (rc)
        return err_move(err, rc, &why);
    rc = platform_find(mc->work->platform, mc->machine->vcenter_id, &mc->link, err);
    if (rc)
        return rc;
    link_get_name(mc->link, mc->vcenter);
    return flags & MACHINE_CALL_WANTS ? machine_call_want(mc, err) : 0;
}

int machine_call_run(struct job_call *call, unsigned flags, machine_fn *fn, bool *is_gone, struct err *err) {
    struct machine_call mc = {.call = call, .work = call->arg};
    const int64_t since_ms = clock_mono_ms();
    struct err why = {0};
    int rc = machine_call_load(&mc, flags, is_gone, &why);
    if (!rc) {
        rc = fn(&mc, &why);
        if (rc < 0)
            (void)vc_note(mc.link, since_ms, rc, &why);
    }
    machine_call_done(&mc);
    return rc < 0 ? err_move(err, rc, &why) : rc;
}

int machine_set(struct machine_call *mc, enum machine_state state, const char *moref, struct err *err) {
    int rc = machine_store_set(mc->work->store, mc->machine, state, moref, err);
    if (rc)
        return rc;
    mc->machine->state = state;
    return moref ? str_replace(&mc->machine->moref, moref, err) : 0;
}

/* -- its task ---------------------------------------------------------------------------------------------------------------- */

#define MACHINE_TASK "task"

static const struct {
    const char *word, *text; /* in the step's data; for people, behind the machine's name */
} machine_doings[] = {
    [MACHINE_IDLE] = {"", ""},
    [MACHINE_CLONING] = {"clone", "is being cloned"},
    [MACHINE_MENDING] = {"card", "gets its network card"},
    [MACHINE_SEEDING] = {"seed", "is being configured"},
    [MACHINE_ON] = {"on", "is being powered on"},
    [MACHINE_WIPING] = {"wipe", "has its user-data removed"},
    [MACHINE_OFF] = {"off", "is being powered off"},
    [MACHINE_DESTROYING] = {"destroy", "is being destroyed"},
};

static const char *machine_called(const struct machine_call *mc) {
    return mc->machine ? mc->machine->name : "the folder";
}

/* MACHINE_IDLE: there is none. */
static enum machine_doing machine_task_read(const struct job_call *call, char moref[VIM_MOREF_BYTES]) {
    const char *text = json_get_string(call->data, MACHINE_TASK), *blank = text ? strchr(text, ' ') : NULL;
    if (!blank || strlen(blank + 1) >= VIM_MOREF_BYTES)
        return MACHINE_IDLE;
    (void)snprintf(moref, VIM_MOREF_BYTES, "%s", blank + 1);
    for (enum machine_doing i = MACHINE_CLONING; i < ARRAY_COUNT(machine_doings); i++)
        if (strlen(machine_doings[i].word) == (size_t)(blank - text) && str_starts(text, machine_doings[i].word))
            return i;
    return MACHINE_IDLE;
}

static int machine_task_wait(struct machine_call *mc, enum machine_doing doing, const struct vim_task *task) {
    const char *text = machine_doings[doing].text;
    if (link_is_away(mc->link))
        return job_wait(mc->call, MACHINE_LOOK_MS, "%s %s at vCenter %s, which is away", machine_called(mc), text, mc->vcenter);
    mc->call->percent = task->phase == VIM_TASK_RUNNING ? task->percent : -1;
    return job_wait(mc->call, MACHINE_LOOK_MS, "%s %s", machine_called(mc), text);
}

int machine_task_end(struct machine_call *mc, struct machine_task *out, struct err *err) {
    char moref[VIM_MOREF_BYTES];
    *out = (struct machine_task){.doing = machine_task_read(mc->call, moref)};
    if (!out->doing)
        return 0;
    int rc = vc_follow_task(mc->link, moref, mc->call->job->id, &out->end, err);
    if (rc)
        return rc;
    if (out->end.phase <= VIM_TASK_RUNNING)
        return machine_task_wait(mc, out->doing, &out->end);
    vc_unfollow(mc->link, moref);
    return job_decide(mc->call, MACHINE_TASK, "", err);
}

int machine_task_explain(const struct machine_call *mc, const struct vim_task *task, struct err *err) {
    if (task->trouble == VIM_TROUBLE_CANCELED)
        return err_set(err, ERR_UPSTREAM, "%s: somebody has canceled the task at vCenter %s", machine_called(mc), mc->vcenter);
    (void)err_set(err, task->why.code, "%s: %s", machine_called(mc), task->why.text);
    return err_remedy(err, "%s", task->why.remedy);
}

int machine_task_begin(struct machine_call *mc, enum machine_doing doing, const struct vim_task *begun, struct err *err) {
    _cleanup_free_ char *text = str_format("%s %s", machine_doings[doing].word, begun->moref);
    struct vim_task now = *begun;
    if (begun->phase == VIM_TASK_FAILED)
        return machine_task_explain(mc, begun, err);
    if (!text)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = job_decide(mc->call, MACHINE_TASK, text, err);
    rc = rc ? rc : vc_follow_task(mc->link, begun->moref, mc->call->job->id, &now, err);
    return rc ? rc : machine_task_wait(mc, doing, &now);
}

int machine_task_cancel(struct machine_call *mc, enum machine_doing doing, struct err *err) {
    struct machine_task task;
    char moref[VIM_MOREF_BYTES];
    if (machine_task_read(mc->call, moref) != doing)
        return 0;
    const bool is_canceled = str_eq(json_get_string(mc->call->data, "canceled"), moref); /* an earlier one may have been, too */
    int rc = is_canceled ? 0 : vim_cancel_task(link_client(mc->link), moref, err);
    rc = rc || is_canceled ? rc : job_decide(mc->call, "canceled", moref, err);
    return rc ? rc : machine_task_end(mc, &task, err);
}

/* -- looking ----------------------------------------------------------------------------------------------------------------- */

int machine_folder_of(struct machine_call *mc, char moref[VIM_MOREF_BYTES], struct err *err) {
    struct machine_folder folder;
    const struct provider *provider = mc->want.provider;
    int rc = machine_store_get_folder(mc->work->store, mc->machine->cluster_id, &folder, err);
    (void)snprintf(moref, VIM_MOREF_BYTES, "%s",
                   folder.moref[0] ? folder.moref
                   : provider      ? provider->places[PROVIDER_FOLDER].moref
                                   : "");
    return rc;
}

/* By name, and then only if it is not somebody else's. */
static int machine_locate_by_name(struct machine_call *mc, char moref[VIM_MOREF_BYTES], bool *is_unborn, struct err *err) {
    struct vim_client *client = link_client(mc->link);
    struct vim_machine_now now;
    struct err why = {0};
    char folder[VIM_MOREF_BYTES];
    int rc = machine_folder_of(mc, folder, err);
    if (rc || !folder[0])
        return rc;
    rc = vim_find_in_folder(client, folder, mc->machine->name, moref, &why);
    if (!rc && moref[0])
        rc = vim_read_machine(client, moref, NULL, &now, &why);
    if (rc == ERR_NOT_FOUND) {
        moref[0] = '\0';
        return 0;
    }
    if (rc || !moref[0])
        return err_move(err, rc, &why);
    *is_unborn = !now.instance_uuid[0];
    if (!*is_unborn && !str_eq(now.instance_uuid, mc->machine->instance_uuid))
        moref[0] = '\0';
    return 0;
}

/* A machine whose host or files are away is not found by its UUID, though it is there. */
static int machine_locate_known(struct machine_call *mc, char moref[VIM_MOREF_BYTES], bool *is_unborn, struct err *err) {
    struct vim_machine_now now;
    struct err why = {0};
    int rc = vim_read_machine(link_client(mc->link), mc->machine->moref, NULL, &now, &why);
    const bool is_there = !rc && (!now.instance_uuid[0] || str_eq(now.instance_uuid, mc->machine->instance_uuid));
    *is_unborn = is_there && !now.instance_uuid[0];
    (void)snprintf(moref, VIM_MOREF_BYTES, "%s", is_there ? mc->machine->moref : "");
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

int machine_locate(struct machine_call *mc, char moref[VIM_MOREF_BYTES], bool *is_unborn, struct err *err) {
    *is_unborn = false;
    int rc = vim_find_machine(link_client(mc->link), mc->machine->instance_uuid, moref, err);
    if (rc || moref[0])
        return rc;
    if (mc->machine->moref)
        return machine_locate_known(mc, moref, is_unborn, err);
    return mc->machine->state == MACHINE_DRAWN ? machine_locate_by_name(mc, moref, is_unborn, err) : 0;
}

int machine_lost(const struct machine_call *mc, struct err *err) {
    (void)err_set(err, ERR_CONFLICT,
                  "vCenter %s does not find machine %s (instance UUID %s) any more; it is not built again by itself", mc->vcenter,
                  mc->machine->name, mc->machine->instance_uuid);
    return err_remedy(
        err,
        "if its storage or host is away, bring it back and run: kaasctl job retry %.36s; if somebody removed it, cancel the job",
        mc->call->job->id);
}
