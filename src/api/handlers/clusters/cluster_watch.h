/* The waiting room of list requests: a waiting request takes no thread, and looks again when something may have changed. Layer 6 (api); private to this
 * folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The room does not know what has changed for whom: it wakes all requests; each looks again with the rights it has then, and waits on if nothing has changed
 * for it. So that a change does not stall the server while thousands wait, they look in two threads of the room, which rest as long as they have worked. The
 * room has a *mark* that rises with each change: a request that looked before a change looks again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "worker_pool.h"
#include "limits.h"

struct cluster_watch;
struct http_request;

struct watch_link {
    struct watch_link *prev, *next;
};

/* Session and principal of a request, as cluster_watch_key. */
struct watch_owner {
    uint64_t session, principal;
};

/* One request. Zeroed at its start; lives as long as the request. The members after `req` are private to the room. */
struct cluster_waiter {
    uint64_t seen;                  /* cluster_watch_mark before it looked */
    uint64_t looked;                /* `seen` of the look before this wait */
    int64_t until_ms;               /* monotonic: `run` is called then at the latest */
    const struct http_request *req; /* if it is abandoned, `run` is called soon */
    struct watch_link queued;       /* in the list of requests that wait now */
    struct watch_link in;           /* in the list of all that have a place */
    struct cluster_watch *room;     /* NULL: no place */
    struct watch_owner owner;
    bool is_waiting;
    bool is_called;  /* something has changed for this session since its last look began */
    int64_t look_ms; /* monotonic: looks again then in any case */
    worker_fn *run;
    void *run_arg;
};

/* Starts the threads. ERR_NOMEM. Freed by cluster_watch_free. */
int cluster_watch_new(struct cluster_watch **out, struct err *err);
/* Ends all waits by run(arg, true); refuses further ones. May be called twice. NULL is allowed. */
void cluster_watch_stop(struct cluster_watch *room);
void cluster_watch_free(struct cluster_watch *room); /* NULL is allowed; no request may have a place */

/* The mark now: read it before reading any data that may change. */
uint64_t cluster_watch_mark(struct cluster_watch *room);

/* A hash of an id. */
uint64_t cluster_watch_key(const char *id);

/* Takes a place, kept until cluster_watch_leave; does nothing if the request has one. ERR_TOO_MANY (all places of this session or principal are taken),
 * ERR_BUSY (all places of the room are). Cheap. */
int cluster_watch_enter(struct cluster_watch *room, struct cluster_waiter *waiter, const struct watch_owner *owner,
                        struct err *err);
/* Gives the place back, if the request has one. Not while it waits. */
void cluster_watch_leave(struct cluster_waiter *waiter);

/* Waits: run(run_arg, false) is called once, by a thread of the room, when something may have changed since waiter->seen, when until_ms has come, when the
 * request is abandoned, and every KAAS_WATCH_LOOK_MS; cluster_watch_stop calls run(run_arg, true). ERR_CANCELED after the stop: then run is not called. The
 * request must have a place. */
int cluster_watch_wait(struct cluster_waiter *waiter, worker_fn *run, void *run_arg, struct err *err);

/* Note that something may have changed for everybody, or for this session only. Cheap enough for every change; callable from any thread. */
void cluster_watch_wake(struct cluster_watch *room);
void cluster_watch_wake_session(struct cluster_watch *room, uint64_t session);
