/* How many events a vCenter is told at once. Layer 4 (vcenter); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENTS_A_MINUTE 10U /* for each vCenter: as many as people can read, and fewer than a vCenter makes itself */
#define EVENT_WINDOW_MS 60000

/* How many events were posted in the current minute. All-zero at first. */
struct event_budget {
    int64_t since_ms; /* monotonic clock: when the minute began */
    unsigned used;
    bool has_begun;
};

/* What to do with the events that wait. */
struct event_plan {
    size_t singles; /* the number of oldest events to post one by one now */
    bool folds;     /* all other events are replaced by one summary for each vSphere cluster */
};

/* Plans what to do with `waiting` events; starts a new minute in `budget` when the last is over. If more wait than the minute has room for, those for which
 * there is no room wait for the next minute; but in a minute that has posted none yet, the oldest EVENTS_A_MINUTE / 2 are posted, so that people see what
 * began, and the others are folded. */
struct event_plan event_plan_make(struct event_budget *budget, size_t waiting, int64_t now_ms);
