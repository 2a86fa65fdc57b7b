/* Posts the events that wait for a vCenter. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each event is posted at least once: it is claimed in the database before it is posted, and removed once it is posted. An event that was claimed before may
 * be in the vCenter already, so the vCenter's event history is first searched for its id. An event that the vCenter refuses holds up no other: it is tried
 * again behind them for an hour (our extension record may lack its type for moments), and then given up with a line in the log. */
#pragma once

#include "err.h"

struct link;
struct remote;

/* remote_work_fn: posts the events that wait, as many at once as event_plan.h allows. One replica does it, under a lease; the others return 0.
 * ERR_UPSTREAM_DENIED without Global.LogEvent there; ERR_UPSTREAM if the vCenter refuses an event, after all others were posted. */
int event_post_work(struct remote *remote, struct err *err);
