/* How old the newest backup is, from memory. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "store.h"

/* Wall-clock times; 0: not read yet, or none. Zeroed at first; written by one thread, read by any. */
struct backup_health {
    _Atomic int64_t made_at_ms;   /* when the installation was made */
    _Atomic int64_t backup_at_ms; /* of the newest backup */
};

/* Reads both times from the database; on failure they stay as they were. Blocks. */
int backup_health_sync(struct backup_health *health, struct store *store, struct err *err);

/* When the newest good backup of the installation began, whichever host made it: wall clock; 0: none was made, or it is not known yet. */
int64_t backup_health_last_ms(const struct backup_health *health);

/* Adds the finding `backup` once the database has been read: a warning if the newest backup, or without one the installation, is older than warn_after_ms
 * (0: no finding). */
void backup_health_check(const struct backup_health *health, int64_t warn_after_ms, struct findings *out);
