/* Verifying the chain of audit lines. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What it proves: no line was removed, changed, put in or moved by somebody who has the database, but neither the master key nor the host of
 * this replica, between the oldest line that is kept and the newest that this replica has written or any replica has noted of another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "store.h"

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
