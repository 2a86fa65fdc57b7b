/* Comparing what was applied with what the program carries. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "schema_state.h"

#include <stdlib.h>
#include <string.h>

#include "db_stmt.h"
#include "digest.h"
#include "store_tx.h"
#include "str.h"

#define SCHEMA_MIGRATE "run: kaasctl db migrate"

void schema_rows_done(struct schema_rows *rows) {
    if (!rows)
        return;
    for (size_t i = 0; i < rows->count; i++)
        free(rows->items[i].file);
    free(rows->items);
    *rows = (struct schema_rows){0};
}

static int schema_row_add(const struct db_row *row, void *arg, struct err *err) {
    struct schema_rows *rows = arg;
    void *items = rows->items;
    struct schema_row *item = db_list_add(&items, &rows->count, sizeof(*item));
    rows->items = items;
    if (!item)
        return err_set(err, ERR_NOMEM, "out of memory");
    item->file = db_row_dup(row, 0);
    db_row_copy(row, 1, item->sha256, sizeof(item->sha256));
    item->is_done = str_eq(db_row_text(row, 2), "done");
    item->release = (unsigned)db_row_number(row, 3);
    return 0;
}

#define COUNT_COLUMNS \
    "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'schema_migrations'"

static int schema_count(struct db_conn *conn, const char *sql, int64_t *out, struct err *err) {
    return db_query_one(conn, &(struct db_query){.sql = sql, .columns = "i", .row = db_take_number, .arg = out}, "no answer",
                        err);
}

static int schema_load(struct db_conn *conn, void *arg, struct err *err) {
    struct schema_rows *rows = arg;
    int64_t columns = 0, releases = 0;
    schema_rows_done(rows);
    int rc = schema_count(conn, COUNT_COLUMNS, &columns, err);
    rc = rc ? rc : schema_count(conn, COUNT_COLUMNS " AND column_name = 'schema_release'", &releases, err);
    rows->is_empty_database = !columns;
    rows->has_releases = releases != 0;
    if (rc || !columns)
        return rc;
    return db_query(
        conn,
        &(struct db_query){.sql = releases ? "SELECT file, sha256, state, schema_release FROM schema_migrations ORDER BY file"
                                           : "SELECT file, sha256, state, 0 FROM schema_migrations ORDER BY file",
                           .columns = "ttti",
                           .row = schema_row_add,
                           .arg = rows},
        err);
}

int schema_rows_load(struct store *store, struct schema_rows *out, struct err *err) {
    struct schema_rows rows = {0};
    int rc = store_read(store, schema_load, &rows, err);
    if (rc)
        schema_rows_done(&rows);
    else
        *out = rows;
    return rc;
}

void schema_file_sha256(const struct store_schema_file *file, char out[SCHEMA_SHA256_TEXT_BYTES]) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_sha256(file->text, file->bytes, digest);
    str_hex(digest, sizeof(digest), out);
}

const struct schema_row *schema_rows_find(const struct schema_rows *rows, const char *file) {
    for (size_t i = 0; i < rows->count; i++)
        if (!strcmp(rows->items[i].file, file))
            return &rows->items[i];
    return NULL;
}

static const struct store_schema_file *find_file(struct store_schema schema, const char *name) {
    for (size_t i = 0; i < schema.count; i++)
        if (!strcmp(schema.files[i].name, name))
            return &schema.files[i];
    return NULL;
}

static int refuse_newer(const struct schema_row *row, struct err *err) {
    err_set(err, ERR_SCHEMA, "the database schema is newer than this program: it has %s", row->file);
    return err_remedy(err, "install the version that made it, or a newer one");
}

/* Files of the next release only add what is not used here. */
static bool is_next_release(const struct schema_row *row, struct store_schema schema) {
    return row->release == schema.release + 1;
}

static int check_row(const struct schema_row *row, struct store_schema schema, struct err *err) {
    char sha256[SCHEMA_SHA256_TEXT_BYTES];
    const struct store_schema_file *file = find_file(schema, row->file);
    if (!file && !is_next_release(row, schema))
        return refuse_newer(row, err);
    if (file)
        schema_file_sha256(file, sha256);
    if (file && strcmp(sha256, row->sha256)) {
        err_set(err, ERR_SCHEMA, "%s was applied with other contents than this program has", row->file);
        return err_remedy(err, "install the version that made this schema; an applied file must never change");
    }
    if (!row->is_done) {
        err_set(err, ERR_SCHEMA, "%s was started and never finished", row->file);
        return err_remedy(err, "look whether its statement took effect, then run: kaasctl db migrate --done %s, or --redo %s",
                          row->file, row->file);
    }
    return 0;
}

int schema_rows_check(const struct schema_rows *rows, struct store_schema schema, struct err *err) {
    for (size_t i = 0; i < rows->count; i++)
        if (check_row(&rows->items[i], schema, err))
            return ERR_SCHEMA;
    return 0;
}

static int schema_judge(const struct schema_rows *rows, struct store_schema schema, struct err *err) {
    if (rows->is_empty_database) {
        err_set(err, ERR_SCHEMA, "the database has no schema yet");
        return err_remedy(err, SCHEMA_MIGRATE);
    }
    int rc = schema_rows_check(rows, schema, err);
    if (rc)
        return rc;
    size_t missing = 0;
    for (size_t i = 0; i < schema.count; i++)
        missing += !schema_rows_find(rows, schema.files[i].name);
    if (missing) {
        err_set(err, ERR_SCHEMA, "the database schema is older than this program: %zu of %zu files are missing", missing,
                schema.count);
        return err_remedy(err, SCHEMA_MIGRATE);
    }
    return 0;
}

int store_check_schema(struct store *store, struct store_schema schema, struct err *err) {
    struct schema_rows rows = {0};
    int rc = schema_rows_load(store, &rows, err);
    if (!rc && schema_judge(&rows, schema, err))
        rc = ERR_SCHEMA;
    schema_rows_done(&rows);
    return rc;
}
