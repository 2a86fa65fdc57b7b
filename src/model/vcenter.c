/* A vCenter that kaasd knows. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter.h"

#include <stdlib.h>

#include "texts.h"

static const char *const kind_words[] = {
    [CREDENTIAL_CERTIFICATE] = "certificate",
    [CREDENTIAL_SERVICE_ACCOUNT] = "service_account",
    [CREDENTIAL_ACCOUNT] = "account",
};
_Static_assert(ARRAY_COUNT(kind_words) == CREDENTIAL_ACCOUNT + 1, "one word for each kind");

static const char *const credential_words[] = {
    [CREDENTIAL_PENDING] = "pending",
    [CREDENTIAL_ACTIVE] = "active",
    [CREDENTIAL_RETIRED] = "retired",
};
_Static_assert(ARRAY_COUNT(credential_words) == CREDENTIAL_RETIRED + 1, "one word for each state");

static const size_t texts[] = {
    offsetof(struct vcenter, id),          offsetof(struct vcenter, address),       offsetof(struct vcenter, name),
    offsetof(struct vcenter, ca_pem),      offsetof(struct vcenter, version),       offsetof(struct vcenter, build),
    offsetof(struct vcenter, api_version), offsetof(struct vcenter, extension_key),
};

void vcenter_done(struct vcenter *vc) {
    if (!vc)
        return;
    texts_free(vc, texts, ARRAY_COUNT(texts));
    *vc = (struct vcenter){0};
}

void vcenter_free(struct vcenter *vc) {
    vcenter_done(vc);
    free(vc);
}

int vcenter_copy(const struct vcenter *from, struct vcenter *out, struct err *err) {
    struct vcenter copy = *from;
    if (!texts_dup(&copy, texts, ARRAY_COUNT(texts))) {
        vcenter_done(&copy);
        return err_set(err, ERR_NOMEM, "no memory for a vCenter");
    }
    *out = copy;
    return 0;
}

const char *credential_kind_name(enum credential_kind kind) {
    return words_get(kind_words, ARRAY_COUNT(kind_words), kind, "unknown");
}

bool credential_kind_parse(const char *word, enum credential_kind *out) {
    size_t found;
    if (!words_find(kind_words, ARRAY_COUNT(kind_words), word, &found))
        return false;
    *out = (enum credential_kind)found;
    return true;
}

const char *credential_state_name(enum credential_state state) {
    return words_get(credential_words, ARRAY_COUNT(credential_words), state, "unknown");
}

bool credential_state_parse(const char *word, enum credential_state *out) {
    size_t found;
    if (!words_find(credential_words, ARRAY_COUNT(credential_words), word, &found))
        return false;
    *out = (enum credential_state)found;
    return true;
}
