/* The role mappings in memory. Layer 4 (service/signon); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "grant_store.h"
#include "principal.h"

struct role_rules;
struct role_rules *role_rules_new(void);        /* NULL without memory */
void role_rules_free(struct role_rules *rules); /* NULL is allowed */

/* Takes the list over in place of the one before. */
void role_rules_set(struct role_rules *rules, struct role_mapping_list *take);

/* A copy of it, given back by role_mapping_list_done. ERR_NOMEM. */
int role_rules_list(struct role_rules *rules, struct role_mapping_list *out, struct err *err);

/* The privileges that are mapped for this vCenter: an array of *count texts in one block; NULL for none, or without memory. */
char **role_rules_privileges(struct role_rules *rules, const char *vcenter_id, size_t *count);

/* The best role of those mapped to this person, or ROLE_NONE. Callable from any thread. */
enum role role_rules_find(struct role_rules *rules, const char *principal_id, const struct group_set *groups);
