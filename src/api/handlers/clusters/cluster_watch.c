/* The waiting room of list requests. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two queues: those who have to look, and those who have looked. A change puts the second behind the first, and who comes back with an old
 * mark goes to the end of the first: so everybody has a turn, however fast changes come. */
#include "cluster_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "hashmap.h"
#include "http_request.h"
#include "metric.h"

#define THREADS 2U
#define TICK_MS 250 /* who has waited long enough, and who has gone, is found out so often */
#define WORK_MS 20  /* work without a rest */

struct cluster_watch {
    _Atomic uint64_t mark;
    pthread_t threads[THREADS];
    unsigned threads_count;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t wake;
    bool is_stopping;
    int64_t tick_ms;               /* monotonic: the next tick */
    struct watch_link to_look;     /* have to look */
    struct watch_link have_looked; /* wait for a change */
    struct watch_link in;          /* have a place */
    unsigned in_count;
};

static void set_metric(const struct cluster_watch *room) {
    metric_set(metric_get(METRIC_LIST_WATCHES), (int64_t)room->in_count);
}

/* -- rings -------------------------------------------------------------------------------------------------------------------- */

static void ring_init(struct watch_link *ring) {
    ring->prev = ring->next = ring;
}

static bool ring_is_empty(const struct watch_link *ring) {
    return ring->next == ring;
}

static void ring_remove(struct watch_link *link) {
    link->prev->next = link->next;
    link->next->prev = link->prev;
}

static void ring_append(struct watch_link *ring, struct watch_link *link) {
    link->prev = ring->prev;
    link->next = ring;
    link->prev->next = link->next->prev = link;
}

/* All of `from` behind all of `to`. */
static void ring_move_all(struct watch_link *to, struct watch_link *from) {
    if (ring_is_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    ring_init(from);
}

static struct cluster_waiter *waiter_of(struct watch_link *queued) {
    return (struct cluster_waiter *)(void *)((char *)queued - offsetof(struct cluster_waiter, queued));
}

static struct cluster_waiter *member_of(struct watch_link *in) {
    return (struct cluster_waiter *)(void *)((char *)in - offsetof(struct cluster_waiter, in));
}

/* -- the threads; lock held ---------------------------------------------------------------------------------------------------- */

static void cluster_watch_make_look(struct cluster_watch *room, struct cluster_waiter *w) {
    ring_remove(&w->queued);
    ring_append(&room->to_look, &w->queued);
}

static bool cluster_watch_is_due(const struct cluster_waiter *w, int64_t now_ms) {
    return now_ms >= w->until_ms || now_ms >= w->look_ms || http_request_is_abandoned(w->req);
}

static void cluster_watch_tick(struct cluster_watch *room, int64_t now_ms) {
    struct watch_link *next;
    room->tick_ms = now_ms + TICK_MS;
    for (struct watch_link *link = room->have_looked.next; link != &room->have_looked; link = next) {
        next = link->next;
        if (cluster_watch_is_due(waiter_of(link), now_ms))
            cluster_watch_make_look(room, waiter_of(link));
    }
}

/* Without anybody waiting there is nothing to find out. */
static void cluster_watch_wait_for_work(struct cluster_watch *room) {
    struct timespec until = {.tv_sec = room->tick_ms / 1000, .tv_nsec = room->tick_ms % 1000 * 1000000};
    if (ring_is_empty(&room->have_looked))
        (void)pthread_cond_wait(&room->wake, &room->lock);
    else
        (void)pthread_cond_timedwait(&room->wake, &room->lock, &until);
}

static struct cluster_waiter *cluster_watch_take_first(struct watch_link *ring) {
    struct cluster_waiter *w = waiter_of(ring->next);
    ring_remove(&w->queued);
    w->is_waiting = w->is_called = false;
    return w;
}

static void cluster_watch_run_first(struct cluster_watch *room) {
    struct cluster_waiter *w = cluster_watch_take_first(&room->to_look);
    (void)pthread_mutex_unlock(&room->lock);
    w->run(w->run_arg, false);
    (void)pthread_mutex_lock(&room->lock);
}

/* As long as the work has taken: the server's own threads shall have the processors. */
static void cluster_watch_rest(struct cluster_watch *room) {
    const struct timespec pause = {.tv_nsec = WORK_MS * 1000000L};
    (void)pthread_mutex_unlock(&room->lock);
    (void)nanosleep(&pause, NULL);
    (void)pthread_mutex_lock(&room->lock);
}

static void *cluster_watch_serve(void *arg) {
    struct cluster_watch *room = arg;
    int64_t began_ms = 0;
    (void)pthread_mutex_lock(&room->lock);
    while (!room->is_stopping) {
        const int64_t now_ms = clock_mono_ms();
        if (now_ms >= room->tick_ms)
            cluster_watch_tick(room, now_ms);
        if (ring_is_empty(&room->to_look)) {
            cluster_watch_wait_for_work(room);
            began_ms = 0;
        } else if (began_ms && now_ms - began_ms >= WORK_MS) {
            cluster_watch_rest(room);
            began_ms = 0;
        } else {
            began_ms = began_ms ? began_ms : now_ms;
            cluster_watch_run_first(room);
        }
    }
    (void)pthread_mutex_unlock(&room->lock);
    return NULL;
}

/* -- life ------------------------------------------------------------------------------------------------------------------------ */

int cluster_watch_new(struct cluster_watch **out, struct err *err) {
    struct cluster_watch *room = calloc(1, sizeof(*room));
    pthread_condattr_t attr;
    if (!room)
        return err_set(err, ERR_NOMEM, "out of memory");
    atomic_init(&room->mark, 1);
    ring_init(&room->to_look);
    ring_init(&room->have_looked);
    ring_init(&room->in);
    (void)pthread_mutex_init(&room->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&room->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    while (room->threads_count < THREADS && !pthread_create(&room->threads[room->threads_count], NULL, cluster_watch_serve, room))
        room->threads_count++;
    if (!room->threads_count) {
        cluster_watch_free(room);
        return err_set(err, ERR_NOMEM, "cannot start a thread");
    }
    *out = room;
    return 0;
}

static void end_threads(struct cluster_watch *room) {
    (void)pthread_mutex_lock(&room->lock);
    room->is_stopping = true;
    (void)pthread_cond_broadcast(&room->wake);
    (void)pthread_mutex_unlock(&room->lock);
    while (room->threads_count)
        (void)pthread_join(room->threads[--room->threads_count], NULL);
}

void cluster_watch_stop(struct cluster_watch *room) {
    if (!room)
        return;
    end_threads(room);
    (void)pthread_mutex_lock(&room->lock);
    ring_move_all(&room->to_look, &room->have_looked);
    while (!ring_is_empty(&room->to_look)) {
        struct cluster_waiter *w = cluster_watch_take_first(&room->to_look);
        (void)pthread_mutex_unlock(&room->lock);
        w->run(w->run_arg, true);
        (void)pthread_mutex_lock(&room->lock);
    }
    (void)pthread_mutex_unlock(&room->lock);
}

void cluster_watch_free(struct cluster_watch *room) {
    if (!room)
        return;
    cluster_watch_stop(room);
    (void)pthread_cond_destroy(&room->wake);
    (void)pthread_mutex_destroy(&room->lock);
    free(room);
}

uint64_t cluster_watch_mark(struct cluster_watch *room) {
    return atomic_load(&room->mark);
}

/* Collisions cost a place or a look at worst. */
uint64_t cluster_watch_key(const char *id) {
    return hash64_text(hash_seed(), id);
}

/* -- places ---------------------------------------------------------------------------------------------------------------------- */

struct held {
    unsigned by_session, by_principal;
};

static struct held count_places(const struct cluster_watch *room, const struct watch_owner *owner) {
    struct held held = {0};
    for (struct watch_link *link = room->in.next; link != &room->in; link = link->next) {
        held.by_session += member_of(link)->owner.session == owner->session;
        held.by_principal += member_of(link)->owner.principal == owner->principal;
    }
    return held;
}

static int cluster_watch_refuse(int code, const char *text, struct err *err) {
    int rc = err_set(err, code, "%s", text);
    if (err)
        err->retry_after_s = KAAS_WATCH_RETRY_S;
    return rc;
}

static int check_places(const struct cluster_watch *room, const struct watch_owner *owner, struct err *err) {
    const struct held held = count_places(room, owner);
    if (held.by_session >= KAAS_WATCHES_PER_SESSION_MAX)
        return cluster_watch_refuse(ERR_TOO_MANY, "as many requests of this session wait for lists as one session may have", err);
    if (held.by_principal >= KAAS_WATCHES_PER_PRINCIPAL_MAX)
        return cluster_watch_refuse(
            ERR_TOO_MANY, "as many requests of all your sessions wait for lists as one person or program may have", err);
    if (room->in_count >= KAAS_WATCHES_MAX)
        return cluster_watch_refuse(ERR_BUSY, "as many requests wait for lists as this replica allows", err);
    return 0;
}

int cluster_watch_enter(struct cluster_watch *room, struct cluster_waiter *w, const struct watch_owner *owner, struct err *err) {
    if (w->room)
        return 0;
    (void)pthread_mutex_lock(&room->lock);
    int rc = check_places(room, owner, err);
    if (!rc) {
        w->room = room;
        w->owner = *owner;
        ring_append(&room->in, &w->in);
        room->in_count++;
        set_metric(room);
    }
    (void)pthread_mutex_unlock(&room->lock);
    return rc;
}

void cluster_watch_leave(struct cluster_waiter *w) {
    struct cluster_watch *room = w->room;
    if (!room)
        return;
    (void)pthread_mutex_lock(&room->lock);
    ring_remove(&w->in);
    room->in_count--;
    set_metric(room);
    (void)pthread_mutex_unlock(&room->lock);
    w->room = NULL;
}

/* -- waiting and waking ------------------------------------------------------------------------------------------------------------ */

static void cluster_watch_queue(struct cluster_watch *room, struct cluster_waiter *w) {
    const bool has_looked = w->seen == atomic_load(&room->mark) && !w->is_called;
    const bool is_first = ring_is_empty(&room->have_looked); /* then the threads may be asleep for good */
    w->is_waiting = true;
    w->look_ms = clock_mono_ms() + KAAS_WATCH_LOOK_MS;
    ring_append(has_looked ? &room->have_looked : &room->to_look, &w->queued);
    if (is_first || !has_looked)
        (void)pthread_cond_signal(&room->wake);
}

int cluster_watch_wait(struct cluster_waiter *w, worker_fn *run, void *run_arg, struct err *err) {
    struct cluster_watch *room = w->room;
    int rc = 0;
    (void)pthread_mutex_lock(&room->lock);
    if (room->is_stopping)
        rc = err_set(err, ERR_CANCELED, "the service is stopping");
    w->run = run;
    w->run_arg = run_arg;
    if (!rc)
        cluster_watch_queue(room, w);
    (void)pthread_mutex_unlock(&room->lock); /* `w` may be gone by now */
    return rc;
}

void cluster_watch_wake(struct cluster_watch *room) {
    (void)pthread_mutex_lock(&room->lock);
    atomic_fetch_add(&room->mark, 1);
    ring_move_all(&room->to_look, &room->have_looked);
    if (!ring_is_empty(&room->to_look))
        (void)pthread_cond_broadcast(&room->wake);
    (void)pthread_mutex_unlock(&room->lock);
}

void cluster_watch_wake_session(struct cluster_watch *room, uint64_t session) {
    (void)pthread_mutex_lock(&room->lock);
    for (struct watch_link *link = room->in.next; link != &room->in; link = link->next) {
        struct cluster_waiter *w = member_of(link);
        const bool is_it = w->owner.session == session;
        w->is_called |= is_it;
        if (is_it && w->is_waiting)
            cluster_watch_make_look(room, w);
    }
    (void)pthread_cond_broadcast(&room->wake);
    (void)pthread_mutex_unlock(&room->lock);
}
