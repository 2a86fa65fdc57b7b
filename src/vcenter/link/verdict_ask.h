/* Asking a vCenter what our session may do there, on each object that we use. Layer 4 (vcenter). Blocks: in a worker.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "verdict.h"
#include "vim.h"

struct link;

/* What is lost without a privilege, as a sentence, and whether it is all; "" and false for one that we do not need. Static. */
const char *verdict_loss(const char *privilege, bool *is_vital);

/* Asks by the session that `client` has, in one call for up to a hundred objects: the root folder first, then each vSphere cluster that carries Kubernetes or HX
 * clusters. *out is malloc'ed: path, missing privileges and the fault of each are filled in. Who may not even ask has no privilege. ERR_NOT_FOUND without a
 * session, ERR_NOMEM, errors of vim.h. */
int verdict_ask(struct link *link, struct vim_client *client, struct verdict_object **out, size_t *count, struct err *err);

/* The work LINK_WORK_VERDICTS: asks by the link's own session, looks at the clock, and takes the outcome over. Logs in only where there is no session. */
int verdict_work(struct link *link, struct err *err);
