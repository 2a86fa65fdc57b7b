/* Makes events for vCenters out of what changes in the inventory. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a Kubernetes cluster is, and its state, follow from what was reported and what is observed, in memory only; so the inventory is compared with
 * what the vCenters were told of (event_store.h), and the events are written with what is told from now on. One replica does that, under a lease, for which each
 * asks every 10 seconds; a second in which nothing has changed costs no statement.
 * Events about grants are made where grants are written. */
#pragma once

#include "err.h"

struct event_maker;
struct inventory;
struct store;

/* Both are borrowed. ERR_NOMEM. Freed by event_maker_free; NULL is allowed there. */
int event_maker_new(struct store *store, struct inventory *inventory, struct event_maker **out, struct err *err);
void event_maker_free(struct event_maker *maker);

/* Makes the events that are due. To be called about once a second, by one thread at a time. Blocks. Errors of the store; then the next call
 * does it. */
int event_maker_tick(struct event_maker *maker, struct err *err);
