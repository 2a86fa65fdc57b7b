/* kaasctl vcenter register and unregister: with an account of the vCenter that is used once, or with the one-time token of a solution install.
 * Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "cli_command.h"
#include "cli_table.h"
#include "fsutil.h"
#include "secret.h"
#include "str.h"

#define ROLE_NAME_DEFAULT "Harmony KaaS"
#define ENVIRONMENT_BYTES_MAX 262144U

/* -- what registering finds and does, for people ---------------------------------------------------------------------------------- */

enum set { READING, PROVISIONING };

/* The same list that kaasd gives to vCenter. */
static const struct {
    const char *id;
    enum set set;
    const char *why;
} cmd_register_privileges[] = {
#define ROLE_PRIVILEGE(id, set, why) {id, set, why},
#include "role.def"
#undef ROLE_PRIVILEGE
};

static void cmd_register_add_privileges(struct table *t, enum set set) {
    for (size_t i = 0; i < ARRAY_COUNT(cmd_register_privileges); i++) {
        if (cmd_register_privileges[i].set != set)
            continue;
        table_add(t, cmd_register_privileges[i].id);
        table_add(t, cmd_register_privileges[i].why);
    }
}

static int cmd_register_write_privileges(struct strbuf *out, enum set set, struct err *err) {
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 2);
    cmd_register_add_privileges(&t, set);
    return table_write(&t, out, err);
}

/* Tells at once, on standard error, which privileges the role gets and why: reading and provisioning apart. */
static int cmd_register_note_role(const char *name, bool with_provisioning, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, 65536);
    strbuf_addf(&text, "The role \"%s\" gets, beside what every role can see:\n\nFor reading and for its own registration\n",
                name);
    rc = cmd_register_write_privileges(&text, READING, err);
    if (rc)
        return rc;
    if (with_provisioning) {
        strbuf_adds(&text, "\nFor provisioning\n");
        rc = cmd_register_write_privileges(&text, PROVISIONING, err);
        if (rc)
            return rc;
    } else {
        strbuf_adds(&text, "\nNothing for provisioning; add that by --with-provisioning.\n");
    }
    rc = strbuf_check(&text, "list of privileges", err);
    if (!rc)
        cli_note("%s\n", text.data);
    return rc;
}

/* One sentence about the record that was found, and whose it is. Caller frees; NULL without memory. */
static char *cmd_register_found(const json_t *registration) {
    const char *key = json_get_string(registration, "extension_key"), *record = json_get_string(registration, "record"),
               *owner = json_get_string(registration, "owner");
    if (str_eq(record, "missing"))
        return str_format("there is no extension %s", key);
    if (str_eq(record, "foreign") && owner)
        return str_format("the extension %s belongs to another installation of Harmony KaaS (%s)", key, owner);
    if (str_eq(record, "foreign"))
        return str_format("the extension %s was not written by Harmony KaaS", key);
    return str_format("the extension %s is ours%s", key,
                      str_eq(record, "outdated") ? ", but differs from what it should be" : "");
}

static bool cmd_register_is_changed(const json_t *member) {
    return !str_eq(json_get_string(member, "now"), json_get_string(member, "wanted"));
}

static void cmd_register_add_member(struct table *t, const json_t *member) {
    const char *now = json_get_string(member, "now"), *wanted = json_get_string(member, "wanted");
    const char *kept = json_get_bool(member, "kept", false) ? " (not ours, kept)" : "";
    table_add(t, !cmd_register_is_changed(member) ? "=" : !now ? "+" : !wanted ? "-" : "~");
    table_add(t, json_get_string(member, "member"));
    if (now && wanted && cmd_register_is_changed(member))
        table_addf(t, "%s -> %s", now, wanted);
    else
        table_addf(t, "%s%s", wanted ? wanted : now, kept);
}

/* The members of the record that would be changed or lost; with `is_whole` all of them. */
static int cmd_register_show_members(struct cli *cli, const json_t *registration, bool is_whole, struct err *err) {
    const json_t *member;
    _cleanup_table_ struct table t;
    size_t i, added = 0;
    int rc;
    table_init_plain(&t, 3, 2);
    json_array_foreach (json_object_get(registration, "members"), i, member)
        if (is_whole || (cmd_register_is_changed(member) && json_get_string(member, "now")))
            cmd_register_add_member(&t, member);
        else
            added += cmd_register_is_changed(member);
    rc = table_write(&t, &cli->out, err);
    if (!rc && added)
        show_line(cli, "  and %zu new members; --dry-run shows all", added);
    return rc;
}

static void cmd_register_write_title(struct cli *cli, const char *title) {
    if (!cli->is_json)
        strbuf_addc(&cli->out, '\n');
    show_line(cli, "%s", title);
}

static int cmd_register_write_strategies(struct cli *cli, const json_t *list, struct err *err) {
    const json_t *way;
    _cleanup_table_ struct table t;
    size_t i;
    table_init_plain(&t, 2, 2);
    if (!json_array_size(list))
        return 0;
    json_array_foreach (list, i, way) {
        const char *reason = json_get_string(way, "reason");
        table_add(&t, json_get_string(way, "name"));
        table_addf(&t, "%s%s%s", json_get_bool(way, "works", false) ? "works" : "does not work", reason ? ": " : "",
                   reason ? reason : "");
    }
    cmd_register_write_title(cli, "Ways to log in");
    return table_write(&t, &cli->out, err);
}

static void cmd_register_write_steps(struct cli *cli, const json_t *list) {
    const json_t *step;
    size_t i;
    cmd_register_write_title(cli, "Without --dry-run these steps would follow");
    json_array_foreach (list, i, step)
        show_line(cli, "  %zu. %s", i + 1, json_string_value(step));
}

static int cmd_register_show_dry_run(struct cli *cli, const json_t *vcenter, const json_t *registration, struct err *err) {
    bool is_joining = json_array_size(json_object_get(registration, "strategies")) != 0; /* else the whole record goes */
    _cleanup_free_ char *found = cmd_register_found(registration);
    int rc;
    show_line(cli, "Dry run at vCenter %s (%s) as %s: nothing was changed", json_get_string(vcenter, "name"),
              json_get_string(vcenter, "address"), json_get_string(registration, "account"));
    show_line(cli, "Found: %s", found ? found : "");
    rc = cmd_register_write_strategies(cli, json_object_get(registration, "strategies"), err);
    if (rc)
        return rc;
    if (is_joining) {
        cmd_register_write_title(cli, "Record (= as it is, + added, - removed, ~ changed)");
        rc = cmd_register_show_members(cli, registration, true, err);
        if (rc)
            return rc;
    }
    cmd_register_write_steps(cli, json_object_get(registration, "steps"));
    return 0;
}

static void cmd_register_show_left(struct cli *cli, const json_t *registration) {
    const json_t *left = json_object_get(registration, "left"), *item;
    size_t i;
    if (json_array_size(left))
        show_line(cli, "left at the vCenter:");
    json_array_foreach (left, i, item)
        show_line(cli, "  %s", json_string_value(item));
}

/* -- by the token of a solution install --------------------------------------------------------------------------------------------- */

static void cmd_ovf_show_sentences(struct cli *cli, const char *title, const json_t *list) {
    const json_t *item;
    size_t i;
    show_line(cli, "%s", title);
    json_array_foreach (list, i, item)
        show_line(cli, "  %s", json_string_value(item));
}

static int cmd_ovf_show_result(struct cli *cli, const json_t *answer, struct err *err) {
    const json_t *vcenter = json_object_get(answer, "vcenter");
    const char *name = json_get_string(vcenter, "name");
    if (cli->is_json)
        return show_json(cli, answer, err);
    show_line(cli, "the extension is registered at vCenter %s%s", name ? name : json_get_string(answer, "vcenter_id"),
              json_get_bool(answer, "added", false) ? ", which was added with the thumbprint of the OVF environment" : "");
    cmd_ovf_show_sentences(cli, "works now:", json_object_get(answer, "works"));
    cmd_ovf_show_sentences(cli, "remains to be done:", json_object_get(answer, "remaining"));
    return 0;
}

static int cmd_ovf_read_input(struct strbuf *out, struct err *err) {
    char part[4096];
    ssize_t n;
    while ((n = read(STDIN_FILENO, part, sizeof(part))) > 0)
        strbuf_add(out, part, (size_t)n);
    secret_wipe(part, sizeof(part));
    return n < 0 ? err_set(err, ERR_IO, "standard input cannot be read") : strbuf_check(out, "OVF environment", err);
}

/* The token is in the text: it goes into the body only and is wiped there. */
static int cmd_register_by_ovf(struct cli *cli, struct err *err) {
    const char *path = opt_get(&cli->given, "ovf-env");
    _cleanup_json_ json_t *answer = NULL, *body = json_object();
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init_secret(&text, ENVIRONMENT_BYTES_MAX);
    if (cli_word(cli, 0) || opt_get(&cli->given, "user"))
        return cli_usage(cli, err, "--ovf-env tells the vCenter and stands for the account: give neither VCENTER nor --user");
    rc = str_eq(path, "-") ? cmd_ovf_read_input(&text, err) : fs_read_secret(path, &text, err);
    if (rc)
        return rc;
    rc = cli_connect(cli, err);
    if (rc)
        return rc;
    json_put_string(body, "ovf_environment", text.data);
    if (!json_get_string(body, "ovf_environment"))
        return err_set(err, ERR_INVALID, "the OVF environment is not a UTF-8 text");
    rc = cli_client_call(
        cli->client,
        &(struct cli_request){.method = "POST", .path = "/v2/solution-installs", .body = body, .has_secret_body = true}, &answer,
        err);
    json_wipe_string(json_object_get(body, "ovf_environment"));
    return rc ? rc : cmd_ovf_show_result(cli, answer, err);
}

/* -- accounts ---------------------------------------------------------------------------------------------------------------------- */

static bool cmd_register_has(const struct cli *cli, const char *option) {
    return opt_get(&cli->given, option) != NULL;
}

static int cmd_register_put_account(struct cli *cli, json_t *body, const char *user, const char *file, const json_t *vcenter,
                                    struct err *err) {
    _cleanup_free_ char *question = str_format("Password of %s at vCenter %s: ", user, json_get_string(vcenter, "name"));
    _cleanup_secret_ char *password = NULL;
    int rc = cli_get_password(cli, opt_get(&cli->given, file), question, &password, err);
    if (rc)
        return rc;
    json_put_string(body, "username", user);
    json_put_string(body, "password", password);
    return 0;
}

/* The account that kaasd may keep, for vCenters where certificates cannot log in. */
static int cmd_register_put_login_account(struct cli *cli, json_t *body, const json_t *vcenter, struct err *err) {
    const char *account = opt_get(&cli->given, "login-account"), *service = opt_get(&cli->given, "service-account");
    _cleanup_json_ json_t *login = json_object();
    int rc;
    if (!account && !service)
        return 0;
    if (account && service)
        return cli_usage(cli, err, "give either --service-account or --login-account, not both");
    json_put_string(login, "kind", service ? "service_account" : "account");
    rc = cmd_register_put_account(cli, login, service ? service : account, "login-password-file", vcenter, err);
    if (!rc)
        (void)json_object_set(body, "login_account", login);
    return rc;
}

/* Passwords are in the body only, and are wiped there. */
static void cmd_register_body_done(json_t **body) {
    json_wipe_string(json_object_get(*body, "password"));
    json_wipe_string(json_object_get(json_object_get(*body, "login_account"), "password"));
    json_decref(*body);
}

#define _cleanup_body_ __attribute__((cleanup(cmd_register_body_done)))

/* -- register --------------------------------------------------------------------------------------------------------------------- */

static int cmd_register_put_role(struct cli *cli, json_t *body, struct err *err) {
    const char *name = opt_get(&cli->given, "create-role");
    bool with_provisioning = cmd_register_has(cli, "with-provisioning");
    int rc;
    if (!name)
        return with_provisioning ? cli_usage(cli, err, "--with-provisioning says what a role gets: add --create-role") : 0;
    name = *name ? name : ROLE_NAME_DEFAULT;
    json_put_string(body, "create_role", name);
    json_put_bool(body, "with_provisioning", with_provisioning);
    rc = cmd_register_note_role(name, with_provisioning, err);
    return rc || cmd_register_has(cli, "dry-run") ? rc : cli_confirm(cli, "Make this role? Type yes: ", err);
}

/* Whose record it is, and what becomes of it, before it is overwritten. */
static int cmd_register_confirm_take_over(struct cli *cli, const json_t *vcenter, json_t *body, struct err *err) {
    _cleanup_json_ json_t *found = NULL;
    _cleanup_free_ char *whose = NULL;
    int rc;
    json_put_bool(body, "dry_run", true);
    rc = cli_call(cli, vcenter, body, &found, err);
    json_put_bool(body, "dry_run", false);
    if (rc || !str_eq(json_get_string(found, "record"), "foreign"))
        return rc;
    whose = cmd_register_found(found);
    rc = cmd_register_show_members(cli, found, false, err);
    cli_note("At vCenter %s %s. It would become:\n%s\n", json_get_string(vcenter, "name"), whose ? whose : "", cli->out.data);
    strbuf_reset(&cli->out);
    return rc ? rc : cli_confirm(cli, "That installation will not be able to log in any more. Overwrite it? Type yes: ", err);
}

static int cmd_register_make_body(struct cli *cli, const json_t *vcenter, json_t *body, struct err *err) {
    int rc = cmd_register_put_role(cli, body, err);
    if (rc)
        return rc;
    rc = cmd_register_put_account(cli, body, opt_get(&cli->given, "user"), "password-file", vcenter, err);
    if (rc)
        return rc;
    rc = cmd_register_put_login_account(cli, body, vcenter, err);
    if (rc)
        return rc;
    rc = cli_put_options(cli, body, err);
    if (rc)
        return rc;
    if (cmd_register_has(cli, "take-over") && !cmd_register_has(cli, "dry-run"))
        return cmd_register_confirm_take_over(cli, vcenter, body, err);
    return 0;
}

static int cmd_register_show_registered(struct cli *cli, const json_t *status, struct err *err) {
    const char *strategy = json_get_string(json_object_get(status, "login"), "strategy");
    bool is_account = strategy && !str_starts(strategy, "certificate");
    if (cli->is_json)
        return show_json(cli, status, err);
    show_line(cli, "registered at vCenter %s; from now on kaasd signs in with its own %s", json_get_string(status, "name"),
              is_account ? "account, which works but is less safe than a certificate" : "certificate");
    if (cmd_register_has(cli, "create-role"))
        show_line(cli, "the role is made%s",
                  cmd_register_has(cli, "login-account") || cmd_register_has(cli, "service-account")
                      ? " and granted to the account on the root folder"
                      : "; nobody has it yet");
    return cmd_vcenter_show_status(cli, status, err);
}

int cmd_vcenter_register(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *answer = NULL;
    _cleanup_body_ json_t *body = json_object();
    int rc;
    if (cmd_register_has(cli, "ovf-env"))
        return cmd_register_by_ovf(cli, err);
    if (!cli_word(cli, 0))
        return cli_usage(cli, err, "which vCenter? kaasctl vcenter register VCENTER --user NAME");
    if (!cmd_register_has(cli, "user"))
        return cli_usage(cli, err, "whose account of the vCenter is to be used? add --user NAME");
    rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (rc)
        return rc;
    rc = cmd_register_make_body(cli, vcenter, body, err);
    if (rc)
        return rc;
    rc = cli_call(cli, vcenter, body, &answer, err);
    if (rc)
        return rc;
    if (!cmd_register_has(cli, "dry-run"))
        return cmd_register_show_registered(cli, answer, err);
    return cli->is_json ? show_json(cli, answer, err) : cmd_register_show_dry_run(cli, vcenter, answer, err);
}

/* -- unregister ------------------------------------------------------------------------------------------------------------------- */

int cmd_vcenter_unregister(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *answer = NULL;
    _cleanup_body_ json_t *body = json_object();
    const char *user = opt_get(&cli->given, "user");
    int rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (rc)
        return rc;
    rc = cmd_register_has(cli, "dry-run") ? 0 : cli_ask(cli, vcenter, err);
    if (rc)
        return rc;
    rc = user ? cmd_register_put_account(cli, body, user, "password-file", vcenter, err) : 0;
    if (rc)
        return rc;
    rc = cli_put_options(cli, body, err);
    if (rc)
        return rc;
    rc = cli_call(cli, vcenter, body, &answer, err);
    if (rc)
        return rc;
    if (cli->is_json)
        return show_json(cli, answer, err);
    if (cmd_register_has(cli, "dry-run"))
        return cmd_register_show_dry_run(cli, vcenter, answer, err);
    show_line(cli, "the extension %s is removed from vCenter %s; the vCenter stays configured",
              json_get_string(answer, "extension_key"), json_get_string(vcenter, "name"));
    cmd_register_show_left(cli, answer);
    return 0;
}
