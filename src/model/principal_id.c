/* Ids of principals as people write them: their form, and the one spelling that is stored. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "principal.h"
#include "str.h"
#include "uuid.h"

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define NAME_LETTERS LOWER UPPER DIGITS "._-@/"
#define NAME_BYTES_MAX 100
#define SOURCE_BYTES_MAX 64
#define SID_DIGITS_MAX 15
#define SID_PARTS_MAX 10 /* [MS-DTYP] 2.4.2 allows 16; accounts of a domain have 6 */
#define USER_CHARS_MAX 200
#define UUID_BYTES (UUID_TEXT_BYTES - 1)

/* "<uuid>:<rest>" with a rest. */
static const char *after_uuid(const char *text) {
    char uuid[UUID_TEXT_BYTES] = "";
    if (strlen(text) < UUID_TEXT_BYTES + 1 || text[UUID_BYTES] != ':')
        return NULL;
    memcpy(uuid, text, UUID_BYTES);
    return uuid_is_valid(uuid) ? text + UUID_TEXT_BYTES : NULL;
}

static bool is_vcenter_user(const char *text) {
    const char *name = after_uuid(text);
    long chars = name ? str_utf8_chars(name, strlen(name)) : 0;
    return chars > 0 && chars <= USER_CHARS_MAX && name[0] != ' ' && !str_ends(name, " ") && !str_has_control(name);
}

static bool is_word(const char *text, size_t max) {
    size_t len = strlen(text);
    return len && len <= max && strspn(text, NAME_LETTERS) == len;
}

static bool is_program(const char *text) {
    return is_word(text, NAME_BYTES_MAX);
}

/* "1-<authority>-<sub>...", digits only; the "S-" stands in the pattern. */
static bool is_sid(const char *text) {
    size_t parts = 0;
    if (!str_starts(text, "1-"))
        return false;
    for (const char *p = text + 1; *p; parts++) {
        size_t n = strspn(p + 1, DIGITS);
        if (*p != '-' || !n || n > SID_DIGITS_MAX)
            return false;
        p += 1 + n;
    }
    return parts >= 2 && parts <= SID_PARTS_MAX;
}

static bool is_ldap(const char *text) {
    const char *colon = strchr(text, ':');
    char source[SOURCE_BYTES_MAX + 1] = "";
    if (!colon || (size_t)(colon - text) > SOURCE_BYTES_MAX || !uuid_is_valid(colon + 1))
        return false;
    memcpy(source, text, (size_t)(colon - text));
    return is_word(source, SOURCE_BYTES_MAX);
}

static const struct form {
    const char *prefix;
    bool (*fits)(const char *rest);
    bool is_folded; /* letters of the rest count without case */
} forms[] = {
    {"local:", uuid_is_valid, true}, {"vc:", is_vcenter_user, true}, {"sid:S-", is_sid, false},
    {"ldap:", is_ldap, true},        {"svc:", is_program, false},
};

static const struct form *form_of(const char *text) {
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++)
        if (str_starts(text, forms[i].prefix))
            return &forms[i];
    return NULL;
}

int principal_id_read(const char *text, char **out, struct err *err) {
    const struct form *form = text ? form_of(text) : NULL;
    size_t n = form ? strlen(form->prefix) : 0;
    char *id;
    if (!form || !form->fits(text + n)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "\"%.100s\" is not the id of a principal", text ? text : "");
        return err_remedy(
            err, "write local:<uuid>, vc:<instance uuid>:<user name>, sid:S-1-5-..., ldap:<source>:<uuid> or svc:<name>");
    }
    id = str_dup(text);
    if (!id)
        return err_set(err, ERR_NOMEM, "no memory for a principal");
    if (form->is_folded)
        str_lower(id + n);
    *out = id;
    return 0;
}
