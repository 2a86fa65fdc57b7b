/* How a command is signed in by a login that is kept. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"

/* Has cli->client speak by cli->login, whose token is exchanged where it ends soon or is refused; what comes in its place is kept. ERR_SESSION_ENDED with
 * the remedy to sign in anew, which takes the login out of the file; errors of logins_lock and cli_client_refresh. */
int cli_login_use(struct cli *cli, struct err *err);

/* Exchanges the token now, or takes the one that another kaasctl has brought meanwhile. As cli_login_use. */
int cli_login_renew(struct cli *cli, struct err *err);

/* Keeps a login, the last from now on, in place of another at the same server, which is handed out: *before is freed by login_free, NULL if there was
 * none. `login` is borrowed. Errors of logins_lock. */
int cli_login_store(const json_t *login, json_t **before, struct err *err);

/* Takes the login at this origin out of the file. Errors of logins_lock. */
int cli_login_drop(const char *origin, struct err *err);
