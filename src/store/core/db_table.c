/* Rows of a table as records (db_table.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_tx.h"

#define TABLE_SQL_BYTES_MAX 4096
#define TABLE_ARGS_MAX (DB_COLUMNS_MAX + 8)

/* The one member with this flag; a table that is written has it. */
static const struct member *find_flagged(const struct db_table *table, unsigned flag) {
    const struct member *m = table->members;
    while (!(m->flags & flag)) {
        assert(m->name);
        m++;
    }
    return m;
}

static bool table_is_text(const struct member *m) {
    return m->kind == MEMBER_TEXT || m->kind == MEMBER_CHARS || m->words;
}

static void record_done(const struct db_table *table, void *record) {
    if (table->done)
        table->done(record);
    else
        members_done(table->members, record, table->bytes);
}

void db_records_done(const struct db_table *table, struct db_records *records) {
    for (size_t i = 0; i < records->count; i++)
        record_done(table, (char *)records->items + i * table->bytes);
    free(records->items);
    *records = (struct db_records){NULL, 0};
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

void db_members_columns(const struct member *members, const char *prefix, struct strbuf *sql, char *kinds) {
    size_t count = strlen(kinds);
    const char *comma = "";
    for (const struct member *m = members; m->name; m++) {
        if (!m->column)
            continue;
        assert(count < DB_COLUMNS_MAX);
        strbuf_addf(sql, "%s%s%s", comma, prefix, m->column);
        kinds[count++] = table_is_text(m) ? 't' : 'i';
        comma = ", ";
    }
    kinds[count] = '\0';
}

static int read_word(const struct member *m, const char *word, const char *noun, void *record, struct err *err) {
    if (member_set_word(m, record, word))
        return 0;
    if (m->flags & MEMBER_STRICT)
        return err_set(err, ERR_SCHEMA, "a %s has an unknown %s", noun, m->json ? m->json : m->name);
    member_set_number(m, record, m->unknown); /* of a newer version: one that we cannot judge */
    return 0;
}

int db_members_read(const struct db_row *row, size_t *at, const struct db_table *table, bool is_lent, void *record,
                    struct err *err) {
    int rc = 0;
    for (const struct member *m = table->members; m->name && !rc; m++) {
        if (!m->column)
            continue;
        const size_t column = (*at)++;
        const char *text = table_is_text(m) ? db_row_text(row, column) : NULL;
        if (m->kind == MEMBER_CHARS)
            db_row_copy(row, column, member_chars_at(m, record), m->bytes);
        else if (m->words && m->kind == MEMBER_UNSIGNED)
            rc = read_word(m, text, table->noun, record, err);
        else if (m->kind != MEMBER_TEXT)
            member_set_number(m, record, db_row_number(row, column));
        else if (text && (*text || !(m->flags & MEMBER_EMPTY)))
            *member_text_at(m, record) = is_lent ? db_row_lend(row, column) : db_row_dup(row, column);
    }
    return rc;
}

struct query {
    const struct db_table *table;
    const char *rest;
    struct db_args args;
    struct db_records found;
};

static int add_record(const struct db_row *row, void *arg, struct err *err) {
    struct query *query = arg;
    void *record = db_list_add(&query->found.items, &query->found.count, query->table->bytes, err);
    size_t at = 0;
    int rc = record ? db_members_read(row, &at, query->table, false, record, err) : ERR_NOMEM;
    return rc || !query->table->read_more ? rc : query->table->read_more(row, at, record, err);
}

static int db_table_run_query(struct db_conn *conn, void *arg, struct err *err) {
    struct query *query = arg;
    const struct db_table *table = query->table;
    char kinds[DB_COLUMNS_MAX + 1] = "";
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, TABLE_SQL_BYTES_MAX);
    strbuf_adds(&sql, "SELECT ");
    db_members_columns(table->members, "", &sql, kinds);
    strbuf_addf(&sql, "%s FROM %s%s", table->more ? table->more : "", table->name, query->rest);
    (void)snprintf(kinds + strlen(kinds), sizeof(kinds) - strlen(kinds), "%s", table->more ? table->more_kinds : "");
    int rc = strbuf_check(&sql, "a statement", err);
    db_records_done(table, &query->found); /* of the attempt before */
    return rc ? rc : db_query(conn, sql.data, query->args, kinds, add_record, query, err);
}

int db_table_query(struct db_conn *conn, const struct db_table *table, const char *rest, struct db_args args,
                   struct db_records *out, struct err *err) {
    struct query query = {table, rest, args, {NULL, 0}};
    int rc = db_table_run_query(conn, &query, err);
    *out = query.found;
    return rc;
}

int db_table_list(struct store *store, const struct db_table *table, const char *rest, struct db_args args, void *items,
                  size_t *count, struct err *err) {
    struct query query = {table, rest, args, {NULL, 0}};
    int rc = store_read(store, db_table_run_query, &query, err);
    if (rc) {
        db_records_done(table, &query.found);
        return rc;
    }
    memcpy(items, &query.found.items, sizeof(query.found.items));
    *count = query.found.count;
    return 0;
}

int db_table_load(struct store *store, const struct db_table *table, const char *rest, struct db_args args, void *out,
                  struct err *err) {
    struct db_records found;
    int rc = db_table_list(store, table, rest, args, &found.items, &found.count, err);
    if (rc)
        return rc;
    if (!found.count)
        return err_set(err, ERR_NOT_FOUND, "there is no such %s", table->noun);
    memcpy(out, &found.items, sizeof(found.items)); /* an array of one is one */
    return 0;
}

int db_table_check(struct db_conn *conn, const struct db_table *table, const char *key, struct err *err) {
    _cleanup_strbuf_ struct strbuf sql;
    int64_t count = 0;
    strbuf_init(&sql, TABLE_SQL_BYTES_MAX);
    strbuf_addf(&sql, "SELECT COUNT(*) FROM %s WHERE %s = ?", table->name, find_flagged(table, MEMBER_KEY)->column);
    int rc = strbuf_check(&sql, "a statement", err);
    rc = rc ? rc : db_query_number(conn, sql.data, DB_ARGS(db_text(key)), &count, err);
    return rc || count ? rc : err_set(err, ERR_NOT_FOUND, "there is no such %s", table->noun);
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

struct values {
    struct db_arg items[TABLE_ARGS_MAX];
    size_t count;
};

static void db_table_add_value(struct values *values, struct db_arg value) {
    assert(values->count < TABLE_ARGS_MAX);
    values->items[values->count++] = value;
}

static struct db_arg table_value_of(const struct member *m, const void *record) {
    const char *text = table_is_text(m) ? member_text(m, record) : NULL;
    if (!table_is_text(m))
        return db_number(member_number(m, record));
    if (m->flags & MEMBER_ZERO_NULL && !member_number(m, record))
        return db_text(NULL);
    return db_text(!text && m->flags & MEMBER_EMPTY ? "" : text);
}

static void db_table_add_mark(const struct member *m, struct strbuf *sql) {
    if (m->flags & MEMBER_CUT)
        strbuf_addf(sql, "LEFT(?, %ld)", m->max);
    else
        strbuf_adds(sql, m->flags & MEMBER_LOWER ? "LOWER(?)" : "?");
}

int db_table_insert(struct db_conn *conn, const struct db_table *table, const void *record, struct db_mores more,
                    struct err *err) {
    struct values values = {.count = 0};
    char kinds[DB_COLUMNS_MAX + 1] = "";
    _cleanup_strbuf_ struct strbuf sql;
    const char *comma = "";
    strbuf_init(&sql, TABLE_SQL_BYTES_MAX);
    strbuf_addf(&sql, "INSERT INTO %s (", table->name);
    db_members_columns(table->members, "", &sql, kinds);
    for (size_t i = 0; i < more.count; i++)
        strbuf_addf(&sql, ", %s", more.items[i].column);
    strbuf_adds(&sql, ") VALUES (");
    for (const struct member *m = table->members; m->name; m++) {
        if (!m->column)
            continue;
        strbuf_adds(&sql, comma);
        comma = ", ";
        if (m->flags & MEMBER_VERSION) {
            strbuf_addc(&sql, '1');
            continue;
        }
        db_table_add_mark(m, &sql);
        db_table_add_value(&values, table_value_of(m, record));
    }
    for (size_t i = 0; i < more.count; i++) {
        strbuf_adds(&sql, ", ?");
        db_table_add_value(&values, more.items[i].value);
    }
    strbuf_addc(&sql, ')');
    int rc = strbuf_check(&sql, "a statement", err);
    return rc ? rc : db_run(conn, sql.data, (struct db_args){values.items, values.count}, NULL, err);
}

/* Why a statement by key and version met no row. */
static int explain_miss(struct db_conn *conn, const struct db_table *table, const char *key, struct err *err) {
    int rc = db_table_check(conn, table, key, err);
    if (rc)
        return rc;
    (void)err_set(err, ERR_PRECONDITION, "the %s was changed since it was read", table->noun);
    return err_remedy(err, "read it again and repeat the change");
}

int db_table_update(struct db_conn *conn, const struct db_table *table, const void *record, struct db_mores more,
                    struct err *err) {
    const struct member *key = find_flagged(table, MEMBER_KEY), *version = find_flagged(table, MEMBER_VERSION);
    struct values values = {.count = 0};
    _cleanup_strbuf_ struct strbuf sql;
    uint64_t met = 0;
    strbuf_init(&sql, TABLE_SQL_BYTES_MAX);
    strbuf_addf(&sql, "UPDATE %s SET %s = %s + 1", table->name, version->column, version->column);
    for (const struct member *m = table->members; m->name; m++) {
        if (!m->column || m->flags & (MEMBER_KEY | MEMBER_FIXED | MEMBER_VERSION))
            continue;
        strbuf_addf(&sql, ", %s = ", m->column);
        db_table_add_mark(m, &sql);
        db_table_add_value(&values, table_value_of(m, record));
    }
    for (size_t i = 0; i < more.count; i++) {
        strbuf_addf(&sql, ", %s = %s", more.items[i].column, more.items[i].mark ? more.items[i].mark : "?");
        db_table_add_value(&values, more.items[i].value);
    }
    strbuf_addf(&sql, " WHERE %s = ? AND %s = ?", key->column, version->column);
    db_table_add_value(&values, db_text(db_table_key(table, record)));
    db_table_add_value(&values, table_value_of(version, record));
    int rc = strbuf_check(&sql, "a statement", err);
    rc = rc ? rc : db_run(conn, sql.data, (struct db_args){values.items, values.count}, &met, err);
    return rc || met ? rc : explain_miss(conn, table, db_table_key(table, record), err);
}

const char *db_table_key(const struct db_table *table, const void *record) {
    return member_text(find_flagged(table, MEMBER_KEY), record);
}

int db_table_delete(struct db_conn *conn, const struct db_table *table, const char *key, int64_t version_no, struct err *err) {
    _cleanup_strbuf_ struct strbuf sql;
    uint64_t met = 0;
    strbuf_init(&sql, TABLE_SQL_BYTES_MAX);
    strbuf_addf(&sql, "DELETE FROM %s WHERE %s = ? AND ? IN (0, %s)", table->name, find_flagged(table, MEMBER_KEY)->column,
                find_flagged(table, MEMBER_VERSION)->column);
    int rc = strbuf_check(&sql, "a statement", err);
    rc = rc ? rc : db_run(conn, sql.data, DB_ARGS(db_text(key), db_number(version_no)), &met, err);
    return rc || met ? rc : explain_miss(conn, table, key, err);
}
