/* What a person may do, as vCenter itself judges it. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 * General errors: vim.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct vim_client;

/* The person or session whose privileges are asked: exactly one of the two. */
struct vim_subject {
    const char *session_key; /* UserSession.key; unknown or expired: everything is false, not an error */
    const char *user_name;   /* UPN or DOMAIN\user */
};

struct vim_privilege_query {
    struct vim_subject subject;
    const char *privilege;       /* "System.Read" */
    const char *const *clusters; /* managed object ids of ClusterComputeResources */
    size_t count;
};

/* Sets granted[i] if the subject holds the privilege on clusters[i]. Asks in batches of KAAS_VIM_PRIVILEGE_BATCH_COUNT; a cluster that
 * is gone or that we cannot read is false and does not affect the others.
 * ERR_NOT_FOUND: vCenter does not know the user name. */
int vim_check_privileges(struct vim_client *client, const struct vim_privilege_query *query, bool *granted, struct err *err);

/* The result for one object of a question about several. */
enum vim_entity_state {
    VIM_ENTITY_JUDGED = 0,
    VIM_ENTITY_DENIED, /* there is such an object, but we may not ask about it: System.Read is missing there */
    VIM_ENTITY_GONE,   /* there is no such object */
};

struct vim_objects_query {
    struct vim_subject subject;
    const char *const *privileges;
    size_t privilege_count;
    const char *const *clusters; /* managed object ids of ClusterComputeResources */
    size_t count;
};

/* Tells which of the privileges the subject holds on the root folder and on each cluster. Asked together, in batches as above. granted[p] and
 * states[0] are of the root folder, granted[(1 + i) * privilege_count + p] and states[1 + i] of clusters[i]. All false for an object that was not judged. */
int vim_check_objects(struct vim_client *client, const struct vim_objects_query *query, bool *granted,
                      enum vim_entity_state *states, struct err *err);

/* The id and name of the root folder, for messages to people. */
struct vim_root {
    char moref[128], name[256];
};
/* Reads which object the root folder is. ERR_UPSTREAM_DENIED if our session may not even read its name. */
int vim_lookup_root(struct vim_client *client, struct vim_root *out, struct err *err);

struct vim_root_query {
    struct vim_subject subject;
    const char *const *privileges;
    size_t count;
};

/* Sets granted[i] if the subject holds privileges[i] on the root folder, where vCenter judges global privileges. */
int vim_check_root_privileges(struct vim_client *client, const struct vim_root_query *query, bool *granted, struct err *err);

/* An object of the inventory; NULL in its place means the root folder. */
struct vim_entity {
    const char *type, *moref; /* "ClusterComputeResource", "domain-c7" */
};

struct vim_entity_query {
    struct vim_subject subject;
    const struct vim_entity *entity; /* of any type; NULL: the root folder */
    const char *const *privileges;
    size_t count;
};

/* Sets granted[i] if the subject holds privileges[i] on the object. *state says whether vCenter judged it; all false where it did not. */
int vim_check_entity(struct vim_client *client, const struct vim_entity_query *query, bool *granted, enum vim_entity_state *state,
                     struct err *err);

/* -- roles: making a least-privilege one, giving it to an account, removing it ------------------------------------- */

/* Makes a role with these privilege ids and gives its id, read back from the role list by name. Needs Authorization.ModifyRoles
 * on the root folder. ERR_EXISTS. */
int vim_add_role(struct vim_client *client, const char *name, const char *const *privileges, size_t count, int *role_id,
                 struct err *err);

/* Finds a role by its name. ERR_NOT_FOUND. */
int vim_lookup_role(struct vim_client *client, const char *name, int *role_id, struct err *err);

/* Gives an existing role exactly these privileges; its name stays. Needs Authorization.ModifyRoles on the root folder. ERR_NOT_FOUND. */
struct vim_role_change {
    int role_id;
    const char *name;
    const char *const *privileges;
    size_t count;
};
int vim_update_role(struct vim_client *client, const struct vim_role_change *change, struct err *err);

/* Removes a role. With `even_if_used` also the permissions that name it; without, ERR_CONFLICT if there is such a permission. Needs
 * Authorization.ModifyRoles on the root folder. ERR_NOT_FOUND. */
int vim_remove_role(struct vim_client *client, int role_id, bool even_if_used, struct err *err);

/* -- permissions: who has which role on an object ------------------------------------------------------------------ */

/* Who has which role. */
struct vim_permission {
    char *principal; /* "VSPHERE.LOCAL\\alice"; malloc'ed where it was read */
    bool is_group;
    int role_id;
    bool does_propagate;
};

struct vim_permission_list {
    struct vim_permission *items;
    size_t count;
};
void vim_permission_list_done(struct vim_permission_list *list); /* frees and zeroes; NULL is allowed */

struct vim_grant {
    const char *user_name; /* not a group */
    int role_id;
    bool does_propagate;
};
/* Gives a user a role on the object, instead of another one that the user may have had there. Other people's permissions stay. Needs
 * Authorization.ModifyPermissions there. ERR_NOT_FOUND for an unknown user, role or object. */
int vim_grant_role(struct vim_client *client, const struct vim_entity *entity, const struct vim_grant *grant, struct err *err);

/* Lists the permissions of the object itself, not inherited ones. Needs System.Read there. ERR_NOT_FOUND: no such object. */
int vim_list_permissions(struct vim_client *client, const struct vim_entity *entity, struct vim_permission_list *out,
                         struct err *err);

/* Removes the permission of one principal from the object. Needs Authorization.ModifyPermissions there. ERR_NOT_FOUND: it has none there. */
int vim_remove_permission(struct vim_client *client, const struct vim_entity *entity, const char *principal, bool is_group,
                          struct err *err);
