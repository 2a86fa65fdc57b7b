/* Roles: making a least-privilege one, giving it to an account, removing it. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_role.h"

#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

struct role {
    const char *name;
    const char *const *privileges;
    size_t count;
    bool is_found;
    int id;
};

static int take_role(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property property = {"roleList", SOAP_TYPE_vim25__ArrayOfAuthorizationRole, VIM_REQUIRED};
    struct role *role = arg;
    const struct vim25__ArrayOfAuthorizationRole *array;
    const void *value = NULL;
    int ret = vim_property_get(ctx, object, &property, &value, err);
    array = value;
    role->is_found = false;
    for (int i = 0; !ret && array && i < array->__sizeAuthorizationRole; i++)
        if (str_eq(array->AuthorizationRole[i].name, role->name)) {
            role->is_found = true;
            role->id = array->AuthorizationRole[i].roleId;
        }
    return ret;
}

static int op_lookup(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_one one = {"AuthorizationManager", ctx->content.authorization_manager, "roleList"};
    return vim_retrieve_one(ctx, &one, take_role, arg, err);
}

int vim_lookup_role(struct vim_client *client, const char *name, int *role_id, struct err *err) {
    struct role role = {.name = name};
    int ret = vim_client_run_as_us(client, op_lookup, &role, err);
    if (ret)
        return ret;
    if (!role.is_found)
        return err_set(err, ERR_NOT_FOUND, "vCenter %s has no role %.80s", client->peer, name);
    *role_id = role.id;
    return 0;
}

static int op_add(struct vim_context *ctx, void *arg, struct err *err) {
    struct role *role = arg;
    struct _vim25__AddAuthorizationRole request = {0};
    struct _vim25__AddAuthorizationRoleResponse response;
    request._USCOREthis = vim_in_ref(ctx, "AuthorizationManager", ctx->content.authorization_manager);
    request.name = vim_in_text(ctx, role->name, "the role's name");
    request.privIds = vim_in_texts(ctx, role->privileges, role->count, "a privilege");
    request.__sizeprivIds = (int)role->count;
    return VIM_CALL(ctx, AddAuthorizationRole, &request, &response, err);
}

/* Read back by name: simulators answer a wrong id. */
int vim_add_role(struct vim_client *client, const char *name, const char *const *privileges, size_t count, int *role_id,
                 struct err *err) {
    struct role role = {.name = name, .privileges = privileges, .count = count};
    int ret = vim_client_run_as_us(client, op_add, &role, err);
    return ret ? ret : vim_lookup_role(client, name, role_id, err);
}

static int op_update(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_role_change *change = arg;
    struct _vim25__UpdateAuthorizationRole request = {.roleId = change->role_id};
    struct _vim25__UpdateAuthorizationRoleResponse response;
    request._USCOREthis = vim_in_ref(ctx, "AuthorizationManager", ctx->content.authorization_manager);
    request.newName = vim_in_text(ctx, change->name, "the role's name");
    request.privIds = vim_in_texts(ctx, change->privileges, change->count, "a privilege");
    request.__sizeprivIds = (int)change->count;
    return VIM_CALL(ctx, UpdateAuthorizationRole, &request, &response, err);
}

int vim_update_role(struct vim_client *client, const struct vim_role_change *change, struct err *err) {
    struct vim_role_change copy = *change;
    return vim_client_run_as_us(client, op_update, &copy, err);
}

struct removal {
    int role_id;
    bool even_if_used;
};

static int op_remove(struct vim_context *ctx, void *arg, struct err *err) {
    struct removal *removal = arg;
    struct _vim25__RemoveAuthorizationRole request = {.roleId = removal->role_id};
    struct _vim25__RemoveAuthorizationRoleResponse response;
    request._USCOREthis = vim_in_ref(ctx, "AuthorizationManager", ctx->content.authorization_manager);
    request.failIfUsed = removal->even_if_used ? xsd__boolean__false_ : xsd__boolean__true_;
    return VIM_CALL(ctx, RemoveAuthorizationRole, &request, &response, err);
}

int vim_remove_role(struct vim_client *client, int role_id, bool even_if_used, struct err *err) {
    struct removal removal = {.role_id = role_id, .even_if_used = even_if_used};
    struct err reason = {0};
    int ret = vim_client_run_as_us(client, op_remove, &removal, &reason);
    if (ret == ERR_CONFLICT)
        return err_set(err, ret, "role %d of vCenter %s is still given to somebody", role_id, client->peer);
    if (ret == ERR_NOT_FOUND)
        return err_set(err, ret, "vCenter %s has no role %d", client->peer, role_id);
    if (ret && err && !err->code)
        *err = reason;
    return ret;
}

struct grant {
    const char *user_name;
    int role_id;
};

static int op_grant(struct vim_context *ctx, void *arg, struct err *err) {
    struct grant *grant = arg;
    struct vim25__Permission permission = {
        .group = xsd__boolean__false_, .roleId = grant->role_id, .propagate = xsd__boolean__true_};
    struct _vim25__SetEntityPermissions request = {.__sizepermission = 1, .permission = &permission};
    struct _vim25__SetEntityPermissionsResponse response;
    request._USCOREthis = vim_in_ref(ctx, "AuthorizationManager", ctx->content.authorization_manager);
    request.entity = vim_in_ref(ctx, "Folder", ctx->content.root_folder);
    permission.principal = vim_in_text(ctx, grant->user_name, "the user name");
    return VIM_CALL(ctx, SetEntityPermissions, &request, &response, err);
}

int vim_grant_root_role(struct vim_client *client, const char *user_name, int role_id, struct err *err) {
    struct grant grant = {.user_name = user_name, .role_id = role_id};
    return vim_client_run_as_us(client, op_grant, &grant, err);
}
