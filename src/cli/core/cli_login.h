/* How calls are signed in by a login that is kept. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli_client.h"
#include "cli_logins.h"

/* A login in use. */
struct cli_login {
    json_t *kept;              /* as in the file of logins; NULL: none. Has secrets; freed by logins_free_one */
    struct cli_client *client; /* which speaks by it. Borrowed */
    const char *server;        /* as the person names it. Borrowed */
};

/* Has the client speak by the login, whose token is exchanged where it ends soon or is refused; what comes in its place is kept. The login outlives the
 * client's calls. ERR_SESSION_ENDED with the remedy to sign in anew, which takes the login out of the file; errors of logins_lock and cli_client_refresh. */
int cli_login_use(struct cli_login *login, struct err *err);

/* Exchanges the token now, or takes the one that another kaasctl has brought meanwhile. As cli_login_use. */
int cli_login_renew(struct cli_login *login, struct err *err);

/* Keeps a login, the last from now on, in place of another at the same server, which is handed out: *before is freed by logins_free_one, NULL if there
 * was none. `kept` is borrowed. Errors of logins_lock. */
int cli_login_store(const json_t *kept, json_t **before, struct err *err);

/* Takes the login at this origin out of the file. Errors of logins_lock. */
int cli_login_drop(const char *origin, struct err *err);
