/* The running daemons, the installation, and who of the replicas does a singleton job. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "store.h"
#include "uuid.h"

struct replica {
    unsigned id; /* 0 is the command line tools */
    char *name;
    char *version;            /* of the program, from its newest heartbeat; NULL: not told (programs before 0.4) */
    char *machine_uuid;       /* BIOS UUID of the machine it runs on, as the guest reads it; NULL: not known */
    int64_t heartbeat_at_ms;  /* database time; 0: no heartbeat yet, or the replica was stopped */
    int64_t heartbeat_age_ms; /* by the database's clock; -1: no heartbeat yet, or the replica was stopped */
};
struct replica_list {
    struct replica *items; /* by id */
    size_t count;
};
void replica_list_done(struct replica_list *list); /* NULL is allowed */

/* Gives the replica of this name its number (the same after a restart), writes a heartbeat and calls store_set_replica.
 * *previous_age_ms is the age of its last heartbeat before, -1 if it is new: a small age hints at two daemons with one name. */
int replica_store_register(struct store *store, const char *name, unsigned *replica_id, int64_t *previous_age_ms,
                           struct err *err);

/* Notes that this replica (store_get_replica) lives. */
int replica_store_heartbeat(struct store *store, struct err *err);

/* Notes the BIOS UUID of the machine that this replica runs on; NULL: not known. */
int replica_store_note_machine(struct store *store, const char *machine_uuid, struct err *err);

/* Notes that this replica stops, so that the others know at once: its heartbeat is 0 until it is registered again. */
int replica_store_leave(struct store *store, struct err *err);

/* Reads all. *out (uninitialised) is given back by replica_list_done. */
int replica_store_list(struct store *store, struct replica_list *out, struct err *err);

/* -- the identity of the installation ------------------------------------------------------ */

/* Gives the installation's UUID. The first call ever makes it; all replicas get the same. */
int installation_store_load(struct store *store, char uuid[UUID_TEXT_BYTES], struct err *err);

/* Notes that a backup is written which has the database as it was at this wall-clock time. Changes nothing if a newer backup is noted. ERR_NOT_FOUND
 * without an installation. */
int installation_store_note_backup(struct store *store, int64_t at_ms, struct err *err);

struct installation_age {
    int64_t made_at_ms;   /* wall clock; 0: there is no installation yet */
    int64_t backup_at_ms; /* of the newest backup; 0: none was made */
};
int installation_store_load_age(struct store *store, struct installation_age *out, struct err *err);

/* -- leases -------------------------------------------------------------------------------------------------------- */

/* Times are the database's, so that replicas with different clocks agree. */

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
