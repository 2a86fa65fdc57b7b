/* kaasctl session: who is signed in, and ending that. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_show.h"

#define PATH_BYTES_MAX 4096U

static int list_of(struct cli *cli, const char *principal, json_t **items, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    int rc = cli_connect(cli, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/sessions");
    cli_path_add_query(&path, "principal", principal);
    if (!rc)
        rc = strbuf_check(&path, "the address", err);
    return rc ? rc : cli_client_list(cli->client, path.data, items, err);
}

static int end_one(struct cli *cli, const char *id, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    int rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/sessions/");
    cli_path_add(&path, id);
    rc = strbuf_check(&path, "the address", err);
    return rc ? rc : cli_client_call(cli->client, &(struct cli_request){.method = "DELETE", .path = path.data}, NULL, err);
}

/* One that has ended by itself meanwhile is no failure. */
static int end_all(struct cli *cli, const char *principal, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    unsigned ended = 0;
    int rc = list_of(cli, principal, &items, err);
    for (size_t i = 0; !rc && i < json_array_size(items); i++) {
        struct err why = {0};
        rc = end_one(cli, json_get_string(json_array_get(items, i), "id"), &why);
        ended += !rc;
        if (rc && rc != ERR_NOT_FOUND)
            *err = why;
        rc = rc == ERR_NOT_FOUND ? 0 : rc;
    }
    if (!rc)
        show_line(cli, "ended sessions: %u", ended);
    return rc;
}

int cmd_session_end(struct cli *cli, struct err *err) {
    const char *principal = opt_get(&cli->given, "principal"), *id = cli_word(cli, 0);
    int rc;
    if (!principal == !id)
        return cli_usage(cli, err, "give either the id of a session or --principal");
    if (principal)
        return end_all(cli, principal, err);
    rc = cli_connect(cli, err);
    if (!rc)
        rc = end_one(cli, id, err);
    if (!rc)
        show_line(cli, "session %s has ended", id);
    return rc;
}
