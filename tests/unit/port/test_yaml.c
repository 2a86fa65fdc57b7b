/* Unit tests of src/port/yaml: what is read as which JSON, and what is refused, with its place.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "strbuf.h"
#include "yaml.h"

static const struct yaml_limits limits = {.bytes = 262144, .depth = 8, .nodes = 20000};

/* "JSON", or "line:column: text; remedy" with the code. */
static int told(const char *text, size_t n, struct strbuf *out) {
    _cleanup_yaml_ struct yaml_doc doc = {0};
    _cleanup_json_ json_t *value = NULL;
    struct yaml_place where = {77, 77};
    struct err err = {0};
    int rc = yaml_parse(text, n, &limits, &doc, &where, &err);
    if (!rc)
        rc = yaml_json(&doc, &value, &where, &err);
    strbuf_init(out, 1000000);
    if (rc) {
        assert_int_equal(rc, err.code);
        assert_null(value);
        strbuf_addf(out, "%u:%u: %s%s%s", where.line, where.column, err.text, *err.remedy ? "; " : "", err.remedy);
        return rc;
    }
    _cleanup_free_ char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    strbuf_adds(out, json);
    return 0;
}

static void assert_told(const char *text, size_t n, int code, const char *expected) {
    _cleanup_strbuf_ struct strbuf out;
    int rc = told(text, n, &out);
    if (rc != code || strcmp(out.data, expected) != 0)
        print_message("%.200s\ngave %s\n", text, out.data);
    assert_int_equal(rc, code);
    assert_string_equal(out.data, expected);
}

static void test_scalars(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"", "null"},
        {"# nothing\n", "null"},
        {"---\n", "null"},
        {"--- \n...\n", "null"},
        {"[null, Null, NULL, ~, nULL, 'null', \"~\"]", "[null,null,null,null,\"nULL\",\"null\",\"~\"]"},
        {"a:\nb: ''\n", "{\"a\":null,\"b\":\"\"}"},
        {"[true, True, TRUE, false, False, FALSE, tRUE, 'true']", "[true,true,true,false,false,false,\"tRUE\",\"true\"]"},
        {"[yes, no, on, off, y, n, Yes, NO, On]", "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"Yes\",\"NO\",\"On\"]"},
        {"[0, 7, -7, +7, 010, 08, -0]", "[0,7,-7,7,10,8,0]"},
        {"[0o17, 0o, 0o8, -0o7, 0O7]", "[15,\"0o\",\"0o8\",\"-0o7\",\"0O7\"]"},
        {"[0x1F, 0xff, 0x, 0xg, -0x1, 0X1]", "[31,255,\"0x\",\"0xg\",\"-0x1\",\"0X1\"]"},
        {"[9223372036854775807, -9223372036854775808, 0x7fffffffffffffff]",
         "[9223372036854775807,-9223372036854775808,9223372036854775807]"},
        {"[1.5, .5, 5., -1.5e3, 1e3, 1E-2, +.5e+1, 1.]", "[1.5,0.5,5.0,-1500.0,1000.0,0.01,5.0,1.0]"},
        {"[., e3, .e3, 1e, 1e+, 1.2.3, 1_000, 0b1, 1:30, +, -., 1 2, 1a, 2026-01-01]",
         "[\".\",\"e3\",\".e3\",\"1e\",\"1e+\",\"1.2.3\",\"1_000\",\"0b1\",\"1:30\",\"+\",\"-.\",\"1 2\",\"1a\",\"2026-01-01\"]"},
        {"['1', \"1.5\", '0x1', \".nan\", '.inf', '<<', -.nan, .iNF, nan, Infinity]",
         "[\"1\",\"1.5\",\"0x1\",\".nan\",\".inf\",\"<<\",\"-.nan\",\".iNF\",\"nan\",\"Infinity\"]"},
        {"a: |\n  12\nb: >-\n  true\n  x\n", "{\"a\":\"12\\n\",\"b\":\"true x\"}"},
        {"\"\\x41\\u00e4\\U0001F600\\t\\e\\/\"", "\"A\xc3\xa4\xf0\x9f\x98\x80\\t\\u001B/\""},
        {"LS0tLS1CRUdJTg==", "\"LS0tLS1CRUdJTg==\""},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_told(rows[i][0], strlen(rows[i][0]), 0, rows[i][1]);
}

static void test_documents(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"kind: Config\nusers:\n- name: a\n  user: {token: x}\n- name: b\ncurrent-context: ~\n",
         "{\"kind\":\"Config\",\"users\":[{\"name\":\"a\",\"user\":{\"token\":\"x\"}},{\"name\":\"b\"}],\"current-context\":null}"},
        {"%YAML 1.1\n---\na: 1\n", "{\"a\":1}"},
        {"\xef\xbb\xbf"
         "a: 1\nb: 2\n",
         "{\"a\":1,\"b\":2}"},
        {"a: 1\r\nb:\r\n  - x\r\n", "{\"a\":1,\"b\":[\"x\"]}"},
        {"{\"a\":\"b\",\"c\":[1,2.5,true,null,{}],\"d\":{\"e\":\"\\u00e4\"}}",
         "{\"a\":\"b\",\"c\":[1,2.5,true,null,{}],\"d\":{\"e\":\"\xc3\xa4\"}}"},
        {"{\n\t\"a\": {\n\t\t\"b\": [\n\t\t\t1\n\t\t]\n\t}\n}\n", "{\"a\":{\"b\":[1]}}"},
        {"a:\tb\n", "{\"a\":\"b\"}"},
        {"'': x\n? long\n: y\n? z\n", "{\"\":\"x\",\"long\":\"y\",\"z\":null}"},
        {"a: \"&x *x !x %TAG\"\nb: 'x\n  %TAG'\nc: x&y*z!\n", "{\"a\":\"&x *x !x %TAG\",\"b\":\"x %TAG\",\"c\":\"x&y*z!\"}"},
        {"'<<': {a: 1}\n", "{\"<<\":{\"a\":1}}"},
        {"[[[[[[[[]]]]]]]]", "[[[[[[[[]]]]]]]]"},
        {"a: {a: {a: 1}}\nb: {a: 2}\n", "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":2}}"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_told(rows[i][0], strlen(rows[i][0]), 0, rows[i][1]);
}

#define NO_ANCHORS "anchors and aliases (& and *) are not allowed; write the value itself, in quotes if it starts with & or *"
#define NO_TAGS "tags (!) are not allowed; write the value without it, in quotes if it is a text that starts with !"
#define NO_NUMBER "a number that JSON cannot hold; put it into quotes if it is a text"
#define NO_KEY "a key must be a text; put it into quotes"
#define UTF8(n) "save the file as UTF-8 without control characters (byte " #n ")"

static void test_refused(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        /* anchors, aliases and bombs of them */
        {"a: &x 1\n", "1:4: " NO_ANCHORS},
        {"a: &x [1]\n", "1:4: " NO_ANCHORS},
        {"a: &x {}\n", "1:4: " NO_ANCHORS},
        {"&x a: 1\n", "1:1: " NO_ANCHORS},
        {"a: 1\nb: *x\n", "2:4: " NO_ANCHORS},
        {"a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\n", "1:4: " NO_ANCHORS},
        {"&a [*a]\n", "1:1: " NO_ANCHORS},
        {"a: *\n",
         "1:5: not valid YAML: while scanning an alias did not find expected alphabetic or numeric character; put a text that starts "
         "with * or & into quotes"},
        /* tags */
        {"a: !!int 1\n", "1:4: " NO_TAGS},
        {"a: !!str 1\n", "1:4: " NO_TAGS},
        {"a: ! 1\n", "1:4: " NO_TAGS},
        {"a: !x\n", "1:4: " NO_TAGS},
        {"- !!map {}\n", "1:3: " NO_TAGS},
        {"- !!seq []\n", "1:3: " NO_TAGS},
        {"!!str a: 1\n", "1:1: " NO_TAGS},
        {"a: !!binary aGk=\n", "1:4: " NO_TAGS},
        {"%TAG ! tag:example.com,2026:\n--- 1\n", "1:1: tags (%TAG and !) are not allowed; remove the line"},
        {"# x\n%TAG !a! b\n--- 1\n", "2:1: tags (%TAG and !) are not allowed; remove the line"},
        {"a: 1\n...\n%TAG !a! b\n--- 1\n", "3:1: tags (%TAG and !) are not allowed; remove the line"},
        {"#\xc2\x85%TAG !a! b\n--- 1\n", "1:3: tags (%TAG and !) are not allowed; remove the line"},
        {"#\xe2\x80\xa9%TAG !a! b\n--- 1\n", "1:3: tags (%TAG and !) are not allowed; remove the line"},
        {"#\xe2\x80\xa8%TAG !a! b\n--- 1\n", "1:3: tags (%TAG and !) are not allowed; remove the line"},
        /* keys */
        {"a: 1\nb: 2\na: 3\n", "3:1: key \"a\" is given twice; remove one"},
        {"a: 1\n\"a\": 2\n", "2:1: key \"a\" is given twice; remove one"},
        {"b:\n  - c: {a: 1, d: 2, 'a': 3}\n", "2:21: key \"a\" is given twice; remove one"},
        {"{\"a\":1,\"\\u0061\":2}", "1:8: key \"a\" is given twice; remove one"},
        {"a: ~\na: ~\n", "2:1: key \"a\" is given twice; remove one"},
        {"\"\\t\": 1\n\"\\t\": 2\n", "2:1: a key is given twice; remove one"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 1\n"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 1\n",
         "2:1: a key is given twice; remove one"},
        {"1: a\n", "1:1: " NO_KEY},
        {"a: {~: x}\n", "1:5: " NO_KEY},
        {"true: x\n", "1:1: " NO_KEY},
        {"?\n: x\n", "1:2: " NO_KEY},
        {"? [a]\n: 1\n", "1:3: " NO_KEY},
        {"? {a: 1}\n: 1\n", "1:3: " NO_KEY},
        {"? [!x a]\n: 1\n", "1:4: " NO_TAGS},
        {"<<: {a: 1}\n", "1:1: merge keys (<<) are not allowed; write the values themselves"},
        /* numbers */
        {"[9223372036854775808]", "1:2: " NO_NUMBER},
        {"[-9223372036854775809]", "1:2: " NO_NUMBER},
        {"[123456789012345678901234567890]", "1:2: " NO_NUMBER},
        {"a: 0x8000000000000000\n", "1:4: " NO_NUMBER},
        {"a: 0o1000000000000000000000\n", "1:4: " NO_NUMBER},
        {"[1e999]", "1:2: " NO_NUMBER},
        {"[-1e999]", "1:2: " NO_NUMBER},
        {"[1e-999]", "1:2: " NO_NUMBER},
        {"a: .nan\n", "1:4: " NO_NUMBER},
        {"a: .NaN\n", "1:4: " NO_NUMBER},
        {"a: .NAN\n", "1:4: " NO_NUMBER},
        {"a: .inf\n", "1:4: " NO_NUMBER},
        {"a:\n  - -.Inf\n", "2:5: " NO_NUMBER},
        {"a: +.INF\n", "1:4: " NO_NUMBER},
        /* documents */
        {"a: 1\n---\nb: 2\n", "2:1: a second document is not allowed; remove the line ---"},
        {"---\n---\n", "2:1: a second document is not allowed; remove the line ---"},
        {"a: 1\n...\nb: 2\n", "3:1: not valid YAML: did not find expected <document start>"},
        /* syntax */
        {"a:\n\tb: 1\n",
         "2:1: not valid YAML: while scanning for the next token found character that cannot start any token; indent by "
         "blanks, not tabs, and put texts with special characters into quotes"},
        {"a: b: c\n", "1:5: not valid YAML: mapping values are not allowed in this context"},
        {"{a: 1\n", "2:1: not valid YAML: while parsing a flow mapping did not find expected ',' or '}'"},
        {"'a\n", "2:1: not valid YAML: while scanning a quoted scalar found unexpected end of stream"},
        {"\"\\ud83d\\ude00\"", "1:4: not valid YAML: while parsing a quoted scalar found invalid Unicode character escape code"},
        {"\"\\q\"", "1:2: not valid YAML: while parsing a quoted scalar found unknown escape character"},
        {"a: @x\n",
         "1:4: not valid YAML: while scanning for the next token found character that cannot start any token; indent by "
         "blanks, not tabs, and put texts with special characters into quotes"},
        {"%YAML 2.0\n--- 1\n", "1:1: not valid YAML: found incompatible YAML document"},
        {"%YAML 1.1\n%YAML 1.1\n--- 1\n", "2:1: not valid YAML: found duplicate %YAML directive"},
        /* characters */
        {"a: \x01\n", "1:4: not valid YAML: control characters are not allowed; " UTF8(3)},
        {"a: 1\n\xc3\xa4\xc3\xa4: \x7f\n", "2:5: not valid YAML: control characters are not allowed; " UTF8(11)},
        {"a: \"\\0\"\n", "1:4: a NUL character is not allowed"},
        {"a: \xff\n", "1:4: not valid YAML: invalid leading UTF-8 octet; " UTF8(3)},
        {"a: \xc3(\n", "1:5: not valid YAML: invalid trailing UTF-8 octet; " UTF8(4)},
        {"a: \xed\xa0\x80\n", "1:4: not valid YAML: invalid Unicode character; " UTF8(3)},
        {"a: \xc0\x80\n", "1:4: not valid YAML: invalid length of a UTF-8 sequence; " UTF8(3)},
        {"a: \xe4\n", "1:4: not valid YAML: incomplete UTF-8 octet sequence; " UTF8(3)},
        /* depth */
        {"[[[[[[[[[]]]]]]]]]", "1:9: nested too deeply"},
        {"- - - - - - - - - x\n", "1:17: nested too deeply"},
        {"{a: {a: {a: {a: {a: {a: {a: {a: {}}}}}}}}}", "1:33: nested too deeply"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        int code = strstr(rows[i][1], "deeply") ? ERR_TOO_LARGE : ERR_UNPROCESSABLE;
        assert_told(rows[i][0], strlen(rows[i][0]), code, rows[i][1]);
    }
}

/* Texts that hold a NUL, as UTF-16 does. */
static void test_encodings(void **state) {
    (void)state;
    assert_told("\xff\xfe"
                "a\0:\0 \0b\0",
                10, ERR_UNPROCESSABLE, "1:1: not valid YAML: invalid leading UTF-8 octet; " UTF8(0));
    assert_told("\xfe\xff\0a\0:\0 \0b", 10, ERR_UNPROCESSABLE, "1:1: not valid YAML: invalid leading UTF-8 octet; " UTF8(0));
    assert_told("a\0:\0 \0b\0", 8, ERR_UNPROCESSABLE, "1:2: not valid YAML: control characters are not allowed; " UTF8(1));
    assert_told("\0a\0:\0 \0b", 8, ERR_UNPROCESSABLE, "1:1: not valid YAML: control characters are not allowed; " UTF8(0));
}

static void put_times(struct strbuf *text, const char *piece, size_t count) {
    while (count--)
        strbuf_adds(text, piece);
}

static void test_limits(void **state) {
    (void)state;
    _cleanup_yaml_ struct yaml_doc doc = {0};
    _cleanup_strbuf_ struct strbuf text;
    struct yaml_place where;
    struct err err = {0};
    strbuf_init(&text, 2 * limits.bytes);
    strbuf_adds(&text, "a: ");
    put_times(&text, "x", limits.bytes - text.len);
    assert_int_equal(yaml_parse(text.data, text.len, &limits, &doc, &where, &err), 0);
    assert_int_equal(doc.count, 3);
    assert_int_equal(strlen(doc.nodes[2].text), limits.bytes - 3);
    strbuf_addc(&text, 'x');
    assert_told(text.data, text.len, ERR_TOO_LARGE, "0:0: larger than 262144 bytes");
    yaml_done(&doc);
    strbuf_reset(&text);
    put_times(&text, "-\n", limits.nodes - 1); /* and the list */
    assert_int_equal(yaml_parse(text.data, text.len, &limits, &doc, &where, &err), 0);
    assert_int_equal(doc.count, limits.nodes);
    strbuf_adds(&text, "-\n");
    assert_told(text.data, text.len, ERR_TOO_LARGE, "20000:2: too many keys and values");
    strbuf_reset(&text);
    put_times(&text, "?\n", limits.nodes / 2);
    assert_told(text.data, text.len, ERR_TOO_LARGE, "10001:1: too many keys and values");
    strbuf_reset(&text);
    put_times(&text, "[", limits.bytes);
    assert_told(text.data, text.len, ERR_TOO_LARGE, "1:9: nested too deeply");
    strbuf_reset(&text);
    put_times(&text, "%TAG !a! b\n", 20000); /* of which libyaml compares each with all before it */
    assert_told(text.data, text.len, ERR_UNPROCESSABLE, "1:1: tags (%TAG and !) are not allowed; remove the line");
}

static void test_places(void **state) {
    (void)state;
    static const char text[] = "kind: Config\n"
                               "users:\n"
                               "- name: a\n"
                               "  user: {token: x}\n"
                               "- name: \"\xc3\xa4\"\n"
                               "  user:\n"
                               "    token:\n"
                               "      1\n"
                               "lists: [[], [p, [q]], {}]\n"
                               "'': e\n";
    static const struct {
        const char *path;
        struct yaml_place key, value;
    } rows[] = {
        {"kind", {1, 1}, {1, 7}},          {"users", {2, 1}, {3, 1}},
        {"users[0]", {0}, {3, 3}},         {"users[0].user.token", {4, 10}, {4, 17}},
        {"users[1].name", {5, 3}, {5, 9}}, {"users[1].user.token", {7, 5}, {8, 7}},
        {"lists[1][1][0]", {0}, {9, 18}},  {"lists[2]", {0}, {9, 23}},
    };
    static const char *const none[] = {"name",
                                       "user",
                                       "users[2]",
                                       "users.name",
                                       "users[0][0]",
                                       "users[0].name.x",
                                       "kin",
                                       "kinds",
                                       "users[0].",
                                       "kind[0]",
                                       "lists[0][0]",
                                       "lists[3]",
                                       "lists[2]x",
                                       "lists[1].p",
                                       "lists[2].x",
                                       ".kind.",
                                       "users[99999999999999999999]"};
    _cleanup_yaml_ struct yaml_doc doc = {0}, empty = {0};
    struct yaml_place where;
    assert_int_equal(yaml_parse(text, strlen(text), &limits, &doc, &where, NULL), 0);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const struct yaml_node *found = yaml_find(&doc, rows[i].path);
        assert_non_null(found);
        assert_memory_equal(&found->place, &rows[i].value, sizeof(where));
        if (rows[i].key.line)
            assert_memory_equal(&found[-1].place, &rows[i].key, sizeof(where));
    }
    for (size_t i = 0; i < ARRAY_COUNT(none); i++)
        assert_null(yaml_find(&doc, none[i]));
    assert_ptr_equal(yaml_find(&doc, ""), doc.nodes);
    assert_null(yaml_find(&empty, ""));
}

/* What the nodes keep, and JSON cannot. */
static void test_nodes(void **state) {
    (void)state;
    static const char text[] = "a: 010\n'a': !x \"1\"\n? [k]\n: |\n  t\n";
    _cleanup_yaml_ struct yaml_doc doc = {0};
    struct yaml_place where;
    assert_int_equal(yaml_parse(text, strlen(text), &limits, &doc, &where, NULL), 0);
    const struct yaml_node *n = doc.nodes;
    assert_int_equal(doc.count, 8);
    assert_int_equal(n[0].kind, YAML_MAP);
    assert_ptr_equal(yaml_next(n), n + 8);
    assert_true(n[1].is_plain && n[2].is_plain && !n[3].is_plain && !n[4].is_plain && !n[7].is_plain);
    assert_string_equal(n[2].text, "010");
    assert_string_equal(n[3].text, "a");
    assert_true(n[4].has_tag && !n[2].has_tag);
    assert_int_equal(n[5].kind, YAML_LIST);
    assert_null(n[5].text);
    assert_ptr_equal(yaml_next(n + 5), n + 7);
    assert_string_equal(n[7].text, "t\n");
    assert_null(yaml_find(&doc, "k"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),   cmocka_unit_test(test_documents), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_encodings), cmocka_unit_test(test_limits),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
