/* Who an HX cluster is, by what it says of itself: its uuid and its name. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "audit_store.h"
#include "err.h"
#include "store.h"
#include "uuid.h"

/* What one that was read said. Borrowed. */
struct hx_identity {
    const char *hx_id; /* the HX cluster whose connection was read */
    const char *uuid, *name;
    const char *datacenter, *vsphere_cluster; /* names of where it is in its vCenter; NULL: it does not tell */
    const struct audit_record *audit;         /* line for a change; NULL: none */
};

struct hx_identity_outcome {
    char older_id[UUID_TEXT_BYTES]; /* it is this one, which has moved (hx_claim_check); "": it is itself */
    bool is_older_read;             /* whose own connection works */
};

/* Writes uuid and name to the HX cluster, if they are others than before, and notes CHANGE_HX_CLUSTER; nothing is written where it is an older one.
 * ERR_CONFLICT: the uuid is that of another one (hx_claim_check). ERR_EXISTS: it is where another one is, by the names that it
 * tells with a uuid that is new here. ERR_NOT_FOUND: it is gone. */
int hx_identity_store_save(struct store *store, const struct hx_identity *told, struct hx_identity_outcome *out, struct err *err);

/* Makes the two one, if hx_identity_store_save says so still: the older one gets place and name of the newer one, with what others have granted, configured and said of
 * that; of two grants the one that gives more, of two peers its own. The newer one's id becomes another of it, its connection goes. Notes all. Errors as there; ERR_PRECONDITION. */
int hx_identity_store_merge(struct store *store, const struct hx_identity *told, const char *older_id, struct err *err);
