/* How many rows of each table a dump holds: counted while it is written, compared when it is loaded. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mariadb-dump reads a snapshot of the database in which no other connection can count rows, so the rows in its output are counted. The counts stand in the
 * last line of the SQL, a comment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

#define SQL_ROWS_TABLES_MAX 256U
#define SQL_ROWS_NAME_BYTES 65
#define SQL_ROWS_LINE_BYTES_MAX 32768U

struct sql_rows_table {
    char name[SQL_ROWS_NAME_BYTES];
    uint64_t rows;
};

/* Zeroed: nothing has been read. */
struct sql_rows {
    struct sql_rows_table
        tables[SQL_ROWS_TABLES_MAX + 1]; /* those that have rows; the last place is for a name that is being read */
    size_t count;
    enum { SQL_ROWS_LINE, SQL_ROWS_NAME, SQL_ROWS_HEAD, SQL_ROWS_VALUES, SQL_ROWS_REST } place;
    size_t matched, depth, table;
    bool is_text, is_escaped;
};

/* Reads the next piece of a dump, which may be cut anywhere. Tables whose names are not ours, and tables beyond SQL_ROWS_TABLES_MAX, are not counted. */
void sql_rows_feed(struct sql_rows *rows, const char *sql, size_t n);

/* Appends the line with the counts. ERR_NOMEM; ERR_TOO_LARGE by the cap of `out`, for which SQL_ROWS_LINE_BYTES_MAX is enough. */
int sql_rows_write(const struct sql_rows *rows, struct strbuf *out, struct err *err);

/* Reads the line with the counts, the last one of `end`, which is the end of a dump. False: the last line is none. */
bool sql_rows_parse(const char *end, size_t n, struct sql_rows *out);
