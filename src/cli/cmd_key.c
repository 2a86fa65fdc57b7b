/* kaasctl key: the keys that sign tokens. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_show.h"

static const struct cli_column signing_columns[] = {
    {"KID", "kid", show_text},
    {"STATE", "state", show_text},
    {"CREATED", "created_at", show_time},
    {"SIGNS FROM", "signs_from", show_time},
    {"VERIFIES UNTIL", "verifies_until", show_time},
    {NULL, NULL, NULL},
};

int cmd_key_list(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    int rc = cli_connect(cli, err);
    if (!rc)
        rc = cli_client_get(cli->client, "/v2/keys/signing", &answer, err);
    return rc ? rc : show_list(cli, json_object_get(answer, "items"), signing_columns, err);
}

static int confirm_drop(struct cli *cli, struct err *err) {
    return cli_confirm(
        cli, "All tokens of the old key end with it: programs and pages must refresh or sign in again. Type yes: ", err);
}

int cmd_key_rotate_signing(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *answer = NULL;
    bool drops = (opt_get(&cli->given, "drop-old") != NULL);
    int rc = cli_connect(cli, err);
    if (!rc && drops)
        rc = confirm_drop(cli, err);
    (void)json_object_set_new(body, "immediately", json_boolean((opt_get(&cli->given, "now") != NULL)));
    (void)json_object_set_new(body, "drop_old", json_boolean(drops));
    if (!rc)
        rc = cli_client_call(
            cli->client, &(struct cli_request){.method = "POST", .path = "/v2/keys/signing/rotate", .body = body}, &answer, err);
    if (rc)
        return rc;
    show_line(cli, "the new signing key %s is published; it signs from %.19sZ on", json_get_string(answer, "kid"),
              json_get_string(answer, "signs_from"));
    return cli->is_json ? show_json(cli, answer, err) : 0;
}
