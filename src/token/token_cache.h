/* Bounded map from the SHA-256 of a whole token to the verdict on it. Inside src/token only. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Verification costs about 85 us, a look-up well under one. Least recently used entries go first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digest.h"
#include "token.h"

struct token_cache;

/* Makes a cache of about `count` entries (at least 1 per shard). NULL without memory. */
struct token_cache *token_cache_new(size_t count);
void token_cache_free(struct token_cache *cache); /* NULL is allowed */

/* Number that changes with each token_cache_clear; read it before the work whose result token_cache_put is to take. */
uint64_t token_cache_generation(const struct token_cache *cache);

/* True and the claims if the digest is known and its entry ends after `now_s`; an entry that has ended is dropped. */
bool token_cache_find(struct token_cache *cache, const uint8_t digest[DIGEST_SHA256_BYTES], int64_t now_s,
                      struct token_claims *out);

struct token_verdict {
    const uint8_t *digest; /* DIGEST_SHA256_BYTES */
    const struct token_claims *claims;
    int64_t until_s;
    uint64_t generation; /* as read before the work */
};
/* Keeps the claims until `until_s`, unless the cache was cleared meanwhile. Old entries that end before `now_s` go. Without memory nothing
 * is kept. */
void token_cache_put(struct token_cache *cache, const struct token_verdict *verdict, int64_t now_s);

/* Empties the cache; results of work begun before are not taken any more. */
void token_cache_clear(struct token_cache *cache);

/* Entries held now. */
size_t token_cache_count(struct token_cache *cache);
