/* Who is asking. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "principal.h"

#include "str.h"
#include "member.h"

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
