/* Bounded map from the SHA-256 of a whole token to the verdict on it. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "token_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hashmap.h"

#define SHARDS 16 /* power of two; a lock each */

struct entry {
    struct hashmap_node node;
    struct entry *newer, *older; /* by last use */
    uint8_t digest[DIGEST_SHA256_BYTES];
    int64_t until_s;
    char jti[TOKEN_ID_BYTES], sid[TOKEN_ID_BYTES];
    enum source src;
    enum role role;
    int64_t iat_s, exp_s;
    char texts[]; /* sub, and behind its NUL act */
};

struct shard {
    pthread_mutex_t lock;   /* guards all below */
    struct hashmap entries; /* by digest */
    struct entry *newest, *oldest;
};

struct token_cache {
    struct shard shards[SHARDS];
    size_t per_shard_max;
    atomic_uint_fast64_t generation;
};

/* 8 bytes of a digest differ as well as all of it. */
static uint64_t token_cache_hash_of(const uint8_t *digest) {
    return hash64(hash_seed(), digest, 8);
}

static bool has_digest(const void *entry, const void *digest) {
    return !memcmp(((const struct entry *)entry)->digest, digest, DIGEST_SHA256_BYTES);
}

static struct shard *shard_of(struct token_cache *cache, const uint8_t *digest) {
    return &cache->shards[digest[0] & (SHARDS - 1)];
}

struct token_cache *token_cache_new(size_t count) {
    struct token_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return NULL;
    cache->per_shard_max = count / SHARDS ? count / SHARDS : 1;
    for (size_t i = 0; i < SHARDS; i++)
        (void)pthread_mutex_init(&cache->shards[i].lock, NULL);
    return cache;
}

static void unlink_entry(struct shard *s, struct entry *e) {
    *(e->newer ? &e->newer->older : &s->newest) = e->older;
    *(e->older ? &e->older->newer : &s->oldest) = e->newer;
}

static void link_newest(struct shard *s, struct entry *e) {
    e->newer = NULL;
    e->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = e;
    s->newest = e;
}

static void token_cache_drop(struct shard *s, struct entry *e) {
    hashmap_remove(&s->entries, &e->node);
    unlink_entry(s, e);
    free(e);
}

static void clear_shard(struct shard *s) {
    while (s->oldest)
        token_cache_drop(s, s->oldest);
    hashmap_done(&s->entries);
}

void token_cache_free(struct token_cache *cache) {
    if (!cache)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        clear_shard(&cache->shards[i]);
        (void)pthread_mutex_destroy(&cache->shards[i].lock);
    }
    free(cache);
}

uint64_t token_cache_generation(const struct token_cache *cache) {
    return atomic_load(&cache->generation);
}

static void token_cache_copy_out(const struct entry *e, struct token_claims *out) {
    const size_t sub_bytes = strlen(e->texts) + 1;
    memcpy(out->sub, e->texts, sub_bytes);
    memcpy(out->act, e->texts + sub_bytes, strlen(e->texts + sub_bytes) + 1);
    memcpy(out->jti, e->jti, sizeof(out->jti));
    memcpy(out->sid, e->sid, sizeof(out->sid));
    out->src = e->src;
    out->role = e->role;
    out->iat_s = e->iat_s;
    out->exp_s = e->exp_s;
}

bool token_cache_find(struct token_cache *cache, const uint8_t digest[DIGEST_SHA256_BYTES], int64_t now_s,
                      struct token_claims *out) {
    struct shard *s = shard_of(cache, digest);
    LOCKED(&s->lock);
    struct entry *e = hashmap_find(&s->entries, token_cache_hash_of(digest), has_digest, digest);
    if (e && e->until_s <= now_s) {
        token_cache_drop(s, e);
        e = NULL;
    }
    if (e) {
        unlink_entry(s, e);
        link_newest(s, e);
        token_cache_copy_out(e, out);
    }
    return e;
}

static struct entry *token_cache_new_entry(const uint8_t *digest, const struct token_claims *claims, int64_t until_s) {
    size_t sub_bytes = strlen(claims->sub) + 1, act_bytes = strlen(claims->act) + 1;
    struct entry *e = calloc(1, sizeof(*e) + sub_bytes + act_bytes);
    if (!e)
        return NULL;
    memcpy(e->digest, digest, DIGEST_SHA256_BYTES);
    memcpy(e->texts, claims->sub, sub_bytes);
    memcpy(e->texts + sub_bytes, claims->act, act_bytes);
    memcpy(e->jti, claims->jti, sizeof(e->jti));
    memcpy(e->sid, claims->sid, sizeof(e->sid));
    e->src = claims->src;
    e->role = claims->role;
    e->iat_s = claims->iat_s;
    e->exp_s = claims->exp_s;
    e->until_s = until_s;
    return e;
}

void token_cache_put(struct token_cache *cache, const struct token_verdict *verdict, int64_t now_s) {
    const uint8_t *digest = verdict->digest;
    const uint64_t hash = token_cache_hash_of(digest);
    struct shard *s = shard_of(cache, digest);
    struct entry *e = token_cache_new_entry(digest, verdict->claims, verdict->until_s);
    if (!e)
        return;
    LOCKED(&s->lock);
    /* token_cache_clear counts first and empties then: seen under the lock, either we see the new number, or it empties us */
    if (hashmap_find(&s->entries, hash, has_digest, digest) || atomic_load(&cache->generation) != verdict->generation) {
        free(e);
    } else {
        hashmap_insert(&s->entries, &e->node, hash);
        link_newest(s, e);
        if (s->entries.count > cache->per_shard_max)
            token_cache_drop(s, s->oldest);
        /* two for each that comes in: entries of tokens that ended long ago do not pile up to the cap */
        for (int i = 0; i < 2 && s->oldest && s->oldest->until_s <= now_s; i++)
            token_cache_drop(s, s->oldest);
    }
}

void token_cache_clear(struct token_cache *cache) {
    atomic_fetch_add(&cache->generation, 1);
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&cache->shards[i].lock);
        clear_shard(&cache->shards[i]);
        pthread_mutex_unlock(&cache->shards[i].lock);
    }
}

size_t token_cache_count(struct token_cache *cache) {
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&cache->shards[i].lock);
        count += cache->shards[i].entries.count;
        pthread_mutex_unlock(&cache->shards[i].lock);
    }
    return count;
}
