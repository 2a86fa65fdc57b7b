/* Sets of groups, and role mappings: what matches, and what may be written. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cleanup.h"
#include "grant.h"
#include "limits.h"
#include "principal.h"
#include "str.h"

#define ADMINS "sid:S-1-5-21-1-2-3-1110"
#define USERS "sid:S-1-5-21-1-2-3-513"
#define ANNA "sid:S-1-5-21-1-2-3-1103"
#define LDAP_GROUP "ldap:corp:5f1f7c52-9c0c-4a1e-8f5c-0d9e7c6b5a41"

static struct group_set make(const char *const *ids, size_t count) {
    struct group_set set = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(group_set_add(&set, ids[i], NULL), 0);
    group_set_seal(&set);
    return set;
}

/* -- sets ------------------------------------------------------------------------------------------------------------------ */

static void a_set_is_sorted_and_has_each_once(void **state) {
    static const char *const ids[] = {"c", "a", "b", "a", "c", "c", "ab"};
    struct group_set set = make(ids, UNIT_COUNT(ids));
    (void)state;
    assert_int_equal(set.count, 4);
    assert_string_equal(set.ids[0], "a");
    assert_string_equal(set.ids[1], "ab");
    assert_string_equal(set.ids[3], "c");
    assert_true(group_set_has(&set, "ab"));
    assert_false(group_set_has(&set, "abc"));
    assert_false(group_set_has(&set, ""));
    group_set_done(&set);
    assert_false(group_set_has(&set, "a"));
    group_set_seal(&set);
    assert_int_equal(set.count, 0);
}

static void a_sealed_set_takes_more(void **state) {
    static const char *const ids[] = {"a", "a", "a", "a", "b", "b", "b", "b", "c"};
    struct group_set set = make(ids, UNIT_COUNT(ids));
    char id[8];
    (void)state;
    for (int i = 0; i < 40; i++) {
        (void)snprintf(id, sizeof(id), "x%02d", i);
        assert_int_equal(group_set_add(&set, id, NULL), 0);
    }
    group_set_seal(&set);
    assert_int_equal(set.count, 43);
    group_set_done(&set);
}

static void a_set_has_an_end(void **state) {
    struct group_set set = {0};
    struct err err = {0};
    char id[16];
    (void)state;
    for (unsigned i = 0; i < KAAS_GROUPS_MAX; i++) {
        (void)snprintf(id, sizeof(id), "g%u", i);
        assert_int_equal(group_set_add(&set, id, NULL), 0);
    }
    assert_int_equal(group_set_add(&set, "more", &err), ERR_TOO_LARGE);
    group_set_done(&set);
}

/* Packs, unpacks, and compares. */
static void check_packing(const struct group_set *set) {
    struct group_set again = {0};
    _cleanup_free_ char *text = NULL;
    assert_int_equal(group_set_pack(set, &text, NULL), 0);
    assert_int_equal(text == NULL, set->count == 0);
    assert_int_equal(group_set_unpack(text, &again, NULL), 0);
    assert_true(group_set_eq(set, &again));
    group_set_done(&again);
}

static void packed_sets_come_back(void **state) {
    static const char *const some[] = {ADMINS, USERS, ANNA, LDAP_GROUP, "sid:S-1-5-21-1-2-3-11100", "", "z z"};
    struct group_set set = {0};
    char id[64];
    (void)state;
    check_packing(&set);
    set = make(some, 5);
    check_packing(&set);
    group_set_done(&set);
    for (unsigned i = 0; i < 302; i++) {
        (void)snprintf(id, sizeof(id), "sid:S-1-5-21-1004336348-1177238915-682003330-%u", 1000 + i * 7);
        assert_int_equal(group_set_add(&set, id, NULL), 0);
    }
    group_set_seal(&set);
    check_packing(&set);
    _cleanup_free_ char *text = NULL;
    assert_int_equal(group_set_pack(&set, &text, NULL), 0);
    assert_true(strlen(text) < 302 * 8); /* of 13 KB of ids */
    group_set_done(&set);
}

static void other_texts_are_refused(void **state) {
    static const char *const bad[] = {
        "x", "0 a", "0a\n", "1 a\n", "0 abc\n4 d\n", "-1 a\n", "0 \n", "\n", "0 a\n99999999999999999999 b\n"};
    struct group_set set = {0};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_int_equal(group_set_unpack(bad[i], &set, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(group_set_unpack("", &set, NULL), 0);
    assert_int_equal(set.count, 0);
}

static void copies_are_their_own(void **state) {
    static const char *const ids[] = {ADMINS, USERS};
    struct group_set set = make(ids, 2), copy = {0};
    (void)state;
    assert_int_equal(group_set_copy(&set, &copy, NULL), 0);
    group_set_done(&set);
    assert_true(group_set_has(&copy, USERS));
    assert_false(group_set_eq(&set, &copy));
    group_set_done(&copy);
}

/* -- mappings -------------------------------------------------------------------------------------------------------------- */

/* Borrowed texts. */
static struct role_mapping mapping(const char *subject_id, enum role role) {
    return (struct role_mapping){.subject_id = (char *)(uintptr_t)subject_id, .role = role};
}

static void the_best_mapping_counts(void **state) {
    const struct role_mapping all[] = {mapping(USERS, ROLE_USER), mapping(ADMINS, ROLE_ADMIN),
                                       mapping(LDAP_GROUP, ROLE_PROVISIONER), mapping(ANNA, ROLE_PROVISIONER)};
    static const char *const in_both[] = {USERS, ADMINS}, *const in_one[] = {USERS, "sid:S-1-5-21-1-2-3-11"};
    struct group_set both = make(in_both, 2), one = make(in_one, 2), none = {0};
    (void)state;
    assert_int_equal(role_mapping_best(all, UNIT_COUNT(all), "sid:S-1-5-21-1-2-3-1", &both), ROLE_ADMIN);
    assert_int_equal(role_mapping_best(all, UNIT_COUNT(all), "sid:S-1-5-21-1-2-3-1", &one), ROLE_USER);
    assert_int_equal(role_mapping_best(all, UNIT_COUNT(all), ANNA, &one), ROLE_PROVISIONER);
    assert_int_equal(role_mapping_best(all, UNIT_COUNT(all), ANNA, &both), ROLE_ADMIN);
    assert_int_equal(role_mapping_best(all, UNIT_COUNT(all), "sid:S-1-5-21-1-2-3-1", &none), ROLE_NONE);
    assert_int_equal(role_mapping_best(NULL, 0, ANNA, &both), ROLE_NONE);
    group_set_done(&both);
    group_set_done(&one);
}

/* A privilege is a vCenter's word, so a principal or group of that id is not meant. */
static void privileges_match_nobody_by_id(void **state) {
    struct role_mapping m = mapping(ADMINS, ROLE_ADMIN);
    static const char *const ids[] = {ADMINS};
    struct group_set set = make(ids, 1);
    (void)state;
    m.kind = ROLE_MAPPING_PRIVILEGE;
    assert_false(role_mapping_fits(&m, ADMINS, &set));
    m.kind = ROLE_MAPPING_MEMBER;
    assert_true(role_mapping_fits(&m, ANNA, &set));
    group_set_done(&set);
}

static int normalize(enum role_mapping_kind kind, const char *subject, const char *privilege, enum role role) {
    struct role_mapping m = {
        .kind = kind, .subject_id = str_dup(subject), .privilege = str_dup(privilege), .role = role, .note = str_dup("why")};
    struct err err = {0};
    int rc = role_mapping_normalize(&m, &err);
    assert_int_equal(err.code, rc);
    role_mapping_done(&m);
    return rc;
}

static void groups_and_people_of_domains_can_be_mapped(void **state) {
    static const char vc[] = "8C1B7AC1-0a53-4a8e-8a54-2f1f9f3f6f10";
    (void)state;
    assert_int_equal(normalize(ROLE_MAPPING_MEMBER, ADMINS, NULL, ROLE_ADMIN), 0);
    assert_int_equal(normalize(ROLE_MAPPING_MEMBER, LDAP_GROUP, NULL, ROLE_USER), 0);
    assert_int_equal(normalize(ROLE_MAPPING_PRIVILEGE, vc, "Authorization.ModifyPermissions", ROLE_ADMIN), 0);
}

static void what_gives_no_role_is_refused(void **state) {
    static const char vc[] = "8c1b7ac1-0a53-4a8e-8a54-2f1f9f3f6f10";
    static const char *const bad[] = {"sid:S-1-5-32-545",
                                      "sid:S-1-5-11",
                                      "sid:S-1-18-1",
                                      "sid:S-1-1-0",
                                      "local:5f1f7c52-9c0c-4a1e-8f5c-0d9e7c6b5a41",
                                      "svc:hx",
                                      "admins",
                                      "",
                                      "sid:S-1-5-21-x"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_int_equal(normalize(ROLE_MAPPING_MEMBER, bad[i], NULL, ROLE_USER), ERR_UNPROCESSABLE);
    assert_int_equal(normalize(ROLE_MAPPING_MEMBER, ADMINS, "Global.Settings", ROLE_USER), ERR_UNPROCESSABLE);
    assert_int_equal(normalize(ROLE_MAPPING_MEMBER, ADMINS, NULL, ROLE_SERVICE), ERR_UNPROCESSABLE);
    assert_int_equal(normalize(ROLE_MAPPING_MEMBER, ADMINS, NULL, ROLE_NONE), ERR_UNPROCESSABLE);
    assert_int_equal(normalize(ROLE_MAPPING_PRIVILEGE, "East", "Global.Settings", ROLE_ADMIN), ERR_UNPROCESSABLE);
    assert_int_equal(normalize(ROLE_MAPPING_PRIVILEGE, vc, NULL, ROLE_ADMIN), ERR_UNPROCESSABLE);
    assert_int_equal(normalize(ROLE_MAPPING_PRIVILEGE, vc, "a b", ROLE_ADMIN), ERR_UNPROCESSABLE);
    assert_int_equal(normalize(ROLE_MAPPING_PRIVILEGE, vc, "Global.Settings", ROLE_USER), ERR_UNPROCESSABLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_sorted_and_has_each_once),
        cmocka_unit_test(a_sealed_set_takes_more),
        cmocka_unit_test(a_set_has_an_end),
        cmocka_unit_test(packed_sets_come_back),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(copies_are_their_own),
        cmocka_unit_test(the_best_mapping_counts),
        cmocka_unit_test(privileges_match_nobody_by_id),
        cmocka_unit_test(groups_and_people_of_domains_can_be_mapped),
        cmocka_unit_test(what_gives_no_role_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
