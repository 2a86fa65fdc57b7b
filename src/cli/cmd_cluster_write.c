/* kaasctl cluster add, set and status. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_cluster_body.h"
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "str.h"

static const char *missing_option(const struct opt_given *given) {
    static const char *const needed[] = {"name", "vsphere-cluster", "kubernetes-version"};
    for (size_t i = 0; i < ARRAY_COUNT(needed); i++)
        if (!opt_get(given, needed[i]))
            return needed[i];
    return NULL;
}

static void put_default(json_t *body, const char *member, int desired) {
    json_t *replicas;
    if (json_object_get(body, member))
        return;
    replicas = json_object();
    json_put_int(replicas, "desired", desired);
    (void)json_object_set_new(body, member, replicas);
}

/* Names that fit several vSphere clusters are told with the places they fit. */
static int send_body(struct cli *cli, const struct cli_request *request, json_t **out, struct err *err) {
    int rc = cli_client_call(cli->client, request, out, err);
    if (rc == ERR_AMBIGUOUS)
        cli_add_candidates(cli);
    return rc;
}

static int tell(struct cli *cli, const char *done, const json_t *cluster, struct err *err) {
    if (cli->is_json)
        return show_json(cli, cluster, err);
    show_line(cli, "%s cluster %s (%s)", done, json_get_string(cluster, "name"), json_get_string(cluster, "id"));
    return 0;
}

int cmd_cluster_add(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *made = NULL;
    const char *missing = missing_option(&cli->given);
    int rc = missing ? cli_usage(cli, err, "--%s is missing", missing) : cluster_body_fill(cli, body, err);
    if (!rc)
        rc = cli_connect(cli, err);
    if (rc)
        return rc;
    put_default(body, "control_plane", 1);
    put_default(body, "workers", 0);
    rc = send_body(cli, &(struct cli_request){.method = "POST", .path = "/v2/clusters", .body = body}, &made, err);
    return rc ? rc : tell(cli, "added", made, err);
}

int cmd_cluster_set(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *cluster = NULL, *changed = NULL;
    _cleanup_free_ char *path = NULL;
    int rc = cluster_body_fill(cli, body, err);
    if (!rc && !json_object_size(body))
        rc = cli_usage(cli, err, "nothing to change: give at least one option");
    if (!rc)
        rc = cli_find(cli, &cli_clusters, cli_word(cli, 0), &cluster, err);
    path = cli_path_of("clusters", cluster, NULL);
    if (!rc)
        rc = send_body(cli, &(struct cli_request){.method = "PATCH", .path = path, .body = body, .is_merge_patch = true},
                       &changed, err);
    return rc ? rc : tell(cli, "changed", changed, err);
}

/* What the cluster is now need not be what was reported: what is observed has its say. */
static int tell_status(struct cli *cli, const json_t *cluster, struct err *err) {
    const char *reason = json_get_string(cluster, "state_reason");
    if (cli->is_json)
        return show_json(cli, cluster, err);
    show_line(cli, "cluster %s is %s (%s)%s%s", json_get_string(cluster, "name"), json_get_string(cluster, "state"),
              json_get_string(cluster, "state_source"), reason ? ": " : "", reason ? reason : "");
    return 0;
}

int cmd_cluster_status(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *cluster = NULL, *changed = NULL;
    _cleanup_free_ char *path = NULL;
    int rc = opt_get(&cli->given, "state") ? cluster_body_fill(cli, body, err) : cli_usage(cli, err, "--state is missing");
    if (!rc)
        rc = cli_find(cli, &cli_clusters, cli_word(cli, 0), &cluster, err);
    path = cli_path_of("clusters", cluster, "status");
    if (!rc)
        rc = send_body(cli, &(struct cli_request){.method = "PUT", .path = path, .body = body}, &changed, err);
    return rc ? rc : tell_status(cli, changed, err);
}
