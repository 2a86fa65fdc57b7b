/* Sessions in memory, with the rights that vCenter gave them. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "grant.h"
#include "principal.h"
#include "rights_cache.h"
#include "session.h"

/* Groups of people who are signed in. A person in 300 groups has 14 KB of ids, but colleagues are in much the same groups: equal sets, and equal ids in different
 * sets, are in memory once, so that a set of its own costs 8 bytes for each of its groups. */

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

struct live_session;
/* One more reference; returns the session. */
struct live_session *live_session_ref(struct live_session *live);
void live_session_unref(struct live_session *live); /* NULL is allowed */
CLEANUP_DEFINE(struct live_session, live_session_unref);

/* What sessions have in common in memory. */
struct live_shared {
    struct rights_cache *cache;
    struct group_pool *pool;
};
/* Makes one from a row, which it takes over also on failure. One reference. ERR_NOMEM. */
int live_session_new(struct session *row, const struct live_shared *shared, struct live_session **out, struct err *err);

/* Never change while a reference is held; the role in it is the one that the way of the sign-on gave. */
const struct principal *live_session_who(const struct live_session *live);
const char *live_session_sid(const struct live_session *live);
int64_t live_session_created_ms(const struct live_session *live); /* wall clock */
int64_t live_session_ends_ms(struct live_session *live);          /* wall clock, absolute end; only ever moves closer */

/* The role that the person has now, by its record or way of signing in and by the role mappings; and whether nothing but a change of the
 * password is allowed, which follows the user's record. */
enum role live_session_role(const struct live_session *live);
bool live_session_must_change_password(const struct live_session *live);

/* What the role mappings give at the moment, as signon_map_role found out. */
void live_session_set_mapped(struct live_session *live, enum role mapped);

/* The groups that the person is a member of, as the directory said last; one reference for the caller. */
struct live_groups *live_session_groups(struct live_session *live);
/* live_groups_mark of them. */
uint64_t live_session_groups_mark(const struct live_session *live);
/* What the account was like then; malloc'ed, NULL: not known. */
char *live_session_directory_mark(struct live_session *live);

/* When the directory is to be asked about the bearer again, and when it last said something good; monotonic. For a session just made it has just done
 * so, but it is asked at once: a ticket may be older than what became of the account. */
struct live_check {
    int64_t due_ms, good_ms;
};
struct live_check live_session_check(struct live_session *live);
void live_session_note_check(struct live_session *live, struct live_check check);

/* Judges a token's jti against what is known in memory; a good one is a use. */
enum session_verdict live_session_judge(struct live_session *live, const char *jti, int64_t now_ms);
/* Takes jti, old jti, rotation, revocation, end, role, groups and vCenters over from a row just read, which stays the caller's. What was revoked stays so,
 * even if the row was read before. ERR_NOMEM. */
int live_session_update(struct live_session *live, const struct live_shared *shared, const struct session *row, struct err *err);
/* True if the row's further vCenters and groups are the ones in memory. */
bool live_session_fits(struct live_session *live, const struct session *row);
/* Ends it in memory. */
void live_session_revoke(struct live_session *live, int64_t now_ms);
/* True once the session was revoked or its end has passed. */
bool live_session_has_ended(struct live_session *live, int64_t now_ms);

/* One vCenter that the session speaks for. Copied; part_done gives the texts back. */
struct live_part {
    struct rights_subject *subject; /* one reference */
    bool is_first;                  /* the one the person came from */
    enum source source;
    int64_t added_at_ms;
    int64_t noted_outage_ms; /* the outage whose grace was noted in the audit log last */
};
/* The vCenters it speaks for, the first one first; at most SESSION_VCENTERS_MAX. Returns the number; each is given back by live_part_done. */
size_t live_session_parts(struct live_session *live, struct live_part *out);
void live_part_done(struct live_part *part);
/* Remembers that grace in this outage was noted; false if it was before. */
bool live_session_note_grace(struct live_session *live, const char *vcenter_id, int64_t outage_ms);

/* Sessions by sid. One is in one table at most. */
struct session_table;
struct session_table *session_table_new(void);        /* NULL without memory */
void session_table_free(struct session_table *table); /* NULL is allowed */
/* With one reference for the caller; NULL if absent. */
struct live_session *session_table_find(struct session_table *table, const char *sid);
/* Puts a session in (one more reference is taken), unless there is one with this sid: that stays. Returns the one that is in now, with one
 * reference for the caller. */
struct live_session *session_table_put(struct session_table *table, struct live_session *live);
/* References to the sessions of one principal, or to all (`principal_id` NULL), an array of *count that the caller frees after live_session_unref on each. NULL without memory. */
struct live_session **session_table_list(struct session_table *table, const char *principal_id, size_t *count);
void session_table_remove(struct session_table *table, const char *sid);
/* Takes it out unless somebody holds it; false: it is in. */
bool session_table_forget(struct session_table *table, const char *sid);
/* Takes one out that nobody holds: of dozens that are looked at, the one that was used longest ago; an administrator's only when there are hardly others. With
 * `wants_groups` one of a member of groups. False if there is none. */
bool session_table_evict(struct session_table *table, bool wants_groups);
/* Removes what has ended; returns the number. */
size_t session_table_purge(struct session_table *table, int64_t now_ms);
size_t session_table_count(struct session_table *table);

/* -- which grants are those of somebody who is signed in --------------------------------------------------------------- */

/* Of 20,000 grants those to a person and to hundreds of groups take a while to find, so each session keeps the places of its own until the grants or
 * the groups are others. */

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
