/* kaasctl service: programs that sign in. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli_command.h"
#include "fsutil.h"
#include "service_account.h"
#include "str.h"

#define PEM_BYTES_MAX 65536U

typedef int cmd_service_read_fn(struct cli *cli, const char *text, json_t *array, struct err *err);

static int cmd_service_read_fingerprint(struct cli *cli, const char *text, json_t *array, struct err *err) {
    char sha256[SERVICE_FINGERPRINT_BYTES];
    int rc = service_fingerprint_read(text, sha256, err);
    (void)cli;
    if (!rc)
        (void)json_array_append_new(array, json_string(sha256));
    return rc;
}

/* A fingerprint as it is; else a file, of which the first certificate is taken and nothing else: what lies beside it may be the private key. */
static int cmd_service_read_certificate(struct cli *cli, const char *text, json_t *array, struct err *err) {
    static const char remedy[] = "give a file with a certificate in PEM, or the SHA-256 of one",
                      last[] = "-----END CERTIFICATE-----";
    _cleanup_strbuf_ struct strbuf pem = {0};
    _cleanup_free_ char *certificate = NULL;
    const char *begin, *end;
    if (!cmd_service_read_fingerprint(cli, text, array, NULL))
        return 0;
    strbuf_init_secret(&pem, PEM_BYTES_MAX);
    if (fs_read_text(text, &pem, err))
        return err_remedy(err, "%s", remedy);
    begin = strstr(pem.data, "-----BEGIN CERTIFICATE-----");
    end = begin ? strstr(begin, last) : NULL;
    if (!end) {
        (void)err_set(err, ERR_INVALID, "%s holds no certificate in PEM", text);
        return err_remedy(err, "%s; the private key stays where it is", remedy);
    }
    certificate = str_format("%.*s\n", (int)(end - begin) + (int)strlen(last), begin);
    if (!certificate)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)json_array_append_new(array, json_string(certificate));
    return 0;
}

static int cmd_service_read_hx(struct cli *cli, const char *text, json_t *array, struct err *err) {
    _cleanup_json_ json_t *hx = NULL;
    int rc = cli_find(cli, &cli_hx_clusters, text, &hx, err);
    if (!rc)
        (void)json_array_append_new(array, json_string(json_get_string(hx, "id")));
    return rc;
}

/* Reads each occurrence of an option into the array. */
static int cmd_service_read_each(struct cli *cli, const char *option, cmd_service_read_fn *read, json_t *array, struct err *err) {
    size_t at = 0;
    for (const char *text; (text = opt_next(&cli->given, option, &at)) != NULL;) {
        int rc = read(cli, text, array, err);
        if (rc)
            return rc;
    }
    return 0;
}

int cmd_service_add(struct cli *cli, json_t *body, struct err *err) {
    json_t *certificates = json_array(), *hx = json_array();
    int rc;
    (void)json_object_set_new(body, "certificates", certificates);
    (void)json_object_set_new(body, "hx_clusters", hx);
    json_put_string(body, "name", cli_word(cli, 0));
    if (!json_object_get(body, "may_delegate"))
        json_put_bool(body, "may_delegate", false);
    if (!opt_get(&cli->given, "certificate") && !json_object_get(body, "subject") && !json_object_get(body, "kerberos"))
        return cli_usage(cli, err, "what shall it sign in by? Give --certificate, --subject or --kerberos");
    rc = cmd_service_read_each(cli, "certificate", cmd_service_read_certificate, certificates, err);
    return rc ? rc : cmd_service_read_each(cli, "hx-cluster", cmd_service_read_hx, hx, err);
}

/* -- changes of a list ---------------------------------------------------------------------------------------------------------- */

/* A list of the service, and the options that change it. */
struct cmd_service_list {
    const char *member, *id; /* and what an item is known by, where it is an object */
    const char *add, *remove;
    cmd_service_read_fn *read_added, *read_removed;
};

/* Puts the list as it is, without what is taken away and with what is added. */
static int cmd_service_put_list(struct cli *cli, const struct cmd_service_list *list, const json_t *service, json_t *body,
                                struct err *err) {
    _cleanup_json_ json_t *added = json_array(), *removed = json_array(), *joined = json_array();
    const json_t *item;
    size_t i;
    int rc = cmd_service_read_each(cli, list->add, list->read_added, added, err);
    if (rc)
        return rc;
    rc = cmd_service_read_each(cli, list->remove, list->read_removed, removed, err);
    if (rc || (!json_array_size(added) && !json_array_size(removed)))
        return rc;
    json_array_foreach (json_object_get(service, list->member), i, item) {
        json_t *id = json_object_get(item, list->id);
        size_t at = 0;
        while (at < json_array_size(removed) && !json_equal(json_array_get(removed, at), id))
            at++;
        if (at == json_array_size(removed))
            (void)json_array_append(joined, id);
    }
    (void)json_array_extend(joined, added);
    (void)json_object_set(body, list->member, joined);
    return 0;
}

int cmd_service_set(struct cli *cli, json_t *body, struct err *err) {
    static const struct cmd_service_list lists[] = {
        {"certificates", "sha256", "add-certificate", "remove-certificate", cmd_service_read_certificate,
         cmd_service_read_fingerprint},
        {"hx_clusters", "id", "add-hx-cluster", "remove-hx-cluster", cmd_service_read_hx, cmd_service_read_hx},
    };
    int rc = cli_find_object(cli, err);
    for (size_t i = 0; !rc && i < ARRAY_COUNT(lists); i++)
        rc = cmd_service_put_list(cli, &lists[i], cli->object, body, err);
    return rc;
}
