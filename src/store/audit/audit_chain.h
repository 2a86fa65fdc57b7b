/* What makes audit lines of one replica a chain: hashes of lines and signed ends; and the end of this replica's chain as this process knows it: who writes
 * lines takes it, goes on from it, gives it back. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hash(line) = HMAC-SHA-256(key, word, hash of the line before, replica, number, time, columns). Each column that is not NULL goes in as its
 * place in enum audit_text, its length and its bytes: no two lines give the same input, and a column that a later release adds changes
 * nothing for lines without it. Who has the database but not the key can neither rebuild the chain nor sign another end of it.
 *
 * The numbers of lines have always been drawn one transaction at a time, by the lock on the row of the replica; taking the chain orders them
 * in this process already, so that the hash before is known without asking. A statement writes the row of the replica only if it still says what
 * is known here; whoever else wrote it is noticed. */
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

/* Whose end it is, which one, and the key it is signed with. */
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

/* Reads it again; false if it is not one that was signed with this key for this kind and replica. */
bool audit_mac_check(const struct audit_owner *owner, const uint8_t *bytes, size_t n, struct audit_end *out);

/* -- the chain of this process --------------------------------------------------------------------------------------------------- */

/* What the row of the replica says: number of its last line, signed head (has_head false: there is no chain), and the hash it stands for. */
struct audit_state {
    uint64_t seq;
    bool has_head;
    uint8_t head[AUDIT_END_BYTES];
    uint8_t hash[AUDIT_HASH_BYTES];
};

/* The line that must come first where a chain begins, or is not what it was. */
struct audit_marker {
    const char *action; /* NULL: none is due */
    const char *result;
    char reason[300];
};

struct audit_chain {
    pthread_mutex_t lock; /* guards the three below; all else belongs to who has taken it */
    pthread_cond_t given;
    bool is_taken;
    bool is_doubtful;        /* a transaction that was sent did not end well: who takes the chain next reads anew */
    struct audit_state sure; /* the last that is known to be committed */
    bool has_key;            /* without one (command line tools) lines are written without hash */
    uint8_t key[AUDIT_KEY_BYTES];
    bool is_known;  /* false: to be read from the database first */
    bool was_known; /* since the process began, or from the state folder: what is read then must not be older than `sure` */
    struct audit_state known, next; /* as sent; as it is after what the holder has written */
    uint64_t floor_seq; /* greatest number that was ever given: the next is greater, whatever the row of the replica says */
    struct audit_marker marker; /* to be written before all other lines */
};

void audit_chain_init(struct audit_chain *chain); /* an all-zero one */
void audit_chain_done(struct audit_chain *chain); /* wipes the key */

/* From now on lines are hashed with this key. */
void audit_chain_set_key(struct audit_chain *chain, const uint8_t key[AUDIT_KEY_BYTES]);

/* Waits until nobody has it. ERR_BUSY after wait_ms. */
int audit_chain_take(struct audit_chain *chain, int64_t wait_ms, struct err *err);

/* Gives it back. With is_sent what the holder has written counts as the end from now on, though COMMIT is yet to come: in the database the next one
 * waits for that, and finds out if it failed. audit_chain_confirm follows. */
void audit_chain_give(struct audit_chain *chain, bool is_sent);

/* How the transaction ended after which the chain was as `sent`. */
void audit_chain_confirm(struct audit_chain *chain, const struct audit_state *sent, bool is_committed);

/* The last state that this process knows to be committed. *key (may be NULL) gets the key; false: there is none. */
bool audit_chain_peek(struct audit_chain *chain, struct audit_state *sure, uint8_t *key);

/* What the database says must not be older than `sure`, which is of a process before; NULL: whatever it says is right. The next line gets
 * a number above `floor_seq`. */
void audit_chain_trust(struct audit_chain *chain, const struct audit_state *sure, uint64_t floor_seq);

/* Reads the row of the replica under a lock, and makes the marker that is due. */
int audit_chain_load(struct store_tx *tx, struct audit_chain *chain, struct err *err);

/* Before the last two numbers may be left out. */
#define AUDIT_ACTION_BEGIN "audit.begin"   /* the first line of a chain */
#define AUDIT_ACTION_HEADS "audit.heads"   /* where other chains end */
#define AUDIT_ACTION_ACCEPT "audit.accept" /* goes on from what the database says (audit_store_accept) */
#define AUDIT_ACTION_BREAK "audit.break"   /* the head was not what it should have been; the hash before is zeros */

/* -- what the database has of any chain ------------------------------------------------------------------------------------------ */

/* Both ends of the chain of a replica. */
struct audit_ends {
    uint64_t last_seq;         /* number of the last line, by the row of the replica */
    bool has_head, has_anchor; /* there is something */
    bool is_head_ok;           /* and it is signed by us */
    bool is_anchor_ok;
    struct audit_end head, anchor;
};

/* Reads and checks them. ERR_NOT_FOUND: no such replica. */
int audit_read_ends(struct db_conn *conn, unsigned replica_id, const uint8_t key[AUDIT_KEY_BYTES], struct audit_ends *out,
                    struct err *err);

/* The hash of a line; *is_there false if there is no such line, or it has none. */
int audit_read_hash(struct db_conn *conn, unsigned replica_id, uint64_t seq, uint8_t hash[AUDIT_HASH_BYTES], bool *is_there,
                    struct err *err);

/* The columns of a whole line, and reading one: the image borrows from the row. Hands back the hash that stands there; NULL: none. */
#define AUDIT_LINE_COLUMNS "seq, at_ms, " AUDIT_TEXT_COLUMNS ", hash"
#define AUDIT_LINE_KINDS "ii" AUDIT_TEXT_KINDS "b"
const uint8_t *audit_row_line(const struct db_row *row, unsigned replica_id, struct audit_image *out);
bool audit_row_is(const struct db_row *row, const char *action);

/* What a line audit.heads (audit_store_note_heads) says of where another chain ended. */
#define AUDIT_HEADS_ID "heads"     /* object id of such lines, by which they are found */
#define AUDIT_NOTED_TEXT_BYTES 64U /* of an entry: two numbers, two colons, 16 digits */
#define AUDIT_NOTED_BYTES 8        /* of a hash: without the key nobody makes another line that begins like it */

struct audit_noted {
    unsigned replica_id, by_replica;
    uint64_t seq, by_seq;
    uint8_t hash[AUDIT_NOTED_BYTES];
};
typedef int audit_noted_fn(void *arg, const struct audit_noted *noted, struct err *err);

/* Calls fn for each entry of each note. A code but 0 ends it. */
int audit_read_noted(struct db_conn *conn, audit_noted_fn *fn, void *arg, struct err *err);
