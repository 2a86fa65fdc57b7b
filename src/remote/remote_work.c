/* What a remote was asked to do and has not done yet. Layer 3 (remote). SPDX-License-Identifier: GPL-3.0-or-later */
#include "remote_work.h"

#include <string.h>

#include "backoff.h"
#include "cleanup.h"
#include "clock.h"
#include "metric.h"
#include "uuid.h"

static const struct backoff retry = {.first_ms = 1000, .max_ms = 60000, .jitter_percent = 30};

void remote_queue_init(struct remote_queue *q, const struct remote_work *kinds) {
    memset(q, 0, sizeof(*q));
    q->kinds = kinds;
    (void)pthread_mutex_init(&q->lock, NULL);
}

void remote_queue_done(struct remote_queue *q) {
    (void)pthread_mutex_destroy(&q->lock);
}

void remote_queue_add(struct remote_queue *q, unsigned bits, bool is_now) {
    LOCKED(&q->lock);
    for (unsigned i = 0; i < REMOTE_WORK_MAX; i++) {
        if (!(bits & 1U << i) || !q->kinds[i].run)
            continue;
        q->slots[i].state.is_wanted = true;
        if (is_now)
            q->slots[i].not_before_ms = 0;
    }
}

void remote_queue_add_at_connect(struct remote_queue *q) {
    unsigned bits = 0;
    for (unsigned i = 0; i < REMOTE_WORK_MAX; i++)
        bits |= q->kinds[i].at_connect ? 1U << i : 0;
    remote_queue_add(q, bits, true);
}

/* Needs the lock. */
static bool remote_work_is_due(const struct remote_queue *q, unsigned i, bool is_ok, int64_t now_ms) {
    const struct remote_slot *slot = &q->slots[i];
    if (!is_ok && !q->kinds[i].in_any_state)
        return false;
    if (slot->state.is_wanted)
        return now_ms >= slot->not_before_ms;
    return slot->next_ms && now_ms >= slot->next_ms;
}

bool remote_queue_is_due(struct remote_queue *q, bool is_ok, int64_t now_ms) {
    LOCKED(&q->lock);
    for (unsigned i = 0; i < REMOTE_WORK_MAX; i++)
        if (remote_work_is_due(q, i, is_ok, now_ms))
            return true;
    return false;
}

const struct remote_work *remote_queue_take(struct remote_queue *q, bool is_ok, int64_t now_ms) {
    LOCKED(&q->lock);
    for (unsigned i = 0; i < REMOTE_WORK_MAX; i++) {
        if (!remote_work_is_due(q, i, is_ok, now_ms))
            continue;
        q->slots[i].state.is_wanted = false;
        q->slots[i].next_ms = 0;
        return &q->kinds[i];
    }
    return NULL;
}

static void remote_work_count_run(const struct remote_work *kind, bool has_failed) {
    metric_add(metric_get(METRIC_LINK_WORK, kind->name), 1);
    if (has_failed)
        metric_add(metric_get(METRIC_LINK_WORK_FAILURES, kind->name), 1);
}

/* Needs the lock. */
static void remote_work_note_failure(struct remote_slot *slot, int rc, const struct err *err) {
    struct remote_work_state *state = &slot->state;
    if (!state->failures++)
        state->failing_since_ms = clock_wall_ms();
    state->err = *err;
    state->err.code = rc;
    slot->not_before_ms = clock_mono_ms() + backoff_delay_ms(&retry, state->failures, random_u32());
    state->is_wanted = true;
}

/* Needs the lock. */
static void remote_work_note_success(struct remote_slot *slot, const struct remote_work *kind) {
    int64_t period_ms = kind->period_ms;
    slot->state.done_at_ms = clock_wall_ms();
    slot->state.failing_since_ms = 0;
    slot->state.failures = 0;
    slot->not_before_ms = 0;
    memset(&slot->state.err, 0, sizeof(slot->state.err));
    slot->next_ms = period_ms ? clock_mono_ms() + period_ms - (int64_t)(random_u32() % (uint32_t)(period_ms / 10 + 1)) : 0;
}

void remote_queue_note(struct remote_queue *q, const struct remote_work *kind, int rc, const struct err *err) {
    struct remote_slot *slot = &q->slots[kind - q->kinds];
    bool has_failed = rc && rc != ERR_CANCELED;
    (void)pthread_mutex_lock(&q->lock);
    if (has_failed)
        remote_work_note_failure(slot, rc, err);
    else
        remote_work_note_success(slot, kind);
    (void)pthread_mutex_unlock(&q->lock);
    remote_work_count_run(kind, has_failed);
}

size_t remote_queue_get(struct remote_queue *q, struct remote_work_state out[REMOTE_WORK_MAX]) {
    size_t n = 0;
    LOCKED(&q->lock);
    for (unsigned i = 0; i < REMOTE_WORK_MAX; i++) {
        if (!q->kinds[i].run)
            continue;
        out[n] = q->slots[i].state;
        out[n++].work = &q->kinds[i];
    }
    return n;
}
