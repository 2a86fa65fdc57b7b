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

/* Appends a value to a search filter so that it stands for itself: RFC 4515 section 3, with every byte beyond printable ASCII escaped, too. */
void ldap_text_filter(struct strbuf *out, const void *value, size_t n);

/* Appends `pattern` with each "{name}" replaced by the escaped name. False if the pattern has none. */
bool ldap_text_fill(struct strbuf *out, const char *pattern, const char *name);

/* A binary SID (MS-DTYP 2.4.2.2) as "S-1-5-21-...". False if it is none: wrong version, wrong length. */
bool ldap_text_sid(const void *bytes, size_t n, char out[LDAP_SID_TEXT_BYTES]);

/* A binary GUID (MS-DTYP 2.3.4.2: the first three parts little-endian) as "12345678-1234-...", lower case. False unless there are 16 bytes. */
bool ldap_text_guid(const void *bytes, size_t n, char out[LDAP_GUID_TEXT_BYTES]);
/* The reverse. */
bool ldap_text_guid_bytes(const char *text, uint8_t out[16]);

/* Why Active Directory refuses a bind: what stands behind "data" in its text, a number of Windows in hexadecimal (MS-ERREF). For the log, the audit log and
 * administrators. */
struct ldap_reason {
    const char *code, *text;
    const char *remedy; /* NULL: it is no fault of how we connect, but the account's */
};
/* NULL: the text has none that is known. */
const struct ldap_reason *ldap_text_reason(const char *diagnostic);

/* May this SID give a role? Only those that a domain has made: S-1-5-21-*. All others (S-1-18-*, S-1-5-32-*, well-known ones) are the same
 * everywhere and say nothing about a person (MS-DTYP 2.4.2.4). */
bool ldap_text_sid_counts(const char *sid);
