/* When is what a watch knows written to the database, and by whom? Layer 4 (service/platform); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pure: all times are given. The first change is saved at once; a flood of them is saved a few times per second. Of the replicas that
 * watch a vCenter one saves: who holds its lease. Whoever gets it saves the whole picture first, and from time to time again.
 * While the database is away it is tried with back-off; nothing is lost, since the picture stays in memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WATCH_SAVE_GAP_MS 200         /* from one save to the next */
#define WATCH_LEASE_MS 12000          /* how long a replica that died keeps the others waiting */
#define WATCH_LEASE_RENEW_MS 4000     /* also: how often the others ask for it */
#define WATCH_FULL_MS (5 * 60 * 1000) /* the whole picture again, as a check */

enum watch_step { WATCH_WAIT, WATCH_TAKE_LEASE, WATCH_SAVE };

/* What a save has to do. */
enum watch_part {
    WATCH_SAVE_CLUSTERS = 1U << 0,
    WATCH_SAVE_NODES = 1U << 1,
    WATCH_SAVE_TARGETS = 1U << 2, /* read the list of nodes again first */
    WATCH_SAVE_PART = 1U << 3,    /* the nodes of some clusters only; a part of the above */
};
#define WATCH_SAVE_ALL (WATCH_SAVE_CLUSTERS | WATCH_SAVE_NODES | WATCH_SAVE_TARGETS)

struct watch_plan {
    unsigned parts; /* to be saved */
    int64_t not_before_ms;
    int64_t full_at_ms;
    int64_t lease_until_ms; /* ours until then; 0: not ours */
    int64_t ask_lease_at_ms;
    unsigned failures; /* in a row */
};

/* Something has changed. */
void watch_plan_add(struct watch_plan *plan, unsigned parts);

/* What to do now. With WATCH_WAIT *wait_ms tells for how long at most. `is_whole`: there is a picture that can be saved. */
enum watch_step watch_plan_next(const struct watch_plan *plan, int64_t now_ms, bool is_whole, int64_t *wait_ms);

/* What came of WATCH_TAKE_LEASE: rc as lease_store_acquire, asked at `now_ms`. */
void watch_plan_note_lease(struct watch_plan *plan, int64_t now_ms, int rc, bool is_mine);

/* Takes what a save at `now_ms` has to do. */
unsigned watch_plan_take(struct watch_plan *plan, int64_t now_ms);
/* What came of it: after a failure the parts are wanted again, later. `random` is any 32-bit random number. */
void watch_plan_note_saved(struct watch_plan *plan, int64_t now_ms, unsigned parts, int rc, uint32_t random);
