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
