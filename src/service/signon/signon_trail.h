/* What sign-ons and the ends of sessions leave in the audit trail. Layer 4 (service/signon); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "principal.h"
#include "signon.h"

/* Writes one line of the audit trail; a failure is not the caller's. */
struct signon_audit {
    const char *action;
    const struct principal *who; /* NULL: unknown */
    const char *name;            /* as given, when who is unknown */
    const char *acting_id;       /* of the program that acts for them; NULL: as `who` says */
    const char *source;
    const char *vcenter_id;
    const char *object_kind, *object_id; /* without vcenter_id; NULL: none */
    int64_t at_ms;                       /* 0: now */
    const char *reason;                  /* for administrators; NULL: the result says it */
};
void signon_audit(struct signon *signon, const struct actor *actor, const struct signon_audit *event, int rc);

/* Ends a session in the database, with its line in the same transaction: with `result`, or with the failure where that is 0. In memory it is the
 * caller's to end. Errors of session_store_revoke. */
struct signon_ending {
    const char *sid;
    const struct actor *actor;
    const struct signon_audit *event;
    int result;
};
int signon_write_end(struct signon *signon, const struct signon_ending *ending, struct err *err);

void signon_count_lost_audit(void); /* a line of the audit trail could not be written */
