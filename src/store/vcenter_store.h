/* vCenters. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "store.h"
#include "vcenter.h"

struct vcenter_list {
    struct vcenter *items; /* by name, then id */
    size_t count;
};
void vcenter_list_done(struct vcenter_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by vcenter_list_done. */
int vcenter_store_list(struct store *store, struct vcenter_list *out, struct err *err);

/* Reads one; freed by vcenter_free. ERR_NOT_FOUND. */
int vcenter_store_load(struct store *store, const char *id, struct vcenter **out, struct err *err);

/* The writes below append the line `audit` to the trail in the same transaction: both or neither. NULL: none. */

/* Writes a new row; version_no starts at 1 whatever vc says. ERR_EXISTS if the instance UUID is known. Notes CHANGE_VCENTER. */
int vcenter_store_insert(struct store *store, const struct vcenter *vc, const struct audit_record *audit, struct err *err);

/* Writes all attributes if the row still has vc->version_no; *version_no is the new one. ERR_PRECONDITION if it changed,
 * ERR_NOT_FOUND. created_at_ms stays. Notes CHANGE_VCENTER. */
int vcenter_store_update(struct store *store, const struct vcenter *vc, const struct audit_record *audit, int64_t *version_no,
                         struct err *err);

/* Removes the vCenter with its credentials, vSphere and HX clusters and grants on them, and revokes the sessions that came from
 * it. ERR_CONFLICT while Kubernetes clusters are placed on it; ERR_NOT_FOUND. Notes CHANGE_VCENTER and the revoked
 * CHANGE_SESSION; parts that went with it are not noted one by one. */
int vcenter_store_delete(struct store *store, const char *id, int64_t now_ms, const struct audit_record *audit, struct err *err);
