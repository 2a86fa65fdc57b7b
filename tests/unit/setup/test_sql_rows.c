/* Unit tests of src/setup/backup/sql_rows. SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sql_rows.h"
#include "str.h"

static const char dump[] = "-- MariaDB dump\n"
                           "CREATE TABLE `none` (\n  `a` int DEFAULT 0 COMMENT '(INSERT INTO `none` VALUES (1))'\n);\n"
                           "INSERT INTO `users` VALUES (1,'a\\'),(\\\\',NULL),(2,'it''s (',0x28);\n"
                           "INSERT INTO `users` VALUES\n(3,';\\nINSERT INTO `none` VALUES (1)'),\n(4,'');\n"
                           "INSERT INTO `audit_log` (`a`, `b`) VALUES ((1),2);\n"
                           "-- INSERT INTO `none` VALUES (1);\n"
                           "-- Dump completed on 2026-11-27\n";

static void is_counted(const struct sql_rows *rows) {
    assert_int_equal(rows->count, 2);
    assert_string_equal(rows->tables[0].name, "users");
    assert_int_equal(rows->tables[0].rows, 4);
    assert_string_equal(rows->tables[1].name, "audit_log");
    assert_int_equal(rows->tables[1].rows, 1);
}

static void test_rows_are_counted(void **state) {
    static struct sql_rows rows;
    (void)state;
    for (size_t piece = 1; piece < sizeof(dump); piece++) { /* however it is cut */
        memset(&rows, 0, sizeof(rows));
        for (size_t at = 0; at < sizeof(dump) - 1; at += piece)
            sql_rows_feed(&rows, dump + at, sizeof(dump) - 1 - at < piece ? sizeof(dump) - 1 - at : piece);
        is_counted(&rows);
    }
}

static void test_the_line(void **state) {
    static struct sql_rows rows, read;
    _cleanup_strbuf_ struct strbuf out;
    (void)state;
    strbuf_init(&out, SQL_ROWS_LINE_BYTES_MAX);
    memset(&rows, 0, sizeof(rows));
    sql_rows_feed(&rows, dump, sizeof(dump) - 1);
    strbuf_adds(&out, "-- Dump completed\n");
    assert_int_equal(sql_rows_write(&rows, &out, NULL), 0);
    assert_string_equal(out.data, "-- Dump completed\n-- rows in kaas: users=4 audit_log=1\n");
    assert_true(sql_rows_parse(out.data, out.len, &read));
    is_counted(&read);
    sql_rows_feed(&rows, out.data, out.len);
    is_counted(&rows);
}

static void test_no_such_line(void **state) {
    static const char *const lines[] = {
        "",
        "\n",
        "\n-- rows in kaas: a=1",
        "-- rows in kaas: a=1\n",
        "\n-- rows in kaas: a=1\n\n",
        "\n-- rows in kaas: a=\n",
        "\n-- rows in kaas: =1\n",
        "\n-- rows in kaas: a=-1\n",
        "\n-- rows in kaas: a`b=1\n",
        "\n-- rows in kaas: a=99999999999999999999\n",
        "\n-- Dump completed\n",
        "\n-- rows in kaas: aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaa=1\n",
    };
    static struct sql_rows read;
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        assert_false(sql_rows_parse(lines[i], strlen(lines[i]), &read));
    assert_true(sql_rows_parse("\n-- rows in kaas:\n", 18, &read));
    assert_int_equal(read.count, 0);
}

static void test_more_than_fits(void **state) {
    static struct sql_rows rows;
    _cleanup_strbuf_ struct strbuf out;
    char line[64];
    (void)state;
    strbuf_init(&out, SQL_ROWS_LINE_BYTES_MAX);
    for (unsigned i = 0; i <= SQL_ROWS_TABLES_MAX; i++) {
        (void)snprintf(line, sizeof(line), "INSERT INTO `t%u` VALUES (1);\n", i);
        sql_rows_feed(&rows, line, strlen(line));
    }
    sql_rows_feed(&rows, line, strlen(line));
    assert_int_equal(rows.count, SQL_ROWS_TABLES_MAX);
    (void)snprintf(line, sizeof(line), "INSERT INTO `t0` VALUES (1);\n");
    sql_rows_feed(&rows, line, strlen(line));
    assert_int_equal(rows.tables[0].rows, 2);
    assert_int_equal(rows.tables[SQL_ROWS_TABLES_MAX - 1].rows, 1);
    assert_int_equal(sql_rows_write(&rows, &out, NULL), 0);
    assert_true(str_starts(out.data, "-- rows in kaas: t0=2 t1=1 "));
    assert_true(str_ends(out.data, " t255=1\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_counted), cmocka_unit_test(test_the_line),
                                       cmocka_unit_test(test_no_such_line), cmocka_unit_test(test_more_than_fits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
