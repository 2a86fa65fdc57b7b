/* What the files of this room share. Layer 4 (service/signon); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "audit_store.h"
#include "flight.h"
#include "live_session.h"
#include "rights_board.h"
#include "role_rules.h"
#include "signon.h"
#include "store.h"
#include "throttle.h"
#include "token.h"

#define SIGNON_FREE_TRIES 5U        /* failed tries in a row without delay, of one party at one name */
#define SIGNON_FREE_TRIES_PARTY 50U /* of one party at any names: many people may share an address */
#define SIGNON_BURST_S 30U          /* so much of what may be signed on is there at once, after a pause */
#define SIGNON_REFUSALS_COUNT 1024U
#define SIGNON_REFUSAL_MS 2000

/* A negative answer that is kept for a moment, so that a wrong secret does not become a stream of calls to the vCenter. */
struct refusal {
    uint8_t digest[32]; /* HMAC of vCenter and secret */
    int64_t until_ms;
};

/* A use of grace that is to be written into the audit trail. */
#define SIGNON_NOTES_MAX 4096U
struct grace_note {
    struct grace_note *next;
    struct live_session *live; /* one reference */
    char vcenter_id[37];
    char address[64], request_id[64];
    int64_t at_ms;
};
#define SIGNON_STRIPES 16U /* sessions by the end of their sid */

struct signon {
    struct signon_options options; /* issuer copied */
    struct token_set *tokens;
    struct session_table *table;
    struct throttle *throttle;
    struct throttle *known;          /* names and parties that have signed in: apart, so that no flood of failures evicts them */
    struct throttle *bad_tokens;     /* bearer.c */
    struct throttle *pace;           /* of good sign-ons: apart for the same reason */
    atomic_uint sessions_max, per_s; /* struct signon_limits */
    struct rights_board *board;
    struct role_rules *roles;
    struct live_shared shared;                    /* the board again, and the groups */
    struct flight *checks;                        /* identical proofs in flight */
    uint8_t secret[32];                           /* keys the digests of proofs; made anew at each start */
    pthread_mutex_t reload_locks[SIGNON_STRIPES]; /* rows reach memory in the order they were read */
    atomic_uint told[SIGNON_STRIPES];             /* how often something was told of sessions (signon.c) */

    pthread_mutex_t keys_lock;        /* lists of keys reach memory in the order they were read */
    atomic_int_least64_t keys_due_ms; /* when something is to be done with the keys; wall clock */

    pthread_mutex_t lock; /* guards what is below */
    struct refusal refusals[SIGNON_REFUSALS_COUNT];
    struct grace_note *notes, *last_note;
    unsigned notes_count;
};

/* What a vCenter said about a proof, shared by identical sign-ons that were in flight together. */
struct outcome {
    atomic_uint refs;
    struct signon_identity identity;
    struct shared_objects *rights;
};
void outcome_unref(void *outcome); /* NULL is allowed */

/* Of a check that was waited for (proof.c): what came out, *out with one reference; and what was checked. */
int signon_check_take(struct signon_check *check, struct outcome **out, struct err *err);
const struct signon_proof *signon_check_proof(const struct signon_check *check);
enum source signon_source_of(enum signon_proof_kind kind);
/* Later questions go by this session key; NULL: by user name. */
const char *signon_key_of(const struct signon_proof *proof, const struct signon_identity *identity);
/* How long a session by this proof may last. */
int64_t signon_lifetime_of(const struct signon *signon, enum signon_proof_kind kind);

/* Throttling of one try of a password (gate.c). Zeroed it is open, and notes nothing: for proofs that nobody can guess. */
struct gate {
    struct signon *signon;
    char *name;
    uint64_t party;
    bool is_from_fresh_site;
};
/* `where` is "local", "ldap:corp" or a vCenter; `account` the name there, in one spelling but for case and blanks. Freed by gate_done in any case.
 * ERR_TOO_MANY with retry_after_s, ERR_NOMEM. */
int gate_open(struct gate *gate, struct signon *signon, const struct actor *actor, const char *where, const char *account,
              struct err *err);
/* Is it still open? ERR_TOO_MANY. */
int gate_check(const struct gate *gate, struct err *err);
/* What came of the try; only ERR_CREDENTIALS was a guess. */
void gate_note(const struct gate *gate, int rc);
void gate_done(struct gate *gate);

/* The line about `who` (NULL: not known), who does `what` by the request of `actor`. Texts are borrowed. */
struct audit_record signon_make_line(const struct actor *actor, const struct principal *who, const struct audit_event *what);

/* Writes the line, as of now, with the outcome `rc`; a failure is not the caller's. */
void signon_audit(struct signon *signon, const struct audit_record *line, int rc);

/* Ends a session in the database, with its line in the same transaction: with `result`, or with the failure where that is 0. In memory it is the
 * caller's to end. Errors of session_store_revoke. */
int signon_write_end(struct signon *signon, const char *sid, const struct audit_record *line, int result, struct err *err);

/* Lets a good proof of somebody pass, or not so fast (struct signon_limits); counted as session_store_open counts sessions. To be asked when it was found good, so
 * that nobody can use up what others may. ERR_TOO_MANY, and then the line has it as its reason. */
int signon_check_pace(struct signon *signon, const struct principal *who, struct audit_record *line, struct err *err);

/* Makes the session row, its line in the audit trail (of success) and its first token for a principal, which is copied. */
struct signon_new_session {
    const struct principal *who;
    int64_t lifetime_ms;
    struct shared_objects *rights; /* what the vCenter of `who` said; NULL: none */
    bool must_change_password;
    struct audit_record *line;      /* written with the session; gets a reason where there is one that is not for the answer */
    const struct group_set *groups; /* sealed; NULL: none */
    const char *directory_mark;
    const struct session_once *once; /* the proof works once only; NULL: it may be used again */
    int (*look_again)(struct signon *s, const void *arg, struct err *err); /* when it is there; an error ends it */
    const void *look_again_arg;
};
int signon_open_session(struct signon *signon, const struct signon_new_session *wanted, struct signon_grant *out,
                        struct err *err);

/* Reads a session's row anew and lets memory follow. *row (NULL if there is none any more) is freed by session_free, *live (NULL if it is
 * not in memory and has ended) by live_session_unref. Blocks. Errors of the store. */
int signon_reload_session(struct signon *signon, const char *sid, struct session **row, struct live_session **live,
                          struct err *err);

/* The role that mappings give the bearer of a session with these groups. */
enum role signon_map_role_of(struct signon *s, const struct principal *who, const struct group_set *groups);
void signon_map_role(struct signon *s, struct live_session *live); /* by the role mappings as they are now */

/* Something is told that may concern any session: those on their way into memory are read again. To be called before the sessions in memory are
 * gone through. */
void signon_tell_all(struct signon *s);

/* May somebody of a directory get another token now? ERR_FORBIDDEN without a role, ERR_RIGHTS_UNKNOWN (person_check.c). */
int signon_check_person(struct signon *signon, struct live_session *live, struct err *err);

/* Signs a token for the session with this jti. */
int signon_issue(struct signon *signon, struct live_session *live, const char *jti, struct signon_grant *out, struct err *err);

/* How much of what is known may be used (rights.c). */
enum signon_part_state signon_judge(const struct signon *signon, const struct rights_known *known, bool is_read);
/* May the session get another token now? ERR_RIGHTS_UNKNOWN, ERR_SESSION_ENDED. */
int signon_check_refresh(struct signon *signon, struct live_session *live, struct err *err);
void signon_free_notes(struct signon *signon);

/* A flight whose results are outcomes of proofs (proof.c). NULL without memory. */
struct flight *signon_checks_new(void);
