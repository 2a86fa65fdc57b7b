/* A system out there that this replica keeps in touch with: state, tries, work. Layer 3 (remote).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whatever is kept in touch with (a vCenter, an HX cluster) has a struct remote as its first member. One job at a time runs for it in a worker pool: it makes
 * contact when that is due, and then does the work that was asked for (remote_work.h). A contact that failed is tried again after a back-off of 1 s to 60 s.
 * All remotes of a kind are a set (remotes.h), which calls remote_tick. Members are the remote's own but where it is said otherwise. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "remote_status.h"
#include "remote_work.h"

struct remote;
struct worker_pool;

/* What all remotes of a kind do in the same way. Functions that may be NULL say so. */
struct remote_kind {
    const char *name; /* "vcenter"; static */
    /* First contact, new try or sign of life, as the state says: asks the system, and sets the state. In the worker pool; blocks. Called again by itself: after
     * an error when the back-off is over, after 0 when period_ms is. */
    int (*contact)(struct remote *remote, struct err *err);
    /* Called by remote_tick before anything else. Does not block. NULL: nothing is to be done. */
    void (*on_tick)(struct remote *remote);
    /* The service stops: cancels calls that may take long. Does not block. NULL: there are none. */
    void (*begin_end)(struct remote *remote);
    /* Ends calls under way and signs out. Blocks for some seconds at most. May be called twice. NULL: nothing is to be done. */
    void (*end)(struct remote *remote);
    /* Frees the whole, with remote_done. */
    void (*free)(struct remote *remote);
};

struct remote {
    const struct remote_kind *kind;
    char *id;                    /* UUID of the object */
    struct worker_pool *workers; /* set by the owner, whose it is */
    int64_t period_ms; /* set by the owner: from a good contact to the next; 0: it is made only when remote_try_at says */
    struct remote_queue queue;
    atomic_uint refs;
    atomic_bool is_busy; /* its job is queued or running */

    pthread_mutex_t lock; /* guards everything below, and what the owner says */
    struct remote_status status;
    unsigned failures;      /* of contacts, in a row */
    int64_t next_try_ms;    /* monotonic clock; REMOTE_NEVER: not by itself */
    int64_t noted_since_ms; /* monotonic clock: when the newest call that was noted began */
    bool is_wanted;         /* contact is made by itself; set by the owner */
    bool is_retired;
};

#define REMOTE_NEVER INT64_MAX

/* Makes an all-zero remote with one reference; `kind` and `work`, its kinds of work (REMOTE_WORK_MAX, in the order of their bits), outlive it. remote_done gives
 * it back in any case. ERR_NOMEM. */
int remote_init(struct remote *remote, const struct remote_kind *kind, const struct remote_work *work, const char *id,
                struct err *err);
void remote_done(struct remote *remote);

/* One more reference; returns the remote. */
struct remote *remote_ref(struct remote *remote);
void remote_unref(struct remote *remote); /* NULL is allowed; never frees: the set frees it after it has retired it */
CLEANUP_DEFINE(struct remote, remote_unref);

/* The state now. Does not block. */
enum remote_state remote_get_state(struct remote *remote);
/* True once another one takes its place, its object is gone, or the service stops. */
bool remote_is_retired(struct remote *remote);

/* Asks for work (bits): it runs as soon as the remote is in touch and the work before it is done. Does not block; from any thread, also from a function of that
 * work itself. */
void remote_request(struct remote *remote, unsigned bits);
/* As remote_request, for what the database says is due: work that has failed goes on waiting for its next try. */
void remote_request_due(struct remote *remote, unsigned bits);
/* Has what is due done soon. Does not block. */
void remote_kick(struct remote *remote);
/* Call it about once a second: has what is due done. Does not block. */
void remote_tick(struct remote *remote, int64_t now_ms);

/* After the outcome of a call was noted; `was_ok`: the state was REMOTE_OK before. Asks for what is done at each connect if it is now and was not. Does not block. */
void remote_follow(struct remote *remote, bool was_ok);

/* The functions below need the lock. */

/* When the next contact is made by itself. */
void remote_try_at(struct remote *remote, int64_t mono_ms);
/* As after one failure: the next contact is made after the shortest back-off. */
void remote_try_soon(struct remote *remote);
/* Notes that a call that began at `since_ms` (clock_mono_ms) has ended. False for what comes too late: a call that began after it has ended before. */
bool remote_is_news(struct remote *remote, int64_t since_ms);
