/* Certificate authorities of clusters that were made here; their keys, sealed, are secrets. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "member.h"
#include "secret_store.h"
#include "store.h"

/* What others may see of it. Texts malloc'ed, PEM. */
struct pki_record {
    char *cluster_id;
    char *ca_pem, *etcd_ca_pem, *front_proxy_ca_pem;
    char *accounts_public_pem; /* by which the API server checks tokens of service accounts */
    int64_t not_after_ms;      /* wall clock: end of the CA that ends first */
    int64_t created_at_ms;
    int64_t version_no;
};
static const struct member pki_record_members[] = {
    MEMBER_AS(pki_record, cluster_id, "cluster_id", NULL, .flags = MEMBER_KEY),
    MEMBER_AS(pki_record, ca_pem, "ca_pem", NULL),
    MEMBER_AS(pki_record, etcd_ca_pem, "etcd_ca_pem", NULL),
    MEMBER_AS(pki_record, front_proxy_ca_pem, "front_proxy_ca_pem", NULL),
    MEMBER_AS(pki_record, accounts_public_pem, "accounts_public_pem", NULL),
    MEMBER_AS(pki_record, not_after_ms, "not_after_ms", NULL),
    MEMBER_AS(pki_record, created_at_ms, "created_at_ms", NULL),
    MEMBER_AS(pki_record, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void pki_record_free(struct pki_record *record); /* NULL is allowed */
CLEANUP_DEFINE(struct pki_record, pki_record_free);

/* The private keys of a cluster. */
enum pki_key { PKI_KEY_CA, PKI_KEY_ETCD_CA, PKI_KEY_FRONT_PROXY_CA, PKI_KEY_ACCOUNTS, PKI_KEY_COUNT };
/* Where one is kept; borrows the id. */
struct secret_place pki_store_place(const char *cluster_id, enum pki_key key);

/* ERR_NOT_FOUND. *out is freed by pki_record_free. */
int pki_store_load(struct store *store, const char *cluster_id, struct pki_record **out, struct err *err);

/* Writes the record with its keys, all or nothing; version_no of the record is to be 0. ERR_EXISTS: the cluster has some already, which stay as they are; ERR_CONFLICT: the
 * cluster is not there. */
int pki_store_put(struct store *store, const struct pki_record *record, const struct secret_value keys[PKI_KEY_COUNT],
                  struct err *err);

/* Removes the record and its keys. ERR_NOT_FOUND. */
int pki_store_delete(struct store *store, const char *cluster_id, struct err *err);
