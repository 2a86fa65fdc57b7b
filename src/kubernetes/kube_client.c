/* How one API server is reached: its endpoint, and the client of our account there. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

#include "str.h"

struct k8s_endpoint kube_endpoint(const struct kubernetes *k, const struct kube_connection *connection, uint8_t pin[32]) {
    const bool is_pinned = connection->sha256 && str_unhex(connection->sha256, pin, 32);
    return (struct k8s_endpoint){
        .url = connection->address,
        .trust = {.ca_pem = connection->ca_pem, .pin_sha256 = is_pinned ? pin : NULL, .verify_host = connection->tls_server_name},
        .networks = k->options.networks,
        .connect_timeout_ms = k->options.call_timeout_ms,
        .call_timeout_ms = k->options.call_timeout_ms};
}

int kube_use_new_client(struct kube_remote *at, const char *token, struct err *err) {
    uint8_t pin[32];
    const struct k8s_endpoint endpoint = kube_endpoint(at->k, &at->connection, pin);
    struct k8s_client *client = NULL, *old;
    int rc = k8s_client_new(&endpoint, token, &client, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&at->remote.lock);
    old = at->client;
    at->client = client;
    if (at->remote.is_retired)
        k8s_client_cancel(client);
    (void)pthread_mutex_unlock(&at->remote.lock);
    k8s_client_free(old);
    return 0;
}
