/* Writing one record: its row, its row of the change log and its line of the audit log, all or nothing. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "audit.h"
#include "change.h"
#include "db_table.h"
#include "err.h"
#include "store_tx.h"

/* Ends a write in a transaction: notes the change of this object (CHANGE_KIND_COUNT: none), and appends the line (NULL: none). */
int record_tx_end(struct store_tx *tx, enum change_kind kind, const char *id, const struct audit_record *audit, struct err *err);

enum record_how { RECORD_INSERT, RECORD_UPDATE, RECORD_DELETE };
struct lease_fence;
struct record_write;
/* A step of the transaction before or after the row is written. */
typedef int record_step_fn(struct store_tx *tx, const struct record_write *write, struct err *err);

/* A write that is a transaction of its own. All borrowed. */
struct record_write {
    const struct db_table *table;
    enum record_how how;
    const void *record;               /* of insert and update */
    struct db_mores more;             /* likewise: columns that are no members */
    const char *key;                  /* of delete */
    int64_t version_no;               /* of delete; 0: whatever it is now */
    enum change_kind change;          /* noted by the key; CHANGE_KIND_COUNT: none */
    const struct audit_record *audit; /* NULL: none */
    const struct lease_fence *fence;  /* NULL: none; else ERR_PRECONDITION unless it is in force */
    record_step_fn *before, *after;   /* NULL: nothing to do there */
    const void *arg;                  /* of these two */
};
/* Runs db_table_insert, db_table_update or db_table_delete, and record_tx_end, in one transaction. ERR_EXISTS, ERR_NOT_FOUND, ERR_PRECONDITION,
 * ERR_CONFLICT. */
int record_store_write(struct store *store, const struct record_write *write, struct err *err);
