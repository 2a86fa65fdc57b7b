/* JSON of one cluster, made once per change. Layer 3 (inventory); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "snapshot.h"

/* Renders the cluster as someone sees it who may see the placements in `mask`. *out is filled; its json is freed by the caller. ERR_NOMEM. */
int dir_render_cluster(const struct dir_cluster *entry, const struct dir_platform *platform, uint64_t mask,
                       struct dir_fragment *out, struct err *err);
