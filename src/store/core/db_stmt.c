/* Prepared statements over Connector/C. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_stmt.h"

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "strbuf.h"

#define COLUMN_FIRST_BYTES 256

struct db_row {
    size_t count;
    MYSQL_BIND binds[DB_COLUMNS_MAX];
    unsigned long lengths[DB_COLUMNS_MAX];
    my_bool nulls[DB_COLUMNS_MAX], cuts[DB_COLUMNS_MAX];
    int64_t numbers[DB_COLUMNS_MAX];
    struct strbuf texts[DB_COLUMNS_MAX];
    size_t rooms[DB_COLUMNS_MAX]; /* bytes that fit into texts[] without NUL */
    int failed;                   /* of a copy: 0 or an ERR_* code */
};

struct db_arg db_text(const char *text) {
    if (!text)
        return (struct db_arg){.kind = DB_KIND_NULL};
    return (struct db_arg){.kind = DB_KIND_TEXT, .data = text, .bytes = strlen(text)};
}

struct db_arg db_bytes(const void *data, size_t bytes) {
    return (struct db_arg){.kind = data ? DB_KIND_BYTES : DB_KIND_NULL, .data = data, .bytes = bytes};
}

struct db_arg db_number(int64_t number) {
    return (struct db_arg){.kind = DB_KIND_NUMBER, .number = number};
}

static int fail_from_stmt(struct db_conn *conn, MYSQL_STMT *stmt, struct err *err) {
    /* Connector/C 3.3 leaves the statement's number at 0 when a row cannot be read: the connection has it */
    if (!mysql_stmt_errno(stmt))
        return db_conn_fail(conn, mysql_errno(conn->mysql) ? mysql_errno(conn->mysql) : CR_SERVER_LOST, mysql_error(conn->mysql),
                            err);
    return db_conn_fail(conn, mysql_stmt_errno(stmt), mysql_stmt_error(stmt), err);
}

static struct db_cached *find_cached(struct db_conn *conn, const char *sql) {
    const size_t bytes = strlen(sql);
    for (size_t i = 0; i < conn->cached_count; i++)
        if (conn->cached[i].bytes == bytes && !memcmp(conn->cached[i].sql, sql, bytes))
            return &conn->cached[i];
    return NULL;
}

static int get_statement(struct db_conn *conn, const char *sql, const struct db_cached **out, struct err *err) {
    struct db_cached *cached = find_cached(conn, sql);
    if (cached) {
        *out = cached;
        return 0;
    }
    _cleanup_free_ char *copy = str_dup(sql);
    MYSQL_STMT *stmt = copy ? mysql_stmt_init(conn->mysql) : NULL;
    int rc = stmt ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && mysql_stmt_prepare(stmt, sql, strlen(sql)))
        rc = fail_from_stmt(conn, stmt, err);
    if (!rc) {
        cached = db_list_add(&conn->cached, &conn->cached_count, sizeof(*cached), err);
        rc = cached ? 0 : ERR_NOMEM;
    }
    if (rc) {
        if (stmt)
            mysql_stmt_close(stmt);
        return rc;
    }
    *cached = (struct db_cached){STEAL(copy), strlen(sql), stmt};
    *out = cached;
    return 0;
}

static void forget_statement(struct db_conn *conn, const char *sql) {
    struct db_cached *cached = find_cached(conn, sql);
    if (!cached)
        return;
    mysql_stmt_close(cached->stmt);
    free(cached->sql);
    /* the slot stays with a text that is never asked for: the array must not shrink (db_list_add) */
    *cached = (struct db_cached){NULL, 0, NULL};
}

static void bind_arg(MYSQL_BIND *bind, const struct db_arg *arg) {
    /* Connector/C does not write through argument buffers; its interface has no const */
    union {
        const void *in;
        void *out;
    } data = {.in = arg->data}, number = {.in = &arg->number};
    switch (arg->kind) {
    case DB_KIND_TEXT:
    case DB_KIND_BYTES:
        bind->buffer_type = arg->kind == DB_KIND_TEXT ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB;
        bind->buffer = data.out;
        bind->buffer_length = arg->bytes;
        break;
    case DB_KIND_NUMBER:
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        bind->buffer = number.out;
        break;
    case DB_KIND_NULL: bind->buffer_type = MYSQL_TYPE_NULL; break;
    }
}

static int bind_args(struct db_conn *conn, MYSQL_STMT *stmt, struct db_args args, struct err *err) {
    if (args.count > DB_ARGS_MAX || mysql_stmt_param_count(stmt) != args.count)
        return err_set(err, ERR_INTERNAL, "internal error: %zu arguments for a statement that takes %lu", args.count,
                       mysql_stmt_param_count(stmt));
    /* as many as there are: an array for DB_ARGS_MAX has 23 KB, which the compiler would zero for each statement */
    _cleanup_free_ MYSQL_BIND *binds = calloc(args.count + 1, sizeof(*binds));
    if (!binds)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < args.count; i++)
        bind_arg(&binds[i], &args.items[i]);
    if (args.count && mysql_stmt_bind_param(stmt, binds))
        return fail_from_stmt(conn, stmt, err);
    return 0;
}

static int execute_once(struct db_conn *conn, const char *sql, struct db_args args, MYSQL_STMT **out, struct err *err) {
    const struct db_cached *cached = NULL;
    int rc = get_statement(conn, sql, &cached, err);
    if (!rc)
        rc = bind_args(conn, cached->stmt, args, err);
    if (rc)
        return rc;
    conn->last_sql = cached->sql;
    if (mysql_stmt_execute(cached->stmt))
        return fail_from_stmt(conn, cached->stmt, err);
    *out = cached->stmt;
    return 0;
}

static int db_stmt_execute(struct db_conn *conn, const char *sql, struct db_args args, MYSQL_STMT **out, struct err *err) {
    struct err first = {0};
    db_conn_begin(conn);
    int rc = execute_once(conn, sql, args, out, &first);
    /* the server forgets statements when a proxy or an administrator resets the session: prepare again */
    if (conn->last_errno == ER_UNKNOWN_STMT_HANDLER || conn->last_errno == ER_NEED_REPREPARE) {
        forget_statement(conn, sql);
        db_conn_begin(conn);
        return execute_once(conn, sql, args, out, err);
    }
    return err_move(err, rc, &first);
}

int db_run(struct db_conn *conn, const char *sql, struct db_args args, uint64_t *affected, struct err *err) {
    MYSQL_STMT *stmt = NULL;
    int rc = db_stmt_execute(conn, sql, args, &stmt, err);
    if (rc)
        return rc;
    db_conn_heard(conn, false);
    if (affected)
        *affected = mysql_stmt_affected_rows(stmt);
    return 0;
}

int db_run_one(struct db_conn *conn, const char *sql, struct db_args args, const char *what, struct err *err) {
    uint64_t met = 0;
    int rc = db_run(conn, sql, args, &met, err);
    if (rc)
        return rc;
    return met ? 0 : err_set(err, ERR_NOT_FOUND, "%s", what);
}

uint64_t db_last_value(struct db_conn *conn, const char *sql) {
    struct db_cached *cached = find_cached(conn, sql);
    return cached ? mysql_stmt_insert_id(cached->stmt) : 0;
}

static void bind_column(struct db_row *row, size_t i, char letter) {
    MYSQL_BIND *bind = &row->binds[i];
    bind->is_null = &row->nulls[i];
    bind->length = &row->lengths[i];
    bind->error = &row->cuts[i];
    if (letter == 'i') {
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        bind->buffer = &row->numbers[i];
        return;
    }
    bind->buffer_type = letter == 't' ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB;
    bind->buffer = row->texts[i].data;
    bind->buffer_length = row->rooms[i];
}

static int stmt_make_room(struct db_row *row, size_t i, size_t bytes, struct err *err) {
    strbuf_reserve(&row->texts[i], bytes);
    int rc = strbuf_check(&row->texts[i], "a value in the database", err);
    if (rc)
        return rc;
    row->rooms[i] = bytes;
    row->binds[i].buffer = row->texts[i].data;
    row->binds[i].buffer_length = bytes;
    return 0;
}

static int db_stmt_init_row(struct db_row *row, const char *columns, struct err *err) {
    row->count = strlen(columns);
    if (row->count > DB_COLUMNS_MAX)
        return err_set(err, ERR_INTERNAL, "internal error: %zu columns", row->count);
    for (size_t i = 0; i < row->count; i++) {
        strbuf_init_secret(&row->texts[i], DB_VALUE_BYTES_MAX);
        int rc = columns[i] == 'i' ? 0 : stmt_make_room(row, i, COLUMN_FIRST_BYTES, err);
        if (rc)
            return rc;
        bind_column(row, i, columns[i]);
    }
    return 0;
}

static void db_stmt_free_row(struct db_row *row) {
    if (!row)
        return;
    for (size_t i = 0; i < row->count && i < DB_COLUMNS_MAX; i++)
        strbuf_done(&row->texts[i]);
    free(row);
}
CLEANUP_DEFINE(struct db_row, db_stmt_free_row);

/* Fetches again what did not fit, and closes each text with NUL. *is_moved: the texts have other places than those that are bound. */
static int db_stmt_complete_row(struct db_conn *conn, MYSQL_STMT *stmt, struct db_row *row, bool *is_moved, struct err *err) {
    *is_moved = false;
    for (size_t i = 0; i < row->count; i++) {
        if (row->binds[i].buffer_type == MYSQL_TYPE_LONGLONG || row->nulls[i])
            continue;
        if (row->lengths[i] > row->rooms[i]) {
            int rc = stmt_make_room(row, i, row->lengths[i], err);
            if (rc)
                return rc;
            if (mysql_stmt_fetch_column(stmt, &row->binds[i], (unsigned)i, 0))
                return fail_from_stmt(conn, stmt, err);
            *is_moved = true;
        }
        row->texts[i].data[row->lengths[i]] = '\0';
    }
    return 0;
}

/* Who gets the rows. */
struct taker {
    db_row_fn *fn;
    void *arg;
};

static int db_stmt_give_row(const struct taker *taker, const struct db_row *row, struct err *err) {
    int rc = taker->fn(row, taker->arg, err);
    if (!rc && row->failed == ERR_NOMEM)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && row->failed)
        return err_set(err, row->failed, "internal error: a value in the database is longer than it may be");
    return rc;
}

static int fetch_rows(struct db_conn *conn, MYSQL_STMT *stmt, const struct taker *taker, struct db_row *row, struct err *err) {
    for (;;) {
        int got = mysql_stmt_fetch(stmt);
        if (got == MYSQL_NO_DATA)
            return 0;
        if (got && got != MYSQL_DATA_TRUNCATED)
            return fail_from_stmt(conn, stmt, err);
        db_conn_heard(conn, true);
        bool is_moved;
        int rc = db_stmt_complete_row(conn, stmt, row, &is_moved, err);
        if (!rc)
            rc = db_stmt_give_row(taker, row, err);
        /* after the row is given: Connector/C 3.3.19 sets its lengths to 0 */
        if (!rc && is_moved && mysql_stmt_bind_result(stmt, row->binds))
            rc = fail_from_stmt(conn, stmt, err);
        if (rc)
            return rc;
    }
}

int db_query(struct db_conn *conn, const char *sql, struct db_args args, const char *columns, db_row_fn *fn, void *arg,
             struct err *err) {
    _cleanup_(db_stmt_free_row) struct db_row *row = calloc(1, sizeof(*row));
    MYSQL_STMT *stmt = NULL;
    if (!row)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = db_stmt_init_row(row, columns, err);
    if (!rc)
        rc = db_stmt_execute(conn, sql, args, &stmt, err);
    if (rc)
        return rc;
    if (mysql_stmt_field_count(stmt) != row->count)
        rc = err_set(err, ERR_INTERNAL, "internal error: %zu columns wanted, %u there", row->count, mysql_stmt_field_count(stmt));
    else if (mysql_stmt_bind_result(stmt, row->binds))
        rc = fail_from_stmt(conn, stmt, err);
    else
        rc = fetch_rows(conn, stmt, &(struct taker){fn, arg}, row, err);
    mysql_stmt_free_result(stmt); /* also reads what is left when a row function stopped early */
    if (!conn->is_broken)
        db_conn_heard(conn, false);
    return rc;
}

const char *db_row_text(const struct db_row *row, size_t column) {
    return row->nulls[column] ? NULL : row->texts[column].data;
}

char *db_row_lend(const struct db_row *row, size_t column) {
    return row->nulls[column] ? NULL : row->texts[column].data;
}

const void *db_row_bytes(const struct db_row *row, size_t column, size_t *bytes) {
    *bytes = row->nulls[column] ? 0 : row->lengths[column];
    return db_row_text(row, column);
}

int64_t db_row_number(const struct db_row *row, size_t column) {
    return row->nulls[column] ? 0 : row->numbers[column];
}

/* The failure flag is the one part of a row that its reader may set. */
static void *db_stmt_row_failed(const struct db_row *row, int code) {
    union {
        const struct db_row *in;
        struct db_row *out;
    } writable = {.in = row};
    if (!row->failed)
        writable.out->failed = code;
    return NULL;
}

uint8_t *db_row_dup_bytes(const struct db_row *row, size_t column, size_t *bytes) {
    const void *value = db_row_bytes(row, column, bytes);
    if (!value)
        return NULL;
    uint8_t *copy = malloc(*bytes + 1);
    if (!copy)
        return db_stmt_row_failed(row, ERR_NOMEM);
    memcpy(copy, value, *bytes + 1); /* with the closing NUL */
    return copy;
}

char *db_row_dup(const struct db_row *row, size_t column) {
    size_t bytes = 0;
    return (char *)db_row_dup_bytes(row, column, &bytes);
}

void db_row_copy(const struct db_row *row, size_t column, char *out, size_t size) {
    size_t bytes = 0;
    const void *value = db_row_bytes(row, column, &bytes);
    out[0] = '\0';
    if (bytes >= size) {
        db_stmt_row_failed(row, ERR_INTERNAL);
        return;
    }
    if (value)
        memcpy(out, value, bytes + 1);
}

struct row_call {
    struct db_into into;
    size_t rows;
};

static int db_stmt_take_row(const struct db_row *row, void *arg, struct err *err) {
    struct row_call *call = arg;
    (void)err;
    call->rows++;
    for (size_t i = 0; i < call->into.count; i++) {
        const struct db_to *to = &call->into.items[i];
        const void *value = db_row_text(row, i);
        switch (to->kind) {
        case DB_GETS_LONG: *(int64_t *)to->at = db_row_number(row, i); break;
        case DB_GETS_UNSIGNED: *(unsigned *)to->at = (unsigned)db_row_number(row, i); break;
        case DB_GETS_BOOL: *(bool *)to->at = db_row_number(row, i) != 0; break;
        case DB_GETS_CHARS: db_row_copy(row, i, to->at, to->size); break;
        case DB_GETS_TEXT:
            free(*(char **)to->at);
            *(char **)to->at = db_row_dup(row, i);
            break;
        case DB_GETS_BYTES:
            *to->bytes = value ? row->lengths[i] : DB_NULL;
            if (value && row->lengths[i] <= to->size)
                memcpy(to->at, value, row->lengths[i]);
            break;
        }
    }
    return 0;
}

int db_query_row(struct db_conn *conn, const char *sql, struct db_args args, struct db_into into, const char *what,
                 struct err *err) {
    static const char letters[] = {[DB_GETS_LONG] = 'i',  [DB_GETS_UNSIGNED] = 'i', [DB_GETS_BOOL] = 'i',
                                   [DB_GETS_CHARS] = 't', [DB_GETS_TEXT] = 't',     [DB_GETS_BYTES] = 'b'};
    struct row_call call = {into, 0};
    char columns[DB_COLUMNS_MAX + 1] = "";
    for (size_t i = 0; i < into.count && i < DB_COLUMNS_MAX; i++)
        columns[i] = letters[into.items[i].kind];
    int rc = db_query(conn, sql, args, columns, db_stmt_take_row, &call, err);
    return rc || call.rows || !what ? rc : err_set(err, ERR_NOT_FOUND, "%s", what);
}

int db_query_number(struct db_conn *conn, const char *sql, struct db_args args, int64_t *out, struct err *err) {
    return db_query_row(conn, sql, args, DB_INTO(DB_TO(*out)), NULL, err);
}

int db_explain(int rc, int code, struct err *err, const char *fmt, ...) {
    struct err better = {.code = code, .file = __FILE__, .line = __LINE__};
    va_list args;
    if (rc != code || !err || err->code != code)
        return rc;
    va_start(args, fmt);
    (void)vsnprintf(better.text, sizeof(better.text), fmt, args);
    va_end(args);
    memcpy(better.detail, err->detail, sizeof(better.detail));
    better.file = err->file;
    better.line = err->line;
    *err = better;
    return rc;
}

void *db_list_add(void *list, size_t *count, size_t item_bytes, struct err *err) {
    char *items;
    memcpy(&items, list, sizeof(items)); /* the pointer is one to some struct: not to be read as another */
    if (!(*count & (*count - 1))) {      /* 0 or a power of two: full */
        char *grown = reallocarray(items, *count ? *count * 2 : 1, item_bytes);
        if (!grown) {
            (void)err_set(err, ERR_NOMEM, "out of memory");
            return NULL;
        }
        items = grown;
        memcpy(list, &items, sizeof(items));
    }
    return memset(items + (*count)++ * item_bytes, 0, item_bytes);
}
