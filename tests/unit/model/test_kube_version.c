/* Which versions of Kubernetes fit together, and which are supported on a day; and that the table of minors is whole.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "kube_version.h"

static int64_t day_ms(const char *day) {
    struct tm tm = {0};
    assert_int_equal(sscanf(day, "%4d-%2d-%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday), 3);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (int64_t)timegm(&tm) * 1000;
}

static void versions_are_read(void **state) {
    static const struct {
        const char *text;
        int major, minor, patch; /* major -1: it is none */
    } table[] = {
        {"v1.36.3", 1, 36, 3},
        {"1.31.2", 1, 31, 2},
        {"v1.31.2-eks-a737599", 1, 31, 2},
        {"v1.30.4+k3s1", 1, 30, 4},
        {"v1.37.0-rc.1", 1, 37, 0},
        {"v2.0.0", 2, 0, 0},
        {"v1.9999.1", 1, 9999, 1},
        {"", -1, 0, 0},
        {NULL, -1, 0, 0},
        {"v", -1, 0, 0},
        {"v1", -1, 0, 0},
        {"v1.36", -1, 0, 0},
        {"v1.36.", -1, 0, 0},
        {"v1.36.x", -1, 0, 0},
        {"v1.36.3.4", -1, 0, 0},
        {"v1.36.3 ", -1, 0, 0},
        {"v1.99999999999.1", -1, 0, 0},
        {"v-1.36.3", -1, 0, 0},
        {"vv1.36.3", -1, 0, 0},
        {"v1.36+.3", -1, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(table); i++) {
        struct kube_version v = {-1, 0, 0};
        if (kube_version_parse(table[i].text, &v) != (table[i].major >= 0))
            fail_msg("\"%s\"", table[i].text ? table[i].text : "(none)");
        assert_int_equal(v.major, table[i].major);
        assert_int_equal(v.minor, table[i].minor);
        assert_int_equal(v.patch, table[i].patch);
    }
}

static void kubelets_fit_their_api_server(void **state) {
    static const struct {
        const char *kubelet, *api;
        enum kube_skew skew;
    } table[] = {
        {"v1.36.3", "v1.36.3", KUBE_SKEW_FITS},    {"v1.36.9", "v1.36.3", KUBE_SKEW_FITS},
        {"v1.37.0", "v1.36.3", KUBE_SKEW_NEWER},   {"v1.33.0", "v1.36.3", KUBE_SKEW_FITS},
        {"v1.32.9", "v1.36.3", KUBE_SKEW_TOO_OLD}, {"v1.24.1", "v1.26.0", KUBE_SKEW_FITS},
        {"v1.24.1", "v1.27.0", KUBE_SKEW_TOO_OLD}, {"v1.25.1", "v1.28.0", KUBE_SKEW_FITS},
        {"v2.0.0", "v1.37.0", KUBE_SKEW_NEWER},    {"v1.37.0", "v2.0.0", KUBE_SKEW_TOO_OLD},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(table); i++) {
        struct kube_version kubelet, api;
        assert_true(kube_version_parse(table[i].kubelet, &kubelet) && kube_version_parse(table[i].api, &api));
        if (kube_version_skew(&kubelet, &api) != table[i].skew)
            fail_msg("%s under %s", table[i].kubelet, table[i].api);
    }
}

static void support_follows_from_version_and_day(void **state) {
    static const struct {
        const char *version, *day;
        enum kube_support support;
        const char *end, *upgrade;
    } table[] = {
        {"v1.36.3", "2026-11-30", KUBE_SUPPORT_FULL, "2027-06-28", "1.36.4"},
        {"v1.36.4", "2026-11-30", KUBE_SUPPORT_FULL, "2027-06-28", "1.37.2"},
        {"v1.36.4", "2026-08-25", KUBE_SUPPORT_FULL, "2027-06-28", ""}, /* a day before 1.37 */
        {"v1.36.4", "2026-08-26", KUBE_SUPPORT_FULL, "2027-06-28", "1.37.2"},
        {"v1.36.4", "2027-04-27", KUBE_SUPPORT_FULL, "2027-06-28", "1.37.2"},
        {"v1.36.4", "2027-04-28", KUBE_SUPPORT_MAINTENANCE, "2027-06-28", "1.37.2"},
        {"v1.36.4", "2027-06-28", KUBE_SUPPORT_MAINTENANCE, "2027-06-28", "1.37.2"}, /* the last day */
        {"v1.36.4", "2027-06-29", KUBE_SUPPORT_ENDED, "2027-06-28", "1.37.2"},
        {"v1.34.1", "2026-11-30", KUBE_SUPPORT_ENDED, "2026-10-27", "1.35.9"}, /* not to the last patch of what has ended */
        {"v1.36.0-rc.1+k3s1", "2026-11-30", KUBE_SUPPORT_FULL, "2027-06-28", "1.36.4"},
        {"v1.37.2", "2026-11-30", KUBE_SUPPORT_FULL, "2027-10-28", ""},
        {"v1.37.9", "2026-11-30", KUBE_SUPPORT_FULL, "2027-10-28", ""}, /* newer than what is known */
        {"v1.28.15", "2026-11-30", KUBE_SUPPORT_ENDED, NULL, "1.29.14"},
        {"v1.20.2", "2026-11-30", KUBE_SUPPORT_ENDED, NULL, ""},
        {"v1.38.0", "2026-11-30", KUBE_SUPPORT_UNKNOWN, NULL, ""},
        {"v2.1.0", "2026-11-30", KUBE_SUPPORT_UNKNOWN, NULL, ""},
        {"v0.0.0-master", "2026-11-30", KUBE_SUPPORT_UNKNOWN, NULL, ""},
        {"nonsense", "2026-11-30", KUBE_SUPPORT_UNKNOWN, NULL, ""},
        {NULL, "2026-11-30", KUBE_SUPPORT_UNKNOWN, NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(table); i++) {
        struct kube_supported out;
        kube_version_support(table[i].version, day_ms(table[i].day), &out);
        if (out.support != table[i].support || strcmp(out.upgrade, table[i].upgrade))
            print_error("row %zu: %d, \"%s\"\n", i, (int)out.support, out.upgrade);
        assert_int_equal(out.support, table[i].support);
        assert_string_equal(out.upgrade, table[i].upgrade);
        assert_true(table[i].end ? out.end && !strcmp(out.end, table[i].end) : !out.end);
    }
}

/* "2026-02-28": a day that the calendar has. */
static void check_day(const char *day) {
    char again[16];
    const time_t at = (time_t)(day_ms(day) / 1000);
    struct tm utc;
    assert_non_null(gmtime_r(&at, &utc));
    assert_int_equal(strftime(again, sizeof(again), "%Y-%m-%d", &utc), 10);
    assert_string_equal(day, again);
}

static void the_table_is_in_order_and_whole(void **state) {
    size_t count = 0;
    (void)state;
    for (const struct kube_minor *m; (m = kube_version_minor(count)); count++) {
        const struct kube_minor *last = count ? kube_version_minor(count - 1) : NULL;
        check_day(m->released);
        check_day(m->maintenance);
        check_day(m->end);
        assert_true(strcmp(m->released, m->maintenance) < 0 && strcmp(m->maintenance, m->end) < 0);
        assert_in_range(m->patch, 0, 30);
        if (last) {
            assert_int_equal(m->minor, last->minor + 1);
            assert_true(strcmp(last->released, m->released) < 0 && strcmp(last->end, m->end) < 0);
            assert_true(strcmp(m->released, last->end) < 0); /* nobody is left without a supported minor */
        }
    }
    assert_int_equal(kube_version_minor(0)->minor, 29);
    assert_true(count >= 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_read),
        cmocka_unit_test(kubelets_fit_their_api_server),
        cmocka_unit_test(support_follows_from_version_and_day),
        cmocka_unit_test(the_table_is_in_order_and_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
