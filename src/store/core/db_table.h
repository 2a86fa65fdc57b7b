/* Rows of a table as records, by the table of their members (member.h). Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Columns that are no members, sealed ones and keys made from others, come after those of the members: `more`. */
#pragma once

#include <stdint.h>

#include "db_stmt.h"
#include "member.h"
#include "strbuf.h"

struct db_table {
    const char *name, *noun;       /* "vcenters"; "vCenter", as in "there is no such vCenter" */
    const struct member *members;  /* of a table that is only read a column may be any expression, and the name a join */
    size_t bytes;                  /* of a record, or of a struct that begins with it */
    const char *more, *more_kinds; /* ", pin_sha256" and "b"; NULL: none are read */
    int (*read_more)(const struct db_row *row, size_t first, void *record, struct err *err);
    void (*done)(void *record); /* NULL: members_done */
};

/* A list of records: one block, or NULL. All-zero is the empty list. */
struct db_records {
    void *items;
    size_t count;
};
void db_records_done(const struct db_table *table, struct db_records *records);

/* -- reading --------------------------------------------------------------------------------------------------------------- */

/* Reads the rows that `rest` (" WHERE id = ? ORDER BY name", or "") chooses. `items` is the address of a pointer to records, which are to be freed
 * with what they hold. */
int db_table_list(struct store *store, const struct db_table *table, const char *rest, struct db_args args, void *items,
                  size_t *count, struct err *err);
/* As db_table_list on a connection; *out, all-zero before, may also hold something after a failure. */
int db_table_query(struct db_conn *conn, const struct db_table *table, const char *rest, struct db_args args,
                   struct db_records *out, struct err *err);
/* Reads the one row that `rest` chooses. `out` is the address of a pointer to a record: a block of its own. ERR_NOT_FOUND. */
int db_table_load(struct store *store, const struct db_table *table, const char *rest, struct db_args args, void *out,
                  struct err *err);

/* ERR_NOT_FOUND if there is no row with this key. */
int db_table_check(struct db_conn *conn, const struct db_table *table, const char *key, struct err *err);

/* For statements that join: appends the columns of `members`, each with this prefix and separated by commas ("n.id, n.name"), to `sql`, and their letters
 * for db_query to `kinds`, a text of at most DB_COLUMNS_MAX. */
void db_members_columns(const struct member *members, const char *prefix, struct strbuf *sql, char *kinds);
/* Reads those columns, from number `*at` on, into a zeroed record; *at moves behind them. Texts are copied, with a failure kept in the row
 * (db_row_dup), or with is_lent borrowed while the row lives. ERR_SCHEMA for an unknown word of a member with MEMBER_STRICT. */
int db_members_read(const struct db_row *row, size_t *at, const struct db_table *table, bool is_lent, void *record,
                    struct err *err);

/* -- writing --------------------------------------------------------------------------------------------------------------- */

/* A column that is no member. */
struct db_more {
    const char *column;
    struct db_arg value;
    const char *mark; /* SQL in the place of "?", such as "COALESCE(?, password_hash)"; NULL: "?" */
};
struct db_mores {
    const struct db_more *items;
    size_t count;
};
#define DB_MORE(...)                                          \
    ((struct db_mores){(const struct db_more[]){__VA_ARGS__}, \
                       sizeof((const struct db_more[]){__VA_ARGS__}) / sizeof(struct db_more)})
#define DB_MORE_NONE ((struct db_mores){NULL, 0})

/* Writes a new row; the version begins with 1. */
int db_table_insert(struct db_conn *conn, const struct db_table *table, const void *record, struct db_mores more,
                    struct err *err);
/* Writes all columns but key and MEMBER_FIXED over the row with the record's key and version, which rises by one in the database.
 * ERR_NOT_FOUND, ERR_PRECONDITION. */
int db_table_update(struct db_conn *conn, const struct db_table *table, const void *record, struct db_mores more,
                    struct err *err);
/* The key of a record; borrowed. */
const char *db_table_key(const struct db_table *table, const void *record);
/* Removes the row with this key, of whatever version if that is 0. ERR_NOT_FOUND, ERR_PRECONDITION. */
int db_table_delete(struct db_conn *conn, const struct db_table *table, const char *key, int64_t version_no, struct err *err);
