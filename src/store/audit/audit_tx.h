/* Audit lines as part of a greater transaction: a change and its line are written together or not at all; and what a store holds for that. Layer 2 (store),
 * internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit.h"
#include "audit_chain.h"
#include "db_conn.h"
#include "store_tx.h"

/* -- what a store holds for the audit log: the chain, those who write at the same time, notes, the state folder, the listener ------ */

struct group_commit;

/* What this process has noted of other chains. All-zero: nothing. */
struct audit_heads_done {
    struct audit_head_done {
        unsigned replica_id;
        uint64_t seq;
    } * items;
    size_t count;
    int64_t noted_ms, look_ms; /* monotonic: the last note; the next look */
};

/* Refusals that are noted (audit_store_note). */
#define AUDIT_NOTES_MAX 128 /* kinds */
struct audit_note {
    char *texts[AUDIT_TEXTS]; /* two do not tell kinds apart: the request and the reason */
    int64_t at_ms;            /* wall clock: of the first */
    int64_t since_ms;         /* monotonic: of the first */
    uint64_t more;            /* like it, not told of yet */
    uint64_t taken;           /* of them, what the round under way tells */
    bool is_used, is_told;    /* told: the first is written */
    bool is_taken;            /* the round under way tells something of it */
};

struct audit_notes {
    pthread_mutex_t lock; /* guards all below; nothing blocks while it is held */
    struct audit_note notes[AUDIT_NOTES_MAX];
    uint64_t left_out; /* found no room */
    int64_t left_out_told_ms;
};

struct audit_side {
    struct audit_chain chain;
    struct group_commit *group;
    struct audit_notes notes;
    struct audit_heads_done heads;       /* of the job that notes them */
    char *name, *head_path;              /* of the replica; of the file in its state folder. NULL: it has none */
    pthread_mutex_t head_lock;           /* of the file, and guards the next */
    uint8_t head_saved[AUDIT_END_BYTES]; /* what stands there */
    void (*on_line)(void *arg, const struct audit_record *record); /* NULL: nobody listens */
    void *on_line_arg;
};
int audit_side_new(struct audit_side **out, struct err *err); /* ERR_NOMEM; freed by audit_side_free */
void audit_side_free(struct audit_side *side);                /* NULL is allowed */
CLEANUP_DEFINE(struct audit_side, audit_side_free);

/* The signed end, line 0, that the row of a replica is made with. False while the key has not been read (audit_store_open_key). */
bool audit_first_head(struct store *store, unsigned replica_id, uint8_t head[AUDIT_END_BYTES]);

/* The column rows_signed of the key: that each row of replicas has had a head. */
void audit_sign_rows(const uint8_t key[AUDIT_KEY_BYTES], uint8_t out[AUDIT_HASH_BYTES]);

/* -- lines in a transaction ------------------------------------------------------------------------------------------------------ */

/* The texts of an event as arguments, cut to the sizes of their columns; borrowed from the event. */
struct audit_texts audit_texts_of(const struct audit_event *event);
/* One of them as it stands in the event, uncut; and putting one there, which stays borrowed. */
const char *audit_text_get(const struct audit_event *event, enum audit_text text);
void audit_text_set(struct audit_event *event, enum audit_text text, const char *value);

/* Has the lines written when the body of the transaction is done, behind those of its steps: only then the audit chain is taken, which nobody may hold
 * who waits for a row. The records are copied, their texts borrowed until the transaction has ended. An object without a name gets the one that it has in
 * the database: who removes it calls this before. A NULL record or none appends nothing. */
int audit_tx_append(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err);

/* Lines as part of a statement of its own (session_store.c), a step for each. That may write the row of the replica only if it still has old_seq and
 * old_head of the first, and gives it new_seq and new_head of the last, which alone is signed; the hash is NULL where there is no chain. Numbers and
 * bytes are borrowed from the step itself. */
struct audit_step {
    struct audit_texts texts;
    struct audit_state before, after;
    struct db_arg old_seq, old_head, new_seq, new_head, hash;
};
#define AUDIT_TX_UNSETTLED 1 /* no ERR_*: audit_store_settle, then the transaction again */

/* Takes the chain for this transaction and works the next lines out, at least one: other rows cannot be written any more in it, but by the statement of
 * the steps itself (store_tx_last_conn), which must wait for none. AUDIT_TX_UNSETTLED if the chain is not known. */
int audit_tx_begin_steps(struct store_tx *tx, const struct audit_record *const *records, size_t count, struct audit_step *out,
                         struct err *err);
/* The statement has written the lines up to this last one; or it found another row of the replica, and the chain is not known any more:
 * AUDIT_TX_UNSETTLED. */
int audit_tx_end_step(struct store_tx *tx, const struct audit_step *last, bool is_written);

/* This line, which is written with a step, is told to whoever listens (store_set_audit_listener) when the transaction is committed. Its texts
 * are borrowed until then. */
int audit_tx_tell(struct store_tx *tx, const struct audit_record *record, struct err *err);

/* Writes the marker that is due, if any, in a transaction of its own: the chain is known then. */
int audit_store_settle(struct store *store, struct err *err);

struct seal;
/* Puts a new key in place of the one of the database, which nothing opens any more: all lines are taken as they stand and hashed anew, and all ends signed,
 * but for what replicas noted of each other's hashes, which is dropped. *lines counts them. The store appends with the new key from then on. No
 * other transaction of this process may append meanwhile. */
int audit_tx_renew_key(struct store_tx *tx, struct seal *seal, uint64_t *lines, struct err *err);
