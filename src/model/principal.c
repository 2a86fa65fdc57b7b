/* Who is asking. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "principal.h"

#include "str.h"
#include "texts.h"

static const char *const role_words[] = {
    [ROLE_NONE] = "none",   [ROLE_USER] = "user", [ROLE_SERVICE] = "service", [ROLE_PROVISIONER] = "provisioner",
    [ROLE_ADMIN] = "admin",
};
_Static_assert(ARRAY_COUNT(role_words) == ROLE_ADMIN + 1, "one word for each role");

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
};
_Static_assert(ARRAY_COUNT(source_words) == SOURCE_VC_SERVICE + 1, "one word for each source");

static const size_t texts[] = {
    offsetof(struct principal, id),         offsetof(struct principal, name),      offsetof(struct principal, full_name),
    offsetof(struct principal, vcenter_id), offsetof(struct principal, vc_user),   offsetof(struct principal, vc_session_key),
    offsetof(struct principal, directory),  offsetof(struct principal, acting_id), offsetof(struct principal, service_id),
};

const char *role_name(enum role role) {
    return words_get(role_words, ARRAY_COUNT(role_words), role, "none");
}

bool role_parse(const char *word, enum role *out) {
    size_t found;
    if (!words_find(role_words, ARRAY_COUNT(role_words), word, &found))
        return false;
    *out = (enum role)found;
    return true;
}

const char *source_name(enum source source) {
    return words_get(source_words, ARRAY_COUNT(source_words), source, "none");
}

bool source_parse(const char *word, enum source *out) {
    size_t found;
    if (!words_find(source_words, ARRAY_COUNT(source_words), word, &found))
        return false;
    *out = (enum source)found;
    return true;
}

bool source_is_vcenter(enum source source) {
    return source == SOURCE_VC_SESSION || source == SOURCE_VC_TICKET || source == SOURCE_VC_PASSWORD || source == SOURCE_VC_KEY ||
           source == SOURCE_VC_SERVICE;
}

void principal_done(struct principal *p) {
    if (!p)
        return;
    texts_free(p, texts, ARRAY_COUNT(texts));
    *p = (struct principal){0};
}

int principal_copy(const struct principal *from, struct principal *out, struct err *err) {
    struct principal copy = *from;
    if (!texts_dup(&copy, texts, ARRAY_COUNT(texts))) {
        principal_done(&copy);
        return err_set(err, ERR_NOMEM, "no memory for a principal");
    }
    *out = copy;
    return 0;
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
