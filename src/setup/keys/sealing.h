/* Changes of the master key: which key seals, and sealing all values anew with another one. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The key file holds one key or several. The database says which of them seals, so that all replicas change at the same moment: first all of them get the
 * file with the new key, then the new key is chosen, then the values that the old one sealed are sealed anew, some at a time. Each step may be interrupted;
 * any replica can go on with it. Old values stay readable all the time, since the old key stays in the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "principal.h"
#include "runtime.h"
#include "seal.h"
#include "seal_store.h"

struct sealing;

struct sealing_options {
    const struct runtime *runtime;
    const char *key_file; /* copied */
};
int sealing_new(const struct sealing_options *options, struct sealing **out, struct err *err); /* ERR_NOMEM */
void sealing_free(struct sealing *sealing);                                                    /* NULL is allowed */

/* Follows the database: the key chosen there seals from now on; notes there which keys this replica holds. Call at start, after SEAL_STORE_CHANGE and after a
 * gap of the change feed. Blocks. ERR_CONFIG with a remedy if the chosen key, or one that sealed something, is not held. */
int sealing_follow(struct sealing *sealing, struct err *err);

/* The first half of sealing_follow, for use before the replica is registered: checks that this process holds the keys that are needed. Errors as
 * sealing_follow. */
int sealing_check(struct sealing *sealing, struct err *err);

/* Reads the key file again if it has changed, and seals values anew if any are due, under a lease. To be called every second or so. Blocks. */
int sealing_tick(struct sealing *sealing, struct err *err);

/* Chooses the last key of the key file, if all running replicas hold it. Blocks. ERR_CONFLICT names the replicas that do not, or says that there is no
 * new key. */
int sealing_rotate(struct sealing *sealing, const struct actor *actor, struct err *err);

#define SEALING_ALIVE_MS 60000 /* a replica whose last heartbeat is older does not count as running */

/* The state of a change of the master key. */
struct sealing_report {
    struct seal_ids held; /* by this replica */
    struct seal_counts counts;
    struct seal_replica_list replicas;
    uint64_t remaining; /* values not yet sealed by the key that seals */
};
void sealing_report_done(struct sealing_report *report); /* NULL is allowed */
/* *out (uninitialised) is given back by sealing_report_done. Blocks. */
int sealing_get_report(struct sealing *sealing, struct sealing_report *out, struct err *err);

/* Adds a warning while a change of the master key is not finished, as this replica knows it; `started_at_ms` is the time of it (wall clock). Uses memory
 * only; does not block. */
void sealing_check_health(struct sealing *sealing, int64_t started_at_ms, struct findings *out);

/* Unseals every sealed value of a database, to prove that it opens; *values counts them. Blocks. ERR_CONFIG if one does not open. Changes nothing. */
int sealing_prove(struct store *store, struct seal *seal, uint64_t *values, struct err *err);

/* Calls `see` with each sealed value in the clear, which is wiped afterwards; a value may come twice. *refused counts values that none of the keys opens.
 * Blocks. Changes nothing. Errors of store.h. */
typedef void sealing_see_fn(void *arg, const void *plain, size_t n);
struct sealing_reader {
    sealing_see_fn *see;
    void *arg;
};
int sealing_read(struct store *store, struct seal *seal, const struct sealing_reader *reader, uint64_t *refused, struct err *err);

/* True if a list of ids separated by blanks holds this one. */
bool sealing_holds(const char *key_ids, const char *key_id);
