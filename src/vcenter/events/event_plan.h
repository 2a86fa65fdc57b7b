/* How many events a vCenter is told at once. Layer 4 (vcenter); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENTS_A_MINUTE 10U /* in one vCenter: what people can read, and less than a vCenter makes of its own */
#define EVENT_WINDOW_MS 60000

/* What was posted in this minute. All-zero at first. */
struct event_budget {
    int64_t since_ms; /* monotonic clock: when the minute began */
    unsigned used;
    bool has_begun;
};

/* What to do with the events that wait. */
struct event_plan {
    size_t singles; /* so many of the oldest are posted now */
    bool folds;     /* of the others each vSphere cluster gets one summary instead */
};

/* A minute that is over ends here. While a minute lasts, what is beyond it waits for the next one; when one begins with more than it has room for, half of
 * it shows the oldest, so that people see what began, and half is for summaries. */
struct event_plan event_plan_make(struct event_budget *budget, size_t waiting, int64_t now_ms);
