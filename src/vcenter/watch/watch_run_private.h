/* Insides of a watch. Layer 4 (vcenter); private to watch_run.c, watch_read.c and watch_save.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "observation_store.h"
#include "uuid.h"
#include "watch_mirror.h"
#include "watch_plan.h"
#include "watch_run.h"

#define WATCH_CLUSTERS_AT_ONCE 64 /* when more have changed, all are read */

/* Clusters that have changed. */
struct watch_noted {
    char ids[WATCH_CLUSTERS_AT_ONCE][UUID_TEXT_BYTES];
    size_t count;
};

struct watch {
    struct link *link;
    struct vim_follows *follows;
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
