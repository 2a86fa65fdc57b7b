/* The rows of schema_migrations beside the files a program knows. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "store_schema.h"

#define SCHEMA_SHA256_TEXT_BYTES 65

struct schema_row {
    char *file;
    char sha256[SCHEMA_SHA256_TEXT_BYTES];
    bool is_done;
    unsigned release; /* of the program that applied it; 0: not recorded */
};

struct schema_rows {
    struct schema_row *items; /* by file */
    size_t count;
    bool is_empty_database; /* there is no table yet */
    bool has_releases;      /* the table has a column for them */
};
void schema_rows_done(struct schema_rows *rows); /* NULL is allowed */

/* Reads the rows. *out (uninitialised) is given back by schema_rows_done. */
int schema_rows_load(struct store *store, struct schema_rows *out, struct err *err);

/* SHA-256 of a file as lower-case hex. */
void schema_file_sha256(const struct store_schema_file *file, char out[SCHEMA_SHA256_TEXT_BYTES]);

/* The row of this file, or NULL. */
const struct schema_row *schema_rows_find(const struct schema_rows *rows, const char *file);

/* Pure: ERR_SCHEMA if a row is half-applied, differs from its file, or belongs to no file and is
 * not of the next release. */
int schema_rows_check(const struct schema_rows *rows, struct store_schema schema, struct err *err);
