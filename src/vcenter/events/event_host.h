/* Hosts that begin to enter maintenance mode while control planes of Kubernetes clusters run there. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every replica hears of them by its watch and keeps them for a while; the one that makes events (event_make.h) judges them. Which was told of is known by
 * the key of vCenter's event (event_store_save_host), so another replica that takes over tells of none again. */
#pragma once

#include "err.h"
#include "object_ref.h"
#include "vim_watch.h"

struct event_hosts;
struct inventory_snapshot;
struct store;

int event_hosts_new(struct event_hosts **out, struct err *err); /* ERR_NOMEM. Freed by event_hosts_free. */
void event_hosts_free(struct event_hosts *hosts);               /* NULL is allowed */

/* Keeps what a vCenter told. Does not block; from any thread. What happened before the watch began is not kept once it is EVENT_HOST_KEPT_MS ago. */
void event_hosts_note(struct event_hosts *hosts, const char *vcenter_id, const struct vim_watch_maintenance *begun);
#define EVENT_HOST_KEPT_MS (10LL * 60 * 1000)

/* Forgets what has been kept for EVENT_HOST_KEPT_MS. */
void event_hosts_age(struct event_hosts *hosts);

/* Writes an event for each host kept on which a cluster has two of its control planes, or those without which it has no majority; then it is kept no more. One
 * thread at a time. Errors of the store, ERR_NOMEM: what is left is kept. */
int event_hosts_make(struct event_hosts *hosts, struct store *store, const struct inventory_snapshot *snapshot, struct err *err);
