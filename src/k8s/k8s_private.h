/* What calls and watches share. Inside src/k8s. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "http_client.h"
#include "k8s.h"

/* The header line that sends `token`; malloc'ed, a secret. ERR_CONFIG for a token that no header holds, ERR_NOMEM. */
int k8s_authorization(const char *token, char **out, struct err *err);

/* How the server of `endpoint` is reached. The texts stay the endpoint's. */
struct http_client_options k8s_http_options(const struct k8s_endpoint *endpoint);

/* An on_header; `arg` points to an unsigned that is 0 at first and gets the seconds of a Retry-After. */
void k8s_note_retry_after(void *arg, const char *line, size_t n);
