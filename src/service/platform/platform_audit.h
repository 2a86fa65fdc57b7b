/* The audit trail of what is done to vCenters. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit_store.h"
#include "principal.h"

#define ROTATION_ACTION "vcenter.rotate_certificate"

struct platform;

/* The line that `actor` (NULL: this replica by itself) does `what` to a vCenter: action, object and reason as far as they are known. Texts are borrowed. */
struct audit_record platform_audit_make(struct platform *platform, const struct actor *actor, const struct audit_event *what);

/* A deed under way: its id in audit_store.h; "": it has not begun. */
struct platform_begun {
    char id[UUID_TEXT_BYTES];
};
/* Writes that it begins, before anything is done at the vCenter: if that cannot be written nothing may be done. What this replica does by itself
 * and tries again and again is one deed as long as it has not ended. Errors of store.h. */
int platform_audit_begin(struct platform *platform, const struct audit_record *line, struct platform_begun *begun,
                         struct err *err);
/* Ends, if it is open, what this replica had begun by itself and something else has completed. */
void platform_audit_finish(struct platform *platform, const struct audit_record *line);
/* Writes how it ended, begun or not: 0 or ERR_*. If that cannot be written, what was begun is closed with an unknown outcome later. */
void platform_audit_end(struct platform *platform, const struct audit_record *line, int rc, const struct platform_begun *begun);
