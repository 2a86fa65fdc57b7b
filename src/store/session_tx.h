/* Revoking sessions as part of a greater transaction. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "session_store.h"
#include "store_tx.h"

struct db_conn;

/* How a way of signing in stands in the two columns about it: `source` has only words that the release before knows, since that does not
 * start on a session it cannot read; `way` has the word itself where that is another one (else NULL). */
const char *session_tx_source(enum source source);
const char *session_tx_way(enum source source);

enum session_tx_owner { SESSION_TX_PRINCIPAL, SESSION_TX_VCENTER };

/* Revokes all live sessions of a principal or of everybody who came from a vCenter, and notes them; *count is their number. */
int session_tx_revoke(struct store_tx *tx, enum session_tx_owner owner, const char *owner_id, int64_t now_ms, unsigned *count,
                      struct err *err);

/* Revoking, the part about further vCenters: whoever added this one loses it, and the sessions are noted. */
int session_tx_forget_vcenter(struct store_tx *tx, const char *vcenter_id, struct err *err);

/* Adds the further vCenters to sessions just read, which stand in the order of their sid: those of one session (`sid`), or of all that live
 * after now_ms (`sid` NULL). */
int session_read_vcenters(struct db_conn *conn, struct session_list *list, const char *sid, int64_t now_ms, struct err *err);
