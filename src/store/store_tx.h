/* Transactions with retry, and the change log as their last part. Layer 2 (store), for this folder's modules.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "change.h"
#include "err.h"
#include "store.h"

struct audit_chain;
struct audit_record;
struct db_conn;
struct store_tx;

/* The body of a transaction. It may run several times: it must set its outputs anew each time and have no other effects.
 * Any code but 0 rolls back. */
typedef int store_tx_fn(struct store_tx *tx, void *arg, struct err *err);

/* Runs fn between START TRANSACTION and COMMIT. Deadlocks (1213; Galera's certification failures too) and lock time-outs (1205) are retried with back-off, a connection that died before COMMIT, or a Galera node
 * outside its cluster (1047), once. A COMMIT without answer is looked after for some seconds if the transaction noted a change: it was
 * made then (0), or was not (and is run again). Where that cannot be found out, ERR_DATABASE says that the outcome is unknown. */
int store_tx(struct store *store, store_tx_fn *fn, void *arg, struct err *err);

/* As store_tx, for a body that is one compound statement and so one round trip: it starts the transaction itself and writes its row of
 * change_log, which bears the mark. COMMIT stays a statement of its own: only of that nobody knows the outcome when there is no answer. */
int store_tx_compound(struct store *store, store_tx_fn *fn, void *arg, struct err *err);
/* A new mark, for tx_id of the last row of change_log; created_at_ms of this row must be `now_ms`. Valid while the body runs. */
const char *store_tx_mark(struct store_tx *tx, int64_t now_ms);

/* As store_tx, read only, with one consistent snapshot for all its queries. */
int store_tx_snapshot(struct store *store, store_tx_fn *fn, void *arg, struct err *err);

/* The connection of the transaction, for db_stmt.h. Valid inside fn only. */
struct db_conn *store_tx_conn(struct store_tx *tx);

/* The replica whose numbers the transaction's rows bear. */
unsigned store_tx_replica(const struct store_tx *tx);

/* Lets only one transaction at a time past this point, on all nodes of a Galera cluster too: it writes to a row of this name, and
 * of two that wrote the second waits or is undone and run again. A SELECT ... FOR UPDATE would lock on one node only. */
int store_tx_lock(struct store_tx *tx, const char *name, struct err *err);

/* Remembers that an object changed. Just before COMMIT the replica's sequence is raised and one change_log row per note is
 * written: the row lock on the sequence makes its order the order of commits. A repeated note is written once.
 * ERR_UNPROCESSABLE if the id is longer than 128 bytes. */
int store_tx_note_change(struct store_tx *tx, enum change_kind kind, const char *object_id, struct err *err);

/* To be called when all statements of this attempt are done and COMMIT is to be sent. */
void store_tx_before_commit(struct store_tx *tx, void (*fn)(void *arg), void *arg);

/* Takes the chain of audit lines for the statements of this attempt; again, it changes nothing. ERR_BUSY. */
int store_tx_take_chain(struct store_tx *tx, struct err *err);
struct audit_chain *store_tx_chain(struct store_tx *tx);
/* These lines are told to whoever listens (store_set_audit_listener) when the transaction is committed. Their texts are borrowed until then. */
int store_tx_tell_lines(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err);

/* The body of single statements outside a transaction (autocommit). */
typedef int store_read_fn(struct db_conn *conn, void *arg, struct err *err);

/* Borrows a connection and runs fn; again once on a fresh connection if an idle one proves dead at
 * its first statement. For reads. */
int store_read(struct store *store, store_read_fn *fn, void *arg, struct err *err);
