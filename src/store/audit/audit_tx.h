/* Audit lines as part of a greater transaction: a change and its line are written together or not at all; and the state that a store keeps for that.
 * Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit.h"
#include "audit_chain.h"
#include "db_conn.h"
#include "group_commit.h"
#include "store_tx.h"

/* -- the state of the audit log in a store: the chain, the group commit, noted refusals, the state folder, the listener ------------- */

/* The ends of other chains that this process has noted. All-zero: none. */
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
    char *texts[AUDIT_TEXTS]; /* all but request id and reason make the kind */
    int64_t at_ms;            /* wall clock: of the first refusal */
    int64_t since_ms;         /* monotonic: start of the minute under way */
    uint64_t more;            /* refusals of this kind after the first that no line tells of yet */
    uint64_t taken;           /* how many of `more` the round under way writes */
    bool is_used, is_told;    /* told: the line of the first is written */
    bool is_taken;            /* the round under way writes a line of this kind */
};

struct audit_notes {
    pthread_mutex_t lock; /* guards all below; nothing blocks while it is held */
    struct audit_note notes[AUDIT_NOTES_MAX];
    uint64_t left_out;        /* refusals that found no room */
    int64_t left_out_told_ms; /* monotonic: when a line told of them last */
};

struct audit_side {
    struct audit_chain chain;
    struct group_commit *group;
    group_write_fn *write_group; /* of the group; its arg is the store */
    struct audit_notes notes;
    struct audit_heads_done heads;       /* used by audit_store_note_heads only */
    char *name, *head_path;              /* name of the replica; path of the file in its state folder. NULL: it has none */
    pthread_mutex_t head_lock;           /* held while the file is written; guards head_saved */
    uint8_t head_saved[AUDIT_END_BYTES]; /* the end in the file */
    void (*on_line)(void *arg, const struct audit_record *record); /* NULL: nobody listens */
    void *on_line_arg;
};
/* `write_group` writes the entries of the group, each a struct audit_append. ERR_NOMEM; *out is freed by audit_side_free. */
int audit_side_new(group_write_fn *write_group, struct audit_side **out, struct err *err);
void audit_side_free(struct audit_side *side); /* NULL is allowed */
CLEANUP_DEFINE(struct audit_side, audit_side_free);

/* A line that is written with those that others append at the same time. */
struct audit_append {
    struct group_entry entry; /* first: the group knows this part only */
    const struct audit_record *line;
    void *more; /* what is written with the line, known to whoever writes the group; NULL: nothing */
};

/* The signed end, line 0, that the row of a replica is made with. False while the key has not been read (audit_store_open_key). */
bool audit_first_head(struct store *store, unsigned replica_id, uint8_t head[AUDIT_END_BYTES]);

/* The value of the column rows_signed of the key; it proves that every row of replicas has been signed (audit_store_sign_new). */
void audit_sign_rows(const uint8_t key[AUDIT_KEY_BYTES], uint8_t out[AUDIT_HASH_BYTES]);

/* -- lines in a transaction ------------------------------------------------------------------------------------------------------ */

/* The texts of an event as arguments, cut to the sizes of their columns; borrowed from the event. */
struct audit_texts audit_texts_of(const struct audit_event *event);
/* Gets one text of an event, uncut; sets one, which stays borrowed. */
const char *audit_text_get(const struct audit_event *event, enum audit_text text);
void audit_text_set(struct audit_event *event, enum audit_text text, const char *value);

/* Appends lines to the transaction. They are written when its body is done, behind those of its steps: only then the audit chain is taken, since whoever
 * holds it must not wait for a row. The records are copied, their texts borrowed until the transaction has ended. An object without a name gets the one that
 * it has in the database now: so call this before the object is removed. NULL records or a count of 0 append nothing. */
int audit_tx_append(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err);

/* A line that a compound statement writes itself (session_store.c), one step for each line. The statement may write the row of the replica only if that still
 * has old_seq and old_head of the first step, and sets it to new_seq and new_head of the last step, which alone is signed. `hash` is NULL where there is no
 * chain. Numbers and bytes are borrowed from the step itself. */
struct audit_step {
    struct audit_texts texts;
    struct audit_state before, after;
    struct db_arg old_seq, old_head, new_seq, new_head, hash;
};
#define AUDIT_TX_UNSETTLED 1 /* no ERR_*: the caller calls audit_store_settle and runs the transaction again */

/* Takes the chain for this transaction and computes the steps of its next lines, at least one. From then on only the statement of the steps may write rows
 * (store_tx_last_conn), and it must wait for none. AUDIT_TX_UNSETTLED if the chain is not known or a marker is due; ERR_BUSY. */
int audit_tx_begin_steps(struct store_tx *tx, const struct audit_record *const *records, size_t count, struct audit_step *out,
                         struct err *err);
/* Tells whether the statement has written the lines up to this last one. If not, the row of the replica was another one, and the chain is not known any
 * more: AUDIT_TX_UNSETTLED. */
int audit_tx_end_step(struct store_tx *tx, const struct audit_step *last, bool is_written);

/* Has the listener (store_set_audit_listener) called with this line, which a step writes, when the transaction is committed. Its texts are
 * borrowed until then. */
int audit_tx_tell(struct store_tx *tx, const struct audit_record *record, struct err *err);

/* Reads the chain and writes the marker if one is due, in a transaction of its own; the chain is known then. */
int audit_store_settle(struct store *store, struct err *err);

struct seal;
/* Replaces the key of the audit log in the database, which cannot be unsealed any more, by a new one. All lines are taken as they stand and hashed anew, and
 * all ends are signed; notes of other replicas' hashes lose their entries. *lines counts the lines. The store appends with the new key from then on. No
 * other transaction of this process may append meanwhile. */
int audit_tx_renew_key(struct store_tx *tx, struct seal *seal, uint64_t *lines, struct err *err);
