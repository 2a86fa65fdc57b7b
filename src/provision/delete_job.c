/* Deleting a cluster that kaasd has made, as a job: whatever its creation left. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Machines first, since nothing else is lost without trace: the record, which says where they are, goes last. The cluster itself is not asked: it may be away. */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "cluster_store.h"
#include "k8s.h"
#include "k8s_objects.h"
#include "kube_volume.h"
#include "kubernetes.h"
#include "machine_store.h"
#include "made_store.h"
#include "provision_private.h"
#include "str.h"

#define DELETE_LIMIT_MS (7 * CLOCK_DAY_MS) /* a vCenter may be away for days */

static int delete_plan_machine(struct job_plan *plan, const struct machine *machine) {
    static const char *const steps[] = {"off", "destroy", "release"};
    int last = 0; /* behind the first step of all */
    for (size_t i = 0; i < ARRAY_COUNT(steps) && last >= 0; i++)
        last = job_plan_add(plan, steps[i], machine->id, machine->name, last);
    return last;
}

static int delete_plan(void *arg, const json_t *params, struct job_plan *plan, struct err *err) {
    static const char *const after[] = {"folder", "address", "keys", "connection", "record"};
    const struct provision *p = arg;
    _cleanup_done_(machine_list_done) struct machine_list machines = {0};
    int rc = machine_store_list(p->options.runtime->store, json_get_string(params, "cluster_id"), &machines, err);
    if (rc)
        return rc;
    int last = job_plan_add(plan, "state", NULL, NULL, -1);
    for (size_t i = 0; i < machines.count && last >= 0; i++)
        last = delete_plan_machine(plan, &machines.items[i]);
    for (size_t i = 0; i < ARRAY_COUNT(after) && last >= 0; i++)
        last = job_plan_add(plan, after[i], NULL, NULL, last);
    return last < 0 ? err_set(err, last, "out of memory") : 0;
}

static int delete_set_state(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    (void)arg;
    (void)parts;
    record->state = CLUSTER_DELETING;
    return str_replace(&record->state_reason, "its machines are being removed", err);
}

static int delete_step_state(struct job_call *call, struct err *err) {
    return making_change(call, delete_set_state, NULL, err);
}

/* Machines are removed side by side: the folder is empty behind the last of them. */
static int delete_step_folder(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    _cleanup_done_(machine_list_done) struct machine_list machines = {0};
    int rc = machine_store_list(p->options.runtime->store, call->job->object_id, &machines, err);
    if (!rc && machines.count)
        return job_wait(call, 1000, "waits for %zu machines to be removed", machines.count);
    return rc ? rc : machine_step_remove_folder(call, err);
}

static int delete_step_address(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    return address_store_release(p->options.runtime->store, call->job->object_id, err);
}

static int delete_step_keys(struct job_call *call, struct err *err) {
    return making_remove_keys(call, err);
}

static int delete_step_connection(struct job_call *call, struct err *err) {
    return making_forget_connection(call, err);
}

static int delete_step_record(struct job_call *call, struct err *err) {
    return making_remove_record(call, err);
}

static int delete_submit(void *arg, const struct job *job, const char *item, worker_fn *fn, void *fn_arg, struct err *err) {
    return item ? making_submit(arg, job->object_id, fn, fn_arg, err) : ERR_NOT_FOUND;
}

static const struct job_step_kind delete_steps[] = {
    {.name = "state", .title = "say in the list that it is being deleted", .run = delete_step_state},
    {.name = "off", .title = "shut down", .run = machine_step_off, .limit_ms = DELETE_LIMIT_MS},
    {.name = "destroy", .title = "destroy", .run = machine_step_destroy, .limit_ms = DELETE_LIMIT_MS},
    {.name = "release", .title = "give its address back", .run = machine_step_release, .limit_ms = DELETE_LIMIT_MS},
    {.name = "folder", .title = "remove the folder of its machines", .run = delete_step_folder, .limit_ms = DELETE_LIMIT_MS},
    {.name = "address", .title = "give the address of its API back", .run = delete_step_address},
    {.name = "keys", .title = "forget its certificate authorities", .run = delete_step_keys},
    {.name = "connection", .title = "forget the connection", .run = delete_step_connection},
    {.name = "record", .title = "take it out of the list", .run = delete_step_record},
    {.name = NULL},
};

struct job_kind provision_delete_kind(struct provision *provision) {
    return (struct job_kind){.name = PROVISION_DELETE_JOB,
                             .title = "delete the cluster",
                             .action = "cluster.delete",
                             .steps = delete_steps,
                             .plan = delete_plan,
                             .submit = delete_submit,
                             .arg = provision};
}

/* -- what goes, and what stays --------------------------------------------------------------------------------------------------------- */

static void delete_look_say(struct findings *out, const char *step, const char *title, enum finding_status status,
                            const char *subject, const char *text) {
    struct finding f = {0};
    (void)snprintf(f.step, sizeof(f.step), "%s", step);
    (void)snprintf(f.title, sizeof(f.title), "%s", title);
    (void)snprintf(f.subject, sizeof(f.subject), "%s", subject);
    finding_say(&f, status, "%s", text);
    findings_add(out, &f);
}

static int delete_look_at_machines(const struct provision *p, const char *cluster_id, struct findings *out, struct err *err) {
    _cleanup_done_(machine_list_done) struct machine_list machines = {0};
    int rc = machine_store_list(p->options.runtime->store, cluster_id, &machines, err);
    for (size_t i = 0; i < machines.count && !rc; i++)
        delete_look_say(out, "machine", "goes: the machine, with its disks", FINDING_OK, machines.items[i].name,
                        machines.items[i].address);
    return rc;
}

/* Volumes are the storage's own and stay: whoever deletes the cluster may want what is in them. */
static void delete_look_at_volumes(struct provision *p, const char *cluster_id, struct findings *out) {
    _cleanup_(k8s_client_free) struct k8s_client *client = NULL;
    struct kube_volumes volumes = {0};
    struct err why = {0};
    int rc = making_open_client(p, cluster_id, &client, &why);
    rc = rc ? rc : k8s_list_volumes(client, &volumes, &why);
    if (rc) {
        delete_look_say(out, "volumes", "stay: volumes, which could not be listed", FINDING_WARNING, "", why.text);
        return;
    }
    for (size_t i = 0; i < volumes.count; i++) {
        const struct kube_volume *v = &volumes.items[i];
        delete_look_say(out, "volume", "stays: the volume", FINDING_WARNING, v->name, v->claim ? v->claim : "");
    }
    if (volumes.is_cut)
        delete_look_say(out, "volumes", "stay: more volumes than are listed here", FINDING_WARNING, "", "");
    kube_volumes_done(&volumes);
}

int provision_look(struct provision *p, const char *cluster_id, struct findings *out, struct err *err) {
    _cleanup_(made_cluster_free) struct made_cluster *made = NULL;
    int rc = made_store_load(p->options.runtime->store, cluster_id, &made, err);
    rc = rc ? rc : delete_look_at_machines(p, cluster_id, out, err);
    if (rc)
        return rc;
    delete_look_at_volumes(p, cluster_id, out);
    return findings_check(out, err);
}

int provision_delete(struct provision *p, struct jobs *jobs, const char *cluster_id, const struct actor *actor,
                     char job_id[UUID_TEXT_BYTES], struct err *err) {
    _cleanup_(made_cluster_free) struct made_cluster *made = NULL;
    _cleanup_(cluster_free) struct cluster *record = NULL;
    _cleanup_json_ json_t *params = json_object();
    int rc = made_store_load(p->options.runtime->store, cluster_id, &made, err);
    rc = rc ? rc : cluster_store_load(p->options.runtime->store, cluster_id, &record, err);
    if (rc)
        return rc;
    json_put_string(params, "cluster_id", cluster_id);
    const struct job_new job = {.kind = PROVISION_DELETE_JOB,
                                .object_kind = "cluster",
                                .object_id = cluster_id,
                                .object_name = record->name,
                                .params = params,
                                .actor = actor};
    return jobs_start(jobs, &job, job_id, err);
}
