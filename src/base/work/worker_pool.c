/* A worker pool: a bounded queue of work with its own few threads. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The queue is one list in the order of service. Each work item has the number of its round: for the first one of a party that is the round after the one
 * under way, for each further one the next. So parties are served in turn, and the last of the list is the newest work item of a party with
 * most of them. */
#include "worker_pool.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "clock.h"
#include "log.h"
#include "metric.h"
#include "str.h"

#define THREADS_COUNT_MAX 64
#define THREAD_NAME_BYTES 16 /* pthread_setname_np(3) */

struct work {
    worker_fn *fn;
    void *arg;
    uint64_t party, round;
    struct work *next;
};

struct worker_pool {
    char *name;
    struct worker_pool_options options;
    pthread_mutex_t lock;    /* guards everything below */
    pthread_cond_t has_work; /* a work item was queued, or is_stopping was set */
    pthread_cond_t is_over;  /* is_joined was set */
    pthread_cond_t is_done;  /* a work item has ended */
    struct work *items;      /* room for queue_count */
    struct work *first;      /* that wait, by round */
    struct work *unused;
    uint64_t round; /* of the work item that was taken last */
    pthread_t threads[THREADS_COUNT_MAX];
    unsigned started, idle;
    struct worker_pool_stats stats;
    bool is_stopping, is_joined;
};

/* The worker pool this thread works for: waiting for one's own end would never end. */
static _Thread_local const struct worker_pool *own_pool;

/* Needs the lock. Takes the waiting work item out that the link leads to. */
static struct work worker_pool_take(struct worker_pool *workers, struct work **link) {
    struct work *place = *link, work = *place;
    *link = work.next;
    place->next = workers->unused;
    workers->unused = place;
    workers->stats.waiting--;
    return work;
}

/* Needs the lock and room. */
static void worker_pool_put(struct worker_pool *workers, struct work work) {
    struct work *place = workers->unused, **link = &workers->first;
    while (*link && (*link)->round <= work.round)
        link = &(*link)->next;
    workers->unused = place->next;
    work.next = *link;
    *place = work;
    *link = place;
    workers->stats.waiting++;
}

/* Needs the lock. */
static uint64_t next_round(const struct worker_pool *workers, uint64_t party) {
    uint64_t round = workers->round + 1;
    for (const struct work *work = workers->first; work && party != WORKER_POOL_NO_PARTY; work = work->next)
        if (work->party == party)
            round = work->round + 1;
    return round;
}

/* Needs the lock, gives it back while the work item runs. */
static void worker_pool_run(struct worker_pool *workers, struct work work, bool is_canceled) {
    workers->stats.running++;
    (void)pthread_mutex_unlock(&workers->lock);
    work.fn(work.arg, is_canceled);
    log_set_request_id(NULL); /* what comes next is about another request, or about none */
    (void)pthread_mutex_lock(&workers->lock);
    workers->stats.running--;
    workers->stats.done++;
    (void)pthread_cond_broadcast(&workers->is_done);
}

/* Needs the lock and a waiting work item. */
static void worker_pool_run_first(struct worker_pool *workers) {
    struct work work = worker_pool_take(workers, &workers->first);
    workers->round = work.round;
    worker_pool_run(workers, work, workers->is_stopping);
}

static void *worker_pool_serve(void *arg) {
    struct worker_pool *workers = arg;
    own_pool = workers;
    if (workers->options.thread_begin)
        workers->options.thread_begin();
    (void)pthread_mutex_lock(&workers->lock);
    for (;;) {
        workers->idle++;
        while (!workers->stats.waiting && !workers->is_stopping)
            (void)pthread_cond_wait(&workers->has_work, &workers->lock);
        workers->idle--;
        if (!workers->stats.waiting)
            break;
        worker_pool_run_first(workers);
    }
    (void)pthread_mutex_unlock(&workers->lock);
    if (workers->options.thread_end)
        workers->options.thread_end();
    return NULL;
}

/* Signals belong to the main thread. Needs the lock. */
static bool worker_pool_start_thread(struct worker_pool *workers) {
    char name[THREAD_NAME_BYTES];
    sigset_t all, before;
    int rc;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&workers->threads[workers->started], NULL, worker_pool_serve, workers);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc)
        return false;
    (void)snprintf(name, sizeof(name), "%.15s", workers->name);
    (void)pthread_setname_np(workers->threads[workers->started++], name);
    return true;
}

int worker_pool_new(const struct worker_pool_options *options, struct worker_pool **out, struct err *err) {
    struct worker_pool *workers;
    assert(options->threads >= 1 && options->threads <= THREADS_COUNT_MAX && options->queue_count >= 1);
    workers = calloc(1, sizeof(*workers));
    if (!workers)
        return err_set(err, ERR_NOMEM, "no memory for the worker pool %s", options->name);
    (void)pthread_mutex_init(&workers->lock, NULL);
    (void)pthread_cond_init(&workers->has_work, NULL);
    (void)pthread_cond_init(&workers->is_over, NULL);
    clock_init_cond(&workers->is_done);
    workers->options = *options;
    workers->name = str_dup(options->name);
    workers->items = calloc(options->queue_count, sizeof(*workers->items));
    if (!workers->name || !workers->items) {
        worker_pool_free(workers);
        return err_set(err, ERR_NOMEM, "no memory for the worker pool %s", options->name);
    }
    for (unsigned i = 0; i < options->queue_count; i++) {
        workers->items[i].next = workers->unused;
        workers->unused = &workers->items[i];
    }
    workers->options.name = workers->name;
    *out = workers;
    return 0;
}

/* Needs the lock and a queue that is full. Its last work item gives way to one of an earlier round. */
static bool worker_pool_make_room(struct worker_pool *workers, uint64_t round, struct work *out) {
    struct work **link = &workers->first;
    while ((*link)->next)
        link = &(*link)->next;
    if ((*link)->round <= round)
        return false;
    *out = worker_pool_take(workers, link);
    return true;
}

/* Needs the lock. A queue that is full, or that no thread could serve, refuses. `displaced` has a function if that work item gave way. */
static int worker_pool_admit(struct worker_pool *workers, uint64_t round, struct work *displaced, struct err *err) {
    if (workers->is_stopping)
        return err_set(err, ERR_CANCELED, "the service is stopping");
    if (!workers->unused && !worker_pool_make_room(workers, round, displaced))
        return err_set(err, ERR_BUSY, "too much work is waiting for %s", workers->name);
    if (workers->stats.waiting >= workers->idle && workers->started < workers->options.threads &&
        !worker_pool_start_thread(workers) && !workers->started)
        return err_set(err, ERR_BUSY, "no thread could be started for %s", workers->name);
    return 0;
}

int worker_pool_submit_for(struct worker_pool *workers, uint64_t party, worker_fn *fn, void *arg, struct err *err) {
    struct work work = {.fn = fn, .arg = arg, .party = party}, displaced = {0};
    int rc;
    (void)pthread_mutex_lock(&workers->lock);
    work.round = next_round(workers, party);
    rc = worker_pool_admit(workers, work.round, &displaced, err);
    if (!rc) {
        worker_pool_put(workers, work);
        (void)pthread_cond_signal(&workers->has_work);
    }
    workers->stats.refused += rc != 0 || displaced.fn;
    if (displaced.fn) { /* what this thread was about goes on afterwards */
        _cleanup_free_ char *request_id = str_dup(log_request_id());
        worker_pool_run(workers, displaced, true);
        log_set_request_id(request_id);
    }
    (void)pthread_mutex_unlock(&workers->lock);
    return rc;
}

int worker_pool_submit(struct worker_pool *workers, worker_fn *fn, void *arg, struct err *err) {
    return worker_pool_submit_for(workers, WORKER_POOL_NO_PARTY, fn, arg, err);
}

bool worker_pool_wait_idle(struct worker_pool *workers, int64_t timeout_ms) {
    const struct timespec until = clock_deadline(timeout_ms);
    bool is_idle;
    (void)pthread_mutex_lock(&workers->lock);
    for (int rc = 0; !rc && (workers->stats.waiting || workers->stats.running);)
        rc = pthread_cond_timedwait(&workers->is_done, &workers->lock, &until);
    is_idle = !workers->stats.waiting && !workers->stats.running;
    (void)pthread_mutex_unlock(&workers->lock);
    return is_idle;
}

/* Needs the lock, which is free while waiting: running work items may want it. */
static void join_threads(struct worker_pool *workers) {
    unsigned count = workers->started; /* cannot rise any more */
    (void)pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(workers->threads[i], NULL);
    (void)pthread_mutex_lock(&workers->lock);
    while (workers->stats.running) /* one that gave way, in the thread of who displaced it */
        (void)pthread_cond_wait(&workers->is_done, &workers->lock);
    workers->is_joined = true;
    (void)pthread_cond_broadcast(&workers->is_over);
}

void worker_pool_stop(struct worker_pool *workers) {
    assert(own_pool != workers);
    (void)pthread_mutex_lock(&workers->lock);
    if (workers->is_stopping) { /* another thread may be at it */
        while (!workers->is_joined)
            (void)pthread_cond_wait(&workers->is_over, &workers->lock);
    } else {
        workers->is_stopping = true;
        (void)pthread_cond_broadcast(&workers->has_work);
        while (workers->stats.waiting) /* here too: all threads may be stuck behind slow peers */
            worker_pool_run_first(workers);
        join_threads(workers);
    }
    (void)pthread_mutex_unlock(&workers->lock);
}

void worker_pool_free(struct worker_pool *workers) {
    if (!workers)
        return;
    worker_pool_stop(workers);
    (void)pthread_cond_destroy(&workers->is_over);
    (void)pthread_cond_destroy(&workers->is_done);
    (void)pthread_cond_destroy(&workers->has_work);
    (void)pthread_mutex_destroy(&workers->lock);
    free(workers->items);
    free(workers->name);
    free(workers);
}

void worker_pool_get_stats(struct worker_pool *workers, struct worker_pool_stats *out) {
    (void)pthread_mutex_lock(&workers->lock);
    *out = workers->stats;
    (void)pthread_mutex_unlock(&workers->lock);
}

void worker_pool_write_metrics(struct worker_pool *workers, struct metric_page *page, const char *pool, const char *vcenter,
                               const char *directory) {
    struct worker_pool_stats stats;
    if (!workers)
        return;
    worker_pool_get_stats(workers, &stats);
    const struct {
        enum metric_id id;
        unsigned long value;
    } samples[] = {{METRIC_POOL_THREADS, workers->options.threads},
                   {METRIC_POOL_BUSY, stats.running},
                   {METRIC_POOL_QUEUE, stats.waiting},
                   {METRIC_POOL_QUEUE_MAX, workers->options.queue_count},
                   {METRIC_POOL_DONE, stats.done},
                   {METRIC_POOL_REFUSED, stats.refused}};
    for (size_t i = 0; i < ARRAY_COUNT(samples); i++)
        metric_sample(page, samples[i].id, (double)samples[i].value, pool, vcenter, directory);
}
