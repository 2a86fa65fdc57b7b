/* kaasctl grant, role-mapping and access: who may see and do what. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli_command.h"
#include "principal.h"
#include "str.h"
#include "uuid.h"

#define PATH_BYTES_MAX 8192U

/* Is somebody named by --group or --person, and no id (NULL: none) given beside it? Wrong usage of them is told. */
static int cmd_access_check_named(struct cli *cli, const char *id, bool *is_named, struct err *err) {
    const bool has_group = opt_get(&cli->given, "group"), has_person = opt_get(&cli->given, "person");
    *is_named = has_group || has_person;
    if (has_group && has_person)
        return cli_usage(cli, err, "give --group or --person, not both");
    if (*is_named && id)
        return cli_usage(cli, err, "give an id, or --%s, not both", has_group ? "group" : "person");
    if (!*is_named && !id)
        return cli_usage(cli, err, "who? Give an id, --group NAME or --person NAME");
    if (!*is_named && opt_get(&cli->given, "directory"))
        return cli_usage(cli, err, "--directory goes with --group or --person");
    return 0;
}

/* A list of all pages. */
static int cmd_access_list(struct cli *cli, const struct strbuf *path, json_t **items, struct err *err) {
    struct err why = {0};
    int rc = strbuf_check(path, "the address", err);
    if (rc)
        return rc;
    rc = cli_client_list(cli->client, path->data, items, &why);
    return rc ? cli_fail(cli, &why, err) : 0;
}

/* DELETE of what has this id in a collection. `what` is how it is told. */
static int cmd_access_remove(struct cli *cli, const char *collection, const char *what, const char *id, struct err *err) {
    _cleanup_free_ char *path = str_format("/v2/%s/%s", collection, id);
    int rc = path ? cli_connect(cli, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    rc = cli_client_call(cli->client, &(struct cli_request){.method = "DELETE", .path = path}, NULL, err);
    if (!rc)
        show_line(cli, "removed %s %s", what, id);
    return rc;
}

/* -- grants: whom they are for ---------------------------------------------------------------------------------------------------- */

/* "vc:NAME OF A VCENTER:USER" with the instance UUID in the place of the name. The last colon counts: an address may have a port, user names have none. */
static int cmd_grant_name_vcenter(struct cli *cli, const char *text, char **out, struct err *err) {
    const char *colon = strrchr(text + 3, ':');
    _cleanup_free_ char *ref = colon ? strndup(text + 3, (size_t)(colon - text - 3)) : NULL;
    _cleanup_json_ json_t *vcenter = NULL;
    int rc;
    if (!ref || !*ref)
        return cli_usage(cli, err, "write vc:VCENTER:USER");
    rc = cli_find(cli, &cli_vcenters, ref, &vcenter, err);
    if (!rc)
        *out = str_format("vc:%s:%s", json_get_string(vcenter, "id"), colon + 1);
    return rc;
}

/* An id as it is, a user of a vCenter by the vCenter's name, or the name of a local user. */
static int cmd_grant_read_principal(struct cli *cli, const char *text, char **out, struct err *err) {
    _cleanup_json_ json_t *user = NULL;
    int rc = principal_id_read(text, out, NULL);
    if (rc != ERR_UNPROCESSABLE)
        return rc;
    if (str_starts(text, "vc:"))
        return cmd_grant_name_vcenter(cli, text, out, err);
    rc = cli_find(cli, &cli_users, text, &user, err);
    if (!rc)
        *out = str_dup(json_get_string(user, "principal_id"));
    return rc;
}

/* -- grants: what they are on ----------------------------------------------------------------------------------------------------- */

/* The id of the vSphere cluster with this path or moref. */
static int cmd_grant_find_vsphere_in(struct cli *cli, const json_t *vcenter, const char *path, char **id, struct err *err) {
    _cleanup_free_ char *address = cli_path_of("vcenters", vcenter, "vsphere-clusters");
    const char *name = json_get_string(vcenter, "name");
    _cleanup_json_ json_t *items = NULL;
    json_t *item;
    size_t i;
    int rc = cli_client_list(cli->client, address, &items, err);
    if (rc)
        return rc;
    json_array_foreach (items, i, item) {
        const char *moref = json_get_string(item, "moref");
        if (!str_eq(json_get_string(item, "path"), path) && !str_eq(moref, path))
            continue;
        *id = str_format("%s/%s", json_get_string(vcenter, "id"), moref);
        return *id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)err_set(err, ERR_NOT_FOUND, "there is no vSphere cluster \"%s\" on vCenter %s", path, name);
    return err_remedy(err, "see: kaasctl vcenter clusters %s", name);
}

/* "VCENTER:DATACENTER/CLUSTER"; with one vCenter only, its name may be left out. */
static int cmd_grant_find_vsphere(struct cli *cli, const char *text, char **id, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL;
    const json_t *found = NULL;
    const char *path = NULL;
    int rc = cli_list_vcenters(cli, &vcenters, err);
    if (rc)
        return rc;
    rc = cli_split_vcenter(vcenters, text, &found, &path, err);
    if (rc)
        return rc;
    if (!found && json_array_size(vcenters) == 1)
        found = json_array_get(vcenters, 0);
    if (found)
        return cmd_grant_find_vsphere_in(cli, found, path, id, err);
    (void)err_set(err, ERR_AMBIGUOUS, "on which vCenter is \"%s\"?", text);
    return err_remedy(err, "give --vsphere-cluster VCENTER:DATACENTER/CLUSTER");
}

static int cmd_grant_find_id(struct cli *cli, const struct cli_kind *kind, const char *ref, char **id, struct err *err) {
    _cleanup_json_ json_t *object = NULL;
    int rc = cli_find(cli, kind, ref, &object, err);
    if (!rc)
        *id = str_dup(json_get_string(object, "id"));
    return rc;
}

/* Whom and what a grant is for. */
struct cmd_grant {
    char *principal_id; /* NULL: by name, which is left to the server, or not said */
    const char *object_kind;
    char *object_id; /* NULL: not said */
};

static void cmd_grant_done(struct cmd_grant *grant) {
    free(grant->principal_id);
    free(grant->object_id);
}

#define _cleanup_grant_ __attribute__((cleanup(cmd_grant_done)))

/* Reads `who` (NULL: not said) and the option for the object. */
static int cmd_grant_read(struct cli *cli, const char *who, struct cmd_grant *out, struct err *err) {
    const char *cluster = opt_get(&cli->given, "cluster"), *hx = opt_get(&cli->given, "hx-cluster");
    const char *vsphere = opt_get(&cli->given, "vsphere-cluster");
    int rc = cli_connect(cli, err);
    if (rc)
        return rc;
    rc = who ? cmd_grant_read_principal(cli, who, &out->principal_id, err) : 0;
    if (rc)
        return rc;
    if ((cluster != NULL) + (hx != NULL) + (vsphere != NULL) > 1)
        return cli_usage(cli, err, "give only one of --cluster, --vsphere-cluster and --hx-cluster");
    out->object_kind = cluster ? "cluster" : hx ? "hx_cluster" : "vsphere_cluster";
    if (cluster)
        return cmd_grant_find_id(cli, &cli_clusters, cluster, &out->object_id, err);
    if (hx)
        return cmd_grant_find_id(cli, &cli_hx_clusters, hx, &out->object_id, err);
    return vsphere ? cmd_grant_find_vsphere(cli, vsphere, &out->object_id, err) : 0;
}

/* The same of the argument, or of --group or --person; all of it must be said. */
static int cmd_grant_read_all(struct cli *cli, struct cmd_grant *out, struct err *err) {
    bool is_named = false;
    int rc = cmd_access_check_named(cli, cli_word(cli, 0), &is_named, err);
    if (rc)
        return rc;
    rc = cmd_grant_read(cli, cli_word(cli, 0), out, err);
    if (rc)
        return rc;
    return out->object_id ? 0 : cli_usage(cli, err, "on what? Give --cluster, --vsphere-cluster or --hx-cluster");
}

/* -- grants: commands ------------------------------------------------------------------------------------------------------------- */

static int cmd_grant_list_of(struct cli *cli, const struct cmd_grant *grant, json_t **items, struct err *err) {
    _cleanup_strbuf_ struct strbuf path = {0};
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/grants");
    cli_path_add_query(&path, "principal_id", grant->principal_id);
    cli_add_query(cli, &path);
    cli_path_add_query(&path, "object_kind", grant->object_id ? grant->object_kind : NULL);
    cli_path_add_query(&path, "object_id", grant->object_id);
    return cmd_access_list(cli, &path, items, err);
}

int cmd_grant_list(struct cli *cli, struct err *err) {
    const char *who = opt_get(&cli->given, "principal");
    _cleanup_json_ json_t *items = NULL;
    _cleanup_grant_ struct cmd_grant grant = {0};
    bool is_named = who || opt_get(&cli->given, "group") || opt_get(&cli->given, "person") || opt_get(&cli->given, "directory");
    int rc = is_named ? cmd_access_check_named(cli, who, &is_named, err) : 0;
    if (rc)
        return rc;
    rc = cmd_grant_read(cli, who, &grant, err);
    if (rc)
        return rc;
    rc = cmd_grant_list_of(cli, &grant, &items, err);
    return rc ? rc : cli_show_result(cli, NULL, items, err);
}

int cmd_grant_add(struct cli *cli, json_t *body, struct err *err) {
    _cleanup_grant_ struct cmd_grant grant = {0};
    int rc = cmd_grant_read_all(cli, &grant, err);
    if (rc)
        return rc;
    json_put_string(body, "principal_id", grant.principal_id);
    json_put_string(body, "object_kind", grant.object_kind);
    json_put_string(body, "object_id", grant.object_id);
    return 0;
}

static int cmd_grant_none(const struct cli *cli, const char *principal_id, struct err *err) {
    const char *group = opt_get(&cli->given, "group"), *name = group ? group : opt_get(&cli->given, "person");
    const char *option = group ? "group" : name ? "person" : "principal";
    (void)err_set(err, ERR_NOT_FOUND, "%.200s has no grant on this", name ? name : principal_id);
    return err_remedy(err, "see: kaasctl grant list --%s '%.150s'", option, name ? name : principal_id);
}

/* By its id, or by whom and what it is for. */
int cmd_grant_remove(struct cli *cli, struct err *err) {
    const char *word = cli_word(cli, 0);
    _cleanup_json_ json_t *items = NULL;
    _cleanup_grant_ struct cmd_grant grant = {0};
    int rc;
    if (word && uuid_is_valid(word))
        return cmd_access_remove(cli, "grants", "grant", word, err);
    rc = cmd_grant_read_all(cli, &grant, err);
    if (rc)
        return rc;
    rc = cmd_grant_list_of(cli, &grant, &items, err);
    if (rc)
        return rc;
    if (!json_array_size(items))
        return cmd_grant_none(cli, grant.principal_id, err);
    return cmd_access_remove(cli, "grants", "grant", json_get_string(json_array_get(items, 0), "id"), err);
}

/* -- role mappings ---------------------------------------------------------------------------------------------------------------- */

/* A SID as Windows writes it, or an id. */
static int cmd_role_mapping_read_subject(const char *text, char **out, struct err *err) {
    _cleanup_free_ char *with_kind = str_starts(text, "S-1-") ? str_format("sid:%s", text) : str_dup(text);
    int rc = with_kind ? principal_id_read(with_kind, out, NULL) : ERR_NOMEM;
    if (!rc)
        return 0;
    (void)err_set(err, ERR_INVALID, "\"%.100s\" is not the id of a group or person", text);
    return err_remedy(err, "write sid:S-1-5-21-... or ldap:<source>:<uuid>; with --privilege a vCenter");
}

/* With a privilege the subject is a vCenter; else a group or person. */
int cmd_role_mapping_add(struct cli *cli, json_t *body, struct err *err) {
    const char *word = cli_word(cli, 0), *privilege = opt_get(&cli->given, "privilege");
    _cleanup_json_ json_t *vcenter = NULL;
    _cleanup_free_ char *id = NULL;
    bool is_named = false;
    int rc;
    if (!json_object_get(body, "role"))
        return cli_usage(cli, err, "which role? Give --role user, provisioner or admin");
    rc = cmd_access_check_named(cli, word, &is_named, err);
    if (rc)
        return rc;
    if (is_named)
        return privilege ? cli_usage(cli, err, "--privilege needs a vCenter, not a group or person") : 0;
    if (!privilege) {
        rc = cmd_role_mapping_read_subject(word, &id, err);
        if (rc)
            cli->status = CLI_USAGE;
        json_put_string(body, "subject_id", id);
        return rc;
    }
    rc = cli_find(cli, &cli_vcenters, word, &vcenter, err);
    if (rc)
        return rc;
    json_put_string(body, "kind", "vcenter_privilege");
    json_put_string(body, "subject_id", json_get_string(vcenter, "id"));
    json_put_string(body, "privilege", privilege);
    return 0;
}

/* By its id, or by the one group or person that it is for: by id or by the name that is shown. */
int cmd_role_mapping_remove(struct cli *cli, struct err *err) {
    const char *word = cli_word(cli, 0);
    _cleanup_strbuf_ struct strbuf path = {0};
    _cleanup_json_ json_t *items = NULL;
    _cleanup_free_ char *subject_id = NULL;
    const json_t *item, *found = NULL;
    size_t i, count = 0;
    int rc;
    if (uuid_is_valid(word))
        return cmd_access_remove(cli, "role-mappings", "role mapping", word, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/role-mappings");
    (void)cmd_role_mapping_read_subject(word, &subject_id, NULL); /* else it is a name */
    cli_path_add_query(&path, "subject_id", subject_id);
    rc = cli_connect(cli, err);
    if (rc)
        return rc;
    rc = cmd_access_list(cli, &path, &items, err);
    if (rc)
        return rc;
    json_array_foreach (items, i, item)
        if (subject_id || str_eq_nocase(json_get_string(item, "subject_name"), word)) {
            found = item;
            count++;
        }
    if (count == 1)
        return cmd_access_remove(cli, "role-mappings", "role mapping", json_get_string(found, "id"), err);
    rc = count ? err_set(err, ERR_AMBIGUOUS, "%zu role mappings are for something named \"%.100s\"", count, word)
               : err_set(err, ERR_NOT_FOUND, "there is no role mapping for %.100s", word);
    (void)err_remedy(err, "see: kaasctl role-mapping list; give the id");
    return rc;
}

/* -- access explain --------------------------------------------------------------------------------------------------------------- */

static void cmd_access_show_matched(struct table *t, const json_t *value) {
    table_add(t, json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "unknown");
}

/* Why somebody sees a cluster, or does not. */
int cmd_access_tell(struct cli *cli, json_t *answer, struct err *err) {
    static const struct cli_column columns[] = {
        {"MATCHED", "matched", cmd_access_show_matched},
        {"RULE", "kind", NULL},
        {"ON", "object_type", NULL},
        {"NAME", "object_name", NULL},
        {"FOR", "principal_id", NULL},
        {"WHO", "principal_name", NULL},
        {"REASON", "reason", NULL},
        {NULL, NULL, NULL},
    };
    const json_t *visible = json_object_get(answer, "visible");
    const char *verb = json_is_true(visible) ? "sees" : json_is_false(visible) ? "does not see" : "may or may not see";
    if (cli->is_json)
        return show_json(cli, answer, err);
    show_line(cli, "%s (role %s) %s cluster %s", json_get_string(answer, "principal_id"), json_get_string(answer, "role"), verb,
              json_get_string(answer, "cluster_name"));
    if (json_get_string(answer, "note"))
        show_line(cli, "%s", json_get_string(answer, "note"));
    return show_list(cli, json_object_get(answer, "rules"), columns, err);
}
