/* Ids of principals, grants as people write them, passwords, and times of RFC 3339.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "grant.h"
#include "names.h"
#include "principal.h"
#include "str.h"

#define UUID "8C1B7AC1-0a53-4a8e-8a54-2f1f9f3f6f10"
#define LOWER "8c1b7ac1-0a53-4a8e-8a54-2f1f9f3f6f10"

static void expect_id(const char *text, const char *stored) {
    char *id = NULL;
    assert_int_equal(principal_id_read(text, &id, NULL), stored ? 0 : ERR_UNPROCESSABLE);
    if (stored)
        assert_string_equal(id, stored);
    else
        assert_null(id);
    free(id);
}

static void test_principal_ids(void **state) {
    (void)state;
    expect_id("local:" UUID, "local:" LOWER);
    expect_id("vc:" UUID ":VSPHERE.LOCAL\\Anna", "vc:" LOWER ":vsphere.local\\anna");
    expect_id("vc:" UUID ":a:b", "vc:" LOWER ":a:b");
    expect_id("vc:" UUID ":\xC3\x84nna", "vc:" LOWER ":\xC3\x84nna"); /* only ASCII is folded */
    expect_id("sid:S-1-5-21-1-2-3-500", "sid:S-1-5-21-1-2-3-500");
    expect_id("ldap:Corp:" UUID, "ldap:corp:" LOWER);
    expect_id("svc:HX-1@site", "svc:HX-1@site");
    static const char *const wrong[] = {
        "",
        "anna",
        "local:",
        "local:anna",
        "Local:" LOWER,
        "local:" LOWER "0",
        "vc:" LOWER,
        "vc:" LOWER ":",
        "vc:" LOWER ": a",
        "vc:" LOWER ":a ",
        "vc:" LOWER ":a\x01",
        "vc:" LOWER ":\xFF",
        "sid:S-1",
        "sid:S-1-5",
        "sid:S-2-5-21",
        "sid:S-1-5-",
        "sid:S-1-5-x",
        "sid:S-1-1-2-3-4-5-6-7-8-9-10-11",
        "sid:S-1-5-1234567890123456",
        "ldap:" LOWER,
        "ldap::" LOWER,
        "ldap:a b:" LOWER,
        "svc:",
        "svc:a b",
    };
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
        expect_id(wrong[i], NULL);
    assert_int_equal(principal_id_read(NULL, &(char *){NULL}, NULL), ERR_UNPROCESSABLE);
}

static void test_grants_get_one_spelling(void **state) {
    struct grant g = {
        .principal_id = str_dup("local:" UUID), .object = GRANT_VSPHERE_CLUSTER, .object_id = str_dup(UUID "/domain-C8")};
    (void)state;
    assert_int_equal(grant_normalize(&g, NULL), 0);
    assert_string_equal(g.object_id, LOWER "/domain-C8"); /* managed object ids have a case */
    assert_string_equal(g.role, "viewer");
    g.object = GRANT_CLUSTER;
    assert_int_equal(grant_normalize(&g, NULL), ERR_UNPROCESSABLE);
    free(g.object_id);
    g.object_id = str_dup(UUID);
    assert_int_equal(grant_normalize(&g, NULL), 0);
    assert_string_equal(g.object_id, LOWER);
    g.object = GRANT_VSPHERE_CLUSTER;
    assert_int_equal(grant_normalize(&g, NULL), ERR_UNPROCESSABLE);
    g.object = GRANT_HX_CLUSTER;
    free(g.role);
    g.role = str_dup("admin");
    assert_int_equal(grant_normalize(&g, NULL), 0);
    free(g.role);
    g.role = str_dup("owner");
    assert_int_equal(grant_normalize(&g, NULL), ERR_UNPROCESSABLE);
    grant_done(&g);
}

static void test_passwords(void **state) {
    char text[600];
    (void)state;
    assert_int_equal(password_check("correct horse", "anna", NULL), 0);
    assert_int_equal(password_check("elevenchars", "anna", NULL), ERR_UNPROCESSABLE);
    assert_int_equal(password_check("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA9\xC3\xA8\xC3\xA1", "anna", NULL),
                     ERR_UNPROCESSABLE); /* 6 characters */
    assert_int_equal(password_check("ababababababab", "anna", NULL), ERR_UNPROCESSABLE);
    assert_int_equal(password_check("twelve\tchars!", "anna", NULL), ERR_UNPROCESSABLE);
    assert_int_equal(password_check("not utf-8 \xFF\xFF\xFF", "anna", NULL), ERR_UNPROCESSABLE);
    assert_int_equal(password_check("Administrator1", "administrator", NULL), ERR_UNPROCESSABLE);
    assert_int_equal(password_check("administrator of ships", "administrator", NULL), 0);
    memset(text, 'x', sizeof(text));
    memcpy(text, "abcdefgh", 8);
    text[500] = '\0';
    assert_int_equal(password_check(text, "anna", NULL), 0);
    text[500] = 'x';
    text[501] = '\0';
    assert_int_equal(password_check(text, "anna", NULL), ERR_UNPROCESSABLE);
}

static void test_times(void **state) {
    static const char *const wrong[] = {"",
                                        "2001-09-09",
                                        "2001-09-09T01:46:40",
                                        "2001-09-09 01:46:40Z",
                                        "2001-02-30T00:00:00Z",
                                        "2001-13-01T00:00:00Z",
                                        "2001-00-01T00:00:00Z",
                                        "2001-01-00T00:00:00Z",
                                        "2001-01-01T24:00:00Z",
                                        "2001-01-01T00:60:00Z",
                                        "2001-01-01T00:00:00.Z",
                                        "2001-01-01T00:00:00+1:00",
                                        "2001-01-01T00:00:00Z ",
                                        "+001-01-01T00:00:00Z"};
    int64_t ms = 0;
    (void)state;
    assert_true(clock_parse("2001-09-09T01:46:40Z", &ms) && ms == INT64_C(1000000000000));
    assert_true(clock_parse("2001-09-09T03:46:40.0019+02:00", &ms) && ms == INT64_C(1000000000001));
    assert_true(clock_parse("2001-09-08T21:16:40-04:30", &ms) && ms == INT64_C(1000000000000));
    assert_true(clock_parse("2000-02-29T00:00:00Z", &ms) && ms == INT64_C(951782400000));
    assert_true(clock_parse("1969-12-31T23:59:59.999Z", &ms) && ms == -1);
    assert_true(clock_parse("2016-12-31T23:59:60Z", &ms) && ms == INT64_C(1483228800000)); /* a leap second */
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
        assert_false(clock_parse(wrong[i], &ms));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_principal_ids),
        cmocka_unit_test(test_grants_get_one_spelling),
        cmocka_unit_test(test_passwords),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
