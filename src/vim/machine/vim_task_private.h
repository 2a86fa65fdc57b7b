/* Tasks as vCenter writes them. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "vim_context.h"
#include "vim_task.h"

#define VIM_TASK "Task"
/* Properties of a task that are read, ended by NULL. */
extern const char *const vim_task_paths[];

/* Takes a changed property over; others are passed over. `val` as in PropertyChange, NULL: unset. */
void vim_task_take(struct vim_task *task, const char *path, int type, const void *val);

/* What became of a call that makes a task, VIM_CALL's `rc` with the reference it gave: 0 with *out begun, or, where vCenter refuses by a fault what it could as well have
 * the task fail by, failed. Any other failure is an error. */
int vim_task_begin(struct vim_context *ctx, int rc, const struct vim25__ManagedObjectReference *ref, struct vim_task *out,
                   struct err *err);
