/* kaasctl cluster: list, show, nodes, rm. Layer 6 (cli). Writing is cmd_cluster_write.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_cluster_watch.h"
#include "cli_commands.h"
#include "cli_find.h"
#include "cli_show.h"
#include "str.h"
#include "uuid.h"

#define PATH_BYTES_MAX 8192U

static const struct cli_column list_columns[] = {
    {"NAME", "name", show_text},
    {"STATE", "state", show_text},
    {"VERSION", "kubernetes_version", show_text},
    {"CONTROL PLANE", "control_plane", show_replicas},
    {"WORKERS", "workers", show_replicas},
    {"VSPHERE CLUSTERS", "placement.vsphere_clusters", show_places},
    {"DESCRIPTION", "description", show_text},
    {NULL, NULL, NULL},
};

static const struct cli_column columns[] = {
    {"Name", "name", show_text},
    {"Id", "id", show_text},
    {"Description", "description", show_text},
    {"State", "state", show_text},
    {"  reason", "state_reason", show_text},
    {"  source", "state_source", show_text},
    {"Kubernetes", "kubernetes_version", show_text},
    {"API endpoint", "api_endpoint", show_text},
    {"Dashboard", "dashboard_url", show_text},
    {"Control plane", "control_plane", show_replicas},
    {"Workers", "workers", show_replicas},
    {"vSphere clusters", "placement.vsphere_clusters", show_places},
    {"HX clusters", "placement.hx_clusters", show_names},
    {"  source", "placement.source", show_text},
    {"  hidden", "placement.hidden", show_text},
    {"Labels", "labels", show_labels},
    {"Created", "created_at", show_time},
    {"Updated", "updated_at", show_time},
    {"Observed", "observed_at", show_time},
    {NULL, NULL, NULL},
};

static const struct cli_column node_columns[] = {
    {"NAME", "name", show_text},
    {"ROLE", "role", show_text},
    {"VM", "vm.name", show_text},
    {"MATCHED BY", "vm.match", show_text},
    {"POWER", "vm.power", show_text},
    {"CONNECTION", "vm.connection", show_text},
    {"HOST", "host.name", show_text},
    {"VSPHERE CLUSTER", "vsphere_cluster", show_places},
    {"DECLARED VM", "vm_instance_uuid", show_text},
    {NULL, NULL, NULL},
};

static int make_query(struct cli *cli, struct strbuf *path, struct err *err) {
    const struct opt_given *given = &cli->given;
    const char *hx = opt_get(given, "hx-cluster");
    strbuf_adds(path, "/v2/clusters");
    cli_path_add_query(path, hx && uuid_is_valid(hx) ? "hx_cluster_id" : "hx_cluster", hx);
    cli_path_add_query(path, "vcenter", opt_get(given, "vcenter"));
    cli_path_add_query(path, "vsphere_cluster", opt_get(given, "vsphere-cluster"));
    cli_path_add_query(path, "state", opt_get(given, "state"));
    cli_path_add_query(path, "q", opt_get(given, "query"));
    cli_path_add_query(path, "sort", opt_get(given, "sort"));
    return strbuf_check(path, "the address", err);
}

int cmd_cluster_list(struct cli *cli, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    _cleanup_json_ json_t *items = NULL;
    struct err why = {0};
    int rc = cli_connect(cli, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    if (!rc)
        rc = make_query(cli, &path, err);
    if (rc)
        return rc;
    if (opt_get(&cli->given, "watch"))
        rc = cli_cluster_watch(cli, path.data, list_columns, &why);
    else
        rc = cli_list(cli, path.data, CLI_LINES_MAX, &items, &why);
    if (!rc)
        return show_list(cli, items, list_columns, err);
    if (rc != ERR_AMBIGUOUS) {
        if (err)
            *err = why;
        return rc;
    }
    cli_add_candidates(cli); /* the server's remedy speaks of its interface */
    (void)err_set(err, rc, "%s", why.text);
    return err_remedy(err, "give the id to --hx-cluster:");
}

int cmd_cluster_show(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *cluster = NULL;
    int rc = cli_find_cluster(cli, cli_word(cli, 0), &cluster, err);
    return rc ? rc : show_object(cli, cluster, columns, err);
}

int cmd_cluster_nodes(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *cluster = NULL, *items = NULL;
    _cleanup_free_ char *path = NULL;
    int rc = cli_find_cluster(cli, cli_word(cli, 0), &cluster, err);
    path = cli_path_of("clusters", cluster, "nodes");
    if (!rc)
        rc = cli_client_list(cli->client, path, &items, err);
    return rc ? rc : show_list(cli, items, node_columns, err);
}

int cmd_cluster_rm(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *cluster = NULL;
    _cleanup_free_ char *path = NULL, *question = NULL;
    const char *name;
    int rc = cli_find_cluster(cli, cli_word(cli, 0), &cluster, err);
    if (rc)
        return rc;
    name = json_get_string(cluster, "name");
    path = cli_path_of("clusters", cluster, NULL);
    question = str_format("Remove the record of cluster %s? The cluster itself stays. Type yes: ", name);
    rc = cli_confirm(cli, question ? question : "Type yes: ", err);
    if (!rc)
        rc = cli_client_call(cli->client, &(struct cli_request){.method = "DELETE", .path = path}, NULL, err);
    if (!rc)
        show_line(cli, "removed the record of cluster %s", name);
    return rc;
}
