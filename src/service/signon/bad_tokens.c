/* How many bad tokens are looked at closely. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A token bucket for each address and kind, in a table of fixed size that is indexed by a keyed hash, and one for all addresses together: a
 * flood from many of them costs at most 500 checks a second, about 4 % of a core. An evicted entry begins anew, with a full bucket. */
#include "bad_tokens.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "uuid.h"

#define ENTRIES 4096U
#define WAYS 4U

struct pace {
    int64_t burst, per_s;
};
static const struct pace unknown_pace = {50, 10}, known_pace = {200, 50}, all_pace = {1000, 500};

/* Thousandths of checks that were spent; they come back with time. */
struct bucket {
    uint64_t tag; /* 0: free */
    int64_t spent, at_ms;
};

struct bad_tokens {
    pthread_mutex_t lock; /* guards the buckets */
    uint8_t key[16];
    struct bucket all;
    struct bucket entries[ENTRIES];
};

struct bad_tokens *bad_tokens_new(void) {
    struct bad_tokens *tokens = calloc(1, sizeof(*tokens));
    if (!tokens)
        return NULL;
    (void)pthread_mutex_init(&tokens->lock, NULL);
    random_bytes(tokens->key, sizeof(tokens->key));
    return tokens;
}

void bad_tokens_free(struct bad_tokens *tokens) {
    if (tokens)
        (void)pthread_mutex_destroy(&tokens->lock);
    free(tokens);
}

static uint64_t tag_of(const struct bad_tokens *tokens, const char *address, bool is_known) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    uint64_t tag;
    digest_hmac_sha256(tokens->key, sizeof(tokens->key), address, strlen(address), digest);
    memcpy(&tag, digest, sizeof(tag));
    tag = is_known ? tag ^ 1 : tag;
    return tag ? tag : 2;
}

/* Needs the lock. The bucket of the tag; or, to make one, the one of its set that was used longest ago. */
static struct bucket *find_bucket(struct bad_tokens *tokens, uint64_t tag, bool make) {
    struct bucket *set = &tokens->entries[((tag >> 1) % (ENTRIES / WAYS)) * WAYS], *oldest = set;
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].tag == tag)
            return &set[i];
        if (set[i].at_ms < oldest->at_ms || !set[i].tag)
            oldest = &set[i];
    }
    if (!make)
        return NULL;
    *oldest = (struct bucket){.tag = tag};
    return oldest;
}

static int64_t spent_now(const struct bucket *bucket, const struct pace *pace, int64_t now_ms) {
    int64_t back = (now_ms - bucket->at_ms) * pace->per_s;
    return bucket->spent > back ? bucket->spent - back : 0;
}

static bool is_empty(const struct bucket *bucket, const struct pace *pace, int64_t now_ms) {
    return bucket && spent_now(bucket, pace, now_ms) + 1000 > pace->burst * 1000;
}

static void spend(struct bucket *bucket, const struct pace *pace, int64_t now_ms) {
    bucket->spent = spent_now(bucket, pace, now_ms) + 1000;
    bucket->at_ms = now_ms;
}

int bad_tokens_check(struct bad_tokens *tokens, const char *address, bool is_known, struct err *err) {
    const struct pace *pace = is_known ? &known_pace : &unknown_pace;
    uint64_t tag = tag_of(tokens, address, is_known);
    int64_t now_ms = clock_mono_ms();
    bool is_refused;
    (void)pthread_mutex_lock(&tokens->lock);
    is_refused =
        is_empty(find_bucket(tokens, tag, false), pace, now_ms) || (!is_known && is_empty(&tokens->all, &all_pace, now_ms));
    (void)pthread_mutex_unlock(&tokens->lock);
    if (!is_refused)
        return 0;
    (void)err_set(err, ERR_TOO_MANY, "too many tokens that were not valid came from this address; wait before the next one");
    if (err)
        err->retry_after_s = 1;
    return ERR_TOO_MANY;
}

void bad_tokens_note(struct bad_tokens *tokens, const char *address, bool is_known) {
    uint64_t tag = tag_of(tokens, address, is_known);
    int64_t now_ms = clock_mono_ms();
    (void)pthread_mutex_lock(&tokens->lock);
    spend(find_bucket(tokens, tag, true), is_known ? &known_pace : &unknown_pace, now_ms);
    if (!is_known)
        spend(&tokens->all, &all_pace, now_ms);
    (void)pthread_mutex_unlock(&tokens->lock);
}
