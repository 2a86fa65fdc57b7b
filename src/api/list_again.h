/* A list that is asked for again by the same bytes on the same connection. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "list_memo.h"

/* Has httpd ask list_again_answer next time, if this answer of a list is one that may be given again: by a token, with all rights known and
 * nothing stale. `resp` is complete but for the common headers. */
void list_again_keep(struct api_call *call, const struct http_response *resp, const struct list_key *key,
                     const struct list_answer *answer);

/* The hook `again` of httpd. Looks at everything that is not in the request: readiness, keys, session, role, rights, snapshot, freshness.
 * If anything is another than before, or is not known from memory, the request goes the usual way. */
bool list_again_answer(struct http_request *req, void *data, struct http_response *resp);
