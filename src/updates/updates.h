/* Which version is the newest, and which one each replica runs. Layer 4 (updates).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One replica looks at the source, under a lease. What it accepts stands in the database as it was read, and each replica looks at its signature again; so all tell
 * the same, and the database cannot tell what nobody has signed. Off unless updates.url or updates.folder is set. */
#pragma once

#include <stdbool.h>

#include "daemon_config.h"
#include "err.h"
#include "finding.h"
#include "json.h"
#include "store.h"

struct updates;

struct updates_options {
    struct store *store; /* outlives it */
    const char *replica; /* holder of the lease; copied */
    const char *version; /* that runs here; copied */
};
int updates_new(const struct updates_options *options, struct updates **out, struct err *err); /* ERR_NOMEM */
void updates_free(struct updates *updates);                                                    /* NULL is allowed */

/* From now on by these options; the source is looked at soon, whenever that was done last. At the start, and after a reload. ERR_CONFIG, ERR_IO with a remedy,
 * ERR_NOMEM; then what was in effect goes on. */
int updates_configure(struct updates *updates, const struct config *config, struct err *err);

/* Looks at the source if that is due, and learns what the other replicas know. To be called every 15 seconds or so, by one thread. Blocks. That the source is not
 * as it should be is no error of this. */
int updates_tick(struct updates *updates, struct err *err);
/* Ends a look that is under way, and each later one, at once. NULL is allowed. */
void updates_stop(struct updates *updates);

/* -- from memory, by any thread ------------------------------------------------------------------------------------------------ */

/* Adds the line `updates`, if that is on and was looked at: a warning if the source or its file is not as it should be; that there is a newer version is none. Adds
 * `replica_versions` while replicas run different ones: a warning when that has lasted for an hour. */
void updates_check_health(struct updates *updates, struct findings *out);

/* Whether updates_available has something. */
bool updates_has_news(struct updates *updates);
/* What is newer than the version that runs here, as `available` of GET /v2/version: the caller's. NULL: nothing is known to be. */
json_t *updates_available(struct updates *updates);
/* Names and versions of the replicas that are alive, if these differ, as `replicas` there: the caller's. NULL: they do not. */
json_t *updates_replicas(struct updates *updates);
