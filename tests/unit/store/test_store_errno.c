/* Error numbers of MariaDB and what they mean for a caller.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <errmsg.h>
#include <mysqld_error.h>

#include "db_conn.h"
#include "err.h"

static void test_codes(void **state) {
    static const struct {
        unsigned number;
        int code;
    } rows[] = {
        {CR_CONNECTION_ERROR, ERR_DATABASE},
        {CR_SERVER_LOST, ERR_DATABASE},
        {ER_CON_COUNT_ERROR, ERR_DATABASE},
        {ER_ACCESS_DENIED_ERROR, ERR_DATABASE},
        {ER_TABLEACCESS_DENIED_ERROR, ERR_DATABASE},
        {ER_OPTION_PREVENTS_STATEMENT, ERR_DATABASE},
        {ER_BAD_DB_ERROR, ERR_SCHEMA},
        {ER_NO_SUCH_TABLE, ERR_SCHEMA},
        {ER_BAD_FIELD_ERROR, ERR_SCHEMA},
        {ER_DUP_ENTRY, ERR_EXISTS},
        {ER_NO_REFERENCED_ROW_2, ERR_CONFLICT},
        {ER_ROW_IS_REFERENCED_2, ERR_CONFLICT},
        {ER_DATA_TOO_LONG, ERR_UNPROCESSABLE},
        {ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ERR_UNPROCESSABLE},
        {ER_LOCK_DEADLOCK, ERR_BUSY},
        {ER_LOCK_WAIT_TIMEOUT, ERR_BUSY},
        {ER_UNKNOWN_COM_ERROR, ERR_DATABASE},
        {ER_ERROR_DURING_COMMIT, ERR_DATABASE},
        {ER_PARSE_ERROR, ERR_INTERNAL},
        {ER_BAD_NULL_ERROR, ERR_INTERNAL},
        {0, ERR_INTERNAL},
        {999999, ERR_INTERNAL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        assert_int_equal(db_errno_code(rows[i].number), rows[i].code);
        assert_true(strlen(db_errno_text(rows[i].number)) > 5);
    }
}

static void test_traits(void **state) {
    (void)state;
    assert_true(db_errno_is_transient(ER_LOCK_DEADLOCK));
    assert_true(db_errno_is_transient(ER_LOCK_WAIT_TIMEOUT));
    assert_true(db_errno_is_lost(ER_UNKNOWN_COM_ERROR));
    assert_true(db_errno_is_lost(ER_ERROR_DURING_COMMIT));
    assert_false(db_errno_is_transient(ER_ERROR_DURING_COMMIT));
    assert_false(db_errno_is_transient(ER_DUP_ENTRY));
    assert_false(db_errno_is_transient(CR_SERVER_LOST));
    assert_true(db_errno_is_lost(CR_SERVER_GONE_ERROR));
    assert_true(db_errno_is_lost(ER_CONNECTION_KILLED));
    assert_true(db_errno_is_lost(CR_UNKNOWN_ERROR)); /* not in the table, but of the client library */
    assert_false(db_errno_is_lost(ER_LOCK_DEADLOCK));
    assert_false(db_errno_is_lost(0));
    assert_true(db_errno_is_open(ER_ERROR_DURING_COMMIT));
    assert_true(db_errno_is_open(CR_SERVER_LOST));
    assert_true(db_errno_is_open(ER_QUERY_INTERRUPTED));
    assert_true(db_errno_is_open(999999));            /* whatever it is */
    assert_false(db_errno_is_open(ER_LOCK_DEADLOCK)); /* certification says no: surely undone */
    assert_false(db_errno_is_open(ER_DISK_FULL));
}

static void check_key(const char *message, const char *key) {
    char out[DB_KEY_BYTES] = "untouched";
    db_errno_key(message, out);
    assert_string_equal(out, key);
}

static void test_keys(void **state) {
    char message[400];
    (void)state;
    check_key("Duplicate entry 'prod-1' for key 'clusters_name'", "clusters_name");
    check_key("Duplicate entry 'a' for key 'b'' for key 'PRIMARY'", "PRIMARY");
    check_key(
        "Cannot add or update a child row: a foreign key constraint fails (`k`.`nodes`, CONSTRAINT `nodes_cluster` FOREIGN KEY"
        " (`cluster_id`) REFERENCES `clusters` (`id`))",
        "nodes_cluster");
    check_key("Deadlock found", "");
    check_key("", "");
    check_key("for key 'open", "");
    (void)snprintf(message, sizeof(message), "Duplicate entry 'x' for key '%0*d'", DB_KEY_BYTES, 0);
    check_key(message, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_codes), cmocka_unit_test(test_traits), cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
