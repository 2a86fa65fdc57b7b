/* kaasctl vcenter trust: the vCenter's certificate was replaced. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "cli_trust.h"
#include "str.h"

static const struct cli_column trusted_columns[] = {
    {"  SHA-256", "thumbprint_sha256", show_text},
    {"  CA", "ca_subjects", show_words},
    {NULL, NULL, NULL},
};

/* What counted so far; on standard error, as the new one. */
static void note_trusted(const char *name, const json_t *trusted) {
    _cleanup_strbuf_ struct strbuf text;
    _cleanup_table_ struct table t;
    bool is_ca = str_eq(json_get_string(trusted, "mode"), "ca");
    const struct cli_column *c = &trusted_columns[is_ca];
    strbuf_init(&text, 65536);
    table_init_plain(&t, 2, 0);
    table_add(&t, c->title);
    c->add(&t, show_member(trusted, c->member));
    if (!table_write(&t, &text, NULL))
        cli_note("Trusted for vCenter %s until now:\n%s", name, text.data);
    if (is_ca)
        cli_note("With yes the one below is trusted by its SHA-256 from then on; to trust a CA again give --ca-file FILE.\n");
}

/* Without trust in the body kaasd tells what it meets and what it trusts; nothing is sent to the vCenter. */
static int look(struct cli *cli, const char *path, const char *name, json_t *body, json_t **out, struct err *err) {
    struct err why = {0};
    const json_t *problem, *certificate;
    const char *sha256;
    int rc = cli_client_call(cli->client, &(struct cli_request){.method = "POST", .path = path, .body = body}, out, &why);
    problem = cli_client_problem(cli->client);
    certificate = json_object_get(problem, "certificate");
    sha256 = json_get_string(certificate, "sha256");
    if (rc != ERR_CERT_UNCONFIRMED || !sha256) {
        if (rc && err)
            *err = why;
        return rc;
    }
    note_trusted(name, json_object_get(problem, "trusted"));
    cli_trust_note(certificate, "It shows this certificate now:");
    json_put_string(body, "thumbprint_sha256", sha256);
    return cli_trust_confirm(cli, "sha256", sha256, err);
}

static int trust(struct cli *cli, const json_t *vcenter, json_t **out, struct err *err) {
    _cleanup_json_ json_t *body = json_object();
    _cleanup_free_ char *path = cli_path_of("vcenters", vcenter, "trust");
    const char *name = json_get_string(vcenter, "name");
    int rc = cli_trust_put(cli, "sha256", body, err);
    if (!rc && !json_object_size(body))
        rc = look(cli, path, name, body, out, err);
    if (rc)
        return rc;
    if (*out) {
        show_line(cli, "the certificate that vCenter %s shows is trusted already: nothing to do", name);
        return 0;
    }
    rc = cli_trust_call(
        cli, &(struct cli_trust_call){.request = {.method = "POST", .path = path, .body = body}, .option = "sha256"}, out, err);
    if (!rc)
        show_line(cli, "trusted; kaasd connects to vCenter %s again now: see 'kaasctl vcenter status %s'", name, name);
    return rc;
}

int cmd_vcenter_trust(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *answer = NULL;
    int rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (!rc)
        rc = trust(cli, vcenter, &answer, err);
    return rc || !cli->is_json ? rc : show_json(cli, answer, err);
}
