/* A lane: a bounded queue of work with its own few threads. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The queue is one list in the order of service. Each job has the number of its round: for the first one of a party that is the round after the one
 * under way, for each further one the next. So parties are served in turn, and the last of the list is the newest job of a party with
 * most of them. */
#include "lane.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "clock.h"
#include "log.h"
#include "str.h"

#define THREADS_COUNT_MAX 64
#define THREAD_NAME_BYTES 16 /* pthread_setname_np(3) */

struct job {
    lane_fn *fn;
    void *arg;
    uint64_t party, round;
    struct job *next;
};

struct lane {
    char *name;
    struct lane_options options;
    pthread_mutex_t lock;    /* guards everything below */
    pthread_cond_t has_work; /* a job was queued, or is_stopping was set */
    pthread_cond_t is_over;  /* is_joined was set */
    pthread_cond_t is_done;  /* a job has ended */
    struct job *jobs;        /* room for queue_count */
    struct job *first;       /* that wait, by round */
    struct job *unused;
    uint64_t round; /* of the job that was taken last */
    pthread_t threads[THREADS_COUNT_MAX];
    unsigned started, idle;
    struct lane_stats stats;
    bool is_stopping, is_joined;
};

/* The lane this thread works for: waiting for one's own end would never end. */
static _Thread_local const struct lane *own_lane;

/* Needs the lock. Takes the waiting job out that the link leads to. */
static struct job lane_take(struct lane *lane, struct job **link) {
    struct job *place = *link, job = *place;
    *link = job.next;
    place->next = lane->unused;
    lane->unused = place;
    lane->stats.waiting--;
    return job;
}

/* Needs the lock and room. */
static void lane_put(struct lane *lane, struct job job) {
    struct job *place = lane->unused, **link = &lane->first;
    while (*link && (*link)->round <= job.round)
        link = &(*link)->next;
    lane->unused = place->next;
    job.next = *link;
    *place = job;
    *link = place;
    lane->stats.waiting++;
}

/* Needs the lock. */
static uint64_t next_round(const struct lane *lane, uint64_t party) {
    uint64_t round = lane->round + 1;
    for (const struct job *job = lane->first; job && party != LANE_NO_PARTY; job = job->next)
        if (job->party == party)
            round = job->round + 1;
    return round;
}

/* Needs the lock, gives it back while the job runs. */
static void lane_run(struct lane *lane, struct job job, bool is_canceled) {
    lane->stats.running++;
    (void)pthread_mutex_unlock(&lane->lock);
    job.fn(job.arg, is_canceled);
    log_set_request_id(NULL); /* what comes next is about another request, or about none */
    (void)pthread_mutex_lock(&lane->lock);
    lane->stats.running--;
    lane->stats.done++;
    (void)pthread_cond_broadcast(&lane->is_done);
}

/* Needs the lock and a waiting job. */
static void lane_run_first(struct lane *lane) {
    struct job job = lane_take(lane, &lane->first);
    lane->round = job.round;
    lane_run(lane, job, lane->is_stopping);
}

static void *lane_work(void *arg) {
    struct lane *lane = arg;
    own_lane = lane;
    if (lane->options.thread_begin)
        lane->options.thread_begin();
    (void)pthread_mutex_lock(&lane->lock);
    for (;;) {
        lane->idle++;
        while (!lane->stats.waiting && !lane->is_stopping)
            (void)pthread_cond_wait(&lane->has_work, &lane->lock);
        lane->idle--;
        if (!lane->stats.waiting)
            break;
        lane_run_first(lane);
    }
    (void)pthread_mutex_unlock(&lane->lock);
    if (lane->options.thread_end)
        lane->options.thread_end();
    return NULL;
}

/* Signals belong to the main thread. Needs the lock. */
static bool lane_start_thread(struct lane *lane) {
    char name[THREAD_NAME_BYTES];
    sigset_t all, before;
    int rc;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&lane->threads[lane->started], NULL, lane_work, lane);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc)
        return false;
    (void)snprintf(name, sizeof(name), "%.15s", lane->name);
    (void)pthread_setname_np(lane->threads[lane->started++], name);
    return true;
}

int lane_new(const struct lane_options *options, struct lane **out, struct err *err) {
    struct lane *lane;
    assert(options->threads >= 1 && options->threads <= THREADS_COUNT_MAX && options->queue_count >= 1);
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        return err_set(err, ERR_NOMEM, "no memory for the lane %s", options->name);
    (void)pthread_mutex_init(&lane->lock, NULL);
    (void)pthread_cond_init(&lane->has_work, NULL);
    (void)pthread_cond_init(&lane->is_over, NULL);
    clock_init_cond(&lane->is_done);
    lane->options = *options;
    lane->name = str_dup(options->name);
    lane->jobs = calloc(options->queue_count, sizeof(*lane->jobs));
    if (!lane->name || !lane->jobs) {
        lane_free(lane);
        return err_set(err, ERR_NOMEM, "no memory for the lane %s", options->name);
    }
    for (unsigned i = 0; i < options->queue_count; i++) {
        lane->jobs[i].next = lane->unused;
        lane->unused = &lane->jobs[i];
    }
    lane->options.name = lane->name;
    *out = lane;
    return 0;
}

/* Needs the lock and a queue that is full. Its last job gives way to one of an earlier round. */
static bool lane_make_room(struct lane *lane, uint64_t round, struct job *out) {
    struct job **link = &lane->first;
    while ((*link)->next)
        link = &(*link)->next;
    if ((*link)->round <= round)
        return false;
    *out = lane_take(lane, link);
    return true;
}

/* Needs the lock. A queue that is full, or that no thread could serve, refuses. `displaced` has a function if that job gave way. */
static int admit(struct lane *lane, uint64_t round, struct job *displaced, struct err *err) {
    if (lane->is_stopping)
        return err_set(err, ERR_CANCELED, "the service is stopping");
    if (!lane->unused && !lane_make_room(lane, round, displaced))
        return err_set(err, ERR_BUSY, "too much work is waiting for %s", lane->name);
    if (lane->stats.waiting >= lane->idle && lane->started < lane->options.threads && !lane_start_thread(lane) && !lane->started)
        return err_set(err, ERR_BUSY, "no thread could be started for %s", lane->name);
    return 0;
}

int lane_submit_for(struct lane *lane, uint64_t party, lane_fn *fn, void *arg, struct err *err) {
    struct job job = {.fn = fn, .arg = arg, .party = party}, displaced = {0};
    int rc;
    (void)pthread_mutex_lock(&lane->lock);
    job.round = next_round(lane, party);
    rc = admit(lane, job.round, &displaced, err);
    if (!rc) {
        lane_put(lane, job);
        (void)pthread_cond_signal(&lane->has_work);
    }
    lane->stats.refused += rc != 0 || displaced.fn;
    if (displaced.fn) { /* what this thread was about goes on afterwards */
        _cleanup_free_ char *request_id = str_dup(log_request_id());
        lane_run(lane, displaced, true);
        log_set_request_id(request_id);
    }
    (void)pthread_mutex_unlock(&lane->lock);
    return rc;
}

int lane_submit(struct lane *lane, lane_fn *fn, void *arg, struct err *err) {
    return lane_submit_for(lane, LANE_NO_PARTY, fn, arg, err);
}

bool lane_wait_idle(struct lane *lane, int64_t timeout_ms) {
    const struct timespec until = clock_deadline(timeout_ms);
    bool is_idle;
    (void)pthread_mutex_lock(&lane->lock);
    for (int rc = 0; !rc && (lane->stats.waiting || lane->stats.running);)
        rc = pthread_cond_timedwait(&lane->is_done, &lane->lock, &until);
    is_idle = !lane->stats.waiting && !lane->stats.running;
    (void)pthread_mutex_unlock(&lane->lock);
    return is_idle;
}

/* Needs the lock, which is free while waiting: running jobs may want it. */
static void join_threads(struct lane *lane) {
    unsigned count = lane->started; /* cannot rise any more */
    (void)pthread_mutex_unlock(&lane->lock);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(lane->threads[i], NULL);
    (void)pthread_mutex_lock(&lane->lock);
    while (lane->stats.running) /* one that gave way, in the thread of who displaced it */
        (void)pthread_cond_wait(&lane->is_done, &lane->lock);
    lane->is_joined = true;
    (void)pthread_cond_broadcast(&lane->is_over);
}

void lane_stop(struct lane *lane) {
    assert(own_lane != lane);
    (void)pthread_mutex_lock(&lane->lock);
    if (lane->is_stopping) { /* another thread may be at it */
        while (!lane->is_joined)
            (void)pthread_cond_wait(&lane->is_over, &lane->lock);
    } else {
        lane->is_stopping = true;
        (void)pthread_cond_broadcast(&lane->has_work);
        while (lane->stats.waiting) /* here too: all threads may be stuck behind slow peers */
            lane_run_first(lane);
        join_threads(lane);
    }
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_free(struct lane *lane) {
    if (!lane)
        return;
    lane_stop(lane);
    (void)pthread_cond_destroy(&lane->is_over);
    (void)pthread_cond_destroy(&lane->is_done);
    (void)pthread_cond_destroy(&lane->has_work);
    (void)pthread_mutex_destroy(&lane->lock);
    free(lane->jobs);
    free(lane->name);
    free(lane);
}

void lane_get_stats(struct lane *lane, struct lane_stats *out) {
    (void)pthread_mutex_lock(&lane->lock);
    *out = lane->stats;
    (void)pthread_mutex_unlock(&lane->lock);
}
