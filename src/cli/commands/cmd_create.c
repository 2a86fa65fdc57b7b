/* kaasctl cluster create and delete: clusters that kaasd makes at a vCenter. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "cleanup.h"
#include "cli_command.h"
#include "cluster_spec.h"
#include "fsutil.h"
#include "str.h"
#include "yaml.h"

#define CREATE_FILE_BYTES_MAX (64U * 1024U)
#define CREATE_KIND "Cluster"

/* -- the document ------------------------------------------------------------------------------------------------------------------- */

static int create_fail_at(const char *path, const struct yaml_place *where, const struct err *why, struct err *err) {
    if (where->line)
        (void)err_set(err, ERR_INVALID, "%s:%u:%u: %s", path, where->line, where->column, why->text);
    else
        (void)err_set(err, ERR_INVALID, "%s: %s", path, why->text);
    return *why->remedy ? err_remedy(err, "%s", why->remedy) : err->code;
}

static int create_check_kind(const char *path, json_t *body, struct err *err) {
    const char *kind = json_get_string(body, "kind");
    if (!json_is_object(body) || !str_eq(kind, CREATE_KIND)) {
        (void)err_set(err, ERR_INVALID, "%s is not the document of a cluster", path);
        return err_remedy(err, "it begins with the line  kind: " CREATE_KIND);
    }
    (void)json_object_del(body, "kind");
    return 0;
}

/* Members that are none, with their place. */
static int create_check_members(const struct yaml_doc *doc, json_t *body, struct yaml_place *where, struct err *err) {
    char way[SPEC_WAY_BYTES];
    int rc = cluster_spec_check_document(body, way, err);
    const struct yaml_node *value = rc ? yaml_find(doc, way) : NULL;
    if (value && *way)
        *where = value[-1].place;
    return rc;
}

/* YAML or JSON, into the empty body. What is in its members is judged by kaasd. */
static int create_read_file(const char *path, json_t *body, struct err *err) {
    static const struct yaml_limits limits = {.bytes = CREATE_FILE_BYTES_MAX, .depth = 8, .nodes = 1000};
    _cleanup_strbuf_ struct strbuf text;
    _cleanup_yaml_ struct yaml_doc doc = {0};
    _cleanup_json_ json_t *read = NULL;
    struct yaml_place where = {0};
    struct err why = {0};
    strbuf_init(&text, CREATE_FILE_BYTES_MAX);
    int rc = fs_read_text(path, &text, &why);
    if (rc)
        return err_move(err, rc == ERR_NOT_FOUND ? ERR_IO : rc, &why);
    rc = yaml_parse(text.data, text.len, &limits, &doc, &where, &why);
    rc = rc ? rc : yaml_json(&doc, &read, &where, &why);
    if (rc)
        return create_fail_at(path, &where, &why, err);
    rc = create_check_kind(path, read, err);
    if (!rc && create_check_members(&doc, read, &where, &why))
        return create_fail_at(path, &where, &why, err);
    return rc || !json_object_update(body, read) ? rc : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- options ------------------------------------------------------------------------------------------------------------------------ */

/* "control_planes", which may be there from the document. */
static json_t *create_part(json_t *body, const char *name) {
    json_t *part = json_object_get(body, name);
    if (json_is_object(part))
        return part;
    json_put(body, name, json_object());
    return json_object_get(body, name);
}

static int create_put_number(struct cli *cli, const char *option, json_t *body, const char *part, const char *member,
                             struct err *err) {
    const char *text = opt_get(&cli->given, option);
    int64_t number = 0;
    if (!text)
        return 0;
    if (!str_to_i64(text, 0, UINT32_MAX, &number))
        return cli_usage(cli, err, "--%s must be a number", option);
    json_put_int(create_part(body, part), member, number);
    return 0;
}

int cmd_cluster_create(struct cli *cli, json_t *body, struct err *err) {
    static const struct {
        const char *option, *part, *member;
    } numbers[] = {{"control-planes", "control_planes", "count"},
                   {"control-plane-cpus", "control_planes", "cpus"},
                   {"control-plane-memory", "control_planes", "memory_mib"},
                   {"workers", "workers", "count"},
                   {"worker-cpus", "workers", "cpus"},
                   {"worker-memory", "workers", "memory_mib"}};
    const char *file = opt_get(&cli->given, "file");
    _cleanup_json_ json_t *options = json_copy(body);
    int rc = file ? create_read_file(file, body, err) : 0;
    if (!rc && (json_object_update(body, options) || json_object_set_new(body, "name", json_string(cli_word(cli, 0)))))
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < ARRAY_COUNT(numbers) && !rc; i++)
        rc = create_put_number(cli, numbers[i].option, body, numbers[i].part, numbers[i].member, err);
    if (!rc && !json_object_get(body, "provider"))
        return cli_usage(cli, err, "give --provider, or --file with a document that names one");
    return rc;
}

/* -- delete -------------------------------------------------------------------------------------------------------------------------- */

static int delete_show(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    const json_t *step;
    size_t i;
    int rc = cli_send(cli, "GET /v2/clusters/{id}/deletion", cli->object, NULL, &answer, err);
    if (rc || cli->is_json)
        return rc;
    json_array_foreach (json_object_get(answer, "steps"), i, step) {
        const char *subject = json_get_string(step, "server"), *text = json_get_string(step, "finding");
        show_line(cli, "%s %s%s%s%s", json_get_string(step, "title"), subject ? subject : "", str_empty(text) ? "" : " (",
                  text ? text : "", str_empty(text) ? "" : ")");
    }
    show_gap(cli);
    return cli_flush(cli, err);
}

/* First what goes and what stays, then the question, which only its name answers. */
int cmd_cluster_delete(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *answer = NULL, *body = NULL;
    _cleanup_free_ char *question = NULL;
    int rc = cli_find_object(cli, err);
    const char *name = json_get_string(cli->object, "name");
    rc = rc ? rc : delete_show(cli, err);
    if (rc)
        return rc;
    question = str_format("Delete the cluster %s with its machines? This cannot be undone. Type its name: ", name);
    rc = question ? cli_confirm_by(cli, question, name, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    body = json_pack("{ss}", "name", name);
    rc = cli_send(cli, "POST /v2/clusters/{id}/deletion", cli->object, body, &answer, err);
    return rc ? rc : cmd_job_tell_begun(cli, answer, err);
}
