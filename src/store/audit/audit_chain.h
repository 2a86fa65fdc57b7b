/* The chain of the audit lines of one replica: hashes of lines, signed ends, and the end of this replica's chain as this process knows it. A writer of
 * lines takes the chain, appends to it, and gives it back. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hash(line) = HMAC-SHA-256(key, word, hash of the line before, replica, number, time, columns). Each column that is not NULL goes in as its
 * place in enum audit_text, its length and its bytes: no two lines give the same input, and a column that a later release adds changes
 * nothing for lines without it. Somebody who has the database but not the key can neither rebuild the chain nor sign another end of it.
 *
 * The lock on the row of the replica lets one transaction at a time number its lines. Taking the chain orders the transactions of this process before
 * that, so that the hash of the line before is known without a query. A statement writes the row of the replica only if it still holds what this
 * process knows; so a write by anybody else is noticed. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "db_stmt.h"
#include "err.h"
#include "store_tx.h"

/* -- hashes and signatures; pure ------------------------------------------------------------------------------------------------- */

#define AUDIT_HASH_BYTES 32
#define AUDIT_KEY_BYTES 32
#define AUDIT_END_BYTES 72 /* number, hash, signature */

/* The texts of a line as arguments and columns. Borrowed. */
struct audit_texts {
    struct db_arg items[AUDIT_TEXTS];
};
#define AUDIT_TEXT_COLUMNS                                                                                             \
    "action, principal_id, principal_name, source, object_kind, object_id, object_name, address, request_id, result, " \
    "reason, acting_id"
#define AUDIT_TEXT_KINDS "tttttttttttt"

/* A line as it stands in the database. */
struct audit_image {
    unsigned replica_id;
    uint64_t seq;
    int64_t at_ms;
    struct audit_texts texts;
};

/* An end of the chain of a replica: its last line, or the last one that was removed from the old end. */
struct audit_end {
    uint64_t seq;
    uint8_t hash[AUDIT_HASH_BYTES]; /* zeros: of no line, where a chain begins */
};

/* The replica of an end, which of its two ends it is, and the key that signs it. */
struct audit_owner {
    const uint8_t *key; /* AUDIT_KEY_BYTES; borrowed */
    unsigned replica_id;
    enum audit_end_kind { AUDIT_END_HEAD, AUDIT_END_ANCHOR } kind;
};

/* The hash of a line behind the one with hash `before`. */
void audit_mac_line(const uint8_t key[AUDIT_KEY_BYTES], const struct audit_image *line, const uint8_t before[AUDIT_HASH_BYTES],
                    uint8_t out[AUDIT_HASH_BYTES]);

/* The signed form of an end. */
void audit_mac_sign(const struct audit_owner *owner, const struct audit_end *end, uint8_t out[AUDIT_END_BYTES]);

/* Reads a signed end; false if it was not signed with this key for this kind and replica. */
bool audit_mac_check(const struct audit_owner *owner, const uint8_t *bytes, size_t n, struct audit_end *out);

/* -- the chain of this process --------------------------------------------------------------------------------------------------- */

/* What the row of the replica holds: number of its last line, signed head (has_head false: there is no chain), and the hash in that head. */
struct audit_state {
    uint64_t seq;
    bool has_head;
    uint8_t head[AUDIT_END_BYTES];
    uint8_t hash[AUDIT_HASH_BYTES];
};

/* The line that must be written first where a chain begins, or where its head is not what it should be. */
struct audit_marker {
    const char *action; /* NULL: none is due */
    const char *result;
    char reason[300];
};

struct audit_chain {
    pthread_mutex_t lock; /* guards is_taken, is_doubtful, sure, has_key, key; the rest belongs to who has taken the chain */
    pthread_cond_t given;
    bool is_taken;
    bool is_doubtful;        /* a COMMIT that was sent failed or is unclear: who takes the chain next reads the row again */
    struct audit_state sure; /* the last that is known to be committed */
    bool has_key;            /* without one (command line tools) lines are written without hash */
    uint8_t key[AUDIT_KEY_BYTES];
    bool is_known;  /* false: `known` must be read from the database first */
    bool was_known; /* `sure` was read before, or comes from the state folder: the database must not be older than `sure` */
    struct audit_state known, next; /* as sent with the last COMMIT; after the lines that the holder has written */
    uint64_t floor_seq; /* greatest number that was ever given: the next is greater, whatever the row of the replica says */
    struct audit_marker marker; /* to be written before all other lines */
};

void audit_chain_init(struct audit_chain *chain); /* an all-zero one */
void audit_chain_done(struct audit_chain *chain); /* wipes the key */

/* From now on lines are hashed with this key. */
void audit_chain_set_key(struct audit_chain *chain, const uint8_t key[AUDIT_KEY_BYTES]);

/* Waits until no other thread has the chain, and takes it. ERR_BUSY after wait_ms. */
int audit_chain_take(struct audit_chain *chain, int64_t wait_ms, struct err *err);

/* Gives the chain back. With is_sent the lines that the holder has written count as its end from now on, though COMMIT is only about to be sent: in
 * the database the next transaction waits for this one, and notices if it failed. audit_chain_confirm must follow. */
void audit_chain_give(struct audit_chain *chain, bool is_sent);

/* Tells how the transaction ended that would leave the chain as `sent`. */
void audit_chain_confirm(struct audit_chain *chain, const struct audit_state *sent, bool is_committed);

/* The last state that this process knows to be committed. *key (may be NULL) gets the key; false: there is none. */
bool audit_chain_peek(struct audit_chain *chain, struct audit_state *sure, uint8_t *key);

/* From now on the database must not be older than `sure`, which an earlier process wrote; with NULL whatever it holds is right. The next line gets
 * a number above `floor_seq`. The row is read again. */
void audit_chain_trust(struct audit_chain *chain, const struct audit_state *sure, uint64_t floor_seq);

/* Reads the row of the replica under a lock, compares it with `sure`, and prepares the marker if one is due. */
int audit_chain_load(struct store_tx *tx, struct audit_chain *chain, struct err *err);

/* Actions of lines about the chain itself. Before the last two numbers may be left out. */
#define AUDIT_ACTION_BEGIN "audit.begin"   /* the first line of a chain */
#define AUDIT_ACTION_HEADS "audit.heads"   /* where other chains end */
#define AUDIT_ACTION_ACCEPT "audit.accept" /* goes on from what the database says (audit_store_accept) */
#define AUDIT_ACTION_BREAK "audit.break"   /* the head was not what it should have been; the hash before is zeros */

/* -- what the database has of any chain ------------------------------------------------------------------------------------------ */

/* Both ends of the chain of a replica. */
struct audit_ends {
    uint64_t last_seq;         /* number of the last line, by the row of the replica */
    bool has_head, has_anchor; /* the column is not NULL */
    bool is_head_ok;           /* the head is signed with our key */
    bool is_anchor_ok;         /* likewise the anchor */
    struct audit_end head, anchor;
};

/* Reads both ends and checks their signatures. ERR_NOT_FOUND: no such replica. */
int audit_read_ends(struct db_conn *conn, unsigned replica_id, const uint8_t key[AUDIT_KEY_BYTES], struct audit_ends *out,
                    struct err *err);

/* The hash of a line; *is_there false if there is no such line, or it has none. */
int audit_read_hash(struct db_conn *conn, unsigned replica_id, uint64_t seq, uint8_t hash[AUDIT_HASH_BYTES], bool *is_there,
                    struct err *err);

/* The columns of a whole line; audit_row_line reads them into *out, which borrows from the row, and returns the stored hash; NULL: none. */
#define AUDIT_LINE_COLUMNS "seq, at_ms, " AUDIT_TEXT_COLUMNS ", hash"
#define AUDIT_LINE_KINDS "ii" AUDIT_TEXT_KINDS "b"
const uint8_t *audit_row_line(const struct db_row *row, unsigned replica_id, struct audit_image *out);
bool audit_row_is(const struct db_row *row, const char *action);

/* An entry of a line audit.heads (audit_store_note_heads): where the chain of another replica ended. */
#define AUDIT_HEADS_ID "heads"     /* object id of such lines, by which they are found */
#define AUDIT_NOTED_TEXT_BYTES 64U /* of an entry: two numbers, two colons, 16 digits */
#define AUDIT_NOTED_BYTES 8        /* first bytes of the hash: nobody without the key can make another line with the same */

struct audit_noted {
    unsigned replica_id, by_replica;
    uint64_t seq, by_seq;
    uint8_t hash[AUDIT_NOTED_BYTES];
};
typedef int audit_noted_fn(void *arg, const struct audit_noted *noted, struct err *err);

/* Calls fn for each entry of each line audit.heads. A code other than 0 ends the reading and is returned. */
int audit_read_noted(struct db_conn *conn, audit_noted_fn *fn, void *arg, struct err *err);
