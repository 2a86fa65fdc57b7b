/* Groups of people who are signed in, each equal thing once. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "group_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "hashmap.h"

struct name {
    struct hashmap_node node;
    size_t refs; /* places in sets */
    char text[];
};

struct live_groups {
    struct hashmap_node node;
    struct group_pool *pool;
    size_t refs;
    uint64_t mark;
    struct group_set set; /* ids are texts of names */
    char *ids[];
};

struct group_pool {
    pthread_mutex_t lock; /* guards all below, and the references */
    uint64_t last_mark;
    size_t places; /* in all sets */
    struct hashmap names, sets;
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
    hashmap_done(&pool->names);
    hashmap_done(&pool->sets);
    free(pool);
}

/* -- names; all need the lock ---------------------------------------------------------------------------------------------- */

static bool pool_is_name(const void *name, const void *text) {
    return !strcmp(((const struct name *)name)->text, text);
}

static struct name *pool_find_name(const struct group_pool *pool, const char *text) {
    return hashmap_find(&pool->names, hash64_text(hash_seed(), text), pool_is_name, text);
}

/* The text as the pool has it, for one more place. */
static char *pool_take_name(struct group_pool *pool, const char *text) {
    struct name *name = pool_find_name(pool, text);
    if (!name) {
        const size_t n = strlen(text) + 1;
        name = calloc(1, sizeof(*name) + n);
        if (!name)
            return NULL;
        memcpy(name->text, text, n);
        hashmap_insert(&pool->names, &name->node, hash64_text(hash_seed(), text));
    }
    name->refs++;
    return name->text;
}

static void pool_drop_name(struct group_pool *pool, const char *text) {
    struct name *name = pool_find_name(pool, text);
    if (!name || --name->refs)
        return;
    hashmap_remove(&pool->names, &name->node);
    free(name);
}

/* -- sets; all need the lock ----------------------------------------------------------------------------------------------- */

static uint64_t hash_set(const struct group_set *set) {
    uint64_t hash = hash_seed();
    for (size_t i = 0; i < set->count; i++)
        hash = hash64_text(hash, set->ids[i]);
    return hash;
}

static bool group_pool_is_set(const void *groups, const void *set) {
    return group_set_eq(&((const struct live_groups *)groups)->set, set);
}

static void group_pool_free_set(struct group_pool *pool, struct live_groups *groups) {
    for (size_t i = 0; i < groups->set.count; i++)
        pool_drop_name(pool, groups->ids[i]);
    free(groups);
}

static struct live_groups *group_pool_make_set(struct group_pool *pool, const struct group_set *set) {
    struct live_groups *groups = calloc(1, sizeof(*groups) + set->count * sizeof(*groups->ids));
    if (!groups)
        return NULL;
    groups->pool = pool;
    groups->set.ids = groups->ids;
    for (size_t i = 0; i < set->count; i++) {
        groups->ids[i] = pool_take_name(pool, set->ids[i]);
        if (!groups->ids[i]) {
            group_pool_free_set(pool, groups);
            return NULL;
        }
        groups->set.count++;
    }
    groups->mark = set->count ? ++pool->last_mark : 0;
    return groups;
}

static int get_locked(struct group_pool *pool, const struct group_set *set, struct live_groups **out, struct err *err) {
    const uint64_t hash = hash_set(set);
    struct live_groups *groups = hashmap_find(&pool->sets, hash, group_pool_is_set, set);
    if (!groups) {
        groups = group_pool_make_set(pool, set);
        if (!groups)
            return err_set(err, ERR_NOMEM, "out of memory");
        hashmap_insert(&pool->sets, &groups->node, hash);
        pool->places += set->count;
    }
    groups->refs++;
    *out = groups;
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

static void group_pool_drop_set(struct group_pool *pool, struct live_groups *groups) {
    hashmap_remove(&pool->sets, &groups->node);
    pool->places -= groups->set.count;
    group_pool_free_set(pool, groups);
}

void live_groups_unref(struct live_groups *groups) {
    struct group_pool *pool = groups ? groups->pool : NULL;
    if (!groups)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    if (!--groups->refs)
        group_pool_drop_set(pool, groups);
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
    size = (struct group_pool_size){.names = pool->names.count, .sets = pool->sets.count, .places = pool->places};
    (void)pthread_mutex_unlock(&pool->lock);
    return size;
}
