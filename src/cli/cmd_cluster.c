/* kaasctl cluster: list, show, nodes, rm. Layer 6 (cli). Writing is cmd_cluster_write.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_cluster_watch.h"
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "str.h"
#include "uuid.h"

#define PATH_BYTES_MAX 8192U

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
        rc = cli_cluster_watch(cli, path.data, cli->command->list, &why);
    else
        rc = cli_list(cli, path.data, CLI_LINES_MAX, &items, &why);
    if (!rc)
        return show_list(cli, items, cli->command->list, err);
    if (rc != ERR_AMBIGUOUS) {
        if (err)
            *err = why;
        return rc;
    }
    cli_add_candidates(cli); /* the server's remedy speaks of its interface */
    (void)err_set(err, rc, "%s", why.text);
    return err_remedy(err, "give the id to --hx-cluster:");
}
