/* kaasctl provider: where clusters may be built. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_prompt.h"
#include "fsutil.h"
#include "provider.h"
#include "str.h"

/* The document is judged here, where its lines and columns are known; kaasd judges it again. */
int cmd_provider_apply(struct cli *cli, json_t *body, struct err *err) {
    const char *path = opt_get(&cli->given, "file");
    _cleanup_strbuf_ struct strbuf text;
    _cleanup_provider_ struct provider provider = {0};
    struct err why = {0};
    strbuf_init(&text, PROVIDER_BYTES_MAX);
    int rc = str_eq(path, "-") ? prompt_read_input(&text, &why) : fs_read_text(path, &text, &why);
    if (rc == ERR_NOT_FOUND) /* a file that is missing is no missing object */
        return err_set(err, ERR_IO, "%s", why.text);
    if (rc)
        return err_move(err, rc, &why);
    rc = provider_parse(str_eq(path, "-") ? "standard input" : path, text.data, text.len, &provider, err);
    if (rc)
        return rc;
    cli->object = provider_document(&provider);
    return cli->object && !json_object_update(body, cli->object) ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* That it is there is found out before the question. */
int cmd_provider_remove(struct cli *cli, json_t *body, struct err *err) {
    (void)body;
    return cli_send(cli, "GET /v2/providers/{1}", NULL, NULL, &cli->object, err);
}

int cmd_provider_tell_check(struct cli *cli, json_t *answer, struct err *err) {
    const json_t *findings = json_object_get(answer, "findings");
    findings_judge(cli, findings);
    return cli->is_json ? show_json(cli, answer, err) : findings_write(cli, findings, err);
}
