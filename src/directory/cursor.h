/* Where a page of clusters ended: order of a list, and its opaque cursor. Layer 3 (directory); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "cluster.h"
#include "query.h"
#include "strbuf.h"

/* Sort key and id of the last item of the page before. Texts malloc'ed. */
struct dir_cursor {
    char *key, *id;
};

/* Order of two clusters in this query's list, ties by id; direction applied. */
int dir_cursor_compare(const struct dir_cluster_query *query, const struct cluster *a, const struct cluster *b);

/* True if the cluster comes behind the cursor in this query's list. */
bool dir_cursor_before(const struct dir_cursor *cursor, const struct dir_cluster_query *query, const struct cluster *cluster);

/* Appends the cursor text for a page that ends with `last`: base64url of a digest of the query, sort key and id. */
void dir_cursor_write(const struct dir_cluster_query *query, const struct cluster *last, struct strbuf *out);

/* Reads query->cursor. ERR_INVALID if it is malformed or belongs to another query. */
int dir_cursor_parse(const struct dir_cluster_query *query, struct dir_cursor *out, struct err *err);

void dir_cursor_done(struct dir_cursor *cursor); /* frees the texts; a zeroed struct is allowed */
