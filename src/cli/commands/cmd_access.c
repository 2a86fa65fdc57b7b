/* kaasctl grant, role-mapping and access: who may see and do what. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "cli_command.h"
#include "names.h"
#include "platform.h"
#include "principal.h"
#include "str.h"
#include "uuid.h"

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

/* The argument is the id. */
static int cmd_access_take_id(struct cli *cli, const char *id) {
    cli->object = json_object();
    json_put_string(cli->object, "id", id);
    return 0;
}

/* -- grants: whom they are for ---------------------------------------------------------------------------------------------------- */

/* An id as it is; "vc:NAME OF A VCENTER:USER" with the instance UUID in the place of the name; or the name of a local user. The last colon counts: an
 * address may have a port, user names have none. */
static int cmd_grant_read_principal(struct cli *cli, const char *text, char **out, struct err *err) {
    const bool is_of_vcenter = str_starts(text, "vc:");
    const char *colon = strrchr(text, ':');
    _cleanup_free_ char *ref = is_of_vcenter && colon > text + 3 ? strndup(text + 3, (size_t)(colon - text - 3)) : NULL;
    _cleanup_json_ json_t *found = NULL;
    int rc = principal_id_read(text, out, NULL);
    if (rc != ERR_UNPROCESSABLE)
        return rc;
    if (is_of_vcenter && !ref)
        return cli_usage(cli, err, "write vc:VCENTER:USER");
    rc = ref ? cli_find(cli, &cli_vcenters, ref, &found, err) : cli_find(cli, &cli_users, text, &found, err);
    if (rc)
        return rc;
    *out =
        ref ? str_format("vc:%s:%s", json_get_string(found, "id"), colon + 1) : str_dup(json_get_string(found, "principal_id"));
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- grants: what they are on ----------------------------------------------------------------------------------------------------- */

/* The vSphere clusters that fit, of all vCenters that were asked. */
struct cmd_grant_place {
    const char *path;
    bool is_by_name; /* none fits but by its name alone */
    size_t count;
    char *id; /* of the first */
};

static int cmd_grant_try(struct cmd_grant_place *place, const char *vcenter_id, const json_t *item, struct err *err) {
    const char *moref = json_get_string(item, "moref");
    const bool fits = cli_has_path(item, place->path) || str_eq(moref, place->path);
    if (!fits && !vsphere_name_is(json_get_string(item, "name"), place->path))
        return 0;
    if (fits && place->is_by_name)
        place->count = 0;
    if (!fits && place->count && !place->is_by_name)
        return 0;
    place->is_by_name = !fits;
    if (place->count++)
        return 0;
    free(place->id);
    place->id = str_format("%s/%s", vcenter_id, moref);
    return place->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int cmd_grant_look(struct cli *cli, const json_t *vcenter, struct cmd_grant_place *place, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    json_t *item;
    size_t i;
    int rc = cli_list(cli, "/v2/vcenters/{id}/vsphere-clusters", vcenter, NULL, &items, err);
    if (rc)
        return rc;
    json_array_foreach (items, i, item) {
        rc = cmd_grant_try(place, json_get_string(vcenter, "id"), item, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* The id of the vSphere cluster that "VCENTER:DATACENTER/CLUSTER" means, or a moref in the place of the path; the vCenter's name may be left out where one
 * alone has it. */
static int cmd_grant_find_vsphere(struct cli *cli, const char *text, char **id, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL;
    _cleanup_free_ char *found = NULL;
    const json_t *vcenter = NULL;
    struct cmd_grant_place place = {0};
    json_t *item;
    size_t i;
    int rc = cli_list(cli, "/v2/vcenters", NULL, NULL, &vcenters, err);
    if (!rc)
        rc = cli_split_vcenter(vcenters, text, &vcenter, &place.path, err);
    json_array_foreach (vcenters, i, item)
        if (!rc && (!vcenter || vcenter == item))
            rc = cmd_grant_look(cli, item, &place, err);
    found = place.id;
    if (rc)
        return rc;
    if (!place.count) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no vSphere cluster \"%s\"%s%s", place.path, vcenter ? " on vCenter " : "",
                      vcenter ? json_get_string(vcenter, "name") : "");
        return err_remedy(err, "see: kaasctl vcenter clusters %s",
                          vcenter ? name_word(json_get_string(vcenter, "name"), json_get_string(vcenter, "id")) : "VCENTER");
    }
    if (place.count > 1) {
        (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits %zu vSphere clusters", text, place.count);
        return err_remedy(
            err, "give --vsphere-cluster VCENTER:DATACENTER/CLUSTER, or VCENTER:MOREF; see: kaasctl vcenter clusters VCENTER");
    }
    *id = STEAL(found);
    return 0;
}

/* Puts whom (NULL: not said, or by --group or --person, which is left to the server) and what a grant is for. */
static int cmd_grant_put(struct cli *cli, const char *who, json_t *body, struct err *err) {
    const char *cluster = opt_get(&cli->given, "cluster"), *hx = opt_get(&cli->given, "hx-cluster");
    const char *vsphere = opt_get(&cli->given, "vsphere-cluster");
    _cleanup_json_ json_t *object = NULL;
    _cleanup_free_ char *principal_id = NULL, *object_id = NULL;
    int rc = cli_connect(cli, err);
    if (rc)
        return rc;
    rc = who ? cmd_grant_read_principal(cli, who, &principal_id, err) : 0;
    if (rc)
        return rc;
    json_put_string(body, "principal_id", principal_id);
    if ((cluster != NULL) + (hx != NULL) + (vsphere != NULL) > 1)
        return cli_usage(cli, err, "give only one of --cluster, --vsphere-cluster and --hx-cluster");
    if (!cluster && !hx && !vsphere)
        return 0;
    rc = vsphere   ? cmd_grant_find_vsphere(cli, vsphere, &object_id, err)
         : cluster ? cli_find(cli, &cli_clusters, cluster, &object, err)
                   : cli_find(cli, &cli_hx_clusters, hx, &object, err);
    json_put_string(body, "object_kind", cluster ? "cluster" : hx ? "hx_cluster" : "vsphere_cluster");
    json_put_string(body, "object_id", vsphere ? object_id : json_get_string(object, "id"));
    return rc;
}

int cmd_grant_list(struct cli *cli, json_t *query, struct err *err) {
    const char *who = opt_get(&cli->given, "principal");
    bool is_named = who || opt_get(&cli->given, "group") || opt_get(&cli->given, "person") || opt_get(&cli->given, "directory");
    int rc = is_named ? cmd_access_check_named(cli, who, &is_named, err) : 0;
    return rc ? rc : cmd_grant_put(cli, who, query, err);
}

/* Whom the argument says, or --group or --person; all of it must be said. */
int cmd_grant_add(struct cli *cli, json_t *body, struct err *err) {
    bool is_named = false;
    int rc = cmd_access_check_named(cli, cli_word(cli, 0), &is_named, err);
    if (rc)
        return rc;
    rc = cmd_grant_put(cli, cli_word(cli, 0), body, err);
    if (rc)
        return rc;
    return json_object_get(body, "object_id") ? 0
                                              : cli_usage(cli, err, "on what? Give --cluster, --vsphere-cluster or --hx-cluster");
}

/* The grant that this would be, or NULL: with another role it is none. Caller json_decref's. */
static json_t *cmd_grant_find_same(struct cli *cli, const json_t *body) {
    const char *role = json_get_string(body, "role");
    _cleanup_json_ json_t *query = json_copy((json_t *)(uintptr_t)body), *items = NULL;
    json_t *there;
    (void)json_object_del(query, "role");
    if (cli_list(cli, "/v2/grants", NULL, query, &items, NULL))
        return NULL;
    there = json_array_get(items, 0);
    return str_eq(json_get_string(there, "role"), role ? role : "viewer") ? json_incref(there) : NULL;
}

/* Scripts say again what is to be: that is done already. */
int cmd_grant_send_new(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    struct err why = {0};
    int rc = cli_call(cli, body, answer, &why);
    if (rc == ERR_EXISTS && (*answer = cmd_grant_find_same(cli, body)) != NULL) {
        cli_note("kaasctl: this grant is there already");
        return 0;
    }
    return rc ? err_move(err, rc, &why) : 0;
}

/* By its id, or by whom and what it is for. */
int cmd_grant_remove(struct cli *cli, json_t *body, struct err *err) {
    const char *word = cli_word(cli, 0), *group = opt_get(&cli->given, "group"), *person = opt_get(&cli->given, "person");
    _cleanup_json_ json_t *items = NULL;
    const char *name;
    int rc;
    if (word && uuid_is_valid(word))
        return cmd_access_take_id(cli, word);
    rc = cmd_grant_add(cli, body, err);
    if (rc)
        return rc;
    rc = cli_list(cli, "/v2/grants", NULL, body, &items, err);
    if (rc)
        return rc;
    cli->object = json_incref(json_array_get(items, 0));
    if (cli->object)
        return 0;
    name = group ? group : person ? person : json_get_string(body, "principal_id");
    (void)err_set(err, ERR_NOT_FOUND, "%.200s has no grant on this", name);
    return err_remedy(err, "see: kaasctl grant list --%s %s",
                      group    ? "group"
                      : person ? "person"
                               : "principal",
                      name_quote(name).text);
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
        json_put_string(body, "subject_id", id);
        return cli_as_usage(cli, rc);
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
int cmd_role_mapping_remove(struct cli *cli, json_t *body, struct err *err) {
    const char *word = cli_word(cli, 0);
    _cleanup_json_ json_t *query = json_object(), *items = NULL;
    _cleanup_free_ char *subject_id = NULL;
    json_t *item;
    size_t i, count = 0;
    int rc;
    (void)body;
    if (uuid_is_valid(word))
        return cmd_access_take_id(cli, word);
    (void)cmd_role_mapping_read_subject(word, &subject_id, NULL); /* else it is a name */
    json_put_string(query, "subject_id", subject_id);
    rc = cli_list(cli, "/v2/role-mappings", NULL, query, &items, err);
    if (rc)
        return rc;
    json_array_foreach (items, i, item)
        if ((subject_id || name_same(json_get_string(item, "subject_name"), word)) && !count++)
            cli->object = json_incref(item);
    if (count == 1)
        return 0;
    if (count)
        (void)err_set(err, ERR_AMBIGUOUS, "%zu role mappings are for something named \"%.100s\"", count, word);
    else
        (void)err_set(err, ERR_NOT_FOUND, "there is no role mapping for %.100s", word);
    return err_remedy(err, "see: kaasctl role-mapping list; give the id");
}

/* -- access explain --------------------------------------------------------------------------------------------------------------- */

static void cmd_access_show_matched(struct table *t, const json_t *value) {
    table_add(t, json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "unknown");
}

/* Why somebody sees a cluster, or does not. */
int cmd_access_tell(struct cli *cli, json_t *answer, struct err *err) {
    static const struct cli_column columns[] = {
        {"MATCHED", "matched", cmd_access_show_matched},
        {"RULE", "kind"},
        {"ON", "object_type"},
        {"NAME", "object_name"},
        {"FOR", "principal_id"},
        {"WHO", "principal_name"},
        {"REASON", "reason"},
        {NULL, NULL},
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
