/* Service accounts: programs that sign in by a certificate or a Kerberos principal, limited to named HX clusters. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "limits.h"
#include "member.h"

#define SERVICE_ACCOUNTS_COUNT_MAX 1000U
#define SERVICE_CERTIFICATES_COUNT_MAX 8U  /* of one account: the one in use, the next, some instances */
#define SERVICE_HX_CLUSTERS_COUNT_MAX 256U /* of one account */
#define SERVICE_SUBJECT_BYTES_MAX 500U
#define SERVICE_KERBEROS_BYTES_MAX 400U
#define SERVICE_FINGERPRINT_BYTES 65 /* SHA-256 of the DER form as lower-case hex, and NUL */

/* A pinned client certificate: trusted by its fingerprint, whoever issued it. */
struct service_certificate {
    char sha256[SERVICE_FINGERPRINT_BYTES];
    int64_t not_after_ms; /* wall clock; 0: not seen yet (only the fingerprint was given) */
};

/* Texts malloc'ed; NULL where there is none. */
struct service_account {
    char *id; /* our uuid; the principal is "svc:<id>" */
    char *name;
    char *description;
    char *kerberos;                           /* "HTTP/hx.example@REALM": service_kerberos_read */
    char *subject;                            /* of certificates under the configured CA: service_subject_read */
    struct service_certificate *certificates; /* by fingerprint */
    size_t certificates_count;
    char **hx_clusters; /* ids, sorted; none: it sees nothing */
    size_t hx_clusters_count;
    bool may_delegate; /* may sign in for users of vCenters */
    bool is_disabled;
    int64_t created_at_ms, updated_at_ms;
    int64_t version_no;
};
static const struct member service_account_members[] = {
    MEMBER(service_account, id, .flags = MEMBER_KEY),
    MEMBER_PART_OF("principal_id"),
    MEMBER(service_account, name, .rule = RULE_NAME, .writers = BY_ADMIN),
    MEMBER(service_account, description, .rule = RULE_TEXT, .max = KAAS_DESCRIPTION_CHARS_MAX, .writers = BY_ADMIN,
           .flags = MEMBER_OPTIONAL),
    MEMBER(service_account, kerberos, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(service_account, subject, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_PART_OF("certificates"),
    MEMBER_PART_OF("hx_clusters"),
    MEMBER(service_account, may_delegate, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(service_account, is_disabled, "is_disabled", "disabled", .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(service_account, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(service_account, updated_at_ms, "updated_at_ms", "updated_at"),
    MEMBER_AS(service_account, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void service_account_done(struct service_account *a); /* NULL is allowed */
void service_account_free(struct service_account *a); /* NULL is allowed */
CLEANUP_DEFINE(struct service_account, service_account_free);
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int service_account_copy(const struct service_account *from, struct service_account *out, struct err *err);

/* Adds a certificate or an HX cluster, keeping the order. One that is there already is not added again; an expiry that it brings is taken over.
 * ERR_UNPROCESSABLE beyond the counts above, ERR_NOMEM. */
int service_account_add_certificate(struct service_account *a, const struct service_certificate *c, struct err *err);
int service_account_add_hx_cluster(struct service_account *a, const char *hx_cluster_id, struct err *err);
void service_account_clear_hx_clusters(struct service_account *a);

/* True if this HX cluster is among those that the account is limited to. */
bool service_account_has_hx_cluster(const struct service_account *a, const char *hx_cluster_id);

/* Checks name and description, and that there is a credential. ERR_UNPROCESSABLE naming the member. */
int service_account_check(const struct service_account *a, struct err *err);

/* The name of the first member in which two records of one account differ, version and times included; NULL: none. Static. */
const char *service_account_difference(const struct service_account *a, const struct service_account *b);

/* -- credentials as people write them, and the one spelling that is stored and compared whole ------------------------------------- */

/* A SHA-256 in hex, with or without colons, in either case. ERR_UNPROCESSABLE. */
int service_fingerprint_read(const char *text, char out[SERVICE_FINGERPRINT_BYTES], struct err *err);
/* A distinguished name as text, most specific part first (RFC 4514): "CN=hx-east,O=Example". Types in upper case, no blanks around separators; values
 * count to the letter. *out is freed by the caller. ERR_UNPROCESSABLE, ERR_NOMEM. */
int service_subject_read(const char *text, char **out, struct err *err);
/* A Kerberos principal with its realm (RFC 1964 section 2.1.1). Counts to the letter. ERR_UNPROCESSABLE, ERR_NOMEM. */
int service_kerberos_read(const char *text, char **out, struct err *err);

/* The principal of an account: "svc:<id>". Freed by the caller; NULL without memory. */
char *service_principal_id(const char *id);
