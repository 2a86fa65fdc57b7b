/* Groups of people who are signed in: equal sets, and equal ids in different sets, are in memory once. Layer 5 (auth); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A person in 300 groups has 14 KB of ids, but colleagues are in much the same groups: with both shared, a set of its own costs 8 bytes for each
 * of its groups. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "principal.h"

struct group_pool;
struct group_pool *group_pool_new(void);       /* NULL without memory */
void group_pool_free(struct group_pool *pool); /* when no set of it is left; NULL is allowed */

/* A set that never changes; shared by reference count. */
struct live_groups;
/* The set of the pool that is equal to this sealed one; one reference for the caller. ERR_NOMEM. */
int group_pool_get(struct group_pool *pool, const struct group_set *set, struct live_groups **out, struct err *err);
struct live_groups *live_groups_ref(struct live_groups *groups);
void live_groups_unref(struct live_groups *groups); /* NULL is allowed */

/* The set itself, sealed; borrowed while a reference is held. */
const struct group_set *live_groups_get(const struct live_groups *groups);
/* A number that no other set of this process ever has; 0 for the empty set. */
uint64_t live_groups_mark(const struct live_groups *groups);

/* What is held. */
struct group_pool_size {
    size_t sets, names, places;
};
struct group_pool_size group_pool_size(struct group_pool *pool);
