/* A vCenter that kaasd knows. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"

const char *const credential_kind_words[] = {
    [CREDENTIAL_CERTIFICATE] = "certificate",
    [CREDENTIAL_SERVICE_ACCOUNT] = "service_account",
    [CREDENTIAL_ACCOUNT] = "account",
    NULL,
};
_Static_assert(ARRAY_COUNT(credential_kind_words) - 1 == CREDENTIAL_ACCOUNT + 1, "one word for each kind");

const char *const credential_state_words[] = {
    [CREDENTIAL_PENDING] = "pending",
    [CREDENTIAL_ACTIVE] = "active",
    [CREDENTIAL_RETIRED] = "retired",
    NULL,
};
_Static_assert(ARRAY_COUNT(credential_state_words) - 1 == CREDENTIAL_RETIRED + 1, "one word for each state");

void vcenter_done(struct vcenter *vc) {
    members_done(vcenter_members, vc, sizeof(*vc));
}

void vcenter_free(struct vcenter *vc) {
    vcenter_done(vc);
    free(vc);
}

int vcenter_copy(const struct vcenter *from, struct vcenter *out, struct err *err) {
    return members_copy(vcenter_members, from, out, sizeof(*out), "a vCenter", err);
}

const char *vcenter_difference(const struct vcenter *a, const struct vcenter *b) {
    const char *member = members_difference(vcenter_members, a, b);
    if (member)
        return member;
    if (a->has_pin != b->has_pin)
        return "has_pin";
    return a->has_pin && memcmp(a->pin_sha256, b->pin_sha256, sizeof(a->pin_sha256)) ? "pin_sha256" : NULL;
}

const char *credential_kind_name(enum credential_kind kind) {
    return words_get(credential_kind_words, kind, "unknown");
}

bool credential_kind_parse(const char *word, enum credential_kind *out) {
    return words_find(credential_kind_words, word, out);
}

const char *credential_state_name(enum credential_state state) {
    return words_get(credential_state_words, state, "unknown");
}

bool credential_state_parse(const char *word, enum credential_state *out) {
    return words_find(credential_state_words, word, out);
}
