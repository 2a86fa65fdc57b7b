/* kaasctl login and logout: a login that is kept for the commands that follow. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "cli_command.h"
#include "cli_prompt.h"
#include "fsutil.h"
#include "names.h"
#include "str.h"

#define CA_BYTES_MAX (1024U * 1024U)

/* By the argument, which is --server said shorter; without any, where one signed in last. */
static int login_choose_server(struct cli *cli, struct err *err) {
    cli->named_server = cli_word(cli, 0);
    cli->is_about_login = true;
    if (cli->named_server && opt_get_common(&cli->given, "server"))
        return cli_usage(cli, err, "give the server once: as an argument, or by --server");
    return cli_choose_server(cli, err);
}

/* Who signs in: as it is said, or as the last time; else the person is asked. */
static int login_put_who(struct cli *cli, json_t *login, struct err *err) {
    const char *user = cli_user(cli), *source = opt_get_common(&cli->given, "source");
    _cleanup_free_ char *typed = NULL;
    int rc;
    if (!user && cli->login.kept) {
        user = json_get_string(cli->login.kept, "user");
        source = source ? source : json_get_string(cli->login.kept, "source");
    }
    if (!user && !prompt_has_terminal())
        return cli_usage(cli, err, "who signs in? Give --user NAME");
    rc = user ? 0 : prompt_text("User: ", &typed, err);
    if (!rc && !user && !typed)
        return cli_usage(cli, err, "who signs in? Give --user NAME");
    json_put_string(login, "user", user ? user : typed);
    json_put_string(login, "source", source);
    return rc;
}

/* As a text, so that the login is good in every folder, and after the file has gone. */
static int login_put_ca(const struct cli *cli, json_t *login, struct err *err) {
    const char *path = cli_ca_file(cli);
    _cleanup_strbuf_ struct strbuf pem = {0};
    int rc;
    strbuf_init(&pem, CA_BYTES_MAX);
    rc = path ? fs_read_text(path, &pem, err) : 0;
    json_put_string(login, "ca_pem", path ? pem.data : json_string_value(cli->ca_pem));
    return rc;
}

static int login_sign_in(struct cli *cli, json_t *login, struct err *err) {
    const struct cli_account account = {.user = json_get_string(login, "user"), .source = json_get_string(login, "source")};
    struct err why = {0};
    int rc = cli_connect_public(cli, err);
    rc = rc ? rc : cli_sign_in(cli, &account, err);
    if (rc)
        return rc;
    rc = cli_client_keep(cli->client, login, &why);
    if (rc != ERR_PASSWORD_CHANGE)
        return rc ? err_move(err, rc, &why) : 0;
    (void)err_set(err, rc, "somebody else set this password: replace it first");
    return err_remedy(err, "run: kaasctl --server %s --user %s user password", cli->server, name_quote(account.user).text);
}

/* The session of the login before has no use any more. */
static int login_keep(struct cli *cli, const json_t *login, struct err *err) {
    _cleanup_login_ json_t *before = NULL;
    int rc = cli_login_store(login, &before, err);
    if (rc)
        (void)cli_client_end(cli->client, login, NULL);
    else if (before)
        (void)cli_client_end(cli->client, before, NULL);
    return rc;
}

static int login_tell(struct cli *cli, const json_t *login, const char *said, struct err *err) {
    _cleanup_json_ json_t *told = json_object();
    static const char *const members[] = {"server", "user", "session_expires_at"};
    for (size_t i = 0; i < ARRAY_COUNT(members); i++)
        json_put_string(told, members[i], json_get_string(login, members[i]));
    show_line(cli, "%s", said);
    return cli->is_json ? show_json(cli, told, err) : 0;
}

int cmd_login(struct cli *cli, struct err *err) {
    _cleanup_login_ json_t *login = json_object();
    _cleanup_free_ char *origin = NULL, *said = NULL, *path = NULL;
    int rc = login_choose_server(cli, err);
    if (!rc && !cli->server)
        return cli_usage(cli, err, "where? Give the address: kaasctl login https://HOST:PORT");
    if (rc)
        return rc;
    origin = logins_origin(cli->server);
    json_put_string(login, "server", origin);
    rc = logins_path(&path, err); /* before a password is asked for */
    rc = rc ? rc : login_put_who(cli, login, err);
    rc = rc ? rc : login_put_ca(cli, login, err);
    rc = rc ? rc : login_sign_in(cli, login, err);
    rc = rc ? rc : login_keep(cli, login, err);
    if (rc)
        return rc;
    said = str_format("signed in at %s as %s, at most until %s", origin, json_get_string(login, "user"),
                      json_get_string(login, "session_expires_at"));
    if (access(cli_config_path(cli), R_OK) == 0)
        cli_note("kaasctl: on this machine commands use the admin socket unless --server or KAAS_SERVER names a server");
    return login_tell(cli, login, said, err);
}

/* Out of the file first: whatever the server says, nobody here goes on by it. */
int cmd_logout(struct cli *cli, struct err *err) {
    _cleanup_logins_ json_t *logins = NULL;
    _cleanup_free_ char *origin = NULL, *said = NULL;
    struct err why = {0};
    json_t *login;
    int rc = login_choose_server(cli, err);
    rc = rc ? rc : logins_read(&logins, err);
    if (rc)
        return rc;
    origin = cli->server ? logins_origin(cli->server) : NULL;
    login = logins_find(logins, origin);
    said = login ? str_format("signed out at %s", origin)
                 : str_format("nobody is signed in%s%s", origin ? " at " : "", origin ? origin : "");
    rc = login ? cli_login_drop(origin, err) : 0;
    if (rc)
        return rc;
    rc = login ? cli_connect_public(cli, &why) : 0;
    rc = rc || !login ? rc : cli_client_end(cli->client, login, &why);
    if (!rc || rc == ERR_SESSION_ENDED || rc == ERR_TOKEN_EXPIRED || rc == ERR_UNAUTHENTICATED)
        return login_tell(cli, login, said, err);
    (void)err_set(err, rc, "the login is removed here, but its session could not be ended (%s)", why.text);
    return err_remedy(err, "it ends by itself, at the latest at %s", json_get_string(login, "session_expires_at"));
}
