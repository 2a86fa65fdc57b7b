/* kaasctl vcenter: what needs trust in a certificate (add, set, trust), and the password of kaasd's account. Layer 7 (cli). Registering is
 * cmd_vcenter_register.c, status is cmd_vcenter_status.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli_address.h"
#include "cli_command.h"
#include "cli_prompt.h"
#include "names.h"
#include "secret.h"
#include "str.h"

#define TEXT_BYTES_MAX 65536U

/* -- certificates ----------------------------------------------------------------------------------------------------------------- */

/* How trust is asked for. */
struct cmd_vcenter_trusting {
    const char *option;    /* by which the SHA-256 is given beforehand */
    const char *title;     /* under which the certificate is shown */
    bool asks_on_mismatch; /* also when the certificate is not the one trusted so far (tls_untrusted) */
    bool shows_trusted;    /* before it what counted so far; another certificate in the next call is asked about, too */
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
    strbuf_init(&text, TEXT_BYTES_MAX);
    if (!show_pairs(object, columns, &text, NULL))
        cli_note("%s\n%s", title, text.data);
}

void cmd_note_certificate(const char *title, const json_t *certificate) {
    static const struct cli_column columns[] = {
        {"  Subject", "subject"},
        {"  Issuer", "issuer"},
        {"  Names", "san", show_words},
        {"  Valid from", "not_before", show_time},
        {"  Valid until", "not_after", show_time},
        {"  SHA-256", "sha256"},
        {NULL},
    };
    cmd_vcenter_note(title, certificate, columns);
}

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

/* What counted so far; on standard error, as the new one. */
static void cmd_vcenter_note_trusted(const char *name, const json_t *trusted) {
    static const struct cli_column by_sha256[] = {{"  SHA-256", "thumbprint_sha256"}, {NULL}};
    static const struct cli_column by_ca[] = {{"  CA", "ca_subjects", show_words}, {NULL}};
    _cleanup_free_ char *title = str_format("Trusted for vCenter %s until now:", name);
    bool is_ca = str_eq(json_get_string(trusted, "mode"), "ca");
    cmd_vcenter_note(title ? title : "Trusted until now:", trusted, is_ca ? by_ca : by_sha256);
    if (is_ca)
        cli_note("With yes the one below is trusted by its SHA-256 from then on; to trust a CA again give --ca-file FILE.\n");
}

/* Makes the command's call. Where the answer is "unconfirmed" the certificate is shown, the person is asked, and it is made again with its
 * SHA-256. */
static int cmd_vcenter_call(struct cli *cli, const struct cmd_vcenter_trusting *t, json_t *body, json_t **out, struct err *err) {
    struct err why = {0};
    const json_t *problem, *certificate;
    const char *sha256;
    int rc = cli_call(cli, body, out, &why);
    if (!rc)
        return 0;
    problem = cli_client_problem(cli->client);
    certificate = json_object_get(problem, "certificate");
    sha256 = json_get_string(certificate, "sha256");
    if (!sha256 || (rc != ERR_CERT_UNCONFIRMED && !(rc == ERR_TLS && t->asks_on_mismatch))) {
        if (rc == ERR_TLS && certificate)
            cmd_note_certificate("The certificate that was met:", certificate);
        return rc == ERR_CERT_UNCONFIRMED ? err_set(err, rc, "%s", why.text) : err_move(err, rc, &why);
    }
    json_put_string(body, "thumbprint_sha256", sha256);
    if (t->shows_trusted)
        cmd_vcenter_note_trusted(json_get_string(cli->object, "name"), json_object_get(problem, "trusted"));
    cmd_note_certificate(t->title, certificate);
    rc = cmd_vcenter_confirm_certificate(cli, t->option, json_get_string(body, "thumbprint_sha256"), err);
    if (rc)
        return rc;
    return t->shows_trusted
               ? cmd_vcenter_call(cli, &(struct cmd_vcenter_trusting){t->option, t->title, false, false}, body, out, err)
               : cli_call(cli, body, out, err);
}

/* -- add and set ------------------------------------------------------------------------------------------------------------------ */

static int cmd_vcenter_put_address(struct cli *cli, const char *text, json_t *body, struct err *err) {
    struct cli_address address = {.port = 0};
    int rc = cli_address_parse(text, &address, err);
    if (rc)
        return cli_as_usage(cli, rc);
    json_put_string(body, "address", address.host);
    if (address.port)
        json_put_int(body, "port", address.port);
    return cmd_vcenter_check_trust(cli, "sha256", err);
}

int cmd_vcenter_add(struct cli *cli, json_t *body, struct err *err) {
    return cmd_vcenter_put_address(cli, cli_word(cli, 0), body, err);
}

int cmd_vcenter_set(struct cli *cli, json_t *body, struct err *err) {
    const char *address = opt_get(&cli->given, "address");
    return address ? cmd_vcenter_put_address(cli, address, body, err) : cmd_vcenter_check_trust(cli, "sha256", err);
}

/* A new vCenter, or one at a new address. */
int cmd_vcenter_send(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    const struct cmd_vcenter_trusting t = {
        .option = "sha256",
        .title = cli->object ? "At the new address this certificate is shown, which is not the trusted one:"
                             : "The vCenter shows this certificate:",
        .asks_on_mismatch = cli->object && json_object_get(body, "address"),
    };
    return cmd_vcenter_call(cli, &t, body, answer, err);
}

/* By what other commands find it: the name, or the id where others have that name, too, or a shell would not take it as it is. */
int cmd_vcenter_tell_added(struct cli *cli, json_t *made, struct err *err) {
    const char *name = json_get_string(made, "name");
    _cleanup_json_ json_t *all = NULL;
    const json_t *vcenter;
    size_t i, count = 0;
    int rc = cli_show_result(cli, made, err);
    if (rc || cli->is_json)
        return rc;
    rc = cli_list(cli, "/v2/vcenters", NULL, NULL, &all, err);
    json_array_foreach (all, i, vcenter)
        count += cli_is_vcenter(vcenter, name);
    if (count > 1 || *name == '-')
        name = json_get_string(made, "id");
    show_line(cli, "next: kaasctl vcenter register %s --user USER", name_quote(name).text);
    return rc;
}

/* -- trust ------------------------------------------------------------------------------------------------------------------------ */

int cmd_vcenter_trust(struct cli *cli, json_t *body, struct err *err) {
    (void)body;
    return cmd_vcenter_check_trust(cli, "sha256", err);
}

/* Without trust in the body kaasd tells what it meets and what it trusts; nothing is sent to the vCenter. */
int cmd_vcenter_send_trust(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    const struct cmd_vcenter_trusting t = {
        .option = "sha256", .title = "It shows this certificate now:", .shows_trusted = !json_object_size(body)};
    int rc = cmd_vcenter_call(cli, &t, body, answer, err);
    if (rc || json_object_size(body))
        return rc;
    cli->is_done = true;
    show_line(cli, "the certificate that vCenter %s shows is trusted already: nothing to do",
              json_get_string(cli->object, "name"));
    return cli->is_json ? show_json(cli, *answer, err) : 0;
}

/* -- set-password ----------------------------------------------------------------------------------------------------------------- */

int cmd_vcenter_put_password(struct cli *cli, json_t *body, const char *whose, const char *file, struct err *err) {
    const char *vcenter = json_get_string(cli->object, "name");
    _cleanup_free_ char *question = str_format("%s at vCenter %s: ", whose, vcenter);
    _cleanup_secret_ char *password = NULL;
    int rc = cli_get_password(cli, opt_get(&cli->given, file), question, &password, err);
    json_put_string(body, "password", password);
    return rc;
}

int cmd_vcenter_set_password(struct cli *cli, json_t *body, struct err *err) {
    int rc = cli_find_object(cli, err);
    return rc ? rc : cmd_vcenter_put_password(cli, body, "New password of kaasd's account", "password-file", err);
}

/* -- the account that kaasd logs in by ------------------------------------------------------------------------------------------------ */

static int cmd_account_put(struct cli *cli, json_t *body, struct err *err) {
    _cleanup_free_ char *whose = str_format("Password of %s", opt_get(&cli->given, "user"));
    json_put_string(body, "kind", opt_get(&cli->given, "service-account") ? "service_account" : "account");
    return cmd_vcenter_put_password(cli, body, whose, "password-file", err);
}

int cmd_vcenter_set_login_account(struct cli *cli, json_t *body, struct err *err) {
    int rc;
    if (!opt_get(&cli->given, "user"))
        return cli_usage(cli, err, "which account is it to be? add --user NAME");
    rc = cli_find_object(cli, err);
    return rc ? rc : cmd_account_put(cli, body, err);
}

/* Without an account the stored one. */
int cmd_vcenter_test_login_account(struct cli *cli, json_t *body, struct err *err) {
    int rc;
    if (!opt_get(&cli->given, "user"))
        return opt_get(&cli->given, "service-account") || opt_get(&cli->given, "password-file")
                   ? cli_usage(cli, err, "whose password is it? add --user NAME")
                   : 0;
    rc = cli_find_object(cli, err);
    return rc ? rc : cmd_account_put(cli, body, err);
}

/* A test that fails is an answer, and a failure for scripts. */
int cmd_vcenter_tell_login_account(struct cli *cli, json_t *answer, struct err *err) {
    const char *user = json_get_string(answer, "username"), *vcenter = json_get_string(cli->object, "name");
    const bool is_test = json_object_get(answer, "works");
    const json_t *lack;
    size_t i;
    if (is_test && !json_get_bool(answer, "works", false))
        cli->status = CLI_FAILED;
    if (cli->is_json)
        return show_json(cli, answer, err);
    if (!is_test)
        show_line(cli, "kaasd logs in to vCenter %s by %s from now on", vcenter, user);
    else if (cli->status == CLI_FAILED)
        show_line(cli, "%s does not do for vCenter %s: %s", user, vcenter, json_get_string(answer, "reason"));
    else
        show_line(cli, "%s logs in to vCenter %s and may do what is needed", user, vcenter);
    json_array_foreach (json_object_get(answer, "missing"), i, lack)
        show_line(cli, "  it lacks %s on %s (%s)%s", json_get_string(lack, "privilege"), json_get_string(lack, "object_name"),
                  json_get_string(lack, "object_id"), json_get_bool(lack, "needed", false) ? ", which is needed" : "");
    return 0;
}
