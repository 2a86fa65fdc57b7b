/* kaasctl grant: who may see what. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli_command.h"
#include "cli_find.h"
#include "cli_named.h"
#include "cli_show.h"
#include "principal.h"
#include "str.h"
#include "uuid.h"

#define PATH_BYTES_MAX 8192U

/* -- whom it is for ----------------------------------------------------------------------------------------------------------- */

/* "vc:NAME OF A VCENTER:USER" with the instance UUID in the place of the name. The last colon counts: an address may have a port, user names have none. */
static int name_vcenter(struct cli *cli, const char *text, char **out, struct err *err) {
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
static int read_principal(struct cli *cli, const char *text, char **out, struct err *err) {
    _cleanup_json_ json_t *user = NULL;
    int rc = principal_id_read(text, out, NULL);
    if (rc != ERR_UNPROCESSABLE)
        return rc;
    if (str_starts(text, "vc:"))
        return name_vcenter(cli, text, out, err);
    rc = cli_find(cli, &cli_users, text, &user, err);
    if (!rc)
        *out = str_dup(json_get_string(user, "principal_id"));
    return rc;
}

/* -- what it is on ------------------------------------------------------------------------------------------------------------ */

struct target {
    const char *kind;
    char *id;
};

static int find_in(struct cli *cli, const json_t *vcenter, const char *path, struct target *out, struct err *err) {
    _cleanup_free_ char *address = cli_path_of("vcenters", vcenter, "vsphere-clusters");
    _cleanup_json_ json_t *items = NULL;
    json_t *item;
    size_t i;
    int rc = cli_client_list(cli->client, address, &items, err);
    if (rc)
        return rc;
    json_array_foreach (items, i, item) {
        const char *moref = json_get_string(item, "moref");
        if (out->id || (!str_eq(json_get_string(item, "path"), path) && !str_eq(moref, path)))
            continue;
        out->id = str_format("%s/%s", json_get_string(vcenter, "id"), moref);
    }
    if (out->id)
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "there is no vSphere cluster \"%s\" on vCenter %s", path, json_get_string(vcenter, "name"));
    return err_remedy(err, "see: kaasctl vcenter clusters %s", json_get_string(vcenter, "name"));
}

/* "VCENTER:DATACENTER/CLUSTER"; with one vCenter only, its name may be left out. */
static int find_vsphere(struct cli *cli, const char *text, struct target *out, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL;
    const json_t *found = NULL;
    const char *path = NULL;
    int rc = cli_list_vcenters(cli, &vcenters, err);
    if (!rc)
        rc = cli_split_vcenter(vcenters, text, &found, &path, err);
    if (rc)
        return rc;
    if (!found && json_array_size(vcenters) == 1)
        found = json_array_get(vcenters, 0);
    if (found)
        return find_in(cli, found, path, out, err);
    (void)err_set(err, ERR_AMBIGUOUS, "on which vCenter is \"%s\"?", text);
    return err_remedy(err, "give --vsphere-cluster VCENTER:DATACENTER/CLUSTER");
}

static int find_named(struct cli *cli, const char *ref, const struct cli_kind *kind, struct target *out, struct err *err) {
    _cleanup_json_ json_t *object = NULL;
    int rc = cli_find(cli, kind, ref, &object, err);
    if (!rc)
        out->id = str_dup(json_get_string(object, "id"));
    return rc;
}

/* The one object that an option names; none gives an id of NULL. */
static int read_target(struct cli *cli, struct target *out, struct err *err) {
    const char *cluster = opt_get(&cli->given, "cluster"), *hx = opt_get(&cli->given, "hx-cluster");
    const char *vsphere = opt_get(&cli->given, "vsphere-cluster");
    if ((cluster != NULL) + (hx != NULL) + (vsphere != NULL) > 1)
        return cli_usage(cli, err, "give only one of --cluster, --vsphere-cluster and --hx-cluster");
    out->kind = cluster ? "cluster" : hx ? "hx_cluster" : "vsphere_cluster";
    if (cluster)
        return find_named(cli, cluster, &cli_clusters, out, err);
    if (hx)
        return find_named(cli, hx, &cli_hx_clusters, out, err);
    return vsphere ? find_vsphere(cli, vsphere, out, err) : 0;
}

/* -- commands ----------------------------------------------------------------------------------------------------------------- */

static int list_grants(struct cli *cli, const char *principal_id, const struct target *on, json_t **items, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    struct err why = {0};
    int rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/grants");
    cli_path_add_query(&path, "principal_id", principal_id);
    cli_named_add_query(cli, &path);
    cli_path_add_query(&path, "object_kind", on->id ? on->kind : NULL);
    cli_path_add_query(&path, "object_id", on->id);
    rc = strbuf_check(&path, "the address", err);
    if (!rc && cli_client_list(cli->client, path.data, items, &why))
        rc = cli_named_fail(cli, "give the id instead; see: kaasctl grant list", &why, err);
    return rc;
}

int cmd_grant_list(struct cli *cli, struct err *err) {
    const char *who = opt_get(&cli->given, "principal");
    _cleanup_json_ json_t *items = NULL;
    _cleanup_free_ char *principal_id = NULL;
    struct target on = {0};
    bool is_named = who || opt_get(&cli->given, "group") || opt_get(&cli->given, "person") || opt_get(&cli->given, "directory");
    int rc = is_named ? cli_named_check(cli, who, &is_named, err) : 0;
    if (!rc)
        rc = cli_connect(cli, err);
    if (!rc && who)
        rc = read_principal(cli, who, &principal_id, err);
    if (!rc)
        rc = read_target(cli, &on, err);
    if (!rc)
        rc = list_grants(cli, principal_id, &on, &items, err);
    free(on.id);
    return rc ? rc : show_list(cli, items, cli->command->list, err);
}

/* Of whom nothing is said here but by name, that is left to the server. */
static int read_both(struct cli *cli, char **principal_id, struct target *on, struct err *err) {
    int rc = cli_connect(cli, err);
    if (!rc && cli_word(cli, 0))
        rc = read_principal(cli, cli_word(cli, 0), principal_id, err);
    if (!rc)
        rc = read_target(cli, on, err);
    if (!rc && !on->id)
        rc = cli_usage(cli, err, "on what? Give --cluster, --vsphere-cluster or --hx-cluster");
    return rc;
}

int cmd_grant_add(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *answer = NULL;
    _cleanup_free_ char *principal_id = NULL;
    struct target on = {0};
    bool is_named = false;
    int rc = cli_named_check(cli, cli_word(cli, 0), &is_named, err);
    if (!rc)
        rc = read_both(cli, &principal_id, &on, err);
    json_put_string(body, "principal_id", principal_id);
    cli_named_put(cli, body);
    json_put_string(body, "object_kind", on.kind);
    json_put_string(body, "object_id", on.id);
    json_put_string(body, "role", opt_get(&cli->given, "role"));
    if (!rc)
        rc = cli_named_post(cli, &(struct cli_named_post){"/v2/grants", "give the id instead: kaasctl grant add ID ...", body},
                            &answer, err);
    free(on.id);
    return rc ? rc : show_object(cli, answer, cli->command->object, err);
}

static int no_grant(const struct cli *cli, const char *principal_id, struct err *err) {
    const char *group = opt_get(&cli->given, "group"), *name = group ? group : opt_get(&cli->given, "person");
    const char *option = group ? "group" : name ? "person" : "principal";
    (void)err_set(err, ERR_NOT_FOUND, "%.200s has no grant on this", name ? name : principal_id);
    return err_remedy(err, "see: kaasctl grant list --%s '%.150s'", option, name ? name : principal_id);
}

/* The id of the one grant of this principal on this object. */
static int find_grant(struct cli *cli, char **id, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    _cleanup_free_ char *principal_id = NULL;
    struct target on = {0};
    bool is_named = false;
    int rc = cli_named_check(cli, cli_word(cli, 0), &is_named, err);
    if (!rc)
        rc = read_both(cli, &principal_id, &on, err);
    if (!rc)
        rc = list_grants(cli, principal_id, &on, &items, err);
    if (!rc && !json_array_size(items))
        rc = no_grant(cli, principal_id, err);
    if (!rc)
        *id = str_dup(json_get_string(json_array_get(items, 0), "id"));
    free(on.id);
    return rc;
}

int cmd_grant_remove(struct cli *cli, struct err *err) {
    const char *word = cli_word(cli, 0);
    _cleanup_free_ char *id = word && uuid_is_valid(word) ? str_dup(word) : NULL, *path = NULL;
    int rc = id ? cli_connect(cli, err) : find_grant(cli, &id, err);
    if (rc)
        return rc;
    path = str_format("/v2/grants/%s", id);
    rc = cli_client_call(cli->client, &(struct cli_request){.method = "DELETE", .path = path}, NULL, err);
    if (!rc)
        show_line(cli, "removed grant %s", id);
    return rc;
}
