/* JSON of one cluster, made once per change. Layer 3 (inventory); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "snapshot.h"

/* Renders the cluster for a viewer who may see the placements in `mask`. *out is filled; its json is freed by the caller. ERR_NOMEM. */
int inventory_render_cluster(const struct inventory_cluster *entry, const struct inventory_platform *platform, uint64_t mask,
                             struct inventory_fragment *out, struct err *err);
