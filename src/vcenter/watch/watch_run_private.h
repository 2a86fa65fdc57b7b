/* Insides of a watch. Layer 4 (vcenter); private to watch_run.c, watch_read.c and watch_save.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "observation_store.h"
#include "uuid.h"
#include "watch_mirror.h"
#include "watch_run.h"

/* -- when the mirror is written to the database, and by which replica ------------------------------------------------- */

/* Pure: the caller passes all times. The first change is saved at once; a flood of changes is saved a few times per second. Of the replicas that watch a
 * vCenter one saves: the holder of its lease. A replica that gets the lease saves the whole picture first, and again from time to time. While the database is
 * away saves are tried with back-off; nothing is lost, since the picture stays in memory. */

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

/* -- the watch --------------------------------------------------------------------------------------------------------- */

#define WATCH_CLUSTERS_AT_ONCE 64 /* when more have changed, all are read */

/* Clusters that have changed. */
struct watch_noted {
    char ids[WATCH_CLUSTERS_AT_ONCE][UUID_TEXT_BYTES];
    size_t count;
};

struct watch {
    struct link *link;
    pthread_t reader, saver;
    pthread_mutex_t saving; /* see watch_lock_saving; taken before `lock` */

    pthread_mutex_t lock; /* guards all below but the saver's own members; never held during a call to the vCenter */
    pthread_cond_t changed;
    bool has_threads, is_stopping;
    struct vim_watch *current; /* the reader's pending watch */
    unsigned failures;         /* of the reader, in a row */
    struct watch_mirror mirror;
    bool is_whole;     /* the mirror was whole once since it was cleared */
    bool is_in_update; /* an update is coming in: parts of the mirror may not fit each other */
    struct watch_plan plan;
    struct watch_noted noted; /* for WATCH_SAVE_PART */
    struct watch_report report;

    /* the saver's own */
    struct node_target_list targets;
    struct node_matcher *matcher;
    struct watch_nodes saved; /* as last saved */
    bool has_saved;
    bool has_no_vm; /* no machine was known at the last look for nodes */
    struct refused_rows refused_clusters, refused_nodes;
};

/* Threads. `arg` is the watch. */
void *watch_read_thread(void *arg);
void *watch_save_thread(void *arg);

/* Waits for a change, at most `ms` milliseconds. Needs the lock. */
void watch_wait(struct watch *watch, int64_t ms);

/* True if the mirror is whole and no update is coming in. Needs the lock. */
static inline bool watch_is_usable(const struct watch *watch) {
    return watch->is_whole && !watch->is_in_update;
}
