/* Tasks at a vCenter beside its link: their sessions, and the right to change the registration. Layer 4 (vcenter); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A login whose answer was lost, a kill -9 or a connection cut in the wrong moment leaves a session at vCenter that no client uses any more. All our
 * sessions have a user agent with installation and replica, so that session_sweep can find them in sessionList. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "link.h"
#include "vim.h"
#include "vim_session.h"

/* Who has made a session, by its user agent. */
enum session_owner { SESSION_OF_OTHERS, SESSION_OF_LINK, SESSION_OF_TASK };
/* Tells whose session it is: `ours` is session_agent without task. Any version of ours counts as ours; another installation or replica does not. Pure. */
enum session_owner session_owner_of(const char *user_agent, const char *ours);

/* Makes a client of its own for one task at the link's vCenter, not logged in. The link's own session is never touched by it. End it by
 * session_close_task. Errors of vim.h. */
int session_open_task(struct link *link, const char *task, struct vim_client **out, struct err *err);

/* Logs out and frees. If a session may have been left behind, the link is asked to sweep. NULL is allowed. */
void session_close_task(struct link *link, struct vim_client *client);

/* Ends all sessions of this replica but that of the link and that of `client`, the caller's. Sessions of tasks are spared while a task other than the
 * caller's is under way: ERR_BUSY then, call again. Needs Sessions.TerminateSession: ERR_UPSTREAM_DENIED without. ERR_CANCELED if the link is retired; errors
 * of vim.h. */
int session_sweep(struct link *link, struct vim_client *client, struct err *err);

/* remote_work_fn: session_sweep with the link's own session. Returns 0 if the privilege is missing: vc_status.h tells of that. */
int session_sweep_work(struct remote *remote, struct err *err);

/* -- the right to change one vCenter's registration: one holder at a time, over all replicas ----------------------- */

/* Whoever registers, unregisters, repairs, rotates or removes a vCenter takes this lease. Within this process link_begin_admin keeps others away, between
 * replicas a lease in the database ("vcenter:<instance UUID>", two minutes, prolonged between steps). A replica that was killed and comes back under its name
 * is the same holder and need not wait. */

struct admin_lease {
    struct link *link;     /* NULL: nothing is held */
    int64_t renewed_at_ms; /* monotonic clock */
    char holder[40];
};

/* Takes the lease. Blocks for the database, not for other holders: ERR_CONFLICT says who holds it. Errors of store.h. */
int admin_lease_take(struct link *link, struct admin_lease *out, struct err *err);

/* As admin_lease_take, for a person's command: waits up to five seconds for another holder, since what a kaasd does by itself (a repair, a renewal) takes
 * moments. Longer work, such as another person's registration, is still ERR_CONFLICT. */
int admin_lease_await(struct link *link, struct admin_lease *out, struct err *err);

/* Prolongs the lease if it was taken or prolonged 15 s ago or earlier. ERR_CONFLICT if another holder has it now: stop the work. Errors of store.h. */
int admin_lease_renew(struct admin_lease *lease, struct err *err);

/* Gives it back; the lease in the database ends by itself if that fails. NULL and an empty one are allowed. */
void admin_lease_release(struct admin_lease *lease);
