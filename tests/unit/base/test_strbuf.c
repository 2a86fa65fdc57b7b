/* The text buffer: cap, sticky error, ownership.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "strbuf.h"

static void appends_and_stays_terminated(void **state) {
    struct strbuf b;
    (void)state;
    strbuf_init(&b, 1000);
    assert_string_equal(b.data, "");
    strbuf_adds(&b, "ab");
    strbuf_addc(&b, 'c');
    strbuf_add(&b, "\0d", 2);
    strbuf_addf(&b, "%d-%s", 7, "x");
    strbuf_add(&b, NULL, 0);
    assert_int_equal(b.len, 8);
    assert_memory_equal(b.data, "abc\0d7-x", 9);
    strbuf_done(&b);
    assert_int_equal(b.len, 0);
    assert_string_equal(b.data, "");
}

static void grows_far(void **state) {
    struct strbuf b;
    (void)state;
    strbuf_init(&b, 100000);
    for (int i = 0; i < 10000; i++)
        strbuf_addf(&b, "%04d,", i);
    assert_int_equal(strbuf_check(&b, "list", NULL), 0);
    assert_int_equal(b.len, 50000);
    assert_memory_equal(b.data + 49990, "9998,9999,", 11);
    strbuf_done(&b);
}

static void what_was_used_is_dropped(void **state) {
    struct strbuf b;
    (void)state;
    strbuf_init(&b, 6);
    strbuf_drop(&b, 0);
    assert_string_equal(b.data, "");
    strbuf_adds(&b, "abcdef");
    strbuf_drop(&b, 4);
    assert_string_equal(b.data, "ef");
    strbuf_adds(&b, "ghij"); /* as much room as before */
    assert_int_equal(strbuf_check(&b, "text", NULL), 0);
    assert_string_equal(b.data, "efghij");
    strbuf_drop(&b, 6);
    assert_int_equal(b.len, 0);
    assert_string_equal(b.data, "");
    strbuf_done(&b);
}

static void cap_is_exact_and_sticky(void **state) {
    struct strbuf b;
    struct err err = {0};
    (void)state;
    strbuf_init(&b, 5);
    strbuf_adds(&b, "12345");
    assert_int_equal(strbuf_check(&b, "text", &err), 0);
    strbuf_addc(&b, '6');
    assert_string_equal(b.data, "12345");
    strbuf_reset(&b);
    strbuf_adds(&b, "123");
    strbuf_addf(&b, "%s", "456");
    strbuf_adds(&b, "4"); /* would fit, but the text has a hole already */
    assert_string_equal(b.data, "123");
    assert_int_equal(strbuf_check(&b, "answer of vCenter", &err), ERR_TOO_LARGE);
    assert_string_equal(err.text, "answer of vCenter is larger than 5 bytes");
    strbuf_done(&b);
    assert_int_equal(strbuf_check(&b, "text", NULL), 0);
}

static void huge_requests_do_not_overflow(void **state) {
    struct strbuf b;
    (void)state;
    strbuf_init(&b, SIZE_MAX);
    strbuf_adds(&b, "x");
    strbuf_reserve(&b, SIZE_MAX);
    assert_int_equal(b.failed, ERR_TOO_LARGE);
    assert_string_equal(b.data, "x");
    strbuf_done(&b);
}

static void steal_hands_over(void **state) {
    struct strbuf b;
    char *text;
    (void)state;
    strbuf_init(&b, 10);
    text = strbuf_steal(&b);
    assert_string_equal(text, "");
    free(text);
    strbuf_adds(&b, "mine");
    text = strbuf_steal(&b);
    assert_string_equal(text, "mine");
    assert_string_equal(b.data, "");
    free(text);
    strbuf_adds(&b, "more than ten");
    assert_null(strbuf_steal(&b));
    assert_int_equal(strbuf_check(&b, "x", NULL), ERR_TOO_LARGE);
    strbuf_done(&b);
}

static void reset_wipes_secrets(void **state) {
    struct strbuf b;
    (void)state;
    strbuf_init_secret(&b, 10000);
    for (int i = 0; i < 1000; i++)
        strbuf_adds(&b, "key");
    assert_int_equal(b.len, 3000);
    for (size_t i = 0; i < b.len; i += 3)
        assert_memory_equal(b.data + i, "key", 3);
    assert_int_equal(b.data[b.len], 0);
    strbuf_reset(&b);
    for (size_t i = 0; i < b.alloc; i++)
        assert_int_equal(b.data[i], 0);
    strbuf_done(&b);
}

static void done_accepts_null_and_zeroes(void **state) {
    struct strbuf zero = {0};
    (void)state;
    strbuf_done(NULL);
    strbuf_done(&zero);
    assert_string_equal(zero.data, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_and_stays_terminated),  cmocka_unit_test(grows_far),
        cmocka_unit_test(what_was_used_is_dropped),      cmocka_unit_test(cap_is_exact_and_sticky),
        cmocka_unit_test(huge_requests_do_not_overflow), cmocka_unit_test(steal_hands_over),
        cmocka_unit_test(reset_wipes_secrets),           cmocka_unit_test(done_accepts_null_and_zeroes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
