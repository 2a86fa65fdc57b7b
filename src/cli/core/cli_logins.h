/* Logins that are kept between commands: one for each server, in a file that nobody else may read. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * $XDG_CONFIG_HOME/kaas/logins.json, or ~/.config/kaas/logins.json, is an array of objects, the last login first:
 * {server, user, source?, ca_pem?, token, token_ends_at_ms, refresh_token?, session_id, session_expires_at}. No password is in it. */
#pragma once

#include "err.h"
#include "json.h"

/* Wipes the secrets of one login, and lets it go. NULL is allowed. */
void logins_free_one(json_t *login);
CLEANUP_DEFINE(json_t, logins_free_one);
#define _cleanup_login_ _cleanup_(logins_free_one)

/* Wipes the secrets of all logins and lets the array go. NULL is allowed. */
void logins_free(json_t *logins);
CLEANUP_DEFINE(json_t, logins_free);
#define _cleanup_logins_ _cleanup_(logins_free)

/* The path of the file. Caller frees. ERR_CONFIG where neither HOME nor XDG_CONFIG_HOME is set; ERR_NOMEM. */
int logins_path(char **out, struct err *err);

/* Reads the file into *out, freed by logins_free; an empty array where there is none, or no place for one. A file or folder that is a symbolic link, belongs to somebody else
 * or is open to others is refused: ERR_CONFIG. ERR_IO, ERR_JSON. */
int logins_read(json_t **out, struct err *err);

/* Waits until no other kaasctl changes the file, and keeps others from it until *fd is closed by the caller. Makes the folder. ERR_CONFIG as above, ERR_IO. */
int logins_lock(int *fd, struct err *err);

/* Writes the file anew, in one step; takes it away when there is no login left. Under logins_lock. ERR_IO, ERR_NOMEM. */
int logins_write(const json_t *logins, struct err *err);

/* What a token is good for: "https://host:port" of a server's address, with the host in small letters and the port always there. Caller frees; NULL where
 * it is no address. */
char *logins_origin(const char *server);

/* The login at this origin, borrowed, or NULL. */
json_t *logins_find(const json_t *logins, const char *origin);

/* Puts a login first, in place of the one at the same server. `login` is taken over. */
void logins_put_first(json_t *logins, json_t *login);

/* Takes the login at this origin out, if there is one. */
void logins_remove(json_t *logins, const char *origin);
