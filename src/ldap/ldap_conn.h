/* One connection to a directory server: TLS before anything else, every wait bounded. Layer 2 (ldap).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * All functions block, and are for the worker pool of one source. A connection belongs to one thread at a time. Common errors: ERR_TIMEOUT, ERR_UNREACHABLE (the
 * connection is lost or was refused), ERR_UPSTREAM (the server refuses the question), ERR_NOMEM. After ERR_TIMEOUT and ERR_UNREACHABLE the
 * connection is of no use any more. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "ldap_source.h"

struct ldap_conn;

struct ldap_target {
    const struct ldap_url *url;
    const char *ca_file, *ca_pem; /* whom to trust; both NULL: the system's authorities */
    long connect_timeout_ms;      /* for name and connection together; TLS may take as long again */
    long call_timeout_ms;
    bool is_for_kerberos; /* no TLS: ldap_conn_bind_gssapi seals the connection instead, and nothing else is done before */
};

/* Makes the library read its settings. Call once, before threads use it. */
void ldap_conn_prepare(void);

/* Resolves, connects, and starts TLS, with the certificate checked for the host name (RFC 4513 section 3, RFC 6125); only the request for StartTLS is sent
 * before. With is_for_kerberos it just connects. ERR_TLS (not trusted, or no StartTLS), ERR_CONFIG (the CA file). Freed by ldap_conn_free. */
int ldap_conn_open(const struct ldap_target *target, struct ldap_conn **out, struct err *err);
void ldap_conn_free(struct ldap_conn *conn); /* unbinds; NULL is allowed */
CLEANUP_DEFINE(struct ldap_conn, ldap_conn_free);

/* When the server's certificate ends: wall clock; 0: not known. */
int64_t ldap_conn_cert_ends_ms(const struct ldap_conn *conn);

/* Simple bind. An empty name or password is refused here, since servers take it for an anonymous bind and say yes (RFC 4513 5.1.2). ERR_CREDENTIALS with
 * the reason as err->detail: the text is the same for all reasons. */
int ldap_conn_bind_password(struct ldap_conn *conn, const char *dn, const char *password, struct err *err);

/* SASL GSSAPI bind with a credential (gss_cred_id_t; NULL: that of this thread): inside TLS, or, on a connection made with is_for_kerberos, sealed by AES.
 * ERR_CREDENTIALS; ERR_UPSTREAM_DENIED if the server wants sealing instead of TLS, which is Samba's default. */
int ldap_conn_bind_gssapi(struct ldap_conn *conn, void *credential, struct err *err);

/* -- questions -------------------------------------------------------------------------------------------------------------- */

enum ldap_scope { LDAP_SEARCH_BASE, LDAP_SEARCH_SUBTREE };

struct ldap_query {
    const char *base;
    enum ldap_scope scope;
    const char *filter;       /* values escaped by ldap_text.h */
    const char *const *attrs; /* ended by NULL */
    unsigned entries_max;     /* more are ERR_TOO_LARGE */
};

struct ldap_entry;
typedef int ldap_entry_fn(void *arg, const struct ldap_entry *entry, struct err *err);
/* Calls fn for each entry; any code but 0 ends the search and is returned. References to other servers are not followed. A base that does not exist has no
 * entries. */
int ldap_conn_search(struct ldap_conn *conn, const struct ldap_query *query, ldap_entry_fn *fn, void *arg, struct err *err);

/* Name of the entry as a text for the caller to free; NULL without memory. */
char *ldap_entry_dn(const struct ldap_entry *entry);
/* First value as a text for the caller to free; NULL if there is none or it is no text (NUL inside, not UTF-8, longer than 4 KB). */
char *ldap_entry_text(const struct ldap_entry *entry, const char *attr);
/* First value as a number, or `fallback`. */
int64_t ldap_entry_number(const struct ldap_entry *entry, const char *attr, int64_t fallback);
/* Calls fn for each value of the attribute; any code but 0 ends it and is returned. */
typedef int ldap_value_fn(void *arg, const void *bytes, size_t n, struct err *err);
int ldap_entry_each(const struct ldap_entry *entry, const char *attr, ldap_value_fn *fn, void *arg, struct err *err);
