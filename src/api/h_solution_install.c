/* Handler of /v2/solution-installs: registering with the one-time token of an OVF environment. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "directory.h"
#include "api_call.h"
#include "ovf_install.h"
#include "reply.h"
#include "str.h"
#include "vcenter_calls.h"

static const struct json_member members[] = {
    {"ovf_environment", JSON_KIND_STRING, true, false},
    {"tunnel_port", JSON_KIND_INTEGER, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};

static int read_request(struct api_call *call, struct ovf_install_request *out, struct err *err) {
    static const struct vcenter_port tunnel = {"tunnel_port", 80, 0};
    int rc = api_read_members(call, members, "ovf_environment", err);
    if (!rc)
        rc = vcenter_calls_read_port(call->body, &tunnel, &out->tunnel_port, err);
    if (rc)
        return rc;
    out->actor = api_actor(call);
    out->environment = json_get_string(call->body, "ovf_environment");
    out->environment_bytes = strlen(out->environment);
    return 0;
}

/* A token registers the record and nothing else. */
static json_t *remaining(const char *name) {
    _cleanup_free_ char *sign_in =
        str_format("the login: it takes one sign-in, kaasctl vcenter register %s --user NAME; until then no"
                   " inventory is read and nobody signs in through this vCenter",
                   name);
    json_t *list = json_array();
    (void)json_array_append_new(list, json_string(sign_in ? sign_in : "the login"));
    (void)json_array_append_new(list, json_string("where certificates cannot log in, that command takes --service-account or"
                                                  " --login-account as well"));
    return list;
}

/* What works now, and what is still to be done. */
static json_t *result_json(struct api_call *call, const struct ovf_install_result *result) {
    const struct vcenter *vc;
    json_t *object = json_object();
    api_renew_snapshot(call);
    vc = dir_find_vcenter(call->snapshot->platform, result->vcenter_id);
    json_put_string(object, "vcenter_id", result->vcenter_id);
    (void)json_object_set_new(object, "vcenter", vc ? vcenter_calls_json(call, vc) : json_null());
    json_put_bool(object, "added", result->was_added);
    (void)json_object_set_new(object, "works",
                              json_pack("[s, s]", "the plug-in of the vSphere Client, as soon as the vCenter has fetched it",
                                        "HX Connect finds this service by its extension record"));
    (void)json_object_set_new(object, "remaining", remaining(vc ? vc->name : "VCENTER"));
    return object;
}

int h_solution_install(struct api_call *call, struct http_response *resp, struct err *err) {
    struct ovf_install_request request = {0};
    struct ovf_install_result result = {0};
    int rc = read_request(call, &request, err);
    if (!rc)
        rc = ovf_install(call->api->options.platform, &request, &result, err);
    json_wipe_string(json_object_get(call->body, "ovf_environment"));
    return rc ? rc : reply_json(resp, 200, result_json(call, &result), err);
}
