/* Work that links do when asked or from time to time: kinds, and how it went. Layer 3 (remote).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A kind of work is a bit: asked for twice before it runs, it is done once. Functions are plugged in per kind (platform_set_work), asked for with
 * link_request, and run one after the other in the link's worker pool, only while the link is connected; requests before that wait. A run that fails is
 * tried again with back-off (1 s to 60 s) until it succeeds. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct link;

enum link_work {
    LINK_WORK_IDENTITY = 1U << 0,  /* what vCenter says about itself is read and compared again */
    LINK_WORK_RECONCILE = 1U << 1, /* our extension record is brought to what it should be */
    LINK_WORK_RENEW = 1U << 2,     /* the login certificate: its age, a rotation that was left half done */
    LINK_WORK_SWEEP = 1U << 3,     /* sessions of ours that nobody holds any more are ended */
    LINK_WORK_EVENTS = 1U << 4,    /* events that wait are posted */
    LINK_WORK_LOGIN = 1U << 5,     /* the link's session is exchanged if the account in force is another one */
    LINK_WORK_VERDICTS = 1U << 6,  /* privileges and clocks are judged */
};
#define LINK_WORK_COUNT 7

/* Runs in the link's worker pool and may block. 0: done. ERR_CANCELED: nothing to do any more (the vCenter was unregistered): not tried again.
 * Other errors: tried again; `err` is shown in the vCenter's status and in health. It must call link_begin_admin itself where it must
 * not meet a registration, and return ERR_BUSY when that says no. */
typedef int remote_work_fn(struct link *link, struct err *err);

struct remote_work {
    unsigned bit;       /* of enum link_work */
    const char *name;   /* for metrics, logs, health: "reconcile"; static */
    remote_work_fn *run;  /* NULL: no such work; requests for it are dropped */
    bool at_connect;    /* asked for by itself each time the link becomes connected */
    int64_t period_ms;  /* asked for by itself so long after the last good run, less up to a tenth at random; 0: never */
    bool is_for_health; /* a failure is shown as a warning in health */
};

/* The state of one kind of work at one link. */
struct remote_work_state {
    const char *name;         /* static; NULL: no such kind */
    bool is_wanted;           /* asked for and not done yet */
    int64_t done_at_ms;       /* wall clock of the last good run; 0: never */
    int64_t failing_since_ms; /* wall clock; 0: it does not fail */
    unsigned failures;        /* in a row */
    struct err err;           /* of the last run, if it failed */
};

/* -- what a link has been asked to do and has not done yet --------------------------------------------------------- */

struct remote_slot {
    struct remote_work_state state;
    int64_t not_before_ms; /* monotonic clock: after a failure */
    int64_t next_ms;       /* monotonic clock: next run by period; 0: not planned */
};

/* Belongs to one link. Every function takes the lock itself. */
struct remote_queue {
    const struct remote_work *kinds; /* LINK_WORK_COUNT */
    pthread_mutex_t lock;
    struct remote_slot slots[LINK_WORK_COUNT];
};

/* Begins with nothing asked for. `kinds` are LINK_WORK_COUNT and outlive the queue; remote_queue_done gives it back. */
void remote_queue_init(struct remote_queue *queue, const struct remote_work *kinds);
/* Gives back what remote_queue_init made. */
void remote_queue_done(struct remote_queue *queue);

/* Asks for the work of these bits, to run at once, also where a failed run waits to be tried again. Kinds that are not plugged in are left out. */
void remote_queue_add(struct remote_queue *queue, unsigned bits);
/* Asks for what is done at each connect. */
void remote_queue_add_at_connect(struct remote_queue *queue);

/* True if something may run at this time (monotonic clock). */
bool remote_queue_is_due(struct remote_queue *queue, int64_t now_ms);
/* Takes the next work that may run; NULL: none. */
const struct remote_work *remote_queue_take(struct remote_queue *queue, int64_t now_ms);
/* Notes how a run ended; after a failure the work is asked for again, after the back-off. */
void remote_queue_note(struct remote_queue *queue, const struct remote_work *kind, int rc, const struct err *err);

/* Copies the states of the kinds there are; returns their number. */
size_t remote_queue_get(struct remote_queue *queue, struct remote_work_state out[LINK_WORK_COUNT]);
