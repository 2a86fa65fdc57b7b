/* What the steps about machines share. Layer 5 (provision); private to machine_*.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "link.h"
#include "machine_steps.h"
#include "machine_store.h"
#include "vc_machines.h"

#define MACHINE_LOOK_MS 2000 /* what is waited for tells of itself: this is for what gets lost */

/* A step at work on one machine. */
struct machine_call {
    struct job_call *call;
    const struct machine_work *work;
    struct machine *machine; /* as stored; NULL: of a step without a machine */
    struct machine_want want;
    struct link *link; /* to its vCenter, */
    char vcenter[LINK_NAME_BYTES];
    struct vim_network network; /* where its card belongs; of steps that want */
};
typedef int machine_fn(struct machine_call *mc, struct err *err);

enum machine_call_flags { MACHINE_CALL_WANTS = 1 };
/* Runs `fn` for the machine call->item: loads it, finds its vCenter, asks what is wanted (MACHINE_CALL_WANTS), and notes at the link whether the vCenter answered. ERR_NOT_FOUND
 * with *is_gone: there is no such machine. */
int machine_call_run(struct job_call *call, unsigned flags, machine_fn *fn, bool *is_gone, struct err *err);

/* -- one task at a time ------------------------------------------------------------------------------------------------------ */

/* The step's task stands in its data, as "WORD MOREF". */
enum machine_doing {
    MACHINE_IDLE,
    MACHINE_CLONING,
    MACHINE_MENDING,
    MACHINE_SEEDING,
    MACHINE_ON,
    MACHINE_WIPING,
    MACHINE_OFF,
    MACHINE_DESTROYING
};
struct machine_task {
    enum machine_doing doing; /* MACHINE_IDLE: there was none */
    struct vim_task end;      /* VIM_TASK_DONE, _FAILED or _GONE */
};
/* Looks at the step's task. 0: none is under way; *out is the one that has just ended. JOB_WAIT: it goes on. */
int machine_task_end(struct machine_call *mc, struct machine_task *out, struct err *err);
/* Takes over a task that was begun, as vim_build.h gave it: commits it, follows it, and waits. One that was refused: its error. */
int machine_task_begin(struct machine_call *mc, enum machine_doing doing, const struct vim_task *begun, struct err *err);
/* Cancels the step's task if it is this one, once, and waits for its end. 0: it is not under way. */
int machine_task_cancel(struct machine_call *mc, enum machine_doing doing, struct err *err);
/* The error of a task that failed, with the machine's name. */
int machine_task_explain(const struct machine_call *mc, const struct vim_task *task, struct err *err);

/* -- looking ----------------------------------------------------------------------------------------------------------------- */

/* The machine's managed object id, by its UUID, or by its name while it may be a clone that is being made (state drawn); "": it is not there. *is_unborn: it is being cloned
 * still, or its configuration cannot be read. Another machine with our name is not it. */
int machine_locate(struct machine_call *mc, char moref[VIM_MOREF_BYTES], bool *is_unborn, struct err *err);
/* Error for a known machine that is not there. */
int machine_lost(const struct machine_call *mc, struct err *err);
/* Writes how far it is, in the database and in mc->machine. */
int machine_set(struct machine_call *mc, enum machine_state state, const char *moref, struct err *err);

/* Where the machine's folder is: the cluster's own, or the provider's. */
int machine_folder_of(struct machine_call *mc, char moref[VIM_MOREF_BYTES], struct err *err);

/* -- ends, for more than one step ---------------------------------------------------------------------------------------------- */

/* Powers off and destroys; 0 once it is not there. Nothing is asked of the guest. */
int machine_remove(struct machine_call *mc, struct err *err);
/* Removes the user-data; 0 once it was read to be empty, or there is no machine. */
int machine_wipe(struct machine_call *mc, struct err *err);
/* A name for a new machine of this cluster, with a UUID. */
#define MACHINE_NAME_BYTES 64
void machine_draw_name(const struct machine_want *want, char name[MACHINE_NAME_BYTES]);
/* Where its address is from; borrows from the provider. */
struct address_pool machine_pool(const struct provider *provider);
/* Clones it, unless it was. */
int machine_clone(struct machine_call *mc, struct err *err);
