/* The waiting room of list requests: who waits there holds no thread, and looks again when something may have changed. Layer 6 (api);
 * private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nobody here knows what has changed for whom: all who wait are woken, look again with the rights they have then, and those for whom all is as
 * it was wait on. So that a change does not stall the server with thousands waiting, they look in two threads of their own, which rest as long
 * as they have worked. The room has a *mark* that rises with each change: what was looked at before a change is looked at again. */
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

/* Whose request it is: keys of session and principal. */
struct watch_owner {
    uint64_t session, principal;
};

/* One request. Zeroed at its start; lives as long as the request. The members behind `req` are the room's. */
struct cluster_waiter {
    uint64_t seen;                  /* cluster_watch_mark before it looked */
    uint64_t looked;                /* `seen` of the look after which it waits */
    int64_t until_ms;               /* monotonic: run at the latest then */
    const struct http_request *req; /* when that is abandoned, nobody waits any more */
    struct watch_link queued;       /* among those who wait now */
    struct watch_link in;           /* among all who have a place */
    struct cluster_watch *room;     /* NULL: no place */
    struct watch_owner owner;
    bool is_waiting;
    bool is_called;  /* something has changed for this session since it began to look */
    int64_t look_ms; /* monotonic: looks again then, whatever happens */
    worker_fn *run;
    void *run_arg;
};

/* Starts the threads. ERR_NOMEM. Freed by cluster_watch_free. */
int cluster_watch_new(struct cluster_watch **out, struct err *err);
/* Ends all waits, run(arg, true); refuses further ones. May be called twice. NULL is allowed. */
void cluster_watch_stop(struct cluster_watch *room);
void cluster_watch_free(struct cluster_watch *room); /* NULL is allowed; nobody may be in */

/* To be read before looking at anything that a change may concern. */
uint64_t cluster_watch_mark(struct cluster_watch *room);

/* The key of an id. */
uint64_t cluster_watch_key(const char *id);

/* Takes a place, kept until cluster_watch_leave. Nothing if it has one. ERR_TOO_MANY (all places of this session or principal are taken), ERR_BUSY (all
 * places are). Cheap. */
int cluster_watch_enter(struct cluster_watch *room, struct cluster_waiter *waiter, const struct watch_owner *owner,
                        struct err *err);
/* Gives the place back, if there is one. Not while it waits. */
void cluster_watch_leave(struct cluster_waiter *waiter);

/* Waits: run(run_arg, false) is called once, by a thread of the room or the one that stops it, when something may have changed since
 * waiter->seen, when until_ms has come, when nobody waits any more, and every KAAS_WATCH_LOOK_MS. ERR_CANCELED after the stop: then run is
 * not called. A place must have been taken. */
int cluster_watch_wait(struct cluster_waiter *waiter, worker_fn *run, void *run_arg, struct err *err);

/* Something may have changed for everybody, or for this session only. Cheap enough for every change; callable from any thread. */
void cluster_watch_wake(struct cluster_watch *room);
void cluster_watch_wake_session(struct cluster_watch *room, uint64_t session);
