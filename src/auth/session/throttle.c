/* Slowing down guesses. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "throttle.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "cleanup.h"
#include "clock.h"
#include "digest.h"
#include "uuid.h"

#define ENTRIES 8192U
#define WAYS 4U
#define FORGET_AFTER_MS (15LL * 60 * 1000)
#define KEY_BYTES 1024U

static const struct backoff delays = {.first_ms = 1000, .max_ms = 60000, .jitter_percent = 0};

struct entry {
    uint64_t tag;       /* 0: free */
    int64_t touched_ms; /* monotonic */
    int64_t value;      /* failures; or, of a pace, when the whole burst is there again (generic cell rate algorithm) */
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

static uint64_t throttle_tag_of(const struct throttle *throttle, const struct throttle_key *key) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    char text[KEY_BYTES];
    uint64_t tag;
    (void)snprintf(text, sizeof(text), "%c%016" PRIx64 "%s", key->kind, key->party, key->name ? key->name : "");
    digest_hmac_sha256(throttle->key, sizeof(throttle->key), text, strlen(text), digest);
    memcpy(&tag, digest, sizeof(tag));
    return tag ? tag : 1;
}

/* A copy of the entry; zeroed if there is none. */
static struct entry throttle_look(struct throttle *throttle, const struct throttle_key *key) {
    const uint64_t tag = throttle_tag_of(throttle, key);
    const struct entry *set = &throttle->entries[(tag % (ENTRIES / WAYS)) * WAYS];
    struct entry found = {0};
    LOCKED(&throttle->lock);
    for (size_t i = 0; i < WAYS; i++)
        if (set[i].tag == tag)
            found = set[i];
    return found;
}

/* The entry; or, to make one, the one of its set that was touched longest ago. With the lock in any case: let_go gives it back. */
static struct entry *throttle_hold(struct throttle *throttle, const struct throttle_key *key, bool makes) {
    const uint64_t tag = throttle_tag_of(throttle, key);
    struct entry *set = &throttle->entries[(tag % (ENTRIES / WAYS)) * WAYS], *oldest = set;
    (void)pthread_mutex_lock(&throttle->lock);
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].tag == tag)
            return &set[i];
        if (set[i].touched_ms < oldest->touched_ms || !set[i].tag)
            oldest = &set[i];
    }
    if (!makes)
        return NULL;
    *oldest = (struct entry){.tag = tag};
    return oldest;
}

static void throttle_let_go(struct throttle *throttle) {
    (void)pthread_mutex_unlock(&throttle->lock);
}

/* -- delays --------------------------------------------------------------------------------------------------------------------------- */

int64_t throttle_delay_ms(struct throttle *throttle, const struct throttle_key *key, unsigned free_tries) {
    const struct entry entry = throttle_look(throttle, key);
    const int64_t since_ms = clock_mono_ms() - entry.touched_ms;
    int64_t left_ms;
    if (entry.value <= free_tries || since_ms >= FORGET_AFTER_MS)
        return 0;
    left_ms = backoff_delay_ms(&delays, (unsigned)entry.value - free_tries, 0) - since_ms;
    return left_ms > 0 ? left_ms : 0;
}

void throttle_fail(struct throttle *throttle, const struct throttle_key *key) {
    const int64_t now_ms = clock_mono_ms();
    struct entry *entry = throttle_hold(throttle, key, true);
    if (now_ms - entry->touched_ms >= FORGET_AFTER_MS)
        entry->value = 0;
    if (entry->value < UINT32_MAX)
        entry->value++;
    entry->touched_ms = now_ms;
    throttle_let_go(throttle);
}

void throttle_forgive(struct throttle *throttle, const struct throttle_key *key) {
    struct entry *entry = throttle_hold(throttle, key, false);
    if (entry && entry->value)
        entry->value--;
    throttle_let_go(throttle);
}

void throttle_forget(struct throttle *throttle, const struct throttle_key *key) {
    struct entry *entry = throttle_hold(throttle, key, false);
    if (entry)
        *entry = (struct entry){0};
    throttle_let_go(throttle);
}

/* -- paces ---------------------------------------------------------------------------------------------------------------------------- */

int64_t throttle_pace_ms(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace) {
    const int64_t whole_ms = throttle_look(throttle, key).value, now_ms = clock_mono_ms();
    const int64_t left_ms = whole_ms - now_ms - (pace->burst - 1) * pace->every_ms;
    return left_ms > 0 ? left_ms : 0;
}

void throttle_spend(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace) {
    const int64_t now_ms = clock_mono_ms();
    struct entry *entry = throttle_hold(throttle, key, true);
    entry->value = (entry->value > now_ms ? entry->value : now_ms) + pace->every_ms;
    entry->touched_ms = now_ms;
    throttle_let_go(throttle);
}

int64_t throttle_take(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace) {
    const int64_t now_ms = clock_mono_ms();
    struct entry *entry = throttle_hold(throttle, key, true);
    const int64_t begin_ms = entry->value > now_ms ? entry->value : now_ms;
    const int64_t left_ms = begin_ms - now_ms - (pace->burst - 1) * pace->every_ms;
    if (left_ms <= 0)
        entry->value = begin_ms + pace->every_ms;
    entry->touched_ms = now_ms;
    throttle_let_go(throttle);
    return left_ms > 0 ? left_ms : 0;
}

/* -- marks ---------------------------------------------------------------------------------------------------------------------------- */

void throttle_mark(struct throttle *throttle, const struct throttle_key *key) {
    struct entry *entry = throttle_hold(throttle, key, true);
    entry->value = 1;
    entry->touched_ms = clock_mono_ms();
    throttle_let_go(throttle);
}

bool throttle_is_marked(struct throttle *throttle, const struct throttle_key *key, int64_t within_ms) {
    const struct entry entry = throttle_look(throttle, key);
    return entry.value && clock_mono_ms() - entry.touched_ms < within_ms;
}
