/* The change log: how replicas learn what to read again. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each replica numbers its own changes in commit order. A reader keeps one position per replica: read the positions, then
 * load everything, then poll from those positions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "change.h"
#include "err.h"
#include "store.h"

struct change_position {
    unsigned replica_id;
    uint64_t seq; /* last one applied */
};

/* All-zero is the empty list. */
struct change_positions {
    struct change_position *items;
    size_t count;
};
void change_positions_done(struct change_positions *positions); /* NULL is allowed */

struct change_list {
    struct change *items; /* by replica, then seq; several changes of one object are not merged */
    size_t count;
    bool is_gap;  /* rows after a position were pruned: load everything again from fresh positions */
    bool is_more; /* the answer was cut at the limit: ask again at once */
};
void change_list_done(struct change_list *list); /* NULL is allowed */

/* Reads where every replica stands now. *out (uninitialised) is given back by change_positions_done. */
int change_store_load_positions(struct store *store, struct change_positions *out, struct err *err);

/* Reads up to 10,000 changes after `positions` and moves the positions behind them (a new replica starts at 0). With nothing
 * new this is one small query. *out (uninitialised) is given back by change_list_done. On error nothing moves. */
int change_store_load(struct store *store, struct change_positions *positions, struct change_list *out, struct err *err);

/* Deletes up to `limit` rows older than this wall-clock time; *deleted is their number. Keep an hour at least: slower readers
 * see a gap. */
int change_store_prune(struct store *store, int64_t older_than_ms, unsigned limit, unsigned long *deleted, struct err *err);
