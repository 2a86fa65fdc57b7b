/* Sessions as part of a greater transaction. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "store_tx.h"

enum session_tx_owner { SESSION_TX_PRINCIPAL, SESSION_TX_VCENTER };

/* Revokes all live sessions of a principal or of everybody who came from a vCenter, and notes them; *count is their number. */
int session_tx_revoke(struct store_tx *tx, enum session_tx_owner owner, const char *owner_id, int64_t now_ms, unsigned *count,
                      struct err *err);
