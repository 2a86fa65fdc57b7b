/* A full read of the inventory of a vCenter, beside its watch. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "discovery.h"

/* Reads vSphere clusters and extension keys of the vCenter, compares them with what the watch knows, and writes them to the database. A difference that is
 * still there after several reads is counted (watch_note_difference) and told in the result. `out` may be NULL; discovery_result_done gives it back. Blocks;
 * identical runs are not shared here. Errors of vim.h and store.h. */
int rescan_run(struct link *link, struct discovery_result *out, struct err *err);
