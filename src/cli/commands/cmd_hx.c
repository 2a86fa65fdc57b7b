/* kaasctl hx and peer: HX clusters, and their controllers that kaasd signs in to. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "str.h"

static const char *cmd_hx_vcenter_name(const json_t *vcenters, const char *id) {
    json_t *vcenter;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)vcenters, i, vcenter)
        if (str_eq(json_get_string(vcenter, "id"), id))
            return json_get_string(vcenter, "name");
    return id;
}

/* The API tells the id of the vCenter, and people read its name; who may not list vCenters reads the id. */
int cmd_hx_tell_list(struct cli *cli, json_t *answer, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL;
    struct err why = {0};
    json_t *hx;
    size_t i;
    int rc = cli->is_json ? 0 : cli_list_vcenters(cli, &vcenters, &why);
    if (rc && rc != ERR_FORBIDDEN)
        return cli_fail(cli, &why, err);
    json_array_foreach (answer, i, hx)
        if (!cli->is_json)
            json_put_string(hx, "vcenter_name", cmd_hx_vcenter_name(vcenters, json_get_string(hx, "vcenter_id")));
    return show_list(cli, answer, cli->command->list, err);
}

/* -- controllers that kaasd signs in to ----------------------------------------------------------------------------------------- */

/* What stands there goes on, unless it is given. */
static void cmd_peer_keep(const json_t *known, json_t *body, const char *member) {
    json_t *value = json_object_get(known, member);
    if (value && !json_is_null(value) && !json_object_get(body, member))
        (void)json_object_set(body, member, value);
}

/* A name of the service goes with its address, and one trust replaces the other. */
static void cmd_peer_keep_all(const json_t *known, json_t *body) {
    const bool has_url = json_object_get(body, "url"),
               has_trust = json_object_get(body, "ca_pem") || json_object_get(body, "thumbprint_sha256");
    cmd_peer_keep(known, body, "url");
    cmd_peer_keep(known, body, "principal");
    if (!has_url)
        cmd_peer_keep(known, body, "spn");
    if (has_trust)
        return;
    cmd_peer_keep(known, body, "ca_pem");
    cmd_peer_keep(known, body, "thumbprint_sha256");
}

int cmd_peer_set(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *hx = NULL, *known = NULL, *body = json_object(), *answer = NULL;
    _cleanup_free_ char *path = NULL;
    struct err why = {0};
    int rc = cli_put_options(cli, body, err);
    if (rc)
        return rc;
    rc = cli_check_body(cli, body, err);
    if (rc)
        return rc;
    rc = cli_find(cli, &cli_hx_clusters, cli_word(cli, 0), &hx, err);
    if (rc)
        return rc;
    path = cli_path_of("hx-clusters", hx, "peer");
    rc = path ? cli_client_get(cli->client, path, &known, &why) : err_set(&why, ERR_NOMEM, "out of memory");
    if (rc && rc != ERR_NOT_FOUND)
        return cli_fail(cli, &why, err);
    cmd_peer_keep_all(known, body);
    if (!json_object_get(body, "url"))
        return cli_usage(cli, err, "there is no peer yet: a new one needs --url, and --ca or --sha256");
    rc = cli_call(cli, hx, body, &answer, err);
    return rc ? rc : cli_show_result(cli, hx, answer, err);
}

/* A sign-on that does not work is an answer, and a failure for scripts. */
int cmd_peer_tell_test(struct cli *cli, json_t *answer, struct err *err) {
    if (!str_eq(json_string_value(show_member(answer, "status.state")), "ok"))
        cli->status = CLI_FAILED;
    return show_object(cli, answer, cli->command->object, err);
}
