/* kaasctl vcenter register and unregister: with an account of the vCenter that is used once. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_find.h"
#include "cli_registration_view.h"
#include "cli_show.h"
#include "cli_status_view.h"
#include "secret.h"
#include "str.h"

#define ROLE_NAME_DEFAULT "Harmony KaaS"

static bool has(const struct cli *cli, const char *option) {
    return opt_get(&cli->given, option) != NULL;
}

static int ask_password(struct cli *cli, const char *user, const char *file, const json_t *vcenter, char **out, struct err *err) {
    _cleanup_free_ char *question = str_format("Password of %s at vCenter %s: ", user, json_get_string(vcenter, "name"));
    return cli_get_password(cli, opt_get(&cli->given, file), question, out, err);
}

static int put_account(struct cli *cli, json_t *body, const char *user, const char *file, const json_t *vcenter,
                       struct err *err) {
    _cleanup_secret_ char *password = NULL;
    int rc = ask_password(cli, user, file, vcenter, &password, err);
    if (rc)
        return rc;
    json_put_string(body, "username", user);
    json_put_string(body, "password", password);
    return 0;
}

/* The account that kaasd may keep, for vCenters where certificates cannot log in. */
static int put_login_account(struct cli *cli, json_t *body, const json_t *vcenter, struct err *err) {
    const char *account = opt_get(&cli->given, "login-account"), *service = opt_get(&cli->given, "service-account");
    _cleanup_json_ json_t *login = json_object();
    int rc;
    if (!account && !service)
        return 0;
    if (account && service)
        return cli_usage(cli, err, "give either --service-account or --login-account, not both");
    json_put_string(login, "kind", service ? "service_account" : "account");
    rc = put_account(cli, login, service ? service : account, "login-password-file", vcenter, err);
    if (!rc)
        (void)json_object_set(body, "login_account", login);
    return rc;
}

/* Passwords go into the body only and are wiped there. */
static int send(struct cli *cli, const json_t *vcenter, const char *verb, json_t *body, json_t **answer, struct err *err) {
    _cleanup_free_ char *path = cli_path_of("vcenters", vcenter, verb);
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    return cli_client_call(
        cli->client, &(struct cli_request){.method = "POST", .path = path, .body = body, .has_secret_body = true}, answer, err);
}

static void wipe(json_t *body) {
    json_wipe_string(json_object_get(body, "password"));
    json_wipe_string(json_object_get(json_object_get(body, "login_account"), "password"));
}

/* -- register --------------------------------------------------------------------------------------------------------------- */

static int put_role(struct cli *cli, json_t *body, struct err *err) {
    const char *name = opt_get(&cli->given, "create-role");
    bool with_provisioning = has(cli, "with-provisioning");
    _cleanup_free_ char *question = NULL;
    int rc;
    if (!name)
        return with_provisioning ? cli_usage(cli, err, "--with-provisioning says what a role gets: add --create-role") : 0;
    name = *name ? name : ROLE_NAME_DEFAULT;
    json_put_string(body, "create_role", name);
    json_put_bool(body, "with_provisioning", with_provisioning);
    rc = registration_view_role(name, with_provisioning, err);
    if (rc || has(cli, "dry-run"))
        return rc;
    question = str_format("Make this role? Type yes: ");
    return question ? cli_confirm(cli, question, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* Whose record it is, and what becomes of it, before it is overwritten. */
static int confirm_take_over(struct cli *cli, const json_t *vcenter, json_t *body, struct err *err) {
    _cleanup_json_ json_t *found = NULL;
    _cleanup_free_ char *whose = NULL;
    int rc;
    json_put_bool(body, "dry_run", true);
    rc = send(cli, vcenter, "register", body, &found, err);
    json_put_bool(body, "dry_run", false);
    if (rc || !str_eq(json_get_string(found, "record"), "foreign"))
        return rc;
    whose = registration_view_found(found);
    rc = registration_view_members(cli, found, false, err);
    cli_note("At vCenter %s %s. It would become:\n%s\n", json_get_string(vcenter, "name"), whose ? whose : "", cli->out.data);
    strbuf_reset(&cli->out);
    return rc ? rc : cli_confirm(cli, "That installation will not be able to log in any more. Overwrite it? Type yes: ", err);
}

static int make_body(struct cli *cli, const json_t *vcenter, json_t *body, struct err *err) {
    int rc = put_role(cli, body, err);
    if (!rc)
        rc = put_account(cli, body, opt_get(&cli->given, "user"), "password-file", vcenter, err);
    if (!rc)
        rc = put_login_account(cli, body, vcenter, err);
    if (has(cli, "take-over"))
        json_put_bool(body, "take_over", true);
    if (has(cli, "dry-run"))
        json_put_bool(body, "dry_run", true);
    if (!rc && has(cli, "take-over") && !has(cli, "dry-run"))
        rc = confirm_take_over(cli, vcenter, body, err);
    return rc;
}

static int show_registered(struct cli *cli, const json_t *status, struct err *err) {
    const char *strategy = json_get_string(json_object_get(status, "login"), "strategy");
    bool is_account = strategy && !str_starts(strategy, "certificate");
    if (cli->is_json)
        return show_json(cli, status, err);
    show_line(cli, "registered at vCenter %s; from now on kaasd signs in with its own %s", json_get_string(status, "name"),
              is_account ? "account, which works but is less safe than a certificate" : "certificate");
    if (has(cli, "create-role"))
        show_line(cli, "the role is made%s",
                  has(cli, "login-account") || has(cli, "service-account") ? " and granted to the account on the root folder"
                                                                           : "; nobody has it yet");
    return status_view_write(cli, status, err);
}

int cmd_vcenter_register(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *answer = NULL, *body = json_object();
    int rc;
    if (has(cli, "ovf-env"))
        return cmd_vcenter_register_ovf(cli, err);
    if (!cli_word(cli, 0))
        return cli_usage(cli, err, "which vCenter? kaasctl vcenter register VCENTER --user NAME");
    if (!has(cli, "user"))
        return cli_usage(cli, err, "whose account of the vCenter is to be used? add --user NAME");
    rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (!rc)
        rc = make_body(cli, vcenter, body, err);
    if (!rc)
        rc = send(cli, vcenter, "register", body, &answer, err);
    wipe(body);
    if (rc)
        return rc;
    if (!has(cli, "dry-run"))
        return show_registered(cli, answer, err);
    return cli->is_json ? show_json(cli, answer, err) : registration_view_write(cli, vcenter, answer, err);
}

/* -- unregister ------------------------------------------------------------------------------------------------------------- */

static int show_unregistered(struct cli *cli, const json_t *vcenter, const json_t *answer, struct err *err) {
    if (cli->is_json)
        return show_json(cli, answer, err);
    if (has(cli, "dry-run"))
        return registration_view_write(cli, vcenter, answer, err);
    show_line(cli, "the extension %s is removed from vCenter %s; the vCenter stays configured",
              json_get_string(answer, "extension_key"), json_get_string(vcenter, "name"));
    registration_view_left(cli, answer);
    return 0;
}

static int confirm_unregister(struct cli *cli, const json_t *vcenter, struct err *err) {
    _cleanup_free_ char *question =
        str_format("Remove the extension from vCenter %s, so that its people and kaasd cannot sign in by it any more? Type yes: ",
                   json_get_string(vcenter, "name"));
    return question ? cli_confirm(cli, question, err) : err_set(err, ERR_NOMEM, "out of memory");
}

int cmd_vcenter_unregister(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *answer = NULL, *body = json_object();
    const char *user = opt_get(&cli->given, "user");
    int rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (!rc && !has(cli, "dry-run"))
        rc = confirm_unregister(cli, vcenter, err);
    if (!rc && user)
        rc = put_account(cli, body, user, "password-file", vcenter, err);
    if (has(cli, "dry-run"))
        json_put_bool(body, "dry_run", true);
    if (!rc)
        rc = send(cli, vcenter, "unregister", body, &answer, err);
    wipe(body);
    return rc ? rc : show_unregistered(cli, vcenter, answer, err);
}
