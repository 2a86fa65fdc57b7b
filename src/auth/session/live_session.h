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

/* Groups of people who are signed in. A person in 300 groups has 14 KB of ids, but colleagues are in much the same groups: equal sets, and equal ids in
 * different sets, are in memory once, so that a set of its own costs 8 bytes for each of its groups. */

struct group_pool;
struct group_pool *group_pool_new(void);       /* NULL without memory */
void group_pool_free(struct group_pool *pool); /* call it when no set of the pool is left; NULL is allowed */

/* A set that never changes; shared by reference count. */
struct live_groups;
/* Gets the pool's set that is equal to this sealed one, made if there is none; one reference for the caller. ERR_NOMEM. */
int group_pool_get(struct group_pool *pool, const struct group_set *set, struct live_groups **out, struct err *err);
struct live_groups *live_groups_ref(struct live_groups *groups);
void live_groups_unref(struct live_groups *groups); /* NULL is allowed */

/* The set itself, sealed; borrowed while a reference is held. */
const struct group_set *live_groups_get(const struct live_groups *groups);
/* A number that no other set of this process ever has; 0 for the empty set. */
uint64_t live_groups_mark(const struct live_groups *groups);

/* The number of sets, of different names of groups, and of places in all sets. */
struct group_pool_size {
    size_t sets, names, places;
};
struct group_pool_size group_pool_size(struct group_pool *pool);

struct live_session;
/* One more reference; returns the session. */
struct live_session *live_session_ref(struct live_session *live);
void live_session_unref(struct live_session *live); /* NULL is allowed */
CLEANUP_DEFINE(struct live_session, live_session_unref);

/* What all sessions in memory share. */
struct live_shared {
    struct rights_cache *cache;
    struct group_pool *pool;
};
/* Makes a session from a row, which it takes over also on failure. One reference. ERR_NOMEM. */
int live_session_new(struct session *row, const struct live_shared *shared, struct live_session **out, struct err *err);

/* Principal and sid never change while a reference is held; the principal's role is the one given at sign-on, see live_session_role. */
const struct principal *live_session_who(const struct live_session *live);
const char *live_session_sid(const struct live_session *live);
int64_t live_session_created_ms(const struct live_session *live); /* wall clock */
int64_t live_session_ends_ms(struct live_session *live);          /* wall clock, absolute end; only ever moves closer */

/* The role that the person has now, the better of the record's or the sign-on's and the mapped one; and whether the user must change the password before
 * anything else, as the user's record says. */
enum role live_session_role(const struct live_session *live);
bool live_session_must_change_password(const struct live_session *live);

/* Sets the role that the role mappings give now (signon_map_role). */
void live_session_set_mapped(struct live_session *live, enum role mapped);

/* The groups that the person is a member of, as the directory said last; one reference for the caller. */
struct live_groups *live_session_groups(struct live_session *live);
/* live_groups_mark of the session's groups. */
uint64_t live_session_groups_mark(const struct live_session *live);
/* The directory's mark (ldapdir_person.mark) of that time; malloc'ed, NULL: not known. */
char *live_session_directory_mark(struct live_session *live);

/* When the directory is to be asked about the person again, and when it last confirmed the person; monotonic. For a new session both are the time it was
 * made: it is asked at once, as a ticket may be older than a change of the account. */
struct live_check {
    int64_t due_ms, good_ms;
};
struct live_check live_session_check(struct live_session *live);
void live_session_note_check(struct live_session *live, struct live_check check);

/* Judges a token's jti by the session in memory; a good one counts as a use of the session. */
enum session_verdict live_session_judge(struct live_session *live, const char *jti, int64_t now_ms);
/* Copies jti, old jti, rotation, revocation, end, role, groups and vCenters of a row just read, which stays the caller's. A revoked session stays revoked,
 * even if the row was read before. ERR_NOMEM. */
int live_session_update(struct live_session *live, const struct live_shared *shared, const struct session *row, struct err *err);
/* True if the row's further vCenters and groups are the ones in memory. */
bool live_session_fits(struct live_session *live, const struct session *row);
/* Revokes the session in memory. */
void live_session_revoke(struct live_session *live, int64_t now_ms);
/* True once the session was revoked or its end has passed. */
bool live_session_has_ended(struct live_session *live, int64_t now_ms);

/* One vCenter of the session. live_part_done gives the reference back. */
struct live_part {
    struct rights_subject *subject; /* one reference */
    bool is_first;                  /* the one the person came from */
    enum source source;
    int64_t added_at_ms;
    int64_t noted_outage_ms; /* the last outage (rights_known.outage_ms) whose grace was noted in the audit log */
};
/* Copies the vCenters of the session, first the one by which the person signed in; at most SESSION_VCENTERS_MAX. Returns the number; each is given back by
 * live_part_done. */
size_t live_session_parts(struct live_session *live, struct live_part *out);
void live_part_done(struct live_part *part);
/* Notes that grace was used in this outage; false if it was noted before. */
bool live_session_note_grace(struct live_session *live, const char *vcenter_id, int64_t outage_ms);

/* Sessions by sid. A session is in one table at most. */
struct session_table;
struct session_table *session_table_new(void);        /* NULL without memory */
void session_table_free(struct session_table *table); /* NULL is allowed */
/* Finds a session, with one reference for the caller; NULL if absent. */
struct live_session *session_table_find(struct session_table *table, const char *sid);
/* Puts a session in (one more reference is taken), unless there is one with this sid, which then stays. Returns the one in the table, with one reference for
 * the caller. */
struct live_session *session_table_put(struct session_table *table, struct live_session *live);
/* References to the sessions of one principal, or to all (`principal_id` NULL): an array of *count that the caller frees after live_session_unref on each.
 * NULL without memory. */
struct live_session **session_table_list(struct session_table *table, const char *principal_id, size_t *count);
void session_table_remove(struct session_table *table, const char *sid);
/* Removes a session unless somebody else holds a reference; false: it is still in the table. */
bool session_table_forget(struct session_table *table, const char *sid);
/* Removes one session that nobody else holds a reference to: of dozens that are looked at, the one used longest ago; an administrator's only if there are
 * hardly others. `wants_groups`: only a session of a member of groups. False if there is none. */
bool session_table_evict(struct session_table *table, bool wants_groups);
/* Removes the sessions that have ended; returns their number. */
size_t session_table_purge(struct session_table *table, int64_t now_ms);
size_t session_table_count(struct session_table *table);

/* -- finding the grants of a signed-in person -------------------------------------------------------------------------- */

/* To find the grants of a person and of hundreds of groups among 20,000 takes a while, so each session keeps the positions of its grants until the grants or
 * the groups change. */

/* All grants, with a number that identifies this list of them. 0: nothing is kept for it. */
struct grant_pile {
    const struct grant *items; /* in the order of grant_compare */
    size_t count;
    uint64_t number;
};

/* Positions in such a list, ordered by kind and object of the grant. Shared; never changes. */
struct grant_picks;
/* The positions of the grants to the session's person and groups; kept in the session. One reference for the caller. ERR_NOMEM. */
int live_session_pick_grants(struct live_session *live, const struct grant_pile *pile, struct grant_picks **out, struct err *err);
/* live_groups_mark of the groups for which they were picked. */
uint64_t grant_picks_groups(const struct grant_picks *picks);
const uint32_t *grant_picks_get(const struct grant_picks *picks, size_t *count);
void grant_picks_unref(struct grant_picks *picks); /* NULL is allowed */
