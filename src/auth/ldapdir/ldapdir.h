/* Looks up people and groups in LDAP directories: passwords, names, groups. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Not here: sessions and what they may do (src/auth/session). src/daemon passes in what is needed from there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "principal.h"
#include "runtime.h"

struct ldapdirs;
struct worker_pool;

struct ldapdir_options {
    const struct runtime *runtime;
    long connect_timeout_ms; /* to one server of a directory; the TLS handshake may take as long again */
    long call_timeout_ms;    /* for one LDAP operation */
};

/* Makes the set of directories; asks none yet. ERR_NOMEM. */
int ldapdir_new(const struct ldapdir_options *options, struct ldapdirs **out, struct err *err);
/* Refuses further work and ends all waits, those for KDCs in the whole process included: call it before the servers stop. NULL is allowed. */
void ldapdir_stop(struct ldapdirs *ldapdirs);
/* True while an abandoned thread still waits for a KDC: then the process may end by _exit only, as the Kerberos library is in use. */
bool ldapdir_has_left_waiting(void);
void ldapdir_free(struct ldapdirs *ldapdirs); /* NULL is allowed */

/* Reads the configured directories from the database: call it at start, and when the change feed tells of a change. Blocks (database). */
int ldapdir_sync(struct ldapdirs *ldapdirs, struct err *err);

/* Call it once a second: has directories probed that are due, resolves names that were asked for, ends worker pools of removed directories. Does not block. */
void ldapdir_tick(struct ldapdirs *ldapdirs);

/* -- people, by directories ------------------------------------------------------------------------------------------------- */

/* A person as a directory knows them. Texts malloc'ed. */
struct ldapdir_person {
    char *principal_id; /* "sid:S-1-5-21-...", "ldap:<source>:<uuid>" */
    char *name;         /* "alice@AD.TEST", or uid */
    char *full_name;    /* NULL: not known */
    char *directory;    /* the source it was found in */
    char *mark;         /* state of the account, opaque; compared by ldapdir_check_person; NULL: not told */
    char refusal[64];   /* why the account may not sign in; "": it may */
    bool is_unasked;    /* the directory should have confirmed this and did not answer: it is from the ticket alone */
    struct group_set groups;
};
void ldapdir_person_done(struct ldapdir_person *person); /* NULL is allowed */

/* How a source is, on this replica. */
enum ldapdir_state { LDAPDIR_UNKNOWN, LDAPDIR_OK, LDAPDIR_FAILING, LDAPDIR_DISABLED };
const char *ldapdir_state_name(enum ldapdir_state state); /* "unknown", "ok", "failing", "disabled"; static */

/* The worker pool of a source. Call the functions below in it, since they wait for its servers. Use *out at once: the pool ends when the source is gone.
 * ERR_NOT_FOUND (no such source, or a disabled one). */
int ldapdir_pool(struct ldapdirs *ldapdirs, const char *source, struct worker_pool **out, struct err *err);

/* Checks name and password. Unknown, disabled, locked or expired accounts and wrong passwords are all ERR_CREDENTIALS, in the same text and by the same work;
 * err->detail tells them apart, for log and audit log only. ERR_UNREACHABLE, ERR_TIMEOUT, ERR_TLS, ERR_UPSTREAM when no server gave an answer. */
struct ldapdir_password {
    const char *source, *user, *password;
};
int ldapdir_check_password(struct ldapdirs *ldapdirs, const struct ldapdir_password *given, struct ldapdir_person *out,
                           struct err *err);
/* The account name under which the throttle counts tries: DOMAIN\name and name@DOMAIN give the same. Asks no directory. Caller frees; NULL without memory. */
char *ldapdir_account_name(struct ldapdirs *ldapdirs, const char *source, const char *user);

/* What is known of a signed-in person. Borrowed. */
struct ldapdir_known {
    const struct principal *who;
    const char *mark;               /* ldapdir_person.mark; NULL: not known */
    const struct group_set *groups; /* sealed */
};
/* The mark (ldapdir_person.mark) of a person whose groups a Kerberos ticket told, made from the time when the password was set (pwdLastSet). Caller frees;
 * NULL without memory. */
char *ldapdir_ticket_mark(int64_t password_set_at);
/* Asks the directory again about a signed-in person. Blocks. ERR_SESSION_ENDED when the account is gone, disabled or expired, its password was changed since
 * the mark was made, or the source was removed, from the database as well. If the directory is known to be away, an error comes at once. Groups of other
 * domains that a ticket told are kept: a domain controller knows only those of its own domain. *groups_out (uninitialised) is sealed. */
int ldapdir_check_person(struct ldapdirs *ldapdirs, const struct ldapdir_known *known, struct group_set *groups_out,
                         struct err *err);

#define LDAPDIR_SOURCE_BYTES 32
/* A principal of a Kerberos realm. Borrowed. */
struct ldapdir_principal {
    const char *realm, *name; /* "AD.TEST", "alice" */
    const char *id;           /* "sid:..." in the ticket; NULL: it has none */
};
/* The source that serves the realm, and can know the id. False if none does. Does not block. */
bool ldapdir_source_of(struct ldapdirs *ldapdirs, const struct ldapdir_principal *who, char out[LDAPDIR_SOURCE_BYTES]);

/* Looks a principal up in the directory of its realm: by id if there is one, else by name. ERR_NOT_FOUND if no source serves the realm; ERR_CREDENTIALS for
 * an account that the directory does not know or that is disabled. Names that differ by case only are one person in Active Directory, and two elsewhere. */
int ldapdir_lookup_principal(struct ldapdirs *ldapdirs, const struct ldapdir_principal *who, struct ldapdir_person *out,
                             struct err *err);

/* -- names of ids ----------------------------------------------------------------------------------------------------------- */

#define LDAPDIR_NAME_BYTES 257
/* The name of a person or group, from memory. False if it is not known: then it is asked for in the background. */
bool ldapdir_get_name(struct ldapdirs *ldapdirs, const char *id, char out[LDAPDIR_NAME_BYTES]);

enum ldapdir_kind { LDAPDIR_PERSON, LDAPDIR_GROUP };
/* A name that an administrator typed: that of the account or group, also as "DOMAIN\name", or a DN. `source` NULL: all sources. */
struct ldapdir_reference {
    const char *source;
    enum ldapdir_kind kind;
    const char *name;
};
#define LDAPDIR_MATCHES_MAX 20
struct ldapdir_match {
    char *id, *name, *dn, *directory; /* malloc'ed; name NULL: it has none */
};
struct ldapdir_matches {
    struct ldapdir_match items[LDAPDIR_MATCHES_MAX];
    size_t count;
};
void ldapdir_matches_done(struct ldapdir_matches *matches); /* NULL is allowed */
/* Finds the accounts or groups that a reference can mean: out->items[0], or ERR_AMBIGUOUS with all of them if there are several. Groups that can give no role
 * (distribution groups, built-in ones) are not counted. Waits for directories: all that are asked must answer. *out (uninitialised) is freed by
 * ldapdir_matches_done in any case. ERR_UNPROCESSABLE: nothing of that name, nothing that gives rights, no such source; errors of asking. */
int ldapdir_lookup(struct ldapdirs *ldapdirs, const struct ldapdir_reference *reference, struct ldapdir_matches *out,
                   struct err *err);
/* Looks up the person with this id, also one who may not sign in: out->refusal tells why. Waits for directories. *out is set on success. ERR_NOT_FOUND when
 * no directory that could know the id does; errors of asking. */
int ldapdir_lookup_person(struct ldapdirs *ldapdirs, const char *id, struct ldapdir_person *out, struct err *err);
/* The worker pool in which to call ldapdir_lookup for this source (NULL: for all). *out NULL: it is no single source; use any worker pool but those of the
 * sources, in which their sign-ons wait. */
int ldapdir_lookup_pool(struct ldapdirs *ldapdirs, const char *source, struct worker_pool **out, struct err *err);
