/* What the database need not keep any longer. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "store.h"

/* Deletes old rows of the change log, closes operations that nobody works on any more, and deletes audit lines older than audit_keep_ms (0: none),
 * in batches, so that nobody waits long for what one of them locks. One replica is enough for this: does nothing while another one has the
 * lease. *operations_closed counts what audit lines with the result OPERATION_UNKNOWN tell of, also on failure. Blocks; to be called every ten minutes. */
int store_prune(struct store *store, int64_t audit_keep_ms, unsigned *operations_closed, struct err *err);
