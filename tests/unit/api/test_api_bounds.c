/* How often one person and one address may ask: bounds.c by a clock that the test moves.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "bounds.h"
#include "clock.h"

#define HERE "192.0.2.7"
#define THERE "192.0.2.8"

static struct bounds *bounds;

static int set_up(void **state) {
    (void)state;
    clock_fake(1000000, INT64_C(1700000000000));
    return bounds_new(&bounds, NULL);
}

static int tear_down(void **state) {
    (void)state;
    bounds_free(bounds);
    clock_unfake();
    return 0;
}

/* As many as are let through now, each time from the next address where `spreads`. */
static unsigned count(enum bound bound, const char *person, bool spreads) {
    char address[32] = HERE;
    unsigned n = 0;
    do {
        if (spreads)
            (void)snprintf(address, sizeof(address), "198.51.%u.%u", n / 200, n % 200 + 1);
        n++;
    } while (!bounds_admit(bounds, bound, person, address, NULL));
    return n - 1;
}

static void a_person_may_come_so_often_from_wherever(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(count(BOUND_OUTSIDE, "local:anna", true), 200);
    assert_int_equal(bounds_admit(bounds, BOUND_OUTSIDE, "local:anna", THERE, &err), ERR_TOO_MANY);
    assert_int_equal(err.retry_after_s, 1);
    assert_non_null(strstr(err.text, "OUTSIDE"));
    assert_non_null(strstr(err.text, "person"));
    assert_true(err.remedy[0]);
    assert_int_equal(bounds_admit(bounds, BOUND_OUTSIDE, "local:bert", THERE, NULL), 0);
    assert_int_equal(bounds_admit(bounds, BOUND_WRITE, "local:anna", THERE, NULL), 0);
    clock_advance_ms(99);
    assert_int_equal(bounds_admit(bounds, BOUND_OUTSIDE, "local:anna", THERE, NULL), ERR_TOO_MANY);
    clock_advance_ms(1);
    assert_int_equal(bounds_admit(bounds, BOUND_OUTSIDE, "local:anna", THERE, NULL), 0);
    assert_int_equal(bounds_admit(bounds, BOUND_OUTSIDE, "local:anna", THERE, NULL), ERR_TOO_MANY);
}

static void an_address_may_whoever_asks(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(count(BOUND_SIGNON, NULL, false), 2000);
    assert_int_equal(bounds_admit(bounds, BOUND_SIGNON, "local:anna", HERE, &err), ERR_TOO_MANY);
    assert_non_null(strstr(err.text, "address"));
    assert_int_equal(bounds_admit(bounds, BOUND_SIGNON, "local:anna", THERE, NULL), 0);
    for (enum bound other = BOUND_NONE + 1; other < BOUND_COUNT; other++) /* each kind by itself */
        assert_int_equal(bounds_admit(bounds, other, NULL, HERE, NULL), other == BOUND_SIGNON ? ERR_TOO_MANY : 0);
    clock_advance_ms(10);
    assert_int_equal(bounds_admit(bounds, BOUND_SIGNON, "local:anna", HERE, NULL), 0);
}

/* One whose time has not come takes nothing from the others there. */
static void who_asks_too_often_costs_others_at_the_address_nothing(void **state) {
    (void)state;
    assert_int_equal(count(BOUND_HEAVY, "local:anna", false), 100);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(bounds_admit(bounds, BOUND_HEAVY, "local:anna", HERE, NULL), ERR_TOO_MANY);
    assert_int_equal(count(BOUND_HEAVY, NULL, false), 300);
}

static void sessions_are_counted_by_address_alone(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3000; i++)
        assert_int_equal(bounds_admit(bounds, BOUND_SESSION, "local:anna", i % 2 ? HERE : THERE, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_person_may_come_so_often_from_wherever, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_address_may_whoever_asks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_asks_too_often_costs_others_at_the_address_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sessions_are_counted_by_address_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
