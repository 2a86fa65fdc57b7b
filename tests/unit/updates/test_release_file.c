/* Unit tests of src/updates/release_file. SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "release_file.h"

static void test_versions_have_an_order(void **state) {
    static const char *const rising[] = {"0.0.1",       "0.1",        "0.4.0-1",    "0.4.0-9",    "0.4.0-10",
                                         "0.4.0-alpha", "0.4.0-rc",   "0.4.0-rc.1", "0.4.0-rc.2", "0.4.0-rc.11",
                                         "0.4.0-rc1",   "0.4.0",      "0.4.0.1",    "0.4.1",      "0.9.9",
                                         "0.10",        "1.0.0-rc.1", "1",          "1.2.3.4"};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rising); i++)
        for (size_t j = 0; j < ARRAY_COUNT(rising); j++) {
            const int order = release_version_cmp(rising[i], rising[j]);
            assert_true(release_version_is_valid(rising[i]));
            if ((order > 0) - (order < 0) != (i > j) - (i < j))
                fail_msg("%s and %s: %d", rising[i], rising[j], order);
        }
    assert_int_equal(release_version_cmp("1", "1.0.0"), 0);
    assert_int_equal(release_version_cmp("1-rc.01", "1.0-rc.1"), 0);
}

static void test_what_is_no_version(void **state) {
    static const char *const wrong[] = {"",       "v1", "1.",        ".1",         "1..2", "1-", "1-rc.",
                                        "1-rc-1", "1 ", "1.2.3.4.5", "1234567890", "1+2",  "-1", "1-\xc3\xa4"};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
        if (release_version_is_valid(wrong[i]))
            fail_msg("\"%s\" is valid", wrong[i]);
}

static int decode(const char *text, struct release *out, struct err *err) {
    *out = (struct release){0};
    return release_decode(text, strlen(text), out, err);
}

#define FILE_OF(more)                                                                                     \
    "{\"product\": \"harmony-kaas\", \"version\": \"0.5.0\", \"released_at\": \"2026-01-31T12:00:00Z\", " \
    "\"valid_until\": \"2026-07-31T12:00:00Z\"" more "}"

static void test_reading(void **state) {
    struct release release;
    struct err err = {0};
    (void)state;
    assert_int_equal(decode(FILE_OF(""), &release, &err), 0);
    assert_string_equal(release.version, "0.5.0");
    assert_null(release.notes);
    assert_null(release.upgrade_from);
    assert_int_equal(release.valid_until_ms - release.released_at_ms, INT64_C(181) * 24 * 3600 * 1000);
    release_done(&release);
    assert_int_equal(decode(FILE_OF(", \"notes\": [\"a\", \"b\"], \"upgrade_from\": \"0.2\""), &release, &err), 0);
    assert_int_equal(json_array_size(release.notes), 2);
    assert_string_equal(release.upgrade_from, "0.2");
    release_done(&release);
}

static void test_ages(void **state) {
    struct release release, accepted;
    struct err err = {0};
    (void)state;
    assert_int_equal(decode(FILE_OF(""), &release, &err), 0);
    const int64_t from = release.released_at_ms, until = release.valid_until_ms, day = INT64_C(24) * 3600 * 1000;
    assert_int_equal(release_check_age(&release, NULL, from - day, &err), 0);
    assert_int_equal(release_check_age(&release, NULL, from - day - 1, NULL), ERR_CONFLICT);
    assert_int_equal(release_check_age(&release, NULL, until - 1, &err), 0);
    assert_int_equal(release_check_age(&release, NULL, until, NULL), ERR_CONFLICT);
    accepted = release;
    assert_int_equal(release_check_age(&release, &accepted, from, &err), 0);
    accepted.released_at_ms++;
    assert_int_equal(release_check_age(&release, &accepted, from, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "older than that of"));
    release_done(&release);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_versions_have_an_order), cmocka_unit_test(test_what_is_no_version),
                                       cmocka_unit_test(test_reading), cmocka_unit_test(test_ages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
