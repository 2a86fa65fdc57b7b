/* Tasks of a vCenter: work that it does by itself, and how far it is. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"

struct vim_client;

#define VIM_MOREF_BYTES 81 /* of a managed object id, with its NUL */

enum vim_task_phase {
    VIM_TASK_UNKNOWN = 0, /* nothing was told yet */
    VIM_TASK_QUEUED,
    VIM_TASK_RUNNING,
    VIM_TASK_DONE,
    VIM_TASK_FAILED, /* `why` tells */
    VIM_TASK_GONE    /* vCenter has no such task: some minutes after its end, and after a restart */
};

/* Why a task failed, where that decides what is to be done next. */
enum vim_trouble {
    VIM_TROUBLE_OTHER = 0,
    VIM_TROUBLE_NAME_TAKEN, /* by `object` */
    VIM_TROUBLE_POWER,      /* the machine is on, or off, and must not be */
    VIM_TROUBLE_GONE,       /* an object that the task was to work on is not there */
    VIM_TROUBLE_CANCELED,
};

/* A task, as far as it was told. All-zero: unknown. Nothing to free. */
struct vim_task {
    char moref[VIM_MOREF_BYTES];
    enum vim_task_phase phase;
    int percent; /* of a running one */
    bool is_cancelable;
    char result[VIM_MOREF_BYTES]; /* managed object id that it gave; "": none */
    enum vim_trouble trouble;
    char object[VIM_MOREF_BYTES];
    struct err why; /* of a failed one: ERR_BUSY if it may work in a moment, since something else is at work there */
};

/* Asks for the end of a task. 0 also when it has ended, is gone, or cannot be canceled: how it ends is told as of any task. */
int vim_cancel_task(struct vim_client *client, const char *moref, struct err *err);
