/* How many bad tokens are looked at closely: a bound on what a flood of them may cost. Layer 4 (service/signon); private.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checking a signature costs about 85 us, and everybody can make any number of tokens that look good until then. Only checks that failed are
 * counted, so that no number of good tokens is ever held up, whoever shares an address. Tokens that name a live session and its newest token are
 * counted apart: their bearers go on while others at their address send garbage. */
#pragma once

#include <stdbool.h>

#include "err.h"

struct bad_tokens;

struct bad_tokens *bad_tokens_new(void);         /* NULL without memory */
void bad_tokens_free(struct bad_tokens *tokens); /* NULL is allowed */

/* May another token from this address be checked? `is_known`: it names a live session. 0, or ERR_TOO_MANY with retry_after_s. */
int bad_tokens_check(struct bad_tokens *tokens, const char *address, bool is_known, struct err *err);

/* A check failed. */
void bad_tokens_note(struct bad_tokens *tokens, const char *address, bool is_known);
