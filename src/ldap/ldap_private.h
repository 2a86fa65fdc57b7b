/* Insides of a connection. Layer 2 (ldap); private to this folder, the only one that sees libldap.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <ldap.h>

#include "ldap_conn.h"

struct ldap_conn {
    LDAP *ld;
    long call_timeout_ms;
    int64_t cert_ends_ms;
    bool is_started; /* TLS is there */
    bool is_for_kerberos, is_sealed;
    char place[280]; /* "ldaps://dc1.ad.test:636", for messages */
};

struct ldap_entry {
    LDAP *ld;
    LDAPMessage *message;
};

/* ERR_TLS, ERR_TIMEOUT, ... for a result code of libldap, with the server named; `doing` is "search". */
int ldap_failed(struct ldap_conn *conn, int code, const char *doing, struct err *err);

/* 0 if TLS is in place, or sealing by Kerberos. libldap opens a lost connection anew by itself, and would go on without TLS. */
int ldap_check_tls(struct ldap_conn *conn, struct err *err);

/* Where libldap opens a lost connection anew. */
#define LDAP_NOWHERE "ldapi://%2Fnonexistent"
