/* The master keys over time: which one seals, sealing everything anew by another one. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The key file holds one key or several. Which of them seals stands in the database, so that all replicas change at the same moment: first all of
 * them get the file with the new key, then the new key is chosen, then what the old one sealed is sealed anew, bit by bit. Any step may be cut off
 * and is gone on with by whichever replica comes next. Old values stay readable all the time, since the old key stays in the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "principal.h"
#include "seal.h"
#include "key_store.h"

struct sealing;

struct sealing_options {
    struct store *store;
    struct seal *seal;
    const char *key_file; /* copied */
};
int sealing_new(const struct sealing_options *options, struct sealing **out, struct err *err); /* ERR_NOMEM */
void sealing_free(struct sealing *sealing);                                                    /* NULL is allowed */

/* Follows the database: the key chosen there seals from now on; tells which keys are held here. At start, after SEAL_STORE_CHANGE and after a
 * gap. Blocks. ERR_CONFIG with a remedy if the chosen key, or one that sealed something, is not held. */
int sealing_follow(struct sealing *sealing, struct err *err);

/* The first half of sealing_follow, for before the replica is registered: does this process hold what is needed? Errors as there. */
int sealing_check(struct sealing *sealing, struct err *err);

/* Reads the key file again if it has changed, and seals anew what is due, under a lease. To be called every second or so. Blocks. */
int sealing_tick(struct sealing *sealing, struct err *err);

/* Chooses the last key of the key file, if all running replicas hold it; again, if it is chosen already, it changes nothing. Blocks. ERR_CONFLICT
 * names the replicas, or says that there is no new key. */
int sealing_rotate(struct sealing *sealing, const struct actor *actor, struct err *err);

#define SEALING_ALIVE_MS 60000 /* a replica whose last sign of life is older does not count */

/* How things stand. */
struct sealing_report {
    struct seal_ids held; /* by this replica */
    struct seal_counts counts;
    struct seal_replica_list replicas;
    uint64_t remaining; /* values not yet sealed by the key that seals */
};
void sealing_report_done(struct sealing_report *report); /* NULL is allowed */
/* *out (uninitialised) is given back by sealing_report_done. Blocks. */
int sealing_get_report(struct sealing *sealing, struct sealing_report *out, struct err *err);

/* Adds what is not as it should be in the end, as this replica knows it, while a change of the master key is not at its end; since
 * `started_at_ms`, wall clock. From memory; does not block. */
void sealing_check_health(struct sealing *sealing, int64_t started_at_ms, struct findings *out);

/* Opens every sealed value of a database, in its place; *values counts them. Blocks. ERR_CONFIG if one does not open. Changes nothing. */
int sealing_prove(struct store *store, struct seal *seal, uint64_t *values, struct err *err);

/* Hands each value to `see`, in the clear; it is wiped behind it, and may come twice. *refused counts those that none of the keys opens. Blocks. Changes
 * nothing. Errors of store.h. */
typedef void sealing_see_fn(void *arg, const void *plain, size_t n);
struct sealing_reader {
    sealing_see_fn *see;
    void *arg;
};
int sealing_read(struct store *store, struct seal *seal, const struct sealing_reader *reader, uint64_t *refused, struct err *err);

/* True if a list of ids separated by blanks holds this one. */
bool sealing_holds(const char *key_ids, const char *key_id);
