/* kaasctl user: local users and their passwords. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_find.h"
#include "cli_prompt.h"
#include "cli_show.h"
#include "passwd.h"
#include "secret.h"
#include "str.h"

#define PATH_BYTES_MAX 8192U

/* The password of the file, or a new one that is told once: *is_made. */
static int take_password(struct cli *cli, char **out, bool *is_made, struct err *err) {
    const char *file = opt_get(&cli->given, "password-file");
    *is_made = !file;
    if (file)
        return prompt_read_password(file, out, err);
    *out = passwd_generate();
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static void tell_password(struct cli *cli, json_t *answer, const char *name, const char *password) {
    show_line(cli, "One-time password of %s: %s", name, password);
    if (cli->is_json)
        json_put_string(answer, "one_time_password", password);
}

/* A person who gets a password from a file that was made for that need not change it, if the administrator says so. */
static void put_password(const struct cli *cli, json_t *body, const char *password) {
    json_put_string(body, "password", password);
    json_put_bool(body, "must_change_password", opt_get(&cli->given, "keep-password") == NULL);
}

static int check_keep(struct cli *cli, struct err *err) {
    if (!opt_get(&cli->given, "keep-password") || opt_get(&cli->given, "password-file"))
        return 0;
    return cli_usage(cli, err, "--keep-password goes with --password-file: a one-time password must be changed");
}

int cmd_user_add(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *answer = NULL;
    _cleanup_secret_ char *password = NULL;
    const char *role = opt_get(&cli->given, "role");
    bool is_made = false;
    int rc = check_keep(cli, err);
    if (!rc)
        rc = cli_connect(cli, err);
    if (!rc)
        rc = take_password(cli, &password, &is_made, err);
    if (rc)
        return rc;
    json_put_string(body, "name", cli_word(cli, 0));
    json_put_string(body, "role", role ? role : "user");
    json_put_string(body, "full_name", opt_get(&cli->given, "full-name"));
    put_password(cli, body, password);
    rc = cli_client_call(cli->client,
                         &(struct cli_request){.method = "POST", .path = "/v2/users", .body = body, .has_secret_body = true},
                         &answer, err);
    json_wipe_string(json_object_get(body, "password"));
    if (!rc && is_made)
        tell_password(cli, answer, cli_word(cli, 0), password);
    if (!rc)
        rc = show_object(cli, answer, cli->command->object, err);
    json_wipe_string(json_object_get(answer, "one_time_password"));
    return rc;
}

/* -- passwords -------------------------------------------------------------------------------------------------------------- */

static int reset_password(struct cli *cli, const char *ref, struct err *err) {
    _cleanup_json_ json_t *user = NULL, *body = json_object(), *told = json_object();
    _cleanup_secret_ char *password = NULL;
    _cleanup_free_ char *path = NULL;
    bool is_made = false;
    int rc = check_keep(cli, err);
    if (!rc)
        rc = cli_find(cli, &cli_users, ref, &user, err);
    if (!rc)
        rc = take_password(cli, &password, &is_made, err);
    if (rc)
        return rc;
    put_password(cli, body, password);
    path = cli_path_of("users", user, "password");
    rc = cli_client_call(cli->client,
                         &(struct cli_request){.method = "POST", .path = path, .body = body, .has_secret_body = true}, NULL, err);
    json_wipe_string(json_object_get(body, "password"));
    if (!rc)
        show_line(cli, "the password of %s is set; all sessions of %s have ended", json_get_string(user, "name"),
                  json_get_string(user, "name"));
    if (!rc && is_made)
        tell_password(cli, told, json_get_string(user, "name"), password);
    if (!rc && cli->is_json)
        rc = show_json(cli, told, err);
    json_wipe_string(json_object_get(told, "one_time_password"));
    return rc;
}

/* Asked twice, since it cannot be seen; a file is taken as it is. */
static int ask_new(struct cli *cli, char **out, struct err *err) {
    const char *file = opt_get(&cli->given, "password-file");
    _cleanup_secret_ char *first = NULL, *second = NULL;
    int rc = cli_get_password(cli, file, "New password: ", &first, err);
    if (!rc && !file)
        rc = cli_get_password(cli, NULL, "New password again: ", &second, err);
    if (!rc && !file && !str_eq(first, second))
        rc = err_set(err, ERR_INVALID, "the two are not the same; nothing was changed");
    if (!rc)
        *out = STEAL(first);
    return rc;
}

/* The old password is the one by which the sign-on is made: it is asked for once. */
static int sign_in_by_old(struct cli *cli, struct err *err) {
    const char *file = opt_get(&cli->given, "old-password-file");
    int rc = file ? cli_get_password(cli, file, NULL, &cli->password, err) : 0;
    return rc ? rc : cli_connect(cli, err);
}

static int change_own(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object();
    _cleanup_secret_ char *fresh = NULL;
    int rc = sign_in_by_old(cli, err);
    if (!rc)
        rc = ask_new(cli, &fresh, err);
    if (rc)
        return rc;
    json_put_string(body, "old_password", cli->password);
    json_put_string(body, "new_password", fresh);
    rc = cli_client_call(cli->client,
                         &(struct cli_request){.method = "POST", .path = "/v2/password", .body = body, .has_secret_body = true},
                         NULL, err);
    json_wipe_string(json_object_get(body, "old_password"));
    json_wipe_string(json_object_get(body, "new_password"));
    if (!rc)
        show_line(cli, "your password is changed; your other sessions have ended");
    return rc;
}

int cmd_user_password(struct cli *cli, struct err *err) {
    const char *ref = cli_word(cli, 0);
    if (ref)
        return reset_password(cli, ref, err);
    if (!opt_get_common(&cli->given, "server"))
        return cli_usage(cli, err, "whose? Give a user, or --server URL --user NAME before the command for your own password");
    return change_own(cli, err);
}
