/* How often one person and one address may ask for what makes a row, asks somebody outside, or holds a worker. Layer 6 (api); private to this
 * folder. The figures are bounds.def.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Counted in the memory of this replica, in tables of fixed size: a flood of addresses makes it forget those that asked longest ago. */
#pragma once

#include "err.h"

enum bound {
    BOUND_NONE, /* of what memory answers: server.requests_per_address is enough */
#define BOUND(name, person_burst, person_per_s, address_burst, address_per_s) BOUND_##name,
#include "bounds.def"
#undef BOUND
    BOUND_COUNT
};

struct bounds;
/* ERR_NOMEM. */
int bounds_new(struct bounds **out, struct err *err);
void bounds_free(struct bounds *bounds); /* NULL is allowed */

/* Counts one more of this class, not BOUND_NONE. `person`: whose count it is in (principal_account); NULL: who asks is not known. ERR_TOO_MANY
 * with retry_after_s. */
int bounds_admit(struct bounds *bounds, enum bound bound, const char *person, const char *address, struct err *err);
