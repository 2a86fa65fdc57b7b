/* The audit trail. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit.h"
#include "err.h"
#include "store.h"

struct metric;

/* Appends one event. Texts longer than their column are cut at a character: an audit line must never fail for its length. */
int audit_store_append(struct store *store, const struct audit_record *record, struct err *err);

/* Appends the line of what has no transaction to be in: as of now, with the outcome `rc`. It must not stand in the way of what it describes: if it
 * cannot be written it is counted. */
void audit_store_append_outcome(struct store *store, const struct audit_record *record, int rc);
/* The counter of lines that could not be written (kaas_audit_lost_total). */
struct metric *audit_store_lost(void);

/* Appends several in one transaction: all or none. */
int audit_store_append_batch(struct store *store, const struct audit_record *records, size_t count, struct err *err);

/* Has each line told to this function when it is committed, in the thread that wrote it. Set once, before other threads write. NULL: nobody. */
void store_set_audit_listener(struct store *store, void (*fn)(void *arg, const struct audit_record *record), void *arg);

/* -- the chain: each line has a hash over the line before (audit_mac.h) -------------------------------------------------------- */

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

/* The texts of a line. Their places are part of what is hashed (audit_mac.h): new ones go to the end. */
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
