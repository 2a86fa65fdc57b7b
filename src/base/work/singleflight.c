/* Singleflight: identical questions under way share one answer. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "singleflight.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hashmap.h"
#include "secret.h"

/* One question under way. Seats in order of coming, the leader's first. */
struct singleflight_call {
    struct hashmap_node node; /* in the map, if it is shared */
    uint8_t key[SINGLEFLIGHT_KEY_BYTES];
    bool is_shared;
    unsigned waiters_count;
    struct singleflight_waiter *first, *last;
};

struct singleflight {
    struct singleflight_options options;
    pthread_mutex_t lock; /* guards everything below and all calls */
    struct hashmap calls; /* those that are shared */
    unsigned waiters_count;
};

struct singleflight *singleflight_new(const struct singleflight_options *options) {
    struct singleflight *singleflight = calloc(1, sizeof(*singleflight));
    if (!singleflight)
        return NULL;
    singleflight->options = *options;
    (void)pthread_mutex_init(&singleflight->lock, NULL);
    return singleflight;
}

static uint64_t singleflight_hash_of(const uint8_t *key) {
    return hash64(hash_seed(), key, SINGLEFLIGHT_KEY_BYTES);
}

static bool singleflight_has_key(const void *call, const void *key) {
    return secret_eq(((const struct singleflight_call *)call)->key, SINGLEFLIGHT_KEY_BYTES, key, SINGLEFLIGHT_KEY_BYTES);
}

/* Needs the lock, as all down to singleflight_join. */
static struct singleflight_call *singleflight_begin_call(struct singleflight *singleflight, const uint8_t *key) {
    struct singleflight_call *call = calloc(1, sizeof(*call));
    if (!call || !key)
        return call;
    memcpy(call->key, key, sizeof(call->key));
    call->is_shared = true;
    hashmap_insert(&singleflight->calls, &call->node, singleflight_hash_of(key));
    return call;
}

static int check_seats(const struct singleflight *singleflight, const struct singleflight_call *call, struct err *err) {
    if (call && call->waiters_count >= singleflight->options.waiters_per_call_max)
        return err_set(err, ERR_BUSY, "too many identical requests are waiting; try again shortly");
    if (singleflight->waiters_count >= singleflight->options.waiters_max)
        return err_set(err, ERR_BUSY, "too many requests are waiting; try again shortly");
    return 0;
}

static void add_waiter(struct singleflight *singleflight, struct singleflight_call *call, struct singleflight_waiter *waiter) {
    waiter->next = NULL;
    waiter->has_place = true;
    if (call->last)
        call->last->next = waiter;
    else
        call->first = waiter;
    call->last = waiter;
    call->waiters_count++;
    singleflight->waiters_count++;
}

static int singleflight_join_waiter(struct singleflight *singleflight, const uint8_t *key, struct singleflight_waiter *waiter,
                                    struct singleflight_call **lead, struct err *err) {
    struct singleflight_call *call =
        key ? hashmap_find(&singleflight->calls, singleflight_hash_of(key), singleflight_has_key, key) : NULL;
    int rc = check_seats(singleflight, call, err);
    if (rc)
        return rc;
    if (!call) {
        call = singleflight_begin_call(singleflight, key);
        if (!call)
            return err_set(err, ERR_NOMEM, "out of memory");
        *lead = call;
    }
    add_waiter(singleflight, call, waiter);
    return 0;
}

int singleflight_join(struct singleflight *singleflight, const uint8_t *key, struct singleflight_waiter *waiter,
                      struct singleflight_call **lead, struct err *err) {
    int rc;
    *lead = NULL;
    (void)pthread_mutex_lock(&singleflight->lock);
    rc = singleflight_join_waiter(singleflight, key, waiter, lead, err);
    (void)pthread_mutex_unlock(&singleflight->lock);
    return rc; /* `waiter` may be gone by now, unless it leads */
}

/* From here on nobody can take a waiter in it: its list is the caller's alone. */
static void singleflight_remove_call(struct singleflight *singleflight, struct singleflight_call *call) {
    (void)pthread_mutex_lock(&singleflight->lock);
    if (call->is_shared)
        hashmap_remove(&singleflight->calls, &call->node);
    (void)pthread_mutex_unlock(&singleflight->lock);
}

void singleflight_complete(struct singleflight *singleflight, struct singleflight_call *call, int code, void *result,
                           const struct err *why) {
    const struct singleflight_options *options = &singleflight->options;
    struct singleflight_waiter *leader = call->first, *next;
    singleflight_remove_call(singleflight, call);
    for (struct singleflight_waiter *waiter = leader->next; waiter; waiter = next) {
        next = waiter->next;
        waiter->code = code;
        if (code)
            waiter->err = *why;
        else
            waiter->result = options->result_ref(result);
        waiter->run(waiter->arg, false); /* and the waiter may be gone */
    }
    free(call);
    leader->code = code;
    leader->result = result;
    if (code)
        leader->err = *why;
    leader->run(leader->arg, false);
}

void singleflight_leave(struct singleflight *singleflight, struct singleflight_waiter *waiter) {
    if (waiter->result)
        singleflight->options.result_unref(waiter->result);
    waiter->result = NULL;
    if (!waiter->has_place)
        return;
    (void)pthread_mutex_lock(&singleflight->lock);
    singleflight->waiters_count--;
    (void)pthread_mutex_unlock(&singleflight->lock);
    waiter->has_place = false;
}

void singleflight_free(struct singleflight *singleflight) {
    if (!singleflight)
        return;
    assert(!singleflight->waiters_count);
    (void)pthread_mutex_destroy(&singleflight->lock);
    hashmap_done(&singleflight->calls);
    free(singleflight);
}
