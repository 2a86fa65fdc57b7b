/* One change of what we log in with, step by step: for rotation.c. Layer 4 (vcenter); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "link_env.h"
#include "link_login.h"
#include "link_task.h"
#include "principal.h"
#include "vcenter.h"

/* Begins with link and actor; rotation_work_done gives it back, begun or not. */
struct rotation_work {
    struct link *link;
    const struct platform_options *options;
    struct admin_lease lease;
    struct vcenter vc;
    struct login_material have;
    struct login_credential fresh;
    const struct actor *actor;   /* NULL: we by ourselves */
    struct audit_record line;    /* without an end */
    struct platform_begun begun; /* its operation */
    bool is_first_part;          /* the next promotion does not end it */
    bool is_noted;               /* how it ended is written */
};
void rotation_work_done(struct rotation_work *w); /* also gives back the lease */

/* Takes the lease and reads vCenter and credentials; `action` is for the audit log, static. ERR_NOT_REGISTERED, ERR_CONFLICT (link_task.h), errors of
 * store.h and seal.h. */
int rotation_work_begin(struct rotation_work *w, const char *action, struct err *err);

/* Writes that it begins: before anything is told to vCenter, or stored of a password. Errors of store.h. */
int rotation_begin_operation(struct rotation_work *w, struct err *err);

/* Logs in with it, by a client of its own, so that the link's session and what runs over it stay untouched. ERR_CREDENTIALS, errors of vim.h. */
int rotation_prove(struct rotation_work *w, const struct login_credential *c, struct err *err);

/* Makes a stored one the active one; how the operation ended is written with it, unless there is more to do. Errors of store.h. */
int rotation_promote(struct rotation_work *w, const struct login_credential *c, struct err *err);

/* From a stored pending credential to the active one: told, proved, promoted. Errors as of these. */
int rotation_carry_through(struct rotation_work *w, const struct login_credential *c, struct err *err);

/* Makes a login certificate: `fresh`. ERR_NOMEM, ERR_INTERNAL. */
int rotation_make_certificate(struct rotation_work *w, struct err *err);

/* Moves to `fresh`, which is not stored yet: stored as pending, told, proved (an account was proved before), promoted. What vCenter refuses is retired; after an error that left the
 * outcome open LINK_WORK_RENEW finishes it. Errors as above. */
int rotation_to_fresh(struct rotation_work *w, struct err *err);

/* Writes how it ended: 0 or ERR_*; nothing if that is written. */
void rotation_note_in_audit(struct rotation_work *w, int rc, const struct err *why);

/* Tells the link until when the certificate is valid, if it is one. */
void rotation_note_certificate(struct link *link, const struct login_credential *c);
