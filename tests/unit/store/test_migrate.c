/* The migration files built into the program, and how applied rows are judged.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "migrate.h"
#include "str.h"

static const struct store_schema_file two_files[] = {{"0001_a.sql", "SELECT 1;\n", 10}, {"0002_b.sql", "SELECT 2;\n", 10}};
static const struct store_schema two = {two_files, 2, 4};

static struct schema_row row_of(const struct store_schema_file *file, bool is_done) {
    struct schema_row row = {.file = str_dup(file->name), .is_done = is_done};
    schema_file_sha256(file, row.sha256);
    return row;
}

static void test_builtin(void **state) {
    struct store_schema schema = store_schema_builtin();
    (void)state;
    assert_true(schema.count >= 19);
    assert_string_equal(schema.files[0].name, "0001_schema_migrations.sql");
    assert_string_equal(schema.files[1].name, "0002_leases.sql");
    for (size_t i = 0; i < schema.count; i++) {
        const struct store_schema_file *file = &schema.files[i];
        const char *end = strrchr(file->text, ';');
        assert_int_equal(strlen(file->text), file->bytes);
        /* exactly one statement, at the end of the file */
        assert_non_null(end);
        assert_string_equal(end, ";\n");
        if (i)
            assert_true(strcmp(schema.files[i - 1].name, file->name) < 0);
    }
    /* these two are run before there is a lease */
    assert_non_null(strstr(schema.files[0].text, "IF NOT EXISTS"));
    assert_non_null(strstr(schema.files[1].text, "IF NOT EXISTS"));
}

static void test_sha256(void **state) {
    /* NIST: SHA-256 of "abc" */
    const struct store_schema_file abc = {"x", "abc", 3};
    char hex[SCHEMA_SHA256_TEXT_BYTES];
    (void)state;
    schema_file_sha256(&abc, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void check_rows(struct schema_row *items, size_t count, int code, const char *word) {
    struct schema_rows rows = {.items = calloc(count, sizeof(*items)), .count = count};
    struct err err = {0};
    assert_non_null(rows.items);
    memcpy(rows.items, items, count * sizeof(*items));
    assert_int_equal(schema_rows_check(&rows, two, &err), code);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, word));
    assert_true(!code || err.remedy[0]);
    schema_rows_done(&rows);
}

static void test_judged(void **state) {
    const struct store_schema_file unknown = {"0003_c.sql", "SELECT 3;\n", 10}, changed = {"0002_b.sql", "SELECT 9;\n", 10};
    struct schema_row rows[2];
    (void)state;
    rows[0] = row_of(&two_files[0], true);
    rows[1] = row_of(&two_files[1], true);
    check_rows(rows, 2, 0, "");
    rows[0] = row_of(&two_files[0], true);
    check_rows(rows, 1, 0, "");
    rows[0] = row_of(&two_files[0], true);
    rows[1] = row_of(&unknown, true);
    check_rows(rows, 2, ERR_SCHEMA, "newer");
    rows[0] = row_of(&two_files[0], true);
    rows[1] = row_of(&unknown, true);
    rows[1].release = 5; /* the next release, which only adds */
    check_rows(rows, 2, 0, "");
    rows[0] = row_of(&two_files[0], true);
    rows[1] = row_of(&unknown, false);
    rows[1].release = 5;
    check_rows(rows, 2, ERR_SCHEMA, "0003_c.sql was started and never finished");
    rows[0] = row_of(&two_files[0], true);
    rows[1] = row_of(&unknown, true);
    rows[1].release = 6;
    check_rows(rows, 2, ERR_SCHEMA, "newer");
    rows[0] = row_of(&two_files[0], true);
    rows[1] = row_of(&changed, true);
    check_rows(rows, 2, ERR_SCHEMA, "0002_b.sql was applied with other contents");
    rows[0] = row_of(&two_files[0], true);
    rows[1] = row_of(&two_files[1], false);
    check_rows(rows, 2, ERR_SCHEMA, "0002_b.sql was started and never finished");
}

static void test_find(void **state) {
    struct schema_row item = row_of(&two_files[1], true);
    const struct schema_rows rows = {.items = &item, .count = 1};
    (void)state;
    assert_ptr_equal(schema_rows_find(&rows, "0002_b.sql"), &item);
    assert_null(schema_rows_find(&rows, "0002_b"));
    free(item.file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_builtin), cmocka_unit_test(test_sha256),
                                       cmocka_unit_test(test_judged), cmocka_unit_test(test_find)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
