/* Object references and sets of them.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "object_ref.h"

#define VC_A "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"
#define VC_B "7f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"

static struct object_ref make(const char *vcenter_id, const char *moref) {
    struct object_ref ref;
    assert_int_equal(object_ref_make(vcenter_id, moref, &ref, NULL), 0);
    return ref;
}

static void makes_and_compares(void **state) {
    struct object_ref a7 = make(VC_A, "domain-c7"), a70 = make(VC_A, "domain-c70"), b7 = make(VC_B, "domain-c7");
    (void)state;
    assert_true(object_ref_compare(&a7, &a70) < 0);
    assert_true(object_ref_compare(&b7, &a70) > 0);
    assert_int_equal(object_ref_compare(&a7, &a7), 0);
    assert_false(object_ref_eq(&a7, &a70) || object_ref_eq(&a7, &b7));
    assert_true(object_ref_eq(&a7, &a7));
}

static void refuses_what_does_not_fit(void **state) {
    struct object_ref ref = {"kept", "kept"};
    struct err err = {0};
    char moref[MOREF_BYTES + 1];
    (void)state;
    memset(moref, 'm', sizeof(moref) - 1);
    moref[MOREF_BYTES] = '\0';
    assert_int_equal(object_ref_make(VC_A, moref, &ref, &err), ERR_UNPROCESSABLE);
    assert_int_equal(object_ref_make(VC_A "0", "m", &ref, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(object_ref_make("", "m", &ref, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(object_ref_make(VC_A, "", &ref, NULL), ERR_UNPROCESSABLE);
    assert_string_equal(ref.moref, "kept");
    moref[MOREF_BYTES - 1] = '\0';
    assert_int_equal(object_ref_make(VC_A, moref, &ref, NULL), 0);
    assert_string_equal(ref.moref, moref);
}

/* Adds 0..299 in a scattered order, each twice. */
static void fill(struct object_set *set) {
    for (unsigned i = 0; i < 600; i++) {
        char moref[16];
        struct object_ref ref;
        (void)snprintf(moref, sizeof(moref), "c%u", i * 7 % 300);
        ref = make(i % 2 ? VC_A : VC_B, moref);
        assert_int_equal(object_set_add(set, &ref, NULL), 0);
    }
}

static void sets_are_sorted_and_unique(void **state) {
    struct object_set set = {0};
    (void)state;
    fill(&set);
    assert_int_equal(set.count, 300);
    for (size_t i = 1; i < set.count; i++)
        assert_true(object_ref_compare(&set.items[i - 1], &set.items[i]) < 0);
    for (size_t i = 0; i < set.count; i++)
        assert_true(object_set_has(&set, &set.items[i]));
    object_set_done(&set);
    assert_int_equal(set.count, 0);
}

static void membership(void **state) {
    struct object_set set = {0};
    struct object_ref in = make(VC_A, "domain-c7"), longer = make(VC_A, "domain-c70"), other = make(VC_B, "domain-c7");
    (void)state;
    assert_false(object_set_has(&set, &in));
    assert_int_equal(object_set_add(&set, &in, NULL), 0);
    assert_true(object_set_has(&set, &in));
    assert_false(object_set_has(&set, &longer));
    assert_false(object_set_has(&set, &other));
    for (unsigned i = 0; i < 20; i++) /* an item of the set itself, while it moves */
        assert_int_equal(object_set_add(&set, &set.items[0], NULL), 0);
    assert_int_equal(set.count, 1);
    object_set_done(&set);
    object_set_done(NULL);
}

static void copies_are_independent(void **state) {
    struct object_set set = {0}, copy = {0}, empty = {0};
    struct object_ref more = make(VC_A, "more");
    (void)state;
    assert_int_equal(object_set_copy(&empty, &copy, NULL), 0);
    assert_int_equal(copy.count, 0);
    fill(&set);
    assert_int_equal(object_set_copy(&set, &copy, NULL), 0);
    assert_int_equal(object_set_add(&copy, &more, NULL), 0);
    assert_int_equal(copy.count, 301);
    assert_false(object_set_has(&set, &more));
    object_set_done(&set);
    assert_true(object_set_has(&copy, &more));
    object_set_done(&copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_and_compares),         cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(sets_are_sorted_and_unique), cmocka_unit_test(membership),
        cmocka_unit_test(copies_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
