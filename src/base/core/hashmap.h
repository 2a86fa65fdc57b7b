/* A hash map whose nodes lie in its items, and the hash of its keys. Layer 0 (base). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An item is a struct whose first member is a struct hashmap_node; it belongs to the caller and stays where it is. The map allocates the array of
 * its buckets only, and works on without memory for a bigger one, just slower: nothing here fails. No locks: whoever shares a map locks it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- hashes ------------------------------------------------------------------------------------------------------------------ */

/* SipHash-1-3 of n bytes under `seed`: the same in every process. To hash several values, pass the hash of each as the seed of the next.
 * Not for secrets: 64 bits. */
uint64_t hash64(uint64_t seed, const void *bytes, size_t n);
/* hash64 of a text and its NUL: "ab" + "c" differs from "a" + "bc". */
uint64_t hash64_text(uint64_t seed, const char *text);
/* A random number, the same for the life of this process. As the seed for keys of a map it keeps outsiders from choosing many keys of one bucket. */
uint64_t hash_seed(void);

/* -- map ---------------------------------------------------------------------------------------------------------------------- */

struct hashmap_node {
    struct hashmap_node *next;
    uint64_t hash;
};

/* Zeroed: an empty map. */
struct hashmap {
    struct hashmap_node **buckets; /* NULL: one bucket, `only` */
    struct hashmap_node *only;
    size_t mask; /* number of buckets, a power of two, less one */
    size_t count;
};

/* True if the item has this key. Called for items with the same hash only. */
typedef bool hashmap_is_fn(const void *item, const void *key);

/* The item with this hash and key, or NULL. Allocates nothing. */
void *hashmap_find(const struct hashmap *map, uint64_t hash, hashmap_is_fn *is, const void *key);

/* Puts an item in. The caller makes sure that the map holds none with the same key. The hash must spread well: use hash64, with hash_seed
 * where keys come from outside. */
void hashmap_insert(struct hashmap *map, struct hashmap_node *node, uint64_t hash);

/* Takes an item out; it must be in the map. */
void hashmap_remove(struct hashmap *map, struct hashmap_node *node);

/* To visit all items, in no order, call hashmap_first(map, 0) and then hashmap_next until NULL. An item may be removed once the one after it is
 * known; none may be inserted meanwhile. Another `hash` begins at the bucket of that hash and leaves out the buckets before it. */
void *hashmap_first(const struct hashmap *map, uint64_t hash);
void *hashmap_next(const struct hashmap *map, const struct hashmap_node *node);

/* Frees the buckets, not the items, which are the caller's. The map is empty then. */
void hashmap_done(struct hashmap *map);
