/* Logins that are kept between commands: one for each server, in a file that nobody else may read. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * $XDG_CONFIG_HOME/kaas/logins.json, or ~/.config/kaas/logins.json, is an array of objects, the last login first:
 * {server, user, source?, ca_pem?, token, token_ends_at_ms, refresh_token?, session_id, session_expires_at}. No password is in it. */
#pragma once

#include "err.h"
#include "json.h"

/* Wipes the secrets of one login, and drops its reference. NULL is allowed. */
void logins_free_one(json_t *login);
CLEANUP_DEFINE(json_t, logins_free_one);
#define _cleanup_login_ _cleanup_(logins_free_one)

/* Wipes the secrets of all logins, and drops the reference to the array. NULL is allowed. */
void logins_free(json_t *logins);
CLEANUP_DEFINE(json_t, logins_free);
#define _cleanup_logins_ _cleanup_(logins_free)

/* The path of the file. Caller frees. ERR_CONFIG where neither HOME nor XDG_CONFIG_HOME is set; ERR_NOMEM. */
int logins_path(char **out, struct err *err);

/* Reads the file into *out, freed by logins_free; an empty array if there is no file, or its path is not known. ERR_CONFIG for a file or folder that is a
 * symbolic link, belongs to another user or is open to others. ERR_IO, ERR_JSON. */
int logins_read(json_t **out, struct err *err);

/* Locks the file against other kaasctl, waiting for one that holds the lock; the caller closes *fd to unlock. Makes the folder. ERR_CONFIG as above, ERR_IO. */
int logins_lock(int *fd, struct err *err);

/* Replaces the file atomically; removes it if there is no login left. Call it under logins_lock. ERR_IO, ERR_NOMEM. */
int logins_write(const json_t *logins, struct err *err);

/* The origin of a server's address, for which a token is valid: "https://host:port", with the host in lower case and always a port. Caller frees; NULL if
 * it is no address. */
char *logins_origin(const char *server);

/* The login at this origin, borrowed, or NULL. */
json_t *logins_find(const json_t *logins, const char *origin);

/* Puts a login first, in place of an earlier one at the same server. `login` is taken over. */
void logins_put_first(json_t *logins, json_t *login);

/* Removes the login at this origin, if there is one. */
void logins_remove(json_t *logins, const char *origin);
