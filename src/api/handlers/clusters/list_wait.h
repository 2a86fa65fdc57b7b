/* A call that waits for a change: of a list, of a job. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"
#include "cluster_watch.h"

/* The waiter of a call that follows something, from its first look on: the call's feature. It has noted that the call looks now. NULL without memory. */
struct cluster_waiter *list_waiter(struct api_call *call, unsigned wait_s);
/* Has the request wait until something may have changed, or the time is over; it is then made again, with rights and snapshot of that time. Returns what the
 * handler is to return; ERR_TOO_MANY, ERR_BUSY. */
int list_wait_on(struct api_call *call, struct cluster_waiter *waiter, struct err *err);
