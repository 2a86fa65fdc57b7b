/* How many events a vCenter is told at once. Layer 4 (vcenter); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#include "event_plan.h"

struct event_plan event_plan_make(struct event_budget *budget, size_t waiting, int64_t now_ms) {
    if (!budget->has_begun || now_ms - budget->since_ms >= EVENT_WINDOW_MS)
        *budget = (struct event_budget){.since_ms = now_ms, .has_begun = waiting > 0};
    size_t left = EVENTS_A_MINUTE - budget->used;
    if (waiting <= left)
        return (struct event_plan){.singles = waiting};
    if (budget->used)
        return (struct event_plan){.singles = left};
    return (struct event_plan){.singles = EVENTS_A_MINUTE / 2, .folds = true};
}
