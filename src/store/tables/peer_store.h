/* Controllers of HX clusters that kaasd signs in to. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "platform.h"
#include "store.h"

struct lease_fence;

/* Reads all. *out (uninitialised) is given back by hx_peer_list_done. */
int peer_store_list(struct store *store, struct hx_peer_list *out, struct err *err);
/* Reads one; freed by hx_peer_free. ERR_NOT_FOUND. */
int peer_store_load(struct store *store, const char *hx_id, struct hx_peer **out, struct err *err);

/* The writes below append the line `audit` to the audit log in the same transaction. */

/* Inserts a peer (version_no 0), or replaces the one with peer->version_no; its earlier result is forgotten. ERR_EXISTS if there is one
 * already; ERR_PRECONDITION if it was changed, ERR_NOT_FOUND if it is gone, ERR_CONFLICT if the HX cluster is gone. */
int peer_store_put(struct store *store, const struct hx_peer *peer, const struct audit_record *audit, struct err *err);

struct peer_removal {
    const char *hx_id;
    int64_t version_no; /* 0: whatever it is now */
    const struct audit_record *audit;
};
/* ERR_PRECONDITION, ERR_NOT_FOUND. */
int peer_store_delete(struct store *store, const struct peer_removal *removal, struct err *err);

/* Stores peer->result. If its state or reason differs from the stored one, *is_news is set, the line `audit` is appended and since_ms is set. A peer that was
 * changed meanwhile stays as it is. ERR_PRECONDITION: the lease of `fence` (NULL: none) is no longer ours. */
int peer_store_save_result(struct store *store, const struct hx_peer *peer, const struct audit_record *audit,
                           const struct lease_fence *fence, bool *is_news, struct err *err);
