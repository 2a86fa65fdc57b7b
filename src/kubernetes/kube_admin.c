/* A cluster that kaasd has made, as its administrator. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_admin.h"

#include <stdlib.h>

#include "kubernetes_private.h"

void kube_admin_done(struct kube_admin *admin) {
    if (!admin)
        return;
    free(admin->ca_pem);
    free(admin->cert_pem);
    secret_free(admin->key_pem);
    *admin = (struct kube_admin){0};
}

int kube_admin_client(struct kubernetes *k, const char *address, const struct kube_admin *admin, struct k8s_client **out,
                      struct err *err) {
    const struct kube_connection connection = {.address = (char *)(uintptr_t)address, .ca_pem = admin->ca_pem};
    uint8_t pin[32];
    struct k8s_endpoint endpoint = kube_endpoint(k, &connection, pin);
    endpoint.client_cert_pem = admin->cert_pem;
    endpoint.client_key_pem = admin->key_pem;
    return k8s_client_new(&endpoint, NULL, out, err);
}
