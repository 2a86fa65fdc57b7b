/* kaasctl hx and peer: HX clusters, and their controllers that kaasd signs in to. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cleanup.h"
#include "cli_command.h"
#include "secret.h"
#include "str.h"

static const char *cmd_hx_vcenter_name(const json_t *vcenters, const char *id) {
    json_t *vcenter;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)vcenters, i, vcenter)
        if (str_eq(json_get_string(vcenter, "id"), id))
            return json_get_string(vcenter, "name");
    return id;
}

static void cmd_hx_put_vcenter_name(json_t *hx, const json_t *vcenters) {
    json_put_string(hx, "vcenter_name", cmd_hx_vcenter_name(vcenters, json_get_string(hx, "vcenter_id")));
}

/* The API tells the id of the vCenter, and people read its name; who may not list vCenters reads the id. `answer` is one HX cluster, or a list. */
int cmd_hx_tell(struct cli *cli, json_t *answer, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL;
    struct err why = {0};
    json_t *hx;
    size_t i;
    int rc;
    if (cli->is_json)
        return show_json(cli, answer, err);
    rc = cli_list(cli, "/v2/vcenters", NULL, NULL, &vcenters, &why);
    if (rc && rc != ERR_FORBIDDEN)
        return err_move(err, rc, &why);
    if (json_is_object(answer))
        cmd_hx_put_vcenter_name(answer, vcenters);
    json_array_foreach (answer, i, hx)
        cmd_hx_put_vcenter_name(hx, vcenters);
    return cli_show_result(cli, answer, err);
}

/* -- connections --------------------------------------------------------------------------------------------------------------- */

#define HX_USER "admin" /* the only user that Cisco's support matrix allows for the REST API (Administration Guide 5.5, users) */

/* The one that shows the certificate that was given; without one the first that is trusted without a person, else whose chain is valid, else that answers. NULL: none. */
static const json_t *cmd_hx_choose(const json_t *addresses, const char *sha256) {
    const json_t *chosen = NULL;
    int best = 0;
    json_t *one;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)addresses, i, one) {
        const json_t *certificate = json_object_get(one, "certificate");
        const int is_same = str_eq(json_get_string(certificate, "sha256"), sha256);
        const int rank = sha256 ? is_same
                                : json_is_object(certificate) + json_is_true(json_object_get(one, "chain_valid")) +
                                      json_is_true(json_object_get(one, "trusted"));
        if (rank > best) {
            best = rank;
            chosen = one;
        }
    }
    return chosen;
}

/* What vCenter tells others can have written. A CA may have signed for them as well, so it takes a person unless hx.names names the address. */
static int cmd_hx_take_address(struct cli *cli, const json_t *chosen, json_t *body, struct err *err) {
    const json_t *certificate = json_object_get(chosen, "certificate");
    _cleanup_free_ char *title =
        str_format("%s:%lld, as vCenter tells, shows this certificate:", json_get_string(chosen, "address"),
                   (long long)json_integer_value(json_object_get(chosen, "port")));
    json_put_string(body, "address", json_get_string(chosen, "address"));
    (void)json_object_set(body, "port", json_object_get(chosen, "port"));
    if (json_object_get(body, "thumbprint_sha256") ||
        (json_is_true(json_object_get(chosen, "trusted")) && !json_object_get(body, "ca_pem")))
        return 0;
    cmd_note_certificate(title ? title : "", certificate);
    if (json_object_get(body, "ca_pem") || json_is_true(json_object_get(chosen, "chain_valid")))
        return cli_confirm(cli, "The password goes there. Type yes if this is the address of HX Connect: ", err);
    json_put_string(body, "thumbprint_sha256", json_get_string(certificate, "sha256"));
    return cli_confirm(cli, "Compare the SHA-256 with the one that a browser shows at HX Connect. Type yes to trust it: ", err);
}

static int cmd_hx_find_address(struct cli *cli, json_t *body, struct err *err) {
    _cleanup_json_ json_t *found = NULL;
    int rc = cli_send(cli, "GET /v2/hx-clusters/{id}/addresses", cli->object, NULL, &found, err);
    const json_t *chosen = rc ? NULL : cmd_hx_choose(json_object_get(found, "items"), json_get_string(body, "thumbprint_sha256"));
    if (rc)
        return rc;
    return chosen
               ? cmd_hx_take_address(cli, chosen, body, err)
               : cli_usage(cli, err,
                           "vCenter tells no address of this HX cluster that answers (kaasctl hx addresses %s): give --address",
                           json_get_string(cli->object, "id"));
}

int cmd_hx_connect(struct cli *cli, json_t *body, struct err *err) {
    _cleanup_secret_ char *password = NULL;
    _cleanup_free_ char *question = NULL;
    int rc;
    if (json_object_get(body, "ca_pem") && json_object_get(body, "thumbprint_sha256"))
        return cli_usage(cli, err, "give either --ca-file or --sha256, not both");
    if (opt_get(&cli->given, "inherit") && (json_object_get(body, "user_name") || opt_get(&cli->given, "password-file")))
        return cli_usage(cli, err, "give either --inherit or a user and password, not both");
    rc = cli_find_object(cli, err);
    if (!rc && !json_object_get(body, "address"))
        json_put_string(body, "address", json_get_string(cli->object, "management_address"));
    if (!rc && !json_object_get(body, "address"))
        rc = cmd_hx_find_address(cli, body, err);
    if (rc || opt_get(&cli->given, "inherit"))
        return rc;
    if (!json_object_get(body, "user_name"))
        json_put_string(body, "user_name", HX_USER);
    question = str_format("Password of %s at %s: ", json_get_string(body, "user_name"), json_get_string(body, "address"));
    rc = cli_get_password(cli, opt_get(&cli->given, "password-file"), question, &password, err);
    json_put_string(body, "password", password);
    return rc;
}

int cmd_vcenter_set_hx_credential(struct cli *cli, json_t *body, struct err *err) {
    int rc = cli_find_object(cli, err);
    if (!json_object_get(body, "user_name"))
        json_put_string(body, "user_name", HX_USER);
    return rc ? rc : cmd_vcenter_put_password(cli, body, "Password of the HX clusters' user", "password-file", err);
}

/* What HX does not take is an answer, and a failure for scripts; an HX that has no such call is none. */
int cmd_hx_tell_publication(struct cli *cli, json_t *answer, struct err *err) {
    if (json_get_string(answer, "reason"))
        cli->status = CLI_FAILED;
    return show_object(cli, answer, cli->command->object, err);
}

/* -- controllers that kaasd signs in to ----------------------------------------------------------------------------------------- */

/* What stands there goes on, unless it is given. */
static void cmd_peer_keep(const json_t *known, json_t *body, const char *member) {
    json_t *value = json_object_get(known, member);
    if (value && !json_is_null(value) && !json_object_get(body, member))
        (void)json_object_set(body, member, value);
}

/* A name of the service goes with its address, and one trust replaces the other. */
int cmd_peer_set(struct cli *cli, json_t *body, struct err *err) {
    const bool has_url = json_object_get(body, "url"),
               has_trust = json_object_get(body, "ca_pem") || json_object_get(body, "thumbprint_sha256");
    _cleanup_json_ json_t *known = NULL;
    struct err why = {0};
    int rc = json_object_size(body) ? cli_find_object(cli, err) : 0;
    if (rc || !json_object_size(body))
        return rc;
    rc = cli_send(cli, "GET /v2/hx-clusters/{id}/peer", cli->object, NULL, &known, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    cmd_peer_keep(known, body, "url");
    cmd_peer_keep(known, body, "principal");
    if (!has_url)
        cmd_peer_keep(known, body, "spn");
    if (!has_trust) {
        cmd_peer_keep(known, body, "ca_pem");
        cmd_peer_keep(known, body, "thumbprint_sha256");
    }
    return json_object_get(body, "url")
               ? 0
               : cli_usage(cli, err, "there is no peer yet: a new one needs --url, and --ca-file or --sha256");
}

/* A sign-on that does not work is an answer, and a failure for scripts. */
int cmd_peer_tell_test(struct cli *cli, json_t *answer, struct err *err) {
    if (!str_eq(json_string_value(show_member(answer, "status.state")), "ok"))
        cli->status = CLI_FAILED;
    return show_object(cli, answer, cli->command->object, err);
}
