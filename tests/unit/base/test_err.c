/* The error record: first setter wins, codes have slugs and statuses.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "err.h"

static void first_setter_wins(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(err_set(&err, ERR_NOT_FOUND, "no %s", "cluster"), ERR_NOT_FOUND);
    assert_int_equal(err_set(&err, ERR_IO, "later"), ERR_IO);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.text, "no cluster");
    assert_non_null(strstr(err.file, "test_err.c"));
    assert_true(err.line > 0);
}

static void remedy_and_detail_need_an_error(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(err_remedy(&err, "do"), 0);
    assert_string_equal(err.remedy, "");
    (void)err_set(&err, ERR_TLS, "untrusted");
    assert_int_equal(err_remedy(&err, "pin %d", 1), ERR_TLS);
    assert_int_equal(err_remedy(&err, "another"), ERR_TLS);
    assert_int_equal(err_detail(&err, "serial %x", 255), ERR_TLS);
    assert_string_equal(err.remedy, "pin 1");
    assert_string_equal(err.detail, "serial ff");
    err_clear(&err);
    assert_int_equal(err.code, 0);
    assert_string_equal(err.remedy, "");
}

static void an_error_is_handed_on(void **state) {
    struct err from = {0}, err = {0};
    (void)state;
    (void)err_set(&from, ERR_TLS, "untrusted");
    (void)err_remedy(&from, "pin it");
    assert_int_equal(err_move(&err, 0, &from), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(err_move(&err, ERR_TLS, &from), ERR_TLS);
    assert_memory_equal(&err, &from, sizeof(err));
    err_clear(&from);
    (void)err_set(&from, ERR_IO, "later");
    assert_int_equal(err_move(&err, ERR_IO, &from), ERR_IO);
    assert_string_equal(err.text, "untrusted");
    err_clear(&err);
    assert_int_equal(err_move(&err, ERR_BUSY, &from), ERR_BUSY); /* to its receiver it is something else */
    assert_int_equal(err.code, ERR_BUSY);
    assert_string_equal(err.text, "later");
}

static void null_record_is_allowed(void **state) {
    (void)state;
    assert_int_equal(err_set(NULL, ERR_BUSY, "x"), ERR_BUSY);
    assert_int_equal(err_remedy(NULL, "x"), ERR_BUSY);
    assert_int_equal(err_detail(NULL, "x"), ERR_BUSY);
    assert_int_equal(err_move(NULL, ERR_IO, &(struct err){.code = ERR_IO}), ERR_IO);
    assert_int_equal(err_remedy(NULL, "x"), ERR_IO);
    err_clear(NULL);
}

static void long_texts_are_cut(void **state) {
    struct err err = {0};
    char text[2 * ERR_TEXT_BYTES];
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)err_set(&err, ERR_INVALID, "%s", text);
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
}

static void every_code_is_described(void **state) {
    (void)state;
#define ERR(symbol, slug, status, text)                      \
    assert_string_equal(err_slug(ERR_##symbol), #slug);      \
    assert_int_equal(err_code_of_slug(#slug), ERR_##symbol); \
    assert_int_equal(err_http_status(ERR_##symbol), status); \
    assert_string_equal(err_default_text(ERR_##symbol), text);
#include "err_codes.def"
#undef ERR
    assert_int_equal(ERR_INVALID, -1);
    assert_int_equal(ERR_JSON, -2);
}

static void unknown_codes_are_internal(void **state) {
    static const int unknown[] = {1, 7, -900, -1000000};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(unknown); i++) {
        assert_string_equal(err_slug(unknown[i]), "internal");
        assert_int_equal(err_http_status(unknown[i]), 500);
        assert_string_equal(err_default_text(unknown[i]), "internal error");
    }
    assert_string_equal(err_slug(0), "ok");
    assert_int_equal(err_http_status(0), 200);
    assert_int_equal(err_code_of_slug("nonsense"), ERR_INTERNAL);
    assert_int_equal(err_code_of_slug(NULL), ERR_INTERNAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_setter_wins),          cmocka_unit_test(remedy_and_detail_need_an_error),
        cmocka_unit_test(an_error_is_handed_on),      cmocka_unit_test(null_record_is_allowed),
        cmocka_unit_test(long_texts_are_cut),         cmocka_unit_test(every_code_is_described),
        cmocka_unit_test(unknown_codes_are_internal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
