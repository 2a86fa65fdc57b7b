/* Sessions as administrators see them: who is signed in, and ending that. Layer 4 (service/signon). Part of signon.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "err.h"
#include "live_session.h"
#include "role_mapping_store.h"

struct signon;
struct signon_caller;

/* A name for a session that is no part of any token: whoever reads it in a list cannot use it for anything else. */
#define SIGNON_HANDLE_BYTES 17
void signon_handle_of(const char *sid, char out[SIGNON_HANDLE_BYTES]);

struct signon_session {
    struct live_session *live; /* one reference */
    char handle[SIGNON_HANDLE_BYTES];
};
struct signon_session_list {
    struct signon_session *items; /* by name of the person, then handle */
    size_t count;
};
void signon_session_list_done(struct signon_session_list *list); /* NULL is allowed */
#define _cleanup_signon_sessions_ __attribute__((cleanup(signon_session_list_done)))

/* The live sessions of all replicas, as far as this one knows (sessions made elsewhere are known within a fraction of a second): all, or those of
 * a principal by id or name (in any case). *out (uninitialised) is given back by signon_session_list_done. Does not block, but looks at
 * every session. ERR_NOMEM. */
int signon_list_sessions(struct signon *signon, const char *principal, struct signon_session_list *out, struct err *err);

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
/* Those of all live sessions of a principal, each once, up to SIGNON_LINKED_MAX; where several sessions are linked to one vCenter, one of which it is
 * known what they may view. Returns the number; given back by signon_linked_done. From memory: does not ask, does not block, counts as no use. */
size_t signon_get_linked(struct signon *signon, const char *principal_id, struct signon_linked out[SIGNON_LINKED_MAX]);
void signon_linked_done(struct signon_linked *items, size_t count);

/* Somebody who is signed in, as far as the rules about seeing need it. */
struct signon_known {
    struct principal who;       /* owned copy; the role is the one of now */
    struct live_groups *groups; /* one reference */
};
/* By id, or by name (in any case); of several sessions the one that was opened last. *out (uninitialised) is given back by signon_known_done. Does not
 * block, but looks at every session. ERR_NOT_FOUND, ERR_NOMEM. */
int signon_find_known(struct signon *signon, const char *principal, struct signon_known *out, struct err *err);
void signon_known_done(struct signon_known *known); /* NULL is allowed */

/* A copy of the role mappings that count now. *out (uninitialised) is given back by role_mapping_list_done. Does not block. ERR_NOMEM. */
int signon_list_role_mappings(struct signon *signon, struct role_mapping_list *out, struct err *err);

/* The role that is mapped to this person, or to one of these groups (sealed; NULL: none), or ROLE_NONE. */
enum role signon_mapped_role(struct signon *signon, const char *principal_id, const struct group_set *groups);

/* Ends a session here and, through the change feed, on every replica; noted in the audit trail. Blocks. ERR_NOT_FOUND. */
int signon_end_session(struct signon *signon, const struct signon_caller *caller, const char *handle, struct err *err);

/* The local user `user_id` was changed or removed: role, disabling and the duty to change the password reach the sessions under way. Blocks. */
int signon_apply_user_change(struct signon *signon, const char *user_id, struct err *err);
