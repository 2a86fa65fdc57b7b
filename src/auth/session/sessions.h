/* Makes, reads, lists and ends sessions; verifies presented tokens. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "live_session.h"
#include "session_store.h"
#include "token.h"
#include "uuid.h"

struct actor;
struct group_set;
struct signon;

/* A session with a token just issued for it. */
struct signon_issued {
    char *token; /* JWT; a secret, freed by signon_issued_done */
    int64_t token_lifetime_ms;
    int64_t session_ends_at_ms; /* wall clock */
    char sid[UUID_TEXT_BYTES];
};
void signon_issued_done(struct signon_issued *issued); /* NULL is allowed */

/* Ends a session here and, through the change feed, on every replica. Blocks. */
int signon_logout(struct signon *signon, const struct actor *actor, const char *sid, struct err *err);

/* Reads a session that was changed, by any replica, and makes memory follow it. Blocks. */
int signon_apply_session_change(struct signon *signon, const char *sid, struct err *err);

/* As signon_apply_session_change, for many sessions (the array gets sorted; a sid may be in it several times): one read for each SESSION_LOAD_MAX sessions.
 * An error of one session does not stop the others; the first error is returned: call again then. Blocks. */
int signon_apply_session_changes(struct signon *signon, const char **sids, size_t count, struct err *err);

/* Makes the handle of a session, a hash of its sid: it is in no token, so whoever reads it in a list cannot use it for anything else. */
#define SIGNON_HANDLE_BYTES SESSION_HANDLE_BYTES
void signon_handle_of(const char *sid, char out[SIGNON_HANDLE_BYTES]);

/* A page of the live sessions of all replicas; the role in them is the person's role now. *out (uninitialised) is given back by session_list_done. Blocks. */
int signon_list_sessions(struct signon *signon, const struct session_query *query, struct session_list *out, struct err *err);

/* Asks a vCenter which vSphere clusters a person may view there, by user name, signed in or not; `principal_id` is "vc:<vcenter_id>:<name>". Blocks: in the
 * worker pool of that vCenter. *out is given back by object_set_done. ERR_NOT_FOUND (form), errors of signon_ask_rights. */
int signon_lookup_rights(struct signon *signon, const char *vcenter_id, const char *principal_id, struct object_set *out,
                         struct err *err);

/* A further vCenter that sessions of a principal are linked to. */
struct signon_linked {
    char vcenter_id[37];
    struct shared_objects *objects; /* what that person may view there; NULL: not known here now */
};
#define SIGNON_LINKED_MAX 16U
/* The further vCenters of a principal's sessions in memory, each once, up to SIGNON_LINKED_MAX; if several sessions are linked to one vCenter, `objects` is
 * of one for which it is known. Returns the number; given back by signon_linked_done. Asks no vCenter, does not block, and does not count as a use. */
size_t signon_get_linked(struct signon *signon, const char *principal_id, struct signon_linked out[SIGNON_LINKED_MAX]);
void signon_linked_done(struct signon_linked *items, size_t count);

/* Finds a session by its principal's id, or name (in any case): of several the one opened last. The role in it is the person's role now. *out (uninitialised)
 * is given back by session_done. Blocks. ERR_NOT_FOUND. */
int signon_find_known(struct signon *signon, const char *principal, struct session *out, struct err *err);

/* Ends a session here and, through the change feed, on every replica; noted in the audit log. Blocks. ERR_NOT_FOUND. */
int signon_end_session(struct signon *signon, const struct actor *actor, const char *handle, struct err *err);

/* Makes the sessions in memory of the local user `user_id` follow a change or removal of the user: role, disabling and the duty to change the password.
 * Blocks. */
int signon_apply_user_change(struct signon *signon, const char *user_id, struct err *err);

/* -- presented tokens ---------------------------------------------------------------------------------------------------- */

/* The session of a presented token. */
struct signon_bearer {
    struct live_session *session; /* one reference for the caller */
    char jti[37];
    int64_t token_expires_at_ms; /* wall clock */
};
void signon_bearer_done(struct signon_bearer *bearer); /* NULL is allowed */

/* Verifies a token and finds its session in memory. Does not block. ERR_UNAUTHENTICATED, ERR_TOKEN_EXPIRED, ERR_SESSION_ENDED; ERR_NOT_FOUND: the session is
 * not in memory (another replica has just made it): call signon_verify_slow in a worker pool, which reads it. Bad tokens are counted by `address`, so that a
 * flood costs little: ERR_TOO_MANY with retry_after_s. `address` NULL (tests): not counted. */
int signon_verify_from(struct signon *signon, const char *address, const char *token, struct signon_bearer *out, struct err *err);
int signon_verify_slow(struct signon *signon, const char *token, struct signon_bearer *out, struct err *err);

/* Issues the next token of the session; `jti` is that of the presented token. Blocks. ERR_SESSION_ENDED when the presented token was used after its grace
 * (then the whole session is revoked), or when the vCenter session behind it has ended. ERR_RIGHTS_UNKNOWN when the person's rights are known by grace only. */
int signon_refresh(struct signon *signon, const char *sid, const char *jti, struct signon_issued *out, struct err *err);

/* -- for the other files of sign-on -------------------------------------------------------------------------------------- */

/* Makes the audit line that `who` (NULL: not known) does `what` by the request of `actor`. Texts are borrowed. */
struct audit_record signon_make_line(const struct actor *actor, const struct principal *who, const struct audit_event *what);

/* Writes the line, as of now, with the outcome `rc`; if it cannot be written, the caller does not fail. */
void signon_audit(struct signon *signon, const struct audit_record *line, int rc);

/* Ends a session in the database, with its audit line in the same transaction. The outcome in the line is `result`, or the error if `result` is 0. The caller
 * ends it in memory. Errors of session_store_revoke. */
int signon_write_end(struct signon *signon, const char *sid, const struct audit_record *line, int result, struct err *err);

/* Limits how often a principal signs on (signon_limits.per_s); principals are told apart as for sessions_max. Call it only after the credential was found
 * good: else strangers could use up a principal's sign-ons. ERR_TOO_MANY with retry_after_s, and line's reason says so; ERR_NOMEM. */
int signon_check_pace(struct signon *signon, const struct principal *who, struct audit_record *line, struct err *err);

/* A session to open, for a principal, which is copied. */
struct signon_new_session {
    const struct principal *who;
    int64_t lifetime_ms;
    struct shared_objects *rights; /* the answer of the vCenter of `who`; NULL: none */
    bool must_change_password;
    struct audit_record *line;      /* written with the session; gets a reason that the client is not told */
    const struct group_set *groups; /* sealed; NULL: none */
    const char *directory_mark;
    const struct session_once *once; /* of a credential that works only once; NULL: it may be used again */
    int (*look_again)(struct signon *s, const void *arg,
                      struct err *err); /* called when the session is in memory; an error ends the session; may be NULL */
    const void *look_again_arg;
};
int signon_open_session(struct signon *signon, const struct signon_new_session *wanted, struct signon_issued *out,
                        struct err *err);

/* Reads a session's row anew and makes memory follow it. *row (NULL: there is no row any more) is freed by session_free, *live (NULL: the session has ended
 * and is not in memory) by live_session_unref. Blocks. Errors of the store. */
int signon_reload_session(struct signon *signon, const char *sid, struct session **row, struct live_session **live,
                          struct err *err);

/* Announces a change that may concern any session: whoever is just putting a session into memory reads its row again. Call it before going through the
 * sessions in memory. */
void signon_tell_all(struct signon *s);

/* Signs a token for the session with this jti. */
int signon_issue(struct signon *signon, struct live_session *live, const char *jti, struct signon_issued *out, struct err *err);

/* Loads as many live sessions as memory has room for; ends sessions in memory that have ended in the database. Blocks. */
int signon_load_sessions(struct signon *signon, struct err *err);
