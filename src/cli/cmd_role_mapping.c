/* kaasctl role-mapping: which groups and people have which role. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_find.h"
#include "cli_named.h"
#include "cli_show.h"
#include "principal.h"
#include "str.h"
#include "uuid.h"

#define PATH_BYTES_MAX 4096U

static int list_mappings(struct cli *cli, const char *subject_id, const char *role, json_t **items, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    int rc = cli_connect(cli, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/role-mappings");
    cli_path_add_query(&path, "subject_id", subject_id);
    cli_path_add_query(&path, "role", role);
    if (!rc)
        rc = strbuf_check(&path, "the address", err);
    return rc ? rc : cli_client_list(cli->client, path.data, items, err);
}

/* A SID as Windows writes it, or an id. */
static int read_subject(const char *text, char **out, struct err *err) {
    _cleanup_free_ char *with_kind = str_starts(text, "S-1-") ? str_format("sid:%s", text) : str_dup(text);
    int rc = with_kind ? principal_id_read(with_kind, out, NULL) : ERR_NOMEM;
    if (!rc)
        return 0;
    (void)err_set(err, ERR_INVALID, "\"%.100s\" is not the id of a group or person", text);
    return err_remedy(err, "write sid:S-1-5-21-... or ldap:<source>:<uuid>; with --privilege a vCenter");
}

/* With a privilege the subject is a vCenter; else a group or person. */
static int put_subject(struct cli *cli, json_t *body, struct err *err) {
    const char *word = cli_word(cli, 0), *privilege = opt_get(&cli->given, "privilege");
    _cleanup_json_ json_t *vcenter = NULL;
    _cleanup_free_ char *id = NULL;
    bool is_named = false;
    int rc = cli_named_check(cli, word, &is_named, err);
    if (rc)
        return rc;
    if (is_named && privilege)
        return cli_usage(cli, err, "--privilege needs a vCenter, not a group or person");
    if (is_named) {
        cli_named_put(cli, body);
        return 0;
    }
    if (!privilege) {
        rc = read_subject(word, &id, err);
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

int cmd_role_mapping_add(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *answer = NULL;
    const char *role = opt_get(&cli->given, "role");
    int rc = role ? cli_connect(cli, err) : cli_usage(cli, err, "which role? Give --role user, provisioner or admin");
    if (!rc)
        rc = put_subject(cli, body, err);
    json_put_string(body, "role", role);
    json_put_string(body, "note", opt_get(&cli->given, "note"));
    if (!rc)
        rc = cli_named_post(
            cli, &(struct cli_named_post){"/v2/role-mappings", "give the id instead: kaasctl role-mapping add ID ...", body},
            &answer, err);
    return rc ? rc : show_object(cli, answer, cli->command->object, err);
}

/* The id of the one mapping of a group or person, by id or by the name that is shown. */
static int find_mapping(struct cli *cli, const char *word, char **id, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    _cleanup_free_ char *subject_id = NULL;
    const json_t *item, *found = NULL;
    size_t i, count = 0;
    int rc = read_subject(word, &subject_id, NULL) == ERR_NOMEM ? err_set(err, ERR_NOMEM, "out of memory")
                                                                : list_mappings(cli, subject_id, NULL, &items, err);
    if (rc)
        return rc;
    json_array_foreach (items, i, item)
        if (subject_id || str_eq_nocase(json_get_string(item, "subject_name"), word)) {
            found = item;
            count++;
        }
    if (count != 1) {
        rc = count ? err_set(err, ERR_AMBIGUOUS, "%zu role mappings are for something named \"%.100s\"", count, word)
                   : err_set(err, ERR_NOT_FOUND, "there is no role mapping for %.100s", word);
        (void)err_remedy(err, "see: kaasctl role-mapping list; give the id");
        return rc;
    }
    *id = str_dup(json_get_string(found, "id"));
    return *id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int cmd_role_mapping_remove(struct cli *cli, struct err *err) {
    const char *word = cli_word(cli, 0);
    _cleanup_free_ char *id = uuid_is_valid(word) ? str_dup(word) : NULL, *path = NULL;
    int rc = id ? cli_connect(cli, err) : find_mapping(cli, word, &id, err);
    if (rc)
        return rc;
    path = str_format("/v2/role-mappings/%s", id);
    rc = cli_client_call(cli->client, &(struct cli_request){.method = "DELETE", .path = path}, NULL, err);
    if (!rc)
        show_line(cli, "removed role mapping %s", id);
    return rc;
}
