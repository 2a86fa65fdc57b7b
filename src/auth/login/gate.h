/* The gate that passwords pass: how often one may be tried. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct actor;
struct signon;

#define SIGNON_FREE_TRIES 5U        /* failed tries in a row without delay, of one party at one name */
#define SIGNON_FREE_TRIES_PARTY 50U /* of one party at any names: many people may share an address */

/* Throttling of one try of a password. Zeroed it is open, and notes nothing: for credentials that nobody can guess. */
struct gate {
    struct signon *signon;
    char *name;
    uint64_t party;
    bool is_from_fresh_site;
};
/* Opens the gate for one try, or refuses it. `where` is "local", "ldap:corp" or a vCenter; `account` the name there, in one spelling but for case and blanks.
 * Freed by gate_done in any case. ERR_TOO_MANY with retry_after_s, ERR_NOMEM. */
int gate_open(struct gate *gate, struct signon *signon, const struct actor *actor, const char *where, const char *account,
              struct err *err);
/* Asks the throttle again. ERR_TOO_MANY with retry_after_s. */
int gate_check(const struct gate *gate, struct err *err);
/* Notes the outcome of the try: 0 is a success, ERR_CREDENTIALS a wrong guess; any other code is not counted. */
void gate_note(const struct gate *gate, int rc);
void gate_done(struct gate *gate);
