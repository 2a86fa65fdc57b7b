/* From the options of `kaasctl cluster add|set|status` to the body of the request. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_cluster_body.h"

#include <string.h>

#include "cli_address.h"
#include "cli_find.h"
#include "str.h"

/* -- texts, counts, lists ------------------------------------------------------------------------------------------------- */

static void put_texts(const struct opt_given *given, json_t *body) {
    static const struct {
        const char *option, *member;
    } texts[] = {
        {"name", "name"},
        {"description", "description"},
        {"kubernetes-version", "kubernetes_version"},
        {"api-endpoint", "api_endpoint"},
        {"dashboard-url", "dashboard_url"},
        {"state", "state"},
        {"state-reason", "state_reason"},
        {"reason", "reason"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        json_put_string(body, texts[i].member, opt_get(given, texts[i].option));
}

static int put_replicas(const struct opt_given *given, const char *option, const char *member, json_t *body, struct err *err) {
    const char *text = opt_get(given, option);
    json_t *replicas = NULL;
    int rc = text ? cli_parse_replicas(text, option, &replicas, err) : 0;
    if (replicas)
        (void)json_object_set_new(body, member, replicas);
    return rc;
}

/* Parses each occurrence of a repeatable option into one object or array of the body. */
static int put_each(const struct opt_given *given, const char *option, int (*parse)(const char *, json_t *, struct err *),
                    json_t *into, struct err *err) {
    const char *text;
    size_t at = 0;
    int rc = 0;
    while (!rc && (text = opt_next(given, option, &at)))
        rc = parse(text, into, err);
    return rc;
}

static int put_lists(const struct opt_given *given, json_t *body, struct err *err) {
    json_t *labels = json_object(), *nodes = json_array();
    int rc = put_each(given, "label", cli_parse_label, labels, err);
    if (!rc)
        rc = put_each(given, "node", cli_parse_node, nodes, err);
    if (json_object_size(labels))
        (void)json_object_set(body, "labels", labels);
    if (json_array_size(nodes))
        (void)json_object_set(body, "nodes", nodes);
    json_decref(labels);
    json_decref(nodes);
    return rc;
}

/* -- members to be emptied ------------------------------------------------------------------------------------------------ */

static int clear_label(json_t *body, const char *key, struct err *err) {
    json_t *labels = json_object_get(body, "labels");
    if (!*key)
        return err_set(err, ERR_INVALID, "--clear label: needs a key");
    if (!json_is_object(labels)) {
        labels = json_object();
        (void)json_object_set_new(body, "labels", labels);
    }
    (void)json_object_set_new(labels, key, json_null());
    return 0;
}

static int clear_member(const char *word, json_t *body, struct err *err) {
    static const char *const known[] = {"description", "state_reason", "api_endpoint", "dashboard_url", "labels", "nodes"};
    _cleanup_free_ char *member = str_dup(word);
    if (str_starts(word, "label:"))
        return clear_label(body, word + 6, err);
    for (char *dash = member; dash && (dash = strchr(dash, '-'));)
        *dash = '_';
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (str_eq(member, known[i])) {
            (void)json_object_set_new(body, known[i], json_null());
            return 0;
        }
    (void)err_set(err, ERR_INVALID, "--clear \"%s\" is not something that can be empty", word);
    return err_remedy(err, "use description, state-reason, api-endpoint, dashboard-url, labels, nodes or label:KEY");
}

/* -- placement ------------------------------------------------------------------------------------------------------------ */

static json_t *make_place(const char *vcenter, const char *path) {
    json_t *place = json_object();
    bool is_path = strchr(path, '/');
    json_put_string(place, is_path ? "vcenter" : "vcenter_id", vcenter);
    json_put_string(place, is_path ? "path" : "moref", path);
    return place;
}

static int no_vcenter(const char *text, size_t count, struct err *err) {
    if (!count) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no vCenter yet, so \"%s\" is nowhere", text);
        return err_remedy(err, "run: kaasctl vcenter add ADDRESS");
    }
    (void)err_set(err, ERR_AMBIGUOUS, "on which of the %zu vCenters is \"%s\"?", count, text);
    return err_remedy(err, "give --vsphere-cluster VCENTER:%s, or add --vcenter VCENTER", text);
}

/* "VCENTER:DC/CLUSTER" for the vCenters that there are; without a prefix the only vCenter. */
static int place_among(const json_t *vcenters, const char *text, json_t **place, struct err *err) {
    const size_t count = json_array_size(vcenters);
    const json_t *vcenter = NULL;
    const char *path = NULL;
    int rc = cli_split_vcenter(vcenters, text, &vcenter, &path, err);
    if (rc)
        return rc;
    if (!vcenter && count == 1)
        vcenter = json_array_get(vcenters, 0);
    if (!vcenter)
        return no_vcenter(text, count, err);
    *place = make_place(json_get_string(vcenter, "id"), path);
    return 0;
}

/* For people who may write clusters but not list vCenters: taken as typed. */
static int place_as_typed(const char *text, json_t **place, struct err *err) {
    size_t head = strcspn(text, "/");
    const char *colon = memrchr(text, ':', head);
    _cleanup_free_ char *vcenter = colon ? strndup(text, (size_t)(colon - text)) : NULL;
    if (!vcenter || !*vcenter)
        return no_vcenter(text, 2, err);
    *place = make_place(vcenter, colon + 1);
    return 0;
}

/* Which vCenters there are, if a name must be told from a path; NULL if that may not be asked. */
static int load_vcenters(struct cli *cli, json_t **vcenters, struct err *err) {
    struct err why = {0};
    int rc = cli_list_vcenters(cli, vcenters, &why);
    if (rc == ERR_FORBIDDEN && cli->client)
        return 0;
    if (rc && err)
        *err = why;
    return rc;
}

static int find_common(struct cli *cli, const char *ref, char **id, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL;
    struct err why = {0};
    int rc = cli_find(cli, &cli_vcenters, ref, &vcenter, &why);
    if (rc && rc != ERR_FORBIDDEN) {
        if (err)
            *err = why;
        return rc;
    }
    *id = str_dup(rc ? ref : json_get_string(vcenter, "id"));
    return *id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int put_places(struct cli *cli, json_t *body, struct err *err) {
    const char *text, *common = opt_get(&cli->given, "vcenter");
    _cleanup_json_ json_t *vcenters = NULL, *places = json_array();
    _cleanup_free_ char *common_id = NULL;
    size_t at = 0;
    int rc = 0;
    if (!opt_get(&cli->given, "vsphere-cluster"))
        return common ? cli_usage(cli, err, "--vcenter says where --vsphere-cluster is; that is missing") : 0;
    rc = common ? find_common(cli, common, &common_id, err) : load_vcenters(cli, &vcenters, err);
    while (!rc && (text = opt_next(&cli->given, "vsphere-cluster", &at))) {
        json_t *place = NULL;
        if (common_id)
            place = make_place(common_id, text);
        else
            rc = vcenters ? place_among(vcenters, text, &place, err) : place_as_typed(text, &place, err);
        if (place)
            (void)json_array_append_new(places, place);
    }
    if (!rc)
        (void)json_object_set(body, "vsphere_clusters", places);
    return rc;
}

int cluster_body_fill(struct cli *cli, json_t *body, struct err *err) {
    const struct opt_given *given = &cli->given;
    int rc = put_replicas(given, "control-plane", "control_plane", body, err);
    put_texts(given, body);
    if (!rc)
        rc = put_replicas(given, "workers", "workers", body, err);
    if (!rc)
        rc = put_lists(given, body, err);
    if (!rc)
        rc = put_each(given, "clear", clear_member, body, err);
    if (rc == ERR_INVALID)
        cli->status = CLI_USAGE;
    return rc ? rc : put_places(cli, body, err);
}
