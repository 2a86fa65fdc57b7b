/* Permission grants and role mappings. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "grant.h"
#include "store.h"

struct grant_list {
    struct grant *items; /* by principal, object kind, object */
    size_t count;
};
void grant_list_done(struct grant_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by grant_list_done. */
int grant_store_list(struct store *store, struct grant_list *out, struct err *err);

/* Reads one into *out (uninitialised), given back by grant_done. ERR_NOT_FOUND. */
int grant_store_load(struct store *store, const char *id, struct grant *out, struct err *err);

/* Writes a new grant, and its line in the audit log (may be NULL) with it. ERR_EXISTS if the principal has one on this object;
 * ERR_CONFLICT if there is no such object; ERR_UNPROCESSABLE for an object id of the wrong form. Notes CHANGE_GRANT with the grant's id. */
int grant_store_insert(struct store *store, const struct grant *g, int64_t now_ms, const struct audit_record *audit,
                       struct err *err);

/* Replaces the id of a principal (malloc'ed) by the spelling that existing grants to the same principal have (principal_same), if they have another one, so
 * that kaasd itself never makes a second spelling. ERR_CONFLICT if they have several others. */
int grant_store_settle_principal(struct store *store, char **principal_id, struct err *err);

/* Removes one, `audit` as above. ERR_NOT_FOUND. Notes CHANGE_GRANT. */
int grant_store_delete(struct store *store, const char *id, const struct audit_record *audit, struct err *err);

/* -- role mappings. Writes note CHANGE_ROLE_MAPPING with the id ---------------------------- */

struct role_mapping_list {
    struct role_mapping *items; /* in the order of role_mapping_compare */
    size_t count;
};
void role_mapping_list_done(struct role_mapping_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by role_mapping_list_done. */
int role_mapping_store_list(struct store *store, struct role_mapping_list *out, struct err *err);
/* Reads one into *out (uninitialised), given back by role_mapping_done. ERR_NOT_FOUND. */
int role_mapping_store_load(struct store *store, const char *id, struct role_mapping *out, struct err *err);

/* Writes a new one, and its line in the audit log (may be NULL) with it. ERR_EXISTS if the subject has one already; ERR_CONFLICT when
 * ROLE_MAPPINGS_MAX are there. */
int role_mapping_store_insert(struct store *store, const struct role_mapping *m, const struct audit_record *audit,
                              struct err *err);
/* Changes role and note of the mapping with m->id and m->version_no; `audit` as above. ERR_NOT_FOUND, ERR_PRECONDITION. */
int role_mapping_store_update(struct store *store, const struct role_mapping *m, const struct audit_record *audit,
                              struct err *err);
/* Removes one (of this version_no; 0: any). ERR_NOT_FOUND, ERR_PRECONDITION. */
struct role_mapping_removal {
    const char *id;
    int64_t version_no;
    const struct audit_record *audit; /* may be NULL */
};
int role_mapping_store_delete(struct store *store, const struct role_mapping_removal *removal, struct err *err);
