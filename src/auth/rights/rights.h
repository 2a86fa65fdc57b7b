/* The rights of signed-in people, as their vCenters state them: reading, waiting, events. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "grant_store.h"
#include "live_session.h"
#include "session.h"

struct signon;

/* How much of what a vCenter said may be used. */
enum signon_part_state {
    SIGNON_PART_FRESH,
    SIGNON_PART_AGING,   /* older than the fresh time; being asked again */
    SIGNON_PART_GRACE,   /* the vCenter is away: for this read only */
    SIGNON_PART_UNKNOWN, /* nothing usable */
    SIGNON_PART_ENDED,   /* the session there by which it is asked has ended */
};
/* "fresh", "aging", "grace", "unknown", "ended"; static. */
const char *signon_part_state_name(enum signon_part_state state);

/* What one vCenter lets the person view. */
struct signon_part {
    char vcenter_id[37];
    bool is_first; /* the one the person came from */
    enum source source;
    int64_t added_at_ms; /* wall clock */
    enum signon_part_state state;
    struct shared_objects *objects; /* NULL when nothing is usable */
    int64_t as_of_ms;               /* wall clock, when it was asked; 0: nothing usable */
    struct rights_subject *subject; /* of this room */
};
/* As whom that vCenter knows the person, in its stored form; lives as long as the part. */
const char *signon_part_user(const struct signon_part *part);

/* The rights of the person behind a session; all-zero for people without any vCenter. */
struct session_rights {
    size_t count;
    int wait_for;          /* the part that can be had by waiting; -1: none */
    bool is_less_than_due; /* a part is missing or used in grace: said in the answer (KaaS-Stale: rights) */
    struct signon_part parts[SESSION_VCENTERS_MAX];
};
void session_rights_done(struct session_rights *rights); /* NULL is allowed */

/* What a use of rights is for. */
struct signon_use {
    bool is_read;          /* a read by somebody signed in already; see policy_rights_age */
    uint16_t is_given_up;  /* bit i: part i was waited for in vain */
    const struct err *why; /* what became of the last wait; NULL: none */
    const char *address;   /* for the audit log, which gets one line per session and outage when grace is used */
    const char *request_id;
};

/* Reads the rights from memory, however old up to the hard limit, and has them kept fresh for a while. Does not block. 0: *out (any content
 * before; freed by session_rights_done) is filled; if out->wait_for is not -1, wait and read again. Otherwise nothing is known of any
 * vCenter of a person who came from one: ERR_SESSION_ENDED, ERR_RIGHTS_UNKNOWN with retry_after_s and what stands in the way. */
int signon_get_rights(struct signon *signon, struct live_session *live, const struct signon_use *use, struct session_rights *out,
                      struct err *err);

/* Waits for what this vCenter says about the bearer of the session: an answer to a question that is asked after every event known now.
 * Requests go before the background; who waits for the same person shares the question. Does not block. ERR_RIGHTS_UNKNOWN with
 * retry_after_s when the line is too long, ERR_NOT_FOUND, ERR_CANCELED: then run is not called. */
int signon_wait_rights(struct signon *signon, struct live_session *live, const char *vcenter_id, struct signon_wait *wait,
                       struct err *err);

/* Sends questions that are due and ends waits that took too long. To be called every SIGNON_RIGHTS_TICK_MS. Does not block. */
void signon_rights_tick(struct signon *signon);

/* Writes what requests could not write themselves, as they do not wait for the database: the use of grace, into the audit log. To be called
 * every second or so. Blocks. */
void signon_write_notes(struct signon *signon);

/* A permission or role changed at the vCenter: what it said until now about these people is not used any more, not even in grace, and answers
 * to questions that were under way count for nothing. `user_name` as vCenter stores it ("DOMAIN\\name", compared without regard to case, the
 * domain's spelling left out); NULL, or any other form: everybody of that vCenter. For a change about a group pass NULL. An unknown
 * vCenter or user is no error. Does not block; callable from any thread; cheap enough for every event. */
void signon_drop_rights(struct signon *signon, const char *vcenter_id, const char *user_name);

/* -- role mappings ------------------------------------------------------------------------------------------------------ */

/* Which privileges on the root folder of this vCenter are mapped; none unless signon_options.maps_privileges. An array of *count texts in one block,
 * which the caller frees; NULL for none, or without memory. */
char **signon_mapped_privileges(struct signon *signon, const char *vcenter_id, size_t *count);

/* Reads the role mappings anew; every live session counts them from then on. Where privileges of a vCenter are mapped otherwise, its people are asked
 * about again. Blocks (database). */
int signon_apply_role_mappings(struct signon *signon, struct err *err);

/* A copy of the role mappings that count now. *out (uninitialised) is given back by role_mapping_list_done. Does not block. ERR_NOMEM. */
int signon_list_role_mappings(struct signon *signon, struct role_mapping_list *out, struct err *err);

/* The role that is mapped to this person, or to one of these groups (sealed; NULL: none), or ROLE_NONE. */
enum role signon_mapped_role(struct signon *signon, const char *principal_id, const struct group_set *groups);

/* -- for the files of this folder -------------------------------------------------------------------------------------- */

/* How much of what is known may be used. */
enum signon_part_state signon_judge(const struct signon *signon, const struct rights_known *known, bool is_read);
/* May the session get another token now? ERR_RIGHTS_UNKNOWN, ERR_SESSION_ENDED. */
int signon_check_refresh(struct signon *signon, struct live_session *live, struct err *err);
void signon_free_notes(struct signon *signon);
/* The role that mappings give the bearer of a session with these groups. */
enum role signon_map_role_of(struct signon *s, const struct principal *who, const struct group_set *groups);
void signon_map_role(struct signon *s, struct live_session *live); /* by the role mappings as they are now */
