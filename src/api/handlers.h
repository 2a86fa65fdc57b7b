/* All handlers, made from the route table. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* One prototype per row of routes.def; each handler answers as docs/openapi.yaml says and returns as http_handler_fn. */
#define ROUTE(method, pattern, handler, lane, permission, flags, options, body) \
    int handler(struct api_call *call, struct http_response *resp, struct err *err);
#include "routes.def"
#undef ROUTE
