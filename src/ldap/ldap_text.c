/* Notations of directories: filters, SIDs, GUIDs. Layer 2 (ldap); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldap_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"
#include "str.h"

#define PLACE "{name}"
#define SUB_AUTHORITIES_MAX 15U
#define SID_HEAD_BYTES 8U
#define DOMAIN_SIDS "S-1-5-21-"

static const struct ldap_reason reasons[] = {
    {"57", "a parameter of the request is not what the controller wants",
     "use the server's ldaps:// address with a bind account, or its ldap:// address with Kerberos"},
    {"525", "no such account", NULL},
    {"52e", "wrong password", NULL},
    {"52f", "account restrictions", NULL},
    {"530", "not at this time of day", NULL},
    {"531", "not from this computer", NULL},
    {"532", "the password has expired", NULL},
    {"533", "the account is disabled", NULL},
    {"701", "the account has expired", NULL},
    {"773", "the password must be changed first", NULL},
    {"775", "the account is locked", NULL},
    {"80090346", "the controller wants channel bindings that match its certificate",
     "use the server's ldap:// address, or let nothing between here and the controller end TLS"}, /* SEC_E_BAD_BINDINGS */
};

const struct ldap_reason *ldap_text_reason(const char *diagnostic) {
    static const char mark[] = "data ";
    const char *at = diagnostic ? strstr(diagnostic, mark) : NULL;
    if (!at)
        return NULL;
    at += sizeof(mark) - 1;
    const size_t n = strspn(at, "0123456789abcdefABCDEF");
    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++)
        if (strlen(reasons[i].code) == n && !strncasecmp(at, reasons[i].code, n) && (!at[n] || strchr(", ", at[n])))
            return &reasons[i];
    return NULL;
}

void ldap_text_filter(struct strbuf *out, const void *value, size_t n) {
    const uint8_t *bytes = value;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] < ' ' || bytes[i] > '~' || strchr("*()\\", bytes[i]))
            strbuf_addf(out, "\\%02x", bytes[i]);
        else
            strbuf_addc(out, (char)bytes[i]);
}

bool ldap_text_fill(struct strbuf *out, const char *pattern, const char *name) {
    const char *at = strstr(pattern, PLACE);
    const bool is_there = at != NULL;
    for (; at; at = strstr(pattern, PLACE)) {
        strbuf_add(out, pattern, (size_t)(at - pattern));
        ldap_text_filter(out, name, strlen(name));
        pattern = at + strlen(PLACE);
    }
    strbuf_adds(out, pattern);
    return is_there;
}

/* -- SIDs ------------------------------------------------------------------------------------------------------------------ */

static uint32_t get_le32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool ldap_text_sid(const void *bytes, size_t n, char out[LDAP_SID_TEXT_BYTES]) {
    const uint8_t *p = bytes;
    uint64_t authority = 0;
    size_t len;
    if (n < SID_HEAD_BYTES || p[0] != 1 || !p[1] || p[1] > SUB_AUTHORITIES_MAX || n != SID_HEAD_BYTES + 4U * p[1])
        return false;
    for (unsigned i = 2; i < SID_HEAD_BYTES; i++)
        authority = authority << 8 | p[i];
    len = (size_t)snprintf(out, LDAP_SID_TEXT_BYTES, "S-1-%" PRIu64, authority);
    for (unsigned i = 0; i < p[1]; i++)
        len += (size_t)snprintf(out + len, LDAP_SID_TEXT_BYTES - len, "-%" PRIu32, get_le32(p + SID_HEAD_BYTES + 4 * i));
    return true;
}

bool ldap_text_sid_counts(const char *sid) {
    return str_starts(sid, DOMAIN_SIDS);
}

/* -- GUIDs ----------------------------------------------------------------------------------------------------------------- */

/* Where the text's pairs of digits stand in the binary form. */
static const uint8_t guid_order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

bool ldap_text_guid(const void *bytes, size_t n, char out[LDAP_GUID_TEXT_BYTES]) {
    const uint8_t *p = bytes;
    size_t len = 0;
    if (n != 16)
        return false;
    for (unsigned i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[len++] = '-';
        len += (size_t)snprintf(out + len, LDAP_GUID_TEXT_BYTES - len, "%02x", p[guid_order[i]]);
    }
    return true;
}

bool ldap_text_guid_bytes(const char *text, uint8_t out[16]) {
    uint8_t straight[16];
    char digits[33];
    size_t n = 0;
    if (strlen(text) != LDAP_GUID_TEXT_BYTES - 1)
        return false;
    for (size_t i = 0; i < LDAP_GUID_TEXT_BYTES - 1; i++) {
        const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash != (text[i] == '-'))
            return false;
        if (!is_dash)
            digits[n++] = text[i];
    }
    digits[n] = 0;
    if (!str_unhex(digits, straight, sizeof(straight)))
        return false;
    for (unsigned i = 0; i < 16; i++)
        out[guid_order[i]] = straight[i];
    return true;
}
