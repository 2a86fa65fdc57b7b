/* Transactions with retry, and the change log as their last part. Layer 2 (store), for this folder's modules.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "change.h"
#include "db_stmt.h"
#include "err.h"
#include "store.h"

struct store_tx;

/* The body of a transaction. It may run several times: it must set its outputs anew each time and have no other effects.
 * Any code but 0 rolls back. */
typedef int store_tx_fn(struct store_tx *tx, void *arg, struct err *err);

/* Runs fn between START TRANSACTION and COMMIT. Deadlocks (1213; Galera's certification failures too) and lock time-outs (1205) are retried with back-off; a
 * connection that died before COMMIT, or a Galera node outside its cluster (1047), once. If a COMMIT gets no answer and the transaction noted a change, the
 * database is asked for some seconds whether it was made (0) or not (then fn is run again). Where that cannot be found out, ERR_DATABASE says that the outcome
 * is unknown. */
int store_tx(struct store *store, store_tx_fn *fn, void *arg, struct err *err);

/* As store_tx, for a body that is one compound statement and so one round trip: the statement starts the transaction itself and writes its rows of
 * change_log, with a mark in the last one. COMMIT stays a statement of its own, the only one whose outcome can be unknown when no answer comes. */
int store_tx_compound(struct store *store, store_tx_fn *fn, void *arg, struct err *err);
/* Makes a mark, for tx_id of the last row of change_log; created_at_ms of that row must be `now_ms`. By it a COMMIT without answer is looked up. Valid while
 * the body runs. */
const char *store_tx_mark(struct store_tx *tx, int64_t now_ms);

/* As store_tx, read only, with one consistent snapshot for all its queries. */
int store_tx_snapshot(struct store *store, store_tx_fn *fn, void *arg, struct err *err);

/* The connection of the transaction, for db_stmt.h. Valid inside fn only, and not any more once store_tx_last_conn was called in this attempt. */
struct db_conn *store_tx_conn(struct store_tx *tx);

/* The same connection, for what is written last. The caller holds the audit chain, for which all transactions of this process wait, so no statement that
 * may wait for a row can follow: locks are taken in one order, rows first, then the audit chain. */
struct db_conn *store_tx_last_conn(struct store_tx *tx);

/* The store it runs on. */
struct store *store_tx_store(const struct store_tx *tx);

/* The replica whose numbers the transaction's rows bear. */
unsigned store_tx_replica(const struct store_tx *tx);

/* Lets only one transaction at a time past this point, also over all nodes of a Galera cluster: it writes to a row of this name, and
 * the second transaction to do so waits, or is undone and run again. A SELECT ... FOR UPDATE would lock on one node only. */
int store_tx_lock(struct store_tx *tx, const char *name, struct err *err);

/* Remembers that an object changed. Just before COMMIT the replica's sequence is raised and one change_log row per note is
 * written: the row lock on the sequence makes its order the order of commits. A repeated note is written once.
 * ERR_UNPROCESSABLE if the id is longer than 128 bytes. */
int store_tx_note_change(struct store_tx *tx, enum change_kind kind, const char *object_id, struct err *err);

/* Remembers a change for each object whose id the query gives in its first column. */
int store_tx_note_rows(struct store_tx *tx, enum change_kind kind, const char *sql, struct db_args args, struct err *err);

/* Functions of another module that are called during one attempt of a transaction. NULL: none. */
struct store_tx_hooks {
    int (*finish)(struct store_tx *tx, void *arg,
                  struct err *err);                      /* when the body is done, to write more; any code but 0 rolls back */
    void (*before_commit)(void *arg);                    /* when all statements are done and COMMIT is about to be sent */
    void (*after_attempt)(void *arg, bool is_committed); /* when the attempt has ended; false also while its outcome is unknown */
    void (*done)(void *arg, bool is_committed);          /* the last call, with the final outcome; frees `arg` */
};
#define STORE_TX_HOOKS_MAX 2
/* Registers hooks for this attempt; those registered last are called first. `hooks` is static; `arg` is handed to each. */
void store_tx_hook(struct store_tx *tx, const struct store_tx_hooks *hooks, void *arg);
/* The `arg` with which these hooks were registered in this attempt, or NULL. */
void *store_tx_hooked(const struct store_tx *tx, const struct store_tx_hooks *hooks);

/* One statement as a transaction of its own; else as db_run. */
int store_run(struct store *store, const char *sql, struct db_args args, uint64_t *affected, struct err *err);

/* The body of single statements outside a transaction (autocommit). */
typedef int store_read_fn(struct db_conn *conn, void *arg, struct err *err);

/* Borrows a connection and runs fn; again once on a fresh connection if an idle one proves dead at
 * its first statement. For reads. */
int store_read(struct store *store, store_read_fn *fn, void *arg, struct err *err);

/* One query for reads, as db_query_row and db_query. */
int store_query_row(struct store *store, const char *sql, struct db_args args, struct db_into into, const char *what,
                    struct err *err);
int store_query(struct store *store, const char *sql, struct db_args args, const char *columns, db_row_fn *fn, void *arg,
                struct err *err);
