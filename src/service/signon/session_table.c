/* The sessions in memory by sid: a hash table of fixed size with a lock per stripe. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It is a cache of the database: what is not in it is read when its token comes. What a request holds stays in it, so that whoever holds a session hears of its
 * end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "live_session.h"
#include "str.h"

#define BUCKETS 16384U
#define STRIPES 64U
#define SAMPLE 64U       /* so many that may leave are looked at, and the one used longest ago leaves */
#define SAMPLE_MAX 1024U /* with those that had better stay */
#define TRIES 4U

struct slot {
    struct slot *next;
    struct live_session *live;
};

struct session_table {
    pthread_mutex_t locks[STRIPES]; /* guards the buckets with the same remainder */
    atomic_size_t count;
    atomic_size_t hand; /* bucket where the search for one that may leave goes on */
    struct slot *buckets[BUCKETS];
};

struct session_table *session_table_new(void) {
    struct session_table *table = calloc(1, sizeof(*table));
    for (size_t i = 0; table && i < STRIPES; i++)
        (void)pthread_mutex_init(&table->locks[i], NULL);
    return table;
}

/* FNV-1a; sids are random, so no one can aim at a bucket. */
static size_t bucket_of(const char *sid) {
    uint32_t hash = 2166136261U;
    for (const char *p = sid; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619U;
    return hash % BUCKETS;
}

static pthread_mutex_t *lock_of(struct session_table *table, size_t bucket) {
    return &table->locks[bucket % STRIPES];
}

void session_table_free(struct session_table *table) {
    if (!table)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        struct slot *slot = table->buckets[i];
        while (slot) {
            struct slot *next = slot->next;
            live_session_unref(slot->live);
            free(slot);
            slot = next;
        }
    }
    for (size_t i = 0; i < STRIPES; i++)
        (void)pthread_mutex_destroy(&table->locks[i]);
    free(table);
}

static struct slot **find_slot(struct session_table *table, size_t bucket, const char *sid) {
    struct slot **at = &table->buckets[bucket];
    while (*at && !str_eq(live_session_sid((*at)->live), sid))
        at = &(*at)->next;
    return at;
}

struct live_session *session_table_find(struct session_table *table, const char *sid) {
    size_t bucket = bucket_of(sid);
    struct live_session *live = NULL;
    struct slot *slot;
    (void)pthread_mutex_lock(lock_of(table, bucket));
    slot = *find_slot(table, bucket, sid);
    if (slot)
        live = live_session_ref(slot->live);
    (void)pthread_mutex_unlock(lock_of(table, bucket));
    return live;
}

static int put_locked(struct session_table *table, size_t bucket, struct live_session *live, struct live_session **kept,
                      struct err *err) {
    struct slot **at = find_slot(table, bucket, live_session_sid(live));
    if (*at) {
        *kept = live_session_ref((*at)->live);
        return 0;
    }
    *at = calloc(1, sizeof(**at));
    if (!*at)
        return err_set(err, ERR_NOMEM, "out of memory");
    (*at)->live = live_session_ref(live);
    (void)atomic_fetch_add(&table->count, 1);
    *kept = live_session_ref(live);
    return 0;
}

int session_table_put(struct session_table *table, struct live_session *live, struct live_session **kept, struct err *err) {
    size_t bucket = bucket_of(live_session_sid(live));
    int rc;
    (void)pthread_mutex_lock(lock_of(table, bucket));
    rc = put_locked(table, bucket, live, kept, err);
    (void)pthread_mutex_unlock(lock_of(table, bucket));
    return rc;
}

static bool is_of(const struct live_session *live, const char *principal_id) {
    return !principal_id || str_eq(live_session_who(live)->id, principal_id);
}

struct listing {
    const char *principal_id; /* NULL: everybody's */
    struct live_session **items;
    size_t count, room;
};

/* Copies references of one bucket as far as there is room. */
static void list_bucket(const struct session_table *table, size_t bucket, struct listing *out) {
    for (const struct slot *slot = table->buckets[bucket]; slot && out->count < out->room; slot = slot->next)
        if (is_of(slot->live, out->principal_id))
            out->items[out->count++] = live_session_ref(slot->live);
}

struct live_session **session_table_list(struct session_table *table, const char *principal_id, size_t *count) {
    size_t room = session_table_count(table) + 64; /* what comes in meanwhile is new enough to need no look */
    struct listing list = {.principal_id = principal_id, .items = calloc(room, sizeof(struct live_session *)), .room = room};
    for (size_t i = 0; list.items && i < BUCKETS; i++) {
        (void)pthread_mutex_lock(lock_of(table, i));
        list_bucket(table, i, &list);
        (void)pthread_mutex_unlock(lock_of(table, i));
    }
    *count = list.count;
    return list.items;
}

/* Needs the lock of the bucket. */
static void drop_slot(struct session_table *table, struct slot **at) {
    struct slot *slot = *at;
    *at = slot->next;
    live_session_unref(slot->live);
    free(slot);
    (void)atomic_fetch_sub(&table->count, 1);
}

bool session_table_forget(struct session_table *table, const char *sid) {
    size_t bucket = bucket_of(sid);
    struct slot **at;
    bool is_out;
    (void)pthread_mutex_lock(lock_of(table, bucket));
    at = find_slot(table, bucket, sid);
    is_out = !*at || !live_session_is_held((*at)->live); /* nobody gets hold of it without this lock */
    if (*at && is_out)
        drop_slot(table, at);
    (void)pthread_mutex_unlock(lock_of(table, bucket));
    return is_out;
}

void session_table_remove(struct session_table *table, const char *sid) {
    size_t bucket = bucket_of(sid);
    struct slot **at;
    (void)pthread_mutex_lock(lock_of(table, bucket));
    at = find_slot(table, bucket, sid);
    if (*at)
        drop_slot(table, at);
    (void)pthread_mutex_unlock(lock_of(table, bucket));
}

static size_t purge_bucket(struct session_table *table, size_t bucket, int64_t now_ms) {
    struct slot **at = &table->buckets[bucket];
    size_t removed = 0;
    while (*at) {
        if (!live_session_has_ended((*at)->live, now_ms)) {
            at = &(*at)->next;
            continue;
        }
        drop_slot(table, at);
        removed++;
    }
    return removed;
}

size_t session_table_purge(struct session_table *table, int64_t now_ms) {
    size_t removed = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        (void)pthread_mutex_lock(lock_of(table, i));
        removed += purge_bucket(table, i, now_ms);
        (void)pthread_mutex_unlock(lock_of(table, i));
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

/* Needs the lock of the bucket. */
static void search_bucket(const struct session_table *table, size_t bucket, struct search *search) {
    struct leaver *best = &search->best;
    for (const struct slot *slot = table->buckets[bucket]; slot; slot = slot->next) {
        const int64_t used_ms = live_session_used_ms(slot->live);
        enum rank rank;
        if (live_session_is_held(slot->live) || (search->wants_groups && !live_session_groups_mark(slot->live)))
            continue;
        rank = rank_of(slot->live, search);
        search->seen++;
        search->seen_usual += rank <= RANK_USUAL;
        if (rank > best->rank || (rank == best->rank && used_ms >= best->used_ms))
            continue;
        best->rank = rank;
        best->used_ms = used_ms;
        memcpy(best->sid, live_session_sid(slot->live), sizeof(best->sid));
    }
}

/* Goes round from where the last search ended, until it has seen enough that may leave. */
static bool find_leaver(struct session_table *table, bool wants_groups, struct leaver *out) {
    struct search search = {
        .wants_groups = wants_groups, .wall_ms = clock_wall_ms(), .mono_ms = clock_mono_ms(), .best = {.rank = RANK_NONE}};
    const size_t begin = atomic_load(&table->hand);
    size_t i;
    for (i = 0; i < BUCKETS && search.seen_usual < SAMPLE && search.seen < SAMPLE_MAX; i++) {
        const size_t bucket = (begin + i) % BUCKETS;
        (void)pthread_mutex_lock(lock_of(table, bucket));
        search_bucket(table, bucket, &search);
        (void)pthread_mutex_unlock(lock_of(table, bucket));
    }
    atomic_store(&table->hand, (begin + i) % BUCKETS);
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
