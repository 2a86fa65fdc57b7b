/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db_stmt.h"
#include "store_tx.h"
#include "str.h"
#include "vcenter_store.h"

static const char owner_name[] = "fixture_owner", runtime_name[] = "fixture_runtime";

void fixture_assert_code(int rc, int code, struct err *err, const char *file, int line) {
    const bool is_wrong = rc != code || err->code != code;
    if (is_wrong)
        print_message("%s:%d: %s (%s) instead of %s; remedy: %s; detail: %s\n", file, line, err_slug(rc), err->text,
                      err_slug(code), err->remedy, err->detail);
    if (is_wrong)
        _fail(file, line);
    err_clear(err);
}

static char database_name[32];
static pthread_once_t database_once = PTHREAD_ONCE_INIT;

static void name_database(void) {
    (void)snprintf(database_name, sizeof(database_name), "kaas_test_%d", (int)getpid());
}

const char *fixture_database(void) {
    (void)pthread_once(&database_once, name_database);
    return database_name;
}

struct store_options fixture_options(const char *user, const char *password) {
    const char *socket = getenv("KAAS_TEST_DB_SOCKET");
    if (!socket)
        fail_msg("KAAS_TEST_DB_SOCKET is not set: run this program by tests/unit/store/with-mariadb");
    return (struct store_options){.unix_socket = socket,
                                  .database = fixture_database(),
                                  .user = user,
                                  .password = password,
                                  .connections_max = 6,
                                  .connect_timeout_s = 2,
                                  .call_timeout_s = 15,
                                  .borrow_timeout_ms = 2000};
}

static struct store *open_store(const struct store_options *options) {
    struct store *store = NULL;
    struct err err = {0};
    ASSERT_OK(store_new(options, &store, &err), &err);
    return store;
}

struct store *fixture_admin(void) {
    struct store_options options = fixture_options("root", NULL);
    options.database = NULL;
    options.call_timeout_s = 60;
    return open_store(&options);
}

struct store *fixture_root(void) {
    struct store_options options = fixture_options("root", NULL);
    options.call_timeout_s = 60;
    return open_store(&options);
}

struct store *fixture_owner(void) {
    struct store_options options = fixture_options(owner_name, FIXTURE_PASSWORD);
    options.call_timeout_s = 60;
    return open_store(&options);
}

struct store *fixture_runtime(void) {
    struct store_options options = fixture_options(runtime_name, FIXTURE_PASSWORD);
    return open_store(&options);
}

void fixture_create(void) {
    struct err err = {0};
    const struct store_accounts accounts = {
        .database = fixture_database(),
        .owner = {owner_name, "localhost", FIXTURE_PASSWORD},
        .runtime = {runtime_name, "localhost", FIXTURE_PASSWORD},
    };
    struct store *admin = fixture_admin();
    ASSERT_OK(store_create_accounts(admin, &accounts, &err), &err);
    store_free(admin);
}

void fixture_grant(void) {
    const struct store_runtime runtime = {fixture_database(), runtime_name, "localhost"};
    struct store *owner = fixture_owner();
    struct err err = {0};
    ASSERT_OK(store_grant_runtime(owner, &runtime, &err), &err);
    store_free(owner);
}

void fixture_drop(void) {
    static char sql[80];
    (void)snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s", fixture_database());
    fixture_exec(sql);
}

int fixture_set_up(void **state) {
    struct err err = {0};
    unsigned applied = 0;
    const struct store_migrate_options options = {.schema = store_schema_builtin(), .holder = "fixture"};
    (void)state;
    fixture_create();
    struct store *owner = fixture_owner();
    ASSERT_OK(store_migrate(owner, &options, &applied, &err), &err);
    store_free(owner);
    fixture_grant();
    return 0;
}

int fixture_tear_down(void **state) {
    (void)state;
    fixture_drop();
    store_global_done();
    return 0;
}

int fixture_begin(void **state, struct store **store, struct change_positions *positions) {
    struct err err = {0};
    (void)fixture_set_up(state);
    *store = fixture_runtime();
    ASSERT_OK(change_store_load_positions(*store, positions, &err), &err);
    return 0;
}

int fixture_end(void **state, struct store *store, struct change_positions *positions) {
    change_positions_done(positions);
    store_free(store);
    return fixture_tear_down(state);
}

static int exec_sql(struct db_conn *conn, void *arg, struct err *err) {
    return db_conn_exec(conn, arg, err);
}

void fixture_exec(const char *sql) {
    union {
        const char *in;
        void *out;
    } borrowed = {.in = sql};
    struct err err = {0};
    struct store *admin = strncmp(sql, "DROP DATABASE", 13) ? fixture_root() : fixture_admin();
    ASSERT_OK(store_read(admin, exec_sql, borrowed.out, &err), &err);
    store_free(admin);
}

struct look {
    const char *sql;
    int64_t number;
    char *text;
};

static int read_number(struct db_conn *conn, void *arg, struct err *err) {
    struct look *look = arg;
    return db_query_row(conn, look->sql, DB_ARGS_NONE, DB_INTO(DB_TO(look->number)), "none", err);
}

int64_t fixture_number(const char *sql) {
    struct look look = {.sql = sql};
    struct err err = {0};
    struct store *root = fixture_root();
    ASSERT_OK(store_read(root, read_number, &look, &err), &err);
    store_free(root);
    return look.number;
}

static int read_text(struct db_conn *conn, void *arg, struct err *err) {
    struct look *look = arg;
    return db_query_row(conn, look->sql, DB_ARGS_NONE, DB_INTO(DB_TO(look->text)), "none", err);
}

char *fixture_text(const char *sql) {
    struct look look = {.sql = sql};
    struct err err = {0};
    struct store *root = fixture_root();
    ASSERT_OK(store_read(root, read_text, &look, &err), &err);
    store_free(root);
    return look.text;
}

void fixture_control(const char *command, const char *const *options) {
    char *argv[16] = {getenv("KAAS_TEST_DB_CONTROL"), str_dup(command), getenv("KAAS_TEST_DB_FOLDER")};
    size_t count = 3;
    pid_t pid = 0;
    int status = 0;
    for (; options && *options && count < 15; options++)
        argv[count++] = str_dup(*options);
    assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    free(argv[1]);
    while (count > 3)
        free(argv[--count]);
}

char *fixture_uuid(unsigned n) {
    return str_format("aaaaaaaa-aaaa-4aaa-8aaa-%012u", n);
}

struct cluster *fixture_cluster(unsigned n, const char *name) {
    struct cluster *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    c->id = fixture_uuid(n);
    c->name = name ? str_dup(name) : str_format("cluster-%u", n);
    c->state_source = str_dup("declared");
    c->placement_source = str_dup("declared");
    c->kubernetes_version = str_dup("1.31.2");
    return c;
}

void fixture_insert_vcenter(struct store *store, const char *id) {
    struct vcenter vc = {.id = str_dup(id),
                         .address = str_dup("vc.example.com"),
                         .port = 443,
                         .name = str_dup("vc"),
                         .created_at_ms = FIXTURE_NOW_MS};
    struct err err = {0};
    ASSERT_OK(vcenter_store_insert(store, &vc, NULL, &err), &err);
    vcenter_done(&vc);
}

unsigned fixture_count_changes(struct store *store, struct change_positions *positions, enum change_kind kind) {
    struct change_list list = {0};
    struct err err = {0};
    unsigned count = 0;
    ASSERT_OK(change_store_load(store, positions, &list, &err), &err);
    for (size_t i = 0; i < list.count; i++)
        count += list.items[i].kind == kind;
    change_list_done(&list);
    return count;
}
