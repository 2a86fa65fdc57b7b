/* kaasctl hx: HX clusters. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_commands.h"
#include "cli_find.h"
#include "cli_show.h"
#include "str.h"

#define PATH_BYTES_MAX 8192U

static const struct cli_column list_columns[] = {
    {"NAME", "name", show_text},
    {"VCENTER", "vcenter_name", show_text},
    {"VSPHERE CLUSTER", "vsphere_cluster", show_places},
    {"ADDRESS", "management_address", show_text},
    {"PRESENT", "present", show_yes_no},
    {"LAST SEEN", "last_seen_at", show_time},
    {"ID", "id", show_text},
    {NULL, NULL, NULL},
};

static const struct cli_column columns[] = {
    {"Name", "name", show_text},
    {"Id", "id", show_text},
    {"Name from", "name_source", show_text},
    {"HX uuid", "hx_uuid", show_text},
    {"vCenter", "vcenter_id", show_text},
    {"vSphere cluster", "vsphere_cluster", show_places},
    {"Moref", "vsphere_cluster.moref", show_text},
    {"Management address", "management_address", show_text},
    {"Address from", "address_source", show_text},
    {"Present", "present", show_yes_no},
    {"Last seen", "last_seen_at", show_time},
    {NULL, NULL, NULL},
};

static const char *name_of(const json_t *vcenters, const char *id) {
    json_t *vcenter;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)vcenters, i, vcenter) {
        if (str_eq(json_get_string(vcenter, "id"), id))
            return json_get_string(vcenter, "name");
    }
    return id;
}

/* For the column: the API tells the id. Who may not list vCenters reads that. */
static int add_vcenter_names(struct cli *cli, json_t *items, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL;
    struct err why = {0};
    json_t *hx;
    size_t i;
    int rc = cli_list_vcenters(cli, &vcenters, &why);
    if (rc && rc != ERR_FORBIDDEN) {
        *err = why;
        return rc;
    }
    json_array_foreach (items, i, hx) {
        json_put_string(hx, "vcenter_name", name_of(vcenters, json_get_string(hx, "vcenter_id")));
    }
    return 0;
}

int cmd_hx_list(struct cli *cli, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    _cleanup_json_ json_t *items = NULL;
    int rc = cli_connect(cli, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/hx-clusters");
    cli_path_add_query(&path, "vcenter", opt_get(&cli->given, "vcenter"));
    if (!rc)
        rc = strbuf_check(&path, "the address", err);
    if (!rc)
        rc = cli_client_list(cli->client, path.data, &items, err);
    if (!rc && !cli->is_json)
        rc = add_vcenter_names(cli, items, err);
    return rc ? rc : show_list(cli, items, list_columns, err);
}

int cmd_hx_show(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *hx = NULL;
    int rc = cli_find_hx(cli, cli_word(cli, 0), &hx, err);
    return rc ? rc : show_object(cli, hx, columns, err);
}

/* An empty text gives the member back to discovery. */
static void put(json_t *body, const char *member, const char *value) {
    if (value && *value)
        json_put_string(body, member, value);
    else if (value)
        (void)json_object_set_new(body, member, json_null());
}

int cmd_hx_set(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *hx = NULL, *body = json_object(), *answer = NULL;
    _cleanup_free_ char *path = NULL;
    int rc;
    put(body, "name", opt_get(&cli->given, "name"));
    put(body, "management_address", opt_get(&cli->given, "address"));
    if (!json_object_size(body))
        return cli_usage(cli, err, "nothing to change: give --name or --address");
    rc = cli_find_hx(cli, cli_word(cli, 0), &hx, err);
    path = cli_path_of("hx-clusters", hx, NULL);
    if (!rc)
        rc = cli_client_call(cli->client,
                             &(struct cli_request){.method = "PATCH", .path = path, .body = body, .is_merge_patch = true},
                             &answer, err);
    return rc ? rc : show_object(cli, answer, columns, err);
}
