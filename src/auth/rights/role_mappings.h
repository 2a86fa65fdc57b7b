/* The role mappings in memory: which roles people, groups, and privileges of vCenters give. Layer 5 (auth). What they mean for sessions: session_rights.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "grant_store.h"
#include "principal.h"

struct store;

struct role_mappings;
/* Makes an empty list. `maps_privileges`: mappings by privileges of vCenters count. NULL without memory. */
struct role_mappings *role_mappings_new(bool maps_privileges);
void role_mappings_free(struct role_mappings *mappings); /* NULL is allowed */

/* Reads the mappings anew. *old (uninitialised) is what was there, given back by role_mapping_list_done. Blocks. Errors of the store. */
int role_mappings_load(struct role_mappings *mappings, struct store *store, struct role_mapping_list *old, struct err *err);

/* Copies the mappings. *out (uninitialised) is given back by role_mapping_list_done. Does not block. ERR_NOMEM. */
int role_mappings_list(struct role_mappings *mappings, struct role_mapping_list *out, struct err *err);

/* The best role that is mapped to this person or to one of these groups (sealed; NULL: none), or ROLE_NONE. */
enum role role_mappings_best(struct role_mappings *mappings, const char *principal_id, const struct group_set *groups);

/* The privileges on the root folder of this vCenter that are mapped to a role; none unless privileges count. An array of *count texts in one block, which the
 * caller frees; NULL: none, or without memory. */
char **role_mappings_privileges(struct role_mappings *mappings, const char *vcenter_id, size_t *count);
