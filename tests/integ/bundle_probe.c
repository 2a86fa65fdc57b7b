/* Reads a bundle and applies it, as a job of the daemon would, so that tests can look at src/kubernetes/bundles.h by itself. Not installed.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   bundle_probe KUBECONFIG FOLDER POD-NETWORK SERVICE-NETWORK [ADDRESSES...]
 *
 * An empty text is a value that the cluster has not. Prints what is told of each object; on an error its code and text, then the remedy, and ends with status 1. */
#include <stdio.h>
#include <string.h>

#include "bundles.h"
#include "clock.h"
#include "fsutil.h"
#include "kubeconfig.h"
#include "str.h"

#define TIMEOUT_MS 60000

static void say(void *arg, const char *text) {
    (void)arg;
    (void)puts(text);
}

static int apply(const struct kubeconfig *config, const struct bundle *bundle, struct err *err) {
    _cleanup_(k8s_client_free) struct k8s_client *client = NULL;
    const struct k8s_endpoint endpoint = {.url = config->url,
                                          .trust = {.ca_pem = config->ca_pem, .verify_host = config->tls_server_name},
                                          .client_cert_pem = config->client_cert_pem,
                                          .client_key_pem = config->client_key_pem,
                                          .connect_timeout_ms = TIMEOUT_MS,
                                          .call_timeout_ms = TIMEOUT_MS};
    int rc = k8s_client_new(&endpoint, config->token, &client, err);
    return rc ? rc : kube_bundle_apply(client, bundle, say, NULL, err);
}

static const char *given(const char *text) {
    return *text ? text : NULL;
}

int main(int argc, char **argv) {
    _cleanup_done_(kubeconfig_done) struct kubeconfig config = {0};
    _cleanup_done_(bundle_done) struct bundle bundle = {0};
    _cleanup_strbuf_ struct strbuf text;
    struct err err = {0};
    strbuf_init(&text, KUBECONFIG_BYTES_MAX);
    if (argc < 5)
        return 2;
    const struct bundle_values values = {.pod_network = given(argv[3]),
                                         .service_network = given(argv[4]),
                                         .service_addresses = (const char *const *)argv + 5,
                                         .service_addresses_count = (size_t)argc - 5};
    int rc = fs_read(argv[1], &text, &err);
    rc = rc ? rc : kubeconfig_parse(text.data, text.len, NULL, clock_wall_ms(), &config, &err);
    rc = rc ? rc : kube_bundle_read(argv[2], &values, &bundle, &err);
    rc = rc ? rc : apply(&config, &bundle, &err);
    if (rc)
        (void)printf("%s: %s\n%s\n", err_slug(rc), err.text, err.remedy);
    return rc ? 1 : 0;
}
