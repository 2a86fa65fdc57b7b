/* Insides of a watch. Layer 4 (service/platform); private to watch_run.c, watch_read.c and watch_save.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>

#include "observation_store.h"
#include "uuid.h"
#include "watch_mirror.h"
#include "watch_plan.h"
#include "watch_run.h"

#define WATCH_CLUSTERS_AT_ONCE 64 /* of more that have changed, all are read */

/* Clusters that have changed. */
struct watch_noted {
    char ids[WATCH_CLUSTERS_AT_ONCE][UUID_TEXT_BYTES];
    size_t count;
};

struct watch {
    struct link *link;
    pthread_t reader, saver;
    pthread_mutex_t saving; /* see watch_lock_saving; taken before `lock` */

    pthread_mutex_t lock; /* guards all below but what is the saver's own; never held across a call */
    pthread_cond_t changed;
    bool has_threads, is_stopping;
    struct vim_watch *current; /* what the reader waits with */
    unsigned failures;         /* of the reader, in a row */
    struct watch_mirror mirror;
    bool is_whole;     /* the mirror was whole once since it was cleared */
    bool is_in_update; /* news are coming in right now: parts of the mirror may not fit */
    struct watch_plan plan;
    struct watch_noted noted; /* for WATCH_SAVE_PART */
    struct watch_report report;

    /* the saver's own */
    struct node_target_list targets;
    struct node_matcher *matcher;
    struct watch_nodes saved; /* as last saved */
    bool has_saved;
    bool has_no_vm; /* when nodes were last looked for */
};

/* Threads. `arg` is the watch. */
void *watch_read_thread(void *arg);
void *watch_save_thread(void *arg);

/* For the saver: finds the machines of these targets in a picture that is not in the middle of an update. *out is given back by
 * watch_nodes_done. ERR_NOT_FOUND while there is none, ERR_NOMEM. */
int watch_find_nodes(struct watch *watch, struct node_matcher *matcher, const struct node_target_list *targets,
                     struct watch_nodes *out, struct err *err);
/* Saves the nodes of a few clusters, and of others what that may concern. There must be a picture that was saved. */
int watch_save_part(struct watch *watch, const struct watch_noted *noted, struct err *err);
/* Saves what differs from what was saved, and takes `nodes` over as saved; on failure it is the caller's still. */
int watch_save_news(struct watch *watch, struct watch_nodes *nodes, struct err *err);
/* True, or our session has lost its rights: no machine is there though nodes are looked for. */
int watch_check_rights(struct watch *watch, struct err *err);

/* Waits for a change, at most that long. Needs the lock. */
void watch_wait(struct watch *watch, int64_t ms);

/* Needs the lock: the picture can be used. */
static inline bool watch_is_usable(const struct watch *watch) {
    return watch->is_whole && !watch->is_in_update;
}
