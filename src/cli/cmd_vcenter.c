/* kaasctl vcenter: list, show, rescan, clusters, rm. Layer 6 (cli). Joining is cmd_vcenter_add.c and cmd_vcenter_register.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_commands.h"
#include "cli_find.h"
#include "cli_show.h"
#include "str.h"

static const struct cli_column list_columns[] = {
    {"NAME", "name", show_text},
    {"ADDRESS", NULL, show_vcenter_address},
    {"STATE", "state", show_text},
    {"VERSION", "version", show_text},
    {"REGISTERED", "registered", show_yes_no},
    {"LOGIN", "login_strategy", show_text},
    {"ID", "id", show_text},
    {NULL, NULL, NULL},
};

static const struct cli_column columns[] = {
    {"Name", "name", show_text},
    {"Id", "id", show_text},
    {"Address", "address", show_text},
    {"Port", "port", show_text},
    {"Tunnel port", "tunnel_port", show_text},
    {"Direct port", "direct_port", show_text},
    {"State", "state", show_text},
    {"Reason", "state_reason", show_text},
    {"Version", "version", show_text},
    {"Build", "build", show_text},
    {"API version", "api_version", show_text},
    {"Registered", "registered", show_yes_no},
    {"Login", "login_strategy", show_text},
    {"Trusted by", "trust.mode", show_text},
    {"Thumbprint", "trust.thumbprint_sha256", show_text},
    {"CA", "trust.ca_subjects", show_words},
    {"Last contact", "last_contact_at", show_time},
    {"Added", "created_at", show_time},
    {NULL, NULL, NULL},
};

static const struct cli_column cluster_columns[] = {
    {"PATH", "path", show_text},
    {"MOREF", "moref", show_text},
    {"HX CLUSTER", "hx_cluster_id", show_text},
    {NULL, NULL, NULL},
};

static const struct cli_column rescan_columns[] = {
    {"vSphere clusters", "vsphere_clusters", show_text},
    {"HX clusters", "hx_clusters", show_text},
    {"  added", "added", show_text},
    {"  changed", "changed", show_text},
    {"  gone", "gone", show_text},
    {"Ignored keys", "ignored_keys", show_words},
    {"Scanned", "scanned_at", show_time},
    {NULL, NULL, NULL},
};

int cmd_vcenter_list(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    int rc = cli_list_vcenters(cli, &items, err);
    return rc ? rc : show_list(cli, items, list_columns, err);
}

int vcenter_show_object(struct cli *cli, const json_t *vcenter, struct err *err) {
    return show_object(cli, vcenter, columns, err);
}

int cmd_vcenter_show(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL;
    int rc = cli_find_vcenter(cli, cli_word(cli, 0), &vcenter, err);
    return rc ? rc : vcenter_show_object(cli, vcenter, err);
}

int cmd_vcenter_rescan(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *result = NULL;
    _cleanup_free_ char *path = NULL;
    int rc = cli_find_vcenter(cli, cli_word(cli, 0), &vcenter, err);
    path = cli_path_of("vcenters", vcenter, "rescan");
    if (!rc)
        rc = cli_client_call(cli->client, &(struct cli_request){.method = "POST", .path = path}, &result, err);
    return rc ? rc : show_object(cli, result, rescan_columns, err);
}

int cmd_vcenter_clusters(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *items = NULL;
    _cleanup_free_ char *path = NULL;
    int rc = cli_find_vcenter(cli, cli_word(cli, 0), &vcenter, err);
    path = cli_path_of("vcenters", vcenter, "vsphere-clusters");
    if (!rc)
        rc = cli_client_list(cli->client, path, &items, err);
    return rc ? rc : show_list(cli, items, cluster_columns, err);
}

int cmd_vcenter_rm(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL;
    _cleanup_free_ char *path = NULL, *question = NULL;
    const char *name;
    int rc = cli_find_vcenter(cli, cli_word(cli, 0), &vcenter, err);
    if (rc)
        return rc;
    name = json_get_string(vcenter, "name");
    path = cli_path_of("vcenters", vcenter, NULL);
    question = str_format("Forget vCenter %s? Type yes: ", name);
    rc = cli_confirm(cli, question ? question : "Type yes: ", err);
    if (!rc)
        rc = cli_client_call(cli->client, &(struct cli_request){.method = "DELETE", .path = path}, NULL, err);
    if (!rc)
        show_line(cli, "vCenter %s is forgotten", name);
    return rc;
}
