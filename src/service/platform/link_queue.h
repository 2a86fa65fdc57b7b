/* What a link has been asked to do and has not done yet. Layer 4 (service/platform); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "link_work.h"

struct link_slot {
    struct link_work_state state;
    int64_t not_before_ms; /* monotonic clock: after a failure */
    int64_t next_ms;       /* monotonic clock: by period; 0: not planned */
};

/* Belongs to one link. Every function takes the lock itself. */
struct link_queue {
    const struct link_work_kind *kinds; /* LINK_WORK_COUNT */
    pthread_mutex_t lock;
    struct link_slot slots[LINK_WORK_COUNT];
};

/* Begins with nothing asked for. `kinds` are LINK_WORK_COUNT and outlive the queue; link_queue_done gives it back. */
void link_queue_init(struct link_queue *queue, const struct link_work_kind *kinds);
/* Gives back what link_queue_init made. */
void link_queue_done(struct link_queue *queue);

/* Asks for the work of these bits; what failed just now is due at once again. Kinds that are not plugged in are left out. */
void link_queue_add(struct link_queue *queue, unsigned bits);
/* Asks for what is done at each connect. */
void link_queue_add_at_connect(struct link_queue *queue);

/* True if something may run at this time (monotonic clock). */
bool link_queue_is_due(struct link_queue *queue, int64_t now_ms);
/* Takes the next work that may run; NULL: none. */
const struct link_work_kind *link_queue_take(struct link_queue *queue, int64_t now_ms);
/* Notes how a run went; what failed is asked for again, later. */
void link_queue_note(struct link_queue *queue, const struct link_work_kind *kind, int rc, const struct err *err);

/* Copies the states of the kinds there are; returns their number. */
size_t link_queue_get(struct link_queue *queue, struct link_work_state out[LINK_WORK_COUNT]);
