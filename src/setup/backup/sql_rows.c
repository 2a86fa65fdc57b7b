/* How many rows of each table a dump holds. Layer 4 (setup). SPDX-License-Identifier: GPL-3.0-or-later */
#include "sql_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"

#define MARK "-- rows in kaas:"
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* The table with the name that has just ended, made if it is the first time. False: there is no place for it. */
static bool sql_rows_find(struct sql_rows *r) {
    struct sql_rows_table *last = &r->tables[r->count];
    last->name[r->matched] = '\0';
    last->rows = 0;
    for (r->table = 0; r->table < r->count; r->table++)
        if (str_eq(r->tables[r->table].name, last->name))
            return true;
    r->count += r->count < SQL_ROWS_TABLES_MAX;
    return r->table < r->count;
}

static void sql_rows_read_name(struct sql_rows *r, char c) {
    if (c == '`' && sql_rows_find(r)) {
        r->place = SQL_ROWS_HEAD;
        r->matched = 0;
    } else if (c && strchr(NAME_CHARS, c) && r->matched < SQL_ROWS_NAME_BYTES - 1) {
        r->tables[r->count].name[r->matched++] = c;
    } else {
        r->place = SQL_ROWS_REST;
    }
}

/* What is between parentheses is a row; within quotation marks nothing counts. */
static void sql_rows_read_values(struct sql_rows *r, char c) {
    if (r->is_text) {
        r->is_text = r->is_escaped || c != '\'';
        r->is_escaped = !r->is_escaped && c == '\\';
    } else if (c == '\'') {
        r->is_text = true;
    } else if (c == '(') {
        r->tables[r->table].rows += !r->depth++;
    } else if (c == ')' && r->depth) {
        r->depth--;
    } else if (c == ';' && !r->depth) {
        r->place = SQL_ROWS_REST;
    }
}

void sql_rows_feed(struct sql_rows *r, const char *sql, size_t n) {
    static const char begin[] = "INSERT INTO `", values[] = "VALUES";
    for (size_t i = 0; i < n; i++) {
        const char c = sql[i];
        switch (r->place) {
        case SQL_ROWS_LINE:
            r->matched = c == begin[r->matched] ? r->matched + 1 : 0;
            if (!r->matched)
                r->place = c == '\n' ? SQL_ROWS_LINE : SQL_ROWS_REST;
            if (r->matched == sizeof(begin) - 1) {
                r->place = SQL_ROWS_NAME;
                r->matched = 0;
            }
            break;
        case SQL_ROWS_NAME: sql_rows_read_name(r, c); break;
        case SQL_ROWS_HEAD: /* names of columns, in lower case */
            r->matched = c == values[r->matched] ? r->matched + 1 : 0;
            if (r->matched == sizeof(values) - 1) {
                r->place = SQL_ROWS_VALUES;
                r->depth = 0;
                r->is_text = r->is_escaped = false;
            }
            break;
        case SQL_ROWS_VALUES: sql_rows_read_values(r, c); break;
        case SQL_ROWS_REST:
            if (c == '\n')
                r->place = SQL_ROWS_LINE;
            r->matched = 0;
            break;
        }
    }
}

int sql_rows_write(const struct sql_rows *r, struct strbuf *out, struct err *err) {
    strbuf_adds(out, MARK);
    for (size_t i = 0; i < r->count; i++)
        strbuf_addf(out, " %s=%" PRIu64, r->tables[i].name, r->tables[i].rows);
    strbuf_adds(out, "\n");
    return strbuf_check(out, "the line with the numbers of rows", err);
}

/* One "name=number". */
static bool sql_rows_parse_table(const char *word, struct sql_rows *out) {
    const size_t name = strspn(word, NAME_CHARS);
    int64_t rows = 0;
    if (!name || name >= SQL_ROWS_NAME_BYTES || word[name] != '=' || out->count == SQL_ROWS_TABLES_MAX ||
        !str_to_i64(word + name + 1, 0, INT64_MAX, &rows))
        return false;
    struct sql_rows_table *table = &out->tables[out->count++];
    (void)snprintf(table->name, sizeof(table->name), "%.*s", (int)name, word);
    table->rows = (uint64_t)rows;
    return true;
}

bool sql_rows_parse(const char *end, size_t n, struct sql_rows *out) {
    const char *begin = n && end[n - 1] == '\n' ? memrchr(end, '\n', n - 1) : NULL;
    _cleanup_free_ char *line = begin ? strndup(begin + 1, (size_t)(end + n - 1 - (begin + 1))) : NULL;
    bool is_good = line && str_starts(line, MARK);
    char *rest = is_good ? line + strlen(MARK) : NULL;
    *out = (struct sql_rows){.count = 0};
    for (char *word; is_good && (word = strsep(&rest, " "));)
        is_good = !*word || sql_rows_parse_table(word, out);
    return is_good;
}
