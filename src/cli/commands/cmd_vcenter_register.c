/* kaasctl vcenter register and unregister: with an account of the vCenter that is used once, or with the one-time token of a solution install.
 * Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_prompt.h"
#include "fsutil.h"
#include "str.h"

#define ROLE_NAME_DEFAULT "Harmony KaaS"
#define ENVIRONMENT_BYTES_MAX 262144U

/* -- what registering finds and does, for people ---------------------------------------------------------------------------------- */

enum set { ON_ROOT, ON_OBJECTS, TO_PROVISION };

/* The same list that kaasd gives to vCenter. */
static const struct {
    const char *id;
    enum set set;
    const char *why;
} cmd_register_privileges[] = {
#define ROLE_PRIVILEGE(id, set, why) {id, set, why},
#include "role.def"
#undef ROLE_PRIVILEGE
#define PROVISION_PRIVILEGE(id, place, why) {id, TO_PROVISION, why},
#include "provision_role.def"
#undef PROVISION_PRIVILEGE
};

static void cmd_register_write_privileges(struct strbuf *out, enum set set) {
    _cleanup_table_ struct table t;
    table_init(&t, 2, 2);
    for (size_t i = 0; i < ARRAY_COUNT(cmd_register_privileges); i++)
        if (cmd_register_privileges[i].set == set)
            table_pair(&t, cmd_register_privileges[i].id, cmd_register_privileges[i].why);
    (void)table_write(&t, out, NULL);
}

enum role_reach { ROLE_ON_USED, ROLE_ON_NAMED, ROLE_EVERYWHERE };

/* A / stands alone. */
static enum role_reach cmd_register_reach(const struct cli *cli) {
    const char *on = opt_get(&cli->given, "on");
    if (on)
        return str_eq(on, "/") ? ROLE_EVERYWHERE : ROLE_ON_NAMED;
    return opt_get(&cli->given, "login-account") || opt_get(&cli->given, "service-account") ? ROLE_ON_USED : ROLE_EVERYWHERE;
}

static void cmd_register_write_objects(struct strbuf *text, const char *name, const json_t *on) {
    const json_t *path;
    size_t i;
    strbuf_addf(text, "\nA role \"%s (objects)\", propagating, on\n", name);
    json_array_foreach (on, i, path)
        strbuf_addf(text, "  %s\n", json_string_value(path));
    if (!on)
        strbuf_adds(text, "  each vSphere cluster that has an HX cluster or Kubernetes clusters (--dry-run names them)\n");
    strbuf_adds(text, "What lies elsewhere kaasd does not see then, and does not manage. It gets\n");
}

/* Tells at once, on standard error, which privileges the role gets and why, and where. */
static void cmd_register_note_role(const struct cli *cli, const char *name, const json_t *on) {
    const enum role_reach reach = cmd_register_reach(cli);
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, 65536);
    strbuf_addf(&text, "The role \"%s\" gets, beside what every role can see:\n\nOn the root folder%s\n", name,
                reach == ROLE_EVERYWHERE ? ", and so everywhere" : ", not propagating");
    cmd_register_write_privileges(&text, ON_ROOT);
    if (reach != ROLE_EVERYWHERE)
        cmd_register_write_objects(&text, name, on);
    cmd_register_write_privileges(&text, ON_OBJECTS);
    if (opt_get(&cli->given, "with-provisioning"))
        cmd_register_write_privileges(&text, TO_PROVISION);
    cli_note("%s\n", text.data);
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

static const char *cmd_register_sign(const json_t *member) {
    return !cmd_register_is_changed(member)     ? "="
           : !json_get_string(member, "now")    ? "+"
           : !json_get_string(member, "wanted") ? "-"
                                                : "~";
}

static void cmd_register_add_member(struct table *t, const json_t *member) {
    const char *now = json_get_string(member, "now"), *wanted = json_get_string(member, "wanted");
    const char *kept = json_get_bool(member, "kept", false) ? " (not ours, kept)" : "";
    table_add(t, cmd_register_sign(member));
    table_add(t, json_get_string(member, "member"));
    if (now && wanted && cmd_register_is_changed(member))
        table_addf(t, "%s -> %s", now, wanted);
    else
        table_addf(t, "%s%s", wanted ? wanted : now, kept);
}

/* How many members from `i` on are texts of one language and module ("resourceList[en/event].") that would fare alike. */
static size_t cmd_register_count_texts(const json_t *members, size_t i) {
    const json_t *first = json_array_get(members, i), *next;
    const char *name = json_get_string(first, "member"), *end = name ? strchr(name, ']') : NULL;
    size_t n = 1;
    if (!end || !str_starts(name, "resourceList[") || str_eq(cmd_register_sign(first), "~"))
        return 1;
    while ((next = json_array_get(members, i + n)) && str_eq(cmd_register_sign(next), cmd_register_sign(first)) &&
           !strncmp(json_get_string(next, "member"), name, (size_t)(end - name) + 1))
        n++;
    return n;
}

/* The hundreds of texts of a record are for its readers, in their languages: a line for each group that fares alike. */
static void cmd_register_add_texts(struct table *t, const json_t *first, size_t n) {
    const char *name = json_get_string(first, "member");
    table_add(t, cmd_register_sign(first));
    table_addf(t, "%.*s]", (int)strcspn(name, "]"), name);
    table_addf(t, "%zu texts (--output json shows them)", n);
}

static void cmd_register_add_all(struct table *t, const json_t *members) {
    for (size_t i = 0, n; i < json_array_size(members); i += n) {
        n = cmd_register_count_texts(members, i);
        if (n > 1)
            cmd_register_add_texts(t, json_array_get(members, i), n);
        else
            cmd_register_add_member(t, json_array_get(members, i));
    }
}

/* The members of the record that would be changed or lost; with `is_whole` all of them. */
static int cmd_register_show_members(struct cli *cli, const json_t *registration, bool is_whole, struct err *err) {
    const json_t *members = json_object_get(registration, "members"), *member;
    _cleanup_table_ struct table t;
    size_t i, added = 0;
    int rc;
    table_init(&t, 3, 2);
    if (is_whole)
        cmd_register_add_all(&t, members);
    else
        json_array_foreach (members, i, member)
            if (cmd_register_is_changed(member) && json_get_string(member, "now"))
                cmd_register_add_member(&t, member);
            else
                added += cmd_register_is_changed(member);
    rc = table_write(&t, &cli->out, err);
    if (!rc && added)
        show_line(cli, "  and %zu new members; --dry-run shows all", added);
    return rc;
}

static int cmd_register_show_dry_run(struct cli *cli, const json_t *registration, struct err *err) {
    const json_t *strategies = json_object_get(registration, "strategies"), *step;
    _cleanup_free_ char *found = cmd_register_found(registration);
    _cleanup_table_ struct table ways = {0};
    size_t i;
    int rc;
    show_line(cli, "Dry run at vCenter %s (%s) as %s: nothing was changed", json_get_string(cli->object, "name"),
              json_get_string(cli->object, "address"), json_get_string(registration, "account"));
    show_line(cli, "Found: %s", found ? found : "");
    if (json_array_size(strategies)) { /* else the whole record goes */
        table_init(&ways, 2, 2);
        cmd_vcenter_add_ways(&ways, "", strategies);
        show_gap(cli);
        show_line(cli, "Ways to log in");
        rc = table_write(&ways, &cli->out, err);
        if (rc)
            return rc;
        show_gap(cli);
        show_line(cli, "Record (= as it is, + added, - removed, ~ changed)");
        rc = cmd_register_show_members(cli, registration, true, err);
        if (rc)
            return rc;
    }
    show_gap(cli);
    show_line(cli, "Without --dry-run these steps would follow");
    json_array_foreach (json_object_get(registration, "steps"), i, step)
        show_line(cli, "  %zu. %s", i + 1, json_string_value(step));
    return 0;
}

/* -- by the token of a solution install --------------------------------------------------------------------------------------------- */

static void cmd_register_show_ovf(struct cli *cli, const json_t *answer) {
    const char *name = json_get_string(json_object_get(answer, "vcenter"), "name");
    show_line(cli, "the extension is registered at vCenter %s%s", name ? name : json_get_string(answer, "vcenter_id"),
              json_get_bool(answer, "added", false) ? ", which was added with the thumbprint of the OVF environment" : "");
    show_lines(cli, "works now:", json_object_get(answer, "works"));
    show_lines(cli, "remains to be done:", json_object_get(answer, "remaining"));
}

/* The token is in the text. */
static int cmd_register_by_ovf(struct cli *cli, json_t *body, struct err *err) {
    const char *path = opt_get(&cli->given, "ovf-env");
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init_secret(&text, ENVIRONMENT_BYTES_MAX);
    if (cli_word(cli, 0) || opt_get(&cli->given, "user"))
        return cli_usage(cli, err, "--ovf-env tells the vCenter and stands for the account: give neither VCENTER nor --user");
    if (opt_get(&cli->given, "create-role") || opt_get(&cli->given, "create-alarms") || opt_get(&cli->given, "dry-run"))
        return cli_usage(cli, err,
                         "--ovf-env has a token that may register and nothing else: give --create-role, --create-alarms and "
                         "--dry-run with an account, in a run of 'kaasctl vcenter register VCENTER --user NAME'");
    rc = str_eq(path, "-") ? prompt_read_input(&text, err) : fs_read_secret_text(path, &text, err);
    if (rc)
        return rc;
    (void)json_object_clear(body);
    json_put_string(body, "ovf_environment", text.data);
    cli->call = "POST /v2/solution-installs";
    return json_object_size(body) ? 0 : err_set(err, ERR_INVALID, "the OVF environment is not a UTF-8 text");
}

/* -- register --------------------------------------------------------------------------------------------------------------------- */

static int cmd_register_put_account(struct cli *cli, json_t *body, const char *user, const char *file, struct err *err) {
    _cleanup_free_ char *whose = str_format("Password of %s", user);
    json_put_string(body, "username", user);
    return cmd_vcenter_put_password(cli, body, whose, file, err);
}

/* The account that kaasd may keep, for vCenters where certificates cannot log in. */
static int cmd_register_put_login_account(struct cli *cli, json_t *body, struct err *err) {
    const char *account = opt_get(&cli->given, "login-account"), *service = opt_get(&cli->given, "service-account");
    json_t *login = json_object();
    (void)json_object_set_new(body, "login_account", login);
    if (account && service)
        return cli_usage(cli, err, "give either --service-account or --login-account, not both");
    json_put_string(login, "kind", service ? "service_account" : "account");
    return cmd_register_put_account(cli, login, service ? service : account, "login-password-file", err);
}

static int cmd_register_put_role(struct cli *cli, json_t *body, struct err *err) {
    const char *name = opt_get(&cli->given, "create-role");
    const json_t *on = json_object_get(body, "role_on"), *path;
    size_t i;
    if (!name && on)
        return cli_usage(cli, err, "--on says where a role is given: add --create-role");
    if (opt_get(&cli->given, "with-provisioning") && (!name || (!on && cmd_register_reach(cli) != ROLE_EVERYWHERE)))
        return cli_usage(
            cli, err,
            "--with-provisioning is about the role of --create-role, and needs --on PATH where an account gets it: folder, "
            "datastore, network and template lie outside of vSphere clusters");
    json_array_foreach (on, i, path)
        if (str_eq(json_string_value(path), "/") && json_array_size(on) > 1)
            return cli_usage(cli, err, "--on / is all of the vCenter: name nothing beside it");
    if (on && !opt_get(&cli->given, "login-account") && !opt_get(&cli->given, "service-account"))
        return cli_usage(cli, err, "--on says where an account gets the role: add --login-account or --service-account");
    if (!name)
        return 0;
    name = *name ? name : ROLE_NAME_DEFAULT;
    json_put_string(body, "create_role", name);
    cmd_register_note_role(cli, name, on);
    return opt_get(&cli->given, "dry-run") ? 0 : cli_confirm(cli, "Make this role? Type yes: ", err);
}

/* Whose record it is, and what becomes of it, before it is overwritten. */
static int cmd_register_confirm_take_over(struct cli *cli, json_t *body, struct err *err) {
    _cleanup_json_ json_t *found = NULL;
    _cleanup_free_ char *whose = NULL;
    int rc;
    json_put_bool(body, "dry_run", true);
    rc = cli_call(cli, body, &found, err);
    json_put_bool(body, "dry_run", false);
    if (rc || !str_eq(json_get_string(found, "record"), "foreign"))
        return rc;
    whose = cmd_register_found(found);
    rc = cmd_register_show_members(cli, found, false, err);
    cli_note("At vCenter %s %s. It would become:\n%s\n", json_get_string(cli->object, "name"), whose ? whose : "", cli->out.data);
    strbuf_reset(&cli->out);
    return rc ? rc : cli_confirm(cli, "That installation will not be able to log in any more. Overwrite it? Type yes: ", err);
}

int cmd_vcenter_register(struct cli *cli, json_t *body, struct err *err) {
    const char *user = opt_get(&cli->given, "user");
    int rc;
    if (opt_get(&cli->given, "ovf-env"))
        return cmd_register_by_ovf(cli, body, err);
    if (!cli_word(cli, 0))
        return cli_usage(cli, err, "which vCenter? kaasctl vcenter register VCENTER --user NAME");
    if (!user)
        return cli_usage(cli, err, "whose account of the vCenter is to be used? add --user NAME");
    rc = cli_find_object(cli, err);
    if (rc)
        return rc;
    rc = cmd_register_put_role(cli, body, err);
    if (rc)
        return rc;
    rc = cmd_register_put_account(cli, body, user, "password-file", err);
    if (rc)
        return rc;
    if (opt_get(&cli->given, "login-account") || opt_get(&cli->given, "service-account"))
        rc = cmd_register_put_login_account(cli, body, err);
    if (rc || !opt_get(&cli->given, "take-over") || opt_get(&cli->given, "dry-run"))
        return rc;
    return cmd_register_confirm_take_over(cli, body, err);
}

int cmd_vcenter_tell_registered(struct cli *cli, json_t *answer, struct err *err) {
    static const char *const granted[] = {
        [ROLE_ON_USED] = " and granted to the account on the root folder, and on the vSphere clusters that are used",
        [ROLE_ON_NAMED] = " and granted to the account on the root folder, and on what was named",
        [ROLE_EVERYWHERE] = " and granted to the account on the root folder, and so everywhere",
    };
    const char *strategy = json_string_value(show_member(answer, "login.strategy"));
    const bool has_account = opt_get(&cli->given, "login-account") || opt_get(&cli->given, "service-account");
    if (cli->is_json)
        return show_json(cli, answer, err);
    if (opt_get(&cli->given, "ovf-env")) {
        cmd_register_show_ovf(cli, answer);
        return 0;
    }
    if (opt_get(&cli->given, "dry-run"))
        return cmd_register_show_dry_run(cli, answer, err);
    show_line(cli, "registered at vCenter %s; from now on kaasd signs in with its own %s", json_get_string(answer, "name"),
              strategy && !str_starts(strategy, "certificate") ? "account, which works but is less safe than a certificate"
                                                               : "certificate");
    if (opt_get(&cli->given, "create-role"))
        show_line(cli, "the role is made%s", has_account ? granted[cmd_register_reach(cli)] : "; nobody has it yet");
    if (opt_get(&cli->given, "create-alarms"))
        show_line(cli,
                  "the alarm of Kubernetes clusters is there; add mail or traps to it in vCenter (Configure, Alarm Definitions)");
    return cmd_vcenter_show_status(cli, answer, err);
}

/* -- unregister ------------------------------------------------------------------------------------------------------------------- */

int cmd_vcenter_unregister(struct cli *cli, json_t *body, struct err *err) {
    const char *user = opt_get(&cli->given, "user");
    int rc = cli_find_object(cli, err);
    if (rc)
        return rc;
    cli->is_asked = opt_get(&cli->given, "dry-run");
    rc = cli_ask(cli, err);
    return rc || !user ? rc : cmd_register_put_account(cli, body, user, "password-file", err);
}

int cmd_vcenter_tell_unregistered(struct cli *cli, json_t *answer, struct err *err) {
    const json_t *left = json_object_get(answer, "left");
    if (cli->is_json)
        return show_json(cli, answer, err);
    if (opt_get(&cli->given, "dry-run"))
        return cmd_register_show_dry_run(cli, answer, err);
    show_line(cli, "the extension %s is removed from vCenter %s; the vCenter stays configured",
              json_get_string(answer, "extension_key"), json_get_string(cli->object, "name"));
    if (json_array_size(left))
        show_lines(cli, "left at the vCenter:", left);
    return 0;
}
