/* Prepared statements: typed arguments in, typed columns out. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A statement is prepared once per connection and found again by its text. The texts are few: literals, or made from tables of members; what
 * comes from outside is an argument. */
#pragma once

#include <stdint.h>

#include "db_conn.h"
#include "err.h"

#define DB_ARGS_MAX 208
#define DB_COLUMNS_MAX 32
#define DB_VALUE_BYTES_MAX (1024U * 1024U) /* greatest text or blob that is read */

enum db_kind { DB_KIND_NULL, DB_KIND_TEXT, DB_KIND_BYTES, DB_KIND_NUMBER };

/* One argument. Texts and bytes are borrowed for the call. */
struct db_arg {
    enum db_kind kind;
    const void *data;
    size_t bytes;
    int64_t number;
};
struct db_arg db_text(const char *text);                /* NULL becomes SQL NULL */
struct db_arg db_bytes(const void *data, size_t bytes); /* NULL becomes SQL NULL */
struct db_arg db_number(int64_t number);

struct db_args {
    const struct db_arg *items;
    size_t count;
};
/* DB_ARGS(db_text(id), db_number(3)) */
#define DB_ARGS(...) \
    ((struct db_args){(const struct db_arg[]){__VA_ARGS__}, sizeof((const struct db_arg[]){__VA_ARGS__}) / sizeof(struct db_arg)})
#define DB_ARGS_NONE ((struct db_args){NULL, 0})

/* Runs a statement without rows. *affected (may be NULL) gets the number of rows found by an UPDATE or DELETE, changed or not. */
int db_run(struct db_conn *conn, const char *sql, struct db_args args, uint64_t *affected, struct err *err);

/* As db_run for one that must meet a row: ERR_NOT_FOUND with `what` ("no such cluster") when it met none. */
int db_run_one(struct db_conn *conn, const char *sql, struct db_args args, const char *what, struct err *err);

/* The value of LAST_INSERT_ID(expression) that the last db_run of this statement set. */
uint64_t db_last_value(struct db_conn *conn, const char *sql);

struct db_row;
/* Called per row; must not run other statements on the connection. Any code but 0 ends the query with it. */
typedef int db_row_fn(const struct db_row *row, void *arg, struct err *err);

/* Runs a query and calls fn with arg for each row as it arrives. `columns` has one letter per column: t text, b bytes, i integer. */
int db_query(struct db_conn *conn, const char *sql, struct db_args args, const char *columns, db_row_fn *fn, void *arg,
             struct err *err);

/* Column values; borrowed ones live until the row function returns. SQL NULL: NULL or 0. */
const char *db_row_text(const struct db_row *row, size_t column);
char *db_row_lend(const struct db_row *row, size_t column); /* as db_row_text, for a struct of texts that is only looked at */
const void *db_row_bytes(const struct db_row *row, size_t column, size_t *bytes);
int64_t db_row_number(const struct db_row *row, size_t column);

/* Copies: a malloc'ed text or bytes (NULL for SQL NULL), or a text into an array of `size` bytes ("" for SQL NULL). Failure is
 * kept in the row, and the query then ends with ERR_NOMEM, or ERR_INTERNAL for an array too small. */
char *db_row_dup(const struct db_row *row, size_t column);
uint8_t *db_row_dup_bytes(const struct db_row *row, size_t column, size_t *bytes);
void db_row_copy(const struct db_row *row, size_t column, char *out, size_t size);

/* Where a column of a single row goes. */
struct db_to {
    enum db_to_kind { DB_GETS_LONG, DB_GETS_UNSIGNED, DB_GETS_BOOL, DB_GETS_CHARS, DB_GETS_TEXT, DB_GETS_BYTES } kind;
    void *at;
    size_t size;   /* of what is there */
    size_t *bytes; /* of DB_GETS_BYTES */
};
/* A variable: a number, a bool, an array of char ("" for SQL NULL), or a char * (freed if there was one; malloc'ed, NULL for SQL NULL). */
#define DB_TO(variable) \
    ((struct db_to){_Generic(&(variable), int64_t *                                                          \
                             : DB_GETS_LONG, uint64_t *                                                      \
                             : DB_GETS_LONG, int *                                                           \
                             : DB_GETS_UNSIGNED, unsigned *                                                  \
                             : DB_GETS_UNSIGNED, bool *                                                      \
                             : DB_GETS_BOOL, char(*)[sizeof(variable)]                                       \
                             : DB_GETS_CHARS, char **                                                        \
                             : DB_GETS_TEXT),                                                                \
                    &(variable), sizeof(variable), NULL})
/* An array of bytes, and the size_t that gets their number: DB_NULL for SQL NULL. Bytes that do not fit are not copied. */
#define DB_TO_BYTES(array, bytes) ((struct db_to){DB_GETS_BYTES, (array), sizeof(array), (bytes)})
#define DB_NULL SIZE_MAX

struct db_into {
    const struct db_to *items;
    size_t count;
};
/* DB_INTO(DB_TO(name), DB_TO(count)) */
#define DB_INTO(...) \
    ((struct db_into){(const struct db_to[]){__VA_ARGS__}, sizeof((const struct db_to[]){__VA_ARGS__}) / sizeof(struct db_to)})

/* Wall clock by the database, the same for all replicas: part of a statement. */
#define DB_NOW_MS "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

/* Runs a query for one row and puts its columns into `into`. Without a row nothing is touched; that is ERR_NOT_FOUND with the text `what`, or 0 if `what` is
 * NULL. */
int db_query_row(struct db_conn *conn, const char *sql, struct db_args args, struct db_into into, const char *what,
                 struct err *err);

/* As db_query_row for one number, with `what` NULL. */
int db_query_number(struct db_conn *conn, const char *sql, struct db_args args, int64_t *out, struct err *err);

/* Replaces what err says by a better text when rc is `code`; detail stays. Returns rc. */
int db_explain(int rc, int code, struct err *err, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Defines NAME_done(struct NAME *), which frees a list {items, count} and leaves it empty; NULL is allowed. `item_done` is called with each item: (void) where
 * items hold nothing. */
#define DB_LIST_DEFINE(name, item_done)          \
    void name##_done(struct name *list) {        \
        if (!list)                               \
            return;                              \
        for (size_t i = 0; i < list->count; i++) \
            item_done(&list->items[i]);          \
        free(list->items);                       \
        *list = (struct name){0};                \
    }                                            \
    _Static_assert(1, "")

/* Adds a zeroed item to an array that grows by doubling at powers of two. `list` is the address of the pointer to the first one. NULL and ERR_NOMEM
 * without memory. */
void *db_list_add(void *list, size_t *count, size_t item_bytes, struct err *err);
