/* Slowing down guesses: delays after failed sign-ons, never lock-outs. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"

struct throttle;

struct throttle *throttle_new(void);           /* NULL without memory */
void throttle_free(struct throttle *throttle); /* NULL is allowed */

/* May somebody try now under this key ("user:anna", "address:192.0.2.7")? 0, or ERR_TOO_MANY with retry_after_s. The first
 * `free_tries` failures in a row cost nothing. */
int throttle_check(struct throttle *throttle, const char *key, unsigned free_tries, struct err *err);

/* Notes the outcome of a try: a success forgets the failures of the key. */
void throttle_note(struct throttle *throttle, const char *key, int rc);

/* Takes one failure off the key. */
void throttle_forgive(struct throttle *throttle, const char *key);
