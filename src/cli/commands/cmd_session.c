/* kaasctl session and whoami: who is signed in, and ending that. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "str.h"

#define PATH_BYTES_MAX 4096U

/* -- session end ------------------------------------------------------------------------------------------------------------------ */

static int cmd_session_end_one(struct cli *cli, const char *id, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    int rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/sessions/");
    cli_path_add(&path, id);
    rc = strbuf_check(&path, "the address", err);
    return rc ? rc : cli_client_call(cli->client, &(struct cli_request){.method = "DELETE", .path = path.data}, NULL, err);
}

/* One that has ended by itself meanwhile is no failure. */
static int cmd_session_end_all(struct cli *cli, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    _cleanup_json_ json_t *items = NULL;
    unsigned ended = 0;
    json_t *item;
    size_t i;
    int rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/sessions");
    cli_add_query(cli, &path);
    rc = strbuf_check(&path, "the address", err);
    if (rc)
        return rc;
    rc = cli_client_list(cli->client, path.data, &items, err);
    if (rc)
        return rc;
    json_array_foreach (items, i, item) {
        struct err why = {0};
        rc = cmd_session_end_one(cli, json_get_string(item, "id"), &why);
        if (rc && rc != ERR_NOT_FOUND)
            return cli_fail(cli, &why, err);
        ended += !rc;
    }
    show_line(cli, "ended sessions: %u", ended);
    return 0;
}

int cmd_session_end(struct cli *cli, struct err *err) {
    const char *principal = opt_get(&cli->given, "principal"), *id = cli_word(cli, 0);
    int rc;
    if (!principal == !id)
        return cli_usage(cli, err, "give either the id of a session or --principal");
    rc = cli_connect(cli, err);
    if (rc)
        return rc;
    if (principal)
        return cmd_session_end_all(cli, err);
    rc = cmd_session_end_one(cli, id, err);
    if (!rc)
        show_line(cli, "session %s has ended", id);
    return rc;
}

/* -- whoami ----------------------------------------------------------------------------------------------------------------------- */

static const struct cli_column cmd_whoami_vcenters[] = {
    {"VCENTER", "name", show_text},  {"AS", "user_name", show_text},
    {"BY", "method", show_text},     {"ADDED", "added_at", show_time},
    {"RIGHTS", "rights", show_text}, {"RIGHTS AS OF", "rights_as_of", show_time},
    {"ID", "id", show_text},         {NULL, NULL, NULL},
};

static const struct cli_column cmd_whoami_unmatched[] = {
    {"NOT BY", "kind", show_text},
    {"ON", "object_type", show_text},
    {"FOR", "principal_id", show_text},
    {"WHO", "principal_name", show_text},
    {"ROLE", "role", show_text},
    {"REASON", "reason", show_text},
    {NULL, NULL, NULL},
};

static const struct cli_column cmd_whoami_rules[] = {
    {"RULE", "kind", show_text},           {"ROLE", "role", show_text},          {"FOR", "principal_id", show_text},
    {"WHO", "principal_name", show_text},  {"ON", "object_type", show_text},     {"NAME", "object_name", show_text},
    {"PRIVILEGE", "privilege", show_text}, {"CHECKED", "checked_at", show_time}, {NULL, NULL, NULL},
};

static const struct cli_column cmd_whoami_groups[] = {
    {"GROUP", "id", show_text},
    {"NAME", "name", show_text},
    {NULL, NULL, NULL},
};

/* A table below what stands there; nothing of an empty list. */
static int cmd_whoami_show_below(struct cli *cli, const json_t *list, const struct cli_column *columns, struct err *err) {
    if (!json_array_size(list))
        return 0;
    strbuf_addc(&cli->out, '\n');
    return show_list(cli, list, columns, err);
}

int cmd_whoami_tell(struct cli *cli, json_t *who, struct err *err) {
    static const struct {
        const char *member;
        const struct cli_column *columns;
    } lists[] = {{"vcenters", cmd_whoami_vcenters},
                 {"groups", cmd_whoami_groups},
                 {"rules", cmd_whoami_rules},
                 {"unmatched_rules", cmd_whoami_unmatched}};
    int rc = show_object(cli, who, cli->command->object, err);
    if (rc || cli->is_json)
        return rc;
    if (json_get_bool(who, "must_change_password", false)) {
        strbuf_addc(&cli->out, '\n');
        show_line(cli, "Somebody else set your password. Nothing else is allowed until you replace it:");
        show_line(cli, "  kaasctl --server URL --user %s user password", json_get_string(who, "name"));
    }
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
        rc = cmd_whoami_show_below(cli, json_object_get(who, lists[i].member), lists[i].columns, err);
        if (rc)
            return rc;
    }
    return 0;
}
