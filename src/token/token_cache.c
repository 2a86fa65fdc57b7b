/* Bounded map from the SHA-256 of a whole token to the verdict on it. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "token_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "uuid.h"

#define SHARDS 16 /* power of two; a lock each */

/* Links of a ring: newest used behind the head, oldest before it. */
struct link {
    struct link *newer, *older;
};

struct entry {
    struct link link;   /* first: entries are reached by their link */
    struct entry *next; /* same bucket */
    uint8_t digest[DIGEST_SHA256_BYTES];
    int64_t until_s;
    char jti[TOKEN_ID_BYTES], sid[TOKEN_ID_BYTES];
    enum source src;
    enum role role;
    int64_t iat_s, exp_s;
    char texts[]; /* sub, and behind its NUL act */
};

struct shard {
    pthread_mutex_t lock; /* guards all below */
    struct entry **buckets;
    struct link head;
    size_t count;
};

struct token_cache {
    struct shard shards[SHARDS];
    size_t per_shard_max;
    unsigned bucket_bits;
    uint64_t multiplier; /* random and odd: nobody can choose digests that share a bucket */
    atomic_uint_fast64_t generation;
};

/* Multiplicative hash of 8 bytes of the digest (Knuth, TAOCP 3, 6.4). */
static size_t bucket_of(const struct token_cache *cache, const uint8_t *digest) {
    uint64_t word;
    memcpy(&word, digest + 8, sizeof(word));
    return (size_t)((word * cache->multiplier) >> (64 - cache->bucket_bits));
}

static struct shard *shard_of(struct token_cache *cache, const uint8_t *digest) {
    return &cache->shards[digest[0] & (SHARDS - 1)];
}

struct token_cache *token_cache_new(size_t count) {
    struct token_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return NULL;
    cache->per_shard_max = count / SHARDS ? count / SHARDS : 1;
    cache->bucket_bits = 1;
    while (((size_t)1 << cache->bucket_bits) < cache->per_shard_max)
        cache->bucket_bits++;
    random_bytes(&cache->multiplier, sizeof(cache->multiplier));
    cache->multiplier |= 1;
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *s = &cache->shards[i];
        (void)pthread_mutex_init(&s->lock, NULL);
        s->head.newer = s->head.older = &s->head;
    }
    for (size_t i = 0; i < SHARDS; i++) {
        cache->shards[i].buckets = calloc((size_t)1 << cache->bucket_bits, sizeof(struct entry *));
        if (cache->shards[i].buckets)
            continue;
        token_cache_free(cache);
        return NULL;
    }
    return cache;
}

static void unlink_entry(struct entry *e) {
    e->link.newer->older = e->link.older;
    e->link.older->newer = e->link.newer;
}

static void link_newest(struct shard *s, struct entry *e) {
    e->link.newer = &s->head;
    e->link.older = s->head.older;
    s->head.older->newer = &e->link;
    s->head.older = &e->link;
}

static struct entry **find_place(const struct token_cache *cache, struct shard *s, const uint8_t *digest) {
    struct entry **place = &s->buckets[bucket_of(cache, digest)];
    while (*place && memcmp((*place)->digest, digest, DIGEST_SHA256_BYTES))
        place = &(*place)->next;
    return place;
}

static void drop(struct token_cache *cache, struct shard *s, struct entry *e) {
    struct entry **place = find_place(cache, s, e->digest);
    *place = e->next;
    unlink_entry(e);
    s->count--;
    free(e);
}

static void clear_shard(struct token_cache *cache, struct shard *s) {
    while (s->buckets && s->head.newer != &s->head)
        drop(cache, s, (struct entry *)(void *)s->head.newer);
}

void token_cache_free(struct token_cache *cache) {
    if (!cache)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        clear_shard(cache, &cache->shards[i]);
        free(cache->shards[i].buckets);
        (void)pthread_mutex_destroy(&cache->shards[i].lock);
    }
    free(cache);
}

uint64_t token_cache_generation(const struct token_cache *cache) {
    return atomic_load(&cache->generation);
}

static void copy_out(const struct entry *e, struct token_claims *out) {
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
    pthread_mutex_lock(&s->lock);
    struct entry *e = *find_place(cache, s, digest);
    if (e && e->until_s <= now_s) {
        drop(cache, s, e);
        e = NULL;
    }
    if (e) {
        unlink_entry(e);
        link_newest(s, e);
        copy_out(e, out);
    }
    pthread_mutex_unlock(&s->lock);
    return e;
}

static struct entry *new_entry(const uint8_t *digest, const struct token_claims *claims, int64_t until_s) {
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

static struct entry *oldest_of(struct shard *s) {
    return s->head.newer == &s->head ? NULL : (struct entry *)(void *)s->head.newer;
}

/* Two for each that comes in: entries of tokens that ended long ago do not pile up to the cap. */
static void drop_ended(struct token_cache *cache, struct shard *s, int64_t now_s) {
    struct entry *e;
    for (int i = 0; i < 2 && (e = oldest_of(s)) && e->until_s <= now_s; i++)
        drop(cache, s, e);
}

void token_cache_put(struct token_cache *cache, const struct token_verdict *verdict, int64_t now_s) {
    const uint8_t *digest = verdict->digest;
    struct shard *s = shard_of(cache, digest);
    struct entry *e = new_entry(digest, verdict->claims, verdict->until_s);
    if (!e)
        return;
    pthread_mutex_lock(&s->lock);
    struct entry **place = find_place(cache, s, digest);
    /* token_cache_clear counts first and empties then: seen under the lock, either we see the new number, or it empties us */
    if (*place || atomic_load(&cache->generation) != verdict->generation) {
        free(e);
    } else {
        *place = e;
        link_newest(s, e);
        if (++s->count > cache->per_shard_max)
            drop(cache, s, oldest_of(s));
        drop_ended(cache, s, now_s);
    }
    pthread_mutex_unlock(&s->lock);
}

void token_cache_clear(struct token_cache *cache) {
    atomic_fetch_add(&cache->generation, 1);
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&cache->shards[i].lock);
        clear_shard(cache, &cache->shards[i]);
        pthread_mutex_unlock(&cache->shards[i].lock);
    }
}

size_t token_cache_count(struct token_cache *cache) {
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&cache->shards[i].lock);
        count += cache->shards[i].count;
        pthread_mutex_unlock(&cache->shards[i].lock);
    }
    return count;
}
