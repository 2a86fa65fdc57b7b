/* What the handlers of /v2/vcenters share. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter_calls.h"

#include <string.h>

#include "digest.h"
#include "directory.h"
#include "platform_links.h"
#include "problem.h"
#include "str.h"
#include "views.h"

#define PEM_BYTES_MAX 65536U

int vcenter_calls_find(struct api_call *call, const struct vcenter **out, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    *out = dir_find_vcenter(call->snapshot->platform, id);
    if (*out)
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "there is no vCenter %s here", id);
    return err_remedy(err, "compare with GET /v2/vcenters");
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

json_t *vcenter_calls_json(struct api_call *call, const struct vcenter *vc) {
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

int vcenter_calls_answer(struct api_call *call, struct http_response *resp, int status, const struct vcenter *vc,
                         struct err *err) {
    char etag[REPLY_ETAG_BYTES];
    vcenter_etag(vc, etag);
    http_response_set_header(resp, "ETag", etag);
    return reply_json(resp, status, vcenter_calls_json(call, vc), err);
}

int vcenter_calls_answer_fresh(struct api_call *call, struct http_response *resp, int status, const char *id, struct err *err) {
    const struct vcenter *vc;
    api_renew_snapshot(call);
    vc = dir_find_vcenter(call->snapshot->platform, id);
    if (!vc)
        return err_set(err, ERR_NOT_FOUND, "the vCenter %s is gone again", id);
    return vcenter_calls_answer(call, resp, status, vc, err);
}

int vcenter_calls_check_version(struct api_call *call, const struct vcenter *vc, int64_t *version_no, struct err *err) {
    char etag[REPLY_ETAG_BYTES];
    bool is_given = false;
    int rc;
    vcenter_etag(vc, etag);
    rc = reply_check_if_match(call, etag, &is_given, err);
    *version_no = is_given ? vc->version_no : 0;
    return rc;
}

int vcenter_calls_read_port(json_t *body, const struct vcenter_port *port, unsigned *out, struct err *err) {
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

int vcenter_calls_read_trust(json_t *body, struct vcenter_trust *out, struct err *err) {
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

void vcenter_calls_add_seen(struct api_call *call, struct x509_info *seen) {
    if (seen->pem)
        problem_add(call, "certificate", problem_certificate(seen));
    x509_info_done(seen);
}
