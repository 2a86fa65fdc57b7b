/* What jobs that make virtual machines share at a vCenter: worker pool, followed tasks, how many clones there are at once. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations themselves are those of vim_build.h, by link_client. Tasks and machines are followed by the vCenter's watch (vim_follow.h), for the job that waits
 * (`whom`, its id): nobody polls. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "link.h"
#include "platform_links.h"
#include "vim_build.h"
#include "worker_pool.h"

/* Has `fn` run in the pool for machines of this vCenter, which sign-ons do not share. ERR_NOT_FOUND; as worker_pool_submit. Does not block. */
int vc_machines_submit(struct platform *platform, const char *vcenter_id, worker_fn *fn, void *fn_arg, struct err *err);

/* As vim_follow_task, vim_follow_machine. Block. */
int vc_follow_task(struct link *link, const char *moref, const char *whom, struct vim_task *out, struct err *err);
int vc_follow_machine(struct link *link, const char *moref, const char *whom, struct vim_guest_state *out, struct err *err);
void vc_unfollow(struct link *link, const char *moref);

#define VC_TASKS_AT_ONCE 4
/* True if so many tasks are under way at this vCenter for this replica: a clone has to wait its turn, and asks nothing meanwhile. Does not block. */
bool vc_is_full(struct link *link);
/* As vim_clone_machine, and follows the task. *is_full with 0: VC_TASKS_AT_ONCE tasks are under way at this vCenter for this replica, and nothing was asked for. Blocks. */
int vc_clone(struct link *link, const struct vim_clone *clone, const char *whom, struct vim_task *out, bool *is_full,
             struct err *err);

/* Notes at the link how a call of a step ended that began at `since_ms` (clock_mono_ms): whether the vCenter can be reached; a refusal is the step's own. Returns rc. */
int vc_note(struct link *link, int64_t since_ms, int rc, const struct err *err);
