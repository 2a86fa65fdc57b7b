/* kaasctl vcenter register --ovf-env: with the one-time token of a solution install. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "cli_command.h"
#include "cli_show.h"
#include "fsutil.h"
#include "secret.h"
#include "str.h"

#define ENVIRONMENT_BYTES_MAX 262144U

static void show_sentences(struct cli *cli, const char *title, const json_t *list) {
    const json_t *item;
    size_t i;
    show_line(cli, "%s", title);
    json_array_foreach (list, i, item)
        show_line(cli, "  %s", json_string_value(item));
}

static int show_result(struct cli *cli, const json_t *answer, struct err *err) {
    const json_t *vcenter = json_object_get(answer, "vcenter");
    const char *name = json_get_string(vcenter, "name");
    if (cli->is_json)
        return show_json(cli, answer, err);
    show_line(cli, "the extension is registered at vCenter %s%s", name ? name : json_get_string(answer, "vcenter_id"),
              json_get_bool(answer, "added", false) ? ", which was added with the thumbprint of the OVF environment" : "");
    show_sentences(cli, "works now:", json_object_get(answer, "works"));
    show_sentences(cli, "remains to be done:", json_object_get(answer, "remaining"));
    return 0;
}

static int read_input(struct strbuf *out, struct err *err) {
    char part[4096];
    ssize_t n;
    while ((n = read(STDIN_FILENO, part, sizeof(part))) > 0)
        strbuf_add(out, part, (size_t)n);
    secret_wipe(part, sizeof(part));
    return n < 0 ? err_set(err, ERR_IO, "standard input cannot be read") : strbuf_check(out, "OVF environment", err);
}

/* The token is in the text: it goes into the body only and is wiped there. */
int cmd_vcenter_register_ovf(struct cli *cli, struct err *err) {
    const char *path = opt_get(&cli->given, "ovf-env");
    _cleanup_json_ json_t *answer = NULL, *body = json_object();
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init_secret(&text, ENVIRONMENT_BYTES_MAX);
    if (cli_word(cli, 0) || opt_get(&cli->given, "user"))
        return cli_usage(cli, err, "--ovf-env tells the vCenter and stands for the account: give neither VCENTER nor --user");
    rc = str_eq(path, "-") ? read_input(&text, err) : fs_read_secret(path, &text, err);
    if (!rc)
        rc = cli_connect(cli, err);
    if (rc)
        return rc;
    json_put_string(body, "ovf_environment", text.data);
    if (!json_get_string(body, "ovf_environment"))
        return err_set(err, ERR_INVALID, "the OVF environment is not a UTF-8 text");
    rc = cli_client_call(
        cli->client,
        &(struct cli_request){.method = "POST", .path = "/v2/solution-installs", .body = body, .has_secret_body = true}, &answer,
        err);
    json_wipe_string(json_object_get(body, "ovf_environment"));
    return rc ? rc : show_result(cli, answer, err);
}
