/* What replicas note of where each other's chains end, in lines of their own: who takes away or sets back one chain must do so with the
 * others, too. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A line audit.heads has in its reason an entry for each replica that wrote since the note before: number, last line, beginning of its hash. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "store.h"

/* Notes the ends of the other chains if that is due: a replica is there that this process has not noted yet, or an hour has passed (or the
 * process ends) and one of them has written more than such notes. Looks every ten seconds; in between it does nothing. */
int audit_store_note_heads(struct store *store, bool is_end, struct err *err);

/* Gives the rows of replicas that have written nothing yet a signed end, line 0: from then on a row without one has been tampered with. A row that
 * somebody has noted had one. */
int audit_store_sign_new(struct store *store, struct err *err);

/* -- for the other files about the audit trail ----------------------------------------------------------------------------------- */

#define AUDIT_NOTED_BYTES 8 /* of a hash: without the key nobody makes another line that begins like it */

struct audit_noted {
    unsigned replica_id, by_replica;
    uint64_t seq, by_seq;
    uint8_t hash[AUDIT_NOTED_BYTES];
};
typedef int audit_noted_fn(void *arg, const struct audit_noted *noted, struct err *err);

struct db_conn;
/* Calls fn for each entry of each note. A code but 0 ends it. */
int audit_read_noted(struct db_conn *conn, audit_noted_fn *fn, void *arg, struct err *err);

/* For audit_side.h: what this process has noted. All-zero: nothing. */
struct audit_heads_done {
    struct audit_head_done {
        unsigned replica_id;
        uint64_t seq;
    } * items;
    size_t count;
    int64_t noted_ms, look_ms; /* monotonic: the last note; the next look */
};
