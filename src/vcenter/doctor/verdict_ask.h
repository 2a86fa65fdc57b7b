/* Asking a vCenter what our session may do there, on each object that we use. Layer 4 (vcenter). Blocks: in a worker.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "verdict.h"
#include "vim.h"

struct link;
struct remote;

/* A privilege that we need somewhere, and what is lost without it. Static. */
struct verdict_need {
    const char *privilege, *lost;
    bool is_vital; /* nothing works without it */
};
/* The needed privilege number `i`, from 0; behind the last one, `privilege` is NULL. */
struct verdict_need verdict_need(size_t i);

/* Asks by the session of `client`, in one call for up to a hundred objects: the root folder, then each vSphere cluster that carries Kubernetes or HX
 * clusters, those asked about before that we may not see any more, and those that HX has registered and our account does not see (is_unseen_hx). *out is
 * malloc'ed: path, missing privileges and the fault of each are filled in. A session that may not even ask lacks every privilege. ERR_NOT_FOUND without a
 * session, ERR_NOMEM, errors of vim.h. */
int verdict_ask(struct link *link, struct vim_client *client, struct verdict_object **out, size_t *count, struct err *err);

/* remote_work_fn of LINK_WORK_VERDICTS: verdict_ask by the link's own session, then reads the vCenter's clock; gives both to the link. ERR_CANCELED if the link
 * has no session; else errors of verdict_ask and vim.h. */
int verdict_work(struct remote *remote, struct err *err);
