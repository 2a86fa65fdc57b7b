/* Makes events for vCenters out of what changes in the inventory. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Place and state of a Kubernetes cluster are derived in memory from reports and observations. So the maker compares the inventory with what each vCenter
 * was told last (event_store.h), and writes the new events together with what the vCenter has been told from now on. One replica does this, under a lease,
 * which every replica asks for every 10 seconds. A call when nothing has changed costs no SQL statement. Events about grants are made where grants are
 * written. */
#pragma once

#include "err.h"
#include "vim_watch.h"

struct event_maker;
struct inventory;
struct store;

/* Makes an event maker; store and inventory are borrowed. ERR_NOMEM. Freed by event_maker_free; NULL is allowed there. */
int event_maker_new(struct store *store, struct inventory *inventory, struct event_maker **out, struct err *err);
void event_maker_free(struct event_maker *maker);

/* Notes that a host of this vCenter has begun to enter maintenance mode (event_host.h). Does not block; from any thread. */
void event_maker_note_host(struct event_maker *maker, const char *vcenter_id, const struct vim_watch_maintenance *begun);

/* Makes the events that are due. To be called about once a second, by one thread at a time. Blocks. Errors of the store; then the next call
 * does it. */
int event_maker_tick(struct event_maker *maker, struct err *err);
