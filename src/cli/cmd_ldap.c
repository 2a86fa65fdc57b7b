/* kaasctl ldap: the directories that people sign in by. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli_command.h"
#include "cli_findings.h"
#include "cli_prompt.h"
#include "cli_show.h"
#include "fsutil.h"
#include "secret.h"
#include "str.h"

#define CA_BYTES_MAX (64U * 1024U)
#define PATH_BYTES_MAX 1024U

/* "/v2/ldap/NAME", with "/verb" behind it. */
static int make_path(struct strbuf *path, const char *name, const char *verb, struct err *err) {
    strbuf_adds(path, "/v2/ldap/");
    cli_path_add(path, name);
    strbuf_adds(path, verb);
    return strbuf_check(path, "the address", err);
}

static int get(struct cli *cli, json_t **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    int rc = cli_connect(cli, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    if (!rc)
        rc = make_path(&path, cli_word(cli, 0), "", err);
    return rc ? rc : cli_client_get(cli->client, path.data, out, err);
}

/* -- setting --------------------------------------------------------------------------------------------------------------- */

/* An option as a member; "" takes it away. */
static void put_text(const struct cli *cli, json_t *body, const char *option, const char *member) {
    const char *value = opt_get(&cli->given, option);
    if (value)
        (void)json_object_set_new(body, member, *value ? json_string(value) : json_null());
}

static void put_list(const struct cli *cli, json_t *body, const char *option, const char *member) {
    json_t *array;
    const char *value;
    size_t at = 0;
    if (!opt_get(&cli->given, option))
        return;
    array = json_array();
    while ((value = opt_next(&cli->given, option, &at)) != NULL)
        if (*value)
            (void)json_array_append_new(array, json_string(value));
    (void)json_object_set_new(body, member, array);
}

/* The text of a file here, so that it need not lie on each replica. */
static int put_ca(const struct cli *cli, json_t *body, struct err *err) {
    const char *file = opt_get(&cli->given, "ca");
    _cleanup_strbuf_ struct strbuf text;
    int rc = 0;
    strbuf_init(&text, CA_BYTES_MAX);
    if (!file)
        return 0;
    if (*file)
        rc = fs_read(file, &text, err);
    if (!rc && *file && strstr(text.data, "PRIVATE KEY"))
        rc = err_set(err, ERR_INVALID, "%s holds a private key, which stays where it is; give the certificates of the CA alone",
                     file);
    if (!rc)
        (void)json_object_set_new(body, "ca_pem", *file ? json_string(text.data) : json_null());
    return rc;
}

static int put_password(struct cli *cli, json_t *body, struct err *err) {
    const char *file = opt_get(&cli->given, "bind-password-file");
    _cleanup_secret_ char *password = NULL;
    int rc = file ? prompt_read_password(file, &password, err) : 0;
    if (!rc && password)
        json_put_string(body, "bind_password", password);
    return rc;
}

static int put_flags(struct cli *cli, json_t *body, struct err *err) {
    const bool is_on = opt_get(&cli->given, "disable") != NULL, is_off = opt_get(&cli->given, "enable") != NULL;
    if (is_on && is_off)
        return cli_usage(cli, err, "--disable and --enable contradict each other");
    if (is_on || is_off)
        json_put_bool(body, "disabled", is_on);
    return 0;
}

static int make_body(struct cli *cli, json_t *body, struct err *err) {
    static const char *const texts[][2] = {{"kind", "kind"},
                                           {"ca-path", "ca_file"},
                                           {"search-base", "search_base"},
                                           {"user-filter", "user_filter"},
                                           {"group-base", "group_base"},
                                           {"group-filter", "group_filter"},
                                           {"bind", "bind"},
                                           {"bind-dn", "bind_dn"},
                                           {"keytab", "keytab"},
                                           {"principal", "principal"}};
    int rc;
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        put_text(cli, body, texts[i][0], texts[i][1]);
    put_list(cli, body, "url", "urls");
    put_list(cli, body, "realm", "realms");
    rc = put_ca(cli, body, err);
    if (!rc)
        rc = put_flags(cli, body, err);
    if (!rc)
        rc = put_password(cli, body, err);
    if (!rc && !json_object_size(body))
        return cli_usage(cli, err, "nothing to set: see kaasctl ldap set --help");
    return rc;
}

/* A new one if there is none of that name. A keytab without more means that it is to be used. */
static int add(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    json_put_string(body, "name", cli_word(cli, 0));
    if (!json_object_get(body, "kind") || !json_object_get(body, "urls") || !json_object_get(body, "search_base"))
        return cli_usage(cli, err, "there is no directory %s yet: a new one needs --kind, --url and --search-base",
                         cli_word(cli, 0));
    if (json_object_get(body, "keytab") && !json_object_get(body, "bind"))
        json_put_string(body, "bind", "keytab");
    return cli_client_call(cli->client,
                           &(struct cli_request){.method = "POST", .path = "/v2/ldap", .body = body, .has_secret_body = true},
                           answer, err);
}

static int change(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    int rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    rc = make_path(&path, cli_word(cli, 0), "", err);
    return rc ? rc
              : cli_client_call(
                    cli->client,
                    &(struct cli_request){
                        .method = "PATCH", .path = path.data, .body = body, .is_merge_patch = true, .has_secret_body = true},
                    answer, err);
}

int cmd_ldap_set(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *known = NULL, *body = json_object(), *answer = NULL;
    struct err why = {0};
    int rc = make_body(cli, body, err);
    if (!rc) {
        rc = get(cli, &known, &why);
        if (rc == ERR_NOT_FOUND)
            rc = add(cli, body, &answer, err);
        else if (!rc)
            rc = change(cli, body, &answer, err);
        else if (err)
            *err = why;
    }
    json_wipe_string(json_object_get(body, "bind_password"));
    if (!rc)
        rc = show_object(cli, answer, cli->command->object, err);
    return rc;
}

/* -- the rest -------------------------------------------------------------------------------------------------------------- */

int cmd_ldap_remove(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *directory = NULL;
    _cleanup_strbuf_ struct strbuf path;
    _cleanup_free_ char *question =
        str_format("Remove directory %s? Who signed in by it is signed out. Type yes: ", cli_word(cli, 0));
    int rc = get(cli, &directory, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    if (!rc)
        rc = cli_confirm(cli, question ? question : "Type yes: ", err);
    if (!rc)
        rc = make_path(&path, cli_word(cli, 0), "", err);
    if (!rc)
        rc = cli_client_call(cli->client, &(struct cli_request){.method = "DELETE", .path = path.data}, NULL, err);
    if (!rc)
        show_line(cli, "removed directory %s", cli_word(cli, 0));
    return rc;
}

int cmd_ldap_test(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *report = NULL;
    _cleanup_strbuf_ struct strbuf path;
    int rc = cli_connect(cli, err);
    strbuf_init(&path, PATH_BYTES_MAX);
    json_put_string(body, "username", cli_word(cli, 1));
    if (!rc)
        rc = make_path(&path, cli_word(cli, 0), "/test", err);
    if (!rc)
        rc = cli_client_call(cli->client, &(struct cli_request){.method = "POST", .path = path.data, .body = body}, &report, err);
    if (rc)
        return rc;
    findings_judge(cli, json_object_get(report, "findings"));
    return cli->is_json ? show_json(cli, report, err) : findings_write(cli, json_object_get(report, "findings"), err);
}
