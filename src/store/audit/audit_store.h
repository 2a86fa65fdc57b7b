/* The audit log. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit.h"
#include "err.h"
#include "store.h"
#include "uuid.h"

struct metric;

/* The texts of a line. Their places are part of what is hashed: new ones go to the end. */
enum audit_text {
    AUDIT_ACTION,
    AUDIT_PRINCIPAL_ID,
    AUDIT_PRINCIPAL_NAME,
    AUDIT_SOURCE,
    AUDIT_OBJECT_KIND,
    AUDIT_OBJECT_ID,
    AUDIT_OBJECT_NAME,
    AUDIT_ADDRESS,
    AUDIT_REQUEST_ID,
    AUDIT_RESULT,
    AUDIT_REASON,
    AUDIT_ACTING_ID,
    AUDIT_TEXTS
};

/* Appends one event. Texts longer than their column are cut at a character: an audit line must never fail for its length. */
int audit_store_append(struct store *store, const struct audit_record *record, struct err *err);

/* Appends the line of what has no transaction to be in: as of now, with the outcome `rc`, and why (NULL: the record has it), which comes behind the
 * reason that the record has. It must not stand in the way of what it describes: if it cannot be written it is counted. */
void audit_store_append_outcome(struct store *store, const struct audit_record *record, int rc, const struct err *why);
/* The counter of lines that could not be written (kaas_audit_lost_total). */
struct metric *audit_store_lost(void);

/* Appends several in one transaction: all or none. */
int audit_store_append_batch(struct store *store, const struct audit_record *records, size_t count, struct err *err);

/* Has each line told to this function when it is committed, in the thread that wrote it. Set once, before other threads write. NULL: nobody. */
void store_set_audit_listener(struct store *store, void (*fn)(void *arg, const struct audit_record *record), void *arg);

/* -- the chain: each line has a hash over the line before (audit_chain.h) -------------------------------------------------------- */

struct seal;
/* From now on lines get hashes, under a key that all replicas share: it stands in the database, sealed, and is made by the first. ERR_CONFIG if
 * the master key that sealed it is not held. */
int audit_store_open_key(struct store *store, struct seal *seal, struct err *err);
#define AUDIT_KEY_ID "chain"
#define AUDIT_KEY_PURPOSE "audit-key:" AUDIT_KEY_ID

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

/* Where a line stands: lines are ordered by time, then replica, then number. */
struct audit_place {
    int64_t at_ms; /* wall clock */
    unsigned replica_id;
    uint64_t seq;
};

struct audit_entry {
    struct audit_place place;
    char *texts[AUDIT_TEXTS]; /* malloc'ed; NULL: not known */
};

/* What is looked for; NULL and 0: no matter. Texts are compared whole. */
struct audit_query {
    int64_t since_ms, until_ms; /* from, and before */
    const char *action, *principal_id, *acting_id, *source, *object_kind, *object_id, *address, *result, *request_id;
    unsigned limit;
    bool has_after; /* only what stands behind this place, in the order of the answer */
    struct audit_place after;
};
struct audit_page {
    struct audit_entry *items; /* newest first */
    size_t count;
    bool is_more;
};
void audit_page_done(struct audit_page *page); /* NULL is allowed */

/* Reads one page; what is written meanwhile changes nothing behind it. *out (uninitialised) is given back by audit_page_done. */
int audit_store_list(struct store *store, const struct audit_query *query, struct audit_page *out, struct err *err);

/* Deletes up to `limit` lines of a replica from the old end on, as far as one of them is older than this wall-clock time; where it ended
 * is signed, so that the chain can still be verified. *deleted is their number. */
struct audit_pruning {
    unsigned replica_id;
    int64_t older_than_ms;
    unsigned limit;
};
int audit_store_prune(struct store *store, const struct audit_pruning *pruning, unsigned long *deleted, struct err *err);

/* -- the newest signed end of this replica's chain in its state folder ----------------------------------------------------- */

/* A database that does not have that line has lost audit lines, or is an older copy of itself. */

/* Where the file is: once, before other threads use the store. ERR_NOMEM. */
int audit_store_set_place(struct store *store, const char *state_dir, const char *replica_name, struct err *err);

/* Compares the database with the file; a replica without one takes what the database says, with a line about it. Needs the key and the number
 * of the replica. ERR_AUDIT_BEHIND names the replica, what was found, and what to do; ERR_IO. */
int audit_store_start(struct store *store, struct err *err);

/* Writes the file if a line was committed since the last time. Touches no database. */
int audit_store_save_head(struct store *store, struct err *err);

/* `who` has looked, and wants the replica to go on from what the database says, though audit_store_start refuses it: a line tells who and
 * what was missing. ERR_CONFLICT if nothing is; ERR_UNAVAILABLE while the key is not known. */
int audit_store_accept(struct store *store, const struct audit_event *who, struct err *err);

/* -- verifying ----------------------------------------------------------------------------------------------------- */

/* What it proves: no line was removed, changed, put in or moved by somebody who has the database, but neither the master key nor the host of
 * this replica, between the oldest line that is kept and the newest that this replica has written or any replica has noted of another. */

/* Whose lines there are, by number: replicas that are known, and others that lines bear or note. */
struct audit_chain_name {
    unsigned replica_id;
    char name[101]; /* "": no such replica */
};
struct audit_chain_list {
    struct audit_chain_name *items;
    size_t count;
};
void audit_chain_list_done(struct audit_chain_list *list); /* NULL is allowed */
/* *out (uninitialised) is given back by audit_chain_list_done. */
int audit_store_list_chains(struct store *store, struct audit_chain_list *out, struct err *err);

enum audit_fault {
    AUDIT_FAULT_NONE,
    AUDIT_FAULT_REMOVED,  /* lines are missing */
    AUDIT_FAULT_CHANGED,  /* a line is not what was written */
    AUDIT_FAULT_INSERTED, /* a line was not written by us */
    AUDIT_FAULT_HEAD,     /* the head is missing, is not signed by us, or is an older one */
    AUDIT_FAULT_BROKEN,   /* kaasd itself had noticed something, and wrote it down */
};
/* "none", "removed", "changed", "inserted", "head", "broken"; static. */
const char *audit_fault_name(enum audit_fault fault);

/* One part of a verification, and what was found in it. */
struct audit_verification {
    unsigned replica_id; /* in */
    uint64_t after_seq; /* in: the last line that a part before looked at; 0: from the old end. Out: the same for the next part */
    unsigned limit;     /* in: about how many lines to look at */
    bool is_complete;
    uint64_t lines;                /* looked at and good */
    uint64_t head_seq;             /* 0: none */
    char head[65];                 /* hash of the last line in hexadecimal; "": not known */
    enum audit_fault fault;        /* the first one; nothing behind it was looked at */
    uint64_t fault_seq, fault_end; /* the lines it concerns */
    int64_t fault_at_ms;           /* time of the line, or of the one before; 0: not known */
    char text[400], remedy[300];
};
/* Lines that are written or removed by age meanwhile do no harm. *v is changed only on success. ERR_UNAVAILABLE without a key. */
int audit_store_verify(struct store *store, struct audit_verification *v, struct err *err);

/* -- what replicas note of where each other's chains end ---------------------------------------------------------------------- */

/* In lines of their own: who takes away or sets back one chain must do so with the others, too. */

/* A line audit.heads has in its reason an entry for each replica that wrote since the note before: number, last line, beginning of its hash. */

/* Notes the ends of the other chains if that is due: a replica is there that this process has not noted yet, or an hour has passed (or the
 * process ends) and one of them has written more than such notes. Looks every ten seconds; in between it does nothing. */
int audit_store_note_heads(struct store *store, bool is_end, struct err *err);

/* A row of replicas is made with a signed end, line 0 (replica_store_register), but for the one of the command line and those that releases without that have
 * made. This gives those that have written nothing theirs, once in the life of a database: a row without one has been tampered with from then on, and stays
 * so. A row that somebody has noted had one. Which rows got one is a line of the audit log where there were lines before. */
int audit_store_sign_new(struct store *store, struct err *err);

/* -- refusals ------------------------------------------------------------------------------------------------------------------- */

/* They are noted without waiting for the database, and so that a flood of them fills neither memory nor disk. */

/* The first of a kind (same operation, person, object, outcome, and address by party, net_addr.h) becomes a line of the audit log within a second or so. Those like it within the
 * next minute are counted, and one more line tells how many there were. What finds no room among 128 kinds is counted together. */

/* Notes it. Copies the texts; asks memory only. */
void audit_store_note(struct store *store, const struct audit_event *event);

/* Writes what is due, in one transaction. Blocks. What could not be written stays noted. */
int audit_store_write_notes(struct store *store, struct err *err);

/* -- operations outside of the database --------------------------------------------------------------------------------- */

/* A line when they begin and one when they have ended. */

/* What is done at a vCenter cannot be one transaction with its line. So the line that it begins (result OPERATION_PENDING) is committed before, with a row
 * that goes with the line that says how it ended. A row that nobody closes any more (a kill, a database that was away) is closed as OPERATION_UNKNOWN. */

#define OPERATION_PENDING "pending"
#define OPERATION_UNKNOWN "unknown"

/* Writes the line with the result OPERATION_PENDING, whatever the record says, and the row under this new id. */
int operation_store_begin(struct store *store, const char *id, const struct audit_record *record, struct err *err);

/* How an operation ended. All borrowed. */
struct operation_end {
    const char *id;
    const struct audit_record *record;
};
/* Writes the line and removes the row. If the row is gone (it was closed) the line is written all the same. */
int operation_store_end(struct store *store, const struct operation_end *end, struct err *err);

/* The newest open operation of this replica with this action, source and object; *id (37 bytes) is "" with 0 if there is none. */
int operation_store_find(struct store *store, const struct audit_event *like, char id[UUID_TEXT_BYTES], struct err *err);

/* What nobody works on any more. */
struct operation_left {
    unsigned replica_id;     /* 0: of any replica */
    int64_t begun_before_ms; /* wall clock */
    int64_t now_ms;
};
/* Closes each with a line whose result is OPERATION_UNKNOWN; *closed counts them. */
int operation_store_close(struct store *store, const struct operation_left *left, unsigned *closed, struct err *err);

struct store_tx;
/* operation_store_end as the last part of a greater transaction: the change and its line. A NULL end does nothing. */
int operation_tx_end(struct store_tx *tx, const struct operation_end *end, struct err *err);
