/* Handlers of /v2/vcenters: changing one, its trust, what we log in with. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "api_call.h"
#include "limits.h"
#include "log.h"
#include "platform_links.h"
#include "problem.h"
#include "reply.h"
#include "rotation.h"
#include "str.h"
#include "vcenter_calls.h"
#include "vcenter_set.h"
#include "views.h"
#include "vim.h"

static const struct json_member patch_members[] = {
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
static const struct json_member password_members[] = {
    {"password", JSON_KIND_STRING, true, false},
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
    rc = vcenter_calls_read_port(body, port, keep, err);
    if (!rc)
        *out = keep;
    return rc;
}

static int vcenters_read_patch(json_t *body, struct patch *p, struct err *err) {
    static const struct vcenter_port port = {"port", 443, 1}, tunnel = {"tunnel_port", 80, 0}, direct = {"direct_port", 0, 0};
    int rc = json_check(body, patch_members, NULL, err);
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
        rc = vcenter_calls_read_trust(body, &p->trust, err);
    p->change.pin_sha256 = p->trust.pin_sha256;
    p->change.ca_pem = p->trust.ca_pem;
    return rc;
}

/* Changes and answers with what is stored then; what was met where trust failed goes into the problem. */
static int change(struct api_call *call, struct http_response *resp, const struct vcenter *vc,
                  const struct vcenter_change *wanted, struct err *err) {
    _cleanup_free_ char *id = str_dup(vc->id);
    struct x509_info seen = {0};
    int rc = id ? vcenter_change(call->api->options.platform, id, wanted, &seen, err) : err_set(err, ERR_NOMEM, "out of memory");
    vcenter_calls_add_seen(call, &seen);
    return rc ? rc : vcenter_calls_answer_fresh(call, resp, 200, id, err);
}

int h_vcenters_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct vcenter *vc = NULL;
    struct patch patch = {.change.actor = api_actor(call)};
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/merge-patch+json", err);
    if (!rc)
        rc = vcenter_calls_find(call, &vc, err);
    if (!rc)
        rc = vcenter_calls_check_version(call, vc, &patch.change.version_no, err);
    if (!rc)
        rc = vcenters_read_patch(call->body, &patch, err);
    return rc ? rc : change(call, resp, vc, &patch.change, err);
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
        return vcenter_calls_answer(call, resp, 200, vc, err);
    }
    if (rc != ERR_TLS || !seen.pem) {
        x509_info_done(&seen);
        return err_move(err, rc, &why);
    }
    vcenter_calls_add_seen(call, &seen);
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
        rc = vcenter_calls_find(call, &vc, err);
    if (!rc)
        rc = vcenter_calls_check_version(call, vc, &wanted.version_no, err);
    if (!rc)
        rc = json_check(call->body, trust_members, NULL, err);
    if (!rc)
        rc = vcenter_calls_read_trust(call->body, &trust, err);
    if (rc)
        return rc;
    wanted.pin_sha256 = trust.pin_sha256;
    wanted.ca_pem = trust.ca_pem;
    return trust.pin_sha256 || trust.ca_pem ? change(call, resp, vc, &wanted, err) : ask_trust(call, resp, vc, err);
}

int h_vcenters_rotate(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct link_certificates certificates;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = rotation_rotate(call->link, &actor, err);
    if (rc)
        return rc;
    log_event(LOG_LEVEL_NOTICE, "login_certificate_rotated", "vcenter", link_id(call->link), NULL);
    link_get_certificates(call->link, &certificates);
    return reply_json(resp, 200, view_rotation(link_id(call->link), &certificates), err);
}

int h_vcenters_set_password(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    const char *password;
    int rc = api_read_members(call, password_members, "password", err);
    if (rc)
        return rc;
    password = json_get_string(call->body, "password");
    if (!*password || strlen(password) > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the password must not be empty, nor longer than %u bytes",
                       KAAS_PASSWORD_BYTES_MAX);
    rc = rotation_set_password(call->link, password, &actor, err);
    if (rc)
        return rc;
    log_event(LOG_LEVEL_NOTICE, "vcenter_password_replaced", "vcenter", link_id(call->link), NULL);
    http_response_set_status(resp, 204);
    return 0;
}
