/* Schema against a real server: accounts, migrations from every state, two at once, crashes.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <unistd.h>

#include "db_stmt.h"
#include "lease_store.h"
#include "store_tx.h"

static int create(void **state) {
    (void)state;
    fixture_create();
    return 0;
}

static int drop(void **state) {
    (void)state;
    fixture_drop();
    return 0;
}

static int group_tear_down(void **state) {
    (void)state;
    store_global_done();
    return 0;
}

static int migrate(struct store_schema schema, unsigned *applied, struct err *err) {
    const struct store_migrate_options options = {.schema = schema, .holder = "test", .wait_s = 1};
    struct store *owner = fixture_owner();
    int rc = store_migrate(owner, &options, applied, err);
    store_free(owner);
    fixture_grant();
    return rc;
}

static int check(struct store_schema schema, struct err *err) {
    struct store *runtime = fixture_runtime();
    int rc = store_check_schema(runtime, schema, err);
    store_free(runtime);
    return rc;
}

/* The first `count` files of the program. */
static struct store_schema first_files(size_t count) {
    struct store_schema schema = store_schema_builtin();
    assert_true(count <= schema.count);
    schema.count = count;
    return schema;
}

static void test_empty_to_full(void **state) {
    const struct store_schema schema = store_schema_builtin();
    struct err err = {0};
    unsigned applied = 99;
    struct store *owner = fixture_owner();
    (void)state;
    assert_int_equal(store_check_schema(owner, schema, &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "no schema"));
    assert_string_equal(err.remedy, "run: kaasctl db migrate");
    err_clear(&err);
    store_free(owner);
    ASSERT_OK(migrate(schema, &applied, &err), &err);
    assert_int_equal(applied, schema.count);
    ASSERT_OK(check(schema, &err), &err);
    ASSERT_OK(migrate(schema, &applied, &err), &err);
    assert_int_equal(applied, 0);
}

static void test_older_is_refused_and_completed(void **state) {
    const struct store_schema schema = store_schema_builtin();
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    ASSERT_OK(migrate(first_files(7), &applied, &err), &err);
    assert_int_equal(check(schema, &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "older"));
    assert_string_equal(err.remedy, "run: kaasctl db migrate");
    err_clear(&err);
    ASSERT_OK(migrate(schema, &applied, &err), &err);
    assert_int_equal(applied, schema.count - 7);
    ASSERT_OK(check(schema, &err), &err);
}

static void test_newer_is_refused(void **state) {
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    ASSERT_OK(migrate(store_schema_builtin(), &applied, &err), &err);
    assert_int_equal(check(first_files(10), &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "newer"));
    assert_non_null(strstr(err.text, "0011_clusters.sql"));
    err_clear(&err);
    assert_int_equal(migrate(first_files(10), &applied, &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "newer"));
}

/* As if all files behind the one that brought releases were of the next one. */
static void test_next_release_is_worked_with(void **state) {
    struct store_schema before = first_files(1);
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    ASSERT_OK(migrate(store_schema_builtin(), &applied, &err), &err);
    while (strcmp(before.files[before.count - 1].name, "0061_schema_release.sql") != 0)
        before.count++;
    before.release = STORE_SCHEMA_RELEASE - 1;
    ASSERT_OK(check(before, &err), &err);
    ASSERT_OK(migrate(before, &applied, &err), &err);
    assert_int_equal(applied, 0);
    fixture_exec("UPDATE schema_migrations SET schema_release = schema_release + 1 WHERE file = '0070_session_person.sql'");
    assert_int_equal(check(before, &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "newer"));
    assert_true(err.remedy[0]);
}

static void test_changed_file_is_refused(void **state) {
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    ASSERT_OK(migrate(store_schema_builtin(), &applied, &err), &err);
    fixture_exec("UPDATE schema_migrations SET sha256 = REPEAT('0', 64) WHERE file = '0004_replicas.sql'");
    assert_int_equal(check(store_schema_builtin(), &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "0004_replicas.sql was applied with other contents"));
    err_clear(&err);
    ASSERT_CODE(migrate(store_schema_builtin(), &applied, &err), ERR_SCHEMA, &err);
}

static void check_half_applied(void) {
    struct err err = {0};
    unsigned applied = 0;
    assert_int_equal(check(store_schema_builtin(), &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "0008_vcenter_credentials.sql was started and never finished"));
    assert_non_null(strstr(err.remedy, "--done 0008_vcenter_credentials.sql"));
    err_clear(&err);
    assert_int_equal(migrate(store_schema_builtin(), &applied, &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "0008_vcenter_credentials.sql"));
}

static int resolve(const char *file, bool is_done, struct err *err) {
    const struct store_migrate_options options = {
        .schema = store_schema_builtin(), .holder = "test", .resolve_file = file, .resolve_as_done = is_done};
    struct store *owner = fixture_owner();
    unsigned applied = 0;
    int rc = store_migrate(owner, &options, &applied, err);
    store_free(owner);
    return rc;
}

static void test_half_applied(void **state) {
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    /* as after a crash before the statement */
    ASSERT_OK(migrate(first_files(7), &applied, &err), &err);
    fixture_exec("INSERT INTO schema_migrations SELECT '0008_vcenter_credentials.sql', SHA2('', 256), 'started', 1, 0");
    assert_int_equal(check(store_schema_builtin(), &err), ERR_SCHEMA); /* the sum is checked first */
    err_clear(&err);
    fixture_exec("DELETE FROM schema_migrations WHERE state = 'started'");
    ASSERT_OK(migrate(first_files(8), &applied, &err), &err);
    fixture_exec("UPDATE schema_migrations SET state = 'started', done_at_ms = 0 WHERE file = '0008_vcenter_credentials.sql'");
    check_half_applied();
    /* a person says that it took effect */
    ASSERT_CODE(resolve("0007_vcenters.sql", true, &err), ERR_UNPROCESSABLE, &err);
    ASSERT_OK(resolve("0008_vcenter_credentials.sql", true, &err), &err);
    ASSERT_OK(check(store_schema_builtin(), &err), &err);
    /* and that it did not */
    fixture_exec("UPDATE schema_migrations SET state = 'started', done_at_ms = 0 WHERE file = '0008_vcenter_credentials.sql'");
    fixture_exec("DROP TABLE vcenter_credentials");
    check_half_applied();
    ASSERT_OK(resolve("0008_vcenter_credentials.sql", false, &err), &err);
    ASSERT_OK(check(store_schema_builtin(), &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenter_credentials"), 0);
}

/* The program's first two files and one more. */
static struct store_schema with_file(struct store_schema_file *files, const char *name, const char *text) {
    const struct store_schema schema = store_schema_builtin();
    files[0] = schema.files[0];
    files[1] = schema.files[1];
    files[2] = (struct store_schema_file){name, text, strlen(text)};
    return (struct store_schema){files, 3, 1};
}

static void test_statement_that_fails_is_not_half_applied(void **state) {
    struct store_schema_file files[3];
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    assert_int_equal(
        migrate(with_file(files, "0003_x.sql", "CREATE TABLE x (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES nowhere (id));"),
                &applied, &err),
        ERR_INTERNAL);
    assert_true(err.detail[0]);
    err_clear(&err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM schema_migrations"), 2);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM leases WHERE name = 'schema'"), 0);
    ASSERT_OK(migrate(with_file(files, "0003_x.sql", "CREATE TABLE x (id INT PRIMARY KEY);"), &applied, &err), &err);
    assert_int_equal(applied, 1);
}

/* One of several that migrate at the same time. */
struct migrator {
    char holder[16];
    unsigned applied;
};

static void *run_migrator(void *arg) {
    struct migrator *migrator = arg;
    const struct store_migrate_options options = {.schema = store_schema_builtin(), .holder = migrator->holder, .wait_s = 120};
    struct store *owner = fixture_owner();
    struct err err = {0};
    store_thread_begin();
    ASSERT_OK(store_migrate(owner, &options, &migrator->applied, &err), &err);
    store_free(owner);
    store_thread_end();
    return NULL;
}

static void test_several_at_once(void **state) {
    struct migrator migrators[4] = {{.applied = 0}};
    pthread_t threads[4];
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(threads); i++) {
        (void)snprintf(migrators[i].holder, sizeof(migrators[i].holder), "m%zu", i);
        assert_int_equal(pthread_create(&threads[i], NULL, run_migrator, &migrators[i]), 0);
    }
    for (size_t i = 0; i < UNIT_COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        applied += migrators[i].applied;
    }
    assert_int_equal(applied, store_schema_builtin().count);
    ASSERT_OK(check(store_schema_builtin(), &err), &err);
}

static void test_crashed_migration_keeps_others_out_for_a_time(void **state) {
    struct store *owner = fixture_owner();
    struct err err = {0};
    unsigned applied = 0;
    bool is_mine = false;
    (void)state;
    ASSERT_OK(migrate(first_files(3), &applied, &err), &err);
    ASSERT_OK(lease_store_acquire(owner, "schema", "host7:4711", 60000, &is_mine, &err), &err);
    assert_true(is_mine);
    assert_int_equal(migrate(store_schema_builtin(), &applied, &err), ERR_BUSY);
    assert_non_null(strstr(err.text, "host7:4711"));
    assert_non_null(strstr(err.remedy, "lease ends"));
    err_clear(&err);
    /* long until here, so that it cannot end before others were refused; then short, for nobody wants to wait for its end */
    ASSERT_OK(lease_store_renew(owner, "schema", "host7:4711", 1000, &err), &err);
    const struct store_migrate_options patient = {.schema = store_schema_builtin(), .holder = "test", .wait_s = 120};
    ASSERT_OK(store_migrate(owner, &patient, &applied, &err), &err);
    assert_int_equal(applied, store_schema_builtin().count - 3);
    store_free(owner);
}

static void *kill_sleeper(void *arg) {
    static char sql[64];
    int64_t id = 0;
    (void)arg;
    store_thread_begin();
    UNIT_WAIT_FOR((id = fixture_number("SELECT COALESCE(MAX(id), 0) FROM information_schema.processlist"
                                       " WHERE user = 'fixture_owner' AND info LIKE '%SLEEP%'")) != 0);
    (void)snprintf(sql, sizeof(sql), "KILL %lld", (long long)id);
    fixture_exec(sql);
    store_thread_end();
    return NULL;
}

static void test_connection_lost_in_a_statement(void **state) {
    struct store_schema_file files[3];
    const struct store_schema schema = with_file(files, "0003_slow.sql", "CREATE TABLE slow AS SELECT SLEEP(50) AS id;");
    struct err err = {0};
    unsigned applied = 0;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, kill_sleeper, NULL), 0);
    ASSERT_CODE(migrate(schema, &applied, &err), ERR_DATABASE, &err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* nobody knows what it did: a person has to look */
    assert_int_equal(migrate(schema, &applied, &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "0003_slow.sql was started and never finished"));
}

static int run_sql(struct db_conn *conn, void *arg, struct err *err) {
    return db_conn_exec(conn, arg, err);
}

static void refuse_sql(struct store *store, const char *sql) {
    union {
        const char *in;
        void *out;
    } borrowed = {.in = sql};
    struct err err = {0};
    assert_int_equal(store_read(store, run_sql, borrowed.out, &err), ERR_DATABASE);
    assert_non_null(strstr(err.text, "lacks a right"));
    assert_non_null(strstr(err.remedy, "kaasctl init"));
}

static void test_runtime_account_has_no_more_than_it_needs(void **state) {
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    ASSERT_OK(migrate(store_schema_builtin(), &applied, &err), &err);
    struct store *runtime = fixture_runtime();
    refuse_sql(runtime, "CREATE TABLE x (id INT PRIMARY KEY)");
    refuse_sql(runtime, "DROP TABLE audit");
    refuse_sql(runtime, "ALTER TABLE audit ADD COLUMN x INT");
    refuse_sql(runtime, "TRUNCATE TABLE audit");
    refuse_sql(runtime, "UPDATE audit SET result = 'ok'");
    refuse_sql(runtime,
               "INSERT INTO audit (replica_id, seq, at_ms, action) VALUES (1, 1, 1, 'x') ON DUPLICATE KEY UPDATE result = 'ok'");
    refuse_sql(runtime, "DELETE FROM replicas");
    refuse_sql(runtime, "DELETE FROM audit_keys");
    refuse_sql(runtime, "UPDATE change_log SET seq = 1");
    refuse_sql(runtime, "UPDATE schema_migrations SET state = 'done'");
    refuse_sql(runtime, "SELECT * FROM mysql.global_priv");
    refuse_sql(runtime, "CREATE DATABASE kaas_test_other");
    const struct store_migrate_options options = {.schema = store_schema_builtin(), .holder = "test"};
    assert_int_equal(store_migrate(runtime, &options, &applied, &err), ERR_DATABASE);
    store_free(runtime);
}

static void test_rights_are_set_back(void **state) {
    struct err err = {0};
    unsigned applied = 0;
    (void)state;
    ASSERT_OK(migrate(store_schema_builtin(), &applied, &err), &err);
    static char sql[160];
    (void)snprintf(sql, sizeof(sql),
                   "GRANT ALL PRIVILEGES ON `kaas\\_test\\_%d`.* TO fixture_runtime@localhost WITH GRANT OPTION", (int)getpid());
    fixture_exec(sql);
    fixture_create();
    struct store *runtime = fixture_runtime();
    refuse_sql(runtime, "CREATE TABLE x (id INT PRIMARY KEY)");
    refuse_sql(runtime, "UPDATE audit SET result = 'ok'");
    ASSERT_OK(check(store_schema_builtin(), &err), &err);
    store_free(runtime);
}

/* As release 0.1 set them up: the runtime account may write to all tables, the owner may give no rights. */
static void test_rights_of_the_release_before_are_narrowed(void **state) {
    const struct store_runtime to = {fixture_database(), "fixture_runtime", "localhost"};
    struct store *owner, *root = fixture_root(), *runtime = fixture_runtime();
    struct err err = {0};
    char host[STORE_HOST_BYTES];
    unsigned applied = 0;
    static char sql[160];
    (void)state;
    ASSERT_OK(migrate(store_schema_builtin(), &applied, &err), &err);
    (void)snprintf(sql, sizeof(sql), "GRANT SELECT, INSERT, UPDATE, DELETE ON `kaas\\_test\\_%d`.* TO fixture_runtime@localhost",
                   (int)getpid());
    fixture_exec(sql);
    fixture_exec("REVOKE GRANT OPTION ON *.* FROM fixture_owner@localhost");
    (void)snprintf(sql, sizeof(sql), "REVOKE GRANT OPTION ON `kaas\\_test\\_%d`.* FROM fixture_owner@localhost", (int)getpid());
    fixture_exec(sql);
    owner = fixture_owner();
    ASSERT_OK(store_lookup_host(owner, host, &err), &err);
    assert_string_equal(host, "localhost");
    ASSERT_CODE(store_grant_runtime(owner, &to, &err), ERR_DATABASE, &err);
    store_free(owner);
    ASSERT_OK(store_grant_runtime(root, &to, &err), &err);
    refuse_sql(runtime, "UPDATE audit SET result = 'ok'");
    refuse_sql(runtime, "DELETE FROM replicas");
    ASSERT_OK(check(store_schema_builtin(), &err), &err);
    store_free(runtime);
    store_free(root);
}

static void test_database_name_is_no_pattern(void **state) {
    struct store *runtime = fixture_runtime();
    static char sql[80], other[64];
    char *name = other;
    (void)state;
    /* in GRANT an unescaped _ matches any letter: the neighbour kaasXtest_1 would be open too */
    (void)snprintf(other, sizeof(other), "%s", fixture_database());
    *strchr(name, '_') = 'X';
    (void)snprintf(sql, sizeof(sql), "CREATE DATABASE %s", other);
    fixture_exec(sql);
    (void)snprintf(sql, sizeof(sql), "USE %s", other);
    refuse_sql(runtime, sql);
    (void)snprintf(sql, sizeof(sql), "DROP DATABASE %s", other);
    fixture_exec(sql);
    store_free(runtime);
}

static void test_account_names_refused(void **state) {
    struct store_accounts accounts = {.database = "kaas", .owner = {"a", "localhost", "p"}, .runtime = {"b", "localhost", "p"}};
    struct store *admin = fixture_admin();
    struct err err = {0};
    (void)state;
    accounts.database = "kaas`; DROP DATABASE mysql; --";
    assert_int_equal(store_create_accounts(admin, &accounts, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "database name"));
    err_clear(&err);
    accounts.database = "kaas";
    accounts.owner.name = "o'neil";
    ASSERT_CODE(store_create_accounts(admin, &accounts, &err), ERR_UNPROCESSABLE, &err);
    accounts.owner.name = "";
    ASSERT_CODE(store_create_accounts(admin, &accounts, &err), ERR_UNPROCESSABLE, &err);
    accounts.owner.name = "b";
    ASSERT_CODE(store_create_accounts(admin, &accounts, &err), ERR_UNPROCESSABLE, &err);
    accounts.owner = (struct store_account){"a", "10.0.0.1", NULL};
    ASSERT_CODE(store_create_accounts(admin, &accounts, &err), ERR_UNPROCESSABLE, &err);
    accounts.owner = (struct store_account){"a", "lo cal", "p"};
    ASSERT_CODE(store_create_accounts(admin, &accounts, &err), ERR_UNPROCESSABLE, &err);
    store_free(admin);
}

static void refuse_account(const char *name) {
    struct store_accounts accounts = {.database = fixture_database(),
                                      .owner = {"other_owner", "localhost", FIXTURE_PASSWORD},
                                      .runtime = {name, "localhost", FIXTURE_PASSWORD}};
    struct store *admin = fixture_admin();
    struct err err = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_create_accounts(admin, &accounts, &err), ERR_CONFLICT);
        assert_non_null(strstr(err.text, name));
        assert_non_null(strstr(err.remedy, "database.owner_user"));
        err_clear(&err);
        SWAP(accounts.owner, accounts.runtime);
    }
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM mysql.user WHERE user = 'other_owner'"), 0);
    store_free(admin);
}

/* Of other programs on the same server, and of the server itself: a password that kaasd has would be as good as their rights. */
static void test_accounts_of_others_are_refused(void **state) {
    static const char *const grants[] = {"GRANT SELECT ON *.* TO other_app@localhost",
                                         "GRANT USAGE ON *.* TO other_app@localhost WITH GRANT OPTION",
                                         "GRANT SELECT ON kaas_test.* TO other_app@localhost",
                                         "GRANT SELECT ON `kaas_test%`.* TO other_app@localhost",
                                         "GRANT SELECT (user) ON mysql.db TO other_app@localhost",
                                         "GRANT other_role TO other_app@localhost"};
    (void)state;
    refuse_account("root");
    refuse_account("mysql");
    fixture_exec("CREATE ROLE other_role");
    for (size_t i = 0; i < UNIT_COUNT(grants); i++) {
        fixture_exec("CREATE USER other_app@localhost IDENTIFIED BY 'before'");
        fixture_exec(grants[i]);
        char *before = fixture_text("SELECT authentication_string FROM mysql.user WHERE user = 'other_app'");
        refuse_account("other_app");
        char *after = fixture_text("SELECT authentication_string FROM mysql.user WHERE user = 'other_app'");
        assert_string_equal(before, after);
        free(before);
        free(after);
        fixture_exec("DROP USER other_app@localhost");
    }
    fixture_exec("DROP ROLE other_role");
}

static void test_socket_account(void **state) {
    struct store_accounts accounts = {.database = fixture_database(),
                                      .owner = {"sock_owner", "localhost", FIXTURE_PASSWORD},
                                      .runtime = {"sock_user", "localhost", NULL}};
    struct store *admin = fixture_admin();
    struct err err = {0};
    (void)state;
    ASSERT_OK(store_create_accounts(admin, &accounts, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM mysql.user WHERE user = 'sock_user' AND plugin = 'unix_socket'"), 1);
    store_free(admin);
    /* this program does not run as the operating system user of that name */
    struct store_options options = fixture_options("sock_user", NULL);
    struct store *store = NULL;
    ASSERT_OK(store_new(&options, &store, &err), &err);
    ASSERT_CODE(store_ping(store, &err), ERR_DATABASE, &err);
    store_free(store);
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup_teardown(fn, create, drop)
    const struct CMUnitTest tests[] = {
        EACH(test_empty_to_full),
        EACH(test_older_is_refused_and_completed),
        EACH(test_newer_is_refused),
        EACH(test_next_release_is_worked_with),
        EACH(test_changed_file_is_refused),
        EACH(test_half_applied),
        EACH(test_statement_that_fails_is_not_half_applied),
        EACH(test_several_at_once),
        EACH(test_crashed_migration_keeps_others_out_for_a_time),
        EACH(test_connection_lost_in_a_statement),
        EACH(test_runtime_account_has_no_more_than_it_needs),
        EACH(test_rights_are_set_back),
        EACH(test_rights_of_the_release_before_are_narrowed),
        EACH(test_database_name_is_no_pattern),
        EACH(test_account_names_refused),
        EACH(test_accounts_of_others_are_refused),
        EACH(test_socket_account),
    };
    return cmocka_run_group_tests(tests, NULL, group_tear_down);
}
