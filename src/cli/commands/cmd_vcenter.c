/* kaasctl vcenter: what needs trust in a certificate (add, set, trust), and the password of kaasd's account. Layer 7 (cli). Registering is
 * cmd_vcenter_register.c, status is cmd_vcenter_status.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli_address.h"
#include "cli_command.h"
#include "cli_prompt.h"
#include "secret.h"
#include "str.h"

#define TEXT_BYTES_MAX 65536U

/* -- certificates ----------------------------------------------------------------------------------------------------------------- */

/* A call that needs trust. */
struct cmd_vcenter_trusting {
    const json_t *vcenter; /* NULL: a new one */
    json_t *body;          /* gets the SHA-256 */
    const char *option;    /* by which the SHA-256 is given beforehand */
    const char *title;     /* under which the certificate is shown */
    bool asks_on_mismatch; /* also when the certificate is not the one trusted so far (tls_untrusted) */
};

/* The SHA-256 by the option `option`, or a CA, not both. */
static int cmd_vcenter_check_trust(struct cli *cli, const char *option, struct err *err) {
    if (opt_get(&cli->given, option) && opt_get(&cli->given, "ca-file"))
        return cli_usage(cli, err, "give either --%s or --ca-file, not both", option);
    return 0;
}

/* Shows members of an object under a title, on standard error. */
static void cmd_vcenter_note(const char *title, const json_t *object, const struct cli_column *columns) {
    _cleanup_strbuf_ struct strbuf text;
    _cleanup_table_ struct table t;
    strbuf_init(&text, TEXT_BYTES_MAX);
    table_init_plain(&t, 2, 0);
    for (const struct cli_column *c = columns; c->title; c++) {
        table_add(&t, c->title);
        c->add(&t, show_member(object, c->member));
    }
    if (!table_write(&t, &text, NULL))
        cli_note("%s\n%s", title, text.data);
}

static const struct cli_column cmd_vcenter_certificate[] = {
    {"  Subject", "subject", show_text},
    {"  Issuer", "issuer", show_text},
    {"  Names", "san", show_words},
    {"  Valid from", "not_before", show_time},
    {"  Valid until", "not_after", show_time},
    {"  SHA-256", "sha256", show_text},
    {NULL, NULL, NULL},
};

static int cmd_vcenter_confirm_certificate(struct cli *cli, const char *option, const char *sha256, struct err *err) {
    if (opt_get(&cli->given, "yes-after-look"))
        return 0;
    if (!opt_get_common(&cli->given, "yes") && !prompt_has_terminal()) {
        (void)err_set(err, ERR_CERT_UNCONFIRMED,
                      "the certificate must be confirmed, and there is no terminal to ask on (nothing was sent)");
        return err_remedy(err, "compare the SHA-256 with the vCenter's, then add --%s %s (or --ca-file FILE)", option, sha256);
    }
    return cli_confirm(cli, "Compare the SHA-256 with the one the vCenter shows. Type yes to trust this certificate: ", err);
}

/* Makes the command's call. Where the answer is "unconfirmed" the certificate is shown, the person is asked, and it is made again with its
 * SHA-256. */
static int cmd_vcenter_call(struct cli *cli, const struct cmd_vcenter_trusting *t, json_t **out, struct err *err) {
    struct err why = {0};
    const json_t *certificate;
    const char *sha256;
    int rc = cli_call(cli, t->vcenter, t->body, out, &why);
    if (!rc)
        return 0;
    certificate = json_object_get(cli_client_problem(cli->client), "certificate");
    sha256 = json_get_string(certificate, "sha256");
    if (!sha256 || (rc != ERR_CERT_UNCONFIRMED && !(rc == ERR_TLS && t->asks_on_mismatch))) {
        if (rc == ERR_TLS && certificate)
            cmd_vcenter_note("The certificate that was met:", certificate, cmd_vcenter_certificate);
        return rc == ERR_CERT_UNCONFIRMED ? err_set(err, rc, "%s", why.text) : cli_fail(cli, &why, err);
    }
    json_put_string(t->body, "thumbprint_sha256", sha256);
    cmd_vcenter_note(t->title, certificate, cmd_vcenter_certificate);
    rc = cmd_vcenter_confirm_certificate(cli, t->option, sha256, err);
    return rc ? rc : cli_call(cli, t->vcenter, t->body, out, err);
}

/* -- add and set ------------------------------------------------------------------------------------------------------------------ */

static int cmd_vcenter_put_address(struct cli *cli, const char *text, json_t *body, struct err *err) {
    struct cli_address address = {.port = 0};
    int rc = cli_address_parse(text, &address, err);
    if (rc) {
        cli->status = CLI_USAGE;
        return rc;
    }
    json_put_string(body, "address", address.host);
    if (address.port)
        json_put_int(body, "port", address.port);
    return 0;
}

/* By what other commands find it: the name, or the id where others have that name, too, or a shell would not take it as it is. */
static int cmd_vcenter_show_next(struct cli *cli, const json_t *made, struct err *err) {
    const char *name = json_get_string(made, "name");
    const char *quote = strpbrk(name, " \t\"\\$`&|;<>()*?[]#~!") ? "'" : "";
    _cleanup_json_ json_t *all = NULL;
    const json_t *vcenter;
    size_t i, count = 0;
    int rc = cli_list_vcenters(cli, &all, err);
    json_array_foreach (all, i, vcenter)
        count += cli_is_vcenter(vcenter, name);
    if (count > 1 || *name == '-' || strchr(name, '\''))
        name = json_get_string(made, "id");
    show_line(cli, "next: kaasctl vcenter register %s%s%s --user USER", quote, name, quote);
    return rc;
}

int cmd_vcenter_add(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *made = NULL;
    const struct cmd_vcenter_trusting trusting = {
        .body = body, .option = "thumbprint", .title = "The vCenter shows this certificate:"};
    int rc = cmd_vcenter_put_address(cli, cli_word(cli, 0), body, err);
    if (rc)
        return rc;
    rc = cmd_vcenter_check_trust(cli, "thumbprint", err);
    if (rc)
        return rc;
    rc = cli_put_options(cli, body, err);
    if (rc)
        return rc;
    rc = cmd_vcenter_call(cli, &trusting, &made, err);
    if (rc)
        return rc;
    rc = cli_show_result(cli, NULL, made, err);
    return rc || cli->is_json ? rc : cmd_vcenter_show_next(cli, made, err);
}

int cmd_vcenter_set(struct cli *cli, struct err *err) {
    const char *address = opt_get(&cli->given, "address");
    _cleanup_json_ json_t *vcenter = NULL, *body = json_object(), *answer = NULL;
    struct cmd_vcenter_trusting trusting = {.body = body,
                                            .option = "thumbprint",
                                            .title =
                                                "At the new address this certificate is shown, which is not the trusted one:",
                                            .asks_on_mismatch = address != NULL};
    int rc = address ? cmd_vcenter_put_address(cli, address, body, err) : 0;
    if (rc)
        return rc;
    rc = cmd_vcenter_check_trust(cli, "thumbprint", err);
    if (rc)
        return rc;
    rc = cli_put_options(cli, body, err);
    if (rc)
        return rc;
    rc = cli_check_body(cli, body, err);
    if (rc)
        return rc;
    rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (rc)
        return rc;
    trusting.vcenter = vcenter;
    rc = cmd_vcenter_call(cli, &trusting, &answer, err);
    return rc ? rc : cli_show_result(cli, vcenter, answer, err);
}

/* -- trust ------------------------------------------------------------------------------------------------------------------------ */

/* What counted so far; on standard error, as the new one. */
static void cmd_vcenter_note_trusted(const char *name, const json_t *trusted) {
    static const struct cli_column by_sha256[] = {{"  SHA-256", "thumbprint_sha256", show_text}, {NULL, NULL, NULL}};
    static const struct cli_column by_ca[] = {{"  CA", "ca_subjects", show_words}, {NULL, NULL, NULL}};
    _cleanup_free_ char *title = str_format("Trusted for vCenter %s until now:", name);
    bool is_ca = str_eq(json_get_string(trusted, "mode"), "ca");
    cmd_vcenter_note(title ? title : "Trusted until now:", trusted, is_ca ? by_ca : by_sha256);
    if (is_ca)
        cli_note("With yes the one below is trusted by its SHA-256 from then on; to trust a CA again give --ca-file FILE.\n");
}

/* Without trust in the body kaasd tells what it meets and what it trusts; nothing is sent to the vCenter. */
static int cmd_vcenter_look(struct cli *cli, const struct cmd_vcenter_trusting *t, json_t **out, struct err *err) {
    struct err why = {0};
    const json_t *problem, *certificate;
    const char *sha256;
    int rc = cli_call(cli, t->vcenter, t->body, out, &why);
    if (!rc)
        return 0;
    problem = cli_client_problem(cli->client);
    certificate = json_object_get(problem, "certificate");
    sha256 = json_get_string(certificate, "sha256");
    if (rc != ERR_CERT_UNCONFIRMED || !sha256)
        return cli_fail(cli, &why, err);
    cmd_vcenter_note_trusted(json_get_string(t->vcenter, "name"), json_object_get(problem, "trusted"));
    cmd_vcenter_note(t->title, certificate, cmd_vcenter_certificate);
    json_put_string(t->body, "thumbprint_sha256", sha256);
    return cmd_vcenter_confirm_certificate(cli, t->option, sha256, err);
}

int cmd_vcenter_trust(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *body = json_object(), *answer = NULL;
    struct cmd_vcenter_trusting trusting = {.body = body, .option = "sha256", .title = "It shows this certificate now:"};
    int rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (rc)
        return rc;
    rc = cmd_vcenter_check_trust(cli, "sha256", err);
    if (rc)
        return rc;
    rc = cli_put_options(cli, body, err);
    if (rc)
        return rc;
    trusting.vcenter = vcenter;
    rc = json_object_size(body) ? 0 : cmd_vcenter_look(cli, &trusting, &answer, err);
    if (rc)
        return rc;
    if (answer) {
        show_line(cli, "the certificate that vCenter %s shows is trusted already: nothing to do",
                  json_get_string(vcenter, "name"));
        return cli->is_json ? show_json(cli, answer, err) : 0;
    }
    rc = cmd_vcenter_call(cli, &trusting, &answer, err);
    return rc ? rc : cli_show_result(cli, vcenter, answer, err);
}

/* -- set-password ----------------------------------------------------------------------------------------------------------------- */

/* The password goes into the body only and is wiped there. */
int cmd_vcenter_set_password(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *body = json_object();
    _cleanup_free_ char *question = NULL;
    _cleanup_secret_ char *password = NULL;
    int rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &vcenter, err);
    if (rc)
        return rc;
    question = str_format("New password of kaasd's account at vCenter %s: ", json_get_string(vcenter, "name"));
    rc = cli_get_password(cli, opt_get(&cli->given, "password-file"), question ? question : "New password: ", &password, err);
    if (rc)
        return rc;
    json_put_string(body, "password", password);
    rc = cli_call(cli, vcenter, body, NULL, err);
    json_wipe_string(json_object_get(body, "password"));
    return rc ? rc : cli_show_result(cli, vcenter, NULL, err);
}
