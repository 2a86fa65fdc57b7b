/* Tells the service manager the state of the daemon (sd_notify(3): a datagram to $NOTIFY_SOCKET). Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Each does nothing when no service manager listens. */
void notify(const char *state);       /* "READY=1", "STOPPING=1", "STATUS=draining" */
void notify_status(const char *text); /* STATUS=text, cut to one short line */
