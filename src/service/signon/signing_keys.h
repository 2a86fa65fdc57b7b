/* Signing keys: from the database into memory, the first one made when there is none. Layer 4 (service/signon); private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"

struct signon;

/* Makes the empty key set in signon->keys. ERR_NOMEM. */
int signing_keys_new(struct signon *signon, struct err *err);

/* Makes a key, sealed for the database; its texts are freed by signing_key_done. `from_ms` is when it signs. */
struct signing_key;
int signing_keys_make(struct signon *signon, int64_t from_ms, struct signing_key *out, struct err *err);

/* Makes the key set in memory what the database says, no more and no less; makes the first key of the installation. Blocks. Errors of store
 * and seal. */
int signing_keys_load(struct signon *signon, struct err *err);
