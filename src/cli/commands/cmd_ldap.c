/* kaasctl ldap: the directories that people sign in by. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_prompt.h"
#include "cli_show.h"
#include "secret.h"
#include "str.h"

static int cmd_ldap_get(struct cli *cli, json_t **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf path = {0};
    int rc = cli_connect(cli, err);
    if (rc)
        return rc;
    strbuf_init(&path, 1024);
    strbuf_adds(&path, "/v2/ldap/");
    cli_path_add(&path, cli_word(cli, 0));
    rc = strbuf_check(&path, "the address", err);
    return rc ? rc : cli_client_get(cli->client, path.data, out, err);
}

/* A keytab without more means that it is to be used. */
static int cmd_ldap_add(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    const struct cli_request request = {.method = "POST", .path = "/v2/ldap", .body = body, .has_secret_body = true};
    json_put_string(body, "name", cli_word(cli, 0));
    if (!json_object_get(body, "kind") || !json_object_get(body, "urls") || !json_object_get(body, "search_base"))
        return cli_usage(cli, err, "there is no directory %s yet: a new one needs --kind, --url and --search-base",
                         cli_word(cli, 0));
    if (json_object_get(body, "keytab") && !json_object_get(body, "bind"))
        json_put_string(body, "bind", "keytab");
    return cli_client_call(cli->client, &request, answer, err);
}

/* Changes the directory of that name, or adds it if there is none. */
static int cmd_ldap_save(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    _cleanup_json_ json_t *known = NULL;
    struct err why = {0};
    int rc = cmd_ldap_get(cli, &known, &why);
    if (rc == ERR_NOT_FOUND)
        return cmd_ldap_add(cli, body, answer, err);
    return rc ? cli_fail(cli, &why, err) : cli_call(cli, NULL, body, answer, err);
}

int cmd_ldap_set(struct cli *cli, struct err *err) {
    const char *file = opt_get(&cli->given, "bind-password-file");
    _cleanup_json_ json_t *body = json_object(), *answer = NULL;
    _cleanup_secret_ char *password = NULL;
    int rc = cli_put_options(cli, body, err);
    if (rc)
        return rc;
    rc = file ? prompt_read_password(file, &password, err) : 0;
    if (rc)
        return rc;
    json_put_string(body, "bind_password", password);
    rc = cli_check_body(cli, body, err);
    if (rc)
        return rc;
    rc = cmd_ldap_save(cli, body, &answer, err);
    json_wipe_string(json_object_get(body, "bind_password"));
    return rc ? rc : cli_show_result(cli, NULL, answer, err);
}

/* That it is there is found out before the question. */
int cmd_ldap_remove(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *directory = NULL;
    int rc = cmd_ldap_get(cli, &directory, err);
    if (rc)
        return rc;
    rc = cli_ask(cli, NULL, err);
    if (rc)
        return rc;
    rc = cli_call(cli, NULL, NULL, NULL, err);
    return rc ? rc : cli_show_result(cli, NULL, NULL, err);
}

int cmd_ldap_test(struct cli *cli, json_t *body, struct err *err) {
    (void)err;
    json_put_string(body, "username", cli_word(cli, 1));
    return 0;
}

int cmd_ldap_tell_test(struct cli *cli, json_t *answer, struct err *err) {
    const json_t *findings = json_object_get(answer, "findings");
    findings_judge(cli, findings);
    return cli->is_json ? show_json(cli, answer, err) : findings_write(cli, findings, err);
}
