/* The steps of jobs by which machines come to be and end at a vCenter. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A job that makes or removes machines has these functions in the table of its kind, with the ids of the machines as items, and a struct machine_work as the kind's
 * `arg`. Each looks first at what is there:
 *
 * * A machine is ours by its instance UUID, which was drawn and committed before anything was asked for. One that has our name and another UUID is a stranger's: an
 *   error names both, and it is left alone. A machine that was there and is not found is an error, too: it is never built again by itself.
 * * User-data lies at a machine from machine_step_boot on until its end only: that is one step, which does not end, in whatever way, before the user-data was removed
 *   and read back empty (machine_leave_boot; docs/design/machines.md).
 *
 * Texts that a job shows name machine and vCenter, and never hold user-data. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "jobs.h"
#include "machine.h"
#include "node_data.h"
#include "provider.h"

struct platform;

/* What a job wants of one machine. */
struct machine_want {
    struct provider *provider; /* with its places resolved; freed by provider_free */
    char *cluster_id, *cluster_name;
    enum machine_role role;
    int64_t cpus, memory_mib;
    bool keeps_address; /* also when another machine comes in its place: others have been told of it */
};
void machine_want_done(struct machine_want *want); /* NULL is allowed */

/* What the steps below have of the job: the `arg` of its kind points to one (first member of a larger struct, if there is more to it). It outlives the jobs. */
struct machine_work {
    struct platform *platform;
    struct store *store;
    /* Fills *out (all-zero) for the machine `call->item`. Blocks. For machine_step_folder the item is NULL: role and sizes are not looked at. */
    int (*want)(const struct machine_work *work, const struct job_call *call, struct machine_want *out, struct err *err);
    /* Fills *out (all-zero) for a machine that is about to be powered on for the first time; `mac` is the address of its network card. Blocks. It may be asked more than once, and
     * may say JOB_WAIT (job_wait). */
    int (*seed)(const struct machine_work *work, struct job_call *call, const struct machine *machine, const char *mac,
                struct node_data *out, struct err *err);
    /* A machine whose guest has failed is about to be destroyed, and another one made in its place: takes back what the guest may have done to the cluster (its etcd
     * member). Blocks; may be asked more than once, and may say JOB_WAIT. NULL: nothing is to be done. */
    int (*give_up)(const struct machine_work *work, struct job_call *call, const struct machine *machine, struct err *err);
};

/* For job_kind.submit: has `fn` run in the worker pool for machines of this vCenter. ERR_NOT_FOUND: there is no such vCenter. Does not block. */
int machine_submit(const struct machine_work *work, const char *vcenter_id, worker_fn *fn, void *fn_arg, struct err *err);

/* -- making ------------------------------------------------------------------------------------------------------------------- */

/* The cluster's own folder in the provider's; no item. Undo: removes it if nothing is in it. */
job_step_fn machine_step_folder, machine_undo_folder;
/* Draws name, UUID and address. Undo: gives them back. */
job_step_fn machine_step_draw, machine_undo_draw;
/* Clones the template, powered off. Undo: cancels the clone, powers off, destroys. */
job_step_fn machine_step_clone, machine_undo_clone;
/* CPU, memory, who manages it, user-data; powers it on, waits until the guest says NODE_PHASE_DONE and has its address, removes the user-data and reads that back. A machine
 * whose guest failed
 at the try before is given up, destroyed, and made anew, with another name and UUID. Undo: removes the user-data, powers off. Its row has
 * .leave = machine_leave_boot and .is_finished = true. */
job_step_fn machine_step_boot, machine_undo_boot, machine_leave_boot;

/* -- removing ------------------------------------------------------------------------------------------------------------------ */

/* Each is done with a machine that is not there. They want nothing of machine_work but platform and store. */

/* Asks the guest to shut down, and powers the machine off when it has not done so in MACHINE_SHUTDOWN_MS. */
#define MACHINE_SHUTDOWN_MS 30000
job_step_fn machine_step_off;
job_step_fn machine_step_destroy;
/* Forgets the machine; its address is given back. */
job_step_fn machine_step_release;
/* Removes the cluster's folder if nothing is in it; the job's object is the cluster. */
job_step_fn machine_step_remove_folder;
