/* kaasctl user: passwords of local users. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_prompt.h"
#include "passwd.h"
#include "secret.h"
#include "str.h"

/* Puts the password of the file, or a new one that is told once. A person who gets a password from a file that was made for that need not change it, if
 * the administrator says so. Connects before, since the password of the sign-on is the first line of standard input. */
static int cmd_user_put_password(struct cli *cli, json_t *body, struct err *err) {
    const char *file = opt_get(&cli->given, "password-file"), *keep = opt_get(&cli->given, "keep-password");
    _cleanup_secret_ char *password = NULL;
    int rc;
    if (!file && keep)
        return cli_usage(cli, err, "--keep-password goes with --password-file: a one-time password must be changed");
    rc = cli_connect(cli, err);
    if (rc)
        return rc;
    rc = file ? prompt_read_password(file, &password, err) : 0;
    if (rc)
        return rc;
    if (!file && !(cli->one_time = passwd_generate()))
        return err_set(err, ERR_NOMEM, "out of memory");
    json_put_string(body, "password", file ? password : cli->one_time);
    json_put_bool(body, "must_change_password", keep == NULL);
    return 0;
}

/* Shows the answer with the one-time password in it. */
static int cmd_user_tell(struct cli *cli, json_t *answer, const char *name, struct err *err) {
    int rc;
    if (cli->one_time)
        show_line(cli, "One-time password of %s: %s", name, cli->one_time);
    if (cli->is_json)
        json_put_string(answer, "one_time_password", cli->one_time);
    rc = cli->is_json || cli->command->object ? show_object(cli, answer, cli->command->object, err) : 0;
    json_wipe_string(json_object_get(answer, "one_time_password"));
    return rc;
}

int cmd_user_add(struct cli *cli, json_t *body, struct err *err) {
    json_put_string(body, "name", cli_word(cli, 0));
    if (!json_object_get(body, "role"))
        json_put_string(body, "role", "user");
    return cmd_user_put_password(cli, body, err);
}

int cmd_user_tell_added(struct cli *cli, json_t *answer, struct err *err) {
    return cmd_user_tell(cli, answer, cli_word(cli, 0), err);
}

/* Asked twice, since it cannot be seen; a file is taken as it is. */
static int cmd_user_ask_new(struct cli *cli, char **out, struct err *err) {
    const char *file = opt_get(&cli->given, "password-file");
    _cleanup_secret_ char *first = NULL, *second = NULL;
    int rc = cli_get_password(cli, file, "New password: ", &first, err);
    if (rc)
        return rc;
    rc = file ? 0 : cli_get_password(cli, NULL, "New password again: ", &second, err);
    if (rc)
        return rc;
    if (!file && !str_eq(first, second))
        return err_set(err, ERR_INVALID, "the two are not the same; nothing was changed");
    *out = STEAL(first);
    return 0;
}

/* One's own: the old password is the one by which the sign-on is made, and asked for once. */
int cmd_user_password(struct cli *cli, json_t *body, struct err *err) {
    const char *file = opt_get(&cli->given, "old-password-file");
    _cleanup_secret_ char *fresh = NULL;
    int rc;
    if (cli_word(cli, 0))
        return cmd_user_put_password(cli, body, err);
    rc = cli_choose_server(cli, err);
    if (rc)
        return rc;
    if (!cli->server)
        return cli_usage(cli, err, "whose? Give a user, or --server URL --user NAME before the command for your own password");
    rc = file ? cli_get_password(cli, file, NULL, &cli->password, err) : 0;
    if (rc)
        return rc;
    rc = cli_connect(cli, err);
    if (!rc && !cli->password) /* a kept login has not asked for it */
        rc = cli_get_password(cli, NULL, "Old password: ", &cli->password, err);
    rc = rc ? rc : cmd_user_ask_new(cli, &fresh, err);
    json_put_string(body, "old_password", cli->password);
    json_put_string(body, "new_password", fresh);
    cli->call = "POST /v2/password";
    return rc;
}

int cmd_user_tell_password(struct cli *cli, json_t *answer, struct err *err) {
    const char *name = json_get_string(cli->object, "name");
    _cleanup_json_ json_t *told = json_object();
    (void)answer;
    if (!name) {
        show_line(cli, "your password is changed; your other sessions have ended");
        return 0;
    }
    show_line(cli, "the password of %s is set; all sessions of %s have ended", name, name);
    return cmd_user_tell(cli, told, name, err);
}
