/* Limits how often one person and one address may ask for what writes a row, calls another host, or takes a worker. Layer 6 (api); private to this folder.
 * The figures are in bounds.def.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Counted in the memory of this replica, in tables of fixed size: a flood of addresses evicts those that asked longest ago. */
#pragma once

#include "err.h"

enum bound {
    BOUND_NONE, /* for requests answered from memory: server.requests_per_address limits them */
#define BOUND(name, person_burst, person_per_s, address_burst, address_per_s) BOUND_##name,
#include "bounds.def"
#undef BOUND
    BOUND_COUNT
};

struct bounds;
/* Makes empty counters. ERR_NOMEM. */
int bounds_new(struct bounds **out, struct err *err);
void bounds_free(struct bounds *bounds); /* NULL is allowed */

/* Counts one more request of this bound (not BOUND_NONE). `person`: principal_account of the caller; NULL: not known. ERR_TOO_MANY with retry_after_s. */
int bounds_admit(struct bounds *bounds, enum bound bound, const char *person, const char *address, struct err *err);
