/* A hash map whose nodes lie in its items, and the hash of its keys. Layer 0 (base). SPDX-License-Identifier: GPL-3.0-or-later */
#include "hashmap.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "uuid.h"

#define BUCKETS_MIN 8U

/* -- hashes ------------------------------------------------------------------------------------------------------------------ */

static inline uint64_t hashmap_rotate(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

static inline void siphash_round(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = hashmap_rotate(v[1], 13) ^ v[0];
    v[3] = hashmap_rotate(v[3], 16) ^ v[2];
    v[0] = hashmap_rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = hashmap_rotate(v[1], 17) ^ v[2];
    v[3] = hashmap_rotate(v[3], 21) ^ v[0];
    v[2] = hashmap_rotate(v[2], 32);
}

/* Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012; with one round a word and three at the end, as hash tables of several
 * languages have it. The second half of the key is 0. */
uint64_t hash64(uint64_t seed, const void *bytes, size_t n) {
    uint64_t v[4] = {seed ^ 0x736f6d6570736575, 0x646f72616e646f6d, seed ^ 0x6c7967656e657261, 0x7465646279746573};
    const char *p = bytes, *end = p + n / 8 * 8;
    uint64_t word;
    for (; p < end; p += 8) {
        memcpy(&word, p, sizeof(word));
        word = le64toh(word);
        v[3] ^= word;
        siphash_round(v);
        v[0] ^= word;
    }
    word = 0;
    memcpy(&word, p, n % 8);
    word = le64toh(word) | (uint64_t)n << 56;
    v[3] ^= word;
    siphash_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        siphash_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash64_text(uint64_t seed, const char *text) {
    return hash64(seed, text, strlen(text) + 1);
}

static uint64_t process_seed;

static void draw_seed(void) {
    random_bytes(&process_seed, sizeof(process_seed));
}

uint64_t hash_seed(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, draw_seed);
    return process_seed;
}

/* -- map ---------------------------------------------------------------------------------------------------------------------- */

static struct hashmap_node **bucket_of(struct hashmap *map, uint64_t hash) {
    return map->buckets ? &map->buckets[hash & map->mask] : &map->only;
}

void *hashmap_find(const struct hashmap *map, uint64_t hash, hashmap_is_fn *is, const void *key) {
    struct hashmap_node *node = map->buckets ? map->buckets[hash & map->mask] : map->only;
    while (node && !(node->hash == hash && is(node, key)))
        node = node->next;
    return node;
}

static void hashmap_put(struct hashmap *map, struct hashmap_node *node) {
    struct hashmap_node **bucket = bucket_of(map, node->hash);
    node->next = *bucket;
    *bucket = node;
}

/* Twice as many buckets; without memory it stays as it is. */
static void hashmap_grow(struct hashmap *map) {
    const size_t count = map->buckets ? 2 * (map->mask + 1) : BUCKETS_MIN;
    struct hashmap grown = {.buckets = calloc(count, sizeof(*grown.buckets)), .mask = count - 1, .count = map->count};
    struct hashmap_node *node, *next;
    if (!grown.buckets)
        return;
    for (node = hashmap_first(map, 0); node; node = next) {
        next = hashmap_next(map, node);
        hashmap_put(&grown, node);
    }
    free(map->buckets);
    *map = grown;
}

void hashmap_insert(struct hashmap *map, struct hashmap_node *node, uint64_t hash) {
    if (map->count > map->mask)
        hashmap_grow(map);
    node->hash = hash;
    hashmap_put(map, node);
    map->count++;
}

void hashmap_remove(struct hashmap *map, struct hashmap_node *node) {
    struct hashmap_node **at = bucket_of(map, node->hash);
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    map->count--;
}

void *hashmap_first(const struct hashmap *map, uint64_t hash) {
    if (!map->buckets)
        return map->only;
    for (size_t i = hash & map->mask; i <= map->mask; i++)
        if (map->buckets[i])
            return map->buckets[i];
    return NULL;
}

void *hashmap_next(const struct hashmap *map, const struct hashmap_node *node) {
    const size_t i = node->hash & map->mask;
    if (node->next || i == map->mask)
        return node->next;
    return hashmap_first(map, i + 1);
}

void hashmap_done(struct hashmap *map) {
    free(map->buckets);
    *map = (struct hashmap){0};
}
