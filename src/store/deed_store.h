/* Deeds outside of the database, in the audit trail: a line when they begin and one when they have ended. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is done at a vCenter cannot be one transaction with its line. So the line that it begins (result DEED_PENDING) is committed before, with a row
 * that goes with the line that says how it ended. A row that nobody closes any more (a kill, a database that was away) is closed as DEED_UNKNOWN. */
#pragma once

#include <stdint.h>

#include "audit_store.h"
#include "uuid.h"

#define DEED_PENDING "pending"
#define DEED_UNKNOWN "unknown"

/* Writes the line with the result DEED_PENDING, whatever the record says, and the row under this new id. */
int deed_store_begin(struct store *store, const char *id, const struct audit_record *record, struct err *err);

/* How a deed ended. All borrowed. */
struct deed_end {
    const char *id;
    const struct audit_record *record;
};
/* Writes the line and removes the row. If the row is gone (it was closed) the line is written all the same. */
int deed_store_end(struct store *store, const struct deed_end *end, struct err *err);

/* The newest open deed of this replica with this action, source and object; *id (37 bytes) is "" with 0 if there is none. */
int deed_store_find(struct store *store, const struct audit_event *like, char id[UUID_TEXT_BYTES], struct err *err);

/* What nobody works on any more. */
struct deed_left {
    unsigned replica_id;     /* 0: of any replica */
    int64_t begun_before_ms; /* wall clock */
    int64_t now_ms;
};
/* Closes each with a line whose result is DEED_UNKNOWN; *closed counts them. */
int deed_store_close(struct store *store, const struct deed_left *left, unsigned *closed, struct err *err);

struct store_tx;
/* deed_store_end as the last part of a greater transaction: the change and its line. A NULL end does nothing. */
int deed_tx_end(struct store_tx *tx, const struct deed_end *end, struct err *err);
