/* Who an HX cluster is, by what it says of itself: its uuid and its name. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "audit_store.h"
#include "err.h"
#include "store.h"
#include "uuid.h"

struct lease_fence;

/* What an HX cluster said of itself when kaasd read it. Borrowed. */
struct hx_identity {
    const char *hx_id; /* the HX cluster whose connection was read */
    const char *uuid, *name;
    const char *datacenter, *vsphere_cluster; /* names of its place in its vCenter; NULL: it does not tell */
    const struct audit_record *audit;         /* line for a change; NULL: none */
    const struct lease_fence
        *fence; /* of the lease under which it was read; NULL: none. ERR_PRECONDITION if it is no longer ours */
};

struct hx_identity_outcome {
    char older_id[UUID_TEXT_BYTES]; /* id of the older record of this HX cluster, which has moved (hx_claim_check); "": none */
    bool is_older_read;             /* the connection of the older record works */
};

/* Writes uuid and name to the HX cluster if they have changed, and notes CHANGE_HX_CLUSTER. If it turns out to be one that an older record has
 * (out->older_id), nothing is written. ERR_CONFLICT: the uuid belongs to another HX cluster (hx_claim_check). ERR_EXISTS: the uuid is new for this record,
 * and the names that it tells are the place of another HX cluster. ERR_NOT_FOUND: there is no such HX cluster. */
int hx_identity_store_save(struct store *store, const struct hx_identity *told, struct hx_identity_outcome *out, struct err *err);

/* Merges the record told->hx_id, the newer one, into the older one, if hx_identity_store_save would still name that one. The older record gets place and name
 * of the newer one, and its grants, service accounts, peer and publication; of two grants to one principal that with more rights, of two peers or publications
 * the older record's own. The newer id becomes an alias (struct hx_alias); its connection is removed. Notes all changes. Errors of hx_identity_store_save;
 * ERR_PRECONDITION if the older one is another by now. */
int hx_identity_store_merge(struct store *store, const struct hx_identity *told, const char *older_id, struct err *err);
