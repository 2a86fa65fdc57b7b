/* Answers as YAML: layout, and texts that look like something else. Layer under test: cli.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cli_table.h"
#include "cli_yaml.h"

static int use_utf8(void **state) {
    (void)state;
    text_init_locale();
    return 0;
}

static void assert_yaml(json_t *value, const char *expected) {
    _cleanup_json_ json_t *held = value;
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init(&out, 10000);
    assert_non_null(value);
    assert_int_equal(yaml_write(held, &out, NULL), 0);
    assert_string_equal(out.data, expected);
}

static void test_layout(void **state) {
    (void)state;
    assert_yaml(
        json_pack("{s:s, s:[{s:s, s:i}, {s:s}], s:{s:{s:b}}, s:[], s:{}, s:n, s:[[s, s], s]}", "name", "a", "nodes", "name", "n1",
                  "cpu", 2, "name", "n2", "at", "deep", "er", 1, "none", "empty", "null", "rows", "x", "z", "w"),
        "name: a\nnodes:\n  - name: n1\n    cpu: 2\n  - name: n2\nat:\n  deep:\n    er: true\nnone: []\nempty: {}\n\"null\": null\n"
        "rows:\n  - - x\n    - z\n  - w\n");
    assert_yaml(json_array(), "[]\n");
}

static void test_texts_that_look_like_something_else(void **state) {
    static const char *const quoted[] = {"",     "yes", "No", "null", "~",          "1.31", "0x1", "-a", "a: b",
                                         "a #b", " a",  "a ", "a:",   "2026-01-01", "- a",  "*a",  "{",  "x\"y"};
    static const char *const plain[] = {"prod-1",       "DC0/HX-East", "/DC0/host", "https://kaas.example.com:8443",
                                        "local:1c8f-9", "no one"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(quoted); i++) {
        _cleanup_strbuf_ struct strbuf expected;
        _cleanup_json_ json_t *value = json_string(quoted[i]);
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        strbuf_init(&expected, 1000);
        strbuf_addf(&expected, "%s\n", text);
        assert_yaml(json_string(quoted[i]), expected.data);
        free(text);
    }
    for (size_t i = 0; i < UNIT_COUNT(plain); i++) {
        _cleanup_strbuf_ struct strbuf expected;
        strbuf_init(&expected, 1000);
        strbuf_addf(&expected, "%s\n", plain[i]);
        assert_yaml(json_string(plain[i]), expected.data);
    }
}

static void test_lines(void **state) {
    (void)state;
    assert_yaml(json_pack("{s:{s:s}, s:i}", "trust", "ca_pem", "-----BEGIN\nabc\n\n-----END\n", "port", 443),
                "trust:\n  ca_pem: |\n    -----BEGIN\n    abc\n\n    -----END\nport: 443\n");
    assert_yaml(json_string("a\nb"), "\"a\\nb\"\n");
    assert_yaml(json_string("a\x1b\nb\n"), "\"a\\u001B\\nb\\n\"\n");
}

static void test_what_acts_on_terminals_is_escaped(void **state) {
    (void)state;
    assert_yaml(json_string("n\xc3\xa4me \xe2\x80\xae\xc2\x85"), "\"n\xc3\xa4me \\u202e\\u0085\"\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_texts_that_look_like_something_else),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_what_acts_on_terminals_is_escaped),
    };
    return cmocka_run_group_tests(tests, use_utf8, NULL);
}
