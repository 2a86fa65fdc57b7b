/* kaasctl impact: what becomes of Kubernetes clusters without a host. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "str.h"

#define IMPACT_NAMED_MAX 5 /* clusters that the last line names; the rest is counted */
#define IMPACT_LINE_BYTES_MAX 4096U
#define LOSES_QUORUM "loses_quorum"

static void impact_show_verdict(struct table *t, const json_t *value) {
    static const char *const words[][2] = {
        {LOSES_QUORUM, "loses its quorum"},
        {"no_quorum", "has no quorum now"},
        {"keeps_quorum", "keeps its quorum"},
        {"workers_only", "loses workers"},
    };
    const char *word = json_string_value(value);
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (str_eq(word, words[i][0]))
            word = words[i][1];
    table_add(t, word);
}

static void impact_show_control_plane(struct table *t, const json_t *value) {
    table_addf(t, "%lld of %lld", (long long)json_get_int(value, "on_host", 0), (long long)json_get_int(value, "size", 0));
}

static void impact_show_nodes(struct table *t, const json_t *value) {
    _cleanup_json_ json_t *names = json_array();
    json_t *node;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)value, i, node)
        (void)json_array_append(names, json_object_get(node, "name"));
    show_words(t, names);
}

/* "Without it 2 of 7 clusters lose their quorum: prod, test." The worst come first. */
static void impact_tell_verdict(struct cli *cli, const json_t *clusters, size_t lost) {
    _cleanup_strbuf_ struct strbuf names;
    strbuf_init(&names, IMPACT_LINE_BYTES_MAX);
    for (size_t i = 0; i < lost && i < IMPACT_NAMED_MAX; i++) {
        const json_t *cluster = json_object_get(json_array_get(clusters, i), "cluster");
        strbuf_addf(&names, "%s%s", i ? ", " : "", json_get_string(cluster, "name"));
    }
    if (lost > IMPACT_NAMED_MAX)
        strbuf_addf(&names, " and %zu more", lost - IMPACT_NAMED_MAX);
    if (lost)
        show_line(cli, "Without it %zu of %zu clusters %s: %s.", lost, json_array_size(clusters),
                  lost == 1 ? "loses its quorum" : "lose their quorum", names.data);
    else
        show_line(cli, "Without it no cluster loses its quorum.");
}

static size_t impact_count_lost(const json_t *clusters) {
    size_t lost = 0;
    while (str_eq(json_get_string(json_array_get(clusters, lost), "verdict"), LOSES_QUORUM))
        lost++;
    return lost;
}

/* A cluster that would lose its quorum is an answer, and a failure for scripts. */
int cmd_impact_tell_host(struct cli *cli, json_t *answer, struct err *err) {
    static const struct cli_column columns[] = {
        {"CLUSTER", "cluster.name"},
        {"STATE", "state"},
        {"WITHOUT IT", "verdict", impact_show_verdict},
        {"CONTROL PLANE ON IT", "control_plane", impact_show_control_plane},
        {"WORKERS ON IT", "workers_on_host"},
        {"NODES", "nodes", impact_show_nodes},
        {NULL},
    };
    const json_t *clusters = json_object_get(answer, "clusters"), *host = json_object_get(answer, "host");
    const int64_t hidden = json_get_int(answer, "hidden", 0);
    const char *name = json_get_string(host, "name"), *moref = json_get_string(host, "moref"),
               *vcenter = json_get_string(host, "vcenter_name");
    const size_t lost = impact_count_lost(clusters);
    if (lost)
        cli->status = CLI_FAILED;
    if (cli->is_json)
        return show_json(cli, answer, err);
    show_line(cli, "host %s (%s) of vCenter %s", name ? name : moref, moref,
              vcenter ? vcenter : json_get_string(host, "vcenter_id"));
    show_gap(cli);
    int rc = show_list(cli, clusters, columns, err);
    show_gap(cli);
    impact_tell_verdict(cli, clusters, lost);
    if (hidden)
        show_line(cli, "There %s %lld more %s on it, of clusters that you may see elsewhere only.", hidden == 1 ? "is" : "are",
                  (long long)hidden, hidden == 1 ? "node" : "nodes");
    return rc;
}
