/* Database and accounts with least privileges. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Account statements cannot be prepared, so texts are built here: names from a small alphabet only, passwords escaped by the
 * client library. */
#include <mysqld_error.h>
#include <stdlib.h>
#include <string.h>

#include "db_stmt.h"
#include "limits.h"
#include "secret.h"
#include "store_schema.h"
#include "store_tx.h"
#include "str.h"
#include "strbuf.h"

#define STATEMENT_BYTES_MAX 4096
#define LETTERS_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static int account_check_word(const char *word, const char *alphabet, size_t max, const char *what, struct err *err) {
    if (!str_empty(word) && strlen(word) <= max && word[strspn(word, alphabet)] == '\0')
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "%s \"%s\" must be 1 to %zu characters out of letters, digits and %s", what,
                   word ? word : "", max, alphabet + strlen(LETTERS_DIGITS));
}

static int check_account(const struct store_account *account, struct err *err) {
    int rc = account_check_word(account->name, LETTERS_DIGITS "_-", 32, "the account name", err);
    if (!rc)
        rc = account_check_word(account->host, LETTERS_DIGITS ".:%_-/", 60, "the account's host", err);
    if (rc || account->password)
        return rc;
    if (strcmp(account->host, "localhost"))
        return err_set(err, ERR_UNPROCESSABLE, "the account %s needs a password: socket authentication works on localhost only",
                       account->name);
    return 0;
}

static int account_check(const struct store_accounts *accounts, struct err *err) {
    int rc = account_check_word(accounts->database, LETTERS_DIGITS "_", 64, "the database name", err);
    rc = rc ? rc : check_account(&accounts->owner, err);
    if (!accounts->runtime.name)
        return rc;
    rc = rc ? rc : check_account(&accounts->runtime, err);
    if (!rc && str_eq(accounts->owner.name, accounts->runtime.name))
        return err_set(err, ERR_UNPROCESSABLE, "owner and runtime account must differ");
    return rc;
}

static int account_run(struct db_conn *conn, struct strbuf *sql, struct err *err) {
    struct err why = {0};
    int rc = strbuf_check(sql, "an account statement", &why);
    rc = rc ? rc : db_conn_exec(conn, sql->data, &why);
    strbuf_reset(sql);
    why.detail[0] = '\0'; /* the server's message may quote the statement, and with it the password */
    err_detail(&why, "error %u", conn->last_errno);
    return err_move(err, rc, &why);
}

/* How the account proves itself; from another host by TLS only. */
static int add_identity(struct db_conn *conn, const struct store_account *account, struct strbuf *sql, struct err *err) {
    if (!account->password) {
        strbuf_adds(sql, " IDENTIFIED VIA unix_socket");
        return 0;
    }
    _cleanup_secret_ char *quoted = db_conn_quote(conn, account->password);
    if (!quoted)
        return err_set(err, ERR_NOMEM, "out of memory");
    strbuf_adds(sql, " IDENTIFIED BY ");
    strbuf_adds(sql, quoted);
    strbuf_adds(sql, str_eq(account->host, "localhost") ? " REQUIRE NONE" : " REQUIRE SSL");
    return 0;
}

/* Makes the account or sets its password. */
static int set_account(struct db_conn *conn, const struct store_account *account, struct strbuf *sql, struct err *err) {
    strbuf_addf(sql, "CREATE USER IF NOT EXISTS `%s`@`%s`", account->name, account->host);
    int rc = add_identity(conn, account, sql, err);
    rc = rc ? rc : account_run(conn, sql, err);
    strbuf_addf(sql, "ALTER USER `%s`@`%s`", account->name, account->host);
    rc = rc ? rc : add_identity(conn, account, sql, err);
    return rc ? rc : account_run(conn, sql, err);
}

/* In the name of a database, _ and % are wildcards of GRANT; not where a table is named behind it. */
static void add_pattern(struct strbuf *sql, const char *database) {
    for (const char *c = database; *c; c++) {
        if (*c == '_')
            strbuf_addc(sql, '\\');
        strbuf_addc(sql, *c);
    }
}

/* -- the rights of the runtime account ---------------------------------------------------------------------------------------- */

#define ALL_ROWS "SELECT, INSERT, UPDATE, DELETE"

/* Tables of which kaasd needs less: what it gets, and what it must not have. */
static const struct narrow_right {
    const char *table, *rights, *denied;
} narrow_rights[] = {
    {"audit", "SELECT, INSERT, DELETE", "UPDATE"}, /* DELETE: lines go by age */
    {"audit_keys", "SELECT, INSERT, UPDATE", "DELETE"}, {"change_log", "SELECT, INSERT, DELETE", "UPDATE"},
    {"replicas", "SELECT, INSERT, UPDATE", "DELETE"},   {"schema_migrations", "SELECT", "INSERT, UPDATE, DELETE"},
};

struct table_names {
    char (*items)[65];
    size_t count;
};

static int add_table(const struct db_row *row, void *arg, struct err *err) {
    struct table_names *tables = arg;
    char(*item)[65] = db_list_add(&tables->items, &tables->count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    db_row_copy(row, 0, *item, sizeof(*item));
    return 0;
}

static int account_grant_table(struct db_conn *conn, const struct store_runtime *to, const char *table, struct strbuf *sql,
                               struct err *err) {
    const struct narrow_right *narrow = NULL;
    for (size_t i = 0; i < sizeof(narrow_rights) / sizeof(narrow_rights[0]); i++)
        if (!strcmp(narrow_rights[i].table, table))
            narrow = &narrow_rights[i];
    strbuf_addf(sql, "GRANT %s ON `%s`.`%s` TO `%s`@`%s`", narrow ? narrow->rights : ALL_ROWS, to->database, table, to->name,
                to->host);
    int rc = account_run(conn, sql, err);
    if (rc || !narrow)
        return rc;
    strbuf_addf(sql, "REVOKE %s ON `%s`.`%s` FROM `%s`@`%s`", narrow->denied, to->database, table, to->name, to->host);
    return account_run(conn, sql, err);
}

/* What releases before gave on the whole database. */
static int revoke_wide(struct db_conn *conn, const struct store_runtime *from, struct strbuf *sql, struct err *err) {
    struct err why = {0};
    strbuf_adds(sql, "REVOKE ALL PRIVILEGES ON `");
    add_pattern(sql, from->database);
    strbuf_addf(sql, "`.* FROM `%s`@`%s`", from->name, from->host);
    int rc = account_run(conn, sql, &why);
    if (rc && conn->last_errno == ER_NONEXISTING_GRANT)
        return 0;
    return err_move(err, rc, &why);
}

/* First what is to remain, so that a daemon that runs lacks nothing for a moment. */
static int grant_tables(struct db_conn *conn, const struct store_runtime *to, struct err *err) {
    struct table_names tables = {0};
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, STATEMENT_BYTES_MAX);
    int rc = db_query(conn,
                      "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
                      " AND table_type = 'BASE TABLE' AND table_name REGEXP '^[a-z0-9_]+$'",
                      DB_ARGS(db_text(to->database)), "t", add_table, &tables, err);
    for (size_t i = 0; i < tables.count && !rc; i++)
        rc = account_grant_table(conn, to, tables.items[i], &sql, err);
    free(tables.items);
    return rc ? rc : revoke_wide(conn, to, &sql, err);
}

static int check_runtime(const struct store_runtime *runtime, struct err *err) {
    const struct store_account account = {runtime->name, runtime->host, ""};
    int rc = account_check_word(runtime->database, LETTERS_DIGITS "_", 64, "the database name", err);
    return rc ? rc : check_account(&account, err);
}

static int grant_runtime(struct db_conn *conn, void *arg, struct err *err) {
    return grant_tables(conn, arg, err);
}

int store_grant_runtime(struct store *store, const struct store_runtime *runtime, struct err *err) {
    struct store_runtime copy = *runtime;
    int rc = check_runtime(runtime, err);
    return rc ? rc : store_read(store, grant_runtime, &copy, err);
}

int store_lookup_host(struct store *store, char host[STORE_HOST_BYTES], struct err *err) {
    char read[STORE_HOST_BYTES] = "";
    int rc = store_query_row(store, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', -1)", DB_ARGS_NONE, DB_INTO(DB_TO(read)),
                             "no answer", err);
    if (!rc)
        memcpy(host, read, sizeof(read));
    return rc;
}

/* -- accounts of others ------------------------------------------------------------------------------------------------------- */

/* Of the server itself. The third, mariadb.sys, has a dot in its name, which is refused before. */
static bool is_reserved(const char *name) {
    return str_eq(name, "root") || str_eq(name, "mysql");
}

/* Skips the database with a dot and quotes, as SHOW GRANTS writes it: _ and % behind a backslash. NULL: it is another one. */
static const char *skip_database(const char *at, const char *database) {
    if (*at++ != '`')
        return NULL;
    for (; *database; database++) {
        at += *at == '\\';
        if (*at++ != *database)
            return NULL;
    }
    return str_starts(at, "`.") ? at : NULL;
}

/* Whether a line of SHOW GRANTS gives rights on this database, or none; what is not understood gives others. */
static bool is_right_of(const char *line, const char *database) {
    static const char grant[] = "GRANT ", none[] = "GRANT USAGE ON *.* ";
    if (!str_starts(line, grant) || str_starts(line, none))
        return str_starts(line, none) && !strstr(line, " WITH GRANT OPTION");
    line += sizeof(grant) - 1;
    line += strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ, "); /* up to the database, its rights have no other signs */
    return skip_database(line, database) != NULL;
}

struct account_look {
    const char *database;
    bool has_others;
};

static int look_at_right(const struct db_row *row, void *arg, struct err *err) {
    struct account_look *look = arg;
    const char *line = db_row_text(row, 0);
    (void)err;
    look->has_others = look->has_others || !line || !is_right_of(line, look->database);
    return 0;
}

/* What exists with rights elsewhere is not made ours, which would be to give it another password. */
static int check_owner_of(struct db_conn *conn, const struct store_account *account, const char *database, struct err *err) {
    struct account_look look = {.database = database};
    _cleanup_strbuf_ struct strbuf sql;
    struct err why = {0};
    strbuf_init(&sql, STATEMENT_BYTES_MAX);
    strbuf_addf(&sql, "SHOW GRANTS FOR `%s`@`%s`", account->name, account->host);
    int rc = strbuf_check(&sql, "an account statement", err);
    if (rc)
        return rc;
    rc = is_reserved(account->name) ? 0 : db_query(conn, sql.data, DB_ARGS_NONE, "t", look_at_right, &look, &why);
    if (rc && conn->last_errno == ER_NONEXISTING_GRANT)
        return 0;
    if (rc)
        return err_move(err, rc, &why);
    if (!look.has_others && !is_reserved(account->name))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "the account `%s`@`%s` of the database is there already, and not for the database %s alone",
                  account->name, account->host, database);
    return err_remedy(
        err,
        "if it is another's, choose other names by database.user and database.owner_user; if it is kaasd's, take its rights on "
        "other databases away: SHOW GRANTS FOR `%s`@`%s`, then REVOKE",
        account->name, account->host);
}

static int check_owners(struct db_conn *conn, void *arg, struct err *err) {
    const struct store_accounts *accounts = arg;
    int rc = check_owner_of(conn, &accounts->owner, accounts->database, err);
    return rc || !accounts->runtime.name ? rc : check_owner_of(conn, &accounts->runtime, accounts->database, err);
}

int store_check_accounts(struct store *admin, const struct store_accounts *accounts, struct err *err) {
    struct store_accounts copy = *accounts;
    int rc = account_check(accounts, err);
    return rc ? rc : store_read(admin, check_owners, &copy, err);
}

/* -- both accounts -------------------------------------------------------------------------------------------------------------- */

static int make_owner(struct db_conn *conn, const struct store_accounts *accounts, struct err *err) {
    const struct store_account *owner = &accounts->owner;
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init_secret(&sql, STATEMENT_BYTES_MAX);
    int rc = set_account(conn, owner, &sql, err);
    strbuf_addf(&sql, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM `%s`@`%s`", owner->name, owner->host);
    rc = rc ? rc : account_run(conn, &sql, err);
    strbuf_adds(&sql, "GRANT ALL PRIVILEGES ON `");
    add_pattern(&sql, accounts->database);
    strbuf_addf(&sql, "`.* TO `%s`@`%s` WITH GRANT OPTION", owner->name, owner->host);
    return rc ? rc : account_run(conn, &sql, err);
}

static int make_runtime(struct db_conn *conn, const struct store_accounts *accounts, struct err *err) {
    const struct store_account *runtime = &accounts->runtime;
    const struct store_runtime to = {accounts->database, runtime->name, runtime->host};
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init_secret(&sql, STATEMENT_BYTES_MAX);
    int rc = set_account(conn, runtime, &sql, err);
    return rc ? rc : grant_tables(conn, &to, err);
}

static int store_accounts_create(struct db_conn *conn, void *arg, struct err *err) {
    const struct store_accounts *accounts = arg;
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, STATEMENT_BYTES_MAX);
    strbuf_addf(&sql, "CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", accounts->database);
    int rc = account_run(conn, &sql, err);
    rc = rc ? rc : make_owner(conn, accounts, err);
    return rc || !accounts->runtime.name ? rc : make_runtime(conn, accounts, err);
}

int store_create_accounts(struct store *admin, const struct store_accounts *accounts, struct err *err) {
    struct store_accounts copy = *accounts;
    int rc = store_check_accounts(admin, accounts, err);
    return rc ? rc : store_read(admin, store_accounts_create, &copy, err);
}

/* The accounts first: kaasd can make no connection any more that would find the database gone. */
static int store_accounts_drop(struct db_conn *conn, void *arg, struct err *err) {
    const struct store_accounts *accounts = arg;
    const struct store_account *both[] = {&accounts->runtime, &accounts->owner};
    _cleanup_strbuf_ struct strbuf sql;
    int rc = 0;
    strbuf_init(&sql, STATEMENT_BYTES_MAX);
    for (size_t i = 0; !rc && i < sizeof(both) / sizeof(both[0]); i++) {
        if (!both[i]->name)
            continue;
        strbuf_addf(&sql, "DROP USER IF EXISTS `%s`@`%s`", both[i]->name, both[i]->host);
        rc = account_run(conn, &sql, err);
    }
    strbuf_addf(&sql, "DROP DATABASE IF EXISTS `%s`", accounts->database);
    return rc ? rc : account_run(conn, &sql, err);
}

int store_drop_accounts(struct store *admin, const struct store_accounts *accounts, struct err *err) {
    struct store_accounts copy = *accounts;
    int rc = account_check(accounts, err);
    return rc ? rc : store_read(admin, store_accounts_drop, &copy, err);
}
