/* The insides of the directory. Layer 3 (directory); private to directory.c and check.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>

#include "change_store.h"
#include "directory.h"
#include "load.h"

struct directory {
    struct store *store;
    directory_change_fn *on_change;
    directory_gap_fn *on_gap;
    directory_difference_fn *on_difference;
    void *on_change_arg;
    void (*on_published)(void *arg);
    void *on_published_arg;

    int64_t report_stale_after_ms;

    pthread_mutex_t writer; /* one load or poll at a time; guards the six below */
    struct change_positions positions;
    int64_t looked_ms;    /* monotonic: the last look for clusters that are due */
    int64_t next_due_ms;  /* wall clock: before it no report grows too old; 0: not known */
    uint64_t seen_mark;   /* dir_watch_mark at the last look */
    bool is_evidence_due; /* it has changed since then, and not all clusters were looked at */
    bool is_more_due;     /* the last look met its limit */

    pthread_mutex_t syncing; /* one exchange of report times at a time; guards the next */
    int64_t synced_ms;       /* wall clock: the last one; 0: none */

    pthread_mutex_t lock; /* guards the rest; held for a small copy only */
    struct dir_watch watch;
    struct dir_snapshot *current;
    int64_t as_of_wall_ms;
    int64_t as_of_mono_ms;
    struct err trouble; /* of the last poll or load */
};

/* What a load works with: now, the vCenters being watched (a copy), the snapshot before. Given back by dir_end_loading. ERR_NOMEM. */
int dir_begin_loading(struct directory *directory, struct dir_watch *watch, struct dir_loading *out, struct err *err);
void dir_end_loading(struct dir_watch *watch, struct dir_snapshot *old);

/* All these need `writer`. */
int dir_poll_locked(struct directory *directory, struct err *err); /* applies what is new in the feed */
/* Takes the snapshot over; NULL: nothing changed, only the time did. */
void dir_publish(struct directory *directory, struct dir_snapshot *snapshot, int64_t asked_wall_ms, int64_t asked_mono_ms);
int dir_copy_positions(const struct change_positions *from, struct change_positions *out, struct err *err);
/* Tells those who follow the feed by this directory; the first failure. */
int dir_tell_others(const struct directory *directory, const struct change_list *changes);
