/* Connections to Kubernetes clusters: how each is reached, the sealed token, how it stands, and the nodes that Kubernetes tells. Layer 2 (store).
 * Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "cluster.h"
#include "cluster_store.h"
#include "err.h"
#include "kube_connection.h"
#include "kube_node.h"
#include "secret_store.h"
#include "store.h"

struct lease_fence;

/* Reads all. *out (uninitialised) is given back by kube_connection_list_done, kube_status_list_done. */
int kube_store_list(struct store *store, struct kube_connection_list *out, struct err *err);
int kube_store_list_statuses(struct store *store, struct kube_status_list *out, struct err *err);
/* Reads one; freed by kube_connection_free, kube_status_free. ERR_NOT_FOUND. */
int kube_store_load(struct store *store, const char *cluster_id, struct kube_connection **out, struct err *err);
int kube_store_load_status(struct store *store, const char *cluster_id, struct kube_status **out, struct err *err);
/* The connection to the cluster with this uid. ERR_NOT_FOUND. */
int kube_store_load_by_uid(struct store *store, const char *cluster_uid, struct kube_connection **out, struct err *err);
/* Where the token belongs, to be sealed and opened (secret_store.h); borrows the id. */
struct secret_place kube_store_place(const char *cluster_id);

/* A connection that is made or replaced. All borrowed. */
struct kube_write {
    const struct kube_connection *connection; /* version_no 0: a new one; else the one with that number is replaced */
    const struct cluster *cluster;            /* written with it, as cluster_store_insert does; NULL: the record is there */
    const struct cluster_room *room;          /* of that, as in struct cluster_writing */
    const struct secret_value *token;
    int64_t token_until_ms, token_renew_at_ms; /* wall clock */
    const struct audit_record *audit;          /* NULL: none */
};
/* Writes connection, token and a status of which nothing is known yet, with the cluster, in one transaction; notes CHANGE_CLUSTER. Errors of cluster_store_insert;
 * ERR_EXISTS: the cluster has a connection, or another one has this uid; ERR_PRECONDITION if it was changed, ERR_NOT_FOUND if it is gone, ERR_CONFLICT if there is no
 * such cluster. */
int kube_store_put(struct store *store, const struct kube_write *write, struct err *err);

/* Removes a connection with token, status and the nodes that Kubernetes told of; `version_no` 0: whatever it is now. Nodes that were declared stay. Notes
 * CHANGE_CLUSTER. ERR_PRECONDITION, ERR_NOT_FOUND. */
int kube_store_delete(struct store *store, const char *cluster_id, int64_t version_no, const struct audit_record *audit,
                      struct err *err);

/* Replaces the status with status->version_no, and raises that number. `token` replaces the stored one; NULL leaves it. `is_news`: it shows something else in
 * lists: notes CHANGE_CLUSTER. ERR_PRECONDITION, ERR_NOT_FOUND: the connection was set anew or removed meanwhile, or the lease (`fence`) is no longer ours. */
int kube_store_save_status(struct store *store, struct kube_status *status, const struct secret_value *token,
                           const struct lease_fence *fence, bool is_news, struct err *err);

/* What Kubernetes tells of the nodes of one cluster. */
struct kube_nodes {
    const struct kube_node *items; /* in any order, no name twice; borrowed */
    size_t count;
};
/* Makes the stored nodes of Kubernetes those of `told`, all of them, writing only what differs. A node of the same name is the same node: a declared one keeps
 * what was declared; one that is not there is made; one that Kubernetes no longer has goes, with what is seen of it, unless it was declared. *changed counts the
 * rows written or removed; with any, CHANGE_CLUSTER is noted. At most `room` as in struct cluster_writing. ERR_PRECONDITION: the lease is no longer ours;
 * ERR_NOT_FOUND: there is no such connection; ERR_INVENTORY_FULL. */
int kube_store_save_nodes(struct store *store, const char *cluster_id, const struct kube_nodes *told,
                          const struct cluster_room *room, const struct lease_fence *fence, unsigned *changed, struct err *err);
