/* Sessions: made, read, ended, and as administrators see them; presented tokens. Layer 5 (auth).
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

/* A signed-in session with its first token. */
struct signon_issued {
    char *token; /* JWT; a secret, freed by signon_issued_done */
    int64_t token_lifetime_ms;
    int64_t session_ends_at_ms; /* wall clock */
    char sid[UUID_TEXT_BYTES];
};
void signon_issued_done(struct signon_issued *issued); /* NULL is allowed */

/* Ends a session here and, through the change feed, on every replica. Blocks. */
int signon_logout(struct signon *signon, const struct actor *actor, const char *sid, struct err *err);

/* Applies a change that another replica (or we) made to sessions, users or keys. Blocks. */
int signon_apply_session_change(struct signon *signon, const char *sid, struct err *err);

/* As that for all that were changed (the array gets sorted; a sid may be in it several times): a read for each SESSION_LOAD_MAX sessions. All are applied, whatever
 * becomes of one of them; the first failure counts, and leaves the others to be told again. Blocks. */
int signon_apply_session_changes(struct signon *signon, const char **sids, size_t count, struct err *err);

/* A name for a session that is no part of any token: whoever reads it in a list cannot use it for anything else. */
#define SIGNON_HANDLE_BYTES SESSION_HANDLE_BYTES
void signon_handle_of(const char *sid, char out[SIGNON_HANDLE_BYTES]);

/* A page of the live sessions of all replicas; the role in them is the one that counts now. *out (uninitialised) is given back by session_list_done. Blocks. */
int signon_list_sessions(struct signon *signon, const struct session_query *query, struct session_list *out, struct err *err);

/* Asks a vCenter what somebody may view there, by user name, whether signed in or not; `principal_id` is "vc:<vcenter_id>:<name>". Blocks: in the
 * worker pool of that vCenter. *out is given back by object_set_done. ERR_NOT_FOUND (form), and the errors of asking. */
int signon_lookup_rights(struct signon *signon, const char *vcenter_id, const char *principal_id, struct object_set *out,
                         struct err *err);

/* A further vCenter that sessions of somebody are linked to. */
struct signon_linked {
    char vcenter_id[37];
    struct shared_objects *objects; /* what it lets that person view; NULL: not known here at the moment */
};
#define SIGNON_LINKED_MAX 16U
/* Those of the sessions of a principal that are in memory, each once, up to SIGNON_LINKED_MAX; where several sessions are linked to one vCenter, one of which it is
 * known what they may view. Returns the number; given back by signon_linked_done. Does not ask, does not block, counts as no use. */
size_t signon_get_linked(struct signon *signon, const char *principal_id, struct signon_linked out[SIGNON_LINKED_MAX]);
void signon_linked_done(struct signon_linked *items, size_t count);

/* A session of somebody by id, or by name (in any case): of several the one that was opened last. The role in it is the one that counts now. *out
 * (uninitialised) is given back by session_done. Blocks. ERR_NOT_FOUND. */
int signon_find_known(struct signon *signon, const char *principal, struct session *out, struct err *err);

/* Ends a session here and, through the change feed, on every replica; noted in the audit log. Blocks. ERR_NOT_FOUND. */
int signon_end_session(struct signon *signon, const struct actor *actor, const char *handle, struct err *err);

/* The local user `user_id` was changed or removed: role, disabling and the duty to change the password reach the sessions under way. Blocks. */
int signon_apply_user_change(struct signon *signon, const char *user_id, struct err *err);

/* -- presented tokens ---------------------------------------------------------------------------------------------------- */

/* What a presented token stands for. */
struct signon_bearer {
    struct live_session *session; /* one reference for the caller */
    char jti[37];
    int64_t token_expires_at_ms; /* wall clock */
};
void signon_bearer_done(struct signon_bearer *bearer); /* NULL is allowed */

/* Verifies a token and finds its session in memory. Does not block. ERR_UNAUTHENTICATED, ERR_TOKEN_EXPIRED, ERR_SESSION_ENDED; a session that
 * is not known here (another replica's, just made) gives ERR_NOT_FOUND: call signon_verify_slow in a worker then. What a flood of bad tokens from an
 * address may cost is bounded: ERR_TOO_MANY with retry_after_s. NULL, in tests: no address, no bound. */
int signon_verify_from(struct signon *signon, const char *address, const char *token, struct signon_bearer *out, struct err *err);
int signon_verify_slow(struct signon *signon, const char *token, struct signon_bearer *out, struct err *err);

/* The next token of the session. `jti` is the one of the presented token. Blocks. ERR_SESSION_ENDED when the token was used after
 * its grace: the whole session is revoked then; also when the vCenter session behind it has ended. ERR_RIGHTS_UNKNOWN when only grace
 * would be left of the rights. */
int signon_refresh(struct signon *signon, const char *sid, const char *jti, struct signon_issued *out, struct err *err);

/* -- for the files of this folder -------------------------------------------------------------------------------------- */

/* The line about `who` (NULL: not known), who does `what` by the request of `actor`. Texts are borrowed. */
struct audit_record signon_make_line(const struct actor *actor, const struct principal *who, const struct audit_event *what);

/* Writes the line, as of now, with the outcome `rc`; a failure is not the caller's. */
void signon_audit(struct signon *signon, const struct audit_record *line, int rc);

/* Ends a session in the database, with its line in the same transaction: with `result`, or with the failure where that is 0. In memory it is the
 * caller's to end. Errors of session_store_revoke. */
int signon_write_end(struct signon *signon, const char *sid, const struct audit_record *line, int result, struct err *err);

/* Lets a good credential of somebody pass, or not so fast (struct signon_limits); counted as session_store_open counts sessions. To be asked when it was found good, so
 * that nobody can use up what others may. ERR_TOO_MANY, and then the line has it as its reason. */
int signon_check_pace(struct signon *signon, const struct principal *who, struct audit_record *line, struct err *err);

/* Makes the session row, its line in the audit log (of success) and its first token for a principal, which is copied. */
struct signon_new_session {
    const struct principal *who;
    int64_t lifetime_ms;
    struct shared_objects *rights; /* what the vCenter of `who` said; NULL: none */
    bool must_change_password;
    struct audit_record *line;      /* written with the session; gets a reason where there is one that is not for the answer */
    const struct group_set *groups; /* sealed; NULL: none */
    const char *directory_mark;
    const struct session_once *once; /* the credential works once only; NULL: it may be used again */
    int (*look_again)(struct signon *s, const void *arg, struct err *err); /* when it is there; an error ends it */
    const void *look_again_arg;
};
int signon_open_session(struct signon *signon, const struct signon_new_session *wanted, struct signon_issued *out,
                        struct err *err);

/* Reads a session's row anew and lets memory follow. *row (NULL if there is none any more) is freed by session_free, *live (NULL if it is
 * not in memory and has ended) by live_session_unref. Blocks. Errors of the store. */
int signon_reload_session(struct signon *signon, const char *sid, struct session **row, struct live_session **live,
                          struct err *err);

/* Something is told that may concern any session: those on their way into memory are read again. To be called before the sessions in memory are
 * gone through. */
void signon_tell_all(struct signon *s);

/* Signs a token for the session with this jti. */
int signon_issue(struct signon *signon, struct live_session *live, const char *jti, struct signon_issued *out, struct err *err);

/* Loads as many live sessions as memory has room for; what has ended elsewhere ends here. Blocks. */
int signon_load_sessions(struct signon *signon, struct err *err);
