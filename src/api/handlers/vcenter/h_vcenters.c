/* Handlers of /v2/vcenters and /v2/solution-installs. How one is joined and how it stands is h_vcenters_join.c. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api_call.h"
#include "digest.h"
#include "inventory.h"
#include "member_json.h"
#include "names.h"
#include "ovf_install.h"
#include "platform_links.h"
#include "problem.h"
#include "registration.h"
#include "reply.h"
#include "str.h"
#include "vcenter.h"
#include "vcenter_set.h"
#include "views.h"
#include "vim.h"
#include "x509.h"

#define PEM_BYTES_MAX 65536U

/* The vCenter {id} of the path, borrowed from the snapshot. ERR_NOT_FOUND. */
static int vcenter_find(struct api_call *call, const struct vcenter **out, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    *out = inventory_find_vcenter(call->snapshot->platform, id);
    if (*out)
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "there is no vCenter %s here", id);
    return err_remedy(err, "compare with GET /v2/vcenters");
}

static json_t *ca_subjects(const char *ca_pem) {
    json_t *list = json_array();
    struct x509_info info = {0};
    for (const char *p = ca_pem; p && (p = strstr(p, "-----BEGIN CERTIFICATE-----")); p++) {
        if (!x509_parse_pem(p, &info, NULL))
            json_add(list, json_string(info.subject));
        x509_info_done(&info);
    }
    return list;
}

static json_t *view_trust(const struct vcenter *vc) {
    json_t *object = json_object();
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES];
    x509_thumbprint_text(vc->pin_sha256, thumbprint);
    json_put_string(object, "mode", vc->has_pin ? "thumbprint" : "ca");
    view_put_text(object, "thumbprint_sha256", vc->has_pin ? thumbprint : NULL);
    json_put(object, "ca_subjects", ca_subjects(vc->ca_pem));
    return object;
}

static json_t *view_vcenter(const struct vcenter *vc, const struct link_report *report) {
    json_t *object = member_json_show(vcenter_members, vc);
    json_put(object, "trust", view_trust(vc));
    view_put_state(object, report);
    json_put_bool(object, "registered", vc->registered_at_ms != 0);
    view_put_strategy(object, "login_strategy", report);
    view_put_time(object, "last_contact_at", report->last_contact_ms);
    return object;
}

static void vcenter_report(const struct api_call *call, const struct vcenter *vc, struct link_report *out) {
    struct link *link = NULL;
    memset(out, 0, sizeof(*out));
    out->status.state = vc->registered_at_ms ? REMOTE_NEW : REMOTE_IDLE;
    if (platform_find(call->api->options.platform, vc->id, &link, NULL))
        return;
    link_get_report(link, out);
    link_unref(link);
}

/* Its JSON, with the state of its link. */
static json_t *vcenter_json(const struct api_call *call, const void *vc) {
    struct link_report report;
    vcenter_report(call, vc, &report);
    return view_vcenter(vc, &report);
}

/* The row version tells all that is stored; with the time of its making, since a vCenter that was added again begins anew. */
static void vcenter_etag(const struct vcenter *vc, char out[REPLY_ETAG_BYTES]) {
    char text[128];
    int n = snprintf(text, sizeof(text), "%.40s %lld %lld", vc->id, (long long)vc->created_at_ms, (long long)vc->version_no);
    reply_format_etag(digest_u64(text, (size_t)n), false, out);
}

/* Answers with a vCenter and its strong entity tag, which is made of what is stored and nothing else: state and times change by themselves and
 * must not spoil somebody's If-Match. So a read is never answered 304. */
static int vcenter_answer(struct api_call *call, struct http_response *resp, int status, const struct vcenter *vc,
                          struct err *err) {
    char etag[REPLY_ETAG_BYTES];
    vcenter_etag(vc, etag);
    http_response_set_header(resp, "ETag", etag);
    return reply_json(resp, status, vcenter_json(call, vc), err);
}

/* The same for the vCenter with this id as it is after a write. ERR_NOT_FOUND. */
static int vcenter_answer_fresh(struct api_call *call, struct http_response *resp, int status, const char *id, struct err *err) {
    const struct vcenter *vc;
    api_renew_snapshot(call);
    vc = inventory_find_vcenter(call->snapshot->platform, id);
    if (!vc)
        return err_set(err, ERR_NOT_FOUND, "the vCenter %s is gone again", id);
    return vcenter_answer(call, resp, status, vc, err);
}

/* The vCenter {id} of the path, if it is what an If-Match speaks of; *version_no is its row version then, 0 without
 * one. ERR_NOT_FOUND, ERR_PRECONDITION. */
static int vcenter_find_version(struct api_call *call, const struct vcenter **out, int64_t *version_no, struct err *err) {
    char etag[REPLY_ETAG_BYTES];
    bool is_given = false;
    int rc = vcenter_find(call, out, err);
    if (rc)
        return rc;
    vcenter_etag(*out, etag);
    rc = reply_check_if_match(call, etag, &is_given, err);
    *version_no = is_given ? (*out)->version_no : 0;
    return rc;
}

/* Each block must be a certificate, or it would be noticed only when the vCenter is called. */
static int vcenter_check_ca(const char *pem, struct err *err) {
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    const char *block = strlen(pem) > PEM_BYTES_MAX ? NULL : strstr(pem, begin);
    int rc = block ? 0 : ERR_UNPROCESSABLE;
    for (; !rc && block; block = strstr(block + 1, begin)) {
        struct x509_info info = {0};
        rc = x509_parse_pem(block, &info, NULL);
        x509_info_done(&info);
    }
    return rc ? err_set(err, ERR_UNPROCESSABLE, "the member \"ca_pem\" holds no PEM certificate, or one that cannot be read") : 0;
}

/* Reads a body to `wish`; ports that are not given stay. Freed by vcenter_done, in any case. ERR_UNPROCESSABLE. */
static int vcenter_read(const json_t *body, struct vcenter *wish, struct err *err) {
    const char *thumbprint = json_get_string(body, "thumbprint_sha256"), *ca_pem = json_get_string(body, "ca_pem");
    int rc = member_json_read(body, vcenter_members, BY_ADMIN, wish, err);
    if (rc)
        return rc;
    if (thumbprint && ca_pem)
        return err_set(err, ERR_UNPROCESSABLE, "give either \"thumbprint_sha256\" or \"ca_pem\", not both");
    wish->has_pin = thumbprint != NULL;
    if (wish->has_pin && !str_to_sha256(thumbprint, wish->pin_sha256)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the member \"thumbprint_sha256\" is not a SHA-256 thumbprint");
        return err_remedy(err, "give 32 pairs of hexadecimal digits, with or without colons; SHA-1 is not accepted");
    }
    rc = ca_pem ? vcenter_check_ca(ca_pem, err) : 0;
    return rc ? rc : str_replace(&wish->ca_pem, ca_pem, err);
}

/* Adds the certificate that was met to the problem that will be answered, if there is one; releases it. */
static void vcenter_add_seen(struct api_call *call, struct x509_info *seen) {
    if (seen->pem)
        problem_add(call, "certificate", problem_certificate(seen));
    x509_info_done(seen);
}

/* -- reading, adding, removing ------------------------------------------------------------------------------------------ */

static const char *vcenter_key(const void *record, char *buffer, size_t n) {
    const struct vcenter *vc = record;
    (void)snprintf(buffer, n, "%s\x01%s", vc->name, vc->id);
    return buffer;
}

int h_vcenters_list(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    return view_list(call, resp, VIEW_LIST(platform->vcenters, platform->vcenters_count, vcenter_key, vcenter_json), err);
}

int h_vcenters_show(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct vcenter *vc = NULL;
    int rc = vcenter_find(call, &vc, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    return vcenter_answer(call, resp, 200, vc, err);
}

#define TRUST_MEMBERS JSON_TAKES(STRING, "thumbprint_sha256"), JSON_TAKES(STRING, "ca_pem")

const struct member_body h_vcenters_add_body = {
    .members = vcenter_members, .writer = BY_ADMIN, .more = JSON_MEMBERS(JSON_NEEDS(STRING, "address"), TRUST_MEMBERS)};

int h_vcenters_add(struct api_call *call, struct http_response *resp, struct err *err) {
    struct vcenter wish = {.port = 443, .tunnel_port = 80};
    struct x509_info seen = {0};
    char id[37] = "";
    int rc = vcenter_read(call->body, &wish, err);
    if (!rc)
        rc = registration_add(call->api->options.platform, API_ACTOR(call), &wish, id, &seen, err);
    vcenter_done(&wish);
    vcenter_add_seen(call, &seen);
    if (rc)
        return rc;
    reply_location(resp, "/v2/vcenters/", id);
    return vcenter_answer_fresh(call, resp, 201, id, err);
}

int h_vcenters_delete(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct vcenter *vc = NULL;
    int64_t version_no = 0;
    int rc = vcenter_find_version(call, &vc, &version_no, err);
    if (!rc)
        rc = registration_remove(call->api->options.platform, vc->id, API_ACTOR(call), err);
    return view_nothing(resp, rc);
}

static const char *vsphere_key(const void *record, char *buffer, size_t n) {
    const struct vsphere_cluster *c = record;
    (void)snprintf(buffer, n, "%s/%s\x01%s", c->datacenter ? c->datacenter : "", c->name ? c->name : "", c->ref.moref);
    return buffer;
}

/* `filter`: the vCenter. */
static bool vsphere_is_wanted(const struct api_call *call, const void *record, const void *filter) {
    const struct vsphere_cluster *c = record;
    (void)call;
    return !c->is_gone && str_eq(c->ref.vcenter_id, ((const struct vcenter *)filter)->id);
}

int h_vcenters_vsphere_clusters(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    const struct vcenter *vc = NULL;
    int rc = vcenter_find(call, &vc, err);
    return rc ? rc
              : view_list(call, resp,
                          VIEW_LIST(platform->vsphere, platform->vsphere_count, vsphere_key, view_vsphere_cluster,
                                    .is_wanted = vsphere_is_wanted, .filter = vc),
                          err);
}

/* -- changing one, its trust -------------------------------------------------------------------------------------------- */

/* Nothing was confirmed: shows what is trusted and what is met, unless that is the same. */
static int ask_trust(struct api_call *call, struct http_response *resp, const struct vcenter *vc, struct err *err) {
    struct x509_info seen = {0};
    struct vim_about about = {0};
    struct err why = {0};
    int rc = vcenter_ask(call->api->options.platform, vc, &about, &seen, &why);
    vim_about_done(&about);
    if (!rc) {
        x509_info_done(&seen);
        return vcenter_answer(call, resp, 200, vc, err);
    }
    if (rc != ERR_TLS || !seen.pem) {
        x509_info_done(&seen);
        return err_move(err, rc, &why);
    }
    vcenter_add_seen(call, &seen);
    problem_add(call, "trusted", view_trust(vc));
    (void)err_set(err, ERR_CERT_UNCONFIRMED, "%.400s; nothing was sent", why.text);
    return err_remedy(err,
                      "compare the SHA-256 with the one the vCenter shows, then send the same request with thumbprint_sha256");
}

/* Changes what the body says and answers with what is stored then; what was met where trust failed goes into the problem. With `asks_trust` a body
 * that says nothing is a question. */
static int h_vcenters_change(struct api_call *call, struct http_response *resp, bool asks_trust, struct err *err) {
    struct vcenter wish = {.port = VCENTER_PORT_SAME, .tunnel_port = VCENTER_PORT_SAME, .direct_port = VCENTER_PORT_SAME};
    struct vcenter_change change = {.actor = api_actor(call), .wish = &wish};
    const struct vcenter *vc = NULL;
    struct x509_info seen = {0};
    int rc = vcenter_find_version(call, &vc, &change.version_no, err);
    if (!rc)
        rc = vcenter_read(call->body, &wish, err);
    asks_trust = asks_trust && !wish.has_pin && !wish.ca_pem;
    if (!rc && !asks_trust)
        rc = vcenter_change(call->api->options.platform, vc->id, &change, &seen, err);
    vcenter_done(&wish);
    vcenter_add_seen(call, &seen);
    if (rc)
        return rc;
    return asks_trust ? ask_trust(call, resp, vc, err)
                      : vcenter_answer_fresh(call, resp, 200, http_request_param(call->req, "id"), err);
}

const struct member_body h_vcenters_patch_body = {
    .members = vcenter_members, .writer = BY_ADMIN, .more = JSON_MEMBERS(TRUST_MEMBERS), .may_be_empty = true};

int h_vcenters_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    return h_vcenters_change(call, resp, false, err);
}

const struct member_body h_vcenters_trust_body = {.more = JSON_MEMBERS(TRUST_MEMBERS)};

int h_vcenters_trust(struct api_call *call, struct http_response *resp, struct err *err) {
    return h_vcenters_change(call, resp, true, err);
}

/* -- registering with the one-time token of an OVF environment ---------------------------------------------------------- */

/* A token registers the record and nothing else. */
static json_t *h_vcenters_remaining(const char *name) {
    _cleanup_free_ char *sign_in = str_format(
        "the login: it takes one sign-in, kaasctl vcenter register %s --user administrator@vsphere.local; until then no"
        " inventory is read and nobody signs in through this vCenter",
        name);
    json_t *list = json_array();
    json_add(list, json_string(sign_in ? sign_in : "the login"));
    json_add(list, json_string("where certificates cannot log in, that command takes --service-account or"
                               " --login-account as well"));
    return list;
}

/* What works now, and what is still to be done. */
static json_t *result_json(struct api_call *call, const struct ovf_install_result *result) {
    const struct vcenter *vc;
    json_t *object = json_object();
    api_renew_snapshot(call);
    vc = inventory_find_vcenter(call->snapshot->platform, result->vcenter_id);
    json_put_string(object, "vcenter_id", result->vcenter_id);
    json_put(object, "vcenter", vc ? vcenter_json(call, vc) : json_null());
    json_put_bool(object, "added", result->was_added);
    json_put(object, "works",
             json_pack("[s, s]", "the plug-in of the vSphere Client, as soon as the vCenter has fetched it",
                       "HX Connect finds this service by its extension record"));
    json_put(object, "remaining", h_vcenters_remaining(vc ? name_word(vc->name, vc->id) : "VCENTER"));
    return object;
}

const struct member_body h_solution_install_body = {
    .more = JSON_MEMBERS(JSON_NEEDS(STRING, "ovf_environment"), JSON_TAKES(INTEGER, "tunnel_port"))};

int h_solution_install(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *environment = json_get_string(call->body, "ovf_environment");
    struct ovf_install_request request = {
        .actor = api_actor(call), .environment = environment, .environment_bytes = strlen(environment)};
    struct ovf_install_result result = {0};
    struct vcenter wish = {.tunnel_port = 80};
    int rc = member_json_read(call->body, vcenter_members, BY_ADMIN, &wish, err);
    request.tunnel_port = wish.tunnel_port;
    if (!rc)
        rc = ovf_install(call->api->options.platform, &request, &result, err);
    json_wipe_string(json_object_get(call->body, "ovf_environment"));
    return rc ? rc : reply_json(resp, 200, result_json(call, &result), err);
}
