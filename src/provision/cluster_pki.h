/* The certificate authorities of a cluster that KaaS makes, and what they issue. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: Kubernetes, "PKI certificates and requirements": three CAs (cluster, etcd, front proxy) and a key pair that signs tokens of service accounts. All functions that
 * take a store block. */
#pragma once

#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "pki.h"
#include "store.h"

struct seal;

/* All that control planes are given. Texts malloc'ed; keys wiped when freed. */
struct cluster_pki {
    struct pki_pair ca, etcd_ca, front_proxy_ca;
    char *accounts_key_pem, *accounts_public_pem;
    char ca_hash
        [PKI_HASH_TEXT_BYTES]; /* "sha256:...", by which a node that joins knows the cluster's CA (kubeadm, caCertHashes) */
    int64_t not_after_ms;      /* wall clock: end of the CA that ends first */
};
void cluster_pki_free(struct cluster_pki *pki); /* wipes; NULL is allowed */
CLEANUP_DEFINE(struct cluster_pki, cluster_pki_free);

/* Makes the keys of a cluster once, and has them committed before they are handed out: whoever comes later, also at the same time on another replica, gets those of the
 * first. *out is freed by cluster_pki_free. ERR_CONFLICT: there is no such cluster; ERR_CONFIG as below. */
int cluster_pki_make(struct store *store, struct seal *seal, const char *cluster_id, struct cluster_pki **out, struct err *err);

/* Reads them. ERR_NOT_FOUND: the cluster was not made here; ERR_CONFIG: the master key that sealed them is lost. */
int cluster_pki_load(struct store *store, struct seal *seal, const char *cluster_id, struct cluster_pki **out, struct err *err);

/* Removes them for good; to be called before the cluster's record is deleted. 0 also if there are none. */
int cluster_pki_remove(struct store *store, const char *cluster_id, struct err *err);

/* Issues a client certificate of the cluster's CA: `common_name` is the user, `group` (NULL: none) its group. *out is given back by pki_pair_done. ERR_UNPROCESSABLE: a
 * name that no certificate holds, or the CA has ended. */
int cluster_pki_issue_client(const struct cluster_pki *pki, const char *common_name, const char *group, int64_t ttl_s,
                             struct pki_pair *out, int64_t *not_after_ms, struct err *err);
/* The same of etcd's CA, for etcd_client.h. */
int cluster_pki_issue_etcd_client(const struct cluster_pki *pki, const char *common_name, int64_t ttl_s, struct pki_pair *out,
                                  struct err *err);
