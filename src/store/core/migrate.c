/* The schema: the rows of schema_migrations beside the files a program knows, and bringing one to the other. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "migrate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "db_conn.h"
#include "db_table.h"
#include "digest.h"
#include "lease_store.h"
#include "store_schema.h"
#include "store_tx.h"
#include "str.h"

#define SCHEMA_MIGRATE "run: kaasctl db migrate"

static const struct member row_members[] = {
    MEMBER_AS(schema_row, file, "file", NULL),
    MEMBER_AS(schema_row, sha256, "sha256", NULL),
    MEMBER_AS(schema_row, is_done, "state = 'done'", NULL),
    MEMBERS_END,
};
static const struct member row_members_with_release[] = {
    MEMBER_AS(schema_row, file, "file", NULL),
    MEMBER_AS(schema_row, sha256, "sha256", NULL),
    MEMBER_AS(schema_row, is_done, "state = 'done'", NULL),
    MEMBER_AS(schema_row, release, "schema_release", NULL),
    MEMBERS_END,
};

static void migrate_row_done(struct schema_row *row) {
    free(row->file);
}
DB_LIST_DEFINE(schema_rows, migrate_row_done);

static int schema_load(struct db_conn *conn, void *arg, struct err *err) {
    struct schema_rows *rows = arg;
    struct db_table table = {.name = "schema_migrations", .noun = "file", .bytes = sizeof(struct schema_row)};
    struct db_records found = {0};
    int64_t columns = 0;
    schema_rows_done(rows);
    int rc = db_query_row(conn,
                          "SELECT COUNT(*), COUNT(IF(column_name = 'schema_release', 1, NULL)) FROM information_schema.columns"
                          " WHERE table_schema = DATABASE() AND table_name = 'schema_migrations'",
                          DB_ARGS_NONE, DB_INTO(DB_TO(columns), DB_TO(rows->has_releases)), "no answer", err);
    rows->is_empty_database = !columns;
    if (rc || !columns)
        return rc;
    table.members = rows->has_releases ? row_members_with_release : row_members;
    rc = db_table_query(conn, &table, " ORDER BY file", DB_ARGS_NONE, &found, err);
    rows->items = found.items;
    rows->count = found.count;
    return rc;
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

static int migrate_check_row(const struct schema_row *row, struct store_schema schema, struct err *err) {
    char sha256[SCHEMA_SHA256_TEXT_BYTES];
    const struct store_schema_file *file = find_file(schema, row->file);
    if (!file && row->release != schema.release + 1) { /* files of the next release only add what is not used here */
        err_set(err, ERR_SCHEMA, "the database schema is newer than this program: it has %s", row->file);
        return err_remedy(
            err, "install the version that made it, or a newer one; to go back, put back the copy of the database from before it "
                 "(" DOC_PAGE("admin/upgrade.md") ", \"Going back\")");
    }
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
        if (migrate_check_row(&rows->items[i], schema, err))
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

/* -- bringing the schema up to date: lease, started, statement, done ----------------------------------------------- */

#define LEASE_NAME "schema"
#define RELEASE_FILE "0061_schema_release.sql" /* makes the column */
#define POLL_MS 100
#define MARIADB_MIN 100600 /* 10.6: a DDL statement takes effect wholly or not at all */

struct migration {
    struct store *store;
    const struct store_migrate_options *options;
    int64_t lease_ms;
    struct schema_rows rows;
    bool has_releases; /* the column is there by now */
    unsigned applied;
};

static int check_server(struct db_conn *conn, void *arg, struct err *err) {
    bool is_mariadb = false;
    unsigned long version = db_conn_version(conn, &is_mariadb);
    (void)arg;
    if (is_mariadb && version >= MARIADB_MIN)
        return 0;
    err_set(err, ERR_SCHEMA, "the database server must be MariaDB 10.6 or newer, this one is %s %lu.%lu",
            is_mariadb ? "MariaDB" : "MySQL", version / 10000, version / 100 % 100);
    return err_remedy(err, "use MariaDB 10.6 or newer");
}

static int migrate_run_text(struct db_conn *conn, void *arg, struct err *err) {
    const struct store_schema_file *file = arg;
    return db_conn_exec(conn, file->text, err);
}

/* The table of migrations and the lease table cannot be made under a lease: both files say IF NOT EXISTS. */
static int make_ground(struct migration *m, struct err *err) {
    int rc = store_read(m->store, check_server, NULL, err);
    for (size_t i = 0; i < 2 && i < m->options->schema.count && !rc; i++) {
        struct store_schema_file file = m->options->schema.files[i];
        rc = store_read(m->store, migrate_run_text, &file, err);
    }
    return rc;
}

static int refuse_busy(struct migration *m, struct err *err) {
    struct lease lease = {.holder = "another program"};
    (void)lease_store_load(m->store, LEASE_NAME, &lease, NULL);
    err_set(err, ERR_BUSY, "another migration is running: %s", lease.holder);
    return err_remedy(err, "wait; if it crashed, its lease ends in %lld s",
                      lease.left_ms > 0 ? (long long)(lease.left_ms + 999) / 1000 : 0);
}

static int take_lease(struct migration *m, struct err *err) {
    const int64_t wait_ms = (m->options->wait_s ? m->options->wait_s : 60) * 1000LL;
    const int64_t until_ms = clock_mono_ms() + wait_ms;
    for (;;) {
        bool is_mine = false;
        int rc = lease_store_acquire(m->store, LEASE_NAME, m->options->holder, m->lease_ms, &is_mine, err);
        if (rc || is_mine)
            return rc;
        if (clock_mono_ms() >= until_ms)
            return refuse_busy(m, err);
        const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
    }
}

struct migrate_step {
    const struct store_schema_file *file;
    char sha256[SCHEMA_SHA256_TEXT_BYTES];
    unsigned release; /* 0: there is no column for it yet */
};

static int note_started(struct store_tx *tx, void *arg, struct err *err) {
    const struct migrate_step *step = arg;
    const struct db_arg args[] = {db_text(step->file->name), db_text(step->sha256), db_number(clock_wall_ms()),
                                  db_number(step->release)};
    int rc = db_run(
        store_tx_conn(tx),
        step->release
            ? "INSERT INTO schema_migrations (file, sha256, state, started_at_ms, schema_release) VALUES (?, ?, 'started', ?, ?)"
            : "INSERT INTO schema_migrations (file, sha256, state, started_at_ms) VALUES (?, ?, 'started', ?)",
        (struct db_args){args, step->release ? 4 : 3}, NULL, err);
    return db_explain(rc, ERR_EXISTS, err, "another migration is applying %s", step->file->name);
}

/* Without store_tx: DDL commits by itself, and a statement whose outcome is unknown must not be run twice. */
static int run_statement(struct migration *m, const char *text, bool *is_outcome_known, struct err *err) {
    struct db_conn *conn = NULL;
    int rc = db_pool_borrow(m->store, &conn, err);
    *is_outcome_known = true;
    if (rc)
        return rc;
    rc = db_conn_exec(conn, text, err);
    *is_outcome_known = !conn->is_broken;
    db_pool_give(m->store, conn);
    return rc;
}

static int migrate_note_done(struct store *store, const char *file, struct err *err) {
    uint64_t met = 0;
    int rc = store_run(store, "UPDATE schema_migrations SET state = 'done', done_at_ms = ? WHERE file = ?",
                       DB_ARGS(db_number(clock_wall_ms()), db_text(file)), &met, err);
    return rc || met ? rc : err_set(err, ERR_NOT_FOUND, "the note of a started file is gone");
}

static int note_undone(struct store *store, const char *file, struct err *err) {
    return store_run(store, "DELETE FROM schema_migrations WHERE file = ? AND state = 'started'", DB_ARGS(db_text(file)), NULL,
                     err);
}

static int apply_file(struct migration *m, const struct store_schema_file *file, struct err *err) {
    struct migrate_step step = {.file = file, .release = m->has_releases ? m->options->schema.release : 0};
    bool is_outcome_known = false;
    schema_file_sha256(file, step.sha256);
    if (m->options->on_step)
        m->options->on_step(m->options->on_step_arg, file->name);
    int rc = lease_store_renew(m->store, LEASE_NAME, m->options->holder, m->lease_ms, err);
    rc = rc ? rc : store_tx(m->store, note_started, &step, err);
    if (rc)
        return rc;
    rc = run_statement(m, file->text, &is_outcome_known, err);
    if (rc && is_outcome_known)
        (void)note_undone(m->store, file->name, NULL);
    rc = rc ? rc : migrate_note_done(m->store, file->name, err);
    if (rc)
        return rc;
    m->applied++;
    m->has_releases = m->has_releases || !strcmp(file->name, RELEASE_FILE);
    return 0;
}

static int apply_missing(struct migration *m, struct err *err) {
    for (size_t i = 0; i < m->options->schema.count; i++) {
        const struct store_schema_file *file = &m->options->schema.files[i];
        if (schema_rows_find(&m->rows, file->name))
            continue;
        int rc = apply_file(m, file, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int migrate_resolve(struct migration *m, struct err *err) {
    const char *file = m->options->resolve_file;
    if (!file)
        return 0;
    const struct schema_row *row = schema_rows_find(&m->rows, file);
    if (!row || row->is_done)
        return err_set(err, ERR_UNPROCESSABLE, "%s is not half-applied", file);
    int rc = m->options->resolve_as_done ? migrate_note_done(m->store, file, err) : note_undone(m->store, file, err);
    if (rc)
        return rc;
    schema_rows_done(&m->rows);
    return schema_rows_load(m->store, &m->rows, err);
}

static int work_under_lease(struct migration *m, struct err *err) {
    int rc = schema_rows_load(m->store, &m->rows, err);
    rc = rc ? rc : migrate_resolve(m, err);
    rc = rc ? rc : schema_rows_check(&m->rows, m->options->schema, err);
    m->has_releases = m->rows.has_releases;
    rc = rc ? rc : apply_missing(m, err);
    schema_rows_done(&m->rows);
    return rc;
}

int store_migrate(struct store *store, const struct store_migrate_options *options, unsigned *applied, struct err *err) {
    struct migration m = {.store = store, .options = options, .lease_ms = (options->lease_s ? options->lease_s : 600) * 1000LL};
    int rc = make_ground(&m, err);
    rc = rc ? rc : take_lease(&m, err);
    if (rc)
        return rc;
    rc = work_under_lease(&m, err);
    (void)lease_store_release(store, LEASE_NAME, options->holder, NULL);
    if (!rc)
        *applied = m.applied;
    return rc;
}
