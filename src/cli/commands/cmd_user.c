/* kaasctl user: passwords of local users. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_prompt.h"
#include "passwd.h"
#include "secret.h"
#include "str.h"

/* The password of the file, or a new one that is told once. Connects before, since the password of the sign-on is the first line of standard
 * input. *out is freed by secret_free. */
static int cmd_user_make_password(struct cli *cli, char **out, struct err *err) {
    const char *file = opt_get(&cli->given, "password-file");
    int rc;
    if (!file && opt_get(&cli->given, "keep-password"))
        return cli_usage(cli, err, "--keep-password goes with --password-file: a one-time password must be changed");
    rc = cli_connect(cli, err);
    if (rc)
        return rc;
    if (file)
        return prompt_read_password(file, out, err);
    *out = passwd_generate();
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static void cmd_user_tell_password(struct cli *cli, json_t *answer, const char *name, const char *password) {
    if (opt_get(&cli->given, "password-file"))
        return;
    show_line(cli, "One-time password of %s: %s", name, password);
    if (cli->is_json)
        json_put_string(answer, "one_time_password", password);
}

/* Calls with the password in the body, which is wiped there. A person who gets a password from a file that was made for that need not change
 * it, if the administrator says so. */
static int cmd_user_call(struct cli *cli, const json_t *user, json_t *body, const char *password, json_t **answer,
                         struct err *err) {
    int rc;
    json_put_string(body, "password", password);
    json_put_bool(body, "must_change_password", opt_get(&cli->given, "keep-password") == NULL);
    rc = cli_call(cli, user, body, answer, err);
    json_wipe_string(json_object_get(body, "password"));
    return rc;
}

int cmd_user_add(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *answer = NULL;
    _cleanup_secret_ char *password = NULL;
    int rc = cmd_user_make_password(cli, &password, err);
    if (rc)
        return rc;
    json_put_string(body, "name", cli_word(cli, 0));
    json_put_string(body, "role", "user");
    rc = cli_put_options(cli, body, err);
    if (rc)
        return rc;
    rc = cmd_user_call(cli, NULL, body, password, &answer, err);
    if (rc)
        return rc;
    cmd_user_tell_password(cli, answer, cli_word(cli, 0), password);
    rc = cli_show_result(cli, NULL, answer, err);
    json_wipe_string(json_object_get(answer, "one_time_password"));
    return rc;
}

static int cmd_user_reset_password(struct cli *cli, const char *ref, struct err *err) {
    _cleanup_json_ json_t *user = NULL, *body = json_object(), *told = json_object();
    _cleanup_secret_ char *password = NULL;
    const char *name;
    int rc = cmd_user_make_password(cli, &password, err);
    if (rc)
        return rc;
    rc = cli_find(cli, &cli_users, ref, &user, err);
    if (rc)
        return rc;
    rc = cmd_user_call(cli, user, body, password, NULL, err);
    if (rc)
        return rc;
    name = json_get_string(user, "name");
    show_line(cli, "the password of %s is set; all sessions of %s have ended", name, name);
    cmd_user_tell_password(cli, told, name, password);
    if (cli->is_json)
        rc = show_json(cli, told, err);
    json_wipe_string(json_object_get(told, "one_time_password"));
    return rc;
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

/* The old password is the one by which the sign-on is made: it is asked for once. */
static int cmd_user_change_own(struct cli *cli, struct err *err) {
    const struct cli_request request = {.method = "POST", .path = "/v2/password", .body = json_object(), .has_secret_body = true};
    const char *file = opt_get(&cli->given, "old-password-file");
    _cleanup_json_ json_t *body = request.body;
    _cleanup_secret_ char *fresh = NULL;
    int rc = file ? cli_get_password(cli, file, NULL, &cli->password, err) : 0;
    if (rc)
        return rc;
    rc = cli_connect(cli, err);
    if (rc)
        return rc;
    rc = cmd_user_ask_new(cli, &fresh, err);
    if (rc)
        return rc;
    json_put_string(body, "old_password", cli->password);
    json_put_string(body, "new_password", fresh);
    rc = cli_client_call(cli->client, &request, NULL, err);
    json_wipe_string(json_object_get(body, "old_password"));
    json_wipe_string(json_object_get(body, "new_password"));
    if (!rc)
        show_line(cli, "your password is changed; your other sessions have ended");
    return rc;
}

int cmd_user_password(struct cli *cli, struct err *err) {
    const char *ref = cli_word(cli, 0);
    if (ref)
        return cmd_user_reset_password(cli, ref, err);
    if (!opt_get_common(&cli->given, "server"))
        return cli_usage(cli, err, "whose? Give a user, or --server URL --user NAME before the command for your own password");
    return cmd_user_change_own(cli, err);
}
