/* What kaasd logs in to a vCenter with: generations of sealed keys. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rotation: add pending -> tell vCenter -> log in with it -> promote. After a crash in between there is an active and a
 * pending one; the caller tries both and then promotes or retires the pending one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "deed_store.h"
#include "err.h"
#include "store.h"
#include "vcenter.h"

struct vcenter_credential {
    char *vcenter_id;
    unsigned generation; /* 1, 2, ... per vCenter */
    enum credential_kind kind;
    enum credential_state state;
    char *cert_pem;  /* NULL for accounts */
    char *user_name; /* of the account; NULL for certificates */
    uint8_t *sealed; /* private key or password, sealed by the caller; NULL once retired */
    size_t sealed_bytes;
    int64_t created_at_ms;
};
void vcenter_credential_free(struct vcenter_credential *c); /* NULL is allowed */
CLEANUP_DEFINE(struct vcenter_credential, vcenter_credential_free);

/* Writes a pending credential with the next generation (state and generation in *c are ignored). ERR_CONFLICT if there is a
 * pending one already: it may be the one vCenter knows, so it must be promoted or retired first. ERR_NOT_FOUND: no such vCenter. */
int credential_store_add_pending(struct store *store, const struct vcenter_credential *c, unsigned *generation, struct err *err);

/* In one transaction: the active one, if any, is retired and its sealed part deleted; this pending one becomes active. Promoting
 * the active one again changes nothing. With it the deed ends that this completes (NULL: none). ERR_NOT_FOUND, ERR_CONFLICT if it is
 * retired. Notes CHANGE_VCENTER. */
int credential_store_promote(struct store *store, const char *vcenter_id, unsigned generation, const struct deed_end *end,
                             struct err *err);

/* Retires this one and deletes its sealed part. ERR_NOT_FOUND. Notes CHANGE_VCENTER. */
int credential_store_retire(struct store *store, const char *vcenter_id, unsigned generation, struct err *err);

/* Reads the active or the pending one; freed by vcenter_credential_free. *out stays NULL with result 0 if there is none. */
int credential_store_load(struct store *store, const char *vcenter_id, enum credential_state state,
                          struct vcenter_credential **out, struct err *err);
