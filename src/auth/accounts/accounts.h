/* Service accounts: changing them, and finding the account of a credential. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Accounts are read from the inventory's snapshot, which follows each change within a second on every replica: each request looks up there what an account
 * may do; nothing is remembered from the sign-on. Every change and its line in the audit log are one transaction. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "principal.h"
#include "service_account.h"
#include "snapshot.h"

struct ldapdirs;

/* Stores a new account: name, credentials and limits of `wanted` are given; id and times are set in it. Blocks (database). ERR_UNPROCESSABLE, ERR_EXISTS,
 * ERR_CONFLICT. */
int accounts_add(struct ldapdirs *ldapdirs, const struct actor *actor, struct service_account *wanted, struct err *err);

struct account_edit {
    const char *id;
    int64_t version_no;                                                     /* 0: whatever it is now */
    int (*fn)(void *arg, struct service_account *account, struct err *err); /* changes the record; may be called several times */
    void *arg;
};
/* Changes an account. Disabling it, or removing a credential, ends its sessions; removing the delegation ends those in which it acts for somebody. A smaller
 * set of HX clusters counts in running sessions at once. Blocks. ERR_NOT_FOUND, ERR_PRECONDITION, ERR_EXISTS, ERR_UNPROCESSABLE. */
int accounts_change(struct ldapdirs *ldapdirs, const struct actor *actor, const struct account_edit *edit, struct err *err);

/* Removes an account and ends its sessions. `version_no` as above. Blocks. ERR_NOT_FOUND, ERR_PRECONDITION. */
int accounts_remove(struct ldapdirs *ldapdirs, const struct actor *actor, const char *id, int64_t version_no, struct err *err);

/* Stores when a pinned certificate ends, if only its fingerprint was known; a failure is ignored, as the next sign-on tries again. Blocks. */
void accounts_note_certificate(struct ldapdirs *ldapdirs, const char *id, const struct service_certificate *certificate);

/* -- finding the account of a credential: in memory, without waiting ------------------------------------------------------------ */

/* A client certificate whose key the client has proved to hold. */
struct accounts_credential {
    const char *sha256;                  /* lower-case hex */
    const char *subject;                 /* RFC 4514; "": none can be used */
    int64_t not_before_ms, not_after_ms; /* wall clock */
    bool is_trusted;                     /* its chain is good under a configured CA */
    bool is_revoked;                     /* by a revocation list, or the list is out of date */
};
/* The account that signs in by this certificate: pinned, or by its subject under a configured CA. ERR_CREDENTIALS, the same text whatever is wrong;
 * err->detail says what, for log and audit log. *out is borrowed from the platform. */
int accounts_find_by_certificate(const struct inventory_platform *platform, const struct accounts_credential *credential,
                                 int64_t now_ms, const struct service_account **out, struct err *err);
/* The same for a Kerberos principal, "name@REALM". */
int accounts_find_by_kerberos(const struct inventory_platform *platform, const char *principal,
                              const struct service_account **out, struct err *err);

/* Checks that the service account of a session still allows it. *out gets the account with its limits; NULL for a session without one. ERR_SESSION_ENDED when
 * the account is gone or disabled, or may not act for people any more. */
int accounts_check_session(const struct inventory_platform *platform, const struct principal *who,
                           const struct service_account **out, struct err *err);

/* Adds findings on client certificates of service accounts that end soon. Does not block. */
void services_check_health(const struct inventory_platform *platform, struct findings *out);
