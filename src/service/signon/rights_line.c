/* The line in which vCenters are asked about rights: who is next, how fast, who waits. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rate is a token bucket per vCenter. It holds one second's worth, so in any t seconds at most rate * (t + 1) questions go out. The
 * background leaves half of it to requests that must wait; among those, first come, first served. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "limits.h"
#include "rights_private.h"

/* -- the rate: all need the lock ----------------------------------------------------------------------------------------------- */

static int64_t burst_of(const struct rights_vcenter *vc) {
    return 1000LL * RIGHTS_BURST_S * vc->board->pace.per_s;
}

static void refill(struct rights_vcenter *vc, int64_t now_ms) {
    vc->milli_tokens += (now_ms - vc->refilled_ms) * vc->board->pace.per_s;
    vc->refilled_ms = now_ms;
    if (vc->milli_tokens > burst_of(vc))
        vc->milli_tokens = burst_of(vc);
}

static bool may_ask_behind(const struct rights_vcenter *vc) {
    int64_t burst = burst_of(vc), needed = burst / 2 + 1000;
    int64_t brim = burst - (int64_t)SIGNON_RIGHTS_TICK_MS *
                               vc->board->pace.per_s; /* above it, the bucket would overflow between two ticks */
    if (needed > brim)
        needed = brim > 1000 ? brim : 1000;
    return vc->in_flight < RIGHTS_BACKGROUND_MAX && vc->milli_tokens >= needed;
}

/* -- the line: all need the lock ----------------------------------------------------------------------------------------------- */

static void join_line(struct rights_subject *s, bool is_first) {
    struct rights_vcenter *vc = s->vc;
    s->is_in_line = true;
    s->line_next = is_first ? vc->line_first : NULL;
    if (!vc->line_first || (!is_first && !vc->line_last))
        vc->line_first = vc->line_last = s;
    else if (is_first)
        vc->line_first = s;
    else
        vc->line_last = vc->line_last->line_next = s;
    vc->line_count++;
}

static void leave_line(struct rights_subject *s) {
    struct rights_vcenter *vc = s->vc;
    struct rights_subject *before = NULL;
    if (!s->is_in_line)
        return;
    for (struct rights_subject *at = vc->line_first; at != s; at = at->line_next)
        before = at;
    if (before)
        before->line_next = s->line_next;
    else
        vc->line_first = s->line_next;
    if (vc->line_last == s)
        vc->line_last = before;
    s->is_in_line = false;
    vc->line_count--;
}

/* Before it gets old, so that nobody meets an old answer. */
static int64_t due_after_ms(const struct rights_board *board) {
    return board->pace.fresh_ms * 2 / 3;
}

/* The time when the answer was asked for; what is not usable counts as older than anything. */
static int64_t answer_ms(const struct rights_subject *s) {
    return rights_is_usable(s) ? shared_objects_asked(s->objects).mono_ms : INT64_MIN;
}

static bool is_due(const struct rights_subject *s, int64_t now_ms) {
    if (s->is_in_flight || s->is_in_line || s->has_ended || now_ms - s->tried_ms < RIGHTS_RETRY_MS)
        return false;
    if (!rights_is_usable(s) || shared_objects_asked(s->objects).order < s->vc->widened)
        return true;
    return now_ms - answer_ms(s) >= due_after_ms(s->vc->board);
}

/* The active one with the oldest answer, if it is due. Who was not seen for two fresh times is active no more. */
static struct rights_subject *oldest_due(struct rights_vcenter *vc, int64_t now_ms) {
    struct rights_subject *oldest = NULL;
    for (struct rights_subject *s = vc->active; s;) {
        struct rights_subject *next = s->active_next;
        if (!s->waits && now_ms - s->used_ms > 2 * vc->board->pace.fresh_ms)
            rights_forget_active(s);
        else if (is_due(s, now_ms) && (!oldest || answer_ms(s) < answer_ms(oldest)))
            oldest = s;
        s = next;
    }
    return oldest;
}

/* -- asking -------------------------------------------------------------------------------------------------------------------- */

struct question {
    struct rights_subject *subject; /* one reference */
    size_t slot;
};

/* Needs the lock. */
static size_t take_slot(struct rights_vcenter *vc, int64_t now_ms) {
    size_t slot = 0;
    while (vc->flight_ms[slot])
        slot++;
    vc->flight_ms[slot] = now_ms ? now_ms : 1;
    vc->in_flight++;
    return slot;
}

/* Needs the lock. The subject of the next question, if one may go out now. */
static struct rights_subject *next_subject(struct rights_vcenter *vc, int64_t now_ms) {
    struct rights_subject *s = NULL;
    refill(vc, now_ms);
    if (vc->in_flight >= RIGHTS_IN_FLIGHT_MAX || vc->milli_tokens < 1000)
        return NULL;
    if (vc->line_first) {
        s = vc->line_first;
        leave_line(s);
        metric_add(vc->board->asked_before, 1);
    } else if (may_ask_behind(vc)) {
        s = oldest_due(vc, now_ms);
        if (s)
            metric_add(vc->board->asked_behind, 1);
    }
    if (s)
        vc->milli_tokens -= 1000;
    return s;
}

/* Takes the next question out; false if none may go out now. */
static bool next_question(struct rights_vcenter *vc, bool is_unreachable, struct question *out) {
    int64_t now_ms = clock_mono_ms();
    struct rights_subject *s = NULL;
    (void)pthread_mutex_lock(&vc->lock);
    if (!atomic_load(&vc->board->is_stopped) && !is_unreachable)
        s = next_subject(vc, now_ms);
    if (s) {
        s->is_in_flight = true;
        s->tried_ms = now_ms;
        s->refs++;
        *out = (struct question){.subject = s, .slot = take_slot(vc, now_ms)};
    }
    (void)pthread_mutex_unlock(&vc->lock);
    return s != NULL;
}

/* Calls what waited. Each may be gone once it was called. */
static void wake(struct signon_wait *waits, int rc, const struct err *why) {
    while (waits) {
        struct signon_wait *wait = waits;
        struct rights_subject *subject = wait->subject;
        waits = wait->next;
        wait->rc = rc;
        if (rc)
            wait->err = *why;
        wait->run(wait->arg, rc == ERR_CANCELED);
        rights_subject_unref(subject);
    }
}

/* The answer to a question that went out: stored, told to those who wait. What was asked for before an event is no answer: those who wait
 * stay at the head of the line. */
static void finish(struct question *q, int rc, struct shared_objects *answer, const struct err *why) {
    struct rights_subject *s = q->subject;
    struct rights_vcenter *vc = s->vc;
    struct signon_wait *waits = NULL;
    (void)pthread_mutex_lock(&vc->lock);
    vc->in_flight--;
    vc->flight_ms[q->slot] = 0;
    s->is_in_flight = false;
    if (answer)
        answer = rights_put_answer(s, answer);
    if (!rc)
        s->tried_ms = INT64_MIN / 2;
    if (rc == ERR_SESSION_ENDED)
        s->has_ended = true;
    if (!rc && !rights_is_usable(s) && s->waits) {
        join_line(s, true);
    } else {
        waits = s->waits;
        s->waits = NULL;
    }
    (void)pthread_mutex_unlock(&vc->lock);
    shared_objects_unref(answer);
    wake(waits, rc, why);
}

static void note_empty(struct rights_subject *s) {
    (void)pthread_mutex_lock(&s->vc->lock);
    s->is_empty_for_sure = true;
    (void)pthread_mutex_unlock(&s->vc->lock);
}

/* A further question for the same answer: one like any other, so the bucket may go below zero. */
static int ask_further(struct rights_subject *s, const char *session_key, struct object_set *out, struct err *err) {
    const struct signon_vcenter_ops *ops = s->vc->board->ops;
    (void)pthread_mutex_lock(&s->vc->lock);
    s->vc->milli_tokens -= 1000;
    (void)pthread_mutex_unlock(&s->vc->lock);
    metric_add(s->vc->board->asked_behind, 1);
    return ops->ask_rights(ops->arg, s->vc->id, session_key, s->user_name, out, err);
}

/* Somebody may have been given rights between the two questions: only who still has none by the session has no session. */
static int make_sure_of_end(struct rights_subject *s, struct object_set *out, struct err *err) {
    int rc = ask_further(s, s->session_key, out, err);
    if (rc || out->count)
        return rc;
    return err_set(err, ERR_SESSION_ENDED, "the session at the vCenter by which you signed in has ended; sign in again");
}

/* A session that has ended has no rights, and vCenter says nothing else (vim25: unknown session, all false). Asking about the person behind it
 * tells the two apart without any privilege: who has rights by name and none by session has no session. Asked once per change. */
static int look_behind_nothing(struct rights_subject *s, struct object_set *out, struct err *err) {
    struct object_set by_name = {0};
    bool is_needed, has_some;
    int rc;
    (void)pthread_mutex_lock(&s->vc->lock);
    is_needed = s->session_key && !s->is_empty_for_sure;
    (void)pthread_mutex_unlock(&s->vc->lock);
    if (!is_needed)
        return 0;
    rc = ask_further(s, NULL, &by_name, NULL);
    has_some = !rc && by_name.count;
    if (!rc && !has_some)
        note_empty(s);
    object_set_done(&by_name);
    return has_some ? make_sure_of_end(s, out, err) : 0;
}

static int ask(struct rights_subject *s, struct shared_objects **out, struct err *err) {
    const struct signon_vcenter_ops *ops = s->vc->board->ops;
    struct asked_at asked = asked_now();
    struct object_set set = {0};
    int rc = ops->ask_rights(ops->arg, s->vc->id, s->session_key, s->user_name, &set, err);
    if (!rc && !set.count)
        rc = look_behind_nothing(s, &set, err);
    if (rc) {
        object_set_done(&set);
        return rc;
    }
    *out = shared_objects_new(&set, asked);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* The lane ends, as when the vCenter got another address. */
static int give_up(struct err *err) {
    (void)err_set(err, ERR_RIGHTS_UNKNOWN, "what you may see is not known yet: the link to the vCenter is being made anew");
    err->retry_after_s = 1;
    return err->code;
}

/* Sends what may go out now. Without the lock. */
static void pump(struct rights_vcenter *vc);

/* In the vCenter's lane. */
static void run_question(void *arg, bool is_canceled) {
    struct question *q = arg;
    struct rights_vcenter *vc = q->subject->vc;
    struct shared_objects *answer = NULL;
    struct err why = {0};
    int rc = is_canceled ? give_up(&why) : ask(q->subject, &answer, &why);
    finish(q, rc, answer, &why);
    rights_subject_unref(q->subject);
    free(q);
    if (!is_canceled)
        pump(vc);
}

/* Nothing could be queued: those who wait stay in the line, and the next tick tries again. */
static void put_back(struct question *q) {
    struct rights_subject *s = q->subject;
    (void)pthread_mutex_lock(&s->vc->lock);
    s->vc->in_flight--;
    s->vc->flight_ms[q->slot] = 0;
    s->is_in_flight = false;
    if (s->waits)
        join_line(s, true);
    (void)pthread_mutex_unlock(&s->vc->lock);
    rights_subject_unref(s);
}

static bool send_question(struct question *taken) {
    const struct signon_vcenter_ops *ops = taken->subject->vc->board->ops;
    struct question *q = malloc(sizeof(*q));
    if (q)
        *q = *taken;
    if (q && !ops->submit(ops->arg, taken->subject->vc->id, LANE_NO_PARTY, run_question, q, NULL))
        return true;
    free(q);
    put_back(taken);
    return false;
}

static void pump(struct rights_vcenter *vc) {
    const struct signon_vcenter_ops *ops = vc->board->ops;
    bool is_unreachable = ops->is_unreachable(ops->arg, vc->id);
    struct question q;
    while (next_question(vc, is_unreachable, &q))
        if (!send_question(&q))
            return;
}

/* -- waiting ------------------------------------------------------------------------------------------------------------------- */

/* Needs the lock. How long somebody who joins now would wait. */
static int64_t wait_ms(struct rights_vcenter *vc) {
    int64_t ahead = 1000LL * vc->line_count;
    refill(vc, clock_mono_ms());
    ahead -= vc->milli_tokens;
    return ahead > 0 ? ahead / vc->board->pace.per_s : 0;
}

static int turn_away(struct rights_vcenter *vc, int64_t ms, struct err *err) {
    metric_add(vc->board->refused, 1);
    (void)err_set(err, ERR_RIGHTS_UNKNOWN, "what you may see is not known yet: the vCenter is being asked about many people");
    if (err)
        err->retry_after_s = (unsigned)(ms / 1000 + 1);
    return ERR_RIGHTS_UNKNOWN;
}

/* Needs the lock. */
static int join(struct rights_subject *s, struct signon_wait *wait, struct err *err) {
    int64_t ms = s->is_in_line || s->is_in_flight ? 0 : wait_ms(s->vc);
    if (atomic_load(&s->vc->board->is_stopped))
        return err_set(err, ERR_CANCELED, "the service is stopping");
    rights_touch(s);
    if (ms > KAAS_RIGHTS_WAIT_MS)
        return turn_away(s->vc, ms, err);
    if (s->is_in_line || s->is_in_flight)
        metric_add(s->vc->board->shared, 1);
    else
        join_line(s, false);
    wait->subject = s;
    wait->next = s->waits;
    s->waits = wait;
    s->refs++;
    return 0;
}

int rights_subject_wait(struct rights_subject *s, struct signon_wait *wait, struct err *err) {
    struct rights_vcenter *vc = s->vc; /* once joined, the subject may go with the wait */
    int rc;
    (void)pthread_mutex_lock(&vc->lock);
    rc = join(s, wait, err);
    (void)pthread_mutex_unlock(&vc->lock);
    if (!rc)
        pump(vc);
    return rc;
}

/* Needs the lock. Takes the waits that are over out of a subject's list and puts them before *over. */
static void take_over_due(struct rights_subject *s, int64_t now_ms, struct signon_wait **over) {
    struct signon_wait **at = &s->waits;
    while (*at) {
        struct signon_wait *wait = *at;
        if (now_ms < wait->deadline_ms) {
            at = &wait->next;
            continue;
        }
        *at = wait->next;
        wait->next = *over;
        *over = wait;
    }
    if (!s->waits)
        leave_line(s);
}

/* Everybody who waits is active: found there. */
static struct signon_wait *take_over(struct rights_vcenter *vc, int64_t now_ms) {
    struct signon_wait *over = NULL;
    (void)pthread_mutex_lock(&vc->lock);
    for (struct rights_subject *s = vc->active; s; s = s->active_next)
        if (s->waits)
            take_over_due(s, now_ms, &over);
    (void)pthread_mutex_unlock(&vc->lock);
    return over;
}

/* Needs the lock. */
static void note_interest(struct rights_vcenter *vc, uint64_t mark) {
    if (vc->interest == mark)
        return;
    if (vc->interest)
        vc->widened = asked_now().order;
    vc->interest = mark;
}

static void tick(struct rights_vcenter *vc) {
    const struct signon_vcenter_ops *ops = vc->board->ops;
    uint64_t mark = ops->mark_of_interest(ops->arg, vc->id);
    bool is_unreachable = ops->is_unreachable(ops->arg, vc->id);
    struct err why = {0};
    bool is_away;
    (void)pthread_mutex_lock(&vc->lock);
    note_interest(vc, mark);
    is_away = rights_note_away(vc, is_unreachable);
    (void)pthread_mutex_unlock(&vc->lock);
    if (is_away) { /* nobody waits for one that does not answer */
        (void)err_set(&why, ERR_UNREACHABLE, "the vCenter does not answer, so what you may see is not known");
        wake(take_over(vc, INT64_MAX), ERR_UNREACHABLE, &why);
        return;
    }
    pump(vc);
    (void)err_set(&why, ERR_RIGHTS_UNKNOWN, "what you may see is not known yet: the vCenter did not answer in time");
    why.retry_after_s = 2;
    wake(take_over(vc, clock_mono_ms()), ERR_RIGHTS_UNKNOWN, &why);
}

/* The list only grows at its head, so what was read of it stays right without the lock. */
static struct rights_vcenter *first_vcenter(struct rights_board *board) {
    struct rights_vcenter *first;
    (void)pthread_mutex_lock(&board->lock);
    first = board->vcenters;
    (void)pthread_mutex_unlock(&board->lock);
    return first;
}

void rights_board_tick(struct rights_board *board) {
    for (struct rights_vcenter *vc = first_vcenter(board); vc; vc = vc->next)
        tick(vc);
}

void rights_board_stop(struct rights_board *board) {
    struct err why = {0};
    (void)err_set(&why, ERR_CANCELED, "the service is stopping");
    atomic_store(&board->is_stopped, true);
    for (struct rights_vcenter *vc = first_vcenter(board); vc; vc = vc->next)
        wake(take_over(vc, INT64_MAX), ERR_CANCELED, &why);
}
