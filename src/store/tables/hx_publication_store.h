/* What HX clusters were told of where KaaS is. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "hx_connection.h"
#include "store.h"

struct lease_fence;

/* Reads all, or one; given back by hx_publication_list_done, hx_publication_free. ERR_NOT_FOUND. */
int hx_publication_store_list(struct store *store, struct hx_publication_list *out, struct err *err);
int hx_publication_store_load(struct store *store, const char *hx_id, struct hx_publication **out, struct err *err);

/* Inserts the row (version_no 0), or replaces the one with row->version_no, and raises that number. The line `audit` (NULL: none) is appended in the same
 * transaction. ERR_EXISTS, ERR_PRECONDITION, ERR_NOT_FOUND: somebody else has written meanwhile, or the lease
 * of `fence` (NULL: none) is no longer ours; ERR_CONFLICT if the HX cluster is gone. */
int hx_publication_store_save(struct store *store, struct hx_publication *row, const struct audit_record *audit,
                              const struct lease_fence *fence, struct err *err);

/* Reads the places of all HX clusters whose vCenter kaasd is registered with, or of one (ERR_NOT_FOUND if it is not among them). Given back by
 * hx_place_list_done, hx_place_done. */
int hx_publication_store_list_places(struct store *store, struct hx_place_list *out, struct err *err);
int hx_publication_store_load_place(struct store *store, const char *hx_id, struct hx_place *out, struct err *err);

/* Finds the publication whose last request had this nonce and whose nonce_until_ms has not passed; `body_sha256` gets the SHA-256 of that request's body in
 * hexadecimal digits. ERR_NOT_FOUND. */
int hx_publication_store_find_nonce(struct store *store, const char *nonce_digest, int64_t now_ms,
                                    char body_sha256[HX_DIGEST_BYTES], struct err *err);
