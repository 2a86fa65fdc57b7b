/* Clusters that kaasd makes, or has made. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit_store.h"
#include "cluster_store.h"
#include "err.h"
#include "made_cluster.h"
#include "store.h"
#include "uuid.h"

/* Reads one; freed by made_cluster_free. ERR_NOT_FOUND: kaasd has not made this cluster. */
int made_store_load(struct store *store, const char *cluster_id, struct made_cluster **out, struct err *err);

/* Removes it, so that its record can be removed. What it had at the vCenter must be gone. Not being there is no error. */
int made_store_delete(struct store *store, const char *cluster_id, struct err *err);

/* The clusters whose records say `creating` or `deleting` while no job is at work on them. *out (uninitialised) is given back by made_ids_done. */
struct made_ids {
    char (*items)[UUID_TEXT_BYTES];
    size_t count;
};
void made_ids_done(struct made_ids *ids); /* NULL is allowed */
int made_store_list_left(struct store *store, struct made_ids *out, struct err *err);

/* The clusters that were made, by name: with which provider. *out (uninitialised) is given back by made_name_list_done. */
struct made_name {
    char provider_id[UUID_TEXT_BYTES], cluster_id[UUID_TEXT_BYTES];
    char *name;
};
struct made_name_list {
    struct made_name *items;
    size_t count;
};
void made_name_list_done(struct made_name_list *list); /* NULL is allowed */
int made_store_list_names(struct store *store, struct made_name_list *out, struct err *err);

/* What a new one was judged by. */
struct made_judged {
    int64_t provider_no;                 /* its provider, with this number */
    const struct made_name_list *others; /* all that were made */
};
/* Writes it with the new record `cluster`, in one transaction. ERR_BUSY: its provider is not there any more, or with another number, or another cluster has come; errors of
 * cluster_store_insert. Notes CHANGE_CLUSTER. */
int made_store_insert(struct store *store, const struct made_cluster *made, const struct made_judged *judged,
                      const struct cluster *cluster, const struct cluster_writing *with, struct err *err);
