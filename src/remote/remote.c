/* A system out there that this replica keeps in touch with. Layer 3 (remote). SPDX-License-Identifier: GPL-3.0-or-later */
#include "remote.h"

#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "str.h"
#include "uuid.h"
#include "worker_pool.h"

static worker_fn remote_serve;

static const struct backoff retry = {.first_ms = 1000, .max_ms = 60000, .jitter_percent = 30};

int remote_init(struct remote *r, const struct remote_kind *kind, const struct remote_work *work, const char *id,
                struct err *err) {
    r->kind = kind;
    atomic_init(&r->refs, 1);
    (void)pthread_mutex_init(&r->lock, NULL);
    remote_queue_init(&r->queue, work);
    r->id = str_dup(id);
    return r->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

void remote_done(struct remote *r) {
    remote_queue_done(&r->queue);
    (void)pthread_mutex_destroy(&r->lock);
    free(r->id);
}

struct remote *remote_ref(struct remote *r) {
    (void)atomic_fetch_add(&r->refs, 1);
    return r;
}

void remote_unref(struct remote *r) {
    if (r)
        (void)atomic_fetch_sub(&r->refs, 1);
}

enum remote_state remote_get_state(struct remote *r) {
    LOCKED(&r->lock);
    return r->status.state;
}

bool remote_is_retired(struct remote *r) {
    LOCKED(&r->lock);
    return r->is_retired;
}

/* -- when -------------------------------------------------------------------------------------------------------------------- */

void remote_try_at(struct remote *r, int64_t mono_ms) {
    r->next_try_ms = mono_ms;
}

void remote_try_soon(struct remote *r) {
    r->next_try_ms = clock_mono_ms() + backoff_delay_ms(&retry, 1, random_u32());
}

bool remote_is_news(struct remote *r, int64_t since_ms) {
    if (since_ms < r->noted_since_ms)
        return false;
    r->noted_since_ms = since_ms;
    return true;
}

static bool remote_is_due(struct remote *r, int64_t now_ms) {
    LOCKED(&r->lock);
    return r->is_wanted && now_ms >= r->next_try_ms && !r->is_retired;
}

static bool has_work(struct remote *r, int64_t now_ms) {
    (void)pthread_mutex_lock(&r->lock);
    const bool is_retired = r->is_retired, is_ok = r->status.state == REMOTE_OK;
    (void)pthread_mutex_unlock(&r->lock);
    return !is_retired && remote_queue_is_due(&r->queue, is_ok, now_ms);
}

/* -- the job ----------------------------------------------------------------------------------------------------------------- */

/* Who asks for another contact during this one gets it: what was planned meanwhile stays. */
static void remote_make_contact(struct remote *r) {
    struct err err = {0};
    (void)pthread_mutex_lock(&r->lock);
    r->next_try_ms = REMOTE_NEVER;
    (void)pthread_mutex_unlock(&r->lock);
    int rc = r->kind->contact(r, &err);
    LOCKED(&r->lock);
    r->failures = rc ? r->failures + 1 : 0;
    if (r->next_try_ms != REMOTE_NEVER)
        return;
    if (rc)
        r->next_try_ms = clock_mono_ms() + backoff_delay_ms(&retry, r->failures, random_u32());
    else if (r->period_ms)
        r->next_try_ms = clock_mono_ms() + r->period_ms;
}

static void remote_do_work(struct remote *r) {
    const struct remote_work *work;
    while (!remote_is_retired(r) && (work = remote_queue_take(&r->queue, remote_get_state(r) == REMOTE_OK, clock_mono_ms()))) {
        struct err err = {0};
        int rc = work->run(r, &err);
        remote_queue_note(&r->queue, work, rc, &err);
    }
}

static void remote_serve(void *arg, bool is_canceled) {
    struct remote *r = arg;
    if (!is_canceled && remote_is_due(r, clock_mono_ms()))
        remote_make_contact(r);
    if (!is_canceled)
        remote_do_work(r);
    atomic_store(&r->is_busy, false);
    if (!is_canceled && has_work(r, clock_mono_ms()))
        remote_kick(r); /* asked for while this job was ending */
    remote_unref(r);
}

/* Work that a running job has not seen any more, it sees before it ends; a contact, the next tick sees. */
void remote_kick(struct remote *r) {
    if (atomic_exchange(&r->is_busy, true))
        return;
    if (worker_pool_submit(r->workers, remote_serve, remote_ref(r), NULL)) {
        atomic_store(&r->is_busy, false); /* the worker pool is full: remote_tick tries again */
        remote_unref(r);
    }
}

static void remote_add(struct remote *r, unsigned bits, bool is_now) {
    remote_queue_add(&r->queue, bits, is_now);
    if (has_work(r, clock_mono_ms()))
        remote_kick(r);
}

void remote_request(struct remote *r, unsigned bits) {
    remote_add(r, bits, true);
}

void remote_request_due(struct remote *r, unsigned bits) {
    remote_add(r, bits, false);
}

void remote_follow(struct remote *r, bool was_ok) {
    if (was_ok || remote_get_state(r) != REMOTE_OK || remote_is_retired(r))
        return;
    remote_queue_add_at_connect(&r->queue);
    if (has_work(r, clock_mono_ms()))
        remote_kick(r);
}

void remote_tick(struct remote *r, int64_t now_ms) {
    if (r->kind->on_tick)
        r->kind->on_tick(r);
    if (remote_is_due(r, now_ms) || has_work(r, now_ms))
        remote_kick(r);
}
