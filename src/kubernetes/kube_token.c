/* The stored token of our account. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

int kube_seal_token(struct kubernetes *k, const char *cluster_id, const char *token, struct secret_value *out, struct err *err) {
    const struct secret_place place = kube_store_place(cluster_id);
    return secret_seal(k->options.runtime->seal, &place, token, out, err);
}

int kube_load_token(struct kubernetes *k, const char *cluster_id, char **token, struct err *err) {
    const struct secret_place place = kube_store_place(cluster_id);
    int rc = secret_store_open(k->options.runtime->store, k->options.runtime->seal, &place, token, err);
    if (rc || *token)
        return rc;
    (void)err_set(err, ERR_UNAUTHENTICATED, "no token is stored: it went with the master key that had sealed it");
    return err_remedy(err, "give a fresh kubeconfig of an administrator: kaasctl cluster reconnect %s --kubeconfig FILE",
                      cluster_id);
}

int64_t kube_renew_at_ms(int64_t now_ms, int64_t until_ms) {
    return now_ms + (until_ms - now_ms) / 2;
}
