/* What the entries of a directory say about people and groups. Layer 5 (auth); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "principal.h"
#include "ldap_conn.h"
#include "ldap_source.h"

/* An account as found. Texts malloc'ed. */
struct account {
    char *dn, *id, *name, *full_name, *mark;
    char refusal[64]; /* why it may not sign in; "" if it may */
};
void account_done(struct account *account);
/* The form in which a name is searched. */
enum account_names {
    ACCOUNT_AS_WRITTEN,
    ACCOUNT_ALONE, /* NAME of NAME@REALM, which Active Directory takes for a sAMAccountName whatever the suffix of that account's userPrincipalName is */
};
/* Writes the search filter for an account of this name. False if it has no such form. */
bool account_filter(const struct ldap_source *source, const char *name, enum account_names which, struct strbuf *out);
/* Finds an account by name: as written, or, if there is none, by its other form. out->dn stays NULL if there is none, or several. */
int account_find(struct ldap_conn *conn, const struct ldap_source *source, const char *name, struct account *out,
                 struct err *err);
/* Finds an account by id. out->dn stays NULL if there is none. */
int account_find_id(struct ldap_conn *conn, const struct ldap_source *source, const char *id, struct account *out,
                    struct err *err);
/* The groups of an account, sealed. */
int account_groups(struct ldap_conn *conn, const struct ldap_source *source, const struct account *account, struct group_set *out,
                   struct err *err);
/* The id of an entry: "sid:...", or "ldap:<source>:<uuid>". NULL if it has none. Caller frees. */
char *entry_id(const struct ldap_entry *entry, const struct ldap_source *source);
/* The name under which people and groups are shown. NULL if it has none. Caller frees. Its attributes, for queries, are ENTRY_NAME_ATTRS. */
char *entry_name(const struct ldap_entry *entry, const struct ldap_source *source);
#define ENTRY_NAME_ATTRS "userPrincipalName", "sAMAccountName", "cn", "uid", "displayName"
