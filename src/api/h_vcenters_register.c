/* Handlers of /v2/vcenters/{id}/register and /unregister, and how things stand. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "directory.h"
#include "api_call.h"
#include "limits.h"
#include "names.h"
#include "registration.h"
#include "registration_view.h"
#include "reply.h"
#include "str.h"
#include "vcenter_calls.h"
#include "vc_status.h"
#include "views.h"

#define ROLE_NAME_DEFAULT "Harmony KaaS"

static const struct json_member register_members[] = {
    {"username", JSON_KIND_STRING, true, false},       {"password", JSON_KIND_STRING, true, false},
    {"take_over", JSON_KIND_BOOLEAN, false, false},    {"dry_run", JSON_KIND_BOOLEAN, false, false},
    {"create_role", JSON_KIND_STRING, false, false},   {"with_provisioning", JSON_KIND_BOOLEAN, false, false},
    {"login_account", JSON_KIND_OBJECT, false, false}, {NULL, JSON_KIND_ANY, false, false},
};
static const struct json_member login_members[] = {
    {"kind", JSON_KIND_STRING, true, false},
    {"username", JSON_KIND_STRING, true, false},
    {"password", JSON_KIND_STRING, true, false},
    {NULL, JSON_KIND_ANY, false, false},
};
static const struct json_member unregister_members[] = {
    {"username", JSON_KIND_STRING, false, false},
    {"password", JSON_KIND_STRING, false, false},
    {"dry_run", JSON_KIND_BOOLEAN, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};

static int register_read_account(const json_t *object, struct vcenter_account *out, struct err *err) {
    out->user = json_get_string(object, "username");
    out->password = json_get_string(object, "password");
    if (str_empty(out->user) || str_empty(out->password) || strlen(out->password) > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "user name and password must not be empty");
    return 0;
}

static int answer_status(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(dir_snapshot_unref) struct dir_snapshot *snapshot = NULL;
    struct vc_status status = {0};
    int rc = vc_status_lookup(call->link, &status, err);
    if (rc)
        return rc;
    snapshot = directory_get(call->api->options.directory);
    rc = reply_json(resp, 200, view_status(&status, snapshot ? snapshot->platform : NULL), err);
    vc_status_done(&status);
    return rc;
}

static int read_login(json_t *body, struct register_request *out, struct err *err) {
    json_t *login = json_object_get(body, "login_account");
    int rc;
    if (!login)
        return 0;
    rc = json_check(login, login_members, "login_account", err);
    if (!rc)
        rc = register_read_account(login, &out->login, err);
    if (!rc &&
        (!credential_kind_parse(json_get_string(login, "kind"), &out->login_kind) || out->login_kind == CREDENTIAL_CERTIFICATE))
        rc = err_set(err, ERR_UNPROCESSABLE, "the member \"login_account.kind\" must be service_account or account");
    return rc;
}

static int register_read_role(const json_t *body, struct register_request *out, struct err *err) {
    out->role_name = json_get_string(body, "create_role");
    out->with_provisioning = json_get_bool(body, "with_provisioning", false);
    if (out->role_name && !*out->role_name)
        out->role_name = ROLE_NAME_DEFAULT;
    if (out->with_provisioning && !out->role_name)
        return err_set(err, ERR_UNPROCESSABLE, "\"with_provisioning\" says what a role gets: it needs \"create_role\"");
    return out->role_name ? name_check(out->role_name, "create_role", err) : 0;
}

/* Texts of the body live as long as the call, and are wiped with it. */
static int read_register(struct api_call *call, struct register_request *out, struct err *err) {
    int rc = api_read_members(call, register_members, "password", err);
    if (!rc)
        rc = register_read_account(call->body, &out->account, err);
    if (!rc)
        rc = read_login(call->body, out, err);
    if (!rc)
        rc = register_read_role(call->body, out, err);
    if (rc)
        return rc;
    out->actor = api_actor(call);
    out->take_over = json_get_bool(call->body, "take_over", false);
    out->dry_run = json_get_bool(call->body, "dry_run", false);
    return 0;
}

/* The password of the account that is kept has a place of its own in the body. */
static void wipe_login(struct api_call *call) {
    json_wipe_string(json_object_get(json_object_get(call->body, "login_account"), "password"));
}

int h_vcenters_register(struct api_call *call, struct http_response *resp, struct err *err) {
    struct registration_report report = {0};
    struct register_request request = {0};
    int rc = read_register(call, &request, err);
    if (!rc)
        rc = registration_register(call->link, &request, &report, err);
    wipe_login(call);
    if (!rc)
        rc = request.dry_run ? reply_json(resp, 200, registration_view(&report, request.dry_run), err)
                             : answer_status(call, resp, err);
    registration_report_done(&report);
    return rc;
}

static int read_unregister(struct api_call *call, struct unregister_request *out, struct err *err) {
    int rc = api_read_members(call, unregister_members, "password", err);
    if (rc)
        return rc;
    out->actor = api_actor(call);
    out->dry_run = json_get_bool(call->body, "dry_run", false);
    if (json_get_string(call->body, "username") || json_get_string(call->body, "password"))
        return register_read_account(call->body, &out->account, err);
    return 0; /* by our own login */
}

int h_vcenters_unregister(struct api_call *call, struct http_response *resp, struct err *err) {
    struct registration_report report = {0};
    struct unregister_request request = {0};
    int rc = read_unregister(call, &request, err);
    if (!rc)
        rc = registration_unregister(call->link, &request, &report, err);
    if (!rc)
        rc = reply_json(resp, 200, registration_view(&report, request.dry_run), err);
    registration_report_done(&report);
    return rc;
}

int h_vcenters_status(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = api_check_no_query(call, err);
    return rc ? rc : answer_status(call, resp, err);
}
