/* Log lines: form, escaping, levels, rate limit. Standard error is caught in a file.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

#define PREFIX "time=2024-02-29T12:34:56.007Z "

static int caught = -1, original = -1;
static char text[200000];

static int catch_stderr(void **state) {
    FILE *file = tmpfile();
    (void)state;
    if (!file)
        return -1;
    caught = dup(fileno(file));
    (void)fclose(file);
    original = dup(STDERR_FILENO);
    clock_fake(1000, INT64_C(1709210096007));
    log_set_level(LOG_LEVEL_INFO);
    log_set_request_id(NULL);
    (void)unsetenv("JOURNAL_STREAM");
    /* O_APPEND as a terminal or the journal behave: threads do not overwrite each other. */
    if (fcntl(caught, F_SETFL, O_APPEND))
        return -1;
    return dup2(caught, STDERR_FILENO) < 0 ? -1 : 0;
}

static int release_stderr(void **state) {
    (void)state;
    (void)dup2(original, STDERR_FILENO);
    (void)close(original);
    (void)close(caught);
    clock_unfake();
    return 0;
}

/* What was logged since the last call. */
static const char *logged(void) {
    ssize_t n = pread(caught, text, sizeof(text) - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_int_equal(ftruncate(caught, 0), 0);
    return text;
}

static void writes_pairs(void **state) {
    (void)state;
    log_event(LOG_LEVEL_NOTICE, "login", "user", "anna", "skipped", NULL, "n", log_fmt("%d", 5), NULL);
    assert_string_equal(logged(), PREFIX "level=notice event=login user=anna n=5\n");
}

static void quotes_and_escapes(void **state) {
    static const struct {
        const char *value, *shown;
    } rows[] = {
        {"plain-1.2:3/x", "plain-1.2:3/x"},
        {"", "\"\""},
        {"two words", "\"two words\""},
        {"a=b", "\"a=b\""},
        {"say \"hi\"", "\"say \\\"hi\\\"\""},
        {"back\\slash", "\"back\\\\slash\""},
        {"line\nlevel=error\r\t", "\"line\\nlevel=error\\r\\t\""},
        {"\x1b[31mred\x7f", "\"\\x1b[31mred\\x7f\""},
        {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
        {"bad \xff\xc3", "\"bad \\xff\\xc3\""},
        {"c1 \xc2\x9b", "\"c1 \\xc2\\x9b\""},
        {"ls \xe2\x80\xa8", "\"ls \\xe2\\x80\\xa8\""},
        {"rl \xe2\x80\xae", "\"rl \\xe2\\x80\\xae\""},
        {"zw \xe2\x80\x8b", "\"zw \\xe2\\x80\\x8b\""},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        char expected[200];
        log_event(LOG_LEVEL_INFO, "e", "k", rows[i].value, NULL);
        (void)snprintf(expected, sizeof(expected), PREFIX "level=info event=e k=%s\n", rows[i].shown);
        assert_string_equal(logged(), expected);
    }
}

static void levels_filter(void **state) {
    (void)state;
    log_event(LOG_LEVEL_DEBUG, "hidden", NULL);
    log_set_level(LOG_LEVEL_WARNING);
    log_event(LOG_LEVEL_NOTICE, "hidden", NULL);
    log_error(LOG_LEVEL_INFO, "hidden", NULL, NULL);
    log_event(LOG_LEVEL_WARNING, "shown", NULL);
    assert_string_equal(logged(), PREFIX "level=warning event=shown\n");
    assert_int_equal(log_get_level(), LOG_LEVEL_WARNING);
}

static void request_id_is_in_every_line(void **state) {
    char id[100];
    (void)state;
    memset(id, 'r', 99);
    id[99] = '\0';
    log_set_request_id("req-1");
    log_event(LOG_LEVEL_INFO, "e", NULL);
    assert_string_equal(logged(), PREFIX "level=info event=e request_id=req-1\n");
    log_set_request_id(id);
    assert_int_equal(strlen(log_request_id()), 63);
    log_set_request_id(NULL);
    assert_string_equal(log_request_id(), "");
}

static void errors_carry_their_parts(void **state) {
    struct err err = {
        .code = ERR_TLS, .text = "no trust", .detail = "serial 5", .file = "/builds/kaas-1/src/vim/vim_tls.c", .line = 12};
    (void)state;
    log_error(LOG_LEVEL_ERROR, "vcenter_failed", &err, "vcenter", "east", NULL);
    assert_string_equal(logged(), PREFIX "level=error event=vcenter_failed vcenter=east error=tls_untrusted text=\"no trust\" "
                                         "detail=\"serial 5\" place=src/vim/vim_tls.c:12\n");
    err_clear(&err);
    log_error(LOG_LEVEL_ERROR, "e", &err, NULL);
    log_error(LOG_LEVEL_ERROR, "e", NULL, NULL);
    assert_string_equal(logged(), PREFIX "level=error event=e\n" PREFIX "level=error event=e\n");
}

static void journal_gets_priorities(void **state) {
    char own[64];
    struct stat st;
    (void)state;
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    assert_int_equal(setenv("JOURNAL_STREAM", own, 1), 0);
    log_event(LOG_LEVEL_WARNING, "e", "k", "v", NULL);
    assert_string_equal(logged(), "<4>level=warning event=e k=v\n");
    assert_int_equal(setenv("JOURNAL_STREAM", "1:2", 1), 0); /* inherited, but stderr goes elsewhere */
    log_event(LOG_LEVEL_WARNING, "e", NULL);
    assert_string_equal(logged(), PREFIX "level=warning event=e\n");
}

static void long_lines_are_cut_clean(void **state) {
    static char value[9000];
    const char *line;
    (void)state;
    memset(value, '\n', sizeof(value) - 1);
    log_event(LOG_LEVEL_INFO, "e", "k", value, "later", "lost", NULL);
    line = logged();
    assert_in_range(strlen(line), 4000, 4096);
    assert_string_equal(line + strlen(line) - strlen("\\n\" cut=yes\n"), "\\n\" cut=yes\n");
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    memset(value, 'x', sizeof(value) - 1);
    log_event(LOG_LEVEL_INFO, value, "k", "v", NULL);
    line = logged();
    assert_true(strlen(line) <= 4096);
    assert_non_null(strstr(line, " cut=yes\n"));
}

static void formatted_values_live_eight_calls(void **state) {
    const char *values[8];
    static char wide[400];
    (void)state;
    for (int i = 0; i < 8; i++)
        values[i] = log_fmt("%d", i);
    assert_string_equal(values[0], "0");
    assert_string_equal(values[7], "7");
    memset(wide, 'w', sizeof(wide) - 1);
    assert_int_equal(strlen(log_fmt("%s", wide)), 255);
}

static void *log_many(void *arg) {
    log_set_request_id(arg);
    for (int i = 0; i < 100; i++)
        log_event(LOG_LEVEL_INFO, "e", "v", "some words", NULL);
    return NULL;
}

static void threads_do_not_mix_lines(void **state) {
    static char first[] = "a", second[] = "b";
    pthread_t threads[2];
    const char *line;
    unsigned count[2] = {0, 0};
    (void)state;
    assert_int_equal(pthread_create(&threads[0], NULL, log_many, first), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, log_many, second), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    for (line = logged(); *line; line = strchr(line, '\n') + 1) {
        const char *id = strstr(line, "request_id=");
        assert_int_equal(strncmp(line, PREFIX "level=info event=e request_id=", 60), 0);
        count[id[11] == 'b']++;
    }
    assert_int_equal(count[0], 100);
    assert_int_equal(count[1], 100);
}

static void repeated_warnings_are_limited(void **state) {
    static struct log_limit limit;
    unsigned long suppressed = 99;
    (void)state;
    assert_true(log_limit_pass(&limit, 60000, 1, &suppressed));
    assert_int_equal(suppressed, 0);
    for (int i = 0; i < 3; i++)
        assert_false(log_limit_pass(&limit, 60000, 1, &suppressed));
    clock_advance_ms(59999);
    assert_false(log_limit_pass(&limit, 60000, 1, &suppressed));
    clock_advance_ms(1);
    assert_true(log_limit_pass(&limit, 60000, 1, &suppressed));
    assert_int_equal(suppressed, 4);
    assert_true(log_limit_pass(&limit, 60000, 2, &suppressed)); /* another cause */
    assert_int_equal(suppressed, 0);
    assert_false(log_limit_pass(&limit, 60000, 2, &suppressed));
}

#define CATCHING(test) cmocka_unit_test_setup_teardown(test, catch_stderr, release_stderr)

int main(void) {
    const struct CMUnitTest tests[] = {
        CATCHING(writes_pairs),
        CATCHING(quotes_and_escapes),
        CATCHING(levels_filter),
        CATCHING(request_id_is_in_every_line),
        CATCHING(errors_carry_their_parts),
        CATCHING(journal_gets_priorities),
        CATCHING(long_lines_are_cut_clean),
        CATCHING(formatted_values_live_eight_calls),
        CATCHING(threads_do_not_mix_lines),
        CATCHING(repeated_warnings_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
