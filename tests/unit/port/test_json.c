/* Unit tests of src/port/json: limits of parsing, closed objects, writing.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "limits.h"

static void assert_refused(const char *text, size_t n, int code, const char *word) {
    json_t *value = NULL;
    struct err err = {0};
    assert_int_equal(json_parse(text, n, &value, &err), code);
    assert_null(value);
    if (!strstr(err.text, word))
        print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, word));
}

static void refuse(const char *text, const char *word) {
    assert_refused(text, strlen(text), ERR_JSON, word);
}

static void test_parse(void **state) {
    (void)state;
    _cleanup_json_ json_t *value = NULL;
    const char text[] = " {\"name\": \"\\u00e9t\xc3\xa9\", \"n\": -5, \"yes\": true, \"nothing\": null, \"list\": [1, {}]} \n";
    assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
    assert_string_equal(json_get_string(value, "name"), "\xc3\xa9t\xc3\xa9");
    assert_int_equal(json_get_int(value, "n", 7), -5);
    assert_true(json_get_bool(value, "yes", false));
    assert_null(json_get_string(value, "n"));
    assert_null(json_get_string(value, "missing"));
    assert_int_equal(json_get_int(value, "name", 7), 7);
    assert_int_equal(json_get_int(value, "nothing", 7), 7);
    assert_true(json_get_bool(value, "n", true));
}

static void test_refused(void **state) {
    (void)state;
    refuse("", "ends too early");
    refuse("{\"a\":1", "ends too early");
    refuse("{\"a\":1} x", "behind the value (line 1, column 9)");
    refuse("{\"a\":1}\n{}", "behind");
    refuse("{\"a\":1,\"a\":2}", "given twice");
    refuse("{\"a\":{\"b\":1,\"b\":1}}", "given twice");
    refuse("\"text\"", "syntax");
    refuse("7", "syntax");
    refuse("null", "syntax");
    refuse("{\"a\":\"\\u0000\"}", "NUL");
    refuse("{\"a\":\"\xff\"}", "UTF-8");
    refuse("{\"a\":\"\xed\xa0\x80\"}", "UTF-8"); /* a surrogate */
    refuse("{\"a\":\"\xc0\xaf\"}", "UTF-8");     /* an overlong form */
    refuse("{\"a\":\"\\ud800\"}", "syntax");
    refuse("{\"a\":99999999999999999999}", "too large");
    refuse("{\"a\":01}", "syntax");
    refuse("{'a':1}", "syntax");
    refuse("[1,]", "syntax");
    refuse("\n\n  {,}", "line 3, column 4");
    assert_refused("{\"a\":\"x\0y\"}", 11, ERR_JSON, "syntax");
    assert_refused("{}\0", 3, ERR_JSON, "");
}

/* The text of an error goes to clients and logs; what was sent may be a password. */
static void test_error_quotes_nothing(void **state) {
    (void)state;
    struct err err = {0};
    json_t *value = NULL;
    const char text[] = "{\"password\": \"hunter2\" \"x\"}";
    assert_int_equal(json_parse(text, strlen(text), &value, &err), ERR_JSON);
    assert_null(strstr(err.text, "hunter2"));
    assert_null(strstr(err.detail, "hunter2"));
    assert_null(strstr(err.text, "x\""));
}

static void nest(char *out, int depth, char open, char close) {
    memset(out, open, (size_t)depth);
    memset(out + depth, close, (size_t)depth);
    out[2 * depth] = '\0';
}

static void test_depth(void **state) {
    (void)state;
    char text[2 * (KAAS_JSON_DEPTH_MAX + 1) + 1];
    json_t *value = NULL;
    nest(text, KAAS_JSON_DEPTH_MAX, '[', ']');
    assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
    json_decref(value);
    nest(text, KAAS_JSON_DEPTH_MAX + 1, '[', ']');
    assert_refused(text, strlen(text), ERR_TOO_LARGE, "deeper than");
    size_t many = 1000000;
    _cleanup_free_ char *bomb = malloc(many);
    assert_non_null(bomb);
    memset(bomb, '[', many);
    assert_refused(bomb, many, ERR_TOO_LARGE, "deeper");
    _cleanup_json_ json_t *fine = NULL; /* brackets in strings and escaped quotes do not count */
    const char quoted[] = "{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[\",\"b\":\"\\\\\"}";
    assert_int_equal(json_parse(quoted, strlen(quoted), &fine, NULL), 0);
}

/* A small text must not become a hundred times its size in memory. */
static void test_values(void **state) {
    (void)state;
    const size_t fit = KAAS_JSON_VALUES_MAX;
    json_t *value = NULL;
    _cleanup_free_ char *text = malloc(2 * fit + 3);
    assert_non_null(text);
    text[0] = '[';
    for (size_t i = 0; i < fit; i++) {
        text[2 * i + 1] = '1';
        text[2 * i + 2] = ',';
    }
    text[2 * fit] = ']';
    assert_int_equal(json_parse(text, 2 * fit + 1, &value, NULL), 0);
    assert_int_equal(json_array_size(value), fit);
    json_decref(value);
    text[2 * fit] = ',';
    text[2 * fit + 1] = '1';
    text[2 * fit + 2] = ']';
    assert_refused(text, 2 * fit + 3, ERR_TOO_LARGE, "more than 500000 values");
    memset(text + 1, ',', fit - 2); /* commas in strings do not count */
    text[1] = text[fit - 1] = '"';
    text[fit] = ']';
    assert_int_equal(json_parse(text, fit + 1, &value, NULL), 0);
    json_decref(value);
}

static void test_nul(void **state) {
    (void)state;
    const char text[] = "{\"a\":\"x\\u0000y\"}", key[] = "{\"a\\u0000\":1}";
    _cleanup_json_ json_t *value = NULL;
    struct err err = {0};
    assert_refused(text, strlen(text), ERR_JSON, "NUL");
    assert_int_equal(json_parse_nul(text, strlen(text), &value, NULL), 0);
    assert_int_equal(json_string_length(json_object_get(value, "a")), 3);
    assert_memory_equal(json_string_value(json_object_get(value, "a")), "x\0y", 3);
    json_t *none = NULL;
    assert_int_equal(json_parse_nul(key, strlen(key), &none, &err), ERR_JSON);
    assert_non_null(strstr(err.text, "NUL"));
}

static const struct json_member members[] = {
    {.name = "name", .kind = JSON_KIND_STRING, .is_required = true},
    {.name = "count", .kind = JSON_KIND_INTEGER},
    {.name = "is_on", .kind = JSON_KIND_BOOLEAN, .may_be_null = true},
    {.name = "labels", .kind = JSON_KIND_OBJECT},
    {.name = "nodes", .kind = JSON_KIND_ARRAY},
    {.name = "any", .kind = JSON_KIND_ANY},
    {.name = NULL},
};

static void check(const char *text, const char *where, const char *expected) {
    struct err err = {0};
    _cleanup_json_ json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    assert_int_equal(json_check(value, members, where, &err), expected ? ERR_UNPROCESSABLE : 0);
    assert_string_equal(err.text, expected ? expected : "");
}

/* A whole number may be written with a fraction of zero, as JSON Schema has it; readers then find an integer. */
static void test_whole(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t number; /* -1: refused */
    } tries[] = {{"3.0", 3},  {"0.0", 0},   {"-0.0", 0},  {"1e3", 1000}, {"9007199254740992.0", INT64_C(9007199254740992)},
                 {"3.5", -1}, {"1e17", -1}, {"1e300", -1}};
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        char text[100];
        (void)snprintf(text, sizeof(text), "{\"name\":\"a\",\"count\":%s}", tries[i].text);
        _cleanup_json_ json_t *value = json_loads(text, 0, NULL);
        assert_int_equal(json_check(value, members, NULL, NULL), tries[i].number < 0 ? ERR_UNPROCESSABLE : 0);
        assert_int_equal(json_get_int(value, "count", -1), tries[i].number);
    }
}

static void test_check(void **state) {
    (void)state;
    check("{\"name\":\"a\",\"count\":1,\"is_on\":null,\"labels\":{},\"nodes\":[],\"any\":2.5}", NULL, NULL);
    check("{\"name\":\"a\"}", "", NULL);
    check("{}", NULL, "member \"name\" is missing");
    check("{}", "nodes[2]", "member \"nodes[2].name\" is missing");
    check("{\"name\":null}", NULL, "member \"name\" must be a string");
    check("{\"name\":\"a\",\"count\":1.5}", NULL, "member \"count\" must be an integer");
    check("{\"name\":\"a\",\"count\":\"1\"}", NULL, "member \"count\" must be an integer");
    check("{\"name\":\"a\",\"is_on\":0}", NULL, "member \"is_on\" must be true or false or null");
    check("{\"name\":\"a\",\"labels\":[]}", NULL, "member \"labels\" must be an object");
    check("{\"name\":\"a\",\"nodes\":{}}", NULL, "member \"nodes\" must be an array");
    check("{\"name\":\"a\",\"any\":null}", NULL, "member \"any\" must be a value");
    check("{\"nam\":\"a\"}", NULL, "unknown member \"nam\", did you mean \"name\"?");
    check("{\"name\":\"a\",\"zzzzzz\":1}", "x", "unknown member \"x.zzzzzz\"");
    check("{\"a\\nb\":1}", NULL, "unknown member \"\"");
    check("[]", NULL, "the value must be an object");
    check("7", "nodes[0]", "nodes[0] must be an object");
    /* a long name is cut between characters */
    char text[300] = "{\"", *p = text + 2;
    for (int i = 0; i < 100; i++)
        p = stpcpy(p, i == 63 / 2 ? "\xc3\xa9" : "ab");
    (void)stpcpy(p, "\":1}");
    struct err err = {0};
    _cleanup_json_ json_t *value = json_loads(text, 0, NULL), *shown = NULL;
    assert_int_equal(json_check(value, members, NULL, &err), ERR_UNPROCESSABLE);
    assert_non_null(shown = json_string(err.text)); /* valid UTF-8 */
}

static void test_write(void **state) {
    (void)state;
    _cleanup_strbuf_ struct strbuf out;
    _cleanup_json_ json_t *value = json_object();
    strbuf_init(&out, 1000);
    json_put_string(value, "b", "x\"y");
    json_put_string(value, "none", NULL);
    json_put_int(value, "a", INT64_MIN);
    json_put_bool(value, "c", true);
    json_put_time(value, "at", INT64_C(1769860800123));
    json_put_time(value, "never", 0);
    json_put_string(value, "cut", "caf\xc3");
    json_put_string(value, "mixed", "\xff\xc3\xa9\xed\xa0\x80");
    assert_int_equal(json_write(value, &out, NULL), 0);
    assert_string_equal(out.data, "{\"b\":\"x\\\"y\",\"a\":-9223372036854775808,\"c\":true,\"at\":\"2026-01-31T12:00:00.123Z\","
                                  "\"cut\":\"caf?\",\"mixed\":\"?\xc3\xa9???\"}");
    struct err err = {0};
    strbuf_done(&out);
    strbuf_init(&out, 10);
    assert_int_equal(json_write(value, &out, &err), ERR_TOO_LARGE);
}

/* A member that could not be put in must not be left out silently. */
static void test_failed_put_is_told(void **state) {
    (void)state;
    _cleanup_strbuf_ struct strbuf out;
    _cleanup_json_ json_t *value = json_object();
    strbuf_init(&out, 1000);
    json_put_int(NULL, "a", 1); /* as after a json_object() without memory */
    assert_int_equal(json_write(value, &out, NULL), ERR_NOMEM);
    assert_int_equal(json_write(value, &out, NULL), 0); /* told once */
    assert_int_equal(json_write(NULL, &out, NULL), ERR_NOMEM);
}

static void test_wipe(void **state) {
    (void)state;
    _cleanup_json_ json_t *value = json_string("hunter2"), *number = json_integer(5);
    json_wipe_string(value);
    assert_int_equal(json_string_value(value)[0], 0);
    assert_int_equal(json_string_value(value)[6], 0);
    json_wipe_string(number);
    json_wipe_string(NULL);
    assert_int_equal(json_integer_value(number), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_error_quotes_nothing),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_failed_put_is_told),
        cmocka_unit_test(test_wipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
