/* The right to change one vCenter's registration: one holder at a time, over all replicas. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Registering, unregistering, repairing, rotating and removing a vCenter take it. Within this process link_begin_admin keeps others away, between
 * replicas a lease in the database ("vcenter:<instance UUID>", two minutes, prolonged between steps). A replica that was killed and comes
 * back under its name is the same holder and need not wait. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "link.h"

struct admin_lease {
    struct link *link;     /* NULL: nothing is held */
    int64_t renewed_at_ms; /* monotonic clock */
    char holder[40];
};

/* Takes it. Blocks for the database, not for other holders: ERR_CONFLICT says who works there. Errors of store.h. */
int admin_lease_take(struct link *link, struct admin_lease *out, struct err *err);

/* The same for a person's command: what this or another kaasd does by itself (a repair, a renewal) takes moments, so waits up to five seconds
 * for the other holder. Longer work, such as another person's registration, is still ERR_CONFLICT. */
int admin_lease_await(struct link *link, struct admin_lease *out, struct err *err);

/* Prolongs it when that is due. ERR_CONFLICT if another one holds it now: stop the work. Errors of store.h. */
int admin_lease_renew(struct admin_lease *lease, struct err *err);

/* Gives it back; the lease in the database ends by itself if that fails. NULL and an empty one are allowed. */
void admin_lease_release(struct admin_lease *lease);
