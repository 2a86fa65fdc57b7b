/* Proofs that work once, for all replicas. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "store.h"

#define REPLAY_DIGEST_BYTES 32U

/* Notes that a proof was used. ERR_EXISTS if it was used before, here or at another replica. `until_ms` (wall clock) is when nobody takes it any more. */
int replay_store_note(struct store *store, const uint8_t digest[REPLAY_DIGEST_BYTES], int64_t until_ms, struct err *err);

/* Forgets up to `limit` of those that nobody takes any more; *deleted is their number. */
int replay_store_purge(struct store *store, int64_t now_ms, unsigned limit, unsigned long *deleted, struct err *err);
