/* Making machines: from a clone to a guest that has reported, and no user-data left behind. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The step looks at the machine as it is told, and does what is to be done next: so it does not matter where the one before was cut off. */
#include <stdio.h>
#include <string.h>

#include "extension_record.h"
#include "machine_steps_private.h"
#include "node_phase.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define MACHINE_SILENT_MS 180000 /* a boot that tells nothing for so long is remarkable */

/* -- user-data out ----------------------------------------------------------------------------------------------------------- */

static int machine_begin_wipe(struct machine_call *mc, struct err *err) {
    const struct vim_change change = {.moref = mc->machine->moref,
                                      .options = {{"guestinfo.userdata", NULL}, {"guestinfo.userdata.encoding", NULL}},
                                      .option_count = 2};
    struct vim_task begun;
    int rc = vim_change_machine(link_client(mc->link), &change, &begun, err);
    if (!rc && begun.trouble == VIM_TROUBLE_GONE)
        return 0;
    return rc ? rc : machine_task_begin(mc, MACHINE_WIPING, &begun, err);
}

int machine_wipe(struct machine_call *mc, struct err *err) {
    struct vim_machine_now now;
    struct machine_task task;
    struct err why = {0};
    int rc = machine_task_end(mc, &task, err);
    if (!rc && task.end.phase == VIM_TASK_FAILED && task.doing == MACHINE_WIPING)
        return machine_task_explain(mc, &task.end, err);
    if (rc || !mc->machine->moref)
        return rc;
    rc = vim_read_machine(link_client(mc->link), mc->machine->moref, NULL, &now, &why);
    if (rc == ERR_NOT_FOUND) /* it went with the machine */
        return 0;
    if (rc)
        return err_move(err, rc, &why);
    return now.guest.has_userdata ? machine_begin_wipe(mc, err) : 0;
}

/* -- before it runs ---------------------------------------------------------------------------------------------------------- */

/* The clone of a vCenter that was restarted may be half made: its card is the template's. */
static int machine_mend_card(struct machine_call *mc, struct err *err) {
    const struct vim_change change = {.moref = mc->machine->moref, .network = &mc->network};
    struct vim_task begun;
    int rc = vim_change_machine(link_client(mc->link), &change, &begun, err);
    return rc ? rc : machine_task_begin(mc, MACHINE_MENDING, &begun, err);
}

/* From here on the user-data may lie there: that is committed first. */
static int machine_seed(struct machine_call *mc, const struct vim_machine_now *now, struct err *err) {
    _cleanup_done_(node_data_done) struct node_data data = {.metadata = NULL};
    _cleanup_free_ char *key = link_get_extension_key(mc->link),
                        *note = str_format("Node of the Kubernetes cluster %s, made by Harmony KaaS", mc->want.cluster_name);
    struct vim_task begun;
    int rc = key && note ? mc->work->seed(mc->work, mc->call, mc->machine, now->mac, &data, err)
                         : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    const struct vim_change change = {.moref = mc->machine->moref,
                                      .cpus = mc->want.cpus,
                                      .memory_mib = mc->want.memory_mib,
                                      .annotation = note,
                                      .managed_by = key,
                                      .managed_as = EXTENSION_MANAGED_NODE,
                                      .options = {{"disk.EnableUUID", "TRUE"},
                                                  {"guestinfo.metadata", data.metadata},
                                                  {"guestinfo.metadata.encoding", NODE_DATA_ENCODING},
                                                  {"guestinfo.userdata", data.userdata},
                                                  {"guestinfo.userdata.encoding", NODE_DATA_ENCODING},
                                                  {NODE_PHASE_KEY, NULL},
                                                  {NODE_ERROR_KEY, NULL}},
                                      .option_count = 7};
    rc = machine_set(mc, MACHINE_SEEDED, NULL, err);
    rc = rc ? rc : vim_change_machine(link_client(mc->link), &change, &begun, err);
    return rc ? rc : machine_task_begin(mc, MACHINE_SEEDING, &begun, err);
}

/* Whether everything of machine_seed is there; a change may have been done by half. */
static bool machine_is_seeded(const struct machine_call *mc, const struct vim_machine_now *now) {
    _cleanup_free_ char *key = link_get_extension_key(mc->link);
    return mc->machine->state == MACHINE_SEEDED && now->guest.has_userdata && now->guest.has_metadata &&
           now->cpus == mc->want.cpus && now->memory_mib == mc->want.memory_mib && key && str_eq(now->managed_by, key);
}

/* Whether its guest may have run; one that never did can be used again. What is said of a machine names it, since another may come in its place. */
static bool machine_was_on(const struct machine_call *mc) {
    return str_eq(json_get_string(mc->call->data, "was_on"), mc->machine->instance_uuid);
}

static int machine_note_on(struct machine_call *mc, bool was_on, struct err *err) {
    return machine_was_on(mc) == was_on ? 0 : job_decide(mc->call, "was_on", was_on ? mc->machine->instance_uuid : "", err);
}

static int machine_begin_on(struct machine_call *mc, struct err *err) {
    const bool was_on = machine_was_on(mc);
    struct vim_task begun;
    int rc = machine_note_on(mc, true, err);
    rc = rc ? rc : vim_power_on(link_client(mc->link), mc->machine->moref, &begun, err);
    if (!rc && begun.trouble == VIM_TROUBLE_POWER)
        return job_wait(mc->call, 1000, "%s is on", mc->machine->name);
    if (!rc && begun.phase == VIM_TASK_FAILED)
        rc = machine_note_on(mc, was_on, err);
    return rc ? rc : machine_task_begin(mc, MACHINE_ON, &begun, err);
}

/* It is off. */
static int machine_prepare(struct machine_call *mc, struct err *err) {
    struct vim_machine_now now;
    struct err why = {0};
    int rc = vim_read_machine(link_client(mc->link), mc->machine->moref, &mc->network, &now, &why);
    if (rc)
        return rc == ERR_NOT_FOUND ? machine_lost(mc, err) : err_move(err, rc, &why);
    if (now.guest.is_on)
        return job_wait(mc->call, 1000, "%s is on", mc->machine->name);
    if (!now.is_on_network)
        return machine_mend_card(mc, err);
    return machine_is_seeded(mc, &now) ? machine_begin_on(mc, err) : machine_seed(mc, &now, err);
}

/* -- while it runs ------------------------------------------------------------------------------------------------------------- */

static int machine_wait_address(struct machine_call *mc, const struct vim_guest_state *guest) {
    _cleanup_strbuf_ struct strbuf has;
    strbuf_init(&has, 200);
    for (size_t i = 0; i < guest->address_count; i++)
        strbuf_addf(&has, "%s%s", i ? ", " : "", guest->addresses[i]);
    return job_wait(mc->call, MACHINE_LOOK_MS, "%s does not report its address %s yet; VMware Tools %s%s", mc->machine->name,
                    mc->machine->address, guest->has_tools ? "report " : "do not run",
                    !guest->has_tools ? ""
                    : has.len         ? has.data
                                      : "none");
}

static struct node_told machine_told(const struct vim_guest_state *guest) {
    struct node_told told;
    node_phase_read(guest->phase[0] ? guest->phase : NULL, guest->error[0] ? guest->error : NULL, &told);
    return told;
}

/* What is wrong may pass, by itself or because somebody sees to it. */
static int machine_wait_phase(struct machine_call *mc, const struct node_told *told) {
    const bool is_silent = told->phase == NODE_PHASE_NONE && !told->fault && job_spent_ms(mc->call) >= MACHINE_SILENT_MS;
    const enum node_fault fault = is_silent ? NODE_FAULT_SILENT : told->fault;
    (void)job_wait(mc->call, MACHINE_LOOK_MS, "%s: %s%s%s%s%s", mc->machine->name, is_silent ? "" : node_phase_text(told->phase),
                   told->fault ? "; " : "", node_fault_text(fault), told->detail[0] ? ": " : "", told->detail);
    return job_wait_remedy(mc->call, "%s", node_fault_remedy(fault));
}

static int machine_wait_guest(struct machine_call *mc, const struct vim_guest_state *guest, struct err *err) {
    const struct node_told told = machine_told(guest);
    if (told.phase == NODE_PHASE_FAILED || node_fault_is_lasting(told.fault))
        return node_fault_set(mc->machine->name, &told, err);
    if (told.phase != NODE_PHASE_DONE)
        return machine_wait_phase(mc, &told);
    if (!vim_guest_state_has_address(guest, mc->machine->address))
        return machine_wait_address(mc, guest);
    return 0;
}

static int machine_finish(struct machine_call *mc, struct err *err) {
    int rc = machine_wipe(mc, err);
    rc = rc ? rc : machine_set(mc, MACHINE_READY, NULL, err);
    if (!rc)
        vc_unfollow(mc->link, mc->machine->moref);
    if (!rc)
        job_say(mc->call, "%s is a node with the address %s; its user-data is removed, and was read back empty",
                mc->machine->name, mc->machine->address);
    return rc;
}

/* -- another machine in its place ------------------------------------------------------------------------------------------------ */

/* Whether it is on its way out, by ourselves. */
static bool machine_is_leaving(const struct machine_call *mc) {
    return str_eq(json_get_string(mc->call->data, "replaced"), mc->machine->instance_uuid);
}

/* An address that the provider has not any more is taken by somebody else: another one comes in its place. */
static int machine_leave_address(struct machine_call *mc, struct err *err) {
    const struct provider *provider = mc->want.provider;
    uint32_t address = 0;
    if (mc->want.keeps_address ||
        (address_parse(mc->machine->address, &address) && address_ranges_has(&provider->node_addresses, address)))
        return 0;
    const struct address_pool pool = machine_pool(provider);
    return machine_store_move(mc->work->store, mc->machine->id, &pool, err);
}

static int machine_replace(struct machine_call *mc, struct err *err) {
    char name[MACHINE_NAME_BYTES], uuid[UUID_TEXT_BYTES];
    int rc = machine_is_leaving(mc) ? 0 : job_decide(mc->call, "replaced", mc->machine->instance_uuid, err);
    if (rc)
        return rc;
    rc = mc->work->give_up ? mc->work->give_up(mc->work, mc->call, mc->machine, err) : 0;
    rc = rc ? rc : machine_remove(mc, err);
    rc = rc ? rc : machine_leave_address(mc, err);
    if (rc)
        return rc;
    machine_draw_name(&mc->want, name);
    uuid_new(uuid);
    rc = machine_store_redraw(mc->work->store, mc->machine->id, name, uuid, err);
    if (!rc)
        job_say(mc->call, "%s is gone; %s comes in its place", mc->machine->name, name);
    return rc ? rc : job_wait(mc->call, 0, "%s comes in the place of one that failed", name);
}

/* On its way to a node, and nothing is wrong with it. */
static bool machine_is_under_way(const struct vim_guest_state *guest) {
    const struct node_told told = machine_told(guest);
    return guest->has_tools && told.phase >= NODE_PHASE_CHECKING && told.phase <= NODE_PHASE_KUBELET &&
           (told.fault == NODE_FAULT_NONE || told.fault == NODE_FAULT_KUBELET);
}

/* It is waited for once more, but not for ever: a guest that hangs looks like this, too. */
static int machine_spare(struct machine_call *mc, struct err *err) {
    int rc = job_decide(mc->call, "spared", mc->machine->instance_uuid, err);
    rc = rc ? rc : machine_set(mc, MACHINE_SEEDED, NULL, err);
    return rc ? rc : job_wait(mc->call, 0, "%s goes on by itself", mc->machine->name);
}

/* One whose guest got over it meanwhile may stay. */
static int machine_look_at_sick(struct machine_call *mc, struct err *err) {
    struct vim_machine_now now;
    struct err why = {0}, ignored = {0};
    if (machine_is_leaving(mc))
        return machine_replace(mc, err);
    int rc = vim_read_machine(link_client(mc->link), mc->machine->moref, NULL, &now, &why);
    if (rc)
        return rc == ERR_NOT_FOUND ? machine_lost(mc, err) : err_move(err, rc, &why);
    if (now.guest.is_on && !now.guest.has_userdata && !machine_wait_guest(mc, &now.guest, &ignored))
        return machine_set(mc, MACHINE_READY, NULL, err);
    const bool was_spared = str_eq(json_get_string(mc->call->data, "spared"), mc->machine->instance_uuid);
    if (now.guest.is_on && !now.guest.has_userdata && !was_spared && machine_is_under_way(&now.guest))
        return machine_spare(mc, err);
    return machine_replace(mc, err);
}

/* One that was never powered on can be used at the next try; a guest that has failed cannot. */
static int machine_leave(struct machine_call *mc, struct err *err) {
    if (mc->machine->state != MACHINE_SEEDED)
        return 0;
    int rc = machine_wipe(mc, err);
    rc = rc ? rc : machine_set(mc, machine_was_on(mc) ? MACHINE_SICK : MACHINE_CLONED, NULL, err);
    if (!rc)
        job_say(mc->call, "the user-data of %s is removed, and was read back empty", mc->machine->name);
    return rc;
}

/* -- the step ------------------------------------------------------------------------------------------------------------------- */

/* A machine with user-data, or on the way there. `done`: what has just been done. */
static int machine_go_on(struct machine_call *mc, enum machine_doing done, struct err *err) {
    struct vim_guest_state guest;
    int rc = vc_follow_machine(mc->link, mc->machine->moref, mc->call->job->id, &guest, err);
    if (rc)
        return rc;
    if (!guest.is_told)
        return job_wait(mc->call, MACHINE_LOOK_MS, "%s: waits for vCenter %s%s", mc->machine->name, mc->vcenter,
                        link_is_away(mc->link) ? ", which is away" : " to tell how it stands");
    if (guest.is_gone)
        return machine_lost(mc, err);
    if (!guest.is_on && done == MACHINE_ON)
        return job_wait(mc->call, 1000, "%s is on", mc->machine->name);
    if (!guest.is_on)
        return done == MACHINE_SEEDING ? machine_begin_on(mc, err) : machine_prepare(mc, err);
    if (machine_told(&guest).fault == NODE_FAULT_CUT_OFF) {
        rc = machine_leave(mc, err);
        return rc ? rc : job_wait(mc->call, 0, "%s: %s", mc->machine->name, node_fault_text(NODE_FAULT_CUT_OFF));
    }
    rc = machine_wait_guest(mc, &guest, err);
    return rc ? rc : machine_finish(mc, err);
}

static int machine_judge_task(struct machine_call *mc, const struct machine_task *task, struct err *err) {
    const struct vim_task *end = &task->end;
    if (end->phase != VIM_TASK_FAILED || end->trouble == VIM_TROUBLE_POWER)
        return 0;
    int rc = task->doing == MACHINE_ON ? machine_note_on(mc, false, err) : 0;
    if (rc)
        return rc;
    return end->trouble == VIM_TROUBLE_GONE ? machine_lost(mc, err) : machine_task_explain(mc, end, err);
}

static int machine_boot(struct machine_call *mc, struct err *err) {
    struct machine_task task = {.doing = MACHINE_IDLE};
    if (mc->machine->state == MACHINE_READY)
        return 0;
    if (mc->machine->state == MACHINE_SICK)
        return machine_look_at_sick(mc, err);
    int rc = machine_clone(mc, err); /* of one that came in the place of another */
    rc = rc ? rc : machine_task_end(mc, &task, err);
    rc = rc ? rc : machine_judge_task(mc, &task, err);
    return rc ? rc : machine_go_on(mc, task.end.phase == VIM_TASK_DONE ? task.doing : MACHINE_IDLE, err);
}

int machine_step_boot(struct job_call *call, struct err *err) {
    bool is_gone;
    return machine_call_run(call, MACHINE_CALL_WANTS, machine_boot, &is_gone, err);
}

/* -- leaving it ------------------------------------------------------------------------------------------------------------------ */

int machine_leave_boot(struct job_call *call, struct err *err) {
    bool is_gone;
    int rc = machine_call_run(call, 0, machine_leave, &is_gone, err);
    return is_gone ? 0 : rc;
}

int machine_undo_boot(struct job_call *call, struct err *err) {
    return machine_leave_boot(call, err);
}
