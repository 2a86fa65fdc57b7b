/* JSON to cluster records: create bodies and merge patches. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"
#include "err.h"
#include "json.h"
#include "snapshot.h"

/* Each takes a body whose members were checked by its row in routes.def (h_clusters_create_body, ...). */

/* Who writes, and when. */
struct cluster_writer {
    const char *principal_id;
    const char *name; /* as the audit log calls them */
    int64_t at_ms;    /* wall clock */
};

/* Builds a record (without id, times and version); vSphere clusters are resolved in `platform`. *out is freed by cluster_free.
 * ERR_UNPROCESSABLE naming the member, ERR_AMBIGUOUS, ERR_NOMEM. */
int cluster_input_create(json_t *body, const struct inventory_platform *platform, const struct cluster_writer *by,
                         struct cluster **out, struct err *err);

/* Applies a merge patch (RFC 7396); *parts tells which lists it replaced (enum cluster_parts). Errors as create. */
int cluster_input_patch(json_t *body, const struct inventory_platform *platform, const struct cluster_writer *by,
                        struct cluster *record, unsigned *parts, struct err *err);

/* Applies a report: the state and its reason always, the rest if given. A report with "by_hand" declares the state, as a patch does, so it does not age.
 * *parts as above. Errors as cluster_input_create, but for ERR_AMBIGUOUS. */
int cluster_input_status(json_t *body, const struct cluster_writer *by, struct cluster *record, unsigned *parts, struct err *err);
