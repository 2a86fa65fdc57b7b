/* A watch whose news the test writes, and a database of nodes in memory. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "cluster.h"
#include "vim_watch.h"

#define WATCH_NODES_MAX 16

/* Tells something; runs in the thread of the watch. */
typedef int watch_script(const struct vim_watch_events *events, struct err *err);

struct watch_world {
    /* vCenter */
    unsigned made;  /* watches made so far */
    unsigned asked; /* vim_watch_next was entered so often */
    unsigned ended; /* watches freed */
    /* database */
    struct node_target targets[WATCH_NODES_MAX];
    size_t target_count;
    struct node_observation saved[WATCH_NODES_MAX]; /* as of the last save */
    size_t saved_count;
    unsigned saves, lists, part_lists;
    unsigned told;  /* rows in all saves together */
    int fail_saves; /* != 0: every save gives it */
};

/* Begins anew; no watch may be running. */
void watch_world_reset(void);
/* Lets the watch that waits, or the next one that will, tell this and waits until it has. */
void watch_world_tell(watch_script *script);
/* A copy; texts are owned by the world and valid until the next save. */
struct watch_world watch_world_get(void);
/* True if one node is saved, on this host. What watch_world_get copies may be replaced meanwhile, so its texts are not to be read. */
bool watch_world_is_on(const char *host_moref);
void watch_world_set_targets(const struct node_target *targets, size_t count); /* texts borrowed */
void watch_world_fail_saves(int code);
