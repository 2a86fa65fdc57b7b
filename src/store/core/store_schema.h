/* The schema: checking, migrating, accounts. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The files of sql/ are part of the program. DDL commits by itself, so a transaction around a migration would be an
 * illusion: each file is one statement, noted as started before and as done after. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "store.h"

/* One migration file built into the program. */
struct store_schema_file {
    const char *name; /* "0001_schema_migrations.sql" */
    const char *text;
    size_t bytes;
};

/* The release of the schema; raised by one with each release that adds files. A program also works with the schema of the next release, whose
 * files only add, so that both versions can run while replicas are replaced; not with the release after that. */
#define STORE_SCHEMA_RELEASE 3U

/* A list of such files in order of their names. */
struct store_schema {
    const struct store_schema_file *files;
    size_t count;
    unsigned release;
};

/* The files this program was built with. Static. */
struct store_schema store_schema_builtin(void);

/* Compares the database with `schema`: ERR_SCHEMA if it is empty, older, newer by more than one release, half-applied, or a file differs from what was
 * applied; the text names the file and the remedy says what to run. Reads only: the runtime account may call it. */
int store_check_schema(struct store *store, struct store_schema schema, struct err *err);

struct store_migrate_options {
    struct store_schema schema;
    const char *holder;                           /* who migrates, for the message others get: "host:pid" */
    unsigned lease_s;                             /* [600] how long a crashed migration keeps others out */
    unsigned wait_s;                              /* [60] how long to wait for another migration that is running */
    const char *resolve_file;                     /* a half-applied file that a person has looked at, or NULL */
    bool resolve_as_done;                         /* true: its statement took effect; false: it did not, run it again */
    void (*on_step)(void *arg, const char *file); /* before each file is run; may be NULL */
    void *on_step_arg;
};

/* Brings the database to `schema` with the owner account; *applied is the number of files run (0: nothing to do). Two at once
 * are safe: the second waits, then finds the work done. Refuses as store_check_schema does, except for older and empty;
 * ERR_BUSY names the holder if another migration does not end in time. The store needs call_timeout_s long enough for DDL. */
int store_migrate(struct store *store, const struct store_migrate_options *options, unsigned *applied, struct err *err);

/* An account to make. Without password it is bound to the operating system user of the same name (unix_socket). */
struct store_account {
    const char *name;     /* letters, digits, _ and -; at most 32 */
    const char *host;     /* "localhost", or a pattern such as "10.0.%", then TLS is required; letters, digits and . : % _ - / */
    const char *password; /* NULL: socket authentication, host must be localhost */
};

struct store_accounts {
    const char *database;         /* letters, digits and _; at most 64 */
    struct store_account owner;   /* all rights on the database, which it may give on: migrations only */
    struct store_account runtime; /* what store_grant_runtime gives: kaasd. Its name is NULL for a database without one */
};

/* Checks that store_create_accounts may make or change these accounts: ERR_CONFLICT with a remedy for accounts of the server itself, and for existing ones with
 * rights on more than this database. Passwords are not looked at. ERR_UNPROCESSABLE for names outside the allowed letters. */
int store_check_accounts(struct store *admin, const struct store_accounts *accounts, struct err *err);

/* Makes database and accounts, or sets passwords and rights of existing ones to exactly this. `admin` is a store of an
 * account with CREATE USER, GRANT OPTION and SELECT on mysql, without database. Errors of store_check_accounts; then nothing was changed. */
int store_create_accounts(struct store *admin, const struct store_accounts *accounts, struct err *err);

/* Drops the database and both accounts, those that are there; passwords are not looked at. As store_create_accounts. */
int store_drop_accounts(struct store *admin, const struct store_accounts *accounts, struct err *err);

/* Whom store_grant_runtime gives rights. */
struct store_runtime {
    const char *database, *name, *host; /* as in store_accounts */
};

/* Gives kaasd's account the rights that it needs on each table, and takes away further ones that earlier releases gave: no UPDATE on `audit`, no
 * DELETE on `replicas`, nothing on the database as a whole. Run it after migrations. `store` is one of the owner, or of an account that
 * store_create_accounts takes as `admin`; ERR_DATABASE if it may not give rights. */
int store_grant_runtime(struct store *store, const struct store_runtime *runtime, struct err *err);

/* The host that the account of this store is bound to: "localhost", "%". */
#define STORE_HOST_BYTES 64
int store_lookup_host(struct store *store, char host[STORE_HOST_BYTES], struct err *err);
