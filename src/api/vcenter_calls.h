/* What the handlers of /v2/vcenters share. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "api_call.h"
#include "registration.h"
#include "reply.h"
#include "vcenter.h"
#include "x509.h"

/* The vCenter {id} of the path, borrowed from the snapshot. ERR_NOT_FOUND. */
int vcenter_calls_find(struct api_call *call, const struct vcenter **out, struct err *err);

/* Its JSON, with the state of its link. New reference, or NULL without memory. */
json_t *vcenter_calls_json(struct api_call *call, const struct vcenter *vc);

/* Answers with a vCenter and its strong entity tag, which is made of what is stored and nothing else: state and times change by themselves and
 * must not spoil somebody's If-Match. So a read is never answered 304. */
int vcenter_calls_answer(struct api_call *call, struct http_response *resp, int status, const struct vcenter *vc,
                         struct err *err);

/* The same for the vCenter with this id as it is after a write. ERR_NOT_FOUND. */
int vcenter_calls_answer_fresh(struct api_call *call, struct http_response *resp, int status, const char *id, struct err *err);

/* Checks If-Match; *version_no is the row version it speaks of, 0 if there is none. ERR_PRECONDITION. */
int vcenter_calls_check_version(struct api_call *call, const struct vcenter *vc, int64_t *version_no, struct err *err);

/* Reads a port of a body, `fallback` if it is absent. ERR_UNPROCESSABLE. */
struct vcenter_port {
    const char *name;
    unsigned fallback, least;
};
int vcenter_calls_read_port(json_t *body, const struct vcenter_port *port, unsigned *out, struct err *err);

/* Reads thumbprint_sha256 or ca_pem of a body; none is allowed, then both stay NULL. Borrows from the body. ERR_UNPROCESSABLE. */
struct vcenter_trust {
    uint8_t pin[X509_SHA256_BYTES];
    const uint8_t *pin_sha256; /* -> pin, or NULL */
    const char *ca_pem;
};
int vcenter_calls_read_trust(json_t *body, struct vcenter_trust *out, struct err *err);

/* Adds the certificate that was met to the problem that will be answered, if there is one; releases it. */
void vcenter_calls_add_seen(struct api_call *call, struct x509_info *seen);
