/* Unit tests of src/setup/backup/backup_health. SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "backup_health.h"
#include "clock.h"

#define NOW_MS INT64_C(1790000000000)

static struct finding look(int64_t made_age_ms, int64_t backup_age_ms) {
    struct backup_health health = {0};
    struct findings found = {0};
    struct finding f = {.step = ""};
    atomic_store(&health.made_at_ms, made_age_ms ? NOW_MS - made_age_ms : 0);
    atomic_store(&health.backup_at_ms, backup_age_ms ? NOW_MS - backup_age_ms : 0);
    backup_health_check(&health, 2 * CLOCK_DAY_MS, &found);
    backup_health_check(&health, 0, &found); /* nobody wants to know */
    assert_in_range(found.count, 0, 1);
    if (found.count)
        f = found.items[0];
    findings_done(&found);
    return f;
}

static void test_age(void **state) {
    const int64_t day = CLOCK_DAY_MS;
    (void)state;
    clock_fake(1000, NOW_MS);
    assert_string_equal(look(0, 0).step, ""); /* nothing is known yet */
    assert_int_equal(look(2 * day - 1, 0).status, FINDING_OK);
    assert_non_null(strstr(look(2 * day - 1, 0).text, "no backup was made yet; from 20"));
    assert_non_null(strstr(look(2 * day - 1, 0).remedy, "kaas-backup.timer")); /* before it is one */
    assert_int_equal(look(2 * day, 0).status, FINDING_WARNING);
    assert_non_null(strstr(look(2 * day, 0).remedy, "kaas-backup.timer"));
    assert_int_equal(look(100 * day, 2 * day - 1).status, FINDING_OK);
    assert_string_equal(look(100 * day, 2 * day - 1).text, "");
    assert_int_equal(look(100 * day, 2 * day).status, FINDING_WARNING);
    assert_non_null(strstr(look(100 * day, 2 * day).text, "2026-09-"));
    clock_unfake();
}

static void test_last(void **state) {
    struct backup_health health = {0};
    (void)state;
    assert_int_equal(backup_health_last_ms(&health), 0);
    atomic_store(&health.backup_at_ms, NOW_MS);
    assert_int_equal(backup_health_last_ms(&health), NOW_MS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_age), cmocka_unit_test(test_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
