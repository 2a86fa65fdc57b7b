/* Worker pools: bounded queue, threads on first use, stop under load.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "worker_pool.h"
#include "log.h"

#define REQUEST_ID_ROOM 64

static atomic_uint begun, ended, ran, canceled;
static atomic_bool is_gate_open;
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;

static void thread_begin(void) {
    begun++;
}

static void thread_end(void) {
    ended++;
}

static int reset(void **state) {
    (void)state;
    begun = ended = ran = canceled = 0;
    is_gate_open = false;
    return 0;
}

static void open_gate(void) {
    (void)pthread_mutex_lock(&gate_lock);
    is_gate_open = true;
    (void)pthread_cond_broadcast(&gate_moved);
    (void)pthread_mutex_unlock(&gate_lock);
}

static void count(void *arg, bool is_canceled) {
    (void)arg;
    ran++;
    if (is_canceled)
        canceled++;
}

static void wait_at_gate(void *arg, bool is_canceled) {
    count(arg, is_canceled);
    (void)pthread_mutex_lock(&gate_lock);
    while (!is_gate_open)
        (void)pthread_cond_wait(&gate_moved, &gate_lock);
    (void)pthread_mutex_unlock(&gate_lock);
}

static struct worker_pool *make(unsigned threads, unsigned queue_count) {
    struct worker_pool *workers = NULL;
    const struct worker_pool_options options = {
        .name = "a pool with a long name",
        .threads = threads,
        .queue_count = queue_count,
        .thread_begin = thread_begin,
        .thread_end = thread_end,
    };
    assert_int_equal(worker_pool_new(&options, &workers, NULL), 0);
    return workers;
}

static void threads_start_on_first_use(void **state) {
    struct worker_pool *workers = make(8, 100);
    struct worker_pool_stats stats;
    (void)state;
    assert_int_equal(begun, 0);
    assert_int_equal(worker_pool_submit(workers, count, NULL, NULL), 0);
    UNIT_WAIT_FOR((worker_pool_get_stats(workers, &stats), stats.done == 1));
    assert_int_equal(begun, 1);
    assert_int_equal(worker_pool_submit(workers, count, NULL, NULL), 0);
    UNIT_WAIT_FOR((worker_pool_get_stats(workers, &stats), stats.done == 2));
    assert_int_equal(begun, 1); /* the idle one took it */
    worker_pool_free(workers);
    assert_int_equal(ended, 1);
    assert_int_equal(canceled, 0);
}

static void unused_lanes_stop(void **state) {
    struct worker_pool *workers = make(2, 1);
    (void)state;
    worker_pool_stop(workers);
    worker_pool_free(workers);
    worker_pool_free(NULL);
    assert_int_equal(begun, 0);
}

static void runs_as_many_at_once_as_it_has_threads(void **state) {
    struct worker_pool *workers = make(3, 10);
    struct worker_pool_stats stats;
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(worker_pool_submit(workers, wait_at_gate, NULL, NULL), 0);
    UNIT_WAIT_FOR(ran == 3);
    worker_pool_get_stats(workers, &stats);
    assert_int_equal(stats.running, 3);
    assert_int_equal(stats.waiting, 2);
    open_gate();
    UNIT_WAIT_FOR((worker_pool_get_stats(workers, &stats), stats.done == 5));
    assert_int_equal(begun, 3);
    worker_pool_free(workers);
    assert_int_equal(ended, 3);
}

static void full_queue_refuses(void **state) {
    struct worker_pool *workers = make(1, 3);
    struct worker_pool_stats stats;
    struct err err = {0};
    (void)state;
    assert_int_equal(worker_pool_submit(workers, wait_at_gate, NULL, NULL), 0);
    UNIT_WAIT_FOR(ran == 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(worker_pool_submit(workers, count, NULL, NULL), 0);
    assert_int_equal(worker_pool_submit(workers, count, NULL, &err), ERR_BUSY);
    assert_non_null(strstr(err.text, "a pool with a long name"));
    open_gate();
    UNIT_WAIT_FOR(ran == 4);
    for (int i = 0; i < 50; i++) { /* the ring wraps */
        assert_int_equal(worker_pool_submit(workers, count, NULL, NULL), 0);
        UNIT_WAIT_FOR(ran == 5U + (unsigned)i);
    }
    UNIT_WAIT_FOR((worker_pool_get_stats(workers, &stats), stats.done == 54));
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.waiting + stats.running, 0);
    worker_pool_free(workers);
}

static void *stop(void *workers) {
    worker_pool_stop(workers);
    return NULL;
}

static void stop_cancels_what_waits(void **state) {
    struct worker_pool *workers = make(1, 10);
    pthread_t stoppers[2];
    (void)state;
    assert_int_equal(worker_pool_submit(workers, wait_at_gate, NULL, NULL), 0);
    UNIT_WAIT_FOR(ran == 1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(worker_pool_submit(workers, count, NULL, NULL), 0);
    assert_int_equal(pthread_create(&stoppers[0], NULL, stop, workers), 0);
    assert_int_equal(pthread_create(&stoppers[1], NULL, stop, workers), 0);
    UNIT_WAIT_FOR(canceled == 4); /* although the only thread still waits at the gate */
    assert_int_equal(worker_pool_submit(workers, count, NULL, NULL), ERR_CANCELED);
    open_gate();
    assert_int_equal(pthread_join(stoppers[0], NULL), 0);
    assert_int_equal(pthread_join(stoppers[1], NULL), 0);
    assert_int_equal(ended, 1);
    worker_pool_stop(workers);
    worker_pool_free(workers);
    assert_int_equal(ran, 5);
}

static void *submit_until_stopped(void *arg) {
    struct worker_pool *workers = arg;
    uintptr_t accepted = 0;
    for (;;) {
        int rc = worker_pool_submit(workers, count, NULL, NULL);
        if (rc == ERR_CANCELED)
            break;
        accepted += rc == 0;
    }
    return (void *)accepted; /* NOLINT(performance-no-int-to-ptr): a count */
}

/* Each accepted job runs exactly once, whenever the stop comes. */
static void stop_under_load(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct worker_pool *workers = make(4, 16);
        pthread_t threads[3];
        uintptr_t accepted = 0;
        (void)reset(NULL);
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, submit_until_stopped, workers), 0);
        UNIT_WAIT_FOR(ran >= 50U * (unsigned)(round % 3));
        worker_pool_stop(workers);
        for (int i = 0; i < 3; i++) {
            void *part;
            assert_int_equal(pthread_join(threads[i], &part), 0);
            accepted += (uintptr_t)part;
        }
        assert_int_equal(ran, accepted);
        assert_int_equal(begun, ended);
        worker_pool_free(workers);
    }
}

static void submit_again(void *arg, bool is_canceled) {
    count(arg, is_canceled);
    if (ran < 100 && !is_canceled)
        (void)worker_pool_submit(arg, submit_again, arg, NULL);
}

static void jobs_may_submit(void **state) {
    struct worker_pool *workers = make(2, 4);
    (void)state;
    assert_int_equal(worker_pool_submit(workers, submit_again, workers, NULL), 0);
    UNIT_WAIT_FOR(ran == 100);
    worker_pool_free(workers);
}

static void leave_an_id(void *arg, bool is_canceled) {
    (void)is_canceled;
    (void)snprintf(arg, REQUEST_ID_ROOM, "%s", log_request_id());
    log_set_request_id("a-request");
    ran++;
}

/* What a thread does next is not told under the id of the request before. */
static void the_request_id_ends_with_the_job(void **state) {
    struct worker_pool *workers = make(1, 4);
    char first[REQUEST_ID_ROOM] = "?", second[REQUEST_ID_ROOM] = "?";
    (void)state;
    assert_int_equal(worker_pool_submit(workers, leave_an_id, first, NULL), 0);
    assert_int_equal(worker_pool_submit(workers, leave_an_id, second, NULL), 0);
    UNIT_WAIT_FOR(ran == 2);
    assert_string_equal(first, "");
    assert_string_equal(second, "");
    worker_pool_free(workers);
}

/* -- parties ----------------------------------------------------------------------------------------------------------------- */

#define ALICE 1U
#define BOB 2U
#define CAROL 3U

static char order[64]; /* of the jobs that ran; small letters: canceled */

static void note_letter(const char *letter, bool is_canceled) {
    (void)pthread_mutex_lock(&gate_lock);
    order[strlen(order)] = (char)(is_canceled ? *letter | 0x20 : *letter);
    (void)pthread_mutex_unlock(&gate_lock);
    count(NULL, is_canceled);
}

static void job_x(void *arg, bool is_canceled) {
    (void)arg;
    note_letter("X", is_canceled);
}

static void job_a(void *arg, bool is_canceled) {
    (void)arg;
    note_letter("A", is_canceled);
}

static void job_b(void *arg, bool is_canceled) {
    (void)arg;
    note_letter("B", is_canceled);
}

static void job_c(void *arg, bool is_canceled) {
    (void)arg;
    note_letter("C", is_canceled);
}

static worker_fn *const jobs[] = {[WORKER_POOL_NO_PARTY] = job_x, [ALICE] = job_a, [BOB] = job_b, [CAROL] = job_c};

static int submit_for(struct worker_pool *workers, uint64_t party, struct err *err) {
    return worker_pool_submit_for(workers, party, jobs[party], NULL, err);
}

/* The only thread waits at the gate, so that what comes waits in the queue. */
static struct worker_pool *make_waiting(unsigned queue_count) {
    struct worker_pool *workers = make(1, queue_count);
    memset(order, 0, sizeof(order));
    assert_int_equal(worker_pool_submit(workers, wait_at_gate, NULL, NULL), 0);
    UNIT_WAIT_FOR(ran == 1);
    return workers;
}

/* A word of jobs; each letter is who it is for, X: nobody. */
static void submit_all(struct worker_pool *workers, const char *names) {
    static const char letters[] = "XABC";
    for (const char *p = names; *p; p++)
        assert_int_equal(submit_for(workers, (uint64_t)(strchr(letters, *p) - letters), NULL), 0);
}

static const char *order_after(struct worker_pool *workers, unsigned jobs_count) {
    open_gate();
    UNIT_WAIT_FOR(ran == jobs_count + 1);
    worker_pool_free(workers);
    return order;
}

static void parties_are_served_in_turn(void **state) {
    static const struct {
        const char *come, *served;
    } cases[] = {
        {"AAAB", "ABAA"},
        {"AAAABBC", "ABCABAA"},
        {"AAXAX", "AXXAA"}, /* our own: no turns, and nobody is before it for long */
        {"ABCABC", "ABCABC"},
        {"XX", "XX"},
        {"AAAAAAAAAAAAAAAB", "ABAAAAAAAAAAAAAA"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        (void)reset(NULL);
        struct worker_pool *workers = make_waiting(20);
        submit_all(workers, cases[i].come);
        assert_string_equal(order_after(workers, (unsigned)strlen(cases[i].come)), cases[i].served);
    }
}

static void bring_another(void *workers, bool is_canceled) {
    note_letter("N", is_canceled);
    if (ran < 12 && !is_canceled)
        (void)worker_pool_submit_for(workers, 100 + ran, bring_another, workers, NULL);
}

/* Somebody who comes ever anew, from ever another address, is not before those who were there. */
static void newcomers_starve_nobody(void **state) {
    struct worker_pool *workers = make_waiting(20);
    (void)state;
    submit_all(workers, "AAA");
    assert_int_equal(worker_pool_submit_for(workers, 100, bring_another, workers, NULL), 0);
    assert_string_equal(order_after(workers, 11), "ANANANNNNNN");
}

static void a_full_queue_refuses_who_has_most_waiting(void **state) {
    struct worker_pool *workers = make_waiting(4);
    struct worker_pool_stats stats;
    struct err err = {0};
    (void)state;
    submit_all(workers, "AABA");
    assert_int_equal(submit_for(workers, ALICE, &err), ERR_BUSY);
    assert_string_equal(order, "");
    log_set_request_id("a-request");
    submit_all(workers, "C"); /* the third of A gives way, at once */
    assert_string_equal(order, "a");
    assert_string_equal(log_request_id(), "a-request");
    log_set_request_id(NULL);
    submit_all(workers, "X"); /* and the second */
    assert_string_equal(order, "aa");
    assert_int_equal(submit_for(workers, CAROL, NULL), ERR_BUSY); /* nobody has more than one */
    assert_int_equal(submit_for(workers, WORKER_POOL_NO_PARTY, NULL), ERR_BUSY);
    worker_pool_get_stats(workers, &stats);
    assert_int_equal(stats.refused, 5);
    assert_int_equal(stats.waiting, 4);
    assert_string_equal(order_after(workers, 6), "aaABCX");
    assert_int_equal(canceled, 2);
}

static void *submit_for_all(void *arg) {
    struct worker_pool *workers = arg;
    uintptr_t accepted = 0;
    for (uint64_t i = 0;; i++) {
        int rc = worker_pool_submit_for(workers, i * i % 7, count, NULL, NULL);
        if (rc == ERR_CANCELED)
            break;
        accepted += rc == 0;
    }
    return (void *)accepted; /* NOLINT(performance-no-int-to-ptr): a count */
}

/* Each accepted job runs exactly once, also one that gave way, and none is under way when the stop has ended. */
static void what_gives_way_runs_once(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct worker_pool *workers = make(2, 8);
        pthread_t threads[3];
        uintptr_t accepted = 0;
        unsigned after;
        (void)reset(NULL);
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, submit_for_all, workers), 0);
        UNIT_WAIT_FOR(ran >= 200);
        worker_pool_stop(workers);
        after = ran;
        for (int i = 0; i < 3; i++) {
            void *part;
            assert_int_equal(pthread_join(threads[i], &part), 0);
            accepted += (uintptr_t)part;
        }
        assert_int_equal(ran, accepted);
        assert_int_equal(ran, after);
        worker_pool_free(workers);
    }
}

#define FRESH(test) cmocka_unit_test_setup(test, reset)

int main(void) {
    const struct CMUnitTest tests[] = {
        FRESH(threads_start_on_first_use),
        FRESH(unused_lanes_stop),
        FRESH(runs_as_many_at_once_as_it_has_threads),
        FRESH(full_queue_refuses),
        FRESH(stop_cancels_what_waits),
        FRESH(stop_under_load),
        FRESH(jobs_may_submit),
        FRESH(the_request_id_ends_with_the_job),
        FRESH(parties_are_served_in_turn),
        FRESH(newcomers_starve_nobody),
        FRESH(a_full_queue_refuses_who_has_most_waiting),
        FRESH(what_gives_way_runs_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
