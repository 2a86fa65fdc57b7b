/* kaasctl health, version, whoami. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli_command.h"
#include "cli_show.h"
#include "str.h"

static const struct cli_column check_columns[] = {
    {"CHECK", "name", show_text},    {"STATUS", "status", show_text}, {"SINCE", "since", show_time},
    {"DETAIL", "detail", show_text}, {"REMEDY", "remedy", show_text}, {NULL, NULL, NULL},
};

static const struct cli_column who_columns[] = {
    {"Name", "name", show_text},
    {"Id", "id", show_text},
    {"Role", "role", show_text},
    {"Source", "source", show_text},
    {"Signed in by", "method", show_text},
    {"Must change password", "must_change_password", show_yes_no},
    {"Signed in at", "signed_in_at", show_time},
    {"Session ends", "session_expires_at", show_time},
    {NULL, NULL, NULL},
};

static const struct cli_column session_vcenter_columns[] = {
    {"VCENTER", "name", show_text},  {"AS", "user_name", show_text},
    {"BY", "method", show_text},     {"ADDED", "added_at", show_time},
    {"RIGHTS", "rights", show_text}, {"RIGHTS AS OF", "rights_as_of", show_time},
    {"ID", "id", show_text},         {NULL, NULL, NULL},
};

static const struct cli_column unmatched_columns[] = {
    {"NOT BY", "kind", show_text},
    {"ON", "object_type", show_text},
    {"FOR", "principal_id", show_text},
    {"WHO", "principal_name", show_text},
    {"ROLE", "role", show_text},
    {"REASON", "reason", show_text},
    {NULL, NULL, NULL},
};

static const struct cli_column rule_columns[] = {
    {"RULE", "kind", show_text},           {"ROLE", "role", show_text},          {"FOR", "principal_id", show_text},
    {"WHO", "principal_name", show_text},  {"ON", "object_type", show_text},     {"NAME", "object_name", show_text},
    {"PRIVILEGE", "privilege", show_text}, {"CHECKED", "checked_at", show_time}, {NULL, NULL, NULL},
};

static const struct cli_column group_columns[] = {
    {"GROUP", "id", show_text},
    {"NAME", "name", show_text},
    {NULL, NULL, NULL},
};

static int get(struct cli *cli, const char *path, json_t **out, struct err *err) {
    int rc = cli_connect(cli, err);
    return rc ? rc : cli_client_get(cli->client, path, out, err);
}

static bool has_failed_check(const json_t *health) {
    const json_t *check;
    size_t i;
    json_array_foreach (json_object_get(health, "checks"), i, check)
        if (str_eq(json_get_string(check, "status"), "failed"))
            return true;
    return false;
}

/* A failed check is an answer, and a failure for scripts: kaasd's own, or of something that it works with. */
int cmd_health(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *health = NULL;
    const char *status;
    int rc = get(cli, "/v2/health", &health, err);
    if (rc)
        return rc;
    status = json_get_string(health, "status");
    if (str_eq(status, "failed"))
        cli->status = CLI_FAILED;
    else if (has_failed_check(health))
        cli->status = CLI_FAILED_ELSEWHERE;
    if (cli->is_json)
        return show_json(cli, health, err);
    show_line(cli, "kaasd %s: %s", json_get_string(health, "version"), status);
    return show_list(cli, json_object_get(health, "checks"), check_columns, err);
}

/* A table below what stands there; nothing of an empty list. */
static int show_below(struct cli *cli, const json_t *list, const struct cli_column *of, struct err *err) {
    if (!json_array_size(list))
        return 0;
    strbuf_addc(&cli->out, '\n');
    return show_list(cli, list, of, err);
}

static void tell_password_due(struct cli *cli, const char *name) {
    strbuf_addc(&cli->out, '\n');
    show_line(cli, "Somebody else set your password. Nothing else is allowed until you replace it:");
    show_line(cli, "  kaasctl --server URL --user %s user password", name);
}

int cmd_whoami(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *who = NULL;
    int rc = get(cli, "/v2/whoami", &who, err);
    if (!rc)
        rc = show_object(cli, who, who_columns, err);
    if (rc || cli->is_json)
        return rc;
    if (json_get_bool(who, "must_change_password", false))
        tell_password_due(cli, json_get_string(who, "name"));
    rc = show_below(cli, json_object_get(who, "vcenters"), session_vcenter_columns, err);
    if (!rc)
        rc = show_below(cli, json_object_get(who, "groups"), group_columns, err);
    if (!rc)
        rc = show_below(cli, json_object_get(who, "rules"), rule_columns, err);
    return rc ? rc : show_below(cli, json_object_get(who, "unmatched_rules"), unmatched_columns, err);
}

/* Our own version is told even if kaasd does not answer. */
int cmd_version(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *theirs = NULL, *both = json_object();
    int rc = cli_connect_public(cli, err);
    if (!rc)
        rc = cli_client_get(cli->client, "/v2/version", &theirs, err);
    json_put_string(both, "kaasctl", PACKAGE_VERSION);
    json_put_string(both, "kaasd", rc ? NULL : json_get_string(theirs, "version"));
    show_line(cli, "kaasctl %s", PACKAGE_VERSION);
    if (!rc)
        show_line(cli, "kaasd   %s", json_get_string(theirs, "version"));
    if (cli->is_json && show_json(cli, both, rc ? NULL : err))
        return ERR_NOMEM;
    return rc;
}
