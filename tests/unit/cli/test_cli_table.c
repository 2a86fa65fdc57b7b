/* Tables of kaasctl: alignment by display width, no trailing blanks, harmless texts. Layer under test: cli.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cli_table.h"

static int use_utf8(void **state) {
    (void)state;
    text_init_locale();
    return 0;
}

static void assert_clean(const char *text, const char *expected) {
    _cleanup_strbuf_ struct strbuf b;
    strbuf_init(&b, 1000);
    text_add_clean(&b, text);
    assert_string_equal(b.data, expected);
}

static void assert_written(struct table *t, const char *expected) {
    _cleanup_strbuf_ struct strbuf b;
    strbuf_init(&b, 10000);
    assert_int_equal(table_write(t, &b, NULL), 0);
    assert_string_equal(b.data, expected);
    table_done(t);
}

static void aligns_columns(void **state) {
    struct table t;
    (void)state;
    table_init(&t, 3, 0);
    table_add(&t, "NAME");
    table_add(&t, "STATE");
    table_add(&t, "NOTE");
    table_add(&t, "a");
    table_add(&t, "degraded");
    table_add(&t, NULL);
    table_addf(&t, "prod-%d", 1);
    table_add(&t, "ok");
    table_add(&t, "x y");
    assert_written(&t, "NAME    STATE     NOTE\n"
                       "a       degraded  -\n"
                       "prod-1  ok        x y\n");
}

/* A wide character takes two columns, a combining one none. */
static void aligns_by_display_width(void **state) {
    struct table t;
    (void)state;
    assert_int_equal(text_width("n\xc3\xa4me"), 4);
    assert_int_equal(text_width("\xf0\x9f\x9a\x80"), 2);
    assert_int_equal(text_width("e\xcc\x81"), 1);
    table_init(&t, 2, 0);
    table_add(&t, "N");
    table_add(&t, "X");
    table_add(&t, "n\xc3\xa4me \xf0\x9f\x9a\x80");
    table_add(&t, "1");
    table_add(&t, "e\xcc\x81");
    table_add(&t, "2");
    assert_written(&t, "N        X\n"
                       "n\xc3\xa4me \xf0\x9f\x9a\x80  1\n"
                       "e\xcc\x81        2\n");
}

static void leaves_no_blanks_at_the_end(void **state) {
    struct table t;
    (void)state;
    table_init(&t, 3, 2);
    table_add(&t, "a");
    table_add(&t, "long one");
    table_add(&t, "");
    table_add(&t, "b");
    table_add(&t, "");
    table_add(&t, "c");
    table_add(&t, "");
    table_add(&t, "");
    table_add(&t, "");
    assert_written(&t, "  a  long one\n"
                       "  b            c\n"
                       "\n");
}

static void an_empty_table_is_its_header(void **state) {
    struct table t;
    (void)state;
    table_init(&t, 2, 0);
    table_add(&t, "NAME");
    table_add(&t, "ID");
    assert_written(&t, "NAME  ID\n");
    table_init(&t, 2, 0);
    assert_written(&t, "");
}

static void texts_cannot_act_on_the_terminal(void **state) {
    (void)state;
    assert_clean(NULL, "-");
    assert_clean("", "");
    assert_clean("a\x1b[31mred\nb\tc\r\x7f", "a\\x1b[31mred\\nb\\tc\\r\\x7f");
    assert_clean("\xc2\x9b"
                 "31m",
                 "\\x9b31m"); /* CSI as one C1 character */
    assert_clean("ab\xe2\x80\xae"
                 "cd",
                 "ab\\u202ecd");                     /* right-to-left override */
    assert_clean("a\xe2\x80\x8b", "a\\u200b");       /* no room */
    assert_clean("\xe2\x80\xa8", "\\u2028");         /* line separator */
    assert_clean("\xff\xc3(", "\\xff\\xc3(");        /* no UTF-8 */
    assert_clean("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
    assert_clean("n\xc3\xa4me \xf0\x9f\x9a\x80 / % ' \" \\", "n\xc3\xa4me \xf0\x9f\x9a\x80 / % ' \" \\");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligns_columns),
        cmocka_unit_test(aligns_by_display_width),
        cmocka_unit_test(leaves_no_blanks_at_the_end),
        cmocka_unit_test(an_empty_table_is_its_header),
        cmocka_unit_test(texts_cannot_act_on_the_terminal),
    };
    return cmocka_run_group_tests(tests, use_utf8, NULL);
}
