/* When a watch saves what it knows. Layer 4 (vcenter); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#include "watch_plan.h"

#include "backoff.h"

static const struct backoff retry = {.first_ms = 500, .max_ms = 5000, .jitter_percent = 30};

void watch_plan_add(struct watch_plan *plan, unsigned parts) {
    plan->parts |= parts;
}

static bool is_mine(const struct watch_plan *plan, int64_t now_ms) {
    return now_ms < plan->lease_until_ms;
}

static int64_t watch_plan_earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

enum watch_step watch_plan_next(const struct watch_plan *plan, int64_t now_ms, bool is_whole, int64_t *wait_ms) {
    int64_t until_ms = plan->ask_lease_at_ms;
    *wait_ms = WATCH_FULL_MS;
    if (!is_whole)
        return WATCH_WAIT; /* the lease runs out: another replica may see more */
    if (now_ms >= plan->ask_lease_at_ms)
        return WATCH_TAKE_LEASE;
    if (is_mine(plan, now_ms)) {
        int64_t due_ms = plan->parts ? plan->not_before_ms : plan->full_at_ms;
        if (now_ms >= due_ms)
            return WATCH_SAVE;
        until_ms = watch_plan_earlier(until_ms, due_ms);
    }
    *wait_ms = until_ms - now_ms;
    return WATCH_WAIT;
}

void watch_plan_note_lease(struct watch_plan *plan, int64_t now_ms, int rc, bool is_ours) {
    bool was_mine = is_mine(plan, now_ms);
    plan->ask_lease_at_ms = now_ms + WATCH_LEASE_RENEW_MS;
    if (rc) /* the database is away: what we hold we hold until it ends */
        return;
    plan->lease_until_ms = is_ours ? now_ms + WATCH_LEASE_MS - WATCH_SAVE_GAP_MS : 0;
    if (is_ours && !was_mine) {
        plan->parts |= WATCH_SAVE_ALL;
        plan->not_before_ms = now_ms;
    }
}

unsigned watch_plan_take(struct watch_plan *plan, int64_t now_ms) {
    unsigned parts = plan->parts;
    if (now_ms >= plan->full_at_ms)
        parts = WATCH_SAVE_ALL;
    if (parts & WATCH_SAVE_TARGETS)
        parts &= ~(unsigned)WATCH_SAVE_PART;
    if (parts == WATCH_SAVE_ALL)
        plan->full_at_ms = now_ms + WATCH_FULL_MS;
    plan->parts = 0;
    plan->not_before_ms = now_ms + WATCH_SAVE_GAP_MS;
    return parts;
}

void watch_plan_note_saved(struct watch_plan *plan, int64_t now_ms, unsigned parts, int rc, uint32_t random) {
    plan->failures = rc ? plan->failures + 1 : 0;
    if (!rc)
        return;
    plan->parts |= parts;
    plan->not_before_ms = now_ms + backoff_delay_ms(&retry, plan->failures, random);
}
