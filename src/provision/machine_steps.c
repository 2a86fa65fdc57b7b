/* Making machines: folder, draw, clone. Layer 5 (provision). SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "machine_steps_private.h"
#include "str.h"
#include "uuid.h"

/* -- draw -------------------------------------------------------------------------------------------------------------------- */

#define NAME_TAIL_CHARS 5

/* "prod-cp-x7f2k": a DNS label, so what is longer than one is cut in front. No name is used twice, so that what comes late never meets another machine. Without vowels, so
 * that it spells nothing. */
void machine_draw_name(const struct machine_want *want, char name[MACHINE_NAME_BYTES]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char tail[NAME_TAIL_CHARS + 1] = "";
    const char *part = want->role == MACHINE_WORKER ? "worker" : "cp";
    for (size_t i = 0; i < NAME_TAIL_CHARS; i++)
        tail[i] = letters[random_u32() % (sizeof(letters) - 1)];
    const int room = MACHINE_NAME_BYTES - 1 - (int)strlen(part) - NAME_TAIL_CHARS - 2;
    (void)snprintf(name, MACHINE_NAME_BYTES, "%.*s-%s-%s", room, want->cluster_name, part, tail);
}

struct address_pool machine_pool(const struct provider *provider) {
    return (struct address_pool){.vcenter_id = provider->vcenter_id,
                                 .network = provider->places[PROVIDER_NETWORK].moref,
                                 .ranges = &provider->node_addresses,
                                 .provider = provider->name};
}

static int machine_draw(const struct machine_work *work, struct job_call *call, const struct machine_want *want,
                        struct err *err) {
    const struct provider *provider = want->provider;
    char name[MACHINE_NAME_BYTES], uuid[UUID_TEXT_BYTES];
    struct machine drawn = {.id = (char *)(uintptr_t)call->item,
                            .cluster_id = want->cluster_id,
                            .provider_id = provider->id,
                            .vcenter_id = provider->vcenter_id,
                            .network = provider->places[PROVIDER_NETWORK].moref,
                            .name = name,
                            .role = want->role,
                            .instance_uuid = uuid};
    const struct address_pool pool = machine_pool(provider);
    machine_draw_name(want, name);
    uuid_new(uuid);
    return machine_store_draw(work->store, &drawn, &pool, err);
}

int machine_step_draw(struct job_call *call, struct err *err) {
    const struct machine_work *work = call->arg;
    _cleanup_(machine_free) struct machine *drawn = NULL;
    _cleanup_done_(machine_want_done) struct machine_want want = {.provider = NULL};
    int rc = work->want(work, call, &want, err);
    rc = rc ? rc : machine_draw(work, call, &want, err);
    rc = rc ? rc : machine_store_load(work->store, call->item, &drawn, err);
    if (!rc)
        job_say(call, "%s gets the address %s", drawn->name, drawn->address);
    return rc;
}

int machine_undo_draw(struct job_call *call, struct err *err) {
    return machine_step_release(call, err);
}

/* -- clone ------------------------------------------------------------------------------------------------------------------- */

static int machine_refuse_stranger(struct machine_call *mc, const struct vim_machine_now *other, struct err *err) {
    (void)err_set(
        err, ERR_EXISTS,
        "vCenter %s has a machine named %s already that is none of ours: its instance UUID is %s, ours would be %s; it is left alone",
        mc->vcenter, mc->machine->name, other->instance_uuid, mc->machine->instance_uuid);
    return err_remedy(err, "rename or remove that one, then run: kaasctl job retry %.36s", mc->call->job->id);
}

/* Somebody has our name: we ourselves, by a call of which nothing was heard, or a stranger. */
static int machine_judge_name(struct machine_call *mc, const char *moref, struct err *err) {
    struct vim_machine_now now;
    struct vim_guest_state guest;
    struct err why = {0};
    int rc = vim_read_machine(link_client(mc->link), moref, NULL, &now, &why);
    if (!rc && !now.instance_uuid[0]) /* that it has one tells of itself */
        rc = vc_follow_machine(mc->link, moref, mc->call->job->id, &guest, &why);
    if (rc == ERR_NOT_FOUND)
        return job_wait(mc->call, 1000, "%s: a machine of this name has just gone at vCenter %s", mc->machine->name, mc->vcenter);
    if (rc)
        return err_move(err, rc, &why);
    if (!now.instance_uuid[0])
        return job_wait(mc->call, 2000, "%s is being cloned, by a call from before", mc->machine->name);
    if (!str_eq(now.instance_uuid, mc->machine->instance_uuid))
        return machine_refuse_stranger(mc, &now, err);
    return machine_set(mc, MACHINE_CLONED, moref, err);
}

static int machine_wait_turn(struct machine_call *mc) {
    return job_wait(mc->call, 2000, "%s waits its turn: %d tasks are under way at vCenter %s", mc->machine->name,
                    VC_TASKS_AT_ONCE, mc->vcenter);
}

static int machine_begin_clone(struct machine_call *mc, struct err *err) {
    const struct provider_place *places = mc->want.provider->places;
    struct vim_clone clone = {.source = places[PROVIDER_TEMPLATE].moref,
                              .pool = places[PROVIDER_RESOURCE_POOL].moref,
                              .datastore = places[PROVIDER_DATASTORE].moref,
                              .name = mc->machine->name,
                              .instance_uuid = mc->machine->instance_uuid,
                              .network = mc->network};
    char folder[VIM_MOREF_BYTES];
    struct vim_task begun;
    bool is_full = false;
    int rc = machine_folder_of(mc, folder, err);
    rc = rc || json_get_string(mc->call->data, "asked") ? rc : job_decide(mc->call, "asked", "1", err);
    clone.folder = folder;
    rc = rc ? rc : vc_clone(mc->link, &clone, mc->call->job->id, &begun, &is_full, err);
    if (rc)
        return rc;
    if (is_full)
        return machine_wait_turn(mc);
    if (begun.trouble == VIM_TROUBLE_NAME_TAKEN && begun.object[0])
        return machine_judge_name(mc, begun.object, err);
    return machine_task_begin(mc, MACHINE_CLONING, &begun, err);
}

/* What was asked for before, and of which nothing is known, is looked for first. */
static int machine_look_for_clone(struct machine_call *mc, struct err *err) {
    char moref[VIM_MOREF_BYTES] = "";
    bool is_unborn = false;
    if (vc_is_full(mc->link))
        return machine_wait_turn(mc);
    const bool was_asked = json_get_string(mc->call->data, "asked") != NULL;
    int rc = was_asked ? machine_locate(mc, moref, &is_unborn, err)
                       : vim_find_machine(link_client(mc->link), mc->machine->instance_uuid, moref, err);
    if (rc)
        return rc;
    if (is_unborn)
        return machine_judge_name(mc, moref, err);
    return moref[0] ? machine_set(mc, MACHINE_CLONED, moref, err) : machine_begin_clone(mc, err);
}

int machine_clone(struct machine_call *mc, struct err *err) {
    struct machine_task task;
    const struct vim_task *end = &task.end;
    if (mc->machine->state != MACHINE_DRAWN)
        return 0;
    int rc = machine_task_end(mc, &task, err);
    if (rc)
        return rc;
    if (end->phase == VIM_TASK_DONE && end->result[0])
        return machine_set(mc, MACHINE_CLONED, end->result, err);
    if (end->phase == VIM_TASK_FAILED)
        return end->trouble == VIM_TROUBLE_NAME_TAKEN && end->object[0] ? machine_judge_name(mc, end->object, err)
                                                                        : machine_task_explain(mc, end, err);
    return machine_look_for_clone(mc, err);
}

int machine_step_clone(struct job_call *call, struct err *err) {
    bool is_gone;
    return machine_call_run(call, MACHINE_CALL_WANTS, machine_clone, &is_gone, err);
}

/* A clone that is being made is canceled first; where that cannot be done it is waited for. */
static int machine_unclone(struct machine_call *mc, struct err *err) {
    int rc = machine_task_cancel(mc, MACHINE_CLONING, err);
    return rc ? rc : machine_remove(mc, err);
}

int machine_undo_clone(struct job_call *call, struct err *err) {
    bool is_gone;
    int rc = machine_call_run(call, MACHINE_CALL_WANTS, machine_unclone, &is_gone, err);
    return is_gone ? 0 : rc;
}

/* -- the cluster's folder ------------------------------------------------------------------------------------------------------ */

static int machine_make_folder(const struct machine_work *work, struct job_call *call, const struct machine_want *want,
                               struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    struct machine_folder folder;
    char moref[VIM_MOREF_BYTES];
    bool is_there = false;
    int rc = machine_store_get_folder(work->store, want->cluster_id, &folder, err);
    if (rc || folder.moref[0])
        return rc;
    rc = platform_find(work->platform, want->provider->vcenter_id, &link, err);
    rc = rc ? rc
            : vim_make_folder(link_client(link), want->provider->places[PROVIDER_FOLDER].moref, want->cluster_name, moref,
                              &is_there, err);
    if (!rc && is_there)
        job_say(call, "there is a folder %s already: it is used", want->cluster_name);
    return rc ? rc : machine_store_set_folder(work->store, want->cluster_id, want->provider->vcenter_id, moref, err);
}

int machine_step_folder(struct job_call *call, struct err *err) {
    const struct machine_work *work = call->arg;
    _cleanup_done_(machine_want_done) struct machine_want want = {.provider = NULL};
    int rc = work->want(work, call, &want, err);
    return rc ? rc : machine_make_folder(work, call, &want, err);
}

int machine_undo_folder(struct job_call *call, struct err *err) {
    return machine_step_remove_folder(call, err);
}
