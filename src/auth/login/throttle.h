/* Slowing down guesses: counts by keys, in a table of fixed size; and the gate that passwords pass. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A flood of keys evicts the counts that were touched longest ago, and costs no memory. Each key is used in one of the three ways below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct actor;
struct signon;

struct throttle;

struct throttle *throttle_new(void);           /* NULL without memory */
void throttle_free(struct throttle *throttle); /* NULL is allowed */

struct throttle_key {
    char kind;        /* keeps keys of different meaning apart */
    const char *name; /* NULL: none; of a long one the first 1,000 bytes count */
    uint64_t party;   /* net_addr.h; 0: none */
};

/* -- delays: failures in a row; 1 s after the first that is not free, doubling to 60 s, forgotten after 15 minutes without one ---------------- */

/* How long to wait from now on before another try; 0: not at all. The first `free_tries` failures cost nothing. */
int64_t throttle_delay_ms(struct throttle *throttle, const struct throttle_key *key, unsigned free_tries);
void throttle_fail(struct throttle *throttle, const struct throttle_key *key);
void throttle_forgive(struct throttle *throttle, const struct throttle_key *key); /* one of them */
void throttle_forget(struct throttle *throttle, const struct throttle_key *key);  /* all of them */

/* -- paces: so many at once, and one more in each span of time --------------------------------------------------------------------------------- */

struct throttle_pace {
    int64_t burst, every_ms;
};
/* How long until there is one more; 0: there is one now. */
int64_t throttle_pace_ms(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace);
void throttle_spend(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace);
/* Spends one if there is one now, in one step: 0. Else nothing, and as throttle_pace_ms. */
int64_t throttle_take(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace);

/* -- marks ------------------------------------------------------------------------------------------------------------------------------------- */

/* Notes that something happened under the key. */
void throttle_mark(struct throttle *throttle, const struct throttle_key *key);
/* Did it, within this time? */
bool throttle_is_marked(struct throttle *throttle, const struct throttle_key *key, int64_t within_ms);

/* -- passwords --------------------------------------------------------------------------------------------------------- */

#define SIGNON_FREE_TRIES 5U        /* failed tries in a row without delay, of one party at one name */
#define SIGNON_FREE_TRIES_PARTY 50U /* of one party at any names: many people may share an address */

/* Throttling of one try of a password. Zeroed it is open, and notes nothing: for credentials that nobody can guess. */
struct gate {
    struct signon *signon;
    char *name;
    uint64_t party;
    bool is_from_fresh_site;
};
/* `where` is "local", "ldap:corp" or a vCenter; `account` the name there, in one spelling but for case and blanks. Freed by gate_done in any case.
 * ERR_TOO_MANY with retry_after_s, ERR_NOMEM. */
int gate_open(struct gate *gate, struct signon *signon, const struct actor *actor, const char *where, const char *account,
              struct err *err);
/* Is it still open? ERR_TOO_MANY. */
int gate_check(const struct gate *gate, struct err *err);
/* What came of the try; only ERR_CREDENTIALS was a guess. */
void gate_note(const struct gate *gate, int rc);
void gate_done(struct gate *gate);
