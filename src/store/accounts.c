/* Database and accounts with least privileges. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Account statements cannot be prepared, so texts are built here: names from a small alphabet only, passwords escaped by the
 * client library. */
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

static int check_word(const char *word, const char *alphabet, size_t max, const char *what, struct err *err) {
    if (!str_empty(word) && strlen(word) <= max && word[strspn(word, alphabet)] == '\0')
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "%s \"%s\" must be 1 to %zu characters out of letters, digits and %s", what,
                   word ? word : "", max, alphabet + strlen(LETTERS_DIGITS));
}

static int check_account(const struct store_account *account, struct err *err) {
    int rc = check_word(account->name, LETTERS_DIGITS "_-", 32, "the account name", err);
    if (!rc)
        rc = check_word(account->host, LETTERS_DIGITS ".:%_-/", 60, "the account's host", err);
    if (rc || account->password)
        return rc;
    if (strcmp(account->host, "localhost"))
        return err_set(err, ERR_UNPROCESSABLE, "the account %s needs a password: socket authentication works on localhost only",
                       account->name);
    return 0;
}

static int check(const struct store_accounts *accounts, struct err *err) {
    int rc = check_word(accounts->database, LETTERS_DIGITS "_", 64, "the database name", err);
    rc = rc ? rc : check_account(&accounts->owner, err);
    rc = rc ? rc : check_account(&accounts->runtime, err);
    if (!rc && str_eq(accounts->owner.name, accounts->runtime.name))
        return err_set(err, ERR_UNPROCESSABLE, "owner and runtime account must differ");
    return rc;
}

static int run(struct db_conn *conn, struct strbuf *sql, struct err *err) {
    struct err why = {0};
    int rc = strbuf_check(sql, "an account statement", &why);
    rc = rc ? rc : db_conn_exec(conn, sql->data, &why);
    strbuf_reset(sql);
    why.detail[0] = '\0'; /* the server's message may quote the statement, and with it the password */
    err_detail(&why, "error %u", conn->last_errno);
    if (rc && err && !err->code)
        *err = why;
    return rc;
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

/* Makes the account or sets its password, then takes away all rights, so that exactly those that follow remain. */
static int set_account(struct db_conn *conn, const struct store_account *account, struct strbuf *sql, struct err *err) {
    strbuf_addf(sql, "CREATE USER IF NOT EXISTS `%s`@`%s`", account->name, account->host);
    int rc = add_identity(conn, account, sql, err);
    rc = rc ? rc : run(conn, sql, err);
    strbuf_addf(sql, "ALTER USER `%s`@`%s`", account->name, account->host);
    rc = rc ? rc : add_identity(conn, account, sql, err);
    rc = rc ? rc : run(conn, sql, err);
    strbuf_addf(sql, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM `%s`@`%s`", account->name, account->host);
    return rc ? rc : run(conn, sql, err);
}

/* In the name of a database, _ and % are wildcards of GRANT. */
static void add_pattern(struct strbuf *sql, const char *database) {
    for (const char *c = database; *c; c++) {
        if (*c == '_')
            strbuf_addc(sql, '\\');
        strbuf_addc(sql, *c);
    }
}

static int grant(struct db_conn *conn, const char *rights, const struct store_accounts *accounts, const struct store_account *to,
                 struct err *err) {
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init_secret(&sql, STATEMENT_BYTES_MAX);
    int rc = set_account(conn, to, &sql, err);
    if (rc)
        return rc;
    strbuf_addf(&sql, "GRANT %s ON `", rights);
    add_pattern(&sql, accounts->database);
    strbuf_addf(&sql, "`.* TO `%s`@`%s`", to->name, to->host);
    return run(conn, &sql, err);
}

static int create(struct db_conn *conn, void *arg, struct err *err) {
    const struct store_accounts *accounts = arg;
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, STATEMENT_BYTES_MAX);
    strbuf_addf(&sql, "CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", accounts->database);
    int rc = run(conn, &sql, err);
    rc = rc ? rc : grant(conn, "ALL PRIVILEGES", accounts, &accounts->owner, err);
    return rc ? rc : grant(conn, "SELECT, INSERT, UPDATE, DELETE", accounts, &accounts->runtime, err);
}

int store_create_accounts(struct store *admin, const struct store_accounts *accounts, struct err *err) {
    struct store_accounts copy = *accounts;
    int rc = check(accounts, err);
    return rc ? rc : store_read(admin, create, &copy, err);
}
