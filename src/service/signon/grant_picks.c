/* Which grants are those of somebody who is signed in. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "grant_picks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "live_session.h"
#include "policy.h"

struct grant_picks {
    atomic_uint refs;
    uint64_t pile, groups; /* what they were picked from, and for which groups */
    size_t count;
    uint32_t places[];
};

const uint32_t *grant_picks_get(const struct grant_picks *picks, size_t *count) {
    *count = picks->count;
    return picks->places;
}

uint64_t grant_picks_groups(const struct grant_picks *picks) {
    return picks->groups;
}

struct grant_picks *grant_picks_ref(struct grant_picks *picks) {
    (void)atomic_fetch_add(&picks->refs, 1);
    return picks;
}

void grant_picks_unref(struct grant_picks *picks) {
    if (picks && atomic_fetch_sub(&picks->refs, 1) == 1)
        free(picks);
}

bool grant_picks_are_for(const struct grant_picks *picks, uint64_t pile, uint64_t groups) {
    return pile && picks->pile == pile && picks->groups == groups;
}

static struct grant_picks *make(const struct grant_pile *pile, uint64_t groups, const uint32_t *places, size_t count) {
    struct grant_picks *picks = malloc(sizeof(*picks) + count * sizeof(*places));
    if (!picks)
        return NULL;
    atomic_init(&picks->refs, 1);
    picks->pile = pile->number;
    picks->groups = groups;
    picks->count = count;
    if (count)
        memcpy(picks->places, places, count * sizeof(*places));
    return picks;
}

static int pick(struct live_session *live, const struct grant_pile *pile, struct grant_picks **out, struct err *err) {
    struct live_groups *groups = live_session_groups(live);
    const struct policy_grantee who = {live_session_who(live)->id, live_groups_get(groups)};
    uint64_t mark = live_groups_mark(groups);
    _cleanup_free_ uint32_t *places = NULL;
    size_t count = 0;
    int rc = policy_pick_grants(pile->items, pile->count, &who, &places, &count, err);
    live_groups_unref(groups);
    if (rc)
        return rc;
    struct grant_picks *picks = make(pile, mark, places, count);
    if (!picks)
        return err_set(err, ERR_NOMEM, "no memory for grants");
    *out = picks;
    return 0;
}

int live_session_pick_grants(struct live_session *live, const struct grant_pile *pile, struct grant_picks **out,
                             struct err *err) {
    struct grant_picks *picks = live_session_find_picks(live, pile->number);
    int rc = picks ? 0 : pick(live, pile, &picks, err);
    if (rc)
        return rc;
    if (pile->number)
        live_session_keep_picks(live, picks);
    *out = picks;
    return 0;
}
