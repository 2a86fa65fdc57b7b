/* Writes a kubeconfig. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubeconfig.h"

#include <string.h>

#include "str.h"

/* A text that came from people, as YAML takes it whatever it holds (YAML 1.2, 7.3.1). */
static void kubeconfig_put_quoted(struct strbuf *out, const char *text) {
    strbuf_addc(out, '"');
    for (; *text; text++)
        strbuf_addf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    strbuf_addc(out, '"');
}

static void kubeconfig_put_name(struct strbuf *out, const char *before, const char *name) {
    strbuf_adds(out, before);
    kubeconfig_put_quoted(out, name);
    strbuf_addc(out, '\n');
}

/* What is binary there: base64 with padding (RFC 4648). */
static void kubeconfig_put_data(struct strbuf *out, const char *before, const char *pem) {
    strbuf_adds(out, before);
    const size_t begin = out->len;
    str_base64(out, (const uint8_t *)pem, strlen(pem));
    while ((out->len - begin) % 4 && !out->failed)
        strbuf_addc(out, '=');
    strbuf_addc(out, '\n');
}

int kubeconfig_write(const struct kubeconfig_new *config, struct strbuf *out, struct err *err) {
    strbuf_adds(out, "apiVersion: v1\nkind: Config\nclusters:\n");
    kubeconfig_put_name(out, "- name: ", config->cluster_name);
    kubeconfig_put_name(out, "  cluster:\n    server: ", config->url);
    kubeconfig_put_data(out, "    certificate-authority-data: ", config->ca_pem);
    kubeconfig_put_name(out, "users:\n- name: ", config->user_name);
    kubeconfig_put_data(out, "  user:\n    client-certificate-data: ", config->client_cert_pem);
    kubeconfig_put_data(out, "    client-key-data: ", config->client_key_pem);
    kubeconfig_put_name(out, "contexts:\n- name: ", config->context);
    kubeconfig_put_name(out, "  context:\n    cluster: ", config->cluster_name);
    kubeconfig_put_name(out, "    user: ", config->user_name);
    kubeconfig_put_name(out, "current-context: ", config->context);
    return strbuf_check(out, "a kubeconfig", err);
}
