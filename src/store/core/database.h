/* A database as a whole, for backup and restore: dropping it, counting what is in it. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "store.h"

/* Names: letters, digits and _; at most 64. `admin` is a store of an account with the rights for it, without database. */

/* Drops the database with all that is in it. A database that is not there is no error. */
int database_drop(struct store *admin, const char *name, struct err *err);
/* The number of its tables; 0 also if the database is not there, or `admin` may see none of it. */
int database_count_tables(struct store *admin, const char *name, unsigned *tables, struct err *err);

/* The number of rows of a table of the store's database. ERR_SCHEMA: there is no such table. */
int database_count_rows(struct store *store, const char *table, uint64_t *rows, struct err *err);

/* What is in the database of a store. */
struct database_counts {
    uint64_t clusters, vcenters, users, audit_lines;
};
int database_count(struct store *store, struct database_counts *out, struct err *err);

/* Which file of sql/ was applied last, and the highest release of those. ERR_SCHEMA if there are none. */
struct database_schema {
    char file[101];
    unsigned release;
};
int database_load_schema(struct store *store, struct database_schema *out, struct err *err);

/* Version of the server, as it says it: "10.11.6-MariaDB-0+deb12u1". */
#define DATABASE_SERVER_BYTES 101
int database_load_server(struct store *store, char version[DATABASE_SERVER_BYTES], struct err *err);

/* Deletes all sessions without noting changes or writing audit lines: for a database that no replica uses. *ended counts them. */
int database_end_sessions(struct store *store, uint64_t *ended, struct err *err);
