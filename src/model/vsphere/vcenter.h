/* A vCenter that kaasd knows. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "member.h"

/* Identity is `id`; everything else may change. All texts malloc'ed; NULL: unknown. */
struct vcenter {
    char *id;      /* about.instanceUuid, lower case */
    char *address; /* host name or IP address */
    unsigned port; /* TCP port of the SDK endpoint, normally 443 */
    char *name;    /* shown name; the address unless set */
    char *ca_pem;  /* trust by CA, or NULL */
    uint8_t pin_sha256[32];
    bool has_pin;  /* trust by SHA-256 of the leaf */
    char *version; /* about.version, "8.0.3" */
    char *build;
    char *api_version;        /* negotiated, "8.0.3.0" */
    char *extension_key;      /* our record there, e.g. "com.cisco.kaas"; NULL until registered */
    unsigned tunnel_port;     /* port of the plain-HTTP CONNECT proxy (80), 0: strategy off */
    unsigned direct_port;     /* port where vpxd itself terminates TLS, 0: strategy off */
    int64_t registered_at_ms; /* wall clock; 0: not registered */
    int64_t created_at_ms;
    int64_t version_no; /* row version, for If-Match */
};
static const struct member vcenter_members[] = {
    MEMBER(vcenter, id, .flags = MEMBER_KEY),
    MEMBER(vcenter, name, .writers = BY_ADMIN),
    MEMBER(vcenter, address, .writers = BY_ADMIN),
    MEMBER(vcenter, port, .first = 1, .max = 65535, .writers = BY_ADMIN),
    MEMBER(vcenter, tunnel_port, .max = 65535, .writers = BY_ADMIN),
    MEMBER(vcenter, direct_port, .max = 65535, .writers = BY_ADMIN),
    MEMBER_PART_OF("trust"),
    MEMBER_PART_OF("state"),
    MEMBER_PART_OF("state_reason"),
    MEMBER(vcenter, version),
    MEMBER(vcenter, build),
    MEMBER(vcenter, api_version),
    MEMBER_PART_OF("registered"),
    MEMBER_PART_OF("login_strategy"),
    MEMBER_PART_OF("last_contact_at"),
    MEMBER_AS(vcenter, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(vcenter, ca_pem, "ca_pem", NULL),
    MEMBER_AS(vcenter, extension_key, "extension_key", NULL),
    MEMBER_AS(vcenter, registered_at_ms, "registered_at_ms", NULL),
    MEMBER_AS(vcenter, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void vcenter_done(struct vcenter *vc);
void vcenter_free(struct vcenter *vc); /* done + free; NULL is allowed */
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int vcenter_copy(const struct vcenter *from, struct vcenter *out, struct err *err);
CLEANUP_DEFINE(struct vcenter, vcenter_free);
/* The name of the first member in which they differ; NULL: none. Static. */
const char *vcenter_difference(const struct vcenter *a, const struct vcenter *b);

/* The credential by which kaasd logs in to a vCenter, in order of preference: a certificate of its own; a service account (vCenter 8.0U2 or
 * newer) that is tied to its extension; any account with few privileges. */
enum credential_kind { CREDENTIAL_CERTIFICATE, CREDENTIAL_SERVICE_ACCOUNT, CREDENTIAL_ACCOUNT };
extern const char *const credential_kind_words[];
const char *credential_kind_name(enum credential_kind kind); /* "certificate", "service_account", "account"; static */
bool credential_kind_parse(const char *word, enum credential_kind *out);

/* The states of a credential: told to vCenter; accepted by vCenter; replaced. */
enum credential_state { CREDENTIAL_PENDING, CREDENTIAL_ACTIVE, CREDENTIAL_RETIRED };
extern const char *const credential_state_words[];
const char *credential_state_name(enum credential_state state);
bool credential_state_parse(const char *word, enum credential_state *out);
