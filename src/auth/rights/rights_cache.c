/* The cache of rights: subjects, their answers, events; and the line in which vCenters are asked: who is next, how fast, who waits. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rate is a token bucket per vCenter. It holds one second's worth, so in any t seconds at most rate * (t + 1) questions go out. The
 * background leaves half of it to requests that must wait; among those, first come, first served. */
#include "rights_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hashmap.h"
#include "limits.h"
#include "metric.h"
#include "names.h"
#include "str.h"
#include "signon_ask.h"

#define RIGHTS_IN_FLIGHT_MAX 3U  /* of the four threads of a vCenter's worker pool: sign-ons find one */
#define RIGHTS_BACKGROUND_MAX 2U /* of those */
#define RIGHTS_BURST_S 1U        /* seconds' worth of questions that may go out at once after a pause */
#define RIGHTS_RETRY_MS 5000     /* after a failed question in the background */
#define RIGHTS_HANG_MS 5000      /* a question under way for so long: the vCenter does not answer */

struct rights_subject {
    struct hashmap_node node;
    struct rights_vcenter *vc;
    char *user_name;
    char *session_key;  /* NULL: asked by name */
    uint64_t name_hash; /* of the name without domain; 0: it has no form we know */
    unsigned refs;
    /* the answer */
    struct shared_objects *objects; /* NULL: never said, or dropped */
    uint64_t dropped;               /* order of the last event about this person */
    bool is_empty_for_sure;         /* "nothing" was said by key, and by name too: the session is alive */
    bool has_ended;
    /* activity */
    bool is_active;
    int64_t used_ms, tried_ms;
    struct rights_subject *active_prev, *active_next;
    /* the line */
    bool is_in_line, is_in_flight;
    struct rights_subject *line_next;
    struct signon_wait *waits;
};

/* What belongs to one vCenter. Lives as long as the cache: there are only as many as were ever configured. */
struct rights_vcenter {
    struct rights_vcenter *next;
    struct rights_cache *cache;
    char id[37];
    pthread_mutex_t lock; /* guards everything below, and the subjects; no call goes out while it is held */
    struct hashmap subjects;
    struct rights_subject *active;
    struct rights_subject *line_first, *line_last;
    unsigned line_count;
    uint64_t dropped_all;  /* order of the last event about everybody */
    uint64_t dropped_some; /* order of the last event about anybody: for people who are not known here yet */
    uint64_t interest,
        widened; /* mark of what matters, and the order of its last change: answers from before say nothing about the rest */
    int64_t refilled_ms, milli_tokens;
    unsigned in_flight;
    int64_t flight_ms[RIGHTS_IN_FLIGHT_MAX]; /* when each question went out; 0: free */
    int64_t outage_ms;                       /* 0: it can be asked */
};

struct rights_cache {
    const struct signon_asker *asker;
    struct rights_pace pace;
    atomic_bool is_stopped;
    pthread_mutex_t lock; /* guards the list, which only grows */
    struct rights_vcenter *vcenters;
    struct metric *asked_behind, *asked_before, *shared, *dropped, *refused;
};

/* -- answers of vCenters ----------------------------------------------------------------------------------------------- */

struct shared_objects {
    atomic_uint refs;
    struct asked_at asked;
    struct object_set set;
};

static atomic_uint_least64_t asked_order;

struct asked_at asked_now(void) {
    return (struct asked_at){
        .wall_ms = clock_wall_ms(), .mono_ms = clock_mono_ms(), .order = atomic_fetch_add(&asked_order, 1) + 1};
}

struct shared_objects *shared_objects_new(struct object_set *take, struct asked_at asked) {
    struct shared_objects *objects = calloc(1, sizeof(*objects));
    if (!objects) {
        object_set_done(take);
        return NULL;
    }
    atomic_init(&objects->refs, 1);
    objects->asked = asked;
    objects->set = *take;
    memset(take, 0, sizeof(*take));
    return objects;
}

struct shared_objects *shared_objects_ref(struct shared_objects *objects) {
    (void)atomic_fetch_add(&objects->refs, 1);
    return objects;
}

void shared_objects_unref(struct shared_objects *objects) {
    if (!objects || atomic_fetch_sub(&objects->refs, 1) != 1)
        return;
    object_set_done(&objects->set);
    free(objects);
}

const struct object_set *shared_objects_get(const struct shared_objects *objects) {
    return &objects->set;
}

/* -- life -------------------------------------------------------------------------------------------------------------- */

struct rights_cache *rights_cache_new(const struct signon_asker *asker, const struct rights_pace *pace) {
    struct rights_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return NULL;
    cache->asker = asker;
    cache->pace = *pace;
    (void)pthread_mutex_init(&cache->lock, NULL);
    cache->asked_behind = metric_get(METRIC_RIGHTS_QUESTIONS, "background");
    cache->asked_before = metric_get(METRIC_RIGHTS_QUESTIONS, "request");
    cache->shared = metric_get(METRIC_RIGHTS_SHARED);
    cache->dropped = metric_get(METRIC_RIGHTS_DROPPED);
    cache->refused = metric_get(METRIC_RIGHTS_REFUSED);
    return cache;
}

static void free_subject(struct rights_subject *subject) {
    shared_objects_unref(subject->objects);
    free(subject->user_name);
    free(subject->session_key);
    free(subject);
}

void rights_cache_free(struct rights_cache *cache) {
    if (!cache)
        return;
    while (cache->vcenters) {
        struct rights_vcenter *vc = cache->vcenters;
        struct rights_subject *next;
        for (struct rights_subject *s = hashmap_first(&vc->subjects, 0); s; s = next) {
            next = hashmap_next(&vc->subjects, &s->node);
            free_subject(s);
        }
        hashmap_done(&vc->subjects);
        (void)pthread_mutex_destroy(&vc->lock);
        cache->vcenters = vc->next;
        free(vc);
    }
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* -- activity: all need the lock ------------------------------------------------------------------------------------------------------------ */

static void rights_touch(struct rights_subject *s) {
    struct rights_vcenter *vc = s->vc;
    s->used_ms = clock_mono_ms();
    if (s->is_active)
        return;
    s->is_active = true;
    s->active_prev = NULL;
    s->active_next = vc->active;
    if (vc->active)
        vc->active->active_prev = s;
    vc->active = s;
}

static void rights_forget_active(struct rights_subject *s) {
    if (!s->is_active)
        return;
    if (s->active_prev)
        s->active_prev->active_next = s->active_next;
    else
        s->vc->active = s->active_next;
    if (s->active_next)
        s->active_next->active_prev = s->active_prev;
    s->is_active = false;
}

/* -- finding ------------------------------------------------------------------------------------------------------------- */

static struct rights_vcenter *make_vcenter(struct rights_cache *cache, const char *id) {
    struct rights_vcenter *vc = calloc(1, sizeof(*vc));
    if (!vc)
        return NULL;
    vc->cache = cache;
    (void)snprintf(vc->id, sizeof(vc->id), "%s", id);
    (void)pthread_mutex_init(&vc->lock, NULL);
    vc->refilled_ms = clock_mono_ms();
    vc->milli_tokens = 1000LL * RIGHTS_BURST_S * cache->pace.per_s;
    vc->next = cache->vcenters;
    cache->vcenters = vc;
    return vc;
}

static struct rights_vcenter *get_vcenter(struct rights_cache *cache, const char *id) {
    struct rights_vcenter *vc;
    LOCKED(&cache->lock);
    for (vc = cache->vcenters; vc && !str_eq_nocase(vc->id, id); vc = vc->next)
        continue;
    if (!vc)
        vc = make_vcenter(cache, id);
    return vc;
}

/* Without regard to the case of ASCII letters. */
static uint64_t rights_hash(const char *text) {
    uint64_t hash = hash_seed();
    char low[64];
    do {
        size_t n = 0;
        for (; n < sizeof(low) && *text; n++, text++)
            low[n] = (char)(*text >= 'A' && *text <= 'Z' ? *text + 32 : *text);
        hash = hash64(hash, low, n);
    } while (*text);
    return hash;
}

/* The name without its domain, whose spelling varies; NULL if this is no stored form. */
static const char *rights_cache_bare_name(const char *user_name) {
    const char *slash = user_name ? strrchr(user_name, '\\') : NULL;
    return slash && slash != user_name && slash[1] ? slash + 1 : NULL;
}

/* In all scripts: an event names somebody as a permission does, not as a session does. 0 only for what has no form we know. */
static uint64_t rights_hash_name(const char *user_name) {
    _cleanup_free_ char *name = str_dup(rights_cache_bare_name(user_name));
    uint64_t hash;
    if (!name)
        return 0;
    name_fold(name);
    hash = rights_hash(name);
    return hash ? hash : 1;
}

/* By key the name must fit too: one key is one session, but it costs nothing to be strict. Accounts that a vCenter may tell apart never share what it said about one. */
static bool rights_is_person(const void *subject, const void *wanted) {
    const struct rights_subject *s = subject;
    const struct rights_person *person = wanted;
    return str_eq(s->session_key, person->session_key) && str_eq_nocase(s->user_name, person->user_name);
}

static struct rights_subject *make_subject(struct rights_vcenter *vc, const struct rights_person *person) {
    struct rights_subject *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->vc = vc;
    s->user_name = str_dup(person->user_name);
    s->session_key = str_dup(person->session_key);
    s->name_hash = rights_hash_name(person->user_name);
    if (!s->user_name || (person->session_key && !s->session_key)) {
        free_subject(s);
        return NULL;
    }
    s->dropped = vc->dropped_some; /* the event may have been about this one */
    s->tried_ms = INT64_MIN / 2;
    return s;
}

struct rights_subject *rights_subject_get(struct rights_cache *cache, const struct rights_person *person) {
    struct rights_vcenter *vc = get_vcenter(cache, person->vcenter_id);
    const uint64_t hash = rights_hash(person->session_key ? person->session_key : person->user_name);
    struct rights_subject *s;
    if (!vc)
        return NULL;
    LOCKED(&vc->lock);
    s = hashmap_find(&vc->subjects, hash, rights_is_person, person);
    if (!s) {
        s = make_subject(vc, person);
        if (s)
            hashmap_insert(&vc->subjects, &s->node, hash);
    }
    if (s)
        s->refs++;
    return s;
}

void rights_subject_ref(struct rights_subject *s) {
    LOCKED(&s->vc->lock);
    s->refs++;
}

/* Who is in the line or asked about has waits or a question, which hold references. */
void rights_subject_unref(struct rights_subject *s) {
    struct rights_vcenter *vc;
    bool is_last;
    if (!s)
        return;
    vc = s->vc;
    (void)pthread_mutex_lock(&vc->lock);
    is_last = --s->refs == 0;
    if (is_last) {
        hashmap_remove(&vc->subjects, &s->node);
        rights_forget_active(s);
    }
    (void)pthread_mutex_unlock(&vc->lock);
    if (is_last)
        free_subject(s);
}

const char *rights_subject_vcenter(const struct rights_subject *s) {
    return s->vc->id;
}

const char *rights_subject_user(const struct rights_subject *s) {
    return s->user_name;
}

/* -- answers ------------------------------------------------------------------------------------------------------------- */

/* Needs the lock. Judged when it is used, so an answer that crossed an event may be kept: it is never good. */
static bool rights_is_usable(const struct rights_subject *s) {
    uint64_t order = s->objects ? s->objects->asked.order : 0;
    return order > s->dropped && order > s->vc->dropped_all;
}

/* Needs the lock. Takes an answer; returns the reference that is not needed any more, to be dropped without the lock. */
static struct shared_objects *rights_put_answer(struct rights_subject *s, struct shared_objects *answer) {
    struct shared_objects *old = s->objects;
    if (old && answer->asked.order < old->asked.order)
        return answer;
    s->objects = answer;
    if (shared_objects_get(answer)->count)
        s->is_empty_for_sure = false;
    return old;
}

void rights_subject_offer(struct rights_subject *s, struct shared_objects *answer) {
    struct shared_objects *unused;
    (void)pthread_mutex_lock(&s->vc->lock);
    unused = rights_put_answer(s, answer);
    (void)pthread_mutex_unlock(&s->vc->lock);
    shared_objects_unref(unused);
}

/* Needs the lock. The vCenter does not answer now; `is_unreachable` is what its link says. Notes beginning and end of an outage. */
static bool rights_note_away(struct rights_vcenter *vc, bool is_unreachable) {
    const int64_t now_ms = clock_mono_ms();
    bool is_away = is_unreachable;
    for (size_t i = 0; i < RIGHTS_IN_FLIGHT_MAX; i++)
        is_away |= vc->flight_ms[i] && now_ms - vc->flight_ms[i] > RIGHTS_HANG_MS;
    if (!is_away)
        vc->outage_ms = 0;
    else if (!vc->outage_ms)
        vc->outage_ms = now_ms;
    return vc->outage_ms != 0;
}

void rights_subject_read(struct rights_subject *s, bool is_used, struct rights_known *out) {
    bool is_unreachable = signon_is_unreachable(s->vc->cache->asker, s->vc->id);
    *out = (struct rights_known){.age_ms = -1};
    LOCKED(&s->vc->lock);
    out->is_away = rights_note_away(s->vc, is_unreachable);
    out->outage_ms = s->vc->outage_ms;
    out->has_ended = s->has_ended;
    if (rights_is_usable(s)) {
        struct asked_at asked = s->objects->asked;
        out->objects = shared_objects_ref(s->objects);
        out->as_of_ms = asked.wall_ms;
        out->is_narrow = asked.order < s->vc->widened;
        out->age_ms = clock_mono_ms() - asked.mono_ms;
    }
    if (is_used && !s->has_ended)
        rights_touch(s);
}

/* -- events -------------------------------------------------------------------------------------------------------------- */

void rights_cache_drop(struct rights_cache *cache, const char *vcenter_id, const char *user_name) {
    struct rights_vcenter *vc = get_vcenter(cache, vcenter_id);
    uint64_t wanted = rights_hash_name(user_name);
    uint64_t order = asked_now().order;
    if (!vc)
        return;
    metric_add(cache->dropped, 1);
    LOCKED(&vc->lock);
    vc->dropped_some = order;
    if (!wanted)
        vc->dropped_all = order;
    /* also people whose name has no form we know; somebody with the same hash by chance is asked about once more, no harm */
    for (struct rights_subject *s = wanted ? hashmap_first(&vc->subjects, 0) : NULL; s; s = hashmap_next(&vc->subjects, &s->node))
        if (!s->name_hash || s->name_hash == wanted)
            s->dropped = order;
}

/* -- the rate: all need the lock ----------------------------------------------------------------------------------------------- */

static int64_t burst_of(const struct rights_vcenter *vc) {
    return 1000LL * RIGHTS_BURST_S * vc->cache->pace.per_s;
}

static void rights_refill(struct rights_vcenter *vc, int64_t now_ms) {
    vc->milli_tokens += (now_ms - vc->refilled_ms) * vc->cache->pace.per_s;
    vc->refilled_ms = now_ms;
    if (vc->milli_tokens > burst_of(vc))
        vc->milli_tokens = burst_of(vc);
}

static bool may_ask_behind(const struct rights_vcenter *vc) {
    int64_t burst = burst_of(vc), needed = burst / 2 + 1000;
    int64_t brim = burst - (int64_t)SIGNON_RIGHTS_TICK_MS *
                               vc->cache->pace.per_s; /* above it, the bucket would overflow between two ticks */
    if (needed > brim)
        needed = brim > 1000 ? brim : 1000;
    return vc->in_flight < RIGHTS_BACKGROUND_MAX && vc->milli_tokens >= needed;
}

/* -- the line: all need the lock ----------------------------------------------------------------------------------------------- */

static void rights_join_line(struct rights_subject *s, bool is_first) {
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

static void rights_leave_line(struct rights_subject *s) {
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

/* The time when the answer was asked for; what is not usable counts as older than anything. */
static int64_t answer_ms(const struct rights_subject *s) {
    return rights_is_usable(s) ? s->objects->asked.mono_ms : INT64_MIN;
}

static bool rights_is_due(const struct rights_subject *s, int64_t now_ms) {
    if (s->is_in_flight || s->is_in_line || s->has_ended || now_ms - s->tried_ms < RIGHTS_RETRY_MS)
        return false;
    if (!rights_is_usable(s) || s->objects->asked.order < s->vc->widened)
        return true;
    return now_ms - answer_ms(s) >=
           s->vc->cache->pace.fresh_ms * 2 / 3; /* before it gets old, so that nobody meets an old answer */
}

/* The active one with the oldest answer, if it is due. Who was not seen for two fresh times is active no more. */
static struct rights_subject *oldest_due(struct rights_vcenter *vc, int64_t now_ms) {
    struct rights_subject *oldest = NULL;
    for (struct rights_subject *s = vc->active; s;) {
        struct rights_subject *next = s->active_next;
        if (!s->waits && now_ms - s->used_ms > 2 * vc->cache->pace.fresh_ms)
            rights_forget_active(s);
        else if (rights_is_due(s, now_ms) && (!oldest || answer_ms(s) < answer_ms(oldest)))
            oldest = s;
        s = next;
    }
    return oldest;
}

/* -- asking -------------------------------------------------------------------------------------------------------------------- */

struct rights_question {
    struct rights_subject *subject; /* one reference */
    size_t slot;
};

/* Needs the lock. The subject of the next question, if one may go out now. */
static struct rights_subject *next_subject(struct rights_vcenter *vc, int64_t now_ms) {
    struct rights_subject *s = NULL;
    rights_refill(vc, now_ms);
    if (vc->in_flight >= RIGHTS_IN_FLIGHT_MAX || vc->milli_tokens < 1000)
        return NULL;
    if (vc->line_first) {
        s = vc->line_first;
        rights_leave_line(s);
        metric_add(vc->cache->asked_before, 1);
    } else if (may_ask_behind(vc)) {
        s = oldest_due(vc, now_ms);
        if (s)
            metric_add(vc->cache->asked_behind, 1);
    }
    if (s)
        vc->milli_tokens -= 1000;
    return s;
}

/* Takes the next question out; false if none may go out now. */
static bool next_question(struct rights_vcenter *vc, bool is_unreachable, struct rights_question *out) {
    int64_t now_ms = clock_mono_ms();
    struct rights_subject *s = NULL;
    LOCKED(&vc->lock);
    if (!atomic_load(&vc->cache->is_stopped) && !is_unreachable)
        s = next_subject(vc, now_ms);
    if (s) {
        size_t slot = 0;
        while (vc->flight_ms[slot])
            slot++;
        vc->flight_ms[slot] = now_ms ? now_ms : 1;
        vc->in_flight++;
        s->is_in_flight = true;
        s->tried_ms = now_ms;
        s->refs++;
        *out = (struct rights_question){.subject = s, .slot = slot};
    }
    return s != NULL;
}

/* Calls what waited. Each may be gone once it was called. */
static void rights_wake(struct signon_wait *waits, int rc, const struct err *why) {
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
static void rights_finish(struct rights_question *q, int rc, struct shared_objects *answer, const struct err *why) {
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
        rights_join_line(s, true);
    } else {
        waits = s->waits;
        s->waits = NULL;
    }
    (void)pthread_mutex_unlock(&vc->lock);
    shared_objects_unref(answer);
    rights_wake(waits, rc, why);
}

/* A further question for the same answer: one like any other, so the bucket may go below zero. */
static int ask_further(struct rights_subject *s, const char *session_key, struct object_set *out, struct err *err) {
    (void)pthread_mutex_lock(&s->vc->lock);
    s->vc->milli_tokens -= 1000;
    (void)pthread_mutex_unlock(&s->vc->lock);
    metric_add(s->vc->cache->asked_behind, 1);
    return signon_ask_rights(s->vc->cache->asker, s->vc->id, session_key, s->user_name, out, err);
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
    object_set_done(&by_name);
    if (rc)
        return 0;
    if (!has_some) {
        (void)pthread_mutex_lock(&s->vc->lock);
        s->is_empty_for_sure = true;
        (void)pthread_mutex_unlock(&s->vc->lock);
        return 0;
    }
    /* somebody may have been given rights between the two questions: only who still has none by the session has no session */
    rc = ask_further(s, s->session_key, out, err);
    if (rc || out->count)
        return rc;
    return err_set(err, ERR_SESSION_ENDED, "the session at the vCenter by which you signed in has ended; sign in again");
}

static int rights_ask(struct rights_subject *s, struct shared_objects **out, struct err *err) {
    struct asked_at asked = asked_now();
    struct object_set set = {0};
    int rc = signon_ask_rights(s->vc->cache->asker, s->vc->id, s->session_key, s->user_name, &set, err);
    if (!rc && !set.count)
        rc = look_behind_nothing(s, &set, err);
    if (rc) {
        object_set_done(&set);
        return rc;
    }
    *out = shared_objects_new(&set, asked);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Sends what may go out now. Without the lock. */
static void rights_pump(struct rights_vcenter *vc);

/* In the vCenter's worker pool. */
static void run_question(void *arg, bool is_canceled) {
    struct rights_question *q = arg;
    struct rights_vcenter *vc = q->subject->vc;
    struct shared_objects *answer = NULL;
    struct err why = {0};
    int rc;
    if (is_canceled) { /* the worker pool ends, as when the vCenter got another address */
        rc = err_set(&why, ERR_RIGHTS_UNKNOWN, "what you may see is not known yet: the link to the vCenter is being made anew");
        why.retry_after_s = 1;
    } else {
        rc = rights_ask(q->subject, &answer, &why);
    }
    rights_finish(q, rc, answer, &why);
    rights_subject_unref(q->subject);
    free(q);
    if (!is_canceled)
        rights_pump(vc);
}

/* Nothing could be queued: those who wait stay in the line, and the next tick tries again. */
static void rights_put_back(struct rights_question *q) {
    struct rights_subject *s = q->subject;
    (void)pthread_mutex_lock(&s->vc->lock);
    s->vc->in_flight--;
    s->vc->flight_ms[q->slot] = 0;
    s->is_in_flight = false;
    if (s->waits)
        rights_join_line(s, true);
    (void)pthread_mutex_unlock(&s->vc->lock);
    rights_subject_unref(s);
}

static bool send_question(struct rights_question *taken) {
    struct rights_question *q = malloc(sizeof(*q));
    if (q)
        *q = *taken;
    if (q &&
        !signon_submit(taken->subject->vc->cache->asker, taken->subject->vc->id, WORKER_POOL_NO_PARTY, run_question, q, NULL))
        return true;
    free(q);
    rights_put_back(taken);
    return false;
}

static void rights_pump(struct rights_vcenter *vc) {
    bool is_unreachable = signon_is_unreachable(vc->cache->asker, vc->id);
    struct rights_question q;
    while (next_question(vc, is_unreachable, &q))
        if (!send_question(&q))
            return;
}

/* -- waiting ------------------------------------------------------------------------------------------------------------------- */

/* Needs the lock. How long somebody who joins now would wait. */
static int64_t wait_ms(struct rights_vcenter *vc) {
    int64_t ahead = 1000LL * vc->line_count;
    rights_refill(vc, clock_mono_ms());
    ahead -= vc->milli_tokens;
    return ahead > 0 ? ahead / vc->cache->pace.per_s : 0;
}

/* Needs the lock. */
static int rights_join(struct rights_subject *s, struct signon_wait *wait, struct err *err) {
    int64_t ms = s->is_in_line || s->is_in_flight ? 0 : wait_ms(s->vc);
    if (atomic_load(&s->vc->cache->is_stopped))
        return err_set(err, ERR_CANCELED, "the service is stopping");
    rights_touch(s);
    if (ms > KAAS_RIGHTS_WAIT_MS) {
        metric_add(s->vc->cache->refused, 1);
        (void)err_set(err, ERR_RIGHTS_UNKNOWN, "what you may see is not known yet: the vCenter is being asked about many people");
        if (err)
            err->retry_after_s = (unsigned)(ms / 1000 + 1);
        return ERR_RIGHTS_UNKNOWN;
    }
    if (s->is_in_line || s->is_in_flight)
        metric_add(s->vc->cache->shared, 1);
    else
        rights_join_line(s, false);
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
    rc = rights_join(s, wait, err);
    (void)pthread_mutex_unlock(&vc->lock);
    if (!rc)
        rights_pump(vc);
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
        rights_leave_line(s);
}

/* Everybody who waits is active: found there. */
static struct signon_wait *rights_cache_take_over(struct rights_vcenter *vc, int64_t now_ms) {
    struct signon_wait *over = NULL;
    LOCKED(&vc->lock);
    for (struct rights_subject *s = vc->active; s; s = s->active_next)
        if (s->waits)
            take_over_due(s, now_ms, &over);
    return over;
}

static void rights_tick_vcenter(struct rights_vcenter *vc) {
    uint64_t mark = signon_mark_of_interest(vc->cache->asker, vc->id);
    bool is_unreachable = signon_is_unreachable(vc->cache->asker, vc->id);
    struct err why = {0};
    bool is_away;
    (void)pthread_mutex_lock(&vc->lock);
    if (vc->interest && vc->interest != mark)
        vc->widened = asked_now().order;
    vc->interest = mark;
    is_away = rights_note_away(vc, is_unreachable);
    (void)pthread_mutex_unlock(&vc->lock);
    if (is_away) { /* nobody waits for one that does not answer */
        (void)err_set(&why, ERR_UNREACHABLE, "the vCenter does not answer, so what you may see is not known");
        rights_wake(rights_cache_take_over(vc, INT64_MAX), ERR_UNREACHABLE, &why);
        return;
    }
    rights_pump(vc);
    (void)err_set(&why, ERR_RIGHTS_UNKNOWN, "what you may see is not known yet: the vCenter did not answer in time");
    why.retry_after_s = 2;
    rights_wake(rights_cache_take_over(vc, clock_mono_ms()), ERR_RIGHTS_UNKNOWN, &why);
}

/* The list only grows at its head, so what was read of it stays right without the lock. */
static struct rights_vcenter *first_vcenter(struct rights_cache *cache) {
    LOCKED(&cache->lock);
    return cache->vcenters;
}

void rights_cache_tick(struct rights_cache *cache) {
    for (struct rights_vcenter *vc = first_vcenter(cache); vc; vc = vc->next)
        rights_tick_vcenter(vc);
}

void rights_cache_stop(struct rights_cache *cache) {
    struct err why = {0};
    (void)err_set(&why, ERR_CANCELED, "the service is stopping");
    atomic_store(&cache->is_stopped, true);
    for (struct rights_vcenter *vc = first_vcenter(cache); vc; vc = vc->next)
        rights_wake(rights_cache_take_over(vc, INT64_MAX), ERR_CANCELED, &why);
}
