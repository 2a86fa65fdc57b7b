/* Roles: making a least-privilege one, giving it to an account, removing it. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 * General errors: vim.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct vim_client;

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

/* Removes a role. With `even_if_used` the permissions that name it go, too; without, ERR_CONFLICT says that somebody has it. Needs
 * Authorization.ModifyRoles on the root folder. ERR_NOT_FOUND. */
int vim_remove_role(struct vim_client *client, int role_id, bool even_if_used, struct err *err);

/* Gives the role to a user (not a group) on the root folder, propagating. Other people's permissions stay. Needs
 * Authorization.ModifyPermissions. ERR_NOT_FOUND for an unknown user or role. */
int vim_grant_root_role(struct vim_client *client, const char *user_name, int role_id, struct err *err);
