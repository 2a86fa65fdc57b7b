/* Handlers of /v2/vcenters/{id}/hx-credential: user and password that HX clusters of a vCenter inherit. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "api_call.h"
#include "hyperflex.h"
#include "inventory.h"
#include "member_json.h"
#include "reply.h"
#include "str.h"
#include "views.h"

static json_t *credential_view(const struct hx_credential *credential) {
    return member_json_show(hx_credential_members, credential);
}

/* What an If-Match speaks of: it does not change when an HX cluster refuses. */
static json_t *credential_view_bare(const struct hx_credential *credential) {
    json_t *object = credential_view(credential);
    (void)json_object_del(object, "refused_at");
    return object;
}

static int no_credential(struct api_call *call, int rc, struct err *err) {
    if (rc != ERR_NOT_FOUND || !err)
        return rc;
    err_clear(err);
    (void)err_set(err, ERR_NOT_FOUND, "the vCenter %s has no credential for HX clusters, or there is none of this id",
                  http_request_param(call->req, "id"));
    return err_remedy(err,
                      "see: kaasctl vcenter list, or GET /v2/vcenters; kaasctl vcenter set-hx-credential %s, or PUT, sets one",
                      http_request_param(call->req, "id"));
}

static int credentials_answer(struct api_call *call, struct http_response *resp, int http_status, struct err *err) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    int rc = hyperflex_load_credential(call->api->options.hyperflex, http_request_param(call->req, "id"), &credential, err);
    if (rc)
        return no_credential(call, rc, err);
    return reply_named(call, resp, http_status,
                       (struct reply_named){credential_view(credential), credential_view_bare(credential)}, err);
}

int h_credentials_show(struct api_call *call, struct http_response *resp, struct err *err) {
    return credentials_answer(call, resp, 200, err);
}

/* What is there, if it is what an If-Match speaks of; *version_no 0: nothing is there. *is_given tells whether one did. */
static int credentials_read_current(struct api_call *call, int64_t *version_no, bool *is_given, struct err *err) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    char etag[REPLY_ETAG_BYTES] = "\"none\"";
    int rc = hyperflex_load_credential(call->api->options.hyperflex, http_request_param(call->req, "id"), &credential, err);
    if (rc == ERR_NOT_FOUND)
        err_clear(err);
    else if (!rc)
        rc = reply_etag_of(credential_view_bare(credential), etag, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    rc = reply_check_if_match(call, etag, is_given, err);
    if (!rc)
        *version_no = credential ? credential->version_no : 0;
    return rc;
}

const struct member_body h_credentials_put_body = {
    .members = hx_credential_members, .writer = BY_ADMIN, .is_new = true, .more = JSON_MEMBERS(JSON_NEEDS(STRING, "password"))};

int h_credentials_put(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    struct hx_credential wish = {0};
    bool is_given = false;
    if (!inventory_find_vcenter(call->snapshot->platform, id)) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no vCenter %s here", id);
        return err_remedy(err, "compare with GET /v2/vcenters");
    }
    int rc = credentials_read_current(call, &wish.version_no, &is_given, err);
    const int http_status = wish.version_no ? 200 : 201;
    if (!rc)
        rc = str_replace(&wish.vcenter_id, id, err);
    if (!rc)
        rc = member_json_read(call->body, hx_credential_members, BY_ADMIN, &wish, err);
    if (!rc)
        rc = hyperflex_put_credential(call->api->options.hyperflex, API_ACTOR(call), &wish,
                                      json_get_string(call->body, "password"), err);
    hx_credential_done(&wish);
    return rc ? rc : credentials_answer(call, resp, http_status, err);
}

int h_credentials_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    int64_t version_no = 0;
    bool is_given = false;
    int rc = credentials_read_current(call, &version_no, &is_given, err);
    if (!rc)
        rc = hyperflex_remove_credential(call->api->options.hyperflex, API_ACTOR(call), http_request_param(call->req, "id"),
                                         is_given ? version_no : 0, err);
    return rc ? no_credential(call, rc, err) : view_nothing(resp, 0);
}
