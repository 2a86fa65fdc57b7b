/* Audit lines as part of a greater transaction: a change and its line are written together or not at all. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "audit.h"
#include "audit_chain.h"
#include "db_stmt.h"
#include "store_tx.h"

/* The texts of an event as arguments, cut to the sizes of their columns; borrowed from the event. */
struct audit_texts {
    struct db_arg items[AUDIT_TEXTS];
};
struct audit_texts audit_texts_of(const struct audit_event *event);

/* Appends the lines; to be called last, since it locks the row of the replica until the end. A NULL record or none appends nothing. */
int audit_tx_append(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err);

/* Writes the marker that is due, if any, so that the chain is known: to be called first in a transaction that uses steps. */
int audit_tx_settle(struct store_tx *tx, struct err *err);

/* Lines as part of a statement of its own (session_open.c), a step for each. That may write the row of the replica only if it still has old_seq and
 * old_head of the first, and gives it new_seq and new_head of the last, which alone is signed; the hash is NULL where there is no chain. Numbers and
 * bytes are borrowed from the step itself. */
struct audit_step {
    struct audit_texts texts;
    struct audit_state before, after;
    struct db_arg old_seq, old_head, new_seq, new_head, hash;
};
#define AUDIT_TX_UNSETTLED 1 /* no ERR_*: audit_store_settle, then the transaction again */

/* Takes the chain for this transaction and works the next lines out, at least one. AUDIT_TX_UNSETTLED if the chain is not known. */
int audit_tx_begin_steps(struct store_tx *tx, const struct audit_record *const *records, size_t count, struct audit_step *out,
                         struct err *err);
/* The statement has written the lines up to this last one; or it found another row of the replica, and the chain is not known any more:
 * AUDIT_TX_UNSETTLED. */
int audit_tx_end_step(struct store_tx *tx, const struct audit_step *last, bool is_written);

/* These lines, which are written with a step, are told to whoever listens (store_set_audit_listener) when the transaction is committed. Their texts
 * are borrowed until then. */
int audit_tx_tell(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err);

/* audit_tx_settle in a transaction of its own. */
int audit_store_settle(struct store *store, struct err *err);
