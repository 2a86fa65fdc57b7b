/* How many events a vCenter is told at once. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "event_plan.h"

#define N EVENTS_A_MINUTE

static size_t post(struct event_budget *budget, size_t waiting, int64_t now_ms) {
    const struct event_plan plan = event_plan_make(budget, waiting, now_ms);
    assert_false(plan.folds);
    budget->used += (unsigned)plan.singles;
    return plan.singles;
}

static void few_are_posted_as_they_come(void **state) {
    struct event_budget budget = {0};
    (void)state;
    assert_int_equal(post(&budget, 0, 1000), 0);
    assert_int_equal(post(&budget, 3, 2000), 3);
    assert_int_equal(post(&budget, N - 3, 3000), N - 3);
}

static void what_is_beyond_a_minute_waits_for_the_next(void **state) {
    struct event_budget budget = {0};
    (void)state;
    assert_int_equal(post(&budget, N - 1, 1000), N - 1);
    assert_int_equal(post(&budget, 3, 2000), 1);
    assert_int_equal(post(&budget, 2, 1000 + EVENT_WINDOW_MS - 1), 0);
    assert_int_equal(post(&budget, 2, 1000 + EVENT_WINDOW_MS), 2);
}

/* A minute begins with its first event, not with a look at nothing. */
static void a_minute_begins_with_its_first_event(void **state) {
    struct event_budget budget = {0};
    (void)state;
    assert_int_equal(post(&budget, 0, 1000), 0);
    assert_int_equal(post(&budget, N, EVENT_WINDOW_MS), N);
    assert_int_equal(post(&budget, 1, EVENT_WINDOW_MS + 1500), 0);
}

static void a_flood_shows_its_begin_and_is_folded(void **state) {
    struct event_budget budget = {0};
    struct event_plan plan = event_plan_make(&budget, N + 1, 1000);
    (void)state;
    assert_int_equal(plan.singles, N / 2);
    assert_true(plan.folds);
    budget.used += (unsigned)plan.singles;
    assert_int_equal(post(&budget, 1, 2000), 1); /* the summary, in the same minute */
    assert_int_equal(post(&budget, 40, 3000), N / 2 - 1);
    plan = event_plan_make(&budget, 36, 1000 + EVENT_WINDOW_MS);
    assert_true(plan.folds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_are_posted_as_they_come),
        cmocka_unit_test(what_is_beyond_a_minute_waits_for_the_next),
        cmocka_unit_test(a_minute_begins_with_its_first_event),
        cmocka_unit_test(a_flood_shows_its_begin_and_is_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
