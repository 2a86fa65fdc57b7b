/* Our sessions at a vCenter: how they are known, and ending those that were left behind. Layer 4 (service/platform); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A login whose answer was lost, a kill -9, a connection cut in the wrong moment leave a session at vCenter that nobody holds any more. All
 * sessions of ours bear a user agent with installation and replica, so that the next login can find them in sessionList. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "link.h"
#include "vim.h"
#include "vim_session.h"

struct platform;

/* "Harmony-KaaS/1.0 (<installation>; replica-3)"; the client of one task has its name behind: "...; replica-3; registration)". Caller
 * frees; NULL without memory. */
char *session_agent(const struct platform *platform, const char *task);

/* Whose session one is, by its user agent. */
enum session_owner { SESSION_OF_OTHERS, SESSION_OF_LINK, SESSION_OF_TASK };
/* `ours` is session_agent without task. Any version of ours counts; another installation or replica does not. Pure. */
enum session_owner session_owner_of(const char *user_agent, const char *ours);

/* Makes a client of its own for one task at the link's vCenter, not logged in. The link's own session is never touched by it. End it by
 * session_close_task. Errors of vim.h. */
int session_open_task(struct link *link, const char *task, struct vim_client **out, struct err *err);

/* Logs out and frees. If a session may have been left behind, the link is asked to sweep. NULL is allowed. */
void session_close_task(struct link *link, struct vim_client *client);

/* Ends all sessions of this replica but that of the link and that of `client`, which asks; sessions of tasks only if no task of the link is
 * under way, or if it is the one that asks: else ERR_BUSY, ask again. Needs Sessions.TerminateSession: ERR_UPSTREAM_DENIED without. */
int session_sweep(struct link *link, struct vim_client *client, struct err *err);

/* link_work_fn: as session_sweep with the link's own session. A missing privilege is no failure: status tells it. */
int session_sweep_work(struct link *link, struct err *err);
