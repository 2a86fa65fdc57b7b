/* GET /v2/clusters?watch=CURSOR: answers when the list is another one than the caller holds. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cursor is a digest of what this caller may see of this query, with what is said about its freshness. It names no place in a history:
 * every replica understands it, and a cursor of anything else just differs. */
#pragma once

#include "api_call.h"
#include "query.h"

/* What a query says about waiting. */
struct list_wait {
    const char *cursor; /* NULL: nothing; "" or one that an answer gave */
    unsigned wait_s;
    bool is_changed; /* outcome of list_wait_look; without a cursor true */
};
/* Reads watch and wait. ERR_INVALID. */
int list_wait_read(struct api_call *call, struct list_wait *out, struct err *err);

/* Looks whether the list is another one now. 0: wait->is_changed tells; if so, the cursor of the new one is in `resp`, where the list is still to be
 * put; if not, the wait is over and `resp` is the answer. HTTP_GO_SLOW's value: it waits, and the handler will be run again, with rights and
 * snapshot of that time. Errors of inventory_digest_clusters, with their candidates; ERR_TOO_MANY, ERR_BUSY. */
int list_wait_look(struct api_call *call, struct list_wait *wait, const struct inventory_cluster_query *query,
                   struct inventory_candidates *candidates, struct http_response *resp, struct err *err);
