/* A database as a whole, for backup and restore. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "database.h"

#include <stdio.h>
#include <string.h>

#include "migrate.h"
#include "store_tx.h"
#include "strbuf.h"

#define STATEMENT_BYTES_MAX 256

static int database_exec(struct db_conn *conn, void *arg, struct err *err) {
    return db_conn_exec(conn, arg, err);
}

/* Names cannot be parameters of a statement, so the alphabet is checked. */
static int database_put_name(struct strbuf *sql, const char *before, const char *name, const char *behind, struct err *err) {
    if (!*name || strlen(name) > 64 || name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
        return err_set(err, ERR_UNPROCESSABLE, "\"%.64s\" is no name of a database or table", name);
    strbuf_addf(sql, "%s `%s`%s", before, name, behind);
    return strbuf_check(sql, "statement", err);
}

static int database_run(struct store *admin, const char *before, const char *name, const char *behind, struct err *err) {
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, STATEMENT_BYTES_MAX);
    int rc = database_put_name(&sql, before, name, behind, err);
    return rc ? rc : store_read(admin, database_exec, sql.data, err);
}

int database_drop(struct store *admin, const char *name, struct err *err) {
    return database_run(admin, "DROP DATABASE IF EXISTS", name, "", err);
}

int database_count_tables(struct store *admin, const char *name, unsigned *tables, struct err *err) {
    int64_t count = 0;
    int rc = store_query_row(admin, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ?",
                             DB_ARGS(db_text(name)), DB_INTO(DB_TO(count)), "no answer", err);
    if (!rc)
        *tables = (unsigned)count;
    return rc;
}

int database_count_rows(struct store *store, const char *table, uint64_t *rows, struct err *err) {
    _cleanup_strbuf_ struct strbuf sql;
    uint64_t count = 0;
    strbuf_init(&sql, STATEMENT_BYTES_MAX);
    int rc = database_put_name(&sql, "SELECT COUNT(*) FROM", table, "", err);
    rc = rc ? rc : store_query_row(store, sql.data, DB_ARGS_NONE, DB_INTO(DB_TO(count)), "no answer", err);
    if (!rc)
        *rows = count;
    return rc;
}

int database_count(struct store *store, struct database_counts *out, struct err *err) {
    struct database_counts counts = {0};
    int rc = store_query_row(
        store,
        "SELECT (SELECT COUNT(*) FROM clusters), (SELECT COUNT(*) FROM vcenters), (SELECT COUNT(*) FROM users),"
        " (SELECT COUNT(*) FROM audit)",
        DB_ARGS_NONE, DB_INTO(DB_TO(counts.clusters), DB_TO(counts.vcenters), DB_TO(counts.users), DB_TO(counts.audit_lines)),
        "no answer", err);
    if (!rc)
        *out = counts;
    return rc;
}

int database_load_schema(struct store *store, struct database_schema *out, struct err *err) {
    struct database_schema schema = {.release = 0};
    struct schema_rows rows = {0};
    int rc = schema_rows_load(store, &rows, err);
    for (size_t i = 0; i < rows.count && !rc; i++) {
        (void)snprintf(schema.file, sizeof(schema.file), "%s", rows.items[i].file);
        if (rows.items[i].release > schema.release)
            schema.release = rows.items[i].release;
    }
    if (!rc && !rows.count) {
        (void)err_set(err, ERR_SCHEMA, "the database has no schema yet");
        rc = err_remedy(err, "run: kaasctl init");
    }
    schema_rows_done(&rows);
    if (!rc)
        *out = schema;
    return rc;
}

int database_load_server(struct store *store, char version[DATABASE_SERVER_BYTES], struct err *err) {
    char text[DATABASE_SERVER_BYTES] = "";
    int rc = store_query_row(store, "SELECT LEFT(VERSION(), 100)", DB_ARGS_NONE, DB_INTO(DB_TO(text)), "no answer", err);
    if (!rc)
        memcpy(version, text, sizeof(text));
    return rc;
}

int database_end_sessions(struct store *store, uint64_t *ended, struct err *err) {
    return store_run(store, "DELETE FROM sessions", DB_ARGS_NONE, ended, err);
}
