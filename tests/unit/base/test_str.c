/* Text helpers: equality, numbers, UTF-8, hex, base64url, distance.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <limits.h>

#include "str.h"

static void equality(void **state) {
    (void)state;
    assert_true(str_span_eq((struct str_span){0}, ""));
    assert_true(str_span_eq((struct str_span){"abc", 2}, "ab"));
    assert_false(str_span_eq((struct str_span){"abc", 2}, "abc"));
    assert_false(str_span_eq((struct str_span){"a\0b", 3}, "a"));
    assert_true(str_eq(NULL, NULL));
    assert_false(str_eq(NULL, ""));
    assert_false(str_eq("a", "A"));
    assert_true(str_eq_nocase("VSphere", "vsPHERE"));
    assert_false(str_eq_nocase("ab", "abc"));
    assert_false(str_eq_nocase("\xc3\x84", "\xc3\xa4"));
    assert_false(str_eq_nocase(NULL, "a"));
    assert_true(str_empty(NULL) && str_empty("") && !str_empty(" "));
}

static void starts_and_ends(void **state) {
    (void)state;
    assert_true(str_starts("domain-c70", "domain-"));
    assert_false(str_starts("dom", "domain"));
    assert_false(str_starts(NULL, ""));
    assert_true(str_ends("a.b", ".b") && str_ends("x", ""));
    assert_false(str_ends("b", "ab") || str_ends(NULL, ""));
}

static void duplicates_and_formats(void **state) {
    char *text = str_format("%s-%d", "N\xc3\x84", 5), *copy = str_dup(text);
    (void)state;
    assert_null(str_dup(NULL));
    assert_string_equal(copy, "N\xc3\x84-5");
    str_lower(copy);
    assert_string_equal(copy, "n\xc3\x84-5"); /* ASCII only */
    free(text);
    free(copy);
}

static void strict_numbers(void **state) {
    static const char *const bad[] = {"", " 1", "1 ", "+1", "-", "--1", "0x10", "1e3", "9223372036854775808", "101", "-6", "1\n"};
    int64_t value = 42;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_false(str_to_i64(bad[i], -5, 100, &value));
    assert_false(str_to_i64(NULL, -5, 100, &value));
    assert_int_equal(value, 42);
    assert_true(str_to_i64("-5", -5, 100, &value) && value == -5);
    assert_true(str_to_i64("100", -5, 100, &value) && value == 100);
    assert_true(str_to_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &value) && value == INT64_MIN);
}

static void counts_utf8(void **state) {
    static const struct {
        const char *text;
        long chars;
    } rows[] = {
        {"", 0},
        {"abc", 3},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb3", 3},
        {"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", 3}, /* U+D7FF, U+E000, U+10FFFF */
        {"\xc0\x80", -1},                                /* overlong NUL */
        {"\xc1\xbf", -1},
        {"\xe0\x9f\xbf", -1},     /* overlong */
        {"\xf0\x8f\xbf\xbf", -1}, /* overlong */
        {"\xed\xa0\x80", -1},     /* surrogate */
        {"\xf4\x90\x80\x80", -1}, /* beyond U+10FFFF */
        {"\xf8\x88\x80\x80\x80", -1},
        {"\x80", -1},
        {"a\xe2\x82", -1}, /* cut off */
        {"\xe2\x28\xa1", -1},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++)
        assert_int_equal(str_utf8_chars(rows[i].text, strlen(rows[i].text)), rows[i].chars);
    assert_int_equal(str_utf8_chars("a\0b", 3), 3);
}

static void finds_control_characters(void **state) {
    (void)state;
    assert_false(str_has_control("pl\xc3\xa4in \xe2\x82\xac"));
    assert_true(str_has_control("a\tb") && str_has_control("\x7f") && str_has_control("\xc2\x85") && str_has_control("\xc2\x9f"));
    assert_false(str_has_control("\xc2\xa0")); /* no-break space */
}

static void hex_both_ways(void **state) {
    static const uint8_t bytes[] = {0x00, 0xAB, 0xff};
    static const char *const bad[] = {"00abf", "00abffa", "00abfg", "0:0abff", ":00abff", "00abff:", "00::abff", ""};
    char text[7];
    uint8_t back[3];
    (void)state;
    str_hex(bytes, 3, text);
    assert_string_equal(text, "00abff");
    assert_true(str_unhex("00ABff", back, 3));
    assert_memory_equal(back, bytes, 3);
    assert_true(str_unhex("00:aB:FF", back, 3));
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_false(str_unhex(bad[i], back, 3));
}

/* As openssl, browsers and scripts write them. */
static void thumbprints_of_people(void **state) {
    static const char colons[] =
        "00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F";
    static const char *const before[] = {
        "", " ", "sha256 Fingerprint=", "SHA256 fingerprint=", "SHA256:", "sha256: ", "SHA-256:"};
    static const char *const bad[] = {"SHA1 Fingerprint=", "Fingerprint=", "SHA256", "x"};
    char text[200];
    uint8_t out[32];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(before); i++) {
        (void)snprintf(text, sizeof(text), "%s%s", before[i], colons);
        assert_true(str_to_sha256(text, out));
        assert_int_equal(out[31], 0x1f);
    }
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        (void)snprintf(text, sizeof(text), "%s%s", bad[i], colons);
        assert_false(str_to_sha256(text, out));
    }
    assert_false(str_to_sha256("SHA256:", out));
    assert_false(str_to_sha256("SHA256:3f", out)); /* base64 of ssh-keygen, or cut off */
}

/* RFC 4648 section 10, without padding, and the two characters that differ from plain base64. */
static void base64url_both_ways(void **state) {
    static const char *const rows[][2] = {
        {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
        {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xfe", "-__-"}};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        uint8_t back[8];
        struct strbuf b;
        strbuf_init(&b, 100);
        str_base64url(&b, (const uint8_t *)rows[i][0], strlen(rows[i][0]));
        assert_string_equal(b.data, rows[i][1]);
        assert_int_equal(str_unbase64url(b.data, b.len, back, sizeof(back)), strlen(rows[i][0]));
        assert_memory_equal(back, rows[i][0], strlen(rows[i][0]));
        strbuf_done(&b);
    }
}

static void base64url_refuses(void **state) {
    static const char *const bad[] = {"Z", "Zg=", "Zg==", "Z+8", "Z/8", "Zm9vY", "Zh", "Zm9", "Zm 9", "Zm9v\n"};
    uint8_t out[16];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_int_equal(str_unbase64url(bad[i], strlen(bad[i]), out, sizeof(out)), -1);
    assert_int_equal(str_unbase64url("Zm9vYg", 6, out, 3), -1);
    assert_int_equal(str_unbase64url("Zm9vYg", 6, out, 4), 4);
}

static void distances(void **state) {
    char long_word[66];
    (void)state;
    memset(long_word, 'a', 65);
    long_word[65] = '\0';
    assert_int_equal(str_distance("", ""), 0);
    assert_int_equal(str_distance("", "abc"), 3);
    assert_int_equal(str_distance("kitten", "sitting"), 3);
    assert_int_equal(str_distance("clusters", "cluster"), 1);
    assert_int_equal(str_distance("flaw", "lawn"), 2);
    assert_int_equal(str_distance(long_word, "a"), UINT_MAX);
    assert_int_equal(str_distance(long_word + 1, ""), 64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality),
        cmocka_unit_test(starts_and_ends),
        cmocka_unit_test(duplicates_and_formats),
        cmocka_unit_test(strict_numbers),
        cmocka_unit_test(counts_utf8),
        cmocka_unit_test(finds_control_characters),
        cmocka_unit_test(hex_both_ways),
        cmocka_unit_test(thumbprints_of_people),
        cmocka_unit_test(base64url_both_ways),
        cmocka_unit_test(base64url_refuses),
        cmocka_unit_test(distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
