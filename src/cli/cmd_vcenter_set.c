/* kaasctl vcenter set: name, address, ports. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_address.h"
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "cli_trust.h"

static int put_address(struct cli *cli, json_t *body, struct err *err) {
    const char *text = opt_get(&cli->given, "address");
    struct cli_address address = {.port = 0};
    int rc;
    if (!text)
        return 0;
    rc = cli_address_parse(text, &address, err);
    if (rc) {
        cli->status = CLI_USAGE;
        return rc;
    }
    json_put_string(body, "address", address.host);
    if (address.port)
        json_put_int(body, "port", address.port);
    return 0;
}

static int make_body(struct cli *cli, json_t *body, struct err *err) {
    int rc = put_address(cli, body, err);
    json_put_string(body, "name", opt_get(&cli->given, "name"));
    if (!rc)
        rc = cli_trust_put_port(cli, "port", "port", body, err);
    if (!rc)
        rc = cli_trust_put_port(cli, "tunnel-port", "tunnel_port", body, err);
    if (!rc)
        rc = cli_trust_put_port(cli, "direct-port", "direct_port", body, err);
    if (!rc)
        rc = cli_trust_put(cli, "thumbprint", body, err);
    if (!rc && !json_object_size(body))
        rc = cli_usage(cli, err, "nothing to change: give --name, --address, --port, --tunnel-port or --direct-port");
    return rc;
}

int cmd_vcenter_set(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *body = json_object(), *answer = NULL;
    _cleanup_free_ char *path = NULL;
    struct cli_trust_call call = {.option = "thumbprint",
                                  .title = "At the new address this certificate is shown, which is not the trusted one:",
                                  .asks_on_mismatch = opt_get(&cli->given, "address") != NULL};
    int rc = make_body(cli, body, err);
    if (!rc)
        rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (rc)
        return rc;
    path = cli_path_of("vcenters", vcenter, NULL);
    call.request = (struct cli_request){.method = "PATCH", .path = path, .body = body, .is_merge_patch = true};
    rc = cli_trust_call(cli, &call, &answer, err);
    return rc ? rc : cli_show_result(cli, NULL, answer, err);
}
