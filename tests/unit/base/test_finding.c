/* Findings and their list.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "finding.h"

static bool is_without_memory;

void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size) {
    return is_without_memory ? NULL : __real_reallocarray(p, n, size);
}

static void they_say_and_advise(void **state) {
    struct finding f = {.step = "port"};
    struct err err = {0};
    char long_text[sizeof(f.text) + 10];
    (void)state;
    finding_say(&f, FINDING_WARNING, "port %d", 443);
    finding_advise(&f, "open %s", "it");
    assert_int_equal(f.status, FINDING_WARNING);
    assert_string_equal(f.text, "port 443");
    assert_string_equal(f.remedy, "open it");
    (void)err_set(&err, ERR_TIMEOUT, "too late");
    finding_say_error(&f, FINDING_FAILED, &err);
    assert_int_equal(f.status, FINDING_FAILED);
    assert_string_equal(f.text, "too late");
    assert_string_equal(f.remedy, "");
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = 0;
    finding_say(&f, FINDING_OK, "%s", long_text);
    assert_int_equal(strlen(f.text), sizeof(f.text) - 1);
    assert_string_equal(finding_status_name(FINDING_OK), "ok");
    assert_string_equal(finding_status_name(FINDING_SKIPPED), "skipped");
}

static void add(struct findings *list, enum finding_status status) {
    findings_add(list, &(struct finding){.step = "name", .status = status});
}

static void the_worst_counts(void **state) {
    struct findings list = {0};
    (void)state;
    assert_int_equal(findings_worst(&list, 0), FINDING_SKIPPED);
    add(&list, FINDING_SKIPPED);
    assert_int_equal(findings_worst(&list, 0), FINDING_SKIPPED);
    add(&list, FINDING_OK);
    assert_int_equal(findings_worst(&list, 0), FINDING_OK);
    add(&list, FINDING_FAILED);
    add(&list, FINDING_WARNING);
    add(&list, FINDING_SKIPPED);
    assert_int_equal(findings_worst(&list, 0), FINDING_FAILED);
    assert_int_equal(findings_worst(&list, 3), FINDING_WARNING);
    findings_done(&list);
    assert_int_equal(list.count, 0);
}

static void a_missing_one_is_told(void **state) {
    struct findings list = {0};
    struct err err = {0};
    (void)state;
    for (int i = 0; i < 16; i++)
        add(&list, FINDING_OK);
    assert_int_equal(findings_check(&list, &err), 0);
    is_without_memory = true;
    add(&list, FINDING_FAILED);
    is_without_memory = false;
    assert_int_equal(list.count, 16);
    add(&list, FINDING_WARNING);
    assert_int_equal(list.count, 17);
    assert_int_equal(findings_check(&list, &err), ERR_NOMEM);
    findings_done(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_say_and_advise),
        cmocka_unit_test(the_worst_counts),
        cmocka_unit_test(a_missing_one_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
