/* A database as a whole, for backup and restore: made, dropped, looked into. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "store.h"

/* Names: letters, digits and _; at most 64. `admin` is a store of an account with the rights for it, without database. */

/* Drops it with all that is in it; that it is not there is no error. */
int database_drop(struct store *admin, const char *name, struct err *err);
/* How many tables it has; 0 also if it is not there, or `admin` may see none of it. */
int database_count_tables(struct store *admin, const char *name, unsigned *tables, struct err *err);

/* How many rows a table of the store's database has. ERR_SCHEMA: it is not there. */
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

/* Ends all sessions without a word to anybody: of a database that nobody works with. *ended counts them. */
int database_end_sessions(struct store *store, uint64_t *ended, struct err *err);
