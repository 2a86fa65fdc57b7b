/* Slowing down guesses: counts by keys, in a table of fixed size. Layer 5 (auth). The gate that passwords pass is gate.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A flood of keys evicts the counts that were touched longest ago, and costs no memory. Each key is used in one of the three ways below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct throttle;

struct throttle *throttle_new(void);           /* NULL without memory */
void throttle_free(struct throttle *throttle); /* NULL is allowed */

struct throttle_key {
    char kind;        /* keeps keys of different meaning apart */
    const char *name; /* NULL: none; of a long one the first 1,000 bytes count */
    uint64_t party;   /* net_addr.h; 0: none */
};

/* -- delays: failures in a row; 1 s after the first that is not free, doubling to 60 s, forgotten after 15 minutes without one ---------------- */

/* Time in ms until another try is allowed; 0: now. The first `free_tries` failures cost nothing. */
int64_t throttle_delay_ms(struct throttle *throttle, const struct throttle_key *key, unsigned free_tries);
void throttle_fail(struct throttle *throttle, const struct throttle_key *key);
void throttle_forgive(struct throttle *throttle, const struct throttle_key *key); /* takes one failure back */
void throttle_forget(struct throttle *throttle, const struct throttle_key *key);  /* takes all failures back */

/* -- paces: `burst` uses at once, and one more every `every_ms` --------------------------------------------------------------------------------- */

struct throttle_pace {
    int64_t burst, every_ms;
};
/* Time in ms until a use is allowed; 0: now. */
int64_t throttle_pace_ms(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace);
void throttle_spend(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace);
/* throttle_pace_ms and, if a use is allowed now, throttle_spend, in one step: returns 0 then. Else spends nothing and returns the time to wait. */
int64_t throttle_take(struct throttle *throttle, const struct throttle_key *key, const struct throttle_pace *pace);

/* -- marks ------------------------------------------------------------------------------------------------------------------------------------- */

/* Notes that something happened under the key. */
void throttle_mark(struct throttle *throttle, const struct throttle_key *key);
/* True if throttle_mark was called for the key within the last `within_ms`. */
bool throttle_is_marked(struct throttle *throttle, const struct throttle_key *key, int64_t within_ms);
