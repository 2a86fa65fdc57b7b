/* How calls are signed in by a login that is kept. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli_client.h"
#include "cli_logins.h"

/* A login in use. */
struct cli_login {
    json_t *kept;              /* as in the file of logins; NULL: none. Has secrets; freed by logins_free_one */
    struct cli_client *client; /* the client that uses it. Borrowed */
    const char *server;        /* as the person names it. Borrowed */
};

/* Makes the client use the login. Its token is exchanged when it ends soon or is refused, and the new one is written to the file. The login must outlive the
 * client's calls. ERR_SESSION_ENDED with the remedy to sign in again: then the login is removed from the file; errors of logins_lock and cli_client_refresh. */
int cli_login_use(struct cli_login *login, struct err *err);

/* Exchanges the token now, or takes over the one that another kaasctl has written meanwhile. Errors of cli_login_use. */
int cli_login_renew(struct cli_login *login, struct err *err);

/* Writes a login to the file as the last one, in place of an earlier one at the same server; *before gets that one, freed by logins_free_one, NULL if there
 * was none. `kept` is borrowed. Errors of logins_lock. */
int cli_login_store(const json_t *kept, json_t **before, struct err *err);

/* Removes the login at this origin from the file. Errors of logins_lock. */
int cli_login_drop(const char *origin, struct err *err);
