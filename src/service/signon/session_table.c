/* The sessions in memory by sid: hash maps with a lock each. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It is a cache of the database: what is not in it is read when its token comes. What a request holds stays in it, so that whoever holds a session hears of its
 * end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hashmap.h"
#include "live_session.h"
#include "str.h"
#include "uuid.h"

#define STRIPES 64U      /* power of two */
#define SAMPLE 64U       /* so many that may leave are looked at, and the one used longest ago leaves */
#define SAMPLE_MAX 1024U /* with those that had better stay */
#define TRIES 4U

struct stripe {
    pthread_mutex_t lock; /* guards sessions */
    struct hashmap sessions;
};

struct session_table {
    struct stripe stripes[STRIPES];
    atomic_size_t count;
};

struct session_table *session_table_new(void) {
    struct session_table *table = calloc(1, sizeof(*table));
    for (size_t i = 0; table && i < STRIPES; i++)
        (void)pthread_mutex_init(&table->stripes[i].lock, NULL);
    return table;
}

void session_table_free(struct session_table *table) {
    struct live_session *next;
    if (!table)
        return;
    for (size_t i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &table->stripes[i];
        for (struct live_session *live = hashmap_first(&stripe->sessions, 0); live; live = next) {
            next = hashmap_next(&stripe->sessions, live_session_node(live));
            live_session_unref(live);
        }
        hashmap_done(&stripe->sessions);
        (void)pthread_mutex_destroy(&stripe->lock);
    }
    free(table);
}

static uint64_t hash_of(const char *sid) {
    return hash64_text(hash_seed(), sid);
}

/* By bits that choose no bucket. */
static struct stripe *lock_stripe(struct session_table *table, uint64_t hash) {
    struct stripe *stripe = &table->stripes[hash >> 32 & (STRIPES - 1)];
    (void)pthread_mutex_lock(&stripe->lock);
    return stripe;
}

static void unlock_stripe(struct stripe *stripe) {
    (void)pthread_mutex_unlock(&stripe->lock);
}

/* -- needs the lock of the stripe, as the next two ---------------------------------------------------------------------------------- */

static bool has_sid(const void *live, const void *sid) {
    return str_eq(live_session_sid(live), sid);
}

static struct live_session *find(const struct stripe *stripe, uint64_t hash, const char *sid) {
    return hashmap_find(&stripe->sessions, hash, has_sid, sid);
}

static void drop(struct session_table *table, struct stripe *stripe, struct live_session *live) {
    hashmap_remove(&stripe->sessions, live_session_node(live));
    (void)atomic_fetch_sub(&table->count, 1);
    live_session_unref(live);
}

/* -- one session -------------------------------------------------------------------------------------------------------------------- */

struct live_session *session_table_find(struct session_table *table, const char *sid) {
    const uint64_t hash = hash_of(sid);
    struct stripe *stripe = lock_stripe(table, hash);
    struct live_session *live = find(stripe, hash, sid);
    if (live)
        (void)live_session_ref(live);
    unlock_stripe(stripe);
    return live;
}

struct live_session *session_table_put(struct session_table *table, struct live_session *live) {
    const uint64_t hash = hash_of(live_session_sid(live));
    struct stripe *stripe = lock_stripe(table, hash);
    struct live_session *kept = find(stripe, hash, live_session_sid(live));
    if (!kept) {
        kept = live_session_ref(live);
        hashmap_insert(&stripe->sessions, live_session_node(live), hash);
        (void)atomic_fetch_add(&table->count, 1);
    }
    (void)live_session_ref(kept);
    unlock_stripe(stripe);
    return kept;
}

bool session_table_forget(struct session_table *table, const char *sid) {
    const uint64_t hash = hash_of(sid);
    struct stripe *stripe = lock_stripe(table, hash);
    struct live_session *live = find(stripe, hash, sid);
    const bool is_held = live && live_session_is_held(live); /* nobody gets hold of it without this lock */
    if (live && !is_held)
        drop(table, stripe, live);
    unlock_stripe(stripe);
    return !is_held;
}

void session_table_remove(struct session_table *table, const char *sid) {
    const uint64_t hash = hash_of(sid);
    struct stripe *stripe = lock_stripe(table, hash);
    struct live_session *live = find(stripe, hash, sid);
    if (live)
        drop(table, stripe, live);
    unlock_stripe(stripe);
}

/* -- all sessions ------------------------------------------------------------------------------------------------------------------- */

struct live_session **session_table_list(struct session_table *table, const char *principal_id, size_t *count) {
    const size_t room = session_table_count(table) + 64; /* what comes in meanwhile is new enough to need no look */
    struct live_session **items = calloc(room, sizeof(struct live_session *)), *live;
    size_t n = 0;
    for (size_t i = 0; items && i < STRIPES; i++) {
        struct stripe *stripe = &table->stripes[i];
        (void)pthread_mutex_lock(&stripe->lock);
        for (live = hashmap_first(&stripe->sessions, 0); live && n < room;
             live = hashmap_next(&stripe->sessions, live_session_node(live)))
            if (!principal_id || str_eq(live_session_who(live)->id, principal_id))
                items[n++] = live_session_ref(live);
        unlock_stripe(stripe);
    }
    *count = n;
    return items;
}

size_t session_table_purge(struct session_table *table, int64_t now_ms) {
    struct live_session *next;
    size_t removed = 0;
    for (size_t i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &table->stripes[i];
        (void)pthread_mutex_lock(&stripe->lock);
        for (struct live_session *live = hashmap_first(&stripe->sessions, 0); live; live = next) {
            next = hashmap_next(&stripe->sessions, live_session_node(live));
            if (!live_session_has_ended(live, now_ms))
                continue;
            drop(table, stripe, live);
            removed++;
        }
        unlock_stripe(stripe);
    }
    return removed;
}

/* -- what may leave ------------------------------------------------------------------------------------------------------------- */

/* In the order in which they leave. */
enum rank {
    RANK_ENDED,
    RANK_USUAL,
    RANK_UNCHECKED, /* its directory is to be asked about the bearer: that must not be put off by leaving and coming back */
    RANK_ADMIN,     /* administrators are let in without the database, too */
    RANK_NONE,
};

struct leaver {
    enum rank rank;
    int64_t used_ms;
    char sid[37];
};

struct search {
    bool wants_groups;
    int64_t wall_ms, mono_ms;
    unsigned seen, seen_usual;
    struct leaver best;
};

static enum rank rank_of(struct live_session *live, const struct search *search) {
    if (live_session_has_ended(live, search->wall_ms))
        return RANK_ENDED;
    if (live_session_role(live) == ROLE_ADMIN)
        return RANK_ADMIN;
    return live_session_who(live)->directory && live_session_check(live).due_ms <= search->mono_ms ? RANK_UNCHECKED : RANK_USUAL;
}

/* Needs the lock of the session's stripe. */
static void consider(struct search *search, struct live_session *live) {
    struct leaver *best = &search->best;
    const int64_t used_ms = live_session_used_ms(live);
    enum rank rank;
    if (live_session_is_held(live) || (search->wants_groups && !live_session_groups_mark(live)))
        return;
    rank = rank_of(live, search);
    search->seen++;
    search->seen_usual += rank <= RANK_USUAL;
    if (rank > best->rank || (rank == best->rank && used_ms >= best->used_ms))
        return;
    best->rank = rank;
    best->used_ms = used_ms;
    memcpy(best->sid, live_session_sid(live), sizeof(best->sid));
}

static bool has_enough(const struct search *search) {
    return search->seen_usual >= SAMPLE || search->seen >= SAMPLE_MAX;
}

/* Begins anywhere and goes round until it has seen enough that may leave. */
static bool find_leaver(struct session_table *table, bool wants_groups, struct leaver *out) {
    struct search search = {
        .wants_groups = wants_groups, .wall_ms = clock_wall_ms(), .mono_ms = clock_mono_ms(), .best = {.rank = RANK_NONE}};
    uint64_t place = (uint64_t)random_u32() << 32 | random_u32();
    for (size_t i = 0; i <= STRIPES && !has_enough(&search); i++) { /* what lies before the beginning comes at the end */
        struct stripe *stripe = lock_stripe(table, place + ((uint64_t)i << 32));
        struct live_session *live = hashmap_first(&stripe->sessions, i ? 0 : place);
        while (live && !has_enough(&search)) {
            consider(&search, live);
            live = hashmap_next(&stripe->sessions, live_session_node(live));
        }
        unlock_stripe(stripe);
    }
    *out = search.best;
    return search.best.rank != RANK_NONE;
}

bool session_table_evict(struct session_table *table, bool wants_groups) {
    struct leaver leaver;
    for (unsigned i = 0; i < TRIES && find_leaver(table, wants_groups, &leaver); i++)
        if (session_table_forget(table, leaver.sid)) /* else somebody has come for it meanwhile */
            return true;
    return false;
}

size_t session_table_count(struct session_table *table) {
    return atomic_load(&table->count);
}
