/* Trusting a vCenter's certificate: options, showing it, asking. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_trust.h"

#include "cli_prompt.h"
#include "cli_show.h"
#include "fsutil.h"
#include "str.h"
#include "x509.h"

#define CA_BYTES_MAX 65536U

int cli_trust_put_port(struct cli *cli, const char *option, const char *member, json_t *body, struct err *err) {
    const char *text = opt_get(&cli->given, option);
    int64_t port = 0;
    if (!text)
        return 0;
    if (!str_to_i64(text, 0, 65535, &port))
        return cli_usage(cli, err, "--%s must be a number from 0 to 65535", option);
    json_put_int(body, member, port);
    return 0;
}

static int put_ca(const char *path, json_t *body, struct err *err) {
    _cleanup_strbuf_ struct strbuf pem;
    struct err why = {0};
    strbuf_init(&pem, CA_BYTES_MAX);
    if (fs_read(path, &pem, &why)) /* a missing file is no missing vCenter */
        return err_set(err, ERR_IO, "%s", why.text);
    json_put_string(body, "ca_pem", pem.data);
    return 0;
}

int cli_trust_put(struct cli *cli, const char *option, json_t *body, struct err *err) {
    const char *thumbprint = opt_get(&cli->given, option), *ca_file = opt_get(&cli->given, "ca-file");
    uint8_t sha256[X509_SHA256_BYTES];
    if (thumbprint && ca_file)
        return cli_usage(cli, err, "give either --%s or --ca-file, not both", option);
    if (thumbprint && !str_unhex(thumbprint, sha256, sizeof(sha256))) {
        (void)cli_usage(cli, err, "--%s is not a SHA-256", option);
        return err_remedy(err, "give 32 pairs of hexadecimal digits, with or without colons; SHA-1 (20 pairs) is not accepted");
    }
    json_put_string(body, "thumbprint_sha256", thumbprint);
    return ca_file ? put_ca(ca_file, body, err) : 0;
}

static const struct cli_column certificate_columns[] = {
    {"  Subject", "subject", show_text},
    {"  Issuer", "issuer", show_text},
    {"  Names", "san", show_words},
    {"  Valid from", "not_before", show_time},
    {"  Valid until", "not_after", show_time},
    {"  SHA-256", "sha256", show_text},
    {NULL, NULL, NULL},
};

void cli_trust_note(const json_t *certificate, const char *title) {
    _cleanup_strbuf_ struct strbuf text;
    _cleanup_table_ struct table t;
    strbuf_init(&text, CA_BYTES_MAX);
    table_init_plain(&t, 2, 0);
    for (const struct cli_column *c = certificate_columns; c->title; c++) {
        table_add(&t, c->title);
        c->add(&t, show_member(certificate, c->member));
    }
    if (!table_write(&t, &text, NULL))
        cli_note("%s\n%s", title, text.data);
}

int cli_trust_confirm(struct cli *cli, const char *option, const char *sha256, struct err *err) {
    if (opt_get(&cli->given, "yes-after-look"))
        return 0;
    if (!opt_get_common(&cli->given, "yes") && !prompt_has_terminal()) {
        (void)err_set(err, ERR_CERT_UNCONFIRMED,
                      "the certificate must be confirmed, and there is no terminal to ask on (nothing was sent)");
        return err_remedy(err, "compare the SHA-256 with the vCenter's, then add --%s %s (or --ca-file FILE)", option, sha256);
    }
    return cli_confirm(cli, "Compare the SHA-256 with the one the vCenter shows. Type yes to trust this certificate: ", err);
}

int cli_trust_call(struct cli *cli, const struct cli_trust_call *call, json_t **out, struct err *err) {
    struct err why = {0};
    const json_t *certificate;
    const char *sha256;
    int rc = cli_client_call(cli->client, &call->request, out, &why);
    certificate = json_object_get(cli_client_problem(cli->client), "certificate");
    sha256 = json_get_string(certificate, "sha256");
    if (rc != ERR_CERT_UNCONFIRMED && !(rc == ERR_TLS && call->asks_on_mismatch && sha256)) {
        if (rc == ERR_TLS && certificate)
            cli_trust_note(certificate, "The certificate that was met:");
        if (rc && err)
            *err = why;
        return rc;
    }
    if (!sha256)
        return err_set(err, why.code, "%s", why.text);
    json_put_string(call->request.body, "thumbprint_sha256", sha256);
    cli_trust_note(certificate, call->title);
    rc = cli_trust_confirm(cli, call->option, sha256, err);
    return rc ? rc : cli_client_call(cli->client, &call->request, out, err);
}
