/* Permissions: who has which role on an object. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Roles are made and found by vim_role.h. General errors: vim.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct vim_client;

/* An object of the inventory; NULL in its place means the root folder. */
struct vim_entity {
    const char *type, *moref; /* "ClusterComputeResource", "domain-c7" */
};

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

/* The permissions that stand on the object itself, not inherited ones. Needs System.Read there. ERR_NOT_FOUND: no such object. */
int vim_list_permissions(struct vim_client *client, const struct vim_entity *entity, struct vim_permission_list *out,
                         struct err *err);

/* Removes the permission of one principal from the object. Needs Authorization.ModifyPermissions there. ERR_NOT_FOUND: it has none there. */
int vim_remove_permission(struct vim_client *client, const struct vim_entity *entity, const char *principal, bool is_group,
                          struct err *err);
