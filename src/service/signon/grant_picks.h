/* Which grants are those of somebody who is signed in. Layer 4 (service/signon). Part of signon.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Of 20,000 grants those to a person and to hundreds of groups take a while to find, so each session keeps the places of its own until the grants or
 * the groups are others. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "grant.h"

struct live_session;

/* All grants, and the number under which they are known; other ones have another number. 0: nothing is kept of it. */
struct grant_pile {
    const struct grant *items; /* in the order of grant_compare */
    size_t count;
    uint64_t number;
};

/* Places in such a pile, by kind and object of the grant. Shared; never changes. */
struct grant_picks;
/* The places of the grants to the bearer and to its groups; from memory when they were looked for before. One reference for the caller. ERR_NOMEM. */
int live_session_pick_grants(struct live_session *live, const struct grant_pile *pile, struct grant_picks **out, struct err *err);
/* live_groups_mark of the groups they were picked for. */
uint64_t grant_picks_groups(const struct grant_picks *picks);
const uint32_t *grant_picks_get(const struct grant_picks *picks, size_t *count);
void grant_picks_unref(struct grant_picks *picks); /* NULL is allowed */
