/* The running daemons, and the installation. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "store.h"
#include "uuid.h"

struct replica {
    unsigned id; /* 0 is the command line tools */
    char *name;
    int64_t heartbeat_at_ms;  /* database time; 0: never */
    int64_t heartbeat_age_ms; /* by the database's clock; -1: never */
};
struct replica_list {
    struct replica *items; /* by id */
    size_t count;
};
void replica_list_done(struct replica_list *list); /* NULL is allowed */

/* Gives the replica of this name its number (the same after a restart), beats its heart once and calls store_set_replica.
 * *previous_age_ms is the age of its last heartbeat before, -1 if it is new: a small age hints at two daemons with one name. */
int replica_store_register(struct store *store, const char *name, unsigned *replica_id, int64_t *previous_age_ms,
                           struct err *err);

/* Notes that this replica (store_get_replica) lives. */
int replica_store_heartbeat(struct store *store, struct err *err);

/* Reads all. *out (uninitialised) is given back by replica_list_done. */
int replica_store_list(struct store *store, struct replica_list *out, struct err *err);

/* -- the identity of the installation ------------------------------------------------------ */

/* Gives the installation's UUID, made by whoever asks first; everybody gets the same. */
int installation_store_load(struct store *store, char uuid[UUID_TEXT_BYTES], struct err *err);
