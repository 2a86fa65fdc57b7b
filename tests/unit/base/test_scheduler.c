/* The scheduler: first run, period, back-off, waking, stopping, periodic work that are done for good.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdatomic.h>

#include "clock.h"
#include "log.h"
#include "scheduler.h"

#define NEVER_MS (24LL * 3600 * 1000) /* so long that only waking can start it */

static atomic_uint runs, overlaps, inside, begun, ended;
static atomic_int result;
static atomic_bool is_gate_closed;
static atomic_llong last_run_ms, shortest_pause_ms;

static void thread_begin(void) {
    (void)atomic_fetch_add(&begun, 1);
}

static void thread_end(void) {
    (void)atomic_fetch_add(&ended, 1);
}

static void note_pause(void) {
    long long now_ms = clock_mono_ms(), before_ms = atomic_exchange(&last_run_ms, now_ms);
    if (before_ms && now_ms - before_ms < atomic_load(&shortest_pause_ms))
        atomic_store(&shortest_pause_ms, now_ms - before_ms);
}

static int work(void *arg, struct err *err) {
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)arg;
    if (atomic_fetch_add(&inside, 1))
        (void)atomic_fetch_add(&overlaps, 1);
    note_pause();
    (void)atomic_fetch_add(&runs, 1);
    while (atomic_load(&is_gate_closed))
        (void)nanosleep(&pause, NULL);
    (void)atomic_fetch_sub(&inside, 1);
    return atomic_load(&result) ? err_set(err, atomic_load(&result), "as the test wants it") : 0;
}

static int set_up(void **state) {
    (void)state;
    log_set_level(LOG_LEVEL_ERROR);
    atomic_store(&runs, 0);
    atomic_store(&overlaps, 0);
    atomic_store(&begun, 0);
    atomic_store(&ended, 0);
    atomic_store(&result, 0);
    atomic_store(&is_gate_closed, false);
    atomic_store(&last_run_ms, 0);
    atomic_store(&shortest_pause_ms, NEVER_MS);
    return 0;
}

static struct scheduler *start(const struct periodic *table, unsigned count) {
    struct scheduler *scheduler = NULL;
    assert_int_equal(scheduler_new(table, count, thread_begin, thread_end, &scheduler, NULL), 0);
    assert_int_equal(scheduler_start(scheduler, NULL), 0);
    return scheduler;
}

static const struct periodic rare = {
    .name = "rare", .period_ms = NEVER_MS, .retry = {.first_ms = NEVER_MS, .max_ms = NEVER_MS}, .run = work};

static void nothing_runs_before_the_start(void **state) {
    struct scheduler *scheduler = NULL;
    (void)state;
    assert_int_equal(scheduler_new(&rare, 1, NULL, NULL, &scheduler, NULL), 0);
    scheduler_free(scheduler);
    assert_int_equal(atomic_load(&runs), 0);
    scheduler_free(NULL);
}

static void every_job_is_due_at_once(void **state) {
    const struct periodic table[] = {rare, rare, rare};
    struct scheduler *scheduler = start(table, 3);
    (void)state;
    UNIT_WAIT_FOR(atomic_load(&runs) == 3);
    scheduler_free(scheduler);
    assert_int_equal(atomic_load(&runs), 3);
    assert_int_equal(atomic_load(&begun), 3);
    assert_int_equal(atomic_load(&ended), 3);
}

static void a_job_runs_again_after_its_period(void **state) {
    const struct periodic periodic = {.name = "often", .period_ms = 20, .run = work};
    struct scheduler *scheduler = start(&periodic, 1);
    (void)state;
    UNIT_WAIT_FOR(atomic_load(&runs) >= 5);
    scheduler_free(scheduler);
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_true(atomic_load(&shortest_pause_ms) >= 19); /* clocks are read in whole milliseconds */
}

static void jitter_only_shortens(void **state) {
    const struct periodic periodic = {.name = "often", .period_ms = 40, .jitter_percent = 50, .run = work};
    struct scheduler *scheduler = start(&periodic, 1);
    (void)state;
    UNIT_WAIT_FOR(atomic_load(&runs) >= 5);
    scheduler_free(scheduler);
    assert_true(atomic_load(&shortest_pause_ms) >= 19);
}

static void a_failed_job_waits_for_its_back_off(void **state) {
    const struct periodic periodic = {
        .name = "fails", .period_ms = 1, .retry = {.first_ms = NEVER_MS, .max_ms = NEVER_MS}, .run = work};
    struct scheduler *scheduler;
    (void)state;
    atomic_store(&result, ERR_DATABASE);
    scheduler = start(&periodic, 1);
    UNIT_WAIT_FOR(atomic_load(&runs) == 1);
    atomic_store(&result, 0);
    scheduler_wake(scheduler, "other");
    scheduler_wake(scheduler, "fails");
    UNIT_WAIT_FOR(atomic_load(&runs) >= 4); /* good again: back to its period */
    scheduler_free(scheduler);
}

static void a_failed_job_is_tried_again(void **state) {
    const struct periodic periodic = {.name = "fails", .period_ms = NEVER_MS, .retry = {.first_ms = 1, .max_ms = 4}, .run = work};
    struct scheduler *scheduler;
    (void)state;
    atomic_store(&result, ERR_DATABASE);
    scheduler = start(&periodic, 1);
    UNIT_WAIT_FOR(atomic_load(&runs) >= 6);
    scheduler_free(scheduler);
}

static void waking_during_a_run_leads_to_another_one(void **state) {
    struct scheduler *scheduler;
    (void)state;
    atomic_store(&is_gate_closed, true);
    scheduler = start(&rare, 1);
    UNIT_WAIT_FOR(atomic_load(&runs) == 1);
    scheduler_wake(scheduler, "rare");
    scheduler_wake(scheduler, "rare"); /* twice is once */
    atomic_store(&is_gate_closed, false);
    UNIT_WAIT_FOR(atomic_load(&runs) == 2);
    scheduler_free(scheduler);
    assert_int_equal(atomic_load(&runs), 2);
}

static void canceled_means_never_again(void **state) {
    const struct periodic periodic = {.name = "once", .period_ms = 1, .run = work};
    struct scheduler *scheduler;
    (void)state;
    atomic_store(&result, ERR_CANCELED);
    scheduler = start(&periodic, 1);
    UNIT_WAIT_FOR(atomic_load(&ended) == 1);
    scheduler_wake(scheduler, "once");
    scheduler_free(scheduler);
    assert_int_equal(atomic_load(&runs), 1);
}

static void stopping_under_load_waits_for_running_jobs(void **state) {
    struct periodic table[8];
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct scheduler *scheduler;
        for (size_t i = 0; i < UNIT_COUNT(table); i++)
            table[i] = (struct periodic){.name = "busy", .period_ms = 1, .run = work};
        scheduler = start(table, UNIT_COUNT(table));
        for (int i = 0; i < 50; i++)
            scheduler_wake(scheduler, "busy");
        scheduler_free(scheduler);
        assert_int_equal(atomic_load(&inside), 0);
    }
    assert_int_equal(atomic_load(&begun), atomic_load(&ended));
}

#define TEST(fn) cmocka_unit_test_setup(fn, set_up)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_runs_before_the_start),
        TEST(every_job_is_due_at_once),
        TEST(a_job_runs_again_after_its_period),
        TEST(jitter_only_shortens),
        TEST(a_failed_job_waits_for_its_back_off),
        TEST(a_failed_job_is_tried_again),
        TEST(waking_during_a_run_leads_to_another_one),
        TEST(canceled_means_never_again),
        TEST(stopping_under_load_waits_for_running_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
