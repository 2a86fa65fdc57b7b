/* Sign-on: proofs become sessions, sessions become tokens, tokens become principals. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls marked "blocks" run in lanes. What belongs to vCenter is handed in as functions (struct signon_vcenter_ops), since the
 * rooms of this storey do not include each other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "lane.h"
#include "live_session.h"
#include "object_ref.h"
#include "policy.h"
#include "session.h"
#include "signon_bearer.h"
#include "signon_checks.h"
#include "signon_keys.h"
#include "signon_person.h"
#include "signon_rights.h"
#include "signon_sessions.h"

struct seal;
struct signon;
struct store;

/* What a vCenter said about the bearer of a proof. Texts malloc'ed. */
struct signon_identity {
    char *user_name;   /* vCenter's stored form */
    char *full_name;   /* may be NULL */
    char *session_key; /* UserSession.key; NULL when the session was ours and is gone */
    bool is_extension; /* a program's session: refused */
};
void signon_identity_done(struct signon_identity *identity); /* NULL is allowed */

/* What sign-on needs from vCenters; provided by main/wire.c. They block unless they say otherwise. */
struct signon_vcenter_ops {
    void *arg;
    /* Checks a proof at the vCenter. ERR_CREDENTIALS and the errors of vim.h. */
    int (*check)(void *arg, const struct signon_proof *proof, struct signon_identity *out, struct err *err);
    /* Which of the vSphere clusters that matter may this person view? By session key if `session_key` is given, else by user name. */
    int (*ask_rights)(void *arg, const char *vcenter_id, const char *session_key, const char *user_name, struct object_set *out,
                      struct err *err);
    /* True if the vCenter could not be reached at the last attempt. Does not block. */
    bool (*is_unreachable)(void *arg, const char *vcenter_id);
    /* A number that is another one once other vSphere clusters of this vCenter matter. Does not block. */
    uint64_t (*mark_of_interest)(void *arg, const char *vcenter_id);
    /* Has fn(fn_arg, false) run once in the lane of the vCenter, as lane_submit_for. Does not block. ERR_BUSY, ERR_NOT_FOUND. */
    int (*submit)(void *arg, const char *vcenter_id, uint64_t party, lane_fn *fn, void *fn_arg, struct err *err);
};

/* What one principal may do; sessions through a program that acts for a person are counted apart, for each program. */
struct signon_limits {
    unsigned sessions_max; /* live sessions; one more ends the one used longest ago; 0: any number */
    unsigned
        per_s; /* good sign-ons a second at this replica, after a pause half a minute's worth at once; up to 1000; 0: any number */
};

struct signon_options {
    struct store *store;
    struct seal *seal;
    struct signon_vcenter_ops vcenter;
    struct signon_directory_ops directory; /* .check NULL: nobody is asked again */
    int64_t directory_check_ms;            /* how old what a directory said about somebody signed in may get */
    const char *issuer;                    /* `iss` of tokens; copied */
    int64_t token_lifetime_ms;
    int64_t session_lifetime_ms;        /* absolute end */
    int64_t ticket_session_lifetime_ms; /* absolute end after a clone ticket */
    int64_t signing_key_lifetime_ms;    /* a key is replaced when it has signed for so long; 0: never by itself */
    int64_t signing_key_publish_ms;     /* how long a key is published before it signs */
    int64_t rights_fresh_ms;            /* people who are active are asked about again before their rights get older */
    bool maps_privileges;               /* role mappings by privileges of vCenters count */
    unsigned rights_rechecks_per_s;     /* bound per vCenter; one second's worth may go out at once after a pause */
    struct signon_limits limits;
    size_t sessions_in_memory_max; /* 0: 200,000 (about 100 MB); the others are read when their tokens come */
    size_t group_places_max;       /* groups of all of them; 0: 16 million (128 MB) */
};

/* Makes the room, empty. ERR_NOMEM. Freed by signon_free when no call runs. */
int signon_new(const struct signon_options *options, struct signon **out, struct err *err);
void signon_free(struct signon *signon); /* NULL is allowed */
/* For sign-ons from now on; sessions that are too many end with the next one. */
void signon_set_limits(struct signon *signon, struct signon_limits limits);
/* Ends all waits for rights; nothing is asked about them any more. To be called before the lanes of the vCenters end. NULL is allowed. */
void signon_stop(struct signon *signon);

/* Loads signing keys (making the first one) and as many live sessions as memory has room for; what has ended elsewhere ends here. Blocks. To be repeated until it succeeds,
 * and whenever changes may have been missed. */
int signon_load(struct signon *signon, struct err *err);

/* A signed-in session with its first token. */
struct signon_grant {
    char *token; /* JWT; a secret, freed by signon_grant_done */
    int64_t token_lifetime_ms;
    int64_t session_ends_at_ms; /* wall clock */
};
void signon_grant_done(struct signon_grant *grant); /* NULL is allowed */

/* Name and password of a local user. Blocks (hashing). ERR_CREDENTIALS, ERR_TOO_MANY (with retry_after_s), ERR_FORBIDDEN. */
int signon_login_local(struct signon *signon, const struct actor *actor, const char *user, const char *password,
                       struct signon_grant *out, struct err *err);

/* Does the signed-in local user know the password? Slowed down as a sign-on. Blocks (hashing). ERR_CREDENTIALS, ERR_TOO_MANY. */
int signon_prove_local(struct signon *signon, const struct actor *actor, const char *password, struct err *err);

/* Signs in by a proof whose check was waited for. Blocks (database). What the check ended with; extension sessions give ERR_FORBIDDEN. */
int signon_login_vcenter(struct signon *signon, const struct actor *actor, struct signon_check *check, struct signon_grant *out,
                         struct err *err);

/* The next token of the session. `jti` is the one of the presented token. Blocks. ERR_SESSION_ENDED when the token was used after
 * its grace: the whole session is revoked then; also when the vCenter session behind it has ended. ERR_RIGHTS_UNKNOWN when only grace
 * would be left of the rights. */
int signon_refresh(struct signon *signon, const char *sid, const char *jti, struct signon_grant *out, struct err *err);

/* Ends a session here and, through the change feed, on every replica. Blocks. */
int signon_logout(struct signon *signon, const struct actor *actor, const char *sid, struct err *err);

/* -- one person over several vCenters ----------------------------------------------------------------------------------- */

/* Adds a further vCenter to a live session, by a proof whose check was waited for; an earlier proof for it is replaced. The person stays who signed
 * in, the role stays what it was, and the session ends at the earliest end of all. Blocks (database). As signon_login_vcenter;
 * ERR_CONFLICT for the vCenter the person came from (the check need not have been waited for then) and beyond SESSION_VCENTERS_MAX;
 * ERR_SESSION_ENDED. */
int signon_add_vcenter(struct signon *signon, const struct actor *actor, struct live_session *live, struct signon_check *check,
                       struct err *err);
/* Is this the vCenter by which the bearer signed in? */
bool signon_is_first_vcenter(struct live_session *live, const char *vcenter_id);

/* Takes it away again, here and on every replica. Blocks. ERR_NOT_FOUND; ERR_CONFLICT for the one the person came from. */
int signon_remove_vcenter(struct signon *signon, const struct actor *actor, struct live_session *live, const char *vcenter_id,
                          struct err *err);

/* Applies a change that another replica (or we) made to sessions, users or keys. Blocks. */
int signon_apply_session_change(struct signon *signon, const char *sid, struct err *err);

/* Removes ended sessions from memory and database. Blocks. */
int signon_purge(struct signon *signon, struct err *err);
