/* What `kaasctl init` does, step by step; each step may be repeated. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "daemon_config.h"
#include "err.h"
#include "store.h"

/* Who owns the files that are made. */
struct setup_owner {
    bool is_given;
    uid_t uid;
    gid_t gid;
};

/* Writes a configuration file with these settings if there is none; *made tells. ERR_IO. */
struct setup_config {
    const char *path;
    const char *database_socket; /* NULL: the default */
    const char *public_url;      /* NULL: none */
    const char *listen;          /* NULL: the default */
};
int setup_write_config(const struct setup_config *settings, const struct setup_owner *owner, bool *made, struct err *err);

/* Makes the master key file with 32 random bytes, mode 0600, if there is none; *made tells. ERR_IO. */
int setup_make_master_key(const char *path, const struct setup_owner *owner, bool *made, struct err *err);

/* How to reach the database as somebody who may create accounts. */
struct setup_database_admin {
    const char *socket;   /* NULL: that of the configuration */
    const char *user;     /* NULL: the operating system's user */
    const char *password; /* NULL: none */
};
/* Makes database, owner account and runtime account, with random passwords in files beside the configuration file unless those are
 * there already. Errors of store.h. */
int setup_make_database(const struct config *config, const char *config_path, const struct setup_database_admin *admin,
                        const struct setup_owner *owner, struct err *err);

/* How to migrate; all-zero is the usual case. */
struct setup_migration {
    const char *resolve_file;                     /* a half-applied file that a person has looked at, or NULL */
    bool resolve_as_done;                         /* its statement took effect */
    void (*on_step)(void *arg, const char *file); /* before each file; may be NULL */
    void *on_step_arg;
};

/* Brings the schema up to this program; *applied is the number of files run. Errors of store_migrate. */
int setup_migrate(const struct config *config, const char *config_path, const struct setup_migration *migration,
                  unsigned *applied, struct err *err);

/* Makes the local user with role admin, if there is no local user yet, which *is_made tells. With *password NULL a random one is made, which
 * must be changed at the first use: a secret that is freed by secret_free. ERR_UNPROCESSABLE for a password that is not good enough. */
int setup_make_first_admin(struct store *store, const char *name, char **password, bool *is_made, struct err *err);
