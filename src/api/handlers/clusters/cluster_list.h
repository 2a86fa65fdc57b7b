/* Cache of whole answers to GET /v2/clusters. Layer 6 (api); private to this folder. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"

struct list_memo;

/* Makes an empty cache. ERR_NOMEM. */
int list_memo_new(struct list_memo **out, struct err *err);
void list_memo_free(struct list_memo *memo); /* NULL is allowed */
