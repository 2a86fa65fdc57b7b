/* Who people and programs are, asked from those who know it: directories, Kerberos, service accounts. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Not here: sessions and what they may do (src/auth/session). What is needed of that src/daemon hands in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "principal.h"

struct ldapdirs;
struct worker_pool;
struct seal;
struct store;

struct ldapdir_options {
    struct store *store;
    struct seal *seal;
    long connect_timeout_ms;    /* to one server of a directory; TLS as long again */
    long call_timeout_ms;       /* one question to it */
    void (*thread_begin)(void); /* of worker pools; may be NULL */
    void (*thread_end)(void);
    void (*on_written)(void *arg); /* after a write: bring it to where it counts; may be NULL */
    void *on_written_arg;
};

/* Makes it; asks no directory yet. ERR_NOMEM. */
int ldapdir_new(const struct ldapdir_options *options, struct ldapdirs **out, struct err *err);
/* Refuses further work and ends what waits, for KDCs in the whole process: before the servers stop. NULL is allowed. */
void ldapdir_stop(struct ldapdirs *ldapdirs);
/* True while a thread that was left behind waits for a KDC: then the process may end by _exit only, not under the library's feet. */
bool ldapdir_has_left_waiting(void);
void ldapdir_free(struct ldapdirs *ldapdirs); /* NULL is allowed */

/* Follows the configured directories: at start, and when the change feed says so. Blocks (database). */
int ldapdir_sync(struct ldapdirs *ldapdirs, struct err *err);

/* Once a second: looks after directories, resolves names that were asked for, ends worker pools of directories that are gone. Does not block. */
void ldapdir_tick(struct ldapdirs *ldapdirs);

/* -- people, by directories ------------------------------------------------------------------------------------------------- */

/* A person as a directory knows them. Texts malloc'ed. */
struct ldapdir_person {
    char *principal_id; /* "sid:S-1-5-21-...", "ldap:<source>:<uuid>" */
    char *name;         /* "alice@AD.TEST", or uid */
    char *full_name;    /* NULL: not known */
    char *directory;    /* the source that said so */
    char *mark;         /* what the account is like now; compared by ldapdir_check_person; NULL: not told */
    char refusal[64];   /* why the account may not sign in; "": it may */
    bool is_unasked;    /* a directory ought to have been asked, and did not answer: what a ticket says has to do */
    struct group_set groups;
};
void ldapdir_person_done(struct ldapdir_person *person); /* NULL is allowed */

/* How a source is, on this replica. */
enum ldapdir_state { LDAPDIR_UNKNOWN, LDAPDIR_OK, LDAPDIR_FAILING, LDAPDIR_DISABLED };
const char *ldapdir_state_name(enum ldapdir_state state); /* "unknown", "ok", "failing", "disabled"; static */

/* The worker pool of a source, where the functions below are best called: they wait for its servers. To be used at once: it
 * ends when the source is gone. ERR_NOT_FOUND (no such source, or a disabled one). */
int ldapdir_pool(struct ldapdirs *ldapdirs, const char *source, struct worker_pool **out, struct err *err);

/* Name and password. Unknown, disabled, locked or expired accounts and wrong passwords are all ERR_CREDENTIALS, in the same text and by the same work;
 * err->detail tells them apart, for log and audit log only. ERR_UNREACHABLE, ERR_TIMEOUT, ERR_TLS, ERR_UPSTREAM when no server could say. */
struct ldapdir_password {
    const char *source, *user, *password;
};
int ldapdir_check_password(struct ldapdirs *ldapdirs, const struct ldapdir_password *given, struct ldapdir_person *out,
                           struct err *err);
/* The name alone, where DOMAIN\name and name@DOMAIN mean the same account: what counts as one name when tries are counted. Asks nobody. Caller
 * frees; NULL without memory. */
char *ldapdir_account_name(struct ldapdirs *ldapdirs, const char *source, const char *user);

/* Somebody signed in, as known so far. Borrowed. */
struct ldapdir_known {
    const struct principal *who;
    const char *mark;               /* ldapdir_person.mark; NULL: not known */
    const struct group_set *groups; /* sealed */
};
/* The mark of somebody whose groups a ticket of Kerberos told, and when the password was set (pwdLastSet). Caller frees; NULL without memory. */
char *ldapdir_ticket_mark(int64_t password_set_at);
/* Asks again about somebody signed in. Blocks. ERR_SESSION_ENDED when the account is gone, disabled or expired, its password was changed since
 * the mark was made, or the source is there no more, in the database as well. A directory that is away answers at once that it is. Groups of
 * other domains than the person's that a ticket told stay: a domain controller knows those of its own domain only. *groups_out
 * (uninitialised) is sealed. */
int ldapdir_check_person(struct ldapdirs *ldapdirs, const struct ldapdir_known *known, struct group_set *groups_out,
                         struct err *err);

#define LDAPDIR_SOURCE_BYTES 32
/* Somebody of a Kerberos realm. Borrowed. */
struct ldapdir_principal {
    const char *realm, *name; /* "AD.TEST", "alice" */
    const char *id;           /* "sid:..." that the ticket says; NULL: it does not */
};
/* The source that serves the realm, and can know the id. False if none does. Does not block. */
bool ldapdir_source_of(struct ldapdirs *ldapdirs, const struct ldapdir_principal *who, char out[LDAPDIR_SOURCE_BYTES]);

/* What the directory of the realm says about a principal of it: by id if there is one, else by name. ERR_NOT_FOUND if no source serves the
 * realm; ERR_CREDENTIALS for an account that it does not know or that is disabled. Where names differ by case only, they are one person in Active Directory, and
 * two elsewhere. */
int ldapdir_lookup_principal(struct ldapdirs *ldapdirs, const struct ldapdir_principal *who, struct ldapdir_person *out,
                             struct err *err);

/* -- names of ids ----------------------------------------------------------------------------------------------------------- */

#define LDAPDIR_NAME_BYTES 257
/* The name of a person or group, from memory. False if it is not known: then it is asked for in the background. */
bool ldapdir_get_name(struct ldapdirs *ldapdirs, const char *id, char out[LDAPDIR_NAME_BYTES]);

enum ldapdir_kind { LDAPDIR_PERSON, LDAPDIR_GROUP };
/* What an administrator means by a name: that of the account or group, also as "DOMAIN\name", or a DN. `source` NULL: all sources. */
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
/* What it can mean: the one that out->items[0] is, and ERR_AMBIGUOUS with all of them if there are several. Groups that can give no role (distribution groups,
 * built-in ones) are not counted. Waits for directories, all that are asked must answer. *out (uninitialised) is freed by ldapdir_matches_done in any case.
 * ERR_UNPROCESSABLE: nothing of that name, nothing that gives rights, no such source; errors of asking. */
int ldapdir_lookup(struct ldapdirs *ldapdirs, const struct ldapdir_reference *reference, struct ldapdir_matches *out,
                   struct err *err);
/* The person of an id, also one who may not sign in: out->refusal tells why. Waits for directories. *out is set on success. ERR_NOT_FOUND when all that could
 * know the id do not; errors of asking. */
int ldapdir_lookup_person(struct ldapdirs *ldapdirs, const char *id, struct ldapdir_person *out, struct err *err);
/* Where looking up in this source, NULL: in all, is best done: *out NULL says that it is no single source, so any worker pool will do in which others
 * than those sources' sign-ons wait. */
int ldapdir_lookup_pool(struct ldapdirs *ldapdirs, const char *source, struct worker_pool **out, struct err *err);
