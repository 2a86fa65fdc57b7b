/* Groups of people who are signed in, each equal thing once. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "group_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

#define BUCKETS 16384U

struct name {
    struct name *next;
    size_t refs; /* places in sets */
    uint32_t hash;
    char text[];
};

struct live_groups {
    struct live_groups *next;
    struct group_pool *pool;
    size_t refs;
    uint64_t mark;
    uint32_t hash;
    struct group_set set; /* ids are texts of names */
    char *ids[];
};

struct group_pool {
    pthread_mutex_t lock; /* guards all below, and the references */
    uint64_t last_mark;
    struct group_pool_size size;
    struct name *names[BUCKETS];
    struct live_groups *sets[BUCKETS];
};

struct group_pool *group_pool_new(void) {
    struct group_pool *pool = calloc(1, sizeof(*pool));
    if (pool)
        (void)pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void group_pool_free(struct group_pool *pool) {
    if (!pool)
        return;
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* FNV-1a with the end of the text. Who is in which group is decided by administrators of the directory, not by who signs in. */
static uint32_t hash_text(uint32_t hash, const char *text) {
    do
        hash = (hash ^ (unsigned char)*text) * 16777619U;
    while (*text++);
    return hash;
}

static uint32_t hash_set(const struct group_set *set) {
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < set->count; i++)
        hash = hash_text(hash, set->ids[i]);
    return hash;
}

/* -- names; all need the lock ---------------------------------------------------------------------------------------------- */

static struct name **name_slot(struct group_pool *pool, uint32_t hash, const char *text) {
    struct name **at = &pool->names[hash % BUCKETS];
    while (*at && ((*at)->hash != hash || strcmp((*at)->text, text) != 0))
        at = &(*at)->next;
    return at;
}

/* The text as the pool has it, for one more place. */
static char *take_name(struct group_pool *pool, const char *text) {
    const uint32_t hash = hash_text(2166136261U, text);
    struct name **at = name_slot(pool, hash, text);
    if (!*at) {
        size_t n = strlen(text) + 1;
        *at = calloc(1, sizeof(**at) + n);
        if (!*at)
            return NULL;
        (*at)->hash = hash;
        memcpy((*at)->text, text, n);
        pool->size.names++;
    }
    (*at)->refs++;
    return (*at)->text;
}

static void drop_name(struct group_pool *pool, const char *text) {
    struct name **at = name_slot(pool, hash_text(2166136261U, text), text);
    struct name *name = *at;
    if (!name || --name->refs)
        return;
    *at = name->next;
    free(name);
    pool->size.names--;
}

/* -- sets; all need the lock ----------------------------------------------------------------------------------------------- */

static struct live_groups **set_slot(struct group_pool *pool, uint32_t hash, const struct group_set *set) {
    struct live_groups **at = &pool->sets[hash % BUCKETS];
    while (*at && ((*at)->hash != hash || !group_set_eq(&(*at)->set, set)))
        at = &(*at)->next;
    return at;
}

static void free_set(struct group_pool *pool, struct live_groups *groups) {
    for (size_t i = 0; i < groups->set.count; i++)
        drop_name(pool, groups->ids[i]);
    free(groups);
}

static struct live_groups *make_set(struct group_pool *pool, uint32_t hash, const struct group_set *set) {
    struct live_groups *groups = calloc(1, sizeof(*groups) + set->count * sizeof(*groups->ids));
    if (!groups)
        return NULL;
    groups->pool = pool;
    groups->hash = hash;
    groups->set.ids = groups->ids;
    for (size_t i = 0; i < set->count; i++) {
        groups->ids[i] = take_name(pool, set->ids[i]);
        if (!groups->ids[i]) {
            free_set(pool, groups);
            return NULL;
        }
        groups->set.count++;
    }
    groups->mark = set->count ? ++pool->last_mark : 0;
    return groups;
}

static int get_locked(struct group_pool *pool, const struct group_set *set, struct live_groups **out, struct err *err) {
    const uint32_t hash = hash_set(set);
    struct live_groups **at = set_slot(pool, hash, set);
    if (*at) {
        (*at)->refs++;
        *out = *at;
        return 0;
    }
    *at = make_set(pool, hash, set);
    if (!*at)
        return err_set(err, ERR_NOMEM, "out of memory");
    (*at)->refs = 1;
    pool->size.sets++;
    pool->size.places += set->count;
    *out = *at;
    return 0;
}

int group_pool_get(struct group_pool *pool, const struct group_set *set, struct live_groups **out, struct err *err) {
    int rc;
    (void)pthread_mutex_lock(&pool->lock);
    rc = get_locked(pool, set, out, err);
    (void)pthread_mutex_unlock(&pool->lock);
    return rc;
}

struct live_groups *live_groups_ref(struct live_groups *groups) {
    (void)pthread_mutex_lock(&groups->pool->lock);
    groups->refs++;
    (void)pthread_mutex_unlock(&groups->pool->lock);
    return groups;
}

static void drop_set(struct group_pool *pool, struct live_groups *groups) {
    struct live_groups **at = &pool->sets[groups->hash % BUCKETS];
    while (*at != groups)
        at = &(*at)->next;
    *at = groups->next;
    pool->size.sets--;
    pool->size.places -= groups->set.count;
    free_set(pool, groups);
}

void live_groups_unref(struct live_groups *groups) {
    struct group_pool *pool = groups ? groups->pool : NULL;
    if (!groups)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    if (!--groups->refs)
        drop_set(pool, groups);
    (void)pthread_mutex_unlock(&pool->lock);
}

const struct group_set *live_groups_get(const struct live_groups *groups) {
    return &groups->set;
}

uint64_t live_groups_mark(const struct live_groups *groups) {
    return groups->mark;
}

struct group_pool_size group_pool_size(struct group_pool *pool) {
    struct group_pool_size size;
    (void)pthread_mutex_lock(&pool->lock);
    size = pool->size;
    (void)pthread_mutex_unlock(&pool->lock);
    return size;
}
