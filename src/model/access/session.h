/* A signed-in session. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "principal.h"

/* How long the jti before the current one is still accepted after a refresh. */
#define SESSION_OLD_JTI_GRACE_MS 30000

/* Most vCenters that one session may speak for, the one of the sign-on included. */
#define SESSION_VCENTERS_MAX 16

/* A further vCenter at which the bearer of a session has proved who it is; it is asked for the rights on its own objects. Texts malloc'ed. */
struct session_vcenter {
    char vcenter_id[37];
    enum source source;
    char *user_name;   /* vCenter's stored form */
    char *session_key; /* as principal.vc_session_key; NULL: rights are asked by user name */
    int64_t added_at_ms;
};
void session_vcenter_done(struct session_vcenter *item); /* NULL is allowed */
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int session_vcenter_copy(const struct session_vcenter *from, struct session_vcenter *out, struct err *err);
bool session_vcenter_eq(const struct session_vcenter *a, const struct session_vcenter *b);

struct session {
    char sid[37];
    struct principal who;  /* with the role that the sign-on gives; role mappings may raise it (src/auth/rights) */
    char jti[37];          /* of the newest token */
    char old_jti[37];      /* of the token before, or "" */
    int64_t rotated_at_ms; /* when old_jti was replaced */
    int64_t created_at_ms;
    int64_t ends_at_ms;               /* absolute end, wall clock */
    int64_t revoked_at_ms;            /* 0: live */
    bool must_change_password;        /* may do nothing but replace the password it was opened with */
    struct session_vcenter *vcenters; /* beside the one in `who`, by vcenter_id; at most SESSION_VCENTERS_MAX - 1 */
    size_t vcenters_count;
    struct group_set groups; /* sealed */
    char *directory_mark;    /* opaque: the directory account as last seen; compared by the code that made it; NULL: not known */
};
void session_done(struct session *s);
void session_free(struct session *s);
CLEANUP_DEFINE(struct session, session_free);
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int session_copy(const struct session *from, struct session *out, struct err *err);

enum session_verdict {
    SESSION_OK,     /* go on */
    SESSION_ENDED,  /* revoked or past its absolute end */
    SESSION_REUSED, /* neither the newest token nor the one before within its grace: revoke the session */
};
/* Judges the use of a token with this jti at this time (wall clock). `s` must be the row as it is in the database now: a token
 * newer than a remembered row looks reused. */
enum session_verdict session_judge(const struct session *s, const char *jti, int64_t now_ms);
