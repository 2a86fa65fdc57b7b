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

/* Appends the line of an action that is not part of a transaction: with the time of now, the outcome `rc`, and, behind the record's own reason, the text
 * of `why` (may be NULL). If the line cannot be written, the action is not held up: audit_store_lost counts it. */
void audit_store_append_outcome(struct store *store, const struct audit_record *record, int rc, const struct err *why);
/* The counter of lines that could not be written (kaas_audit_lost_total). */
struct metric *audit_store_lost(void);

/* Appends several in one transaction: all or none. */
int audit_store_append_batch(struct store *store, const struct audit_record *records, size_t count, struct err *err);

/* Sets a function that is called with each committed line, in the thread that wrote it. Set once, before other threads write. NULL: none. */
void store_set_audit_listener(struct store *store, void (*fn)(void *arg, const struct audit_record *record), void *arg);

/* -- the chain: each line has a hash over the line before (audit_chain.h) -------------------------------------------------------- */

struct seal;
/* From now on lines get hashes, under a key that all replicas share. It is stored in the database, sealed; the first replica makes it. ERR_CONFIG if
 * the master key that sealed it is not held. */
int audit_store_open_key(struct store *store, struct seal *seal, struct err *err);
#define AUDIT_KEY_ID "chain"
#define AUDIT_KEY_PURPOSE "audit-key:" AUDIT_KEY_ID

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

/* The place of a line in the order of lines: by time, then replica, then number. */
struct audit_place {
    int64_t at_ms; /* wall clock */
    unsigned replica_id;
    uint64_t seq;
};

struct audit_entry {
    struct audit_place place;
    char *texts[AUDIT_TEXTS]; /* malloc'ed; NULL: not known */
};

/* Which lines to read. NULL and 0 do not restrict; texts are compared whole. */
struct audit_query {
    int64_t since_ms, until_ms; /* wall clock: at or after since_ms, before until_ms */
    const char *action, *principal_id, *acting_id, *source, *object_kind, *object_id, *address, *result, *request_id;
    unsigned limit;
    bool has_after; /* only lines behind the place `after`, in the order of the answer */
    struct audit_place after;
};
struct audit_page {
    struct audit_entry *items; /* newest first */
    size_t count;
    bool is_more;
};
void audit_page_done(struct audit_page *page); /* NULL is allowed */

/* Reads one page; lines that are written meanwhile do not shift the next one. *out (uninitialised) is given back by audit_page_done. */
int audit_store_list(struct store *store, const struct audit_query *query, struct audit_page *out, struct err *err);

/* Deletes lines of a replica from the old end: of the first `limit` all up to the last one that is older than this wall-clock time. The place
 * of the new old end is signed, so that the chain can still be verified. *deleted is their number. */
struct audit_pruning {
    unsigned replica_id;
    int64_t older_than_ms;
    unsigned limit;
};
int audit_store_prune(struct store *store, const struct audit_pruning *pruning, unsigned long *deleted, struct err *err);

/* -- the newest signed end of this replica's chain in its state folder ----------------------------------------------------- */

/* A database that does not have the line of that end has lost audit lines, or is an older copy of itself. */

/* Sets where the file is. Call once, before other threads use the store. ERR_NOMEM. */
int audit_store_set_place(struct store *store, const char *state_dir, const char *replica_name, struct err *err);

/* Compares the database with the file. A replica without a file takes what the database holds, and writes a line about that. Needs the key and the
 * number of the replica. ERR_AUDIT_BEHIND names the replica, what was found, and what to do; ERR_IO. */
int audit_store_start(struct store *store, struct err *err);

/* Writes the file if a line was committed since the last time. Touches no database. */
int audit_store_save_head(struct store *store, struct err *err);

/* Makes the replica go on from what the database holds though audit_store_start refuses it, since `who` has looked at it and wants that. A line tells
 * who did so and what was missing. ERR_CONFLICT if nothing is missing; ERR_UNAVAILABLE while the key is not known. */
int audit_store_accept(struct store *store, const struct audit_event *who, struct err *err);

/* -- verifying ----------------------------------------------------------------------------------------------------- */

/* What a verification proves: nobody who has the database, but neither the master key nor the host of this replica, has removed, changed, put in or moved a
 * line between the oldest line that is kept and the newest that this replica has written or any replica has noted of another. */

/* The chains, by number of their replica: those of replicas that have a row, and of others that have lines or are noted in lines. */
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
    AUDIT_FAULT_BROKEN,   /* there is a line audit.break: kaasd had noticed a wrong head itself */
};
/* "none", "removed", "changed", "inserted", "head", "broken"; static. */
const char *audit_fault_name(enum audit_fault fault);

/* One part of a verification, and what was found in it. */
struct audit_verification {
    unsigned replica_id; /* in */
    uint64_t
        after_seq;  /* in: the last line that the part before looked at; 0: from the old end. Out: the value for the next part */
    unsigned limit; /* in: about how many lines to look at */
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

/* Replicas write these notes as audit lines: so whoever shortens one chain must change the others, too. */

/* A line audit.heads has in its reason an entry for each replica that wrote since the note before: number, last line, beginning of its hash. */

/* Notes the ends of the other chains if that is due: there is a replica that this process has not noted yet, or an hour has passed (or is_end: the
 * process ends) and another replica has written other lines than such notes. Looks every ten seconds; calls in between do nothing. */
int audit_store_note_heads(struct store *store, bool is_end, struct err *err);

/* Signs the rows of replicas that have written no line and have no signed end yet, once in the life of a database. replica_store_register makes rows with a
 * signed end, line 0; only the row of the command line and rows made by older releases have none. From then on a row without one has been tampered with,
 * and is not signed again, nor is one that another replica has noted. If there were lines before, a line of the audit log names the rows that were signed. */
int audit_store_sign_new(struct store *store, struct err *err);

/* -- refusals ------------------------------------------------------------------------------------------------------------------- */

/* Refusals are noted in memory, without waiting for the database, and so that a flood of them fills neither memory nor disk. */

/* The first refusal of a kind (all texts the same but request id and reason; addresses by party, net_addr.h) becomes a line of the audit log within a second
 * or so. Those of the same kind within the next minute are counted, and one more line tells how many there were. Refusals that find no room among 128 kinds
 * are counted together. */

/* Notes a refusal. Copies the texts; uses memory only. */
void audit_store_note(struct store *store, const struct audit_event *event);

/* Writes the lines that are due, in one transaction. Blocks. Refusals whose lines could not be written stay noted. */
int audit_store_write_notes(struct store *store, struct err *err);

/* -- operations outside of the database --------------------------------------------------------------------------------- */

/* An operation has a line when it begins and one when it has ended. */

/* An operation at a vCenter cannot be one transaction with its line. So a line that it begins (result OPERATION_PENDING) is committed before it, together with
 * a row. The line that says how it ended removes the row. A row that is left (kaasd was killed, or the database was away) is closed as OPERATION_UNKNOWN. */

#define OPERATION_PENDING "pending"
#define OPERATION_UNKNOWN "unknown"

/* Writes the line with the result OPERATION_PENDING, whatever the record says, and the row under this new id. */
int operation_store_begin(struct store *store, const char *id, const struct audit_record *record, struct err *err);

struct store_tx;
/* The same as a part of a greater transaction. A row whose id is that of a job is never closed as left over: the job goes on with whichever replica takes it. */
int operation_tx_begin(struct store_tx *tx, const char *id, const struct audit_record *record, struct err *err);

/* How an operation ended. All borrowed. */
struct operation_end {
    const char *id;
    const struct audit_record *record;
};
/* Writes the line and removes the row. If the row is gone (it was closed) the line is written all the same. */
int operation_store_end(struct store *store, const struct operation_end *end, struct err *err);

/* The newest open operation of this replica with this action, source and object; *id (37 bytes) is "" with 0 if there is none. */
int operation_store_find(struct store *store, const struct audit_event *like, char id[UUID_TEXT_BYTES], struct err *err);

/* Which open operations nobody works on any more. */
struct operation_left {
    unsigned replica_id;     /* 0: of any replica */
    int64_t begun_before_ms; /* wall clock */
    int64_t now_ms;
};
/* Closes each with a line whose result is OPERATION_UNKNOWN; *closed counts them. */
int operation_store_close(struct store *store, const struct operation_left *left, unsigned *closed, struct err *err);

/* operation_store_end as the last part of a greater transaction: the change and its line. A NULL end does nothing. */
int operation_tx_end(struct store_tx *tx, const struct operation_end *end, struct err *err);
