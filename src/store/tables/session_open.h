/* Rows of new sessions and their lines in the audit log: one statement for several of them. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "session_store.h"
#include "store_tx.h"

#define SESSION_ROWS_MAX 4U /* in one statement: each number of rows is a statement of its own on each connection */

/* A session to be written. Borrowed. */
struct session_new {
    struct session_opening opening;
    const char *group_ids;
};

#define SESSION_ROWS_FULL 2 /* no ERR_*: one of the principals would have too many, and nothing was written */

/* Writes 1 to SESSION_ROWS_MAX of them, either all with `once` or all without, in one round trip; with `begins` that starts the transaction, too.
 * AUDIT_TX_UNSETTLED (audit_tx.h), SESSION_ROWS_FULL, ERR_EXISTS. */
int session_rows_write(struct store_tx *tx, const struct session_new *items, size_t count, bool begins, struct err *err);
