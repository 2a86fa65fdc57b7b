/* Fuzz target: bytes that a directory sends as SIDs and GUIDs, and names that people send as parts of filters.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "ldap_text.h"
#include "sid_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int is_so) {
    if (!is_so)
        abort();
}

/* What reads as a SID is written as the same bytes again. */
static void check_sid(const uint8_t *data, size_t n) {
    char text[LDAP_SID_TEXT_BYTES];
    uint8_t back[LDAP_SID_BYTES_MAX];
    size_t back_n = 0;
    if (!ldap_text_sid(data, n, text))
        return;
    must(sid_bytes(text, back, &back_n));
    must(back_n == n && !memcmp(back, data, n));
}

static void check_guid(const uint8_t *data, size_t n) {
    char text[LDAP_GUID_TEXT_BYTES];
    uint8_t back[16];
    if (!ldap_text_guid(data, n, text))
        return;
    must(ldap_text_guid_bytes(text, back));
    must(!memcmp(back, data, 16));
}

static void check_texts(const char *text) {
    uint8_t guid[16];
    (void)ldap_text_guid_bytes(text, guid);
    (void)ldap_text_sid_counts(text);
    const struct ldap_reason *reason = ldap_text_reason(text);
    must(!reason || strcasestr(text, reason->code));
}

/* A filter that an administrator wrote, with a name in it that somebody typed. */
static void check_pattern(const char *name) {
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init(&out, 3 * strlen(name) + 64);
    must(ldap_text_fill(&out, "(&(a=b)(uid={name}))", name));
    must(!out.failed && !strncmp(out.data, "(&(a=b)(uid=", 12));
    must(strcspn(out.data + 12, "()*") == out.len - 14); /* up to the two brackets of the pattern's end */
}

/* Nothing that ends a value in a filter is left. */
static void check_filter(const uint8_t *data, size_t n) {
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init(&out, 4 * n + 1);
    ldap_text_filter(&out, data, n);
    must(!out.failed && out.len >= n && strlen(out.data) == out.len);
    must(!strpbrk(out.data, "*()"));
    for (size_t i = 0; i < out.len; i++)
        must(out.data[i] >= ' ' && out.data[i] <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    _cleanup_free_ char *text = strndup((const char *)data, n);
    check_sid(data, n);
    check_guid(data, n);
    check_filter(data, n);
    if (text) {
        check_texts(text);
        check_pattern(text);
    }
    return 0;
}
