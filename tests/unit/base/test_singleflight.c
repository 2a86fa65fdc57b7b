/* Single singleflight: one question, everybody who came in time gets its answer without a thread.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "singleflight.h"
#include "worker_pool.h"

#define SEATS_MAX 40U
#define PER_CALL_MAX 30U
#define GUESTS 20U
#define THREADS 4U
#define TURNS 300U

struct result {
    atomic_uint refs;
    int value;
};

static atomic_uint live_results;
static struct singleflight *singleflight;
static const uint8_t key_a[SINGLEFLIGHT_KEY_BYTES] = {7, 1}, key_b[SINGLEFLIGHT_KEY_BYTES] = {7, 2};

static void *result_ref(void *p) {
    (void)atomic_fetch_add(&((struct result *)p)->refs, 1);
    return p;
}

static void result_unref(void *p) {
    struct result *r = p;
    if (atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    (void)atomic_fetch_sub(&live_results, 1);
    free(r);
}

static struct result *result_new(int value) {
    struct result *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    atomic_init(&r->refs, 1);
    r->value = value;
    (void)atomic_fetch_add(&live_results, 1);
    return r;
}

static int set_up(void **state) {
    const struct singleflight_options options = {result_ref, result_unref, SEATS_MAX, PER_CALL_MAX};
    (void)state;
    atomic_store(&live_results, 0);
    singleflight = singleflight_new(&options);
    return singleflight ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    singleflight_free(singleflight);
    return atomic_load(&live_results) ? -1 : 0;
}

/* -- one thread ------------------------------------------------------------------------------------------------------------ */

static unsigned order;

struct guest {
    struct singleflight_waiter waiter;
    unsigned came; /* place in the order of calls; 0: not called */
};

static void note(void *arg, bool is_canceled) {
    struct guest *guest = arg;
    assert_false(is_canceled);
    assert_int_equal(guest->came, 0);
    guest->came = ++order;
}

static struct singleflight_call *come(struct guest *guest, const uint8_t *key) {
    struct singleflight_call *lead = NULL;
    *guest = (struct guest){.waiter = {.run = note, .arg = guest}};
    assert_int_equal(singleflight_join(singleflight, key, &guest->waiter, &lead, NULL), 0);
    return lead;
}

static void everybody_gets_the_one_answer_and_the_leader_last(void **state) {
    struct guest guests[GUESTS];
    struct singleflight_call *call = come(&guests[0], key_a);
    (void)state;
    order = 0;
    assert_non_null(call);
    for (unsigned i = 1; i < GUESTS; i++)
        assert_null(come(&guests[i], key_a));
    singleflight_complete(singleflight, call, 0, result_new(5), NULL);
    assert_int_equal(guests[0].came, GUESTS);
    for (unsigned i = 0; i < GUESTS; i++) {
        assert_int_equal(guests[i].came, i ? i : GUESTS);
        assert_int_equal(guests[i].waiter.code, 0);
        assert_int_equal(((struct result *)guests[i].waiter.result)->value, 5);
        singleflight_leave(singleflight, &guests[i].waiter);
        singleflight_leave(singleflight, &guests[i].waiter);
    }
}

static void everybody_gets_the_one_failure(void **state) {
    struct guest guests[3];
    struct singleflight_call *call = come(&guests[0], key_a);
    struct err why = {0};
    (void)state;
    assert_null(come(&guests[1], key_a));
    assert_null(come(&guests[2], key_a));
    (void)err_set(&why, ERR_TIMEOUT, "no answer");
    singleflight_complete(singleflight, call, ERR_TIMEOUT, NULL, &why);
    for (unsigned i = 0; i < UNIT_COUNT(guests); i++) {
        assert_int_equal(guests[i].waiter.code, ERR_TIMEOUT);
        assert_string_equal(guests[i].waiter.err.text, "no answer");
        assert_null(guests[i].waiter.result);
        singleflight_leave(singleflight, &guests[i].waiter);
    }
}

static void who_comes_after_the_answer_begins_anew(void **state) {
    struct guest first, second;
    struct singleflight_call *call = come(&first, key_a);
    (void)state;
    singleflight_complete(singleflight, call, 0, result_new(1), NULL);
    call = come(&second, key_a);
    assert_non_null(call);
    singleflight_complete(singleflight, call, 0, result_new(2), NULL);
    assert_int_equal(((struct result *)second.waiter.result)->value, 2);
    singleflight_leave(singleflight, &first.waiter);
    singleflight_leave(singleflight, &second.waiter);
}

static void keys_are_never_mixed(void **state) {
    struct guest a, b, a2;
    struct singleflight_call *call_a = come(&a, key_a), *call_b = come(&b, key_b);
    (void)state;
    assert_non_null(call_a);
    assert_non_null(call_b);
    assert_null(come(&a2, key_a));
    singleflight_complete(singleflight, call_b, 0, result_new(2), NULL);
    assert_int_equal(a.came, 0);
    singleflight_complete(singleflight, call_a, 0, result_new(1), NULL);
    assert_int_equal(((struct result *)a2.waiter.result)->value, 1);
    assert_int_equal(((struct result *)b.waiter.result)->value, 2);
    singleflight_leave(singleflight, &a.waiter);
    singleflight_leave(singleflight, &a2.waiter);
    singleflight_leave(singleflight, &b.waiter);
}

static void without_a_key_nothing_is_shared(void **state) {
    static const uint8_t zeros[SINGLEFLIGHT_KEY_BYTES];
    struct guest guests[3];
    struct singleflight_call *calls[3];
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        calls[i] = come(&guests[i], i < 2 ? NULL : zeros);
        assert_non_null(calls[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        singleflight_complete(singleflight, calls[i], 0, result_new((int)i), NULL);
        assert_int_equal(((struct result *)guests[i].waiter.result)->value, i);
        singleflight_leave(singleflight, &guests[i].waiter);
    }
}

static int try_to_come(const uint8_t *key, struct err *err) {
    struct guest late = {.waiter = {.run = note, .arg = NULL}};
    struct singleflight_call *lead = NULL;
    int rc = singleflight_join(singleflight, key, &late.waiter, &lead, err);
    assert_null(lead);
    singleflight_leave(singleflight, &late.waiter);
    return rc;
}

/* A waiter is taken from the coming until it is given back, not only until the answer. */
static void seats_are_bounded_for_one_answer_and_in_all(void **state) {
    struct guest guests[SEATS_MAX];
    struct singleflight_call *calls[SEATS_MAX - PER_CALL_MAX + 1] = {come(&guests[0], key_a)};
    struct err err = {0};
    (void)state;
    for (unsigned i = 1; i < PER_CALL_MAX; i++)
        assert_null(come(&guests[i], key_a));
    assert_int_equal(try_to_come(key_a, &err), ERR_BUSY);
    for (unsigned i = PER_CALL_MAX; i < SEATS_MAX; i++)
        calls[i - PER_CALL_MAX + 1] = come(&guests[i], NULL);
    assert_int_equal(try_to_come(key_b, NULL), ERR_BUSY);
    for (unsigned i = 0; i < UNIT_COUNT(calls); i++)
        singleflight_complete(singleflight, calls[i], 0, result_new(1), NULL);
    assert_int_equal(try_to_come(key_b, NULL), ERR_BUSY);
    for (unsigned i = 0; i < SEATS_MAX; i++)
        singleflight_leave(singleflight, &guests[i].waiter);
    calls[0] = come(&guests[0], key_b);
    singleflight_complete(singleflight, calls[0], 0, result_new(1), NULL);
    singleflight_leave(singleflight, &guests[0].waiter);
}

/* -- many threads ------------------------------------------------------------------------------------------------------------ */

static struct worker_pool *workers;
static atomic_uint called;

struct passenger {
    struct singleflight_waiter waiter;
    struct singleflight_call *call;
};

/* Gone the moment it has its answer. */
static void get_off(void *arg, bool is_canceled) {
    struct passenger *p = arg;
    (void)is_canceled;
    assert_int_equal(p->waiter.code, 0);
    assert_int_equal(((struct result *)p->waiter.result)->value, 3);
    singleflight_leave(singleflight, &p->waiter);
    free(p);
    (void)atomic_fetch_add(&called, 1);
}

static void land(void *arg, bool is_canceled) {
    (void)is_canceled;
    singleflight_complete(singleflight, ((struct passenger *)arg)->call, 0, result_new(3), NULL);
}

static bool board_one(const uint8_t *key) {
    struct passenger *p = calloc(1, sizeof(*p));
    struct singleflight_call *lead = NULL;
    assert_non_null(p);
    p->waiter.run = get_off;
    p->waiter.arg = p;
    if (singleflight_join(singleflight, key, &p->waiter, &lead, NULL)) {
        free(p);
        return false;
    }
    if (!lead)
        return true;
    p->call = lead;
    assert_int_equal(worker_pool_submit(workers, land, p, NULL), 0);
    return true;
}

static void *board_often(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < TURNS; i++)
        while (!board_one(i % 3 ? key_a : key_b))
            (void)sched_yield();
    return NULL;
}

static void crowds_leave_nothing_behind(void **state) {
    const struct worker_pool_options options = {.name = "land", .threads = 2, .queue_count = SEATS_MAX};
    pthread_t threads[THREADS];
    (void)state;
    atomic_store(&called, 0);
    assert_int_equal(worker_pool_new(&options, &workers, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, board_often, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    worker_pool_free(workers);
    assert_int_equal(atomic_load(&called), THREADS * TURNS);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(everybody_gets_the_one_answer_and_the_leader_last),
        TEST(everybody_gets_the_one_failure),
        TEST(who_comes_after_the_answer_begins_anew),
        TEST(keys_are_never_mixed),
        TEST(without_a_key_nothing_is_shared),
        TEST(seats_are_bounded_for_one_answer_and_in_all),
        TEST(crowds_leave_nothing_behind),
    };
    singleflight_free(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
