/* A lane: a bounded queue of work with its own few threads. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lane.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cleanup.h"
#include "log.h"
#include "str.h"

#define THREADS_COUNT_MAX 64
#define THREAD_NAME_BYTES 16 /* pthread_setname_np(3) */

struct job {
    lane_fn *fn;
    void *arg;
};

struct lane {
    char *name;
    struct lane_options options;
    pthread_mutex_t lock;    /* guards everything below */
    pthread_cond_t has_work; /* a job was queued, or is_stopping was set */
    pthread_cond_t is_over;  /* is_joined was set */
    pthread_cond_t is_done;  /* a job has ended */
    struct job *ring;
    unsigned head; /* index of the oldest waiting job */
    pthread_t threads[THREADS_COUNT_MAX];
    unsigned started, idle;
    struct lane_stats stats; /* waiting: jobs in the ring */
    bool is_stopping, is_joined;
};

/* The lane this thread works for: waiting for one's own end would never end. */
static _Thread_local const struct lane *own_lane;

/* Needs the lock and a waiting job. */
static struct job take(struct lane *lane) {
    struct job job = lane->ring[lane->head];
    lane->head = (lane->head + 1) % lane->options.queue_count;
    lane->stats.waiting--;
    return job;
}

/* Needs the lock, gives it back while the job runs. */
static void run_one(struct lane *lane) {
    struct job job = take(lane);
    bool is_canceled = lane->is_stopping;
    lane->stats.running++;
    (void)pthread_mutex_unlock(&lane->lock);
    job.fn(job.arg, is_canceled);
    log_set_request_id(NULL); /* what comes next is about another request, or about none */
    (void)pthread_mutex_lock(&lane->lock);
    lane->stats.running--;
    lane->stats.done++;
    (void)pthread_cond_broadcast(&lane->is_done);
}

static void wait_for_work(struct lane *lane) {
    lane->idle++;
    while (!lane->stats.waiting && !lane->is_stopping)
        (void)pthread_cond_wait(&lane->has_work, &lane->lock);
    lane->idle--;
}

static void *work(void *arg) {
    struct lane *lane = arg;
    own_lane = lane;
    if (lane->options.thread_begin)
        lane->options.thread_begin();
    (void)pthread_mutex_lock(&lane->lock);
    for (;;) {
        wait_for_work(lane);
        if (!lane->stats.waiting)
            break;
        run_one(lane);
    }
    (void)pthread_mutex_unlock(&lane->lock);
    if (lane->options.thread_end)
        lane->options.thread_end();
    return NULL;
}

static void name_thread(pthread_t thread, const char *name) {
    char text[THREAD_NAME_BYTES];
    (void)snprintf(text, sizeof(text), "%.15s", name);
    (void)pthread_setname_np(thread, text);
}

/* Signals belong to the main thread. Needs the lock. */
static bool start_thread(struct lane *lane) {
    sigset_t all, before;
    int rc;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&lane->threads[lane->started], NULL, work, lane);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc)
        return false;
    name_thread(lane->threads[lane->started], lane->name);
    lane->started++;
    return true;
}

static void init_monotonic(pthread_cond_t *cond) {
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
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
    init_monotonic(&lane->is_done);
    lane->options = *options;
    lane->name = str_dup(options->name);
    lane->ring = calloc(options->queue_count, sizeof(*lane->ring));
    if (!lane->name || !lane->ring) {
        lane_free(lane);
        return err_set(err, ERR_NOMEM, "no memory for the lane %s", options->name);
    }
    lane->options.name = lane->name;
    *out = lane;
    return 0;
}

/* Needs the lock. A queue that is full, or that no thread could serve, refuses. */
static int admit(struct lane *lane, struct err *err) {
    if (lane->is_stopping)
        return err_set(err, ERR_CANCELED, "the service is stopping");
    if (lane->stats.waiting >= lane->options.queue_count)
        return err_set(err, ERR_BUSY, "too much work is waiting for %s", lane->name);
    if (lane->stats.waiting >= lane->idle && lane->started < lane->options.threads && !start_thread(lane) && !lane->started)
        return err_set(err, ERR_BUSY, "no thread could be started for %s", lane->name);
    return 0;
}

int lane_submit(struct lane *lane, lane_fn *fn, void *arg, struct err *err) {
    int rc;
    (void)pthread_mutex_lock(&lane->lock);
    rc = admit(lane, err);
    if (rc) {
        lane->stats.refused++;
    } else {
        lane->ring[(lane->head + lane->stats.waiting) % lane->options.queue_count] = (struct job){fn, arg};
        lane->stats.waiting++;
        (void)pthread_cond_signal(&lane->has_work);
    }
    (void)pthread_mutex_unlock(&lane->lock);
    return rc;
}

bool lane_wait_idle(struct lane *lane, int64_t timeout_ms) {
    struct timespec until;
    bool is_idle;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
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
            run_one(lane);
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
    free(lane->ring);
    free(lane->name);
    free(lane);
}

void lane_get_stats(struct lane *lane, struct lane_stats *out) {
    (void)pthread_mutex_lock(&lane->lock);
    *out = lane->stats;
    (void)pthread_mutex_unlock(&lane->lock);
}

const char *lane_name(const struct lane *lane) {
    return lane->name;
}
