/* All live sessions by sid: a hash table of fixed size with a lock per stripe. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "live_session.h"
#include "str.h"

#define BUCKETS 16384U
#define STRIPES 64U
#define SESSIONS_MAX 200000U /* about 100 MB */

struct slot {
    struct slot *next;
    struct live_session *live;
};

struct session_table {
    pthread_mutex_t locks[STRIPES]; /* guards the buckets with the same remainder */
    atomic_size_t count;
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
    if (atomic_load(&table->count) >= SESSIONS_MAX)
        return err_set(err, ERR_BUSY, "there are too many sessions");
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

size_t session_table_count(struct session_table *table) {
    return atomic_load(&table->count);
}
