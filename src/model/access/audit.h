/* One line of the audit log. Layer 1 (model).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

struct actor;

/* All texts borrowed from the caller; NULL where unknown. Never a token, ticket, password or whole session id. */
struct audit_event {
    const char *action; /* stable word: "login", "vcenter.register", "cluster.create" */
    const char *principal_id;
    const char *principal_name;
    const char *acting_id; /* of the program that acted for the principal */
    const char *source;    /* way of sign-on */
    const char *object_kind, *object_id, *object_name;
    const char *address; /* client's address */
    const char *request_id;
    const char *result; /* "ok" or an error slug */
    const char *reason;
};
#define AUDIT_SOURCE_SYSTEM "system" /* kaasd by itself */

/* One event with its time. */
struct audit_record {
    int64_t at_ms; /* wall clock */
    struct audit_event event;
};

/* Makes a record of `what` with the time of now. Address and request id are the actor's; principal and acting program, too, unless it has none: then they are
 * those of `what`. The source is that of `what`, else the actor's. A NULL actor is kaasd itself. The result is "ok" unless `what` has one. Texts stay
 * borrowed. */
struct audit_record audit_record_make(const struct actor *actor, const struct audit_event *what);
/* A copy of `line` with the time of now and the outcome `rc` (0 or ERR_*) as its result. */
struct audit_record audit_record_now(const struct audit_record *line, int rc);
