/* Leases: who of the replicas does a singleton job. Times are the database's, so that replicas with different clocks agree. Layer 2 (store).
 * Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "store.h"

/* Takes the lease if it is free, has expired, or is held by this holder already (then it is prolonged). *is_mine tells. */
int lease_store_acquire(struct store *store, const char *name, const char *holder, int64_t ttl_ms, bool *is_mine,
                        struct err *err);

/* Prolongs a lease; ERR_CONFLICT if it is not (or no longer) this holder's: stop the work. */
int lease_store_renew(struct store *store, const char *name, const char *holder, int64_t ttl_ms, struct err *err);

/* Gives it back, so that others need not wait for its end. Not being the holder is no error. */
int lease_store_release(struct store *store, const char *name, const char *holder, struct err *err);

#define LEASE_HOLDER_BYTES 101
struct lease {
    char holder[LEASE_HOLDER_BYTES];
    int64_t left_ms; /* until it expires; 0 or less: expired */
};
/* Reads who holds the lease. ERR_NOT_FOUND if nobody ever did, or it was given back. */
int lease_store_load(struct store *store, const char *name, struct lease *out, struct err *err);

/* -- leases whose holder writes by a number ---------------------------------------------------------------------------- */

/* A replica that was paused does not know that it has lost its lease. So what it writes names the lease's number, which rises with each holder, and is written
 * only while that is in force. */
#define LEASE_NAME_BYTES 101
struct lease_fence {
    char name[LEASE_NAME_BYTES];
    int64_t number;
};
/* Takes the lease for this replica (store_replica_name), with a new number. ERR_BUSY while another replica holds it. */
int lease_store_take(struct store *store, const char *name, int64_t ttl_ms, struct lease_fence *out, struct err *err);
/* Gives it back, if it is this replica's still. */
void lease_store_give_back(struct store *store, const struct lease_fence *fence);

/* Leases that somebody holds now. */
struct leases {
    struct lease_in_force {
        char name[LEASE_NAME_BYTES];
        bool is_ours; /* held by this replica, */
        int64_t number;
    } * items; /* by name */
    size_t count;
};
void leases_done(struct leases *leases); /* NULL is allowed */
/* Prolongs all leases of this replica that are in force and whose names begin with `prefix`, and lists those with such names that are in force, whoever holds
 * them. *out (uninitialised) is given back by leases_done. */
int lease_store_renew_all(struct store *store, const char *prefix, int64_t ttl_ms, struct leases *out, struct err *err);

struct store_tx;
/* For the beginning of a transaction that writes what the lease is for: ERR_PRECONDITION if its number is no longer in force. NULL: 0. */
int lease_tx_check(struct store_tx *tx, const struct lease_fence *fence, struct err *err);
