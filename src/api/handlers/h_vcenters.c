/* Handlers of /v2/vcenters and /v2/solution-installs. How one is joined and how it stands is h_vcenters_join.c. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api_call.h"
#include "digest.h"
#include "inventory.h"
#include "limits.h"
#include "log.h"
#include "member_json.h"
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
            (void)json_array_append_new(list, json_string(info.subject));
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
    (void)json_object_set_new(object, "ca_subjects", ca_subjects(vc->ca_pem));
    return object;
}

static json_t *view_vcenter(const struct vcenter *vc, const struct link_report *report) {
    json_t *object = member_json_show(vcenter_members, vc);
    (void)json_object_set_new(object, "trust", view_trust(vc));
    view_put_state(object, report);
    json_put_bool(object, "registered", vc->registered_at_ms != 0);
    view_put_strategy(object, "login_strategy", report);
    view_put_time(object, "last_contact_at", report->last_contact_ms);
    return object;
}

static void vcenter_report(struct api_call *call, const struct vcenter *vc, struct link_report *out) {
    struct link *link = NULL;
    memset(out, 0, sizeof(*out));
    out->state = vc->registered_at_ms ? LINK_CONNECTING : LINK_NOT_REGISTERED;
    if (platform_find(call->api->options.platform, vc->id, &link, NULL))
        return;
    link_get_report(link, out);
    link_unref(link);
}

/* Its JSON, with the state of its link. New reference, or NULL without memory. */
static json_t *vcenter_json(struct api_call *call, const struct vcenter *vc) {
    struct link_report report;
    vcenter_report(call, vc, &report);
    return view_vcenter(vc, &report);
}

/* The row version tells all that is stored; with the time of its making, since a vCenter that was added again begins anew. */
static void vcenter_etag(const struct vcenter *vc, char out[REPLY_ETAG_BYTES]) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    uint64_t hash;
    char text[128];
    int n = snprintf(text, sizeof(text), "%.40s %lld %lld", vc->id, (long long)vc->created_at_ms, (long long)vc->version_no);
    digest_sha256(text, (size_t)n, digest);
    memcpy(&hash, digest, sizeof(hash));
    reply_format_etag(hash, false, out);
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

/* Checks If-Match; *version_no is the row version it speaks of, 0 if there is none. ERR_PRECONDITION. */
static int vcenter_check_version(struct api_call *call, const struct vcenter *vc, int64_t *version_no, struct err *err) {
    char etag[REPLY_ETAG_BYTES];
    bool is_given = false;
    int rc;
    vcenter_etag(vc, etag);
    rc = reply_check_if_match(call, etag, &is_given, err);
    *version_no = is_given ? vc->version_no : 0;
    return rc;
}

struct vcenter_port {
    const char *name;
    unsigned fallback, least;
};

/* Reads a port of a body, `fallback` if it is absent. ERR_UNPROCESSABLE. */
static int vcenter_read_port(json_t *body, const struct vcenter_port *port, unsigned *out, struct err *err) {
    int64_t value = json_get_int(body, port->name, port->fallback);
    if (value < port->least || value > 65535)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"%s\" must be a number from %u to 65535", port->name, port->least);
    *out = (unsigned)value;
    return 0;
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

struct vcenter_trust {
    uint8_t pin[X509_SHA256_BYTES];
    const uint8_t *pin_sha256; /* -> pin, or NULL */
    const char *ca_pem;
};

/* Reads thumbprint_sha256 or ca_pem of a body; none is allowed, then both stay NULL. Borrows from the body. ERR_UNPROCESSABLE. */
static int vcenter_read_trust(json_t *body, struct vcenter_trust *out, struct err *err) {
    const char *thumbprint = json_get_string(body, "thumbprint_sha256");
    out->pin_sha256 = NULL;
    out->ca_pem = json_get_string(body, "ca_pem");
    if (thumbprint && out->ca_pem)
        return err_set(err, ERR_UNPROCESSABLE, "give either \"thumbprint_sha256\" or \"ca_pem\", not both");
    if (!thumbprint)
        return out->ca_pem ? vcenter_check_ca(out->ca_pem, err) : 0;
    if (!str_unhex(thumbprint, out->pin, sizeof(out->pin))) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the member \"thumbprint_sha256\" is not a SHA-256 thumbprint");
        return err_remedy(err, "give 32 pairs of hexadecimal digits, with or without colons; SHA-1 is not accepted");
    }
    out->pin_sha256 = out->pin;
    return 0;
}

/* Adds the certificate that was met to the problem that will be answered, if there is one; releases it. */
static void vcenter_add_seen(struct api_call *call, struct x509_info *seen) {
    if (seen->pem)
        problem_add(call, "certificate", problem_certificate(seen));
    x509_info_done(seen);
}

/* -- reading, adding, removing ------------------------------------------------------------------------------------------ */

static const char *const page_query[] = {"limit", "cursor", NULL};

struct vcenter_page {
    struct api_call *call;
    const struct vcenter **items; /* by name, then id */
};

static const char *vcenter_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct vcenter_page *page = arg;
    (void)snprintf(buffer, n, "%s\x01%s", page->items[i]->name, page->items[i]->id);
    return buffer;
}

static json_t *vcenter_item(const void *arg, size_t i) {
    const struct vcenter_page *page = arg;
    return vcenter_json(page->call, page->items[i]);
}

static int vcenters_compare(const void *a, const void *b) {
    const struct vcenter *x = *(const struct vcenter *const *)a, *y = *(const struct vcenter *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->id, y->id);
}

int h_vcenters_list(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    _cleanup_free_ const struct vcenter **items = calloc(platform->vcenters_count + 1, sizeof(*items));
    struct vcenter_page page = {.call = call, .items = items};
    struct reply_list list = {.count = platform->vcenters_count, .key = vcenter_key, .item = vcenter_item, .arg = &page};
    int rc = http_request_check_query(call->req, page_query, err);
    if (rc)
        return rc;
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < list.count; i++)
        items[i] = &platform->vcenters[i];
    if (list.count > 1)
        qsort(items, list.count, sizeof(*items), vcenters_compare);
    return reply_list(call, resp, &list, err);
}

int h_vcenters_show(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct vcenter *vc = NULL;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = vcenter_find(call, &vc, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    return vcenter_answer(call, resp, 200, vc, err);
}

static const struct json_member add_members[] = {
    {"address", JSON_KIND_STRING, true, false},       {"port", JSON_KIND_INTEGER, false, false},
    {"name", JSON_KIND_STRING, false, false},         {"thumbprint_sha256", JSON_KIND_STRING, false, false},
    {"ca_pem", JSON_KIND_STRING, false, false},       {"tunnel_port", JSON_KIND_INTEGER, false, false},
    {"direct_port", JSON_KIND_INTEGER, false, false}, {NULL, JSON_KIND_ANY, false, false},
};

static int h_vcenters_read_add(json_t *body, struct vcenter_add *add, struct vcenter_trust *trust, struct err *err) {
    static const struct vcenter_port port = {"port", 443, 1}, tunnel = {"tunnel_port", 80, 0}, direct = {"direct_port", 0, 0};
    int rc = json_check(body, add_members, NULL, err);
    if (rc)
        return rc;
    add->address = json_get_string(body, "address");
    add->name = json_get_string(body, "name");
    rc = vcenter_read_port(body, &port, &add->port, err);
    if (!rc)
        rc = vcenter_read_port(body, &tunnel, &add->tunnel_port, err);
    if (!rc)
        rc = vcenter_read_port(body, &direct, &add->direct_port, err);
    if (!rc)
        rc = vcenter_read_trust(body, trust, err);
    add->pin_sha256 = trust->pin_sha256;
    add->ca_pem = trust->ca_pem;
    return rc;
}

int h_vcenters_add(struct api_call *call, struct http_response *resp, struct err *err) {
    struct vcenter_add add = {.actor = api_actor(call)};
    struct vcenter_trust trust = {0};
    struct x509_info seen = {0};
    char id[37] = "";
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/json", err);
    if (!rc)
        rc = h_vcenters_read_add(call->body, &add, &trust, err);
    if (!rc)
        rc = registration_add(call->api->options.platform, &add, id, &seen, err);
    vcenter_add_seen(call, &seen);
    if (rc)
        return rc;
    reply_location(resp, "/v2/vcenters/", id);
    return vcenter_answer_fresh(call, resp, 201, id, err);
}

int h_vcenters_delete(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    const struct vcenter *vc = NULL;
    int64_t version_no = 0;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = vcenter_find(call, &vc, err);
    if (!rc)
        rc = vcenter_check_version(call, vc, &version_no, err);
    if (!rc)
        rc = registration_remove(call->api->options.platform, vc->id, &actor, err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}

struct vsphere_page {
    const struct inventory_platform *platform;
    const struct vsphere_cluster **items; /* by path */
};

static const char *vsphere_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct vsphere_cluster *c = ((const struct vsphere_page *)arg)->items[i];
    (void)snprintf(buffer, n, "%s/%s\x01%s", c->datacenter ? c->datacenter : "", c->name ? c->name : "", c->ref.moref);
    return buffer;
}

static json_t *vsphere_item(const void *arg, size_t i) {
    const struct vsphere_page *page = arg;
    return view_vsphere_cluster(page->platform, page->items[i]);
}

static int vcenters_compare_vsphere(const void *a, const void *b) {
    const struct vsphere_page x = {.items = (const struct vsphere_cluster *[]){*(const struct vsphere_cluster *const *)a}};
    const struct vsphere_page y = {.items = (const struct vsphere_cluster *[]){*(const struct vsphere_cluster *const *)b}};
    char x_key[1024], y_key[1024];
    return strcmp(vsphere_key(&x, 0, x_key, sizeof(x_key)), vsphere_key(&y, 0, y_key, sizeof(y_key)));
}

int h_vcenters_vsphere_clusters(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    _cleanup_free_ const struct vsphere_cluster **items = calloc(platform->vsphere_count + 1, sizeof(*items));
    struct vsphere_page page = {.platform = platform, .items = items};
    struct reply_list list = {.key = vsphere_key, .item = vsphere_item, .arg = &page};
    const struct vcenter *vc = NULL;
    int rc = http_request_check_query(call->req, page_query, err);
    if (!rc)
        rc = vcenter_find(call, &vc, err);
    if (rc)
        return rc;
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < platform->vsphere_count; i++)
        if (!platform->vsphere[i].is_gone && str_eq(platform->vsphere[i].ref.vcenter_id, vc->id))
            items[list.count++] = &platform->vsphere[i];
    if (list.count > 1)
        qsort(items, list.count, sizeof(*items), vcenters_compare_vsphere);
    return reply_list(call, resp, &list, err);
}

/* -- changing one, its trust -------------------------------------------------------------------------------------------- */

static const struct json_member vcenter_patch_members[] = {
    {"name", JSON_KIND_STRING, false, false},         {"address", JSON_KIND_STRING, false, false},
    {"port", JSON_KIND_INTEGER, false, false},        {"tunnel_port", JSON_KIND_INTEGER, false, false},
    {"direct_port", JSON_KIND_INTEGER, false, false}, {"thumbprint_sha256", JSON_KIND_STRING, false, false},
    {"ca_pem", JSON_KIND_STRING, false, false},       {NULL, JSON_KIND_ANY, false, false},
};
static const struct json_member trust_members[] = {
    {"thumbprint_sha256", JSON_KIND_STRING, false, false},
    {"ca_pem", JSON_KIND_STRING, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};

/* A body of changes, and where its values are kept. */
struct patch {
    struct vcenter_change change;
    struct vcenter_trust trust;
    unsigned port, tunnel_port, direct_port;
};

static int read_port(json_t *body, const struct vcenter_port *port, unsigned *keep, const unsigned **out, struct err *err) {
    int rc;
    if (!json_object_get(body, port->name))
        return 0;
    rc = vcenter_read_port(body, port, keep, err);
    if (!rc)
        *out = keep;
    return rc;
}

static int vcenters_read_patch(json_t *body, struct patch *p, struct err *err) {
    static const struct vcenter_port port = {"port", 443, 1}, tunnel = {"tunnel_port", 80, 0}, direct = {"direct_port", 0, 0};
    int rc = json_check(body, vcenter_patch_members, NULL, err);
    if (rc)
        return rc;
    p->change.name = json_get_string(body, "name");
    p->change.address = json_get_string(body, "address");
    rc = read_port(body, &port, &p->port, &p->change.port, err);
    if (!rc)
        rc = read_port(body, &tunnel, &p->tunnel_port, &p->change.tunnel_port, err);
    if (!rc)
        rc = read_port(body, &direct, &p->direct_port, &p->change.direct_port, err);
    if (!rc)
        rc = vcenter_read_trust(body, &p->trust, err);
    p->change.pin_sha256 = p->trust.pin_sha256;
    p->change.ca_pem = p->trust.ca_pem;
    return rc;
}

/* Changes and answers with what is stored then; what was met where trust failed goes into the problem. */
static int h_vcenters_change(struct api_call *call, struct http_response *resp, const struct vcenter *vc,
                             const struct vcenter_change *wanted, struct err *err) {
    _cleanup_free_ char *id = str_dup(vc->id);
    struct x509_info seen = {0};
    int rc = id ? vcenter_change(call->api->options.platform, id, wanted, &seen, err) : err_set(err, ERR_NOMEM, "out of memory");
    vcenter_add_seen(call, &seen);
    return rc ? rc : vcenter_answer_fresh(call, resp, 200, id, err);
}

int h_vcenters_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct vcenter *vc = NULL;
    struct patch patch = {.change.actor = api_actor(call)};
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/merge-patch+json", err);
    if (!rc)
        rc = vcenter_find(call, &vc, err);
    if (!rc)
        rc = vcenter_check_version(call, vc, &patch.change.version_no, err);
    if (!rc)
        rc = vcenters_read_patch(call->body, &patch, err);
    return rc ? rc : h_vcenters_change(call, resp, vc, &patch.change, err);
}

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

int h_vcenters_trust(struct api_call *call, struct http_response *resp, struct err *err) {
    struct vcenter_change wanted = {.actor = api_actor(call)};
    struct vcenter_trust trust = {0};
    const struct vcenter *vc = NULL;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/json", err);
    if (!rc)
        rc = vcenter_find(call, &vc, err);
    if (!rc)
        rc = vcenter_check_version(call, vc, &wanted.version_no, err);
    if (!rc)
        rc = json_check(call->body, trust_members, NULL, err);
    if (!rc)
        rc = vcenter_read_trust(call->body, &trust, err);
    if (rc)
        return rc;
    wanted.pin_sha256 = trust.pin_sha256;
    wanted.ca_pem = trust.ca_pem;
    return trust.pin_sha256 || trust.ca_pem ? h_vcenters_change(call, resp, vc, &wanted, err) : ask_trust(call, resp, vc, err);
}

/* -- registering with the one-time token of an OVF environment ---------------------------------------------------------- */

static const struct json_member install_members[] = {
    {"ovf_environment", JSON_KIND_STRING, true, false},
    {"tunnel_port", JSON_KIND_INTEGER, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};

static int read_request(struct api_call *call, struct ovf_install_request *out, struct err *err) {
    static const struct vcenter_port tunnel = {"tunnel_port", 80, 0};
    int rc = api_read_members(call, install_members, err);
    if (!rc)
        rc = vcenter_read_port(call->body, &tunnel, &out->tunnel_port, err);
    if (rc)
        return rc;
    out->actor = api_actor(call);
    out->environment = json_get_string(call->body, "ovf_environment");
    out->environment_bytes = strlen(out->environment);
    return 0;
}

/* A token registers the record and nothing else. */
static json_t *h_vcenters_remaining(const char *name) {
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
    vc = inventory_find_vcenter(call->snapshot->platform, result->vcenter_id);
    json_put_string(object, "vcenter_id", result->vcenter_id);
    (void)json_object_set_new(object, "vcenter", vc ? vcenter_json(call, vc) : json_null());
    json_put_bool(object, "added", result->was_added);
    (void)json_object_set_new(object, "works",
                              json_pack("[s, s]", "the plug-in of the vSphere Client, as soon as the vCenter has fetched it",
                                        "HX Connect finds this service by its extension record"));
    (void)json_object_set_new(object, "remaining", h_vcenters_remaining(vc ? vc->name : "VCENTER"));
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
