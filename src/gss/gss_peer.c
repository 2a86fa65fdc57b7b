/* Who a ticket is about: name, and what its PAC says. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libkrb5 has checked the signature of the PAC, but a wrong one fails nothing: the attributes are then missing, as if there were no PAC. The list of attributes
 * still names it. So: readable is good; listed but unreadable is altered; not listed is absent (krb5 1.20, as tried). */
#include <gssapi/gssapi_ext.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "gss_private.h"
#include "str.h"

static gss_buffer_desc text_buffer(const char *text) {
    return (gss_buffer_desc){strlen(text), (void *)(uintptr_t)text};
}

/* False unless it is there and proved by the KDC. *value is released by the caller. */
static bool get_attribute(gss_name_t name, const char *which, gss_buffer_desc *value) {
    gss_buffer_desc attribute = text_buffer(which), shown = GSS_C_EMPTY_BUFFER;
    int is_proved = 0, is_complete = 0, more = -1;
    OM_uint32 minor, major;
    *value = (gss_buffer_desc)GSS_C_EMPTY_BUFFER;
    major = gss_get_name_attribute(&minor, name, &attribute, &is_proved, &is_complete, value, &shown, &more);
    (void)gss_release_buffer(&minor, &shown);
    if (!GSS_ERROR(major) && is_proved)
        return true;
    (void)gss_release_buffer(&minor, value);
    return false;
}

static bool has_attribute(gss_name_t name, const char *which) {
    gss_buffer_desc attribute;
    bool is_there = get_attribute(name, which, &attribute);
    OM_uint32 minor;
    if (is_there)
        (void)gss_release_buffer(&minor, &attribute);
    return is_there;
}

/* Does the ticket carry a PAC at all, whatever it is worth? */
static bool lists_pac(gss_name_t name) {
    static const char pac[] = "urn:mspac:";
    gss_buffer_set_t attributes = GSS_C_NO_BUFFER_SET; /* stays so when there are none */
    OM_uint32 minor, major = gss_inquire_name(&minor, name, NULL, NULL, &attributes);
    bool is_listed = GSS_ERROR(major); /* not known is no reason to believe that there is none */
    for (size_t i = 0; attributes && i < attributes->count; i++)
        is_listed |=
            attributes->elements[i].length >= sizeof(pac) - 1 && memcmp(attributes->elements[i].value, pac, sizeof(pac) - 1) == 0;
    (void)gss_release_buffer_set(&minor, &attributes);
    return is_listed;
}

static enum gss_pac read_logon(const gss_buffer_desc *logon, struct gss_answer *out) {
    struct err err = {0};
    if (pac_read_logon(logon->value, logon->length, &out->person, &err) == 0)
        return GSS_PAC_GOOD;
    (void)snprintf(out->why, sizeof(out->why), "%.*s", (int)sizeof(out->why) - 1, err.text);
    return GSS_PAC_UNREADABLE;
}

static enum gss_pac read_pac(gss_name_t name, struct gss_answer *out) {
    gss_buffer_desc logon;
    OM_uint32 minor;
    enum gss_pac pac;
    if (get_attribute(name, "urn:mspac:logon-info", &logon)) {
        pac = read_logon(&logon, out);
        (void)gss_release_buffer(&minor, &logon);
        return pac;
    }
    if (!lists_pac(name))
        return GSS_PAC_NONE;
    return has_attribute(name, "urn:mspac:client-info") ? GSS_PAC_NONE : GSS_PAC_ALTERED;
}

/* The realm stands behind the last "@" that is none of the name: those have a backslash before them. */
static const char *find_realm(const char *principal) {
    const char *realm = NULL;
    for (const char *p = principal; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '@')
            realm = p + 1;
    }
    return realm;
}

static bool copy_name(gss_name_t name, struct gss_answer *out) {
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor, major = gss_display_name(&minor, name, &text, NULL);
    if (!GSS_ERROR(major) && text.length && !memchr(text.value, 0, text.length))
        out->principal = str_format("%.*s", (int)text.length, (const char *)text.value);
    (void)gss_release_buffer(&minor, &text);
    out->realm = out->principal ? find_realm(out->principal) : NULL;
    return out->realm && *out->realm && str_utf8_chars(out->principal, strlen(out->principal)) > 0 &&
           !str_has_control(out->principal);
}

bool gss_peer_read(gss_name_t name, struct gss_answer *out) {
    if (!copy_name(name, out))
        return false;
    out->pac = read_pac(name, out);
    return true;
}
