/* What virtual machines use now: one call to vCenter at a time for the same machines, its answer kept for some seconds. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The answer depends on the vCenter and the machines alone, never on the viewer: machines that a viewer may not see are left out afterwards. An error is
 * kept as well, so that a vCenter that hangs is not asked again and again. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "singleflight.h"
#include "vim_machine.h"

struct link;
struct machine_usage;

/* Makes an empty cache. ERR_NOMEM. */
int machine_usage_new(struct machine_usage **out, struct err *err);
void machine_usage_free(struct machine_usage *usage); /* no question may be under way; NULL is allowed */

/* A question about machines of one vCenter, and who asks. Borrowed. */
struct machine_question {
    struct link *link;
    const char *const *morefs;
    size_t count;
    uint64_t party; /* net_addr.h */
    const char *request_id;
};
/* Asks what the machines use. waiter->run is called once, by any thread, also by this one before the function returns; waiter->code is 0 when an answer is
 * there. vCenter is asked in the worker pool of the link. Does not block. ERR_BUSY, ERR_NOMEM: then run is not called. */
int machine_usage_ask(struct machine_usage *usage, const struct machine_question *question, struct singleflight_waiter *waiter,
                      struct err *err);

/* The answer of a waiter whose code is 0; valid until machine_usage_leave. */
const struct vim_machine_list *machine_usage_get(const struct singleflight_waiter *waiter);

/* Gives the answer back and zeroes the waiter, which can be used again. Not between machine_usage_ask and its run. */
void machine_usage_leave(struct machine_usage *usage, struct singleflight_waiter *waiter);
