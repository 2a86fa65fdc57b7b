/* The certificate authorities of a cluster that KaaS makes. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_pki.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pki_store.h"
#include "seal.h"
#include "secret.h"
#include "str.h"
#include "x509.h"

void cluster_pki_free(struct cluster_pki *pki) {
    if (!pki)
        return;
    pki_pair_done(&pki->ca);
    pki_pair_done(&pki->etcd_ca);
    pki_pair_done(&pki->front_proxy_ca);
    secret_free(pki->accounts_key_pem);
    free(pki->accounts_public_pem);
    free(pki);
}

/* -- what follows from the certificates ------------------------------------------------------------------------------------- */

static int cluster_pki_end(const struct pki_pair *ca, int64_t *not_after_ms, struct err *err) {
    struct x509_info info = {0};
    int rc = x509_parse_pem(ca->cert_pem, &info, err);
    if (!rc && (!*not_after_ms || info.not_after_ms < *not_after_ms))
        *not_after_ms = info.not_after_ms;
    x509_info_done(&info);
    return rc;
}

static int cluster_pki_derive(struct cluster_pki *pki, struct err *err) {
    uint8_t hash[DIGEST_SHA256_BYTES];
    int rc = pki_hash_key(pki->ca.cert_pem, hash, err);
    rc = rc ? rc : cluster_pki_end(&pki->ca, &pki->not_after_ms, err);
    rc = rc ? rc : cluster_pki_end(&pki->etcd_ca, &pki->not_after_ms, err);
    rc = rc ? rc : cluster_pki_end(&pki->front_proxy_ca, &pki->not_after_ms, err);
    if (rc)
        return rc;
    memcpy(pki->ca_hash, "sha256:", 7);
    str_hex(hash, sizeof(hash), pki->ca_hash + 7);
    return 0;
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

/* Where each private key belongs. */
static char **cluster_pki_key_at(struct cluster_pki *pki, enum pki_key key) {
    char **const keys[PKI_KEY_COUNT] = {
        [PKI_KEY_CA] = &pki->ca.key_pem,
        [PKI_KEY_ETCD_CA] = &pki->etcd_ca.key_pem,
        [PKI_KEY_FRONT_PROXY_CA] = &pki->front_proxy_ca.key_pem,
        [PKI_KEY_ACCOUNTS] = &pki->accounts_key_pem,
    };
    return keys[key];
}

static int cluster_pki_open_keys(struct store *store, struct seal *seal, const char *cluster_id, struct cluster_pki *pki,
                                 struct err *err) {
    int rc = 0;
    for (unsigned key = 0; key < PKI_KEY_COUNT && !rc; key++) {
        const struct secret_place place = pki_store_place(cluster_id, key);
        char **at = cluster_pki_key_at(pki, key);
        rc = secret_store_open(store, seal, &place, at, err);
        if (!rc && !*at) {
            (void)err_set(err, ERR_CONFIG, "the keys of the cluster are lost: the master key that sealed them was given up");
            rc = err_remedy(err, "its nodes go on, but no further one can be made: move what runs there to a new cluster");
        }
    }
    return rc;
}

int cluster_pki_load(struct store *store, struct seal *seal, const char *cluster_id, struct cluster_pki **out, struct err *err) {
    _cleanup_(pki_record_free) struct pki_record *record = NULL;
    _cleanup_(cluster_pki_free) struct cluster_pki *pki = calloc(1, sizeof(*pki));
    int rc = pki ? pki_store_load(store, cluster_id, &record, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    pki->ca.cert_pem = STEAL(record->ca_pem);
    pki->etcd_ca.cert_pem = STEAL(record->etcd_ca_pem);
    pki->front_proxy_ca.cert_pem = STEAL(record->front_proxy_ca_pem);
    pki->accounts_public_pem = STEAL(record->accounts_public_pem);
    rc = cluster_pki_open_keys(store, seal, cluster_id, pki, err);
    rc = rc ? rc : cluster_pki_derive(pki, err);
    if (!rc)
        *out = STEAL(pki);
    return rc;
}

/* -- making ----------------------------------------------------------------------------------------------------------------- */

/* The names are those that kubeadm gives its own. */
static int cluster_pki_generate(struct cluster_pki *pki, struct err *err) {
    int rc = pki_make_ca("kubernetes", &pki->ca, err);
    rc = rc ? rc : pki_make_ca("etcd-ca", &pki->etcd_ca, err);
    rc = rc ? rc : pki_make_ca("front-proxy-ca", &pki->front_proxy_ca, err);
    rc = rc ? rc : pki_make_rsa(&pki->accounts_key_pem, &pki->accounts_public_pem, err);
    return rc ? rc : cluster_pki_derive(pki, err);
}

static int cluster_pki_save(struct store *store, struct seal *seal, const char *cluster_id, struct cluster_pki *pki,
                            struct err *err) {
    struct secret_value keys[PKI_KEY_COUNT] = {0};
    const struct pki_record record = {
        .cluster_id = (char *)(uintptr_t)cluster_id,
        .ca_pem = pki->ca.cert_pem,
        .etcd_ca_pem = pki->etcd_ca.cert_pem,
        .front_proxy_ca_pem = pki->front_proxy_ca.cert_pem,
        .accounts_public_pem = pki->accounts_public_pem,
        .not_after_ms = pki->not_after_ms,
        .created_at_ms = clock_wall_ms(),
    };
    int rc = 0;
    for (unsigned key = 0; key < PKI_KEY_COUNT && !rc; key++) {
        const struct secret_place place = pki_store_place(cluster_id, key);
        rc = secret_seal(seal, &place, *cluster_pki_key_at(pki, key), &keys[key], err);
    }
    rc = rc ? rc : pki_store_put(store, &record, keys, err);
    for (unsigned key = 0; key < PKI_KEY_COUNT; key++)
        free(keys[key].bytes);
    return rc;
}

int cluster_pki_make(struct store *store, struct seal *seal, const char *cluster_id, struct cluster_pki **out, struct err *err) {
    struct err missing = {0}, taken = {0};
    int rc = cluster_pki_load(store, seal, cluster_id, out, &missing);
    if (rc != ERR_NOT_FOUND)
        return err_move(err, rc, &missing);
    _cleanup_(cluster_pki_free) struct cluster_pki *pki = calloc(1, sizeof(*pki));
    rc = pki ? cluster_pki_generate(pki, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    rc = cluster_pki_save(store, seal, cluster_id, pki, &taken);
    if (rc == ERR_EXISTS) /* another replica was quicker */
        return cluster_pki_load(store, seal, cluster_id, out, err);
    if (!rc)
        *out = STEAL(pki);
    return err_move(err, rc, &taken);
}

int cluster_pki_remove(struct store *store, const char *cluster_id, struct err *err) {
    struct err gone = {0};
    int rc = pki_store_delete(store, cluster_id, &gone);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &gone);
}

/* -- issuing ---------------------------------------------------------------------------------------------------------------- */

int cluster_pki_issue_client(const struct cluster_pki *pki, const char *common_name, const char *group, int64_t ttl_s,
                             struct pki_pair *out, int64_t *not_after_ms, struct err *err) {
    const char *const groups[] = {group, NULL};
    const struct pki_request request = {.common_name = common_name, .organizations = groups, .is_client = true, .ttl_s = ttl_s};
    return pki_issue(&pki->ca, &request, out, not_after_ms, err);
}

int cluster_pki_issue_etcd_client(const struct cluster_pki *pki, const char *common_name, int64_t ttl_s, struct pki_pair *out,
                                  struct err *err) {
    const struct pki_request request = {.common_name = common_name, .is_client = true, .ttl_s = ttl_s};
    return pki_issue(&pki->etcd_ca, &request, out, NULL, err);
}
