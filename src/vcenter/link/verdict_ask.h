/* Asking a vCenter what our session may do there, on each object that we use. Layer 4 (vcenter). Blocks: in a worker.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "verdict.h"
#include "vim.h"

struct link;

/* A privilege that we need somewhere, and what is lost without it. Static. */
struct verdict_need {
    const char *privilege, *lost;
    bool is_vital; /* nothing works without it */
};
/* Number `i` of them, from 0; one without privilege behind the last. */
struct verdict_need verdict_need(size_t i);

/* Asks by the session that `client` has, in one call for up to a hundred objects: the root folder first, then each vSphere cluster that carries Kubernetes or HX
 * clusters, at last those that HX has registered and our account does not see (is_unseen_hx). *out is malloc'ed: path, missing privileges and the fault of each are filled in. Who may not even ask has no privilege. ERR_NOT_FOUND without a
 * session, ERR_NOMEM, errors of vim.h. */
int verdict_ask(struct link *link, struct vim_client *client, struct verdict_object **out, size_t *count, struct err *err);

/* The work LINK_WORK_VERDICTS: asks by the link's own session, looks at the clock, and takes the outcome over. Logs in only where there is no session. */
int verdict_work(struct link *link, struct err *err);
