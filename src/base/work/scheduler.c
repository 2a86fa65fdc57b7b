/* Runs periodic work: period, jitter, back-off, one run of each at a time. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "metric.h"
#include "str.h"
#include "uuid.h"

#define FAILURE_LOG_INTERVAL_MS 60000

struct worker {
    struct scheduler *scheduler;
    struct periodic periodic;
    pthread_t thread;
    bool is_started;
    bool is_woken;     /* guarded by the scheduler's lock */
    unsigned failures; /* the thread's own */
    struct log_limit limit;
    struct metric *succeeded_at, *failed;
};

struct scheduler {
    pthread_mutex_t lock; /* guards is_stopping and every is_woken */
    pthread_cond_t changed;
    bool is_stopping;
    void (*thread_begin)(void);
    void (*thread_end)(void);
    unsigned count;
    struct worker workers[];
};

int scheduler_new(const struct periodic *table, unsigned count, void (*thread_begin)(void), void (*thread_end)(void),
                  struct scheduler **out, struct err *err) {
    struct scheduler *s = calloc(1, sizeof(*s) + count * sizeof(struct worker));
    if (!s)
        return err_set(err, ERR_NOMEM, "out of memory");
    clock_init_cond(&s->changed);
    (void)pthread_mutex_init(&s->lock, NULL);
    s->thread_begin = thread_begin;
    s->thread_end = thread_end;
    s->count = count;
    for (unsigned i = 0; i < count; i++) {
        s->workers[i].scheduler = s;
        s->workers[i].periodic = table[i];
        s->workers[i].succeeded_at = metric_get(METRIC_PERIODIC_SUCCESS, table[i].name);
        s->workers[i].failed = metric_get(METRIC_PERIODIC_FAILURES, table[i].name);
    }
    *out = s;
    return 0;
}

static void scheduler_report(struct worker *w, int rc, const struct err *err) {
    unsigned long suppressed = 0;
    if (!rc && w->failures)
        log_event(LOG_LEVEL_NOTICE, "periodic_recovered", "periodic", w->periodic.name, "failures", log_fmt("%u", w->failures),
                  NULL);
    if (rc && log_limit_pass(&w->limit, FAILURE_LOG_INTERVAL_MS, rc, &suppressed))
        log_error(LOG_LEVEL_WARNING, "periodic_failed", err, "periodic", w->periodic.name, "suppressed",
                  suppressed ? log_fmt("%lu", suppressed) : NULL, NULL);
}

/* Returns the delay to the next run, or -1 if there is none. */
static int64_t run_once(struct worker *w) {
    struct err err = {0};
    char id[UUID_TEXT_BYTES];
    int64_t spread_ms = w->periodic.period_ms * w->periodic.jitter_percent / 100;
    int rc;
    uuid_new(id);
    id[8] = 0; /* enough to tell runs apart in the log */
    log_set_request_id(id);
    rc = w->periodic.run(w->periodic.arg, &err);
    if (!rc || rc == ERR_CANCELED)
        metric_set(w->succeeded_at, clock_wall_ms() / 1000);
    else
        metric_add(w->failed, 1);
    if (rc == ERR_CANCELED)
        return -1;
    scheduler_report(w, rc, &err);
    w->failures = rc ? w->failures + 1 : 0;
    if (rc)
        return backoff_delay_ms(&w->periodic.retry, w->failures, random_u32());
    return w->periodic.period_ms - (spread_ms ? random_u32() % spread_ms : 0);
}

/* Waits until the delay has passed, it is woken or the scheduler stops; false for the latter. */
static bool scheduler_wait_for_turn(struct worker *w, int64_t delay_ms) {
    struct scheduler *s = w->scheduler;
    const struct timespec until = clock_deadline(delay_ms);
    bool go_on;
    int rc = 0;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->is_stopping && !w->is_woken && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    w->is_woken = false;
    go_on = !s->is_stopping;
    (void)pthread_mutex_unlock(&s->lock);
    return go_on;
}

static void *scheduler_work(void *arg) {
    struct worker *w = arg;
    int64_t delay_ms = 0;
    if (w->scheduler->thread_begin)
        w->scheduler->thread_begin();
    while (delay_ms >= 0 && scheduler_wait_for_turn(w, delay_ms))
        delay_ms = run_once(w);
    if (w->scheduler->thread_end)
        w->scheduler->thread_end();
    return NULL;
}

int scheduler_start(struct scheduler *s, struct err *err) {
    for (unsigned i = 0; i < s->count; i++) {
        if (pthread_create(&s->workers[i].thread, NULL, scheduler_work, &s->workers[i]))
            return err_set(err, ERR_INTERNAL, "cannot start the thread of job %s", s->workers[i].periodic.name);
        s->workers[i].is_started = true;
    }
    return 0;
}

void scheduler_wake(struct scheduler *s, const char *name) {
    (void)pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < s->count; i++)
        if (str_eq(s->workers[i].periodic.name, name))
            s->workers[i].is_woken = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
}

void scheduler_free(struct scheduler *s) {
    if (!s)
        return;
    (void)pthread_mutex_lock(&s->lock);
    s->is_stopping = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < s->count; i++)
        if (s->workers[i].is_started)
            (void)pthread_join(s->workers[i].thread, NULL);
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}
