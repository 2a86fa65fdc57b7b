/* kaasctl access: why somebody sees a cluster, or does not. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"

#define PATH_BYTES_MAX 4096U

static void show_matched(struct table *t, const json_t *value) {
    table_add(t, json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "unknown");
}

static const struct cli_column columns[] = {
    {"MATCHED", "matched", show_matched}, {"RULE", "kind", show_text},
    {"ON", "object_type", show_text},     {"NAME", "object_name", show_text},
    {"FOR", "principal_id", show_text},   {"WHO", "principal_name", show_text},
    {"REASON", "reason", show_text},      {NULL, NULL, NULL},
};

int cmd_access_explain(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *cluster = NULL, *answer = NULL;
    _cleanup_free_ char *base = NULL;
    _cleanup_strbuf_ struct strbuf path;
    const json_t *visible;
    int rc = cli_find(cli, &cli_clusters, cli_word(cli, 1), &cluster, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    if (rc)
        return rc;
    base = cli_path_of("clusters", cluster, "explain");
    strbuf_adds(&path, base ? base : "");
    cli_path_add_query(&path, "principal", cli_word(cli, 0));
    rc = strbuf_check(&path, "the address", err);
    if (!rc)
        rc = cli_client_get(cli->client, path.data, &answer, err);
    if (rc)
        return rc;
    if (cli->is_json)
        return show_json(cli, answer, err);
    visible = json_object_get(answer, "visible");
    show_line(cli, "%s (role %s) %s cluster %s", json_get_string(answer, "principal_id"), json_get_string(answer, "role"),
              json_is_true(visible)    ? "sees"
              : json_is_false(visible) ? "does not see"
                                       : "may or may not see",
              json_get_string(answer, "cluster_name"));
    if (json_get_string(answer, "note"))
        show_line(cli, "%s", json_get_string(answer, "note"));
    return show_list(cli, json_object_get(answer, "rules"), columns, err);
}
