/* Which version is the newest, and which one each replica runs. Layer 4 (updates).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One replica at a time reads the source, under a lease. It stores a file that it accepts in the database as it was read, and each replica checks the signature
 * again; so all replicas tell the same, and nobody can put an unsigned file into the database. Off unless updates.url or updates.folder is set. */
#pragma once

#include <stdbool.h>

#include "daemon_config.h"
#include "err.h"
#include "finding.h"
#include "json.h"
#include "runtime.h"
#include "store.h"

struct updates;

struct updates_options {
    const struct runtime *runtime;
    const char *replica; /* name by which it holds the lease; copied */
};
int updates_new(const struct updates_options *options, struct updates **out, struct err *err); /* ERR_NOMEM */
void updates_free(struct updates *updates);                                                    /* NULL is allowed */

/* Uses these options from now on; the source is read soon, whenever that was done last. Call at the start, and after a reload. ERR_CONFIG, ERR_IO with a
 * remedy, ERR_NOMEM; then the former options stay in effect. */
int updates_configure(struct updates *updates, const struct config *config, struct err *err);

/* Reads the source if that is due, and takes over what other replicas have stored. To be called every 15 seconds or so, by one thread. Blocks. A source that
 * cannot be read, or whose file is bad, is no error here: updates_check_health tells it. */
int updates_tick(struct updates *updates, struct err *err);
/* Ends a read of the source that is under way, and each later one, at once. NULL is allowed. */
void updates_stop(struct updates *updates);

/* -- from memory, by any thread ------------------------------------------------------------------------------------------------ */

/* Adds the finding `updates`, if a source is set and has been read: a warning if the source or its file is bad; a newer version alone is no warning. Adds
 * `replica_versions` while replicas run different versions: a warning when that has lasted for an hour. */
void updates_check_health(struct updates *updates, struct findings *out);

/* True if a version newer than this program is known. */
bool updates_has_news(struct updates *updates);
/* That newer version, as `available` of GET /v2/version; the caller frees it by json_decref. NULL: none is known. */
json_t *updates_available(struct updates *updates);
/* Names and versions of the running replicas, as `replicas` of GET /v2/version; the caller frees it by json_decref. NULL: the versions do not differ. */
json_t *updates_replicas(struct updates *updates);
