/* Signing in by name and password, and people and programs whose credential was checked elsewhere: by a directory, by Kerberos, by a certificate. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "principal.h"

struct live_session;
struct signon;
struct signon_issued;

/* Name and password of a local user. Blocks (hashing). ERR_CREDENTIALS, ERR_TOO_MANY (with retry_after_s), ERR_FORBIDDEN. */
int signon_login_local(struct signon *signon, const struct actor *actor, const char *user, const char *password,
                       struct signon_issued *out, struct err *err);

/* Does the signed-in local user know the password? Slowed down as a sign-on. Blocks (hashing). ERR_CREDENTIALS, ERR_TOO_MANY. */
int signon_prove_local(struct signon *signon, const struct actor *actor, const char *password, struct err *err);

/* Who has been proved to be there. Borrowed. */
struct signon_person {
    const char *principal_id;   /* "sid:S-1-5-21-...", "ldap:<source>:<uuid>", "svc:<uuid>" */
    const char *name;           /* as shown: "anna@AD.TEST" */
    const char *full_name;      /* may be NULL */
    const char *directory;      /* name of the LDAP source that can be asked again about the person; NULL: none */
    const char *directory_mark; /* what the account is like now, opaque; NULL: not known */
    const char *acting_id;      /* "svc:<uuid>" of the program that acts for the person; NULL: nobody does */
    const char *service_id;     /* service account whose limits apply; NULL: none */
    enum source source;
    const struct group_set *groups; /* sealed; NULL: none */
    enum role role_at_least;        /* service accounts: ROLE_SERVICE; people of a directory: ROLE_NONE, their role is mapped */
    const uint8_t *
        credential_digest; /* 32 bytes that stand for a credential which works once, at all replicas; NULL: it may be used again */
    int64_t credential_until_ms; /* wall clock; with a digest: when nobody takes the credential any more */
    int64_t ends_at_ms;          /* wall clock; 0: the usual lifetime of a session, which it never exceeds */
};

/* Makes the session of somebody whose credential was good, with the groups, and its first token; the line in the audit log goes with it. The role is
 * the best of role_at_least and the role mappings that match now. Blocks (database). ERR_FORBIDDEN when there is no role at all (the audit
 * log gets the groups that were seen); ERR_CREDENTIALS when ends_at_ms has passed, or the credential was used before. */
int signon_login_person(struct signon *signon, const struct actor *actor, const struct signon_person *person,
                        struct signon_issued *out, struct err *err);

/* A password that somebody else checks. Borrowed. */
struct signon_password {
    const char *where;   /* "ldap:corp" */
    const char *user;    /* as it was given, for the audit log */
    const char *account; /* the same in one spelling but for case and blanks, for the throttle */
};
/* May somebody try a password now? Delays after failures, docs/admin/identity.md; nobody is locked out. A refusal is written into the audit log:
 * blocks only then (database). ERR_TOO_MANY with retry_after_s. */
int signon_admit_password(struct signon *signon, const struct actor *actor, const struct signon_password *given, struct err *err);
/* What came of it: only ERR_CREDENTIALS counts as a guess. Any code but 0 is a refusal and is written into the audit log with the reason (NULL: none):
 * blocks then (database). To be called once for each try that was admitted, before signon_login_person. */
void signon_note_password(struct signon *signon, const struct actor *actor, const struct signon_password *given, int rc,
                          const char *reason);

/* Writes a refused sign-on by what nobody can guess (ticket, certificate) into the audit log: nothing is slowed down by it. Blocks (database). */
struct signon_refusal {
    const char *where;     /* "<way>" or "<way>:<which>": "kerberos", "service" */
    const char *user;      /* as it was given; NULL: none was */
    const char *acting_id; /* program that wanted to act for `user`; NULL: none */
    const char *reason;    /* a word or a few; NULL: nothing more than rc says */
    int rc;
};
void signon_note_refusal(struct signon *signon, const struct actor *actor, const struct signon_refusal *refusal);

/* Asks the directories about all who are signed in and were not asked about for signon_options.directory_check_ms: ends sessions, takes groups over.
 * A directory that does not answer is left alone until the next call. A session whose directory has not said anything good for that long and
 * KAAS_RIGHTS_GRACE_MS more gets no further token (signon_refresh: ERR_RIGHTS_UNKNOWN); what it has goes on until it ends. To be called every few
 * seconds by one thread. Blocks (directories, database). */
void signon_check_directories(struct signon *signon);

/* -- for the files of this folder -------------------------------------------------------------------------------------- */

/* May somebody of a directory get another token now? ERR_FORBIDDEN without a role, ERR_RIGHTS_UNKNOWN. */
int signon_check_person(struct signon *signon, struct live_session *live, struct err *err);
