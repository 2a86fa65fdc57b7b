/* When vCenters fetched the manifest of our plug-in. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "store.h"

#define MANIFEST_ADDRESS_BYTES 46
#define MANIFEST_VERSION_BYTES 32

struct manifest_fetch {
    char address[MANIFEST_ADDRESS_BYTES]; /* numeric, as the fetch came in */
    char version[MANIFEST_VERSION_BYTES]; /* of the manifest that was given out */
    int64_t at_ms;                        /* wall clock; 0: none */
};

/* Keeps the newest fetch of a vCenter. Nothing happens if there is no such vCenter. */
int manifest_store_save(struct store *store, const char *vcenter_id, const struct manifest_fetch *fetch, struct err *err);

/* Reads it; all zero if there was none. */
int manifest_store_load(struct store *store, const char *vcenter_id, struct manifest_fetch *out, struct err *err);
