/* Permissions: who has which role on an object. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_permission.h"

#include <string.h>

#include "str.h"
#include "vim_client.h"

void vim_permission_list_done(struct vim_permission_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].principal);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

/* One question or change; NULL entity: the root folder. */
struct access {
    const struct vim_entity *entity;
    const char *principal; /* to remove */
    bool is_group;
    struct vim_permission_list list; /* read */
};

static struct vim25__ManagedObjectReference *put_entity(struct vim_context *ctx, const struct access *access) {
    return access->entity ? vim_in_ref(ctx, access->entity->type, access->entity->moref)
                          : vim_in_ref(ctx, "Folder", ctx->content.root_folder);
}

static int take_list(const struct _vim25__RetrieveEntityPermissionsResponse *from, struct vim_permission_list *to,
                     struct err *err) {
    to->items = from->__sizereturnval > 0 ? calloc((size_t)from->__sizereturnval, sizeof(*to->items)) : NULL;
    if (from->__sizereturnval > 0 && !to->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (int i = 0; i < from->__sizereturnval; i++) {
        const struct vim25__Permission *p = &from->returnval[i];
        if (str_empty(p->principal))
            continue;
        to->items[to->count] = (struct vim_permission){.principal = str_dup(p->principal),
                                                       .is_group = p->group == xsd__boolean__true_,
                                                       .role_id = p->roleId,
                                                       .does_propagate = p->propagate == xsd__boolean__true_};
        if (!to->items[to->count++].principal)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

static int op_list(struct vim_context *ctx, void *arg, struct err *err) {
    struct access *access = arg;
    struct _vim25__RetrieveEntityPermissions request = {.inherited = xsd__boolean__false_};
    struct _vim25__RetrieveEntityPermissionsResponse response;
    int ret;
    vim_permission_list_done(&access->list);
    request._USCOREthis = vim_in_ref(ctx, "AuthorizationManager", ctx->content.authorization_manager);
    request.entity = put_entity(ctx, access);
    ret = VIM_CALL(ctx, RetrieveEntityPermissions, &request, &response, err);
    return ret ? ret : take_list(&response, &access->list, err);
}

int vim_list_permissions(struct vim_client *client, const struct vim_entity *entity, struct vim_permission_list *out,
                         struct err *err) {
    struct access access = {.entity = entity};
    int ret = vim_client_run_as_us(client, op_list, &access, err);
    if (ret)
        vim_permission_list_done(&access.list);
    else
        *out = access.list;
    return ret;
}

static int op_remove(struct vim_context *ctx, void *arg, struct err *err) {
    struct access *access = arg;
    struct _vim25__RemoveEntityPermission request = {.isGroup = access->is_group ? xsd__boolean__true_ : xsd__boolean__false_};
    struct _vim25__RemoveEntityPermissionResponse response;
    request._USCOREthis = vim_in_ref(ctx, "AuthorizationManager", ctx->content.authorization_manager);
    request.entity = put_entity(ctx, access);
    request.user = vim_in_text(ctx, access->principal, "the name of the principal");
    return VIM_CALL(ctx, RemoveEntityPermission, &request, &response, err);
}

int vim_remove_permission(struct vim_client *client, const struct vim_entity *entity, const char *principal, bool is_group,
                          struct err *err) {
    struct access access = {.entity = entity, .principal = principal, .is_group = is_group};
    return vim_client_run_as_us(client, op_remove, &access, err);
}
