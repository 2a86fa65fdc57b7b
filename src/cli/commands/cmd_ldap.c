/* kaasctl ldap: the directories that people sign in by. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_prompt.h"
#include "secret.h"

#define CALL_SHOW "GET /v2/ldap/{1}"

/* Changes the directory of that name, or adds it if there is none. A new one with a keytab, and no more said, uses it. */
int cmd_ldap_set(struct cli *cli, json_t *body, struct err *err) {
    const char *file = opt_get(&cli->given, "bind-password-file");
    _cleanup_json_ json_t *known = NULL;
    _cleanup_secret_ char *password = NULL;
    struct err why = {0};
    int rc = file ? prompt_read_password(file, &password, err) : 0;
    if (rc)
        return rc;
    json_put_string(body, "bind_password", password);
    if (!json_object_size(body))
        return 0;
    rc = cli_send(cli, CALL_SHOW, NULL, NULL, &known, &why);
    if (rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    cli->call = "POST /v2/ldap";
    json_put_string(body, "name", cli_word(cli, 0));
    if (!json_object_get(body, "kind") || !json_object_get(body, "urls") || !json_object_get(body, "search_base"))
        return cli_usage(cli, err, "there is no directory %s yet: a new one needs --kind, --url and --search-base",
                         cli_word(cli, 0));
    if (json_object_get(body, "keytab") && !json_object_get(body, "bind"))
        json_put_string(body, "bind", "keytab");
    return 0;
}

/* That it is there is found out before the question. */
int cmd_ldap_remove(struct cli *cli, json_t *body, struct err *err) {
    (void)body;
    return cli_send(cli, CALL_SHOW, NULL, NULL, &cli->object, err);
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
