/* kaasctl vcenter rotate-certificate and set-password: what kaasd logs in to a vCenter with. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "secret.h"
#include "str.h"

/* The password goes into the body only and is wiped there. */
int cmd_vcenter_set_password(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *body = json_object();
    _cleanup_free_ char *path = NULL, *question = NULL;
    _cleanup_secret_ char *password = NULL;
    int rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (rc)
        return rc;
    path = cli_path_of("vcenters", vcenter, "set-password");
    question = str_format("New password of kaasd's account at vCenter %s: ", json_get_string(vcenter, "name"));
    rc = cli_get_password(cli, opt_get(&cli->given, "password-file"), question ? question : "New password: ", &password, err);
    if (rc)
        return rc;
    json_put_string(body, "password", password);
    rc = cli_client_call(cli->client,
                         &(struct cli_request){.method = "POST", .path = path, .body = body, .has_secret_body = true}, NULL, err);
    json_wipe_string(json_object_get(body, "password"));
    if (!rc)
        show_line(cli, "vCenter %s accepts the new password; kaasd logs in with it from now on",
                  json_get_string(vcenter, "name"));
    return rc;
}
