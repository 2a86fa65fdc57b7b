/* How a command is signed in by a login that is kept. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_login.h"

#include "cli_logins.h"
#include "clock.h"
#include "str.h"

#define TOKEN_LEFT_MS 30000 /* a token that ends sooner is exchanged first */

static bool login_is_due(const json_t *login) {
    return json_get_int(login, "token_ends_at_ms", 0) - clock_wall_ms() < TOKEN_LEFT_MS;
}

static int login_has_ended(const struct cli *cli, struct err *err) {
    (void)err_set(err, ERR_SESSION_ENDED, "the login at %s has ended", cli->server);
    return err_remedy(err, "run: kaasctl login %s", cli->server);
}

static int login_take(struct cli *cli, const json_t *login, struct err *err) {
    login_free(cli->login);
    cli->login = json_deep_copy(login);
    return cli_client_use(cli->client, login, err);
}

/* Under the lock, since a refresh token is good for one exchange: of two kaasctl the second finds what the first has got. */
static int login_exchange(struct cli *cli, json_t *logins, struct err *err) {
    const char *origin = json_get_string(cli->login, "server");
    json_t *login = logins_find(logins, origin);
    struct err why = {0};
    int rc;
    if (!login)
        return login_has_ended(cli, err);
    if (!str_eq(json_get_string(login, "token"), json_get_string(cli->login, "token")) && !login_is_due(login))
        return login_take(cli, login, err);
    rc = cli_client_refresh(cli->client, login, &why);
    if (rc && rc != ERR_SESSION_ENDED && rc != ERR_UNAUTHENTICATED)
        return err_move(err, rc, &why);
    if (rc)
        logins_remove(logins, origin);
    if (logins_write(logins, rc ? NULL : err) && !rc)
        return ERR_IO;
    return rc ? login_has_ended(cli, err) : login_take(cli, login, err);
}

int cli_login_renew(struct cli *cli, struct err *err) {
    _cleanup_logins_ json_t *logins = NULL;
    _cleanup_close_ int lock = -1;
    int rc = logins_lock(&lock, err);
    rc = rc ? rc : logins_read(&logins, err);
    return rc ? rc : login_exchange(cli, logins, err);
}

static int login_renew_refused(void *arg, struct err *err) {
    return cli_login_renew(arg, err);
}

int cli_login_use(struct cli *cli, struct err *err) {
    int rc = login_is_due(cli->login) ? cli_login_renew(cli, err) : cli_client_use(cli->client, cli->login, err);
    if (!rc)
        cli_client_on_refused(cli->client, login_renew_refused, cli);
    return rc;
}

int cli_login_store(const json_t *login, json_t **before, struct err *err) {
    _cleanup_logins_ json_t *logins = NULL;
    _cleanup_close_ int lock = -1;
    int rc = logins_lock(&lock, err);
    rc = rc ? rc : logins_read(&logins, err);
    if (rc)
        return rc;
    *before = json_deep_copy(logins_find(logins, json_get_string(login, "server")));
    logins_put_first(logins, json_deep_copy(login));
    return logins_write(logins, err);
}

int cli_login_drop(const char *origin, struct err *err) {
    _cleanup_logins_ json_t *logins = NULL;
    _cleanup_close_ int lock = -1;
    int rc = logins_lock(&lock, err);
    rc = rc ? rc : logins_read(&logins, err);
    if (rc)
        return rc;
    logins_remove(logins, origin);
    return logins_write(logins, err);
}
