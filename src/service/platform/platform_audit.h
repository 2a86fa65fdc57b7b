/* The audit trail of what is done to vCenters. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit_store.h"
#include "deed_store.h"
#include "principal.h"

#define ROTATION_ACTION "vcenter.rotate_certificate"

struct platform;

/* What was done, or tried. All borrowed. */
struct platform_deed {
    const char *action;                    /* "vcenter.register" */
    const struct actor *actor;             /* NULL: nobody asked, this replica did it by itself */
    const char *vcenter_id, *vcenter_name; /* NULL where it is not known yet */
    int rc;                                /* how it ended: 0 or ERR_* */
    const char *reason;                    /* of the failure, or what else is to be known; may be NULL */
};

/* The line for it, for a write that takes it along in its transaction. Texts are borrowed, from the deed and from *out, which must stay where it is. */
struct platform_line {
    struct audit_record record;
    char replica[24];
};
void platform_audit_line(struct platform *platform, const struct platform_deed *deed, struct platform_line *out);

/* A deed under way: its id in deed_store.h; "": it has not begun. */
struct platform_begun {
    char id[UUID_TEXT_BYTES];
};
/* Writes that it begins, before anything is done at the vCenter: if that cannot be written nothing may be done. What this replica does by itself
 * and tries again and again is one deed as long as it has not ended. Errors of store.h. */
int platform_audit_begin(struct platform *platform, const struct platform_deed *deed, struct platform_begun *begun,
                         struct err *err);
/* Ends, if it is open, what this replica had begun by itself and something else has completed. Its actor is NULL. */
void platform_audit_finish(struct platform *platform, const struct platform_deed *deed);
/* Writes how it ended, begun or not. If that cannot be written, what was begun is closed with an unknown outcome later. */
void platform_audit_end(struct platform *platform, const struct platform_deed *deed, const struct platform_begun *begun);

/* Writes the line. A line that cannot be written is counted (kaas_audit_lost_total): what was done at the vCenter cannot be undone for it. */
void platform_audit(struct platform *platform, const struct platform_deed *deed);
