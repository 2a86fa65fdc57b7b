/* Single flight: identical questions under way share one answer. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "flight.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "secret.h"

#define BUCKETS 64U /* any spread will do: keys are digests */

/* One question under way. Seats in order of coming, the leader's first. */
struct flight_call {
    struct flight_call *next;
    uint8_t key[FLIGHT_KEY_BYTES];
    bool is_shared;
    unsigned bucket;
    unsigned seats_count;
    struct flight_seat *first, *last;
};

struct flight {
    struct flight_options options;
    pthread_mutex_t lock; /* guards everything below and all calls */
    struct flight_call *calls[BUCKETS];
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

static unsigned bucket_of(const uint8_t *key) {
    return key ? key[0] % BUCKETS : 0;
}

/* Needs the lock, as all down to flight_board. */
static struct flight_call *find_call(const struct flight *flight, const uint8_t *key) {
    struct flight_call *call = key ? flight->calls[bucket_of(key)] : NULL;
    while (call && !(call->is_shared && secret_eq(call->key, sizeof(call->key), key, FLIGHT_KEY_BYTES)))
        call = call->next;
    return call;
}

static struct flight_call *begin_call(struct flight *flight, const uint8_t *key) {
    struct flight_call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    if (key)
        memcpy(call->key, key, sizeof(call->key));
    call->is_shared = key != NULL;
    call->bucket = bucket_of(key);
    call->next = flight->calls[call->bucket];
    flight->calls[call->bucket] = call;
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
    struct flight_call *call = find_call(flight, key);
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
static void remove_call(struct flight *flight, const struct flight_call *call) {
    (void)pthread_mutex_lock(&flight->lock);
    struct flight_call **at = &flight->calls[call->bucket];
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
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
    free(flight);
}
