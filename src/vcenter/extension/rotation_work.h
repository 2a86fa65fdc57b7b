/* The steps of one change of the login credential, for rotation.c and login_account.c. Layer 4 (vcenter); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "link_env.h"
#include "link_login.h"
#include "link_task.h"
#include "principal.h"
#include "vcenter.h"

/* One change. The caller sets link and actor; rotation_work_done frees it, begun or not. */
struct rotation_work {
    struct link *link;
    const struct platform_options *options;
    struct admin_lease lease;
    struct vcenter vc;
    struct login_material have;
    struct login_credential fresh;
    const struct actor *actor;   /* NULL: we by ourselves */
    struct audit_record line;    /* for the audit log; the outcome is not filled in */
    struct platform_begun begun; /* operation of this change in the audit log */
    bool is_first_part;          /* the next promotion does not end the operation */
    bool is_noted;               /* the end of the operation is in the audit log */
};
void rotation_work_done(struct rotation_work *w); /* also gives back the lease */

/* Takes the lease and reads vCenter and credentials; `action` is for the audit log, static. ERR_NOT_REGISTERED, ERR_CONFLICT (link_task.h), errors of
 * store.h and seal.h. */
int rotation_work_begin(struct rotation_work *w, const char *action, struct err *err);

/* Writes to the audit log that the operation begins: before vCenter is told anything, or a password is stored. Errors of store.h. */
int rotation_begin_operation(struct rotation_work *w, struct err *err);

/* Proves that vCenter accepts the credential: logs in with it by a client of its own, so that the link's session stays untouched. ERR_CREDENTIALS, errors of
 * vim.h. */
int rotation_prove(struct rotation_work *w, const struct login_credential *c, struct err *err);

/* Makes a stored credential the active one; writes the end of the operation in the same transaction, unless is_first_part. Errors of store.h. */
int rotation_promote(struct rotation_work *w, const struct login_credential *c, struct err *err);

/* Moves from a stored pending credential to the active one: tells vCenter, proves, promotes. Errors as of these. */
int rotation_carry_through(struct rotation_work *w, const struct login_credential *c, struct err *err);

/* Makes a login certificate in w->fresh. ERR_NOMEM, ERR_INTERNAL. */
int rotation_make_certificate(struct rotation_work *w, struct err *err);

/* Moves to w->fresh, which is not stored yet: stores it as pending, tells vCenter, proves it (a certificate only: an account was proved before), promotes it.
 * A credential that vCenter refuses is retired; after an error that leaves the outcome open LINK_WORK_RENEW finishes the move. Errors as above. */
int rotation_to_fresh(struct rotation_work *w, struct err *err);

/* Writes to the audit log how the change ended (`rc`: 0 or ERR_*), unless that is written already. */
void rotation_note_in_audit(struct rotation_work *w, int rc, const struct err *why);

/* Tells the link until when the credential `c` is valid, if it is a certificate. */
void rotation_note_certificate(struct link *link, const struct login_credential *c);
