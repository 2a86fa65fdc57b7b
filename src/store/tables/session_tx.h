/* Sessions as part of a greater transaction. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "session.h"
#include "store_tx.h"

/* How a way of signing in stands in the two columns about it: `source` has only words that the release before knows, since that does not
 * start on a session it cannot read; `way` has the word itself where that is another one (else NULL). */
const char *session_tx_source(enum source source);
const char *session_tx_way(enum source source);

enum session_tx_owner { SESSION_TX_PRINCIPAL, SESSION_TX_VCENTER };

/* Revokes all live sessions of a principal or of everybody who came from a vCenter, and notes them; *count is their number. */
int session_tx_revoke(struct store_tx *tx, enum session_tx_owner owner, const char *owner_id, int64_t now_ms, unsigned *count,
                      struct err *err);

/* Which sessions of a principal are counted together: those that the person has opened; those through one program that acts for the person; and each time
 * apart those by the key of a session, which proves nothing. Arguments: id, acting_id, is it by a key. */
#define SESSION_TX_ALIKE "principal_id = ? AND acting_id <=> ? AND (way <=> 'vcenter-key') = ?"

/* Makes room for a new session of this principal, so that it has live_max of them at most; *out gets those that end, and the caller
 * frees the array. They are noted. */
struct session_ends {
    struct session_end {
        char sid[37];
        enum source source;
    } * items;
    size_t count;
};
int session_tx_make_room(struct store_tx *tx, const struct session *s, unsigned live_max, struct session_ends *out,
                         struct err *err);

/* Revoking, the part about further vCenters: whoever added this one loses it, and the sessions are noted. */
int session_tx_forget_vcenter(struct store_tx *tx, const char *vcenter_id, struct err *err);
