/* The role mappings in memory. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "grant_store.h"
#include "principal.h"

struct live_session;
struct signon;

/* Which privileges on the root folder of this vCenter are mapped; none unless signon_options.maps_privileges. An array of *count texts in one block,
 * which the caller frees; NULL for none, or without memory. */
char **signon_mapped_privileges(struct signon *signon, const char *vcenter_id, size_t *count);

/* Reads the role mappings anew; every live session counts them from then on. Where privileges of a vCenter are mapped otherwise, its people are asked
 * about again. Blocks (database). */
int signon_apply_role_mappings(struct signon *signon, struct err *err);

/* A copy of the role mappings that count now. *out (uninitialised) is given back by role_mapping_list_done. Does not block. ERR_NOMEM. */
int signon_list_role_mappings(struct signon *signon, struct role_mapping_list *out, struct err *err);

/* The role that is mapped to this person, or to one of these groups (sealed; NULL: none), or ROLE_NONE. */
enum role signon_mapped_role(struct signon *signon, const char *principal_id, const struct group_set *groups);

/* -- for the files of this folder -------------------------------------------------------------------------------------- */

struct role_rules;
struct role_rules *role_rules_new(void);        /* NULL without memory */
void role_rules_free(struct role_rules *rules); /* NULL is allowed */

/* The role that mappings give the bearer of a session with these groups. */
enum role signon_map_role_of(struct signon *s, const struct principal *who, const struct group_set *groups);
void signon_map_role(struct signon *s, struct live_session *live); /* by the role mappings as they are now */
