/* Files of the host: server certificate, passwords of the database, master keys, token of the metrics. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon_config.h"
#include "digest.h"
#include "err.h"
#include "seal.h"
#include "store.h"
#include "strbuf.h"
#include "x509_chain.h"

struct server_cert_paths {
    char *cert, *key;
    bool is_own;   /* made by kaasd in state_dir, since none is configured */
    bool is_there; /* both files */
};

/* Finds where certificate and key are, or will be made. ERR_NOMEM. Freed by server_cert_paths_done. */
int server_cert_find(const struct config *config, struct server_cert_paths *out, struct err *err);
void server_cert_paths_done(struct server_cert_paths *paths); /* a zeroed struct is allowed */
#define _cleanup_server_cert_paths_ __attribute__((cleanup(server_cert_paths_done)))

/* Reads both files as they are. Both texts are freed by secret_free, since some people keep both in one file. ERR_NOT_FOUND, ERR_IO, ERR_CONFIG (the key is
 * open to others), naming the file. */
int server_cert_read(const struct server_cert_paths *paths, char **cert_pem, char **key_pem, struct err *err);

/* Reads both files and puts the certificates in order. If none is configured and none was made before, makes a self-signed one first. The key is freed by
 * secret_free. Also errors of x509_chain_read. */
int server_cert_load(const struct config *config, struct x509_chain *chain, char **key_pem, struct err *err);

/* -- from the configuration to database connections ---------------------------------------------------------------- */

/* Names of the password files that `kaasctl init` makes beside the configuration file. */
#define DB_PASSWORD_FILE "database.password"
#define DB_OWNER_PASSWORD_FILE "database-owner.password"

enum db_account { DB_ACCOUNT_RUNTIME, DB_ACCOUNT_OWNER };

/* Appends the first line of a file with a password, without its end. Errors of fs_read_secret_text. */
int password_file_read(const char *path, struct strbuf *out, struct err *err);

/* Makes the pool for one of the two accounts. The password is read from the file that the configuration names, else from the one that
 * `kaasctl init` made beside the configuration file, if there is one; else the operating system's user is the proof. Connects to nothing
 * yet. ERR_CONFIG, ERR_NOMEM. */
int db_settings_open(const struct config *config, const char *config_path, enum db_account account, struct store **out,
                     struct err *err);

/* Reads how one of the two accounts logs in, as db_settings_open does; for other programs that are run with it (db_tool.h). *out (uninitialised) is given back
 * by db_login_done; it borrows from `config`. ERR_CONFIG, ERR_NOMEM. */
struct db_login {
    struct store_options options;
    struct strbuf password;
};
int db_login_load(const struct config *config, const char *config_path, enum db_account account, struct db_login *out,
                  struct err *err);
void db_login_done(struct db_login *login);

/* Path of a file beside the configuration file. Caller frees; NULL without memory. */
char *db_settings_beside(const char *config_path, const char *name);

/* -- the master key file as the administrator's tool changes it ---------------------------------------------------- */

/* A change renames a new file, with the owner and mode of the old one, over it: a reader gets either the old or the new one. */

/* Reads which keys the file holds; the last one is the newest. ERR_NOT_FOUND, ERR_CONFIG. */
int master_key_file_read(const char *path, struct seal_ids *out, struct err *err);

/* Adds a new random key behind the others. ERR_CONFLICT when SEAL_KEYS_MAX are in it; ERR_CONFIG, ERR_IO. */
int master_key_file_add(const char *path, char key_id[SEAL_KEY_ID_BYTES], struct err *err);

/* Removes a key from the file. ERR_NOT_FOUND; ERR_CONFLICT if it is the only one. */
int master_key_file_remove(const char *path, const char *key_id, struct err *err);

/* -- the token by which a monitoring system reads the metrics ------------------------------------------------------ */

/* The token itself is not kept. */
struct scrape_token {
    bool is_set;
    uint8_t digest[DIGEST_SHA256_BYTES];
};

/* Reads the file of metrics.token_file, if one is configured. ERR_CONFIG with what to write into it; errors of fs_read_secret_text. */
int scrape_token_read(const struct config *config, struct scrape_token *out, struct err *err);
