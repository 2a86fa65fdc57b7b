/* What the two ways of building a snapshot share. Layer 3 (directory); private to snapshot.c and snapshot_next.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "snapshot.h"

/* A snapshot without clusters that has room for `count` of them; one reference, of the platform too. NULL: out of memory. */
struct dir_snapshot *dir_snapshot_begin(struct dir_platform *platform, size_t count);

/* The order of clusters[], for qsort over struct dir_cluster *. */
int dir_compare_by_name(const void *a, const void *b);
