/* A cluster that kaasd has made, as its administrator. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Its CA is kept here, so no kubeconfig is needed: whoever holds the CA issues a client certificate when there is something to do, for some minutes, and forgets it. The
 * certificate is of the group kubeadm:cluster-admins, which kubeadm binds to the ClusterRole cluster-admin (since 1.29), and which RBAC can take that away from again. */
#pragma once

#include "err.h"

struct k8s_client;
struct kubernetes;

#define KUBE_ADMINS "kubeadm:cluster-admins" /* the organization (O) of such a certificate */

/* All texts malloc'ed. All zero: none. */
struct kube_admin {
    char *ca_pem;             /* of the cluster */
    char *cert_pem, *key_pem; /* that certificate, and its key, a secret */
};
void kube_admin_done(struct kube_admin *admin); /* wipes the key; NULL is allowed */

/* A client of the API server at this address ("https://10.9.0.10:6443") that signs in with it, and ends each call within kubernetes.call_timeout. The caller
 * k8s_client_free's it. ERR_CONFIG (no such address, a text that is none of PEM), ERR_NOMEM. */
int kube_admin_client(struct kubernetes *k, const char *address, const struct kube_admin *admin, struct k8s_client **out,
                      struct err *err);
