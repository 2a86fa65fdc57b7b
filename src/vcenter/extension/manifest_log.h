/* Who fetched the plug-in's manifest: the proof that a vCenter can reach us. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A vCenter fetches the manifest once for each version of our extension record, from any replica. So the last fetch of each known vCenter is kept in the
 * database, one row for each (vcenter_store.h). Fetches from other addresses are remembered in memory only, a few of them: whoever can reach us can make
 * them. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "vcenter_store.h"

struct platform;
struct manifest_log;

/* An empty log. ERR_NOMEM. */
int manifest_log_new(struct manifest_log **out, struct err *err);
void manifest_log_free(struct manifest_log *log); /* NULL is allowed */

/* Notes that `address` fetched the manifest of this version. Does not block; when the log is full the oldest fetch is dropped. */
void manifest_log_note(struct manifest_log *log, const char *address, const char *version);

/* Finds out which vCenters the noted fetches came from, by the addresses their names resolve to, and stores that. Blocks (name service, database); does
 * nothing when no fetch was noted. A fetch that could not be stored is tried again by the next call. Errors of store.h. */
int manifest_log_settle(struct manifest_log *log, struct platform *platform, struct err *err);

/* The newest fetch from an address that is no vCenter's. False if there is none. */
bool manifest_log_find_stranger(struct manifest_log *log, struct manifest_fetch *out);
