/* Handlers of /v2/users and of the own password. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "api_call.h"
#include "limits.h"
#include "member_json.h"
#include "names.h"
#include "reply.h"
#include "str.h"
#include "views.h"

static json_t *user_view(const struct api_call *call, const void *record) {
    const struct user *u = record;
    _cleanup_free_ char *principal_id = str_format("local:%s", u->id);
    json_t *object = member_json_show(user_members, u);
    (void)call;
    json_put_string(object, "principal_id", principal_id);
    return object;
}

/* -- lists ------------------------------------------------------------------------------------------------------------------ */

/* As the database orders: by the name without case. */
static const char *user_key(const void *record, char *buffer, size_t n) {
    const struct user *u = record;
    (void)snprintf(buffer, n, "%s", u->name);
    str_lower(buffer);
    (void)snprintf(buffer + strlen(buffer), n - strlen(buffer), "\x01%s", u->id);
    return buffer;
}

static bool user_is_wanted(const struct api_call *call, const void *record, const void *filter) {
    const enum role role = *(const enum role *)filter;
    const char *name = http_request_query(call->req, "name");
    const struct user *u = record;
    return (!name || name_same(name, u->name)) && (role == ROLE_NONE || role == u->role);
}

int h_users_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct user_list users = {0};
    enum role role;
    int rc = view_read_role(call, &role, err);
    if (!rc)
        rc = access_list_users(call->api->options.access, &users, err);
    if (!rc)
        rc = view_list(call, resp,
                       VIEW_LIST(users.items, users.count, user_key, user_view, .is_wanted = user_is_wanted, .filter = &role),
                       err);
    user_list_done(&users);
    return rc;
}

/* -- one -------------------------------------------------------------------------------------------------------------------- */

static int load_user(struct api_call *call, const char *id, struct user **out, struct err *err) {
    struct err why = {0};
    int rc = access_get_user(call->api->options.access, id, out, &why);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, rc, "there is no user %s", id);
        return err_remedy(err, "see: kaasctl user list, or GET /v2/users");
    }
    return err_move(err, rc, &why);
}

static int answer_user(struct api_call *call, struct http_response *resp, int status, const char *id, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    int rc = load_user(call, id, &user, err);
    return rc ? rc : reply_object(call, resp, status, user_view(call, user), err);
}

int h_users_show(struct api_call *call, struct http_response *resp, struct err *err) {
    return answer_user(call, resp, 200, http_request_param(call->req, "id"), err);
}

/* The id as it is stored, and the version that an If-Match speaks of (0: none). */
static int users_read_version(struct api_call *call, struct user **user, int64_t *version_no, struct err *err) {
    int rc = load_user(call, http_request_param(call->req, "id"), user, err);
    return rc ? rc : reply_check_version(call, user_view(call, *user), (*user)->version_no, version_no, err);
}

const struct member_body h_users_add_body = {
    .members = user_members, .writer = BY_ADMIN, .is_new = true, .more = JSON_MEMBERS(JSON_TAKES(STRING, "password"))};

int h_users_add(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(user_free) struct user *user = calloc(1, sizeof(*user));
    char id[37];
    int rc = user ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    user->must_change_password = true;
    rc = member_json_read(call->body, user_members, BY_ADMIN, user, err);
    if (!rc)
        rc = access_add_user(call->api->options.access, API_ACTOR(call), user, json_get_string(call->body, "password"), id, err);
    if (rc)
        return rc;
    reply_location(resp, "/v2/users/", id);
    return answer_user(call, resp, 201, id, err);
}

const struct member_body h_users_patch_body = {.members = user_members, .writer = BY_ADMIN};

static int users_apply_patch(const void *arg, struct user *user, struct err *err) {
    return member_json_read(arg, user_members, BY_ADMIN, user, err);
}

int h_users_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    struct access_user_edit edit = {.fn = users_apply_patch, .arg = call->body};
    int rc = users_read_version(call, &user, &edit.version_no, err);
    if (rc)
        return rc;
    edit.id = user->id;
    rc = access_change_user(call->api->options.access, API_ACTOR(call), &edit, err);
    return rc ? rc : answer_user(call, resp, 200, user->id, err);
}

int h_users_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    int64_t version_no = 0;
    int rc = users_read_version(call, &user, &version_no, err);
    if (!rc)
        rc = access_remove_user(call->api->options.access, API_ACTOR(call), user->id, version_no, err);
    return view_nothing(resp, rc);
}

/* -- passwords -------------------------------------------------------------------------------------------------------------- */

const struct member_body h_users_reset_password_body = {
    .more = JSON_MEMBERS(JSON_NEEDS(STRING, "password"), JSON_TAKES(BOOLEAN, "must_change_password"))};

int h_users_reset_password(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    struct access_password wanted = {.password = json_get_string(call->body, "password"),
                                     .must_change_password = json_get_bool(call->body, "must_change_password", true)};
    int rc = load_user(call, http_request_param(call->req, "id"), &user, err);
    if (rc)
        return rc;
    wanted.user_id = user->id;
    return view_nothing(resp, access_reset_password(call->api->options.access, API_ACTOR(call), &wanted, err));
}

const struct member_body h_password_change_body = {
    .more = JSON_MEMBERS(JSON_NEEDS(STRING, "old_password"), JSON_NEEDS(STRING, "new_password"))};

int h_password_change(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *old = json_get_string(call->body, "old_password"), *fresh = json_get_string(call->body, "new_password");
    int rc;
    if (strlen(old) > KAAS_PASSWORD_BYTES_MAX || !*old)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"old_password\" must have 1 to %d bytes", KAAS_PASSWORD_BYTES_MAX);
    if (call->who->source != SOURCE_LOCAL) {
        (void)err_set(err, ERR_CONFLICT, "you did not sign in with a password that is kept here");
        return err_remedy(err, "change it where it is kept: at the vCenter, or at its source of identities");
    }
    rc = signon_prove_local(call->api->options.signon, API_ACTOR(call), old, err);
    if (!rc && str_eq(old, fresh))
        rc = err_set(err, ERR_UNPROCESSABLE, "the new password is the old one");
    if (!rc)
        rc = access_change_own_password(call->api->options.access, API_ACTOR(call), fresh, err);
    return view_nothing(resp, rc);
}
