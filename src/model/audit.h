/* One line of the audit trail. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

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
