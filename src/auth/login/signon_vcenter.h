/* Having a vCenter check a credential, without a thread while waiting; and signing in by it. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Identical credentials (same vCenter, kind, user and secret) whose checks are under way at a time share one: what the vCenter said to the first, be it a
 * refusal or that it cannot be reached, is said to all. Nobody tries again by itself: a crowd that did would be one at a vCenter in distress. A
 * clone ticket works once, so it is shared with nobody. */
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
    const char *acting_id;  /* "svc:<id>" of the program that says so, and acts for the user; NULL: none */
    const char *service_id; /* its service account */
    int64_t ends_at_ms;     /* of what the program proved itself by, and so of the session; wall clock; 0: does not matter */
};

/* Makes a check of this credential, not begun. The texts of caller and credential are borrowed and must live as long. *out is freed by signon_check_free.
 * Does not block. ERR_NOMEM, ERR_TOO_LARGE. */
int signon_check_new(struct signon *signon, const struct actor *actor, const struct signon_credential *credential,
                     struct signon_check **out, struct err *err);
/* Not between signon_check_wait and its run. NULL is allowed. */
void signon_check_free(struct signon_check *check);

/* Waits for the outcome: run(arg, false) is called once, by any thread, also by this one, whether the credential is good or not; then
 * signon_login_vcenter or signon_add_vcenter take what came out. To be called once. Does not block. ERR_BUSY (KAAS_SIGNONS_WAITING_MAX,
 * KAAS_SIGNONS_SHARED_MAX), ERR_NOMEM: then run is not called. */
int signon_check_wait(struct signon_check *check, worker_fn *run, void *arg, struct err *err);

/* Refuses a credential for a vCenter that is not joined as if that had refused it: strangers are not told which there are. credential->vcenter_id is what was
 * given for it; `reason` is for the audit log. Blocks (database). ERR_CREDENTIALS, ERR_TOO_MANY. */
int signon_refuse_unasked(struct signon *signon, const struct actor *actor, const struct signon_credential *credential,
                          const char *reason, struct err *err);

/* True, when run is called, in a thread of the vCenter's worker pool that has nothing else to do: work that blocks may be done there. False: others wait
 * for this thread. */
bool signon_check_is_in_worker(const struct signon_check *check);

/* Signs in by a credential whose check was waited for. Blocks (database). What the check ended with; extension sessions give ERR_FORBIDDEN. */
int signon_login_vcenter(struct signon *signon, const struct actor *actor, struct signon_check *check, struct signon_issued *out,
                         struct err *err);

/* -- who looks at a page of the vSphere Client, without signing in ------------------------------------------------------------------- */

/* What a vCenter said about whoever has a session of the vSphere Client is kept for SIGNON_PLUGIN_MS, by vCenter and session, and no longer than what it lets
 * that person view may be used (policy_rights_age, signon_drop_rights). Only what a vCenter said yes to takes a place, and the newest takes that of another. */
#define SIGNON_PLUGIN_MS 60000

/* Such a person. Freed by signon_plugin_person_done. */
struct signon_plugin_person {
    char *principal_id;
    struct shared_objects *objects; /* what the vCenter lets it view */
};
void signon_plugin_person_done(struct signon_plugin_person *person); /* NULL is allowed */

/* The person by a credential of the kind VC_CREDENTIAL_PLUGIN, from memory. Does not block. False where the vCenter is to be asked, or without memory; then *out is
 * empty. */
bool signon_find_plugin_person(struct signon *signon, const struct signon_credential *credential,
                               struct signon_plugin_person *out);
/* The same from a check of such a credential that was waited for; it is kept. Does not block. What the check ended with; ERR_FORBIDDEN for the session of an
 * extension; ERR_NOMEM. */
int signon_take_plugin_person(struct signon *signon, struct signon_check *check, struct signon_plugin_person *out,
                              struct err *err);

/* -- one person over several vCenters ----------------------------------------------------------------------------------- */

/* Adds a further vCenter to a live session, by a credential whose check was waited for; an earlier credential for it is replaced. The person stays who signed
 * in, the role stays what it was, and the session ends at the earliest end of all. Blocks (database). As signon_login_vcenter;
 * ERR_CONFLICT for the vCenter the person came from (the check need not have been waited for then) and beyond SESSION_VCENTERS_MAX;
 * ERR_SESSION_ENDED. */
int signon_add_vcenter(struct signon *signon, const struct actor *actor, struct live_session *live, struct signon_check *check,
                       struct err *err);
/* Is this the vCenter by which the bearer signed in? */
bool signon_is_first_vcenter(struct live_session *live, const char *vcenter_id);

/* Takes it away again, here and on every replica. Blocks. ERR_NOT_FOUND; ERR_CONFLICT for the one the person came from. */
int signon_remove_vcenter(struct signon *signon, const struct actor *actor, struct live_session *live, const char *vcenter_id,
                          struct err *err);

/* -- for the files of this folder -------------------------------------------------------------------------------------- */

/* A singleflight whose results are outcomes of credentials. NULL without memory. */
struct singleflight *signon_checks_new(void);
/* Forgets all people by sessions of plug-ins. */
void signon_forget_plugin_people(struct signon *signon);
