/* Leases: who of the replicas does a singleton job. Times are the database's, so that replicas with different clocks agree. Layer 2 (store).
 * Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
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
