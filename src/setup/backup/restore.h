/* Puts a backup back on an empty host, and proves a backup in a scratch database. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backup.h"
#include "backup_file.h"
#include "daemon_config.h"
#include "database.h"
#include "err.h"
#include "first_setup.h"
#include "setup_check.h"
#include "sql_rows.h"
#include "strbuf.h"

struct restore {
    struct backup_reader reader;
    struct seal *seal;
    struct config config; /* as it is in the backup */
    struct backup_watcher watcher;
    uint64_t sql_bytes;   /* of the database in it */
    struct sql_rows rows; /* the numbers of rows that the dump names, valid once the database is loaded and has_rows is true */
    bool has_rows;
    char *ca_file; /* a temporary file with the CA of a database on another host, since this host may not have it; NULL: none */
};

/* Reads all of the backup with the keys of `key_file` and checks, before anything is changed, that it is whole and unchanged, that its schema is not newer
 * than this program's, and that its configuration is good. *r (uninitialised) is given back by restore_done, also after a failure. ERR_NOT_FOUND, ERR_IO,
 * ERR_INVALID, ERR_CONFIG (wrong key: both ids are named), ERR_SCHEMA (which version is needed). */
int restore_open(const char *path, const char *key_file, const struct backup_watcher *watcher, struct restore *r,
                 struct err *err);
void restore_done(struct restore *r);

/* -- on an empty host ------------------------------------------------------------------------------------------------------ */

#define RESTORE_ALSO_MAX 16U
/* Where to restore to, and who does it. */
struct restore_to {
    const char *config_path; /* absolute */
    const char *also
        [RESTORE_ALSO_MAX]; /* further folders in which files may be made, besides those of configuration and state and /etc/kaas; to NULL */
    const char *key_file;
    struct setup_database_admin admin;
    struct setup_user user; /* of the service */
    const char *who;        /* the user who runs this, for the audit log: os_user_describe */
};

/* Looks for obstacles, a line each in `told`: files that differ from the backup's, tables in the database, a running kaasd. Files that are there and the
 * same are none. ERR_CONFLICT if there is any; ERR_DATABASE, ERR_IO. Changes nothing. */
int restore_check_empty(struct restore *r, const struct restore_to *to, struct strbuf *told, struct err *err);

/* Writes the files of the host and the master key, with owner and mode; keeps files that are there. ERR_IO. */
int restore_files(struct restore *r, const struct restore_to *to, struct err *err);

struct restore_result {
    unsigned migrated; /* files of sql/ that were applied to an older schema */
    uint64_t sessions; /* number of sessions in the backup, all ended */
    struct database_counts counts;
};
/* Makes database and accounts, loads the database, brings its schema up to this program, ends all sessions (one that was ended after the backup would be
 * open again), and writes an audit line. If it fails, the database is dropped again. ERR_DATABASE, ERR_SCHEMA. */
int restore_database(struct restore *r, const struct restore_to *to, struct restore_result *out, struct err *err);

/* -- in a scratch database ------------------------------------------------------------------------------------------------- */

struct restore_proof {
    char scratch[65];  /* the database that was made and is dropped again */
    unsigned migrated; /* files of sql/ that were applied there to an older schema */
    struct database_counts counts;
    uint64_t sealed_values; /* number of sealed values, all of which open */
};
/* Loads the database under a name of its own, with an account that may make and drop it, and checks that each table has as many rows as the dump had, that
 * this program knows the schema, that all sealed values open, and that the audit log verifies. The scratch database is dropped, whatever happens. Changes
 * nothing else. ERR_CONFLICT: a check failed; ERR_DATABASE. */
int restore_prove(struct restore *r, const struct setup_database_admin *admin, struct restore_proof *out, struct err *err);
