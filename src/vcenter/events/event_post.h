/* Posts the events that wait for a vCenter. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * At least once: an event is claimed before it is posted and removed when it is there. One that was claimed before may be there already, so the
 * vCenter's event history is asked for it by its id. One that the vCenter refuses holds up no other: it is tried again behind them for an hour (our
 * record may lack its type for moments), and then given up with a line in the log. */
#pragma once

#include "err.h"

struct link;

/* link_work_fn: posts what waits, as many at once as event_plan.h allows. Of several replicas one does, under a lease. ERR_UPSTREAM_DENIED without
 * Global.LogEvent there; ERR_UPSTREAM if the vCenter refuses an event, after all others were posted. */
int event_post_work(struct link *link, struct err *err);
