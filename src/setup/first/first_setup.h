/* What `kaasctl init` does, step by step; each step may be repeated. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "daemon_config.h"
#include "err.h"
#include "setup_check.h"
#include "store.h"
#include "strbuf.h"

/* What was done with a file. */
enum setup_file {
    SETUP_KEPT,
    SETUP_MADE,
    SETUP_MENDED, /* the file was there, and got the owner and mode of a new one */
};

/* Writes a file if there is none, and makes its folder if that is missing. If root runs this for another `user`, the file gets this owner and mode, also if
 * it was there, unless it is a link; else a new file belongs to the user who runs this. ERR_CONFLICT for links on the path that the user of the service may
 * have put there (fs_place_find), ERR_IO. */
struct setup_owner {
    uid_t uid;
    gid_t gid;
    mode_t mode; /* permission bits */
};
int setup_put_file(const char *path, const struct strbuf *text, const struct setup_owner *owner, const struct setup_user *user,
                   enum setup_file *became, struct err *err);

/* Writes a configuration file with these settings if there is none. Root makes it for `user`, who may read it and no more, and mends owner and
 * mode of one that is there, and of the folder if that is /etc/kaas. ERR_IO. */
struct setup_config {
    const char *path;
    const char *database_socket; /* NULL: the default */
    const char *database_host;   /* NULL: by the socket */
    int database_port;           /* 0: the default */
    const char *database_ca_file;
    const char *public_url; /* NULL: none */
    const char *listen;     /* NULL: the default */
};
int setup_write_config(const struct setup_config *settings, const struct setup_user *user, enum setup_file *became,
                       struct err *err);

/* Makes the master key file with 32 random bytes, mode 0600, if there is none. If the database has values sealed by a key that is not in the file (or
 * there is no file), that is ERR_CONFIG with the id of the missing key, and nothing is made. ERR_IO, errors of store.h. */
int setup_make_master_key(struct store *store, const char *path, const struct setup_user *user, enum setup_file *became,
                          struct err *err);

/* How to log in to the database with an account that may create accounts. */
struct setup_database_admin {
    const char *socket;   /* NULL: that of the configuration */
    const char *user;     /* NULL: the operating system's user */
    const char *password; /* NULL: none */
};
/* The options of a store with that account; borrows from both. No database is selected. */
struct store_options setup_admin_login(const struct config *config, const struct setup_database_admin *admin);

/* Checks the accounts that the configuration names, for setup_make_database: as store_check_accounts. */
int setup_check_accounts(const struct config *config, struct store *admin, struct err *err);

/* Makes database, owner account and runtime account, with random passwords in files beside the configuration file unless those are
 * there already. Errors of store.h. */
int setup_make_database(const struct config *config, const char *config_path, const struct setup_database_admin *admin,
                        const struct setup_user *user, struct err *err);

/* Checks that this database administrator can log in. Errors of store.h. */
int setup_check_admin(const struct config *config, const struct setup_database_admin *admin, struct err *err);

/* Drops the database and both accounts, for good. The password files stay. Errors of store.h. */
int setup_drop_database(const struct config *config, const struct setup_database_admin *admin, struct err *err);

/* How to migrate; all-zero is the usual case. */
struct setup_migration {
    const char *resolve_file;                     /* a half-applied file that a person has looked at, or NULL */
    bool resolve_as_done;                         /* its statement took effect */
    void (*on_step)(void *arg, const char *file); /* before each file; may be NULL */
    void *on_step_arg;
    struct err rights; /* out: why the rights of kaasd's account could not be set as they should be; code 0: they are */
};

/* Brings the schema up to this program; *applied is the number of files run. Errors of store_migrate. Then sets the rights of kaasd's account, with the
 * owner's account or, if that may not (set up by release 0.1), as the operating system's user, who may be a database administrator. */
int setup_migrate(const struct config *config, const char *config_path, struct setup_migration *migration, unsigned *applied,
                  struct err *err);

/* Makes a local user with role admin, if there is no local user yet; *is_made tells. With *password NULL a random password is made, a secret that the caller
 * frees by secret_free. A random password, or a given one that others may have seen (is_seen), must be changed at the first sign-on. ERR_UNPROCESSABLE for
 * a password that is not good enough. */
int setup_make_first_admin(struct store *store, const char *name, char **password, bool is_seen, bool *is_made, struct err *err);
