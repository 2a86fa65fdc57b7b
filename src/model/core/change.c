/* Kinds of changes that travel between replicas. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "change.h"

#include "member.h"

static const char *const kind_words[] = {
    [CHANGE_CLUSTER] = "cluster",
    [CHANGE_VSPHERE_CLUSTER] = "vsphere_cluster",
    [CHANGE_HX_CLUSTER] = "hx_cluster",
    [CHANGE_VCENTER] = "vcenter",
    [CHANGE_GRANT] = "grant",
    [CHANGE_USER] = "user",
    [CHANGE_SESSION] = "session",
    [CHANGE_SIGNING_KEY] = "signing_key",
    [CHANGE_ROLE_MAPPING] = "role_mapping",
    [CHANGE_SERVICE_ACCOUNT] = "service_account",
    [CHANGE_LDAP] = "ldap",
    [CHANGE_JOB] = "job",
    NULL,
};
_Static_assert(ARRAY_COUNT(kind_words) - 1 == CHANGE_KIND_COUNT, "one word for each kind");

const char *change_kind_name(enum change_kind kind) {
    return words_get(kind_words, kind, "unknown");
}

bool change_kind_parse(const char *word, enum change_kind *out) {
    return words_find(kind_words, word, out);
}
