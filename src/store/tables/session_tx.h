/* Sessions as part of a greater transaction, and of the group commit. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "group_commit.h"
#include "store_tx.h"

/* Ends all live sessions that the SQL condition `whose` chooses ("principal_id = ?"; write "sessions.sid", not "sid"), a literal of the program, and notes
 * them. Deletes their codes. */
#define SESSION_TX_ARGS_MAX 3U
int session_tx_end(struct store_tx *tx, const char *whose, struct db_args args, int64_t now_ms, struct err *err);

/* Removes a vCenter from all sessions that have it as a further one, and notes them. */
int session_tx_forget_vcenter(struct store_tx *tx, const char *vcenter_id, struct err *err);

/* Writes the entries of the group of a store (audit_tx.h, struct audit_append): sessions that are opened, and lines that stand for themselves. `store` is a
 * struct store. */
void session_store_write_group(void *store, struct group_lead *lead, struct group_entry *const *entries, size_t count);
