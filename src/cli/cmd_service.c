/* kaasctl service: programs that sign in. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "fsutil.h"
#include "service_account.h"
#include "str.h"
#include "strbuf.h"

#define PEM_BYTES_MAX 65536U

/* -- what is given -------------------------------------------------------------------------------------------------------------- */

/* The first certificate of the text and nothing else: what lies beside it in the file may be the private key. */
static int add_certificate(const char *file, const char *pem, json_t *array, struct err *err) {
    static const char last[] = "-----END CERTIFICATE-----";
    const char *begin = strstr(pem, "-----BEGIN CERTIFICATE-----"), *end = begin ? strstr(begin, last) : NULL;
    _cleanup_free_ char *certificate = NULL;
    if (!end) {
        (void)err_set(err, ERR_INVALID, "%s holds no certificate in PEM", file);
        return err_remedy(err, "give a file with a certificate in PEM, or the SHA-256 of one; the private key stays where it is");
    }
    certificate = str_format("%.*s\n", (int)(end - begin) + (int)strlen(last), begin);
    if (!certificate)
        return err_set(err, ERR_NOMEM, "out of memory");
    json_array_append_new(array, json_string(certificate));
    return 0;
}

/* A fingerprint as it is; else a file with the certificate. */
static int read_certificate(const char *text, json_t *array, struct err *err) {
    char sha256[SERVICE_FINGERPRINT_BYTES];
    _cleanup_strbuf_ struct strbuf pem = {0};
    int rc;
    if (!service_fingerprint_read(text, sha256, NULL)) {
        json_array_append_new(array, json_string(sha256));
        return 0;
    }
    strbuf_init_secret(&pem, PEM_BYTES_MAX);
    rc = fs_read(text, &pem, err);
    if (rc)
        return err_remedy(err, "give a file with a certificate in PEM, or the SHA-256 of one");
    return add_certificate(text, pem.data, array, err);
}

static int read_certificates(struct cli *cli, const char *option, json_t *array, struct err *err) {
    const char *text;
    size_t at = 0;
    int rc = 0;
    while (!rc && (text = opt_next(&cli->given, option, &at)))
        rc = read_certificate(text, array, err);
    return rc;
}

static int read_fingerprints(struct cli *cli, const char *option, json_t *array, struct err *err) {
    char sha256[SERVICE_FINGERPRINT_BYTES];
    const char *text;
    size_t at = 0;
    int rc = 0;
    while (!rc && (text = opt_next(&cli->given, option, &at))) {
        rc = service_fingerprint_read(text, sha256, err);
        if (!rc)
            json_array_append_new(array, json_string(sha256));
    }
    return rc;
}

static int read_hx_clusters(struct cli *cli, const char *option, json_t *array, struct err *err) {
    const char *text;
    size_t at = 0;
    int rc = 0;
    while (!rc && (text = opt_next(&cli->given, option, &at))) {
        _cleanup_json_ json_t *hx = NULL;
        rc = cli_find(cli, &cli_hx_clusters, text, &hx, err);
        if (!rc)
            json_array_append_new(array, json_string(json_get_string(hx, "id")));
    }
    return rc;
}

/* "" takes a text away. */
static void put_text(struct cli *cli, json_t *body, const char *name) {
    const char *text = opt_get(&cli->given, name);
    if (text)
        json_object_set_new(body, name, *text ? json_string(text) : json_null());
}

static void put_texts(struct cli *cli, json_t *body) {
    put_text(cli, body, "description");
    put_text(cli, body, "subject");
    put_text(cli, body, "kerberos");
}

static int put_flag(struct cli *cli, json_t *body, const char *member, const char *const options[2], struct err *err) {
    const bool on = opt_get(&cli->given, options[0]), off = opt_get(&cli->given, options[1]);
    if (on && off)
        return cli_usage(cli, err, "give either --%s or --%s", options[0], options[1]);
    if (on || off)
        json_put_bool(body, member, on);
    return 0;
}

/* -- commands ----------------------------------------------------------------------------------------------------------------- */

static int check_proof(struct cli *cli, struct err *err) {
    if (opt_get(&cli->given, "certificate") || opt_get(&cli->given, "subject") || opt_get(&cli->given, "kerberos"))
        return 0;
    return cli_usage(cli, err, "what shall it sign in by? Give --certificate, --subject or --kerberos");
}

int cmd_service_add(struct cli *cli, struct err *err) {
    json_t *certificates = json_array(), *hx = json_array();
    _cleanup_json_ json_t *body = json_object(), *answer = NULL;
    int rc = check_proof(cli, err);
    if (!rc)
        rc = cli_connect(cli, err);
    json_put_string(body, "name", cli_word(cli, 0));
    put_texts(cli, body);
    json_object_set_new(body, "certificates", certificates);
    json_object_set_new(body, "hx_clusters", hx);
    json_put_bool(body, "may_delegate", opt_get(&cli->given, "may-delegate") != NULL);
    if (!rc)
        rc = read_certificates(cli, "certificate", certificates, err);
    if (!rc)
        rc = read_hx_clusters(cli, "hx-cluster", hx, err);
    if (!rc)
        rc = cli_client_call(cli->client, &(struct cli_request){.method = "POST", .path = "/v2/services", .body = body}, &answer,
                             err);
    return rc ? rc : show_object(cli, answer, cli->command->object, err);
}

/* What a list holds: each item itself, or its member. */
static const char *text_of(const json_t *item, const char *member) {
    return json_is_string(item) ? json_string_value(item) : json_get_string(item, member);
}

static bool has(const json_t *array, const char *text) {
    const json_t *item;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)array, i, item) {
        if (str_eq(json_string_value(item), text))
            return true;
    }
    return false;
}

/* The list as it is, without what is taken away and with what is added. */
static json_t *join(const json_t *now, const char *member, const json_t *added, const json_t *removed) {
    json_t *joined = json_array(), *item;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)now, i, item) {
        if (!has(removed, text_of(item, member)))
            json_array_append_new(joined, json_string(text_of(item, member)));
    }
    json_array_extend(joined, (json_t *)(uintptr_t)added);
    return joined;
}

static int put_certificates(struct cli *cli, const json_t *service, json_t *body, struct err *err) {
    _cleanup_json_ json_t *added = json_array(), *removed = json_array();
    int rc = read_certificates(cli, "add-certificate", added, err);
    if (!rc)
        rc = read_fingerprints(cli, "remove-certificate", removed, err);
    if (!rc && (json_array_size(added) || json_array_size(removed)))
        json_object_set_new(body, "certificates", join(json_object_get(service, "certificates"), "sha256", added, removed));
    return rc;
}

static int put_hx_clusters(struct cli *cli, const json_t *service, json_t *body, struct err *err) {
    _cleanup_json_ json_t *added = json_array(), *removed = json_array();
    int rc = read_hx_clusters(cli, "add-hx-cluster", added, err);
    if (!rc)
        rc = read_hx_clusters(cli, "remove-hx-cluster", removed, err);
    if (!rc && (json_array_size(added) || json_array_size(removed)))
        json_object_set_new(body, "hx_clusters", join(json_object_get(service, "hx_clusters"), "id", added, removed));
    return rc;
}

static int read_changes(struct cli *cli, const json_t *service, json_t *body, struct err *err) {
    static const char *const delegation[] = {"may-delegate", "no-delegate"}, *const state[] = {"disable", "enable"};
    int rc = put_certificates(cli, service, body, err);
    put_text(cli, body, "name");
    put_texts(cli, body);
    if (!rc)
        rc = put_hx_clusters(cli, service, body, err);
    if (!rc)
        rc = put_flag(cli, body, "may_delegate", delegation, err);
    if (!rc)
        rc = put_flag(cli, body, "disabled", state, err);
    if (!rc && !json_object_size(body))
        rc = cli_usage(cli, err, "what shall be changed? See: kaasctl service set --help");
    return rc;
}

int cmd_service_set(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *service = NULL, *body = json_object(), *answer = NULL;
    _cleanup_free_ char *path = NULL;
    int rc = cli_find(cli, &cli_services, cli_word(cli, 0), &service, err);
    if (!rc)
        rc = read_changes(cli, service, body, err);
    if (rc)
        return rc;
    path = cli_path_of("services", service, NULL);
    rc = cli_client_call(
        cli->client, &(struct cli_request){.method = "PATCH", .path = path, .body = body, .is_merge_patch = true}, &answer, err);
    return rc ? rc : show_object(cli, answer, cli->command->object, err);
}
