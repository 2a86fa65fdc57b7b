/* kaasctl vcenter add: the certificate first, then the vCenter. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli_address.h"
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "cli_trust.h"

static int make_body(struct cli *cli, json_t *body, struct err *err) {
    struct cli_address address = {.port = 0};
    int rc = cli_address_parse(cli_word(cli, 0), &address, err);
    if (rc) {
        cli->status = CLI_USAGE;
        return rc;
    }
    json_put_string(body, "address", address.host);
    if (address.port)
        json_put_int(body, "port", address.port);
    json_put_string(body, "name", opt_get(&cli->given, "name"));
    rc = cli_trust_put_port(cli, "tunnel-port", "tunnel_port", body, err);
    if (!rc)
        rc = cli_trust_put_port(cli, "direct-port", "direct_port", body, err);
    return rc ? rc : cli_trust_put(cli, "thumbprint", body, err);
}

/* By what other commands find it: the name, or the id where others have that name, too, or a shell would not take it as it is. */
static int show_next(struct cli *cli, const json_t *made, struct err *err) {
    const char *name = json_get_string(made, "name");
    const char *quote = strpbrk(name, " \t\"\\$`&|;<>()*?[]#~!") ? "'" : "";
    _cleanup_json_ json_t *all = NULL;
    const json_t *vcenter;
    size_t i, count = 0;
    int rc = cli_list_vcenters(cli, &all, err);
    json_array_foreach (all, i, vcenter)
        count += cli_is_vcenter(vcenter, name);
    if (count > 1 || *name == '-' || strchr(name, '\''))
        name = json_get_string(made, "id");
    show_line(cli, "next: kaasctl vcenter register %s%s%s --user USER", quote, name, quote);
    return rc;
}

int cmd_vcenter_add(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *made = NULL;
    struct cli_trust_call call = {.request = {.method = "POST", .path = "/v2/vcenters", .body = body},
                                  .option = "thumbprint",
                                  .title = "The vCenter shows this certificate:"};
    int rc = make_body(cli, body, err);
    if (!rc)
        rc = cli_connect(cli, err);
    if (!rc)
        rc = cli_trust_call(cli, &call, &made, err);
    if (rc)
        return rc;
    show_line(cli, "added vCenter %s: version %s, instance %s", json_get_string(made, "name"), json_get_string(made, "version"),
              json_get_string(made, "id"));
    return cli->is_json ? show_json(cli, made, err) : show_next(cli, made, err);
}
