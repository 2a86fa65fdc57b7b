/* How calls are signed in by a login that is kept. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_login.h"

#include "clock.h"
#include "str.h"

#define TOKEN_LEFT_MS 30000 /* a token that ends sooner is exchanged first */

static bool login_is_due(const json_t *kept) {
    return json_get_int(kept, "token_ends_at_ms", 0) - clock_wall_ms() < TOKEN_LEFT_MS;
}

static int login_has_ended(const struct cli_login *login, struct err *err) {
    (void)err_set(err, ERR_SESSION_ENDED, "the login at %s has ended", login->server);
    return err_remedy(err, "run: kaasctl login %s", login->server);
}

static int login_take(struct cli_login *login, const json_t *kept, struct err *err) {
    logins_free_one(login->kept);
    login->kept = json_deep_copy(kept);
    return cli_client_use(login->client, kept, err);
}

/* Under the lock, since a refresh token is good for one exchange: of two kaasctl the second finds what the first has got. */
static int login_exchange(struct cli_login *login, json_t *logins, struct err *err) {
    const char *origin = json_get_string(login->kept, "server");
    json_t *kept = logins_find(logins, origin);
    struct err why = {0};
    int rc;
    if (!kept)
        return login_has_ended(login, err);
    if (!str_eq(json_get_string(kept, "token"), json_get_string(login->kept, "token")) && !login_is_due(kept))
        return login_take(login, kept, err);
    rc = cli_client_refresh(login->client, kept, &why);
    if (rc && rc != ERR_SESSION_ENDED && rc != ERR_UNAUTHENTICATED)
        return err_move(err, rc, &why);
    if (rc) {
        logins_remove(logins, origin);
        (void)logins_write(logins, NULL);
        return login_has_ended(login, err);
    }
    rc = logins_write(logins, err);
    return rc ? rc : login_take(login, kept, err);
}

int cli_login_renew(struct cli_login *login, struct err *err) {
    _cleanup_logins_ json_t *logins = NULL;
    _cleanup_close_ int lock = -1;
    int rc = logins_lock(&lock, err);
    rc = rc ? rc : logins_read(&logins, err);
    return rc ? rc : login_exchange(login, logins, err);
}

static int login_renew_refused(void *arg, struct err *err) {
    return cli_login_renew(arg, err);
}

int cli_login_use(struct cli_login *login, struct err *err) {
    int rc = login_is_due(login->kept) ? cli_login_renew(login, err) : cli_client_use(login->client, login->kept, err);
    if (!rc)
        cli_client_on_refused(login->client, login_renew_refused, login);
    return rc;
}

int cli_login_store(const json_t *kept, json_t **before, struct err *err) {
    _cleanup_logins_ json_t *logins = NULL;
    _cleanup_close_ int lock = -1;
    int rc = logins_lock(&lock, err);
    rc = rc ? rc : logins_read(&logins, err);
    if (rc)
        return rc;
    *before = json_deep_copy(logins_find(logins, json_get_string(kept, "server")));
    logins_put_first(logins, json_deep_copy(kept));
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
