/* kaasctl kerberos: how sign-on by Kerberos stands. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_show.h"

static const struct cli_column status_columns[] = {
    {"Configured", "configured", show_yes_no},
    {"Usable", "usable", show_yes_no},
    {"Problem", "problem", show_text},
    {"Remedy", "remedy", show_text},
    {"Newest key version", "newest_kvno", show_text},
    {"Realms", "realms", show_words},
    {"Channel bindings", "channel_bindings", show_text},
    {"PAC required", "require_pac", show_yes_no},
    {"Live check", "live_check", show_text},
    {NULL, NULL, NULL},
};

static const struct cli_column key_columns[] = {
    {"PRINCIPAL", "principal", show_text}, {"VERSION", "kvno", show_text}, {"ENCRYPTION TYPE", "encryption_type", show_text},
    {"MADE", "made_at", show_time},        {"USED", "used", show_yes_no},  {NULL, NULL, NULL},
};

/* A keytab that cannot be used is an answer, and a failure for scripts. */
int cmd_kerberos_status(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *status = NULL;
    const json_t *keys;
    int rc = cli_connect(cli, err);
    if (!rc)
        rc = cli_client_get(cli->client, "/v2/kerberos", &status, err);
    if (rc)
        return rc;
    if (json_is_true(json_object_get(status, "configured")) && !json_is_true(json_object_get(status, "usable")))
        cli->status = CLI_FAILED;
    rc = show_object(cli, status, status_columns, err);
    keys = json_object_get(status, "keys");
    if (rc || cli->is_json || !json_array_size(keys))
        return rc;
    show_line(cli, "%s", "");
    return show_list(cli, keys, key_columns, err);
}
