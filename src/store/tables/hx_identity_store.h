/* Who an HX cluster is, by what it says of itself: its uuid and its name. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit_store.h"
#include "err.h"
#include "store.h"

/* What one that was read said. Borrowed. */
struct hx_identity {
    const char *hx_id; /* the HX cluster whose connection was read */
    const char *uuid, *name;
    const struct audit_record *audit; /* line for a change; NULL: none */
};

/* Writes uuid and name to the HX cluster, if they are others than before, and notes CHANGE_HX_CLUSTER. ERR_NOT_FOUND: it is gone. */
int hx_identity_store_save(struct store *store, const struct hx_identity *told, struct err *err);
