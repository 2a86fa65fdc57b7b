/* Random identifiers.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "uuid.h"

static void new_ones_are_version_4(void **state) {
    char a[UUID_TEXT_BYTES], b[UUID_TEXT_BYTES];
    (void)state;
    for (int i = 0; i < 100; i++) {
        uuid_new(a);
        uuid_new(b);
        assert_true(uuid_is_valid(a));
        assert_int_equal(strlen(a), 36);
        assert_int_equal(a[14], '4');
        assert_non_null(strchr("89ab", a[19]));
        assert_null(strpbrk(a, "ABCDEF"));
        assert_string_not_equal(a, b);
    }
}

static void validity(void **state) {
    static const char *const bad[] = {"",
                                      "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f1",
                                      "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f100",
                                      "6f1d0f9e00a53-4a8e-8a54-2f1f9f3f6f10",
                                      "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f1g",
                                      "{6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f1}",
                                      " 6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f1"};
    (void)state;
    assert_true(uuid_is_valid("6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"));
    assert_true(uuid_is_valid("6F1D0F9E-0A53-4A8E-8A54-2F1F9F3F6F10"));
    assert_false(uuid_is_valid(NULL));
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_false(uuid_is_valid(bad[i]));
}

/* What vCenter shows and what the same machine's node shows (systemUUID), from a report of users. */
static void both_byte_orders_are_the_same_machine(void **state) {
    static const char shown[] = "420e3f74-ea84-f9a2-7736-6106bb5dbf6b", read[] = "743F0E42-84EA-A2F9-7736-6106BB5DBF6B";
    char turned[UUID_TEXT_BYTES], back[UUID_TEXT_BYTES];
    (void)state;
    uuid_turn(shown, turned);
    assert_string_equal(turned, "743f0e42-84ea-a2f9-7736-6106bb5dbf6b");
    uuid_turn(turned, back);
    assert_string_equal(back, shown);
    assert_true(uuid_is_same_machine(shown, shown));
    assert_true(uuid_is_same_machine(shown, read));
    assert_true(uuid_is_same_machine(read, shown));
    assert_false(uuid_is_same_machine(shown, "420e3f74-ea84-f9a2-3677-6106bb5dbf6b")); /* the rest has one order */
    assert_false(uuid_is_same_machine(shown, NULL));
    assert_false(uuid_is_same_machine("", ""));
}

static void random_bytes_differ(void **state) {
    static const uint8_t zeroes[600];
    uint8_t bytes[600] = {0};
    uint32_t first = random_u32();
    (void)state;
    random_bytes(bytes, sizeof(bytes));
    assert_memory_not_equal(bytes, zeroes, sizeof(bytes));
    assert_memory_not_equal(bytes + 568, zeroes, 32); /* to the last */
    UNIT_WAIT_FOR(random_u32() != first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_ones_are_version_4),
        cmocka_unit_test(validity),
        cmocka_unit_test(both_byte_orders_are_the_same_machine),
        cmocka_unit_test(random_bytes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
