/* Errors as application/problem+json (RFC 9457). Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"
#include "x509.h"

/* The error hook of the server. */
void problem_write(struct http_request *req, const struct err *err, struct http_response *resp);

/* Adds an extra member to the problem that this call will answer; takes `value`. */
void problem_add(struct api_call *call, const char *member, json_t *value);

/* Sets ERR_INVALID for a query parameter, with its name as member "parameter", and returns it. `text`: what is wrong, placed after the name. */
int problem_parameter(struct api_call *call, const char *name, const char *text, struct err *err);

/* The certificate a peer showed, as member "certificate". */
json_t *problem_certificate(const struct x509_info *info);
