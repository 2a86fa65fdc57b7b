/* The pool of connections: the inner part of a store. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "db_conn.h"
#include "err.h"
#include "store.h"

struct audit_side;

/* store_new without the audit log; `audit` is the caller's, also after db_pool_free. */
int db_pool_new(const struct store_options *options, struct audit_side *audit, struct store **out, struct err *err);
void db_pool_free(struct store *store); /* NULL is allowed */
CLEANUP_DEFINE(struct store, db_pool_free);

/* What store_new has put there (audit_side.h). */
struct audit_side *store_audit_side(struct store *store);

/* Gives a connection, an idle one (pinged if it was idle for long) or a new one. Waits for borrow_timeout_ms: ERR_BUSY. While the
 * database is away and the back-off runs, ERR_DATABASE at once with retry_after_s. Every borrow is followed by a give. */
int db_pool_borrow(struct store *store, struct db_conn **out, struct err *err);

/* Takes the connection back; a broken one is closed, and the idle ones with it, since they have most likely died too. */
void db_pool_give(struct store *store, struct db_conn *conn);

/* Time for one statement as configured. */
int64_t db_pool_call_timeout_ms(const struct store *store);
