/* Slowing down guesses: delays after failed sign-ons, never lock-outs. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of fixed size, indexed by a keyed digest: a flood of names evicts old entries but costs no memory. */
#include "throttle.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "digest.h"
#include "uuid.h"

#define ENTRIES 8192U
#define WAYS 4U
#define FORGET_AFTER_MS (15 * 60 * 1000)

static const struct backoff delays = {.first_ms = 1000, .max_ms = 60000, .jitter_percent = 0};

struct entry {
    uint64_t tag; /* 0: free */
    unsigned failures;
    int64_t last_ms; /* monotonic */
};

struct throttle {
    pthread_mutex_t lock; /* guards entries */
    uint8_t key[16];
    struct entry entries[ENTRIES];
};

struct throttle *throttle_new(void) {
    struct throttle *throttle = calloc(1, sizeof(*throttle));
    if (!throttle)
        return NULL;
    (void)pthread_mutex_init(&throttle->lock, NULL);
    random_bytes(throttle->key, sizeof(throttle->key));
    return throttle;
}

void throttle_free(struct throttle *throttle) {
    if (throttle)
        (void)pthread_mutex_destroy(&throttle->lock);
    free(throttle);
}

static uint64_t tag_of(const struct throttle *throttle, const char *key) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    uint64_t tag;
    digest_hmac_sha256(throttle->key, sizeof(throttle->key), key, strlen(key), digest);
    memcpy(&tag, digest, sizeof(tag));
    return tag ? tag : 1;
}

/* Needs the lock. The entry of the tag; or, to make one, the oldest of its set. */
static struct entry *find_entry(struct throttle *throttle, uint64_t tag, bool make) {
    struct entry *set = &throttle->entries[(tag % (ENTRIES / WAYS)) * WAYS], *oldest = set;
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].tag == tag)
            return &set[i];
        if (set[i].last_ms < oldest->last_ms || !set[i].tag)
            oldest = &set[i];
    }
    if (!make)
        return NULL;
    memset(oldest, 0, sizeof(*oldest));
    oldest->tag = tag;
    return oldest;
}

static int64_t wait_ms(const struct entry *entry, unsigned free_tries, int64_t now_ms) {
    int64_t since_ms = now_ms - entry->last_ms;
    if (entry->failures <= free_tries || since_ms >= FORGET_AFTER_MS)
        return 0;
    return backoff_delay_ms(&delays, entry->failures - free_tries, 0) - since_ms;
}

int throttle_check(struct throttle *throttle, const char *key, unsigned free_tries, struct err *err) {
    uint64_t tag = tag_of(throttle, key);
    int64_t left_ms = 0;
    const struct entry *entry;
    (void)pthread_mutex_lock(&throttle->lock);
    entry = find_entry(throttle, tag, false);
    if (entry)
        left_ms = wait_ms(entry, free_tries, clock_mono_ms());
    (void)pthread_mutex_unlock(&throttle->lock);
    if (left_ms <= 0)
        return 0;
    (void)err_set(err, ERR_TOO_MANY, "too many failed sign-ons; wait before the next one");
    if (err)
        err->retry_after_s = (unsigned)((left_ms + 999) / 1000);
    return ERR_TOO_MANY;
}

void throttle_note(struct throttle *throttle, const char *key, int rc) {
    uint64_t tag = tag_of(throttle, key);
    int64_t now_ms = clock_mono_ms();
    struct entry *entry;
    (void)pthread_mutex_lock(&throttle->lock);
    entry = find_entry(throttle, tag, rc != 0);
    if (entry && !rc) {
        memset(entry, 0, sizeof(*entry));
    } else if (entry) {
        if (now_ms - entry->last_ms >= FORGET_AFTER_MS)
            entry->failures = 0;
        entry->failures++;
        entry->last_ms = now_ms;
    }
    (void)pthread_mutex_unlock(&throttle->lock);
}

void throttle_forgive(struct throttle *throttle, const char *key) {
    uint64_t tag = tag_of(throttle, key);
    struct entry *entry;
    (void)pthread_mutex_lock(&throttle->lock);
    entry = find_entry(throttle, tag, false);
    if (entry && entry->failures)
        entry->failures--;
    (void)pthread_mutex_unlock(&throttle->lock);
}
