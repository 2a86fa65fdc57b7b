/* Clocks and the delays that are counted with them.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "backoff.h"
#include "clock.h"

static void fake_clocks_stand_and_move(void **state) {
    (void)state;
    clock_fake(1000, 1700000000999);
    assert_int_equal(clock_mono_ms(), 1000);
    assert_int_equal(clock_mono_ms(), 1000);
    clock_advance_ms(2);
    assert_int_equal(clock_mono_ms(), 1002);
    assert_int_equal(clock_wall_ms(), 1700000001001);
    assert_int_equal(clock_wall_s(), 1700000001);
    clock_unfake();
}

static void real_clocks_run(void **state) {
    int64_t before = clock_mono_ms();
    (void)state;
    assert_true(clock_wall_ms() > INT64_C(1700000000000));
    UNIT_WAIT_FOR(clock_mono_ms() > before);
}

static void formats_rfc3339(void **state) {
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-5, "1970-01-01T00:00:00.000Z"},
        {INT64_C(1709210096007), "2024-02-29T12:34:56.007Z"},
        {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    char text[CLOCK_RFC3339_BYTES];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        clock_format(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void delay_doubles_up_to_its_cap(void **state) {
    static const struct backoff policy = {.first_ms = 500, .max_ms = 60000};
    static const int64_t expected[] = {0, 500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    (void)state;
    for (unsigned i = 0; i < UNIT_COUNT(expected); i++)
        assert_int_equal(backoff_delay_ms(&policy, i, 12345), expected[i]);
    assert_int_equal(backoff_delay_ms(&policy, UINT32_MAX, 0), 60000);
}

static void jitter_only_shortens(void **state) {
    static const struct backoff policy = {.first_ms = 1000, .max_ms = 8000, .jitter_percent = 25};
    (void)state;
    assert_int_equal(backoff_delay_ms(&policy, 1, 0), 1000);
    assert_int_equal(backoff_delay_ms(&policy, 1, UINT32_MAX), 750);
    assert_int_equal(backoff_delay_ms(&policy, 9, UINT32_MAX), 6000);
    assert_in_range(backoff_delay_ms(&policy, 1, UINT32_MAX / 2), 874, 876);
}

static void odd_policies_stay_in_bounds(void **state) {
    static const struct backoff wide = {.first_ms = INT64_MAX / 3, .max_ms = INT64_MAX};
    static const struct backoff swapped = {.first_ms = 9000, .max_ms = 100, .jitter_percent = 900};
    static const struct backoff none = {.first_ms = 0, .max_ms = 100};
    (void)state;
    assert_true(backoff_delay_ms(&wide, 40, 7) == INT64_MAX);
    assert_int_equal(backoff_delay_ms(&swapped, 1, 0), 100);
    assert_int_equal(backoff_delay_ms(&swapped, 1, UINT32_MAX), 0);
    assert_int_equal(backoff_delay_ms(&none, 5, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fake_clocks_stand_and_move),
        cmocka_unit_test(real_clocks_run),
        cmocka_unit_test(formats_rfc3339),
        cmocka_unit_test(delay_doubles_up_to_its_cap),
        cmocka_unit_test(jitter_only_shortens),
        cmocka_unit_test(odd_policies_stay_in_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
