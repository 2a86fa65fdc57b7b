/* kaasctl session and whoami: who is signed in, and ending that. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "names.h"

/* One that has ended by itself meanwhile is no failure. */
static int cmd_session_end_all(struct cli *cli, const char *principal, struct err *err) {
    _cleanup_json_ json_t *query = json_object(), *items = NULL;
    unsigned ended = 0;
    json_t *item;
    size_t i;
    int rc;
    json_put_string(query, "principal", principal);
    rc = cli_list(cli, "/v2/sessions", NULL, query, &items, err);
    if (rc)
        return rc;
    json_array_foreach (items, i, item) {
        struct err why = {0};
        rc = cli_send(cli, "DELETE /v2/sessions/{id}", item, NULL, NULL, &why);
        if (rc && rc != ERR_NOT_FOUND)
            return err_move(err, rc, &why);
        ended += !rc;
    }
    show_line(cli, "ended sessions: %u", ended);
    return 0;
}

int cmd_session_end(struct cli *cli, struct err *err) {
    const char *principal = opt_get(&cli->given, "principal");
    if (!principal == !cli_word(cli, 0))
        return cli_usage(cli, err, "give either the id of a session or --principal");
    return principal ? cmd_session_end_all(cli, principal, err) : cli_run_steps(cli, err);
}

/* -- whoami ----------------------------------------------------------------------------------------------------------------------- */

static const struct cli_column cmd_whoami_vcenters[] = {
    {"VCENTER", "name"},  {"AS", "user_name"},
    {"BY", "method"},     {"ADDED", "added_at", show_time},
    {"RIGHTS", "rights"}, {"RIGHTS AS OF", "rights_as_of", show_time},
    {"ID", "id"},         {NULL},
};

static const struct cli_column cmd_whoami_unmatched[] = {
    {"NOT BY", "kind"},
    {"ON", "object_type"},
    {"FOR", "principal_id"},
    {"WHO", "principal_name"},
    {"ROLE", "role"},
    {"REASON", "reason"},
    {NULL},
};

static const struct cli_column cmd_whoami_rules[] = {
    {"RULE", "kind"},
    {"ROLE", "role"},
    {"FOR", "principal_id"},
    {"WHO", "principal_name"},
    {"ON", "object_type"},
    {"NAME", "object_name"},
    {"PRIVILEGE", "privilege"},
    {"CHECKED", "checked_at", show_time},
    {NULL},
};

static const struct cli_column cmd_whoami_groups[] = {
    {"GROUP", "id"},
    {"NAME", "name"},
    {NULL},
};

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
        show_gap(cli);
        show_line(cli, "Somebody else set your password. Nothing else is allowed until you replace it:");
        show_line(cli, "  kaasctl --server URL --user %s user password", name_quote(json_get_string(who, "name")).text);
    }
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
        const json_t *list = json_object_get(who, lists[i].member);
        if (!json_array_size(list))
            continue;
        show_gap(cli);
        rc = show_list(cli, list, lists[i].columns, err);
        if (rc)
            return rc;
    }
    return 0;
}
