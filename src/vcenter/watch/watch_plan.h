/* When the picture of a watch is written to the database, and by which replica. Layer 4 (vcenter); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The caller passes all times. The first change is saved at once; a flood of changes is saved a few times per second. Of the replicas that watch a
 * vCenter one saves: the holder of its lease. A replica that gets the lease saves the whole picture first, and again from time to time. While the database is
 * away saves are tried with back-off; nothing is lost, since the picture stays in memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WATCH_SAVE_GAP_MS 200         /* from one save to the next */
#define WATCH_LEASE_MS 12000          /* how long a replica that died keeps the others waiting */
#define WATCH_LEASE_RENEW_MS 4000     /* also how often the other replicas ask for the lease */
#define WATCH_FULL_MS (5 * 60 * 1000) /* the whole picture again, as a check */

enum watch_step { WATCH_WAIT, WATCH_TAKE_LEASE, WATCH_SAVE };

/* What a save has to do. */
enum watch_part {
    WATCH_SAVE_CLUSTERS = 1U << 0,
    WATCH_SAVE_NODES = 1U << 1,
    WATCH_SAVE_TARGETS = 1U << 2, /* read the list of nodes again first */
    WATCH_SAVE_PART = 1U << 3,    /* save the nodes of the clusters in `noted` only; less than WATCH_SAVE_NODES */
};
#define WATCH_SAVE_ALL (WATCH_SAVE_CLUSTERS | WATCH_SAVE_NODES | WATCH_SAVE_TARGETS)

struct watch_plan {
    unsigned parts; /* to be saved */
    int64_t not_before_ms;
    int64_t full_at_ms;
    int64_t lease_until_ms; /* this replica holds the lease until then; 0: it does not */
    int64_t ask_lease_at_ms;
    unsigned failures; /* in a row */
};

/* Notes that these parts have changed. */
void watch_plan_add(struct watch_plan *plan, unsigned parts);

/* The next step. With WATCH_WAIT *wait_ms tells for how long at most. `is_whole`: there is a picture that can be saved. */
enum watch_step watch_plan_next(const struct watch_plan *plan, int64_t now_ms, bool is_whole, int64_t *wait_ms);

/* Notes the outcome of WATCH_TAKE_LEASE: `rc` of lease_store_acquire, called at `now_ms`. */
void watch_plan_note_lease(struct watch_plan *plan, int64_t now_ms, int rc, bool is_mine);

/* Returns the parts that a save at `now_ms` has to write (enum watch_part), and clears them in the plan. */
unsigned watch_plan_take(struct watch_plan *plan, int64_t now_ms);
/* Notes the outcome `rc` of a save of `parts`: after a failure they are to be saved again, later. `random` is any 32-bit random number. */
void watch_plan_note_saved(struct watch_plan *plan, int64_t now_ms, unsigned parts, int rc, uint32_t random);
