/* Has a vCenter check a credential, without a thread while waiting, and signs in by it. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Identical credentials (same vCenter, kind, user and secret) that are checked at the same time share one check: all get the answer that the first one gets,
 * also a refusal or an error of the vCenter. None is tried again automatically: a crowd of retries would hit a vCenter in distress. A clone ticket works
 * once, so its check is shared with nobody. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "worker_pool.h"
#include "session.h"
#include "vc_people.h"

struct signon;
struct actor;
struct signon_check;
struct live_session;
struct signon_issued;

/* A credential that a vCenter checks. Borrowed. */
struct signon_credential {
    enum vc_credential_kind kind;
    const char *vcenter_id;
    const char *user;       /* with a password, a key or a name, else NULL */
    const char *secret;     /* cookie, ticket, password or key; "" with a name; wiped by whoever owns it */
    const char *acting_id;  /* "svc:<id>" of the program that presents the credential and acts for the user; NULL: none */
    const char *service_id; /* its service account */
    int64_t ends_at_ms;     /* end of the program's own credential, and so of the session; wall clock; 0: no limit */
};

/* Makes a check of this credential; signon_check_wait begins it. The texts of actor and credential are borrowed and must live as long. *out is freed by
 * signon_check_free. Does not block. ERR_NOMEM, ERR_TOO_LARGE. */
int signon_check_new(struct signon *signon, const struct actor *actor, const struct signon_credential *credential,
                     struct signon_check **out, struct err *err);
/* Not between signon_check_wait and its run. NULL is allowed. */
void signon_check_free(struct signon_check *check);

/* Begins the check: run(arg, false) is called once when it is done, whether the credential is good or not, by any thread, also by this one; then
 * signon_login_vcenter or signon_add_vcenter takes the outcome. Call it once. Does not block. ERR_BUSY (KAAS_SIGNONS_WAITING_MAX, KAAS_SIGNONS_SHARED_MAX),
 * ERR_NOMEM: then run is not called. */
int signon_check_wait(struct signon_check *check, worker_fn *run, void *arg, struct err *err);

/* Refuses a credential for a vCenter that is not joined with the error that a joined vCenter's refusal has, so that strangers do not learn which vCenters
 * there are. credential->vcenter_id is the name that was given; `reason` is for the audit log. Blocks (database). ERR_CREDENTIALS, ERR_TOO_MANY. */
int signon_refuse_unasked(struct signon *signon, const struct actor *actor, const struct signon_credential *credential,
                          const char *reason, struct err *err);

/* Within run: true if it is called in a thread of the vCenter's worker pool that has nothing else to do, so that run may block. False: others wait for this
 * thread. */
bool signon_check_is_in_worker(const struct signon_check *check);

/* Signs in by a credential whose check is done. Blocks (database). Returns the error of the check; ERR_FORBIDDEN for the session of an extension; errors of
 * signon_open_session. */
int signon_login_vcenter(struct signon *signon, const struct actor *actor, struct signon_check *check, struct signon_issued *out,
                         struct err *err);

/* -- who looks at a page of the vSphere Client, without signing in ------------------------------------------------------------------- */

/* The vCenter's answer about the person behind a session of the vSphere Client is kept for SIGNON_PLUGIN_MS, by vCenter and session, but not used longer than
 * that person's rights may be (policy_rights_age, signon_drop_rights). Only positive answers are kept; a new one may take the place of another. */
#define SIGNON_PLUGIN_MS 60000

/* The person behind a session of the vSphere Client. Freed by signon_plugin_person_done. */
struct signon_plugin_person {
    char *principal_id;
    struct shared_objects *objects; /* what the vCenter lets it view */
};
void signon_plugin_person_done(struct signon_plugin_person *person); /* NULL is allowed */

/* Finds the person of a credential of the kind VC_CREDENTIAL_PLUGIN in memory. Does not block. False where the vCenter has to be asked, or without memory;
 * then *out is empty. */
bool signon_find_plugin_person(struct signon *signon, const struct signon_credential *credential,
                               struct signon_plugin_person *out);
/* Takes the person from a finished check of such a credential, and keeps the answer. Does not block. Returns the error of the check; ERR_FORBIDDEN for the
 * session of an extension; ERR_NOMEM. */
int signon_take_plugin_person(struct signon *signon, struct signon_check *check, struct signon_plugin_person *out,
                              struct err *err);

/* -- one person over several vCenters ----------------------------------------------------------------------------------- */

/* Adds a further vCenter to a live session, by a credential whose check is done; it replaces an earlier credential for that vCenter. Person and role of the
 * session stay, and it ends at the earliest end of all its credentials. Blocks (database). As signon_login_vcenter; ERR_CONFLICT for the vCenter by which the
 * person signed in (needs no check) and beyond SESSION_VCENTERS_MAX; ERR_SESSION_ENDED. */
int signon_add_vcenter(struct signon *signon, const struct actor *actor, struct live_session *live, struct signon_check *check,
                       struct err *err);
/* Is this the vCenter by which the bearer signed in? */
bool signon_is_first_vcenter(struct live_session *live, const char *vcenter_id);

/* Removes a further vCenter from a session, here and on every replica. Blocks. ERR_NOT_FOUND; ERR_CONFLICT for the vCenter by which the person signed in. */
int signon_remove_vcenter(struct signon *signon, const struct actor *actor, struct live_session *live, const char *vcenter_id,
                          struct err *err);

/* -- for the files of this folder -------------------------------------------------------------------------------------- */

/* Makes the singleflight in which identical credentials share a check. NULL without memory. */
struct singleflight *signon_checks_new(void);
/* Forgets all kept answers about sessions of the vSphere Client. */
void signon_forget_plugin_people(struct signon *signon);
