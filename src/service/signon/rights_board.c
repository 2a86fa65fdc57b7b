/* The board of rights: subjects, their answers, events. Layer 4 (service/signon). Asking is rights_line.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "rights_private.h"
#include "str.h"

struct rights_board *rights_board_new(const struct signon_vcenter_ops *ops, const struct rights_pace *pace) {
    struct rights_board *board = calloc(1, sizeof(*board));
    if (!board)
        return NULL;
    board->ops = ops;
    board->pace = *pace;
    (void)pthread_mutex_init(&board->lock, NULL);
    board->asked_behind =
        metric_get(METRIC_COUNTER, "kaas_rights_questions_total",
                   "Questions to vCenters about the rights of people, by who needed the answer", "for", "background");
    board->asked_before =
        metric_get(METRIC_COUNTER, "kaas_rights_questions_total",
                   "Questions to vCenters about the rights of people, by who needed the answer", "for", "request");
    board->shared = metric_get(METRIC_COUNTER, "kaas_rights_shared_total",
                               "Requests that waited for a question about rights that was on its way already", NULL, NULL);
    board->dropped = metric_get(METRIC_COUNTER, "kaas_rights_dropped_total",
                                "Events after which known rights were not used any more", NULL, NULL);
    board->refused = metric_get(METRIC_COUNTER, "kaas_rights_refused_total",
                                "Requests turned away because too many questions about rights were waiting", NULL, NULL);
    return board;
}

static void free_subject(struct rights_subject *subject) {
    shared_objects_unref(subject->objects);
    free(subject->user_name);
    free(subject->session_key);
    free(subject);
}

static void free_vcenter(struct rights_vcenter *vc) {
    struct rights_subject *next;
    for (struct rights_subject *s = hashmap_first(&vc->subjects, 0); s; s = next) {
        next = hashmap_next(&vc->subjects, &s->node);
        free_subject(s);
    }
    hashmap_done(&vc->subjects);
    (void)pthread_mutex_destroy(&vc->lock);
    free(vc);
}

void rights_board_free(struct rights_board *board) {
    if (!board)
        return;
    for (struct rights_vcenter *vc = board->vcenters; vc;) {
        struct rights_vcenter *next = vc->next;
        free_vcenter(vc);
        vc = next;
    }
    (void)pthread_mutex_destroy(&board->lock);
    free(board);
}

/* -- finding ------------------------------------------------------------------------------------------------------------- */

static struct rights_vcenter *make_vcenter(struct rights_board *board, const char *id) {
    struct rights_vcenter *vc = calloc(1, sizeof(*vc));
    if (!vc)
        return NULL;
    vc->board = board;
    (void)snprintf(vc->id, sizeof(vc->id), "%s", id);
    (void)pthread_mutex_init(&vc->lock, NULL);
    vc->refilled_ms = clock_mono_ms();
    vc->milli_tokens = 1000LL * RIGHTS_BURST_S * board->pace.per_s;
    vc->next = board->vcenters;
    board->vcenters = vc;
    return vc;
}

static struct rights_vcenter *get_vcenter(struct rights_board *board, const char *id) {
    struct rights_vcenter *vc;
    (void)pthread_mutex_lock(&board->lock);
    for (vc = board->vcenters; vc && !str_eq_nocase(vc->id, id); vc = vc->next)
        continue;
    if (!vc)
        vc = make_vcenter(board, id);
    (void)pthread_mutex_unlock(&board->lock);
    return vc;
}

/* Without regard to case. */
static uint64_t hash_of(const char *text) {
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
static const char *bare_name(const char *user_name) {
    const char *slash = user_name ? strrchr(user_name, '\\') : NULL;
    return slash && slash != user_name && slash[1] ? slash + 1 : NULL;
}

/* 0 only for what has no form we know. */
static uint64_t hash_of_name(const char *user_name) {
    const char *name = bare_name(user_name);
    uint64_t hash = name ? hash_of(name) : 0;
    return name && !hash ? 1 : hash;
}

/* By key the name must fit too: one key is one session, but it costs nothing to be strict. */
static bool is_person(const void *subject, const void *wanted) {
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
    s->name_hash = hash_of_name(person->user_name);
    if (!s->user_name || (person->session_key && !s->session_key)) {
        free_subject(s);
        return NULL;
    }
    s->dropped = vc->dropped_some; /* the event may have been about this one */
    s->tried_ms = INT64_MIN / 2;
    return s;
}

struct rights_subject *rights_subject_get(struct rights_board *board, const struct rights_person *person) {
    struct rights_vcenter *vc = get_vcenter(board, person->vcenter_id);
    const uint64_t hash = hash_of(person->session_key ? person->session_key : person->user_name);
    struct rights_subject *s;
    if (!vc)
        return NULL;
    (void)pthread_mutex_lock(&vc->lock);
    s = hashmap_find(&vc->subjects, hash, is_person, person);
    if (!s) {
        s = make_subject(vc, person);
        if (s)
            hashmap_insert(&vc->subjects, &s->node, hash);
    }
    if (s)
        s->refs++;
    (void)pthread_mutex_unlock(&vc->lock);
    return s;
}

void rights_subject_ref(struct rights_subject *s) {
    (void)pthread_mutex_lock(&s->vc->lock);
    s->refs++;
    (void)pthread_mutex_unlock(&s->vc->lock);
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

/* -- activity ------------------------------------------------------------------------------------------------------------ */

void rights_touch(struct rights_subject *s) {
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

void rights_forget_active(struct rights_subject *s) {
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

/* -- answers ------------------------------------------------------------------------------------------------------------- */

/* Judged when it is used, so an answer that crossed an event may be kept: it is never good. */
bool rights_is_usable(const struct rights_subject *s) {
    uint64_t order = s->objects ? shared_objects_asked(s->objects).order : 0;
    return order > s->dropped && order > s->vc->dropped_all;
}

struct shared_objects *rights_put_answer(struct rights_subject *s, struct shared_objects *answer) {
    struct shared_objects *old = s->objects;
    if (old && shared_objects_asked(answer).order < shared_objects_asked(old).order)
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

static bool is_hanging(const struct rights_vcenter *vc) {
    int64_t now_ms = clock_mono_ms();
    for (size_t i = 0; i < RIGHTS_IN_FLIGHT_MAX; i++)
        if (vc->flight_ms[i] && now_ms - vc->flight_ms[i] > RIGHTS_HANG_MS)
            return true;
    return false;
}

bool rights_note_away(struct rights_vcenter *vc, bool is_unreachable) {
    if (!is_unreachable && !is_hanging(vc))
        vc->outage_ms = 0;
    else if (!vc->outage_ms)
        vc->outage_ms = clock_mono_ms();
    return vc->outage_ms != 0;
}

void rights_subject_read(struct rights_subject *s, bool is_used, struct rights_known *out) {
    const struct signon_vcenter_ops *ops = s->vc->board->ops;
    bool is_unreachable = ops->is_unreachable(ops->arg, s->vc->id);
    *out = (struct rights_known){.age_ms = -1};
    (void)pthread_mutex_lock(&s->vc->lock);
    out->is_away = rights_note_away(s->vc, is_unreachable);
    out->outage_ms = s->vc->outage_ms;
    out->has_ended = s->has_ended;
    if (rights_is_usable(s)) {
        struct asked_at asked = shared_objects_asked(s->objects);
        out->objects = shared_objects_ref(s->objects);
        out->as_of_ms = asked.wall_ms;
        out->age_ms = clock_mono_ms() - asked.mono_ms;
    }
    if (is_used && !s->has_ended)
        rights_touch(s);
    (void)pthread_mutex_unlock(&s->vc->lock);
}

/* -- events -------------------------------------------------------------------------------------------------------------- */

/* Needs the lock. Also people whose name has no form we know; somebody with the same hash by chance is asked about once more, no harm. */
static void drop_named(struct rights_vcenter *vc, uint64_t wanted, uint64_t order) {
    for (struct rights_subject *s = hashmap_first(&vc->subjects, 0); s; s = hashmap_next(&vc->subjects, &s->node))
        if (!s->name_hash || s->name_hash == wanted)
            s->dropped = order;
}

void rights_board_drop(struct rights_board *board, const char *vcenter_id, const char *user_name) {
    struct rights_vcenter *vc = get_vcenter(board, vcenter_id);
    uint64_t wanted = hash_of_name(user_name);
    uint64_t order = asked_now().order;
    if (!vc)
        return;
    (void)pthread_mutex_lock(&vc->lock);
    vc->dropped_some = order;
    if (wanted)
        drop_named(vc, wanted, order);
    else
        vc->dropped_all = order;
    (void)pthread_mutex_unlock(&vc->lock);
    metric_add(board->dropped, 1);
}
