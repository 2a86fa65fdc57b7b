/* What a person may do, as vCenter itself judges it. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One entity that is gone, or that we cannot read, fails the whole call in vCenter. Such an entity is dropped and the call repeated; when
 * that has not helped REPEATS_MAX times, the batch is halved, so that no number of vanished objects can fail everybody. */
#include "vim_authorization.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define REPEATS_MAX 3

/* One call: `count` entities of one type, `privilege_count` privileges for each. */
struct privilege_question {
    const struct vim_subject *subject;
    const char *type;
    const char *const *privileges;
    size_t privilege_count;
    const char *const *ids;
    size_t count;
    const char *root;              /* the id that is a Folder's, whatever `type`; NULL: none */
    enum vim_entity_state *states; /* per entity; what is not VIM_ENTITY_JUDGED is dropped; NULL: none may be dropped */
    bool *granted;                 /* count x privilege_count */
};

static struct vim25__ManagedObjectReference *put_entities(struct vim_context *ctx, const struct privilege_question *q, int *n) {
    struct vim25__ManagedObjectReference *list = vim_in_alloc(ctx, q->count, sizeof(*list));
    *n = 0;
    for (size_t i = 0; list && i < q->count; i++) {
        if (q->states && q->states[i])
            continue;
        list[*n].type = vim_in_text(ctx, q->root && str_eq(q->ids[i], q->root) ? "Folder" : q->type, "type of an object");
        list[(*n)++].__item = vim_in_text(ctx, q->ids[i], "id of an object");
    }
    return list;
}

static void take_entity(const struct privilege_question *q, const struct vim25__EntityPrivilege *answer, size_t entity) {
    for (int a = 0; a < answer->__sizeprivAvailability; a++)
        for (size_t p = 0; p < q->privilege_count; p++)
            if (str_eq(answer->privAvailability[a].privId, q->privileges[p]))
                q->granted[entity * q->privilege_count + p] = answer->privAvailability[a].isGranted == xsd__boolean__true_;
}

/* The order of the answers is not documented: each is matched by its entity. */
static void take_answers(const struct privilege_question *q, const struct vim25__EntityPrivilege *answers, int n) {
    for (int a = 0; a < n; a++)
        for (size_t i = 0; answers[a].entity && i < q->count; i++)
            if (str_eq(answers[a].entity->__item, q->ids[i]))
                take_entity(q, &answers[a], i);
}

static int ask_by_session(struct vim_context *ctx, const struct privilege_question *q, struct err *err) {
    int ret;
    VIM_REQUEST(ctx, HasPrivilegeOnEntities, "AuthorizationManager", ctx->content.authorization_manager);
    request.entity = put_entities(ctx, q, &request.__sizeentity);
    request.sessionId = vim_in_text(ctx, q->subject->session_key, "the session key");
    request.privId = vim_in_texts(ctx, q->privileges, q->privilege_count, "a privilege");
    request.__sizeprivId = (int)q->privilege_count;
    ret = VIM_CALL(ctx, HasPrivilegeOnEntities, &request, &response, err);
    if (!ret)
        take_answers(q, response.returnval, response.__sizereturnval);
    return ret;
}

static int ask_by_user(struct vim_context *ctx, const struct privilege_question *q, struct err *err) {
    int ret;
    VIM_REQUEST(ctx, HasUserPrivilegeOnEntities, "AuthorizationManager", ctx->content.authorization_manager);
    request.entities = put_entities(ctx, q, &request.__sizeentities);
    request.userName = vim_in_text(ctx, q->subject->user_name, "the user name");
    request.privId = vim_in_texts(ctx, q->privileges, q->privilege_count, "a privilege");
    request.__sizeprivId = (int)q->privilege_count;
    ret = VIM_CALL(ctx, HasUserPrivilegeOnEntities, &request, &response, err);
    if (!ret)
        take_answers(q, response.returnval, response.__sizereturnval);
    return ret;
}

static int vim_authorization_ask(struct vim_context *ctx, const struct privilege_question *q, struct err *err) {
    vim_context_reset(ctx);
    return q->subject->session_key ? ask_by_session(ctx, q, err) : ask_by_user(ctx, q, err);
}

static size_t vim_authorization_count_left(const struct privilege_question *q) {
    size_t left = 0;
    for (size_t i = 0; i < q->count; i++)
        left += q->states[i] == VIM_ENTITY_JUDGED;
    return left;
}

/* Drops the entity that the fault names; false if it names none of ours. */
static bool vim_authorization_drop_named(const struct privilege_question *q, const struct vim_fault *fault) {
    bool has_dropped = false;
    if (fault->kind != VIM_FAULT_OBJECT_GONE && fault->kind != VIM_FAULT_NO_PERMISSION)
        return false;
    for (size_t i = 0; i < q->count; i++) {
        if (q->states[i] || !str_eq(q->ids[i], fault->object))
            continue;
        q->states[i] = fault->kind == VIM_FAULT_OBJECT_GONE ? VIM_ENTITY_GONE : VIM_ENTITY_DENIED;
        has_dropped = true;
    }
    return has_dropped;
}

static int ask_dropping(struct vim_context *ctx, const struct privilege_question *q, struct err *err);

static int ask_halves(struct vim_context *ctx, const struct privilege_question *q, struct err *err) {
    struct privilege_question first = *q, second = *q;
    size_t half = q->count / 2;
    int ret;
    first.count = half;
    second.ids += half;
    second.states += half;
    second.granted += half * q->privilege_count;
    second.count -= half;
    ret = ask_dropping(ctx, &first, err);
    return ret ? ret : ask_dropping(ctx, &second, err);
}

static int ask_dropping(struct vim_context *ctx, const struct privilege_question *q, struct err *err) {
    for (int attempt = 0; attempt <= REPEATS_MAX; attempt++) {
        struct err reason = {0};
        int ret = vim_authorization_count_left(q) ? vim_authorization_ask(ctx, q, &reason) : 0;
        if (!ret)
            return 0;
        if (!vim_authorization_drop_named(q, &ctx->fault))
            return err_move(err, ret, &reason);
    }
    return q->count > 1 ? ask_halves(ctx, q, err) : 0;
}

static int check_subject(const struct vim_subject *subject, struct err *err) {
    if (!subject->session_key == !subject->user_name)
        return err_set(err, ERR_INTERNAL, "a privilege is asked for exactly one of session and user");
    return 0;
}

/* All batches of one query. */
struct batches {
    const struct vim_objects_query *query;
    const char **ids; /* with room for the root folder before the clusters */
    bool has_root;
    size_t count;
    bool *granted;
    enum vim_entity_state *states;
};

static int op_batches(struct vim_context *ctx, void *arg, struct err *err) {
    struct batches *b = arg;
    const struct vim_objects_query *query = b->query;
    int ret = 0;
    memset(b->granted, 0, b->count * query->privilege_count * sizeof(*b->granted));
    memset(b->states, 0, b->count * sizeof(*b->states));
    if (b->has_root)
        b->ids[0] = ctx->content.root_folder;
    for (size_t at = 0; !ret && at < b->count; at += KAAS_VIM_PRIVILEGE_BATCH_COUNT) {
        struct privilege_question q = {.subject = &query->subject,
                                       .type = "ClusterComputeResource",
                                       .root = b->has_root ? b->ids[0] : NULL,
                                       .privileges = query->privileges,
                                       .privilege_count = query->privilege_count,
                                       .ids = b->ids + at,
                                       .count = b->count - at,
                                       .states = b->states + at,
                                       .granted = b->granted + at * query->privilege_count};
        if (q.count > KAAS_VIM_PRIVILEGE_BATCH_COUNT)
            q.count = KAAS_VIM_PRIVILEGE_BATCH_COUNT;
        ret = ask_dropping(ctx, &q, err);
    }
    return ret;
}

static int vim_authorization_run(struct vim_client *client, struct batches *b, bool *granted, enum vim_entity_state *states,
                                 struct err *err) {
    const struct vim_objects_query *query = b->query;
    int ret = check_subject(&query->subject, err);
    b->count = query->count + b->has_root;
    if (ret || !b->count)
        return ret;
    b->ids = calloc(b->count, sizeof(*b->ids));
    b->granted = calloc(b->count * query->privilege_count + 1, sizeof(*b->granted));
    b->states = calloc(b->count, sizeof(*b->states));
    if (!b->ids || !b->granted || !b->states)
        ret = err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; !ret && i < query->count; i++)
        b->ids[i + b->has_root] = query->clusters[i];
    if (!ret)
        ret = vim_client_run_as_us(client, op_batches, b, err);
    if (!ret)
        memcpy(granted, b->granted, b->count * query->privilege_count * sizeof(*granted));
    if (!ret && states)
        memcpy(states, b->states, b->count * sizeof(*states));
    free(b->ids);
    free(b->granted);
    free(b->states);
    return ret;
}

int vim_check_privileges(struct vim_client *client, const struct vim_privilege_query *query, bool *granted, struct err *err) {
    const struct vim_objects_query objects = {.subject = query->subject,
                                              .privileges = &query->privilege,
                                              .privilege_count = 1,
                                              .clusters = query->clusters,
                                              .count = query->count};
    return vim_authorization_run(client, &(struct batches){.query = &objects}, granted, NULL, err);
}

int vim_check_objects(struct vim_client *client, const struct vim_objects_query *query, bool *granted,
                      enum vim_entity_state *states, struct err *err) {
    return vim_authorization_run(client, &(struct batches){.query = query, .has_root = true}, granted, states, err);
}

struct root_arg {
    const struct vim_root_query *query;
    bool *granted;
};

static int op_root(struct vim_context *ctx, void *arg, struct err *err) {
    struct root_arg *root = arg;
    const char *id = ctx->content.root_folder;
    struct privilege_question q = {.subject = &root->query->subject,
                                   .type = "Folder",
                                   .privileges = root->query->privileges,
                                   .privilege_count = root->query->count,
                                   .ids = &id,
                                   .count = 1,
                                   .granted = root->granted};
    memset(root->granted, 0, root->query->count * sizeof(*root->granted));
    return vim_authorization_ask(ctx, &q, err);
}

int vim_check_root_privileges(struct vim_client *client, const struct vim_root_query *query, bool *granted, struct err *err) {
    struct root_arg root = {.query = query};
    int ret = check_subject(&query->subject, err);
    if (ret || !query->count)
        return ret;
    root.granted = calloc(query->count, sizeof(*root.granted));
    ret = root.granted ? vim_client_run_as_us(client, op_root, &root, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!ret)
        memcpy(granted, root.granted, query->count * sizeof(*granted));
    free(root.granted);
    return ret;
}

struct entity_arg {
    const struct vim_entity_query *query;
    bool *granted;
    enum vim_entity_state state;
};

static int op_entity(struct vim_context *ctx, void *arg, struct err *err) {
    struct entity_arg *a = arg;
    const struct vim_entity root = {"Folder", ctx->content.root_folder}, *entity = a->query->entity ? a->query->entity : &root;
    struct privilege_question q = {.subject = &a->query->subject,
                                   .type = entity->type,
                                   .privileges = a->query->privileges,
                                   .privilege_count = a->query->count,
                                   .ids = &entity->moref,
                                   .count = 1,
                                   .states = &a->state,
                                   .granted = a->granted};
    a->state = VIM_ENTITY_JUDGED;
    memset(a->granted, 0, a->query->count * sizeof(*a->granted));
    return ask_dropping(ctx, &q, err);
}

int vim_check_entity(struct vim_client *client, const struct vim_entity_query *query, bool *granted, enum vim_entity_state *state,
                     struct err *err) {
    struct entity_arg arg = {.query = query, .granted = granted};
    int ret = check_subject(&query->subject, err);
    if (!ret && query->count)
        ret = vim_client_run_as_us(client, op_entity, &arg, err);
    if (!ret)
        *state = arg.state;
    return ret;
}

static int take_root_name(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property property = {"name", SOAP_TYPE_string, VIM_REQUIRED};
    struct vim_root *root = arg;
    const void *value = NULL;
    int ret = vim_property_get(ctx, object, &property, &value, err);
    if (!ret)
        (void)snprintf(root->name, sizeof(root->name), "%s", (const char *)value);
    return ret;
}

static int op_root_name(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_one one = {"Folder", ctx->content.root_folder, "name"};
    struct vim_root *root = arg;
    (void)snprintf(root->moref, sizeof(root->moref), "%s", ctx->content.root_folder);
    return vim_retrieve_one(ctx, &one, take_root_name, arg, err);
}

int vim_lookup_root(struct vim_client *client, struct vim_root *out, struct err *err) {
    return vim_client_run_as_us(client, op_root_name, out, err);
}

/* -- roles: making a least-privilege one, giving it to an account, removing it ------------------------------------- */

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
    VIM_REQUEST(ctx, AddAuthorizationRole, "AuthorizationManager", ctx->content.authorization_manager);
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

static int vim_authorization_op_update(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_role_change *change = arg;
    VIM_REQUEST(ctx, UpdateAuthorizationRole, "AuthorizationManager", ctx->content.authorization_manager,
                .roleId = change->role_id);
    request.newName = vim_in_text(ctx, change->name, "the role's name");
    request.privIds = vim_in_texts(ctx, change->privileges, change->count, "a privilege");
    request.__sizeprivIds = (int)change->count;
    return VIM_CALL(ctx, UpdateAuthorizationRole, &request, &response, err);
}

int vim_update_role(struct vim_client *client, const struct vim_role_change *change, struct err *err) {
    struct vim_role_change copy = *change;
    return vim_client_run_as_us(client, vim_authorization_op_update, &copy, err);
}

struct removal {
    int role_id;
    bool even_if_used;
};

static int op_remove(struct vim_context *ctx, void *arg, struct err *err) {
    struct removal *removal = arg;
    VIM_REQUEST(ctx, RemoveAuthorizationRole, "AuthorizationManager", ctx->content.authorization_manager,
                .roleId = removal->role_id);
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
    return err_move(err, ret, &reason);
}

/* -- permissions: who has which role on an object ------------------------------------------------------------------ */

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

struct grant {
    const struct access *access;
    const struct vim_grant *given;
};

static int op_grant(struct vim_context *ctx, void *arg, struct err *err) {
    const struct grant *grant = arg;
    struct vim25__Permission permission = {.group = xsd__boolean__false_,
                                           .roleId = grant->given->role_id,
                                           .propagate =
                                               grant->given->does_propagate ? xsd__boolean__true_ : xsd__boolean__false_};
    VIM_REQUEST(ctx, SetEntityPermissions, "AuthorizationManager", ctx->content.authorization_manager, .__sizepermission = 1,
                .permission = &permission);
    request.entity = put_entity(ctx, grant->access);
    permission.principal = vim_in_text(ctx, grant->given->user_name, "the user name");
    return VIM_CALL(ctx, SetEntityPermissions, &request, &response, err);
}

int vim_grant_role(struct vim_client *client, const struct vim_entity *entity, const struct vim_grant *grant, struct err *err) {
    const struct access access = {.entity = entity};
    struct grant call = {&access, grant};
    return vim_client_run_as_us(client, op_grant, &call, err);
}

static int vim_authorization_take_list(const struct _vim25__RetrieveEntityPermissionsResponse *from,
                                       struct vim_permission_list *to, struct err *err) {
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

static int vim_authorization_op_list(struct vim_context *ctx, void *arg, struct err *err) {
    struct access *access = arg;
    int ret;
    vim_permission_list_done(&access->list);
    VIM_REQUEST(ctx, RetrieveEntityPermissions, "AuthorizationManager", ctx->content.authorization_manager,
                .inherited = xsd__boolean__false_);
    request.entity = put_entity(ctx, access);
    ret = VIM_CALL(ctx, RetrieveEntityPermissions, &request, &response, err);
    return ret ? ret : vim_authorization_take_list(&response, &access->list, err);
}

int vim_list_permissions(struct vim_client *client, const struct vim_entity *entity, struct vim_permission_list *out,
                         struct err *err) {
    struct access access = {.entity = entity};
    int ret = vim_client_run_as_us(client, vim_authorization_op_list, &access, err);
    if (ret)
        vim_permission_list_done(&access.list);
    else
        *out = access.list;
    return ret;
}

static int permission_op_remove(struct vim_context *ctx, void *arg, struct err *err) {
    struct access *access = arg;
    VIM_REQUEST(ctx, RemoveEntityPermission, "AuthorizationManager", ctx->content.authorization_manager,
                .isGroup = access->is_group ? xsd__boolean__true_ : xsd__boolean__false_);
    request.entity = put_entity(ctx, access);
    request.user = vim_in_text(ctx, access->principal, "the name of the principal");
    return VIM_CALL(ctx, RemoveEntityPermission, &request, &response, err);
}

int vim_remove_permission(struct vim_client *client, const struct vim_entity *entity, const char *principal, bool is_group,
                          struct err *err) {
    struct access access = {.entity = entity, .principal = principal, .is_group = is_group};
    return vim_client_run_as_us(client, permission_op_remove, &access, err);
}
