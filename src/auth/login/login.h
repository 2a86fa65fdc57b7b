/* Signs in by name and password of a local user, and people and programs whose credential was checked elsewhere: by a directory, by Kerberos, by a
 * certificate. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "principal.h"

struct signon;
struct signon_issued;

/* Signs in by name and password of a local user. Blocks (hashing). ERR_CREDENTIALS, ERR_TOO_MANY (with retry_after_s), ERR_FORBIDDEN. */
int signon_login_local(struct signon *signon, const struct actor *actor, const char *user, const char *password,
                       struct signon_issued *out, struct err *err);

/* Checks that the signed-in local user knows the password. Throttled as a sign-on. Blocks (hashing). ERR_CREDENTIALS, ERR_TOO_MANY. */
int signon_prove_local(struct signon *signon, const struct actor *actor, const char *password, struct err *err);

/* A person or program whose credential has been checked. Borrowed. */
struct signon_person {
    const char *principal_id;   /* "sid:S-1-5-21-...", "ldap:<source>:<uuid>", "svc:<uuid>" */
    const char *name;           /* as shown: "anna@AD.TEST" */
    const char *full_name;      /* may be NULL */
    const char *directory;      /* name of the LDAP source that can be asked again about the person; NULL: none */
    const char *directory_mark; /* state of the account, opaque (ldapdir_person.mark); NULL: not known */
    const char *acting_id;      /* "svc:<uuid>" of the program that acts for the person; NULL: nobody does */
    const char *service_id;     /* service account whose limits apply; NULL: none */
    enum source source;
    const struct group_set *groups; /* sealed; NULL: none */
    enum role role_at_least;        /* service accounts: ROLE_SERVICE; people of a directory: ROLE_NONE, their role is mapped */
    const uint8_t
        *credential_digest; /* 32 bytes, of a credential that works only once, over all replicas; NULL: it may be used again */
    int64_t credential_until_ms; /* wall clock; with a digest: when the credential expires */
    int64_t ends_at_ms;          /* wall clock; 0: the usual lifetime of a session, which it never exceeds */
};

/* Opens the session of a person whose credential was good, with the groups, makes its first token, and writes the line in the audit log with it. The role is
 * the best of role_at_least and the role mappings that match now. Blocks (database). ERR_FORBIDDEN when there is no role at all (the audit log gets the
 * groups that were seen); ERR_CREDENTIALS when ends_at_ms has passed, or the credential was used before. */
int signon_login_person(struct signon *signon, const struct actor *actor, const struct signon_person *person,
                        struct signon_issued *out, struct err *err);

/* A password that somebody else checks. Borrowed. */
struct signon_password {
    const char *where;   /* "ldap:corp" */
    const char *user;    /* as it was given, for the audit log */
    const char *account; /* `user` in one spelling but for case and blanks, for the throttle */
};
/* Asks the throttle whether a password may be tried now: it delays after failures (docs/admin/identity.md) and locks nobody out. A refusal is written into
 * the audit log: blocks only then (database). ERR_TOO_MANY with retry_after_s. */
int signon_admit_password(struct signon *signon, const struct actor *actor, const struct signon_password *given, struct err *err);
/* Notes the outcome `rc` of the try: only ERR_CREDENTIALS counts as a guess. Any code but 0 is a refusal and is written into the audit log with the reason
 * (NULL: none): blocks then (database). Call it once for each try that was admitted, before signon_login_person. */
void signon_note_password(struct signon *signon, const struct actor *actor, const struct signon_password *given, int rc,
                          const char *reason);

/* Writes a refused sign-on into the audit log; for credentials that nobody can guess (ticket, certificate), so the throttle does not count it. Blocks
 * (database). */
struct signon_refusal {
    const char *where;     /* "<way>" or "<way>:<which>": "kerberos", "service" */
    const char *user;      /* as it was given; NULL: none was */
    const char *acting_id; /* program that wanted to act for `user`; NULL: none */
    const char *reason;    /* a few words; NULL: rc says all */
    int rc;
};
void signon_note_refusal(struct signon *signon, const struct actor *actor, const struct signon_refusal *refusal);

/* Asks the directories again about signed-in people whose last answer is older than signon_options.directory_check_ms: ends sessions, takes new groups over.
 * A directory that does not answer is not asked again in this call. A session that its directory has not confirmed for directory_check_ms +
 * KAAS_RIGHTS_GRACE_MS gets no further token (signon_refresh: ERR_RIGHTS_UNKNOWN); its last token works until it ends. Call it every few seconds from one
 * thread. Blocks (directories, database). */
void signon_check_directories(struct signon *signon);
