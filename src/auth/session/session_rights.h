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

/* How far a vCenter's last answer about a person may be used. */
enum signon_part_state {
    SIGNON_PART_FRESH,
    SIGNON_PART_AGING,   /* older than the fresh time; the vCenter is being asked again */
    SIGNON_PART_GRACE,   /* the vCenter is away: the old answer may be used for this read only */
    SIGNON_PART_UNKNOWN, /* there is no usable answer */
    SIGNON_PART_ENDED,   /* the vCenter session by whose key rights are asked has ended */
};
/* "fresh", "aging", "grace", "unknown", "ended"; static. */
const char *signon_part_state_name(enum signon_part_state state);

/* What one vCenter lets the person view. */
struct signon_part {
    char vcenter_id[37];
    bool is_first; /* the vCenter by which the person signed in */
    enum source source;
    int64_t added_at_ms; /* wall clock */
    enum signon_part_state state;
    struct shared_objects *objects; /* NULL when nothing is usable */
    int64_t as_of_ms;               /* wall clock: when the vCenter was asked; 0: no usable answer */
    struct rights_subject *subject; /* private to session_rights.c */
};
/* The person's user name at that vCenter, in its stored form; lives as long as the part. */
const char *signon_part_user(const struct signon_part *part);

/* The rights of the person behind a session; all-zero for people without any vCenter. */
struct session_rights {
    size_t count;
    int wait_for;          /* index of a part for which waiting may give an answer (signon_wait_rights); -1: none */
    bool is_less_than_due; /* a part is missing or used in grace: the HTTP answer says so (KaaS-Stale: rights) */
    struct signon_part parts[SESSION_VCENTERS_MAX];
};
void session_rights_done(struct session_rights *rights); /* NULL is allowed */

/* What a use of rights is for. */
struct signon_use {
    bool is_read;          /* a read by somebody signed in already; see policy_rights_age */
    uint16_t is_given_up;  /* bit i: waiting for part i gave no answer */
    const struct err *why; /* error of the last wait; NULL: none */
    const char *address;   /* for the audit log, which gets one line per session and outage when grace is used */
    const char *request_id;
};

/* Reads the person's rights from memory, up to the age that may be used, and has them kept fresh for a while. Does not block. 0: *out (any content before;
 * freed by session_rights_done) is filled; if out->wait_for is not -1, wait and read again. If nothing is known of any vCenter of a person who signed in by
 * one: ERR_SESSION_ENDED, ERR_RIGHTS_UNKNOWN with retry_after_s and the cause. */
int signon_get_rights(struct signon *signon, struct live_session *live, const struct signon_use *use, struct session_rights *out,
                      struct err *err);

/* Waits for this vCenter's answer about the session's person, to a question asked after every event known now. Questions of requests go before those of the
 * background; all waits for one person share a question. Does not block. ERR_RIGHTS_UNKNOWN with retry_after_s when too many wait, ERR_NOT_FOUND,
 * ERR_CANCELED: then run is not called. */
int signon_wait_rights(struct signon *signon, struct live_session *live, const char *vcenter_id, struct signon_wait *wait,
                       struct err *err);

/* Sends questions that are due and ends waits that took too long. To be called every SIGNON_RIGHTS_TICK_MS. Does not block. */
void signon_rights_tick(struct signon *signon);

/* Writes to the audit log that grace was used; requests only note it, as they do not wait for the database. Call it every second or so. Blocks. */
void signon_write_notes(struct signon *signon);

/* Notes that a permission or role changed at the vCenter: its answers about these people until now, and those to questions under way, are not used any more,
 * not even in grace. `user_name` as vCenter stores it ("DOMAIN\\name", compared without regard to case and domain); NULL, or any other form: everybody of
 * that vCenter. For a change about a group pass NULL. An unknown vCenter or user is no error. Does not block; callable from any thread; cheap enough for
 * every event. */
void signon_drop_rights(struct signon *signon, const char *vcenter_id, const char *user_name);

/* -- role mappings ------------------------------------------------------------------------------------------------------ */

/* The privileges on the root folder of this vCenter that are mapped to a role; none unless signon_options.maps_privileges. An array of *count texts in one
 * block, which the caller frees; NULL: none, or without memory. */
char **signon_mapped_privileges(struct signon *signon, const char *vcenter_id, size_t *count);

/* Reads the role mappings anew; every live session uses them from then on. If the mapped privileges of a vCenter have changed, its people are asked about
 * again. Blocks (database). */
int signon_apply_role_mappings(struct signon *signon, struct err *err);

/* Copies the role mappings in memory. *out (uninitialised) is given back by role_mapping_list_done. Does not block. ERR_NOMEM. */
int signon_list_role_mappings(struct signon *signon, struct role_mapping_list *out, struct err *err);

/* The best role that is mapped to this person or to one of these groups (sealed; NULL: none), or ROLE_NONE. */
enum role signon_mapped_role(struct signon *signon, const char *principal_id, const struct group_set *groups);

/* -- for the other files of sign-on -------------------------------------------------------------------------------------- */

/* Judges how far an answer may be used; `is_read` as in signon_use. */
enum signon_part_state signon_judge(const struct signon *signon, const struct rights_known *known, bool is_read);
/* Checks that the session may get another token now. ERR_RIGHTS_UNKNOWN, ERR_SESSION_ENDED. */
int signon_check_refresh(struct signon *signon, struct live_session *live, struct err *err);
/* Checks that a person of a directory may get another token now. ERR_FORBIDDEN without a role, ERR_RIGHTS_UNKNOWN. */
int signon_check_person(struct signon *signon, struct live_session *live, struct err *err);
void signon_free_notes(struct signon *signon);
/* The role that mappings give the bearer of a session with these groups. */
enum role signon_map_role_of(struct signon *s, const struct principal *who, const struct group_set *groups);
void signon_map_role(struct signon *s,
                     struct live_session *live); /* sets the session's mapped role by the role mappings as they are now */
