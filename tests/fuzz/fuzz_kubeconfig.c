/* Fuzz target: kubeconfig_parse and kubeconfig_list. The first line is the context to take, empty for none, or "*" to list them; the rest is the file.
 * What is taken keeps what the header promises; what is refused says so with a remedy.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http_options.h"
#include "k8s.h"
#include "kubeconfig.h"
#include "names.h"
#include "str.h"
#include "x509.h"

#define NOW_MS INT64_C(1800000000000) /* 2027, when the certificates of the seeds are valid, or not */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool condition) {
    if (!condition)
        abort();
}

static void check_name(const char *name, bool may_be_empty) {
    must(name && (may_be_empty || *name) && strlen(name) <= KUBECONFIG_NAME_BYTES_MAX && !str_has_control(name));
}

static void check_error(int rc, const struct err *err) {
    must((rc == ERR_UNPROCESSABLE || rc == ERR_TOO_LARGE) && err->code == rc);
    must(str_starts(err->text, "kubeconfig:") && err->remedy[0]);
    must(str_utf8_chars(err->text, strlen(err->text)) > 0);
}

/* Whoever reads the address next finds the host that was judged here. */
static void check_url(const char *url) {
    unsigned port = 0;
    _cleanup_free_ char *again = NULL, *host = http_url_host(url, &port);
    must(host && !name_check_host(host, "host", NULL) && port > 0 && port <= 65535);
    must(!k8s_url_check(url, &again, NULL) && str_eq(again, url));
}

static void check_config(const struct kubeconfig *config, const char *asked) {
    check_name(config->context, false);
    check_name(config->cluster_name, false);
    check_name(config->user_name, false);
    must(!asked || str_eq(asked, config->context));
    check_url(config->url);
    must(!config->tls_server_name || !name_check_host(config->tls_server_name, "name", NULL));
    must(!config->ca_pem || str_starts(config->ca_pem, "-----BEGIN CERTIFICATE-----\n"));
    must(config->token || config->client_cert_pem);
    must(!config->token || !k8s_token_check(config->token, NULL));
    must(!config->client_cert_pem == !config->client_key_pem && !config->client_cert_pem == !config->client_not_after_ms);
    must(!config->client_cert_pem ||
         (config->client_not_after_ms > NOW_MS && !x509_check_key(config->client_cert_pem, config->client_key_pem, NULL)));
}

static void try_list(const char *text, size_t n) {
    struct kubeconfig_contexts contexts = {0};
    struct err err = {0};
    int rc = kubeconfig_list(text, n, &contexts, &err);
    if (rc)
        check_error(rc, &err);
    must(!rc || !contexts.count);
    for (size_t i = 0; i < contexts.count; i++) {
        check_name(contexts.items[i].name, false);
        check_name(contexts.items[i].cluster, true);
        check_name(contexts.items[i].user, true);
    }
    kubeconfig_contexts_done(&contexts);
}

static void try_parse(const char *text, size_t n, const char *context) {
    struct kubeconfig config = {0};
    struct err err = {0};
    int rc = kubeconfig_parse(text, n, context, NOW_MS, &config, &err);
    if (rc)
        check_error(rc, &err);
    else
        check_config(&config, context);
    kubeconfig_done(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *text = (const char *)data, *end = n ? memchr(text, '\n', n) : NULL;
    if (!end)
        return 0;
    _cleanup_free_ char *first = strndup(text, (size_t)(end - text));
    n -= (size_t)(end + 1 - text);
    if (str_eq(first, "*"))
        try_list(end + 1, n);
    else
        try_parse(end + 1, n, *first ? first : NULL);
    return 0;
}
