/* Who is asking, and of which groups somebody is a member. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "principal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "limits.h"
#include "member.h"
#include "names.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

const char *const role_words[] = {
    [ROLE_NONE] = "none",       [ROLE_USER] = "user",
    [ROLE_SERVICE] = "service", [ROLE_PROVISIONER] = "provisioner",
    [ROLE_ADMIN] = "admin",     NULL,
};
_Static_assert(ARRAY_COUNT(role_words) - 1 == ROLE_ADMIN + 1, "one word for each role");

static const char *const source_words[] = {
    [SOURCE_NONE] = "none",
    [SOURCE_LOCAL] = "local",
    [SOURCE_SOCKET] = "socket",
    [SOURCE_VC_SESSION] = "vcenter-session",
    [SOURCE_VC_TICKET] = "vcenter-ticket",
    [SOURCE_VC_PASSWORD] = "vcenter-password",
    [SOURCE_KERBEROS] = "kerberos",
    [SOURCE_LDAP] = "ldap",
    [SOURCE_SERVICE] = "service",
    [SOURCE_VC_KEY] = "vcenter-key",
    [SOURCE_VC_SERVICE] = "vcenter-service",
    NULL,
};
_Static_assert(ARRAY_COUNT(source_words) - 1 == SOURCE_VC_SERVICE + 1, "one word for each source");

static const struct member members[] = {
    MEMBER(principal, id),         MEMBER(principal, name),
    MEMBER(principal, full_name),  MEMBER(principal, vcenter_id),
    MEMBER(principal, vc_user),    MEMBER(principal, vc_session_key),
    MEMBER(principal, directory),  MEMBER(principal, acting_id),
    MEMBER(principal, service_id), MEMBERS_END,
};

const char *role_name(enum role role) {
    return words_get(role_words, role, "none");
}

bool role_parse(const char *word, enum role *out) {
    return words_find(role_words, word, out);
}

const char *source_name(enum source source) {
    return words_get(source_words, source, "none");
}

bool source_parse(const char *word, enum source *out) {
    return words_find(source_words, word, out);
}

bool source_is_vcenter(enum source source) {
    return source == SOURCE_VC_SESSION || source == SOURCE_VC_TICKET || source == SOURCE_VC_PASSWORD || source == SOURCE_VC_KEY ||
           source == SOURCE_VC_SERVICE;
}

void principal_done(struct principal *p) {
    members_done(members, p, sizeof(*p));
}

int principal_copy(const struct principal *from, struct principal *out, struct err *err) {
    return members_copy(members, from, out, sizeof(*out), "a principal", err);
}

char *principal_account(const struct principal *who) {
    return str_format("%s\n%s\n%d", who->id, who->acting_id ? who->acting_id : "", who->source == SOURCE_VC_KEY);
}

char *principal_vc_id(const char *instance_uuid, const char *user_name) {
    char *id = str_format("vc:%s:%s", instance_uuid, user_name);
    if (id)
        str_lower(id);
    return id;
}

/* -- ids of principals as people write them: their form, and the one spelling that is stored ----------------------- */

#define OF_VCENTER "vc:"
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
    {"local:", uuid_is_valid, true}, {OF_VCENTER, is_vcenter_user, true}, {"sid:S-", is_sid, false},
    {"ldap:", is_ldap, true},        {"svc:", is_program, false},
};

static const struct form *form_of(const char *text) {
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++)
        if (str_starts(text, forms[i].prefix))
            return &forms[i];
    return NULL;
}

/* Names of others are no part of their ids. */
static bool has_name(const char *id) {
    return str_starts(id, OF_VCENTER);
}

int principal_compare(const char *a, const char *b) {
    const int order = has_name(a) && has_name(b) ? name_compare(a, b) : 0;
    return order ? order : strcmp(a, b);
}

bool principal_same(const char *a, const char *b) {
    return has_name(a) && has_name(b) ? name_same(a, b) : str_eq(a, b);
}

bool principal_vc_prefix(const char *id, char out[PRINCIPAL_VC_PREFIX_BYTES]) {
    if (!has_name(id) || name_is_ascii(id) || strlen(id) < PRINCIPAL_VC_PREFIX_BYTES)
        return false;
    memcpy(out, id, PRINCIPAL_VC_PREFIX_BYTES - 1);
    out[PRINCIPAL_VC_PREFIX_BYTES - 1] = '\0';
    return true;
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

/* -- sets of groups by their ids ----------------------------------------------------------------------------------- */

#define PACKED_BYTES_MAX (1024U * 1024U - 1U) /* what the database gives back at once */

void group_set_done(struct group_set *set) {
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        free(set->ids[i]);
    free(set->ids);
    *set = (struct group_set){0};
}

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "no memory for groups");
}

/* There is room for a power of two, so it is full when the number is one. */
static bool principal_make_room(struct group_set *set) {
    char **ids;
    if (set->count & (set->count - 1))
        return true;
    ids = realloc(set->ids, (set->count ? 2 * set->count : 1) * sizeof(*ids));
    if (ids)
        set->ids = ids;
    return ids != NULL;
}

int group_set_add(struct group_set *set, const char *id, struct err *err) {
    char *copy;
    if (set->count >= KAAS_GROUPS_MAX)
        return err_set(err, ERR_TOO_LARGE, "somebody is a member of more than %u groups", KAAS_GROUPS_MAX);
    copy = str_dup(id);
    if (!copy || !principal_make_room(set)) {
        free(copy);
        return no_memory(err);
    }
    set->ids[set->count++] = copy;
    return 0;
}

static int principal_compare_ids(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void group_set_seal(struct group_set *set) {
    size_t kept = 0;
    if (!set->count)
        return;
    qsort(set->ids, set->count, sizeof(*set->ids), principal_compare_ids);
    for (size_t i = 1; i < set->count; i++) {
        if (strcmp(set->ids[i], set->ids[kept]) != 0)
            set->ids[++kept] = set->ids[i];
        else
            free(set->ids[i]);
    }
    set->count = kept + 1;
}

bool group_set_has(const struct group_set *set, const char *id) {
    return set->count && bsearch(&id, set->ids, set->count, sizeof(*set->ids), principal_compare_ids);
}

bool group_set_eq(const struct group_set *a, const struct group_set *b) {
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->ids[i], b->ids[i]) != 0)
            return false;
    return true;
}

int group_set_copy(const struct group_set *from, struct group_set *out, struct err *err) {
    struct group_set copy = {0};
    int rc = 0;
    for (size_t i = 0; !rc && i < from->count; i++)
        rc = group_set_add(&copy, from->ids[i], err);
    if (rc)
        group_set_done(&copy);
    else
        *out = copy;
    return rc;
}

/* -- as one text --------------------------------------------------------------------------------------------------------- */

static size_t shared_bytes(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

int group_set_pack(const struct group_set *set, char **out, struct err *err) {
    struct strbuf text;
    char *packed;
    if (!set->count) {
        *out = NULL;
        return 0;
    }
    strbuf_init(&text, PACKED_BYTES_MAX);
    for (size_t i = 0; i < set->count; i++) {
        size_t shared = i ? shared_bytes(set->ids[i - 1], set->ids[i]) : 0;
        strbuf_addf(&text, "%zu %s\n", shared, set->ids[i] + shared);
    }
    packed = strbuf_steal(&text);
    if (packed)
        *out = packed;
    return packed ? 0 : err_set(err, ERR_TOO_LARGE, "the names of the groups take too much room");
}

static int principal_malformed(struct err *err) {
    return err_set(err, ERR_UNPROCESSABLE, "the groups of a session are not of the form in which they were written");
}

/* "<shared> <rest>" without the end of the line. */
static int unpack_line(char *line, struct group_set *set, struct err *err) {
    const char *before = set->count ? set->ids[set->count - 1] : "";
    char *rest = strchr(line, ' ');
    _cleanup_free_ char *id = NULL;
    int64_t shared;
    if (!rest)
        return principal_malformed(err);
    *rest++ = '\0';
    if (!str_to_i64(line, 0, (int64_t)strlen(before), &shared) || !(shared || *rest))
        return principal_malformed(err);
    id = str_format("%.*s%s", (int)shared, before, rest);
    return id ? group_set_add(set, id, err) : no_memory(err);
}

int group_set_unpack(const char *text, struct group_set *out, struct err *err) {
    struct group_set set = {0};
    _cleanup_free_ char *copy = str_dup(text ? text : "");
    int rc = copy ? 0 : no_memory(err);
    for (char *line = copy; !rc && *line;) {
        char *end = strchr(line, '\n');
        rc = end ? 0 : principal_malformed(err);
        if (rc)
            break;
        *end = '\0';
        rc = unpack_line(line, &set, err);
        line = end + 1;
    }
    if (rc) {
        group_set_done(&set);
        return rc;
    }
    group_set_seal(&set);
    *out = set;
    return 0;
}
