/* Log lines as JSON: each is one line and one object, whatever the values are and wherever it was cut. Standard error is caught in a file.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "json.h"
#include "log.h"

#define LINE_BYTES 4096
#define RANDOM_LINES 3000

static int caught = -1, original = -1;
static char text[LINE_BYTES + 2];

static int catch_stderr(void **state) {
    FILE *file = tmpfile();
    (void)state;
    if (!file)
        return -1;
    caught = dup(fileno(file));
    (void)fclose(file);
    original = dup(STDERR_FILENO);
    clock_fake(1000, INT64_C(1709210096007));
    log_set_request_id(NULL);
    log_set_format(LOG_FORMAT_JSON);
    (void)unsetenv("JOURNAL_STREAM");
    return fcntl(caught, F_SETFL, O_APPEND) || dup2(caught, STDERR_FILENO) < 0 ? -1 : 0;
}

static int release_stderr(void **state) {
    (void)state;
    (void)dup2(original, STDERR_FILENO);
    (void)close(original);
    (void)close(caught);
    log_set_format(LOG_FORMAT_KV);
    clock_unfake();
    return 0;
}

/* The one line that was logged since the last call. */
static const char *logged(void) {
    ssize_t n = pread(caught, text, sizeof(text) - 1, 0);
    assert_in_range(n, 1, LINE_BYTES);
    text[n] = '\0';
    assert_int_equal(ftruncate(caught, 0), 0);
    assert_ptr_equal(strchr(text, '\n'), text + n - 1);
    return text;
}

/* The same as an object, for the caller to free: no key stands in it twice, all values are texts. */
static json_t *logged_object(void) {
    const char *line = logged();
    json_t *object = json_loadb(line, strlen(line), JSON_REJECT_DUPLICATES, NULL), *value;
    const char *key;
    assert_non_null(object);
    json_object_foreach (object, key, value)
        assert_true(json_is_string(value));
    return object;
}

static void a_line_is_an_object(void **state) {
    struct err err = {.code = ERR_TLS, .text = "no trust", .detail = "serial 5", .file = "/b/src/vim/vim_tls.c", .line = 12};
    (void)state;
    log_event(LOG_LEVEL_NOTICE, "login", "user", "anna", "skipped", NULL, "n", log_fmt("%d", 5), NULL);
    assert_string_equal(
        logged(),
        "{\"time\":\"2024-02-29T12:34:56.007Z\",\"level\":\"notice\",\"event\":\"login\",\"user\":\"anna\",\"n\":\"5\"}\n");
    log_set_request_id("req-1");
    log_error(LOG_LEVEL_ERROR, "failed", &err, "vcenter", "east", NULL);
    assert_string_equal(
        logged(), "{\"time\":\"2024-02-29T12:34:56.007Z\",\"level\":\"error\",\"event\":\"failed\",\"request_id\":\"req-1\","
                  "\"vcenter\":\"east\",\"error\":\"tls_untrusted\",\"text\":\"no trust\",\"detail\":\"serial 5\","
                  "\"place\":\"src/vim/vim_tls.c:12\"}\n");
    log_set_request_id(NULL);
}

static void the_journal_gets_priorities(void **state) {
    char own[64];
    struct stat st;
    (void)state;
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    assert_int_equal(setenv("JOURNAL_STREAM", own, 1), 0);
    log_event(LOG_LEVEL_WARNING, "e", "k", "v", NULL);
    assert_string_equal(logged(), "<4>{\"level\":\"warning\",\"event\":\"e\",\"k\":\"v\"}\n");
}

static void values_are_escaped(void **state) {
    static const struct {
        const char *value, *shown;
    } rows[] = {
        {"", ""},
        {"two words=1", "two words=1"},
        {"say \"hi\"", "say \\\"hi\\\""},
        {"back\\slash", "back\\\\slash"},
        {"line\n{\"event\":\"x\"}\r\t", "line\\n{\\\"event\\\":\\\"x\\\"}\\r\\t"},
        {"\x1b[31mred\x7f", "\\u001b[31mred\\u007f"},
        {"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"},
        {"bad \xff\xc3", "bad \\ufffd\\ufffd"},
        {"half \xf0\x9f\x98", "half \\ufffd\\ufffd\\ufffd"},
        {"c1 \xc2\x9b", "c1 \\u009b"},
        {"ls \xe2\x80\xa8", "ls \\u2028"},
        {"rl \xe2\x80\xae", "rl \\u202e"},
        {"tag \xf3\xa0\x81\xa1", "tag \\udb40\\udc61"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        char expected[200];
        log_event(LOG_LEVEL_INFO, "e", "k", rows[i].value, NULL);
        (void)snprintf(expected, sizeof(expected), "\"event\":\"e\",\"k\":\"%s\"}\n", rows[i].shown);
        assert_string_equal(strstr(logged(), "\"event\""), expected);
    }
}

/* Wherever the line ends: in a value, before a key, between two pairs. */
static void a_cut_line_is_an_object(void **state) {
    static char value[LINE_BYTES + 100];
    unsigned cut = 0;
    (void)state;
    for (size_t n = LINE_BYTES - 150; n < LINE_BYTES + 50; n++) {
        memset(value, 'x', n);
        value[n] = '\0';
        log_event(LOG_LEVEL_INFO, "e", "k", value, "later", "\n\n\n", "last", "z", NULL);
        _cleanup_json_ json_t *object = logged_object();
        const bool is_cut = json_object_get(object, "cut") != NULL, has_last = json_object_get(object, "last") != NULL;
        assert_true(is_cut || has_last);
        cut += is_cut;
    }
    assert_in_range(cut, 50, 190);
}

static void any_bytes_make_an_object(void **state) {
    static const char some[] = "\"\\\n{}:,\xc2\x9b\xe2\x80\xa8\xff\x01 x";
    static char values[2][3000];
    uint32_t seed = 12345;
    (void)state;
    for (unsigned line = 0; line < RANDOM_LINES; line++) {
        for (size_t v = 0; v < UNIT_COUNT(values); v++) {
            seed = seed * 1664525U + 1013904223U;
            const size_t n = seed >> 16 & (line % 3 ? 63U : 2047U);
            for (size_t i = 0; i < n; i++) {
                seed = seed * 1664525U + 1013904223U;
                const unsigned char any = (unsigned char)(seed >> 24);
                values[v][i] = any % 2 ? some[(any >> 1) % (sizeof(some) - 1)] : (char)(any ? any : 'x');
            }
            values[v][n] = '\0';
        }
        log_event(LOG_LEVEL_INFO, "e", "first", values[0], "second", values[1], NULL);
        json_t *object = logged_object();
        assert_string_equal(json_string_value(json_object_get(object, "event")), "e");
        json_decref(object);
    }
}

#define CATCHING(test) cmocka_unit_test_setup_teardown(test, catch_stderr, release_stderr)

int main(void) {
    const struct CMUnitTest tests[] = {
        CATCHING(a_line_is_an_object),     CATCHING(the_journal_gets_priorities), CATCHING(values_are_escaped),
        CATCHING(a_cut_line_is_an_object), CATCHING(any_bytes_make_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
