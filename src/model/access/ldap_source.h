/* A directory that people are looked up in: Active Directory, or another LDAP server. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "member.h"

#define LDAP_SOURCE_NAME_CHARS_MAX 30 /* part of principal ids */
#define LDAP_SOURCE_URLS_MAX 8
#define LDAP_SOURCE_REALMS_MAX 16
#define LDAP_SOURCE_TEXT_CHARS_MAX 1000 /* filters, bases, DNs, paths */
#define LDAP_SOURCE_CA_BYTES_MAX (64U * 1024U)
#define LDAP_SOURCE_PLACE "{name}" /* stands for the name in filters */

/* How accounts and groups are kept. */
enum ldap_kind {
    LDAP_KIND_AD,       /* SIDs, tokenGroups, userAccountControl */
    LDAP_KIND_OPENLDAP, /* entryUUID, memberOf, groupOfNames */
};
extern const char *const ldap_kind_words[]; /* "ad", "openldap" */

/* The credential by which kaasd itself binds to the directory. */
enum ldap_bind {
    LDAP_BIND_PASSWORD, /* a DN (in AD also a UPN) and its sealed password */
    LDAP_BIND_KEYTAB,   /* Kerberos, by a key in a file */
};
extern const char *const ldap_bind_words[];
const char *ldap_bind_name(enum ldap_bind bind); /* "password", "keytab"; static, never NULL */

/* All texts malloc'ed; NULL: not given. Lists are texts separated by one blank. */
struct ldap_source {
    char *name; /* identity of the source: a word that never changes */
    enum ldap_kind kind;
    char *urls;         /* "ldaps://dc1.ad.test ldap://dc2.ad.test:389": in the order they are tried */
    char *ca_file;      /* PEM file on each replica; */
    char *ca_pem;       /* or the text itself; neither: the system's authorities */
    char *search_base;  /* DN below which people are looked for */
    char *user_filter;  /* with LDAP_SOURCE_PLACE; NULL: the usual one of the kind */
    char *group_base;   /* DN below which groups are looked for; NULL: search_base */
    char *group_filter; /* which groups count, no place for names; NULL: the usual one of the kind */
    enum ldap_bind bind;
    char *bind_dn;   /* password: DN or UPN */
    char *keytab;    /* keytab: path on each replica */
    char *principal; /* keytab: whose key */
    char *realms;    /* Kerberos realms that are served: their people without PAC are looked up here */
    bool is_disabled;
    bool has_password;
    int64_t created_at_ms, updated_at_ms; /* wall clock */
    int64_t version_no;
};
static const struct member ldap_source_members[] = {
    MEMBER(ldap_source, name, .flags = MEMBER_KEY),
    MEMBER(ldap_source, kind, .words = ldap_kind_words, .writers = BY_ADMIN, .flags = MEMBER_STRICT),
    MEMBER(ldap_source, urls),
    MEMBER(ldap_source, ca_file, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(ldap_source, ca_pem, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(ldap_source, search_base, .writers = BY_ADMIN),
    MEMBER(ldap_source, user_filter, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(ldap_source, group_base, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(ldap_source, group_filter, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(ldap_source, bind, "bind_kind", "bind", .words = ldap_bind_words, .writers = BY_ADMIN,
              .flags = MEMBER_STRICT | MEMBER_OPTIONAL),
    MEMBER(ldap_source, bind_dn, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(ldap_source, has_password, NULL, "has_bind_password"),
    MEMBER(ldap_source, keytab, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(ldap_source, principal, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(ldap_source, realms),
    MEMBER_AS(ldap_source, is_disabled, "is_disabled", "disabled", .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(ldap_source, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(ldap_source, updated_at_ms, "updated_at_ms", "updated_at"),
    MEMBER_AS(ldap_source, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void ldap_source_done(struct ldap_source *source); /* frees the texts; NULL is allowed */
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int ldap_source_copy(const struct ldap_source *from, struct ldap_source *out, struct err *err);

/* Checks each member, and that the members fit together. ERR_UNPROCESSABLE naming the member, with a remedy. */
int ldap_source_check(const struct ldap_source *source, struct err *err);

/* The filter by which people are found: the source's own or the usual one. Valid while the source lives. */
const char *ldap_source_user_filter(const struct ldap_source *source);
const char *ldap_source_group_filter(const struct ldap_source *source);
const char *ldap_source_group_base(const struct ldap_source *source);

/* True if the source serves this Kerberos realm; compared without case. */
bool ldap_source_serves(const struct ldap_source *source, const char *realm);
/* True if `domain` is the DNS name of the directory's domain: a realm that the source serves, or, for Active Directory, the domain of its search base. */
bool ldap_source_is_domain(const struct ldap_source *source, const char *domain);

/* One address of a server. */
struct ldap_url {
    char host[254];
    unsigned port;
    bool is_tls; /* ldaps: TLS at once; else StartTLS, before anything else is sent */
};
/* Takes the next address of a list; *list moves behind it. False at the end, where **list is NUL, and for a word that is no address, where *list
 * stays. */
bool ldap_source_next_url(const char **list, struct ldap_url *out);
