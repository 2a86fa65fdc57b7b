/* The answer to a sign-on: a token. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "http_response.h"
#include "signon.h"

/* Answers with the token, which is wiped; `grant` is empty afterwards, also on failure. ERR_NOMEM. */
int reply_grant(struct http_response *resp, struct signon_grant *grant, struct err *err);
