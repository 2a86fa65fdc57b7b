/* Notations of directories: filters, SIDs, GUIDs. Layer 2 (ldap); pure: bytes and texts only.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bytes come from a directory server and are believed in nothing: lengths are checked before anything is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strbuf.h"

/* Longest SID as text: "S-1-", 48 bits in decimal, fifteen times "-" and 32 bits, NUL. */
#define LDAP_SID_TEXT_BYTES 186
#define LDAP_SID_BYTES_MAX 68 /* 8 and fifteen sub-authorities */
#define LDAP_GUID_TEXT_BYTES 37

/* Appends a value to a search filter, escaped by RFC 4515 section 3; every byte that is not printable ASCII is escaped, too. */
void ldap_text_filter(struct strbuf *out, const void *value, size_t n);

/* Appends `pattern` with each "{name}" replaced by the escaped name. False if the pattern has none. */
bool ldap_text_fill(struct strbuf *out, const char *pattern, const char *name);

/* A binary SID (MS-DTYP 2.4.2.2) as "S-1-5-21-...". False if it is none: wrong version, wrong length. */
bool ldap_text_sid(const void *bytes, size_t n, char out[LDAP_SID_TEXT_BYTES]);

/* A binary GUID (MS-DTYP 2.3.4.2: the first three parts little-endian) as "12345678-1234-...", lower case. False unless there are 16 bytes. */
bool ldap_text_guid(const void *bytes, size_t n, char out[LDAP_GUID_TEXT_BYTES]);
/* A GUID as text to its bytes. False if it is none. */
bool ldap_text_guid_bytes(const char *text, uint8_t out[16]);

/* Why Active Directory refuses a bind: the Windows error number behind "data" in its text, in hexadecimal (MS-ERREF). For the log, the audit log and
 * administrators. */
struct ldap_reason {
    const char *code, *text;
    const char *remedy; /* what to change in how we connect; NULL: the fault is the account's */
};
/* The reason in such a text; static. NULL: it has no known one. */
const struct ldap_reason *ldap_text_reason(const char *diagnostic);

/* True if roles can be given by this SID: only S-1-5-21-*, those that a domain has made. All others (S-1-18-*, S-1-5-32-*, well-known ones)
 * are the same in every domain and say nothing about a person (MS-DTYP 2.4.2.4). */
bool ldap_text_sid_counts(const char *sid);
