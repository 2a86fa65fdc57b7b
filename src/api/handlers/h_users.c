/* Handlers of /v2/users and of the own password. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "api_call.h"
#include "limits.h"
#include "member_json.h"
#include "problem.h"
#include "reply.h"
#include "secret.h"
#include "str.h"

static json_t *user_view(const struct user *u) {
    _cleanup_free_ char *principal_id = str_format("local:%s", u->id);
    json_t *object = member_json_show(user_members, u);
    json_put_string(object, "principal_id", principal_id);
    return object;
}

/* -- lists ------------------------------------------------------------------------------------------------------------------ */

struct user_page {
    const struct user **items;
};

/* As the database orders: by the name without case. */
static const char *user_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct user *u = ((const struct user_page *)arg)->items[i];
    (void)snprintf(buffer, n, "%s", u->name);
    str_lower(buffer);
    (void)snprintf(buffer + strlen(buffer), n - strlen(buffer), "\x01%s", u->id);
    return buffer;
}

static json_t *user_item(const void *arg, size_t i) {
    return user_view(((const struct user_page *)arg)->items[i]);
}

static int read_role_filter(struct api_call *call, enum role *out, struct err *err) {
    const char *text = http_request_query(call->req, "role");
    *out = ROLE_NONE;
    if (!text || (role_parse(text, out) && *out != ROLE_NONE))
        return 0;
    return problem_parameter(call, "role", "must be user, service, provisioner or admin", err);
}

static int users_answer_list(struct api_call *call, struct http_response *resp, const struct user_list *users, enum role role,
                             struct err *err) {
    const char *name = http_request_query(call->req, "name");
    _cleanup_free_ const struct user **items = calloc(users->count + 1, sizeof(*items));
    struct user_page page = {.items = items};
    struct reply_list list = {.key = user_key, .item = user_item, .arg = &page};
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < users->count; i++)
        if ((!name || str_eq_nocase(name, users->items[i].name)) && (role == ROLE_NONE || role == users->items[i].role))
            items[list.count++] = &users->items[i];
    return reply_list(call, resp, &list, err);
}

int h_users_list(struct api_call *call, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"name", "role", "limit", "cursor", NULL};
    struct user_list users = {0};
    enum role role = ROLE_NONE;
    int rc = http_request_check_query(call->req, known, err);
    if (!rc)
        rc = read_role_filter(call, &role, err);
    if (!rc)
        rc = access_list_users(call->api->options.access, &users, err);
    if (!rc)
        rc = users_answer_list(call, resp, &users, role, err);
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
    return rc ? rc : reply_object(call, resp, status, user_view(user), err);
}

int h_users_show(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = api_check_no_query(call, err);
    return rc ? rc : answer_user(call, resp, 200, http_request_param(call->req, "id"), err);
}

/* The id as it is stored, and the version that an If-Match speaks of (0: none). */
static int users_read_version(struct api_call *call, struct user **user, int64_t *version_no, struct err *err) {
    int rc = load_user(call, http_request_param(call->req, "id"), user, err);
    return rc ? rc : reply_check_version(call, user_view(*user), (*user)->version_no, version_no, err);
}

static const struct json_member password_too[] = {{"password", JSON_KIND_STRING, false, false},
                                                  {NULL, JSON_KIND_ANY, false, false}};
static const struct json_member no_more[] = {{NULL, JSON_KIND_ANY, false, false}};

int h_users_add(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    _cleanup_(user_free) struct user *user = calloc(1, sizeof(*user));
    struct json_member expected[MEMBER_JSON_MAX];
    char id[37];
    int rc = user ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    user->must_change_password = true;
    member_json_expect(&(struct member_body){user_members, BY_ADMIN, true, password_too}, expected);
    rc = api_read_members(call, expected, err);
    if (!rc)
        rc = member_json_read(call->body, user_members, BY_ADMIN, user, err);
    if (!rc)
        rc = access_add_user(call->api->options.access, &actor, user, json_get_string(call->body, "password"), id, err);
    if (rc)
        return rc;
    reply_location(resp, "/v2/users/", id);
    return answer_user(call, resp, 201, id, err);
}

static int users_apply_patch(const void *arg, struct user *user, struct err *err) {
    return member_json_read(arg, user_members, BY_ADMIN, user, err);
}

int h_users_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    _cleanup_(user_free) struct user *user = NULL;
    struct access_user_edit edit = {.fn = users_apply_patch};
    struct json_member expected[MEMBER_JSON_MAX];
    member_json_expect(&(struct member_body){user_members, BY_ADMIN, false, no_more}, expected);
    int rc = api_read_patch(call, expected, err);
    if (!rc)
        rc = users_read_version(call, &user, &edit.version_no, err);
    if (rc)
        return rc;
    edit.id = user->id;
    edit.arg = call->body;
    rc = access_change_user(call->api->options.access, &actor, &edit, err);
    return rc ? rc : answer_user(call, resp, 200, user->id, err);
}

int h_users_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    _cleanup_(user_free) struct user *user = NULL;
    int64_t version_no = 0;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = users_read_version(call, &user, &version_no, err);
    if (!rc)
        rc = access_remove_user(call->api->options.access, &actor, user->id, version_no, err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}

/* -- passwords -------------------------------------------------------------------------------------------------------------- */

static const struct json_member reset_members[] = {
    {"password", JSON_KIND_STRING, true, false},
    {"must_change_password", JSON_KIND_BOOLEAN, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};

int h_users_reset_password(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    _cleanup_(user_free) struct user *user = NULL;
    struct access_password wanted = {0};
    int rc = api_read_members(call, reset_members, err);
    if (!rc)
        rc = load_user(call, http_request_param(call->req, "id"), &user, err);
    if (rc)
        return rc;
    wanted.user_id = user->id;
    wanted.password = json_get_string(call->body, "password");
    wanted.must_change_password = json_get_bool(call->body, "must_change_password", true);
    rc = access_reset_password(call->api->options.access, &actor, &wanted, err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}

static const struct json_member own_members[] = {
    {"old_password", JSON_KIND_STRING, true, false},
    {"new_password", JSON_KIND_STRING, true, false},
    {NULL, JSON_KIND_ANY, false, false},
};

static int prove_old(struct api_call *call, const char *old, const char *fresh, struct err *err) {
    const struct actor actor = api_actor(call);
    int rc;
    if (call->who->source != SOURCE_LOCAL) {
        (void)err_set(err, ERR_CONFLICT, "you did not sign in with a password that is kept here");
        return err_remedy(err, "change it where it is kept: at the vCenter, or at its source of identities");
    }
    rc = signon_prove_local(call->api->options.signon, &actor, old, err);
    if (!rc && str_eq(old, fresh))
        return err_set(err, ERR_UNPROCESSABLE, "the new password is the old one");
    return rc;
}

int h_password_change(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    const char *old, *fresh;
    int rc = api_read_members(call, own_members, err);
    if (rc)
        return rc;
    old = json_get_string(call->body, "old_password");
    fresh = json_get_string(call->body, "new_password");
    if (strlen(old) > KAAS_PASSWORD_BYTES_MAX || !*old)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"old_password\" must have 1 to %d bytes", KAAS_PASSWORD_BYTES_MAX);
    rc = prove_old(call, old, fresh, err);
    if (!rc)
        rc = access_change_own_password(call->api->options.access, &actor, fresh, err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}
