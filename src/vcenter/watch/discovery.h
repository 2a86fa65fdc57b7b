/* From what is read of a vCenter to what the database holds: vSphere clusters and the HX clusters among them. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "refused_rows.h"
#include "link.h"
#include "watch_mirror.h"

#define DISCOVERY_IGNORED_MAX 100

/* What a run found. */
struct discovery_result {
    unsigned vsphere_clusters;
    unsigned hx_clusters;          /* present now */
    unsigned added, changed, gone; /* HX clusters */
    char **ignored_keys;           /* extension keys that look like HX but name no cluster of this vCenter */
    size_t ignored_count;
    int64_t scanned_at_ms;
    struct refused_rows refused; /* objects that the database refuses; the others are saved */
    bool differs_from_watch;     /* the full read showed something else than the watch knew: a defect, corrected by this run */
};
void discovery_result_done(struct discovery_result *result); /* NULL is allowed */

/* Writes to the database what `read` differs in; the watch or rescan_run has read it. `out` may be NULL. Blocks. ERR_UPSTREAM_DENIED: `read` has no
 * clusters, the database has some, and our session lacks the right to see them; errors of vim.h and store.h. */
int discovery_save(struct link *link, const struct watch_inventory *read, struct discovery_result *out, struct err *err);

/* Asks whether our session has System.View and System.Read on the root folder. ERR_UPSTREAM_DENIED if not; errors of vim.h. Blocks. */
int discovery_check_rights(struct link *link, struct err *err);
