/* Single flight: identical questions under way share one answer. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "flight.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hashmap.h"
#include "secret.h"

/* One question under way. Seats in order of coming, the leader's first. */
struct flight_call {
    struct hashmap_node node; /* in the map, if it is shared */
    uint8_t key[FLIGHT_KEY_BYTES];
    bool is_shared;
    unsigned seats_count;
    struct flight_seat *first, *last;
};

struct flight {
    struct flight_options options;
    pthread_mutex_t lock; /* guards everything below and all calls */
    struct hashmap calls; /* those that are shared */
    unsigned seats_count;
};

struct flight *flight_new(const struct flight_options *options) {
    struct flight *flight = calloc(1, sizeof(*flight));
    if (!flight)
        return NULL;
    flight->options = *options;
    (void)pthread_mutex_init(&flight->lock, NULL);
    return flight;
}

static uint64_t flight_hash_of(const uint8_t *key) {
    return hash64(hash_seed(), key, FLIGHT_KEY_BYTES);
}

static bool has_key(const void *call, const void *key) {
    return secret_eq(((const struct flight_call *)call)->key, FLIGHT_KEY_BYTES, key, FLIGHT_KEY_BYTES);
}

/* Needs the lock, as all down to flight_board. */
static struct flight_call *begin_call(struct flight *flight, const uint8_t *key) {
    struct flight_call *call = calloc(1, sizeof(*call));
    if (!call || !key)
        return call;
    memcpy(call->key, key, sizeof(call->key));
    call->is_shared = true;
    hashmap_insert(&flight->calls, &call->node, flight_hash_of(key));
    return call;
}

static int check_seats(const struct flight *flight, const struct flight_call *call, struct err *err) {
    if (call && call->seats_count >= flight->options.seats_per_call_max)
        return err_set(err, ERR_BUSY, "too many identical requests are waiting; try again shortly");
    if (flight->seats_count >= flight->options.seats_max)
        return err_set(err, ERR_BUSY, "too many requests are waiting; try again shortly");
    return 0;
}

static void take_seat(struct flight *flight, struct flight_call *call, struct flight_seat *seat) {
    seat->next = NULL;
    seat->has_place = true;
    if (call->last)
        call->last->next = seat;
    else
        call->first = seat;
    call->last = seat;
    call->seats_count++;
    flight->seats_count++;
}

static int board(struct flight *flight, const uint8_t *key, struct flight_seat *seat, struct flight_call **lead,
                 struct err *err) {
    struct flight_call *call = key ? hashmap_find(&flight->calls, flight_hash_of(key), has_key, key) : NULL;
    int rc = check_seats(flight, call, err);
    if (rc)
        return rc;
    if (!call) {
        call = begin_call(flight, key);
        if (!call)
            return err_set(err, ERR_NOMEM, "out of memory");
        *lead = call;
    }
    take_seat(flight, call, seat);
    return 0;
}

int flight_board(struct flight *flight, const uint8_t *key, struct flight_seat *seat, struct flight_call **lead,
                 struct err *err) {
    int rc;
    *lead = NULL;
    (void)pthread_mutex_lock(&flight->lock);
    rc = board(flight, key, seat, lead, err);
    (void)pthread_mutex_unlock(&flight->lock);
    return rc; /* `seat` may be gone by now, unless it leads */
}

/* From here on nobody can take a seat in it: its list is the caller's alone. */
static void remove_call(struct flight *flight, struct flight_call *call) {
    (void)pthread_mutex_lock(&flight->lock);
    if (call->is_shared)
        hashmap_remove(&flight->calls, &call->node);
    (void)pthread_mutex_unlock(&flight->lock);
}

void flight_land(struct flight *flight, struct flight_call *call, int code, void *result, const struct err *why) {
    const struct flight_options *options = &flight->options;
    struct flight_seat *leader = call->first, *next;
    remove_call(flight, call);
    for (struct flight_seat *seat = leader->next; seat; seat = next) {
        next = seat->next;
        seat->code = code;
        if (code)
            seat->err = *why;
        else
            seat->result = options->result_ref(result);
        seat->run(seat->arg, false); /* and the seat may be gone */
    }
    free(call);
    leader->code = code;
    leader->result = result;
    if (code)
        leader->err = *why;
    leader->run(leader->arg, false);
}

void flight_leave(struct flight *flight, struct flight_seat *seat) {
    if (seat->result)
        flight->options.result_unref(seat->result);
    seat->result = NULL;
    if (!seat->has_place)
        return;
    (void)pthread_mutex_lock(&flight->lock);
    flight->seats_count--;
    (void)pthread_mutex_unlock(&flight->lock);
    seat->has_place = false;
}

void flight_free(struct flight *flight) {
    if (!flight)
        return;
    assert(!flight->seats_count);
    (void)pthread_mutex_destroy(&flight->lock);
    hashmap_done(&flight->calls);
    free(flight);
}
