/* Which vCenters are being watched, so that what they show of nodes counts as evidence. Layer 3 (directory); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a vCenter showed goes on counting for KAAS_OBSERVED_EVIDENCE_MS after it was last watched, and after the start for those that
 * nobody has told about yet: a short break must not turn states over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "limits.h"

struct dir_watched {
    char vcenter_id[KAAS_UUID_BYTES];
    bool is_watched;
    int64_t since_ms; /* monotonic: not watched since */
};

struct dir_watch {
    int64_t started_ms; /* monotonic */
    struct dir_watched *items;
    size_t count;
};
void dir_watch_done(struct dir_watch *watch);

/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int dir_watch_copy(const struct dir_watch *from, struct dir_watch *out, struct err *err);

/* Notes that a vCenter is watched from now on, or no more. ERR_NOMEM. */
int dir_watch_set(struct dir_watch *watch, const char *vcenter_id, bool is_watched, int64_t now_ms, struct err *err);

/* Does what this vCenter shows count at this monotonic time? */
bool dir_watch_counts(const struct dir_watch *watch, const char *vcenter_id, int64_t now_ms);

/* Changes with the answers of dir_watch_counts. */
uint64_t dir_watch_mark(const struct dir_watch *watch, int64_t now_ms);
