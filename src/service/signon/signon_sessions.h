/* Sessions as administrators see them: who is signed in, and ending that. Layer 4 (service/signon). Part of signon.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "err.h"
#include "live_session.h"
#include "grant_store.h"
#include "session_store.h"

struct signon;
struct actor;

/* A name for a session that is no part of any token: whoever reads it in a list cannot use it for anything else. */
#define SIGNON_HANDLE_BYTES SESSION_HANDLE_BYTES
void signon_handle_of(const char *sid, char out[SIGNON_HANDLE_BYTES]);

/* A page of the live sessions of all replicas; the role in them is the one that counts now. *out (uninitialised) is given back by session_list_done. Blocks. */
int signon_list_sessions(struct signon *signon, const struct session_query *query, struct session_list *out, struct err *err);

/* Asks a vCenter what somebody may view there, by user name, whether signed in or not; `principal_id` is "vc:<vcenter_id>:<name>". Blocks: in the
 * lane of that vCenter. *out is given back by object_set_done. ERR_NOT_FOUND (form), and the errors of asking. */
int signon_lookup_rights(struct signon *signon, const char *vcenter_id, const char *principal_id, struct object_set *out,
                         struct err *err);

/* A further vCenter that sessions of somebody are linked to. */
struct signon_linked {
    char vcenter_id[37];
    struct shared_objects *objects; /* what it lets that person view; NULL: not known here at the moment */
};
#define SIGNON_LINKED_MAX 16U
/* Those of the sessions of a principal that are in memory, each once, up to SIGNON_LINKED_MAX; where several sessions are linked to one vCenter, one of which it is
 * known what they may view. Returns the number; given back by signon_linked_done. Does not ask, does not block, counts as no use. */
size_t signon_get_linked(struct signon *signon, const char *principal_id, struct signon_linked out[SIGNON_LINKED_MAX]);
void signon_linked_done(struct signon_linked *items, size_t count);

/* A session of somebody by id, or by name (in any case): of several the one that was opened last. The role in it is the one that counts now. *out
 * (uninitialised) is given back by session_done. Blocks. ERR_NOT_FOUND. */
int signon_find_known(struct signon *signon, const char *principal, struct session *out, struct err *err);

/* A copy of the role mappings that count now. *out (uninitialised) is given back by role_mapping_list_done. Does not block. ERR_NOMEM. */
int signon_list_role_mappings(struct signon *signon, struct role_mapping_list *out, struct err *err);

/* The role that is mapped to this person, or to one of these groups (sealed; NULL: none), or ROLE_NONE. */
enum role signon_mapped_role(struct signon *signon, const char *principal_id, const struct group_set *groups);

/* Ends a session here and, through the change feed, on every replica; noted in the audit trail. Blocks. ERR_NOT_FOUND. */
int signon_end_session(struct signon *signon, const struct actor *actor, const char *handle, struct err *err);

/* The local user `user_id` was changed or removed: role, disabling and the duty to change the password reach the sessions under way. Blocks. */
int signon_apply_user_change(struct signon *signon, const char *user_id, struct err *err);
