/* Connections to Kubernetes clusters: kaasd asks their API servers itself, with a service account of its own in each. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The credential that an admin gives is used once, to make that account with the least rights (docs/admin/kubernetes.md), and then forgotten. What is kept is a token of
 * the account, sealed, for all replicas; it ends after a day and is renewed at half its life. One replica at a time, the holder of the lease, watches the nodes of a
 * cluster, asks its readiness checks and writes down what it finds; the others read that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "jobs.h"
#include "kube_connection.h"
#include "runtime.h"
#include "worker_pool.h"
#include "x509.h"

#define KUBE_CONTEXTS_MAX 50U /* that are told */

struct actor;
struct inventory;
struct kube_admin;
struct kubernetes;
struct metric_page;
struct net_policy;

struct kubernetes_options {
    const struct runtime *runtime;
    const struct net_policy *networks; /* where API servers may be; borrowed; NULL: anywhere */
    struct inventory *inventory;       /* tells the names of clusters, for health and metrics */
    long call_timeout_ms;              /* of each call to an API server, connecting included */
    /* Called when state or reason of a connection has changed; may be NULL. */
    void (*on_news)(void *arg, const struct kube_status *status);
    /* Issues a certificate for this cluster, if kaasd has made it (kube_admin.h): then a connection whose token is refused connects anew by itself. ERR_NOT_FOUND: it has not.
     * *out is kube_admin_done's in any case. Blocks. May be NULL. */
    int (*issue_admin)(void *arg, const char *cluster_id, struct kube_admin *out, struct err *err);
    void *arg; /* of the functions above */
};

/* Makes the set of connections; calls nobody yet. ERR_NOMEM, ERR_IO. */
int kubernetes_new(const struct kubernetes_options *options, struct kubernetes **out, struct err *err);
/* Ends calls and watches under way and gives the leases back, so that another replica goes on at once. Blocks for some seconds at most. NULL is allowed. */
void kubernetes_stop(struct kubernetes *k);
void kubernetes_free(struct kubernetes *k); /* NULL is allowed */

/* Call it about once a second: takes over what was connected, removed or written elsewhere, keeps the leases, and has what is due done. Errors of the store. */
int kubernetes_tick(struct kubernetes *k, struct err *err);

/* Has `fn` run where API servers are asked, for jobs whose steps do so; as worker_pool_submit. */
int kubernetes_submit(struct kubernetes *k, worker_fn *fn, void *arg, struct err *err);

/* For the same, behind what calls an API server: moves `why` to `err` and returns `rc`, or ERR_UNAVAILABLE, so that the step tries again, for what passes by
 * itself. That is 5xx, as long as it is said (while etcd has no leader requests time out), and 401 and 403 for the first KUBE_DENIED_S of them, for so says a
 * server that has not read its rules yet; what is denied for longer is denied, and a retry begins anew. Since when it is denied is kept with the step
 * (job_decide, whose errors win). */
#define KUBE_DENIED_S 120
int kubernetes_let_pass(struct job_call *call, int rc, const struct err *why, struct err *err);

/* -- connecting: all of it waits for the API server (worker pool `outside`) --------------------------------------------------- */

/* What somebody gives to connect a cluster: a kubeconfig, or an address with CA and token; of one that kaasd has made, an address with a certificate of its CA. Borrowed; NULL:
 * not given. */
struct kube_wish {
    const char *cluster_id; /* of the record that is connected, or connected anew in place; NULL: a new record is made */
    const char *name;       /* of the new record; NULL: that of the context's cluster */
    const char *kubeconfig, *context;
    const char *address, *ca_pem, *token;
    const struct kube_admin *admin; /* with cluster_id and address */
    const char *thumbprint_sha256;  /* of the server's certificate, confirmed by whoever connects, where no CA is given */
    int64_t version_no;             /* of the connection that is replaced, as its ETag told; 0: whatever it is now */
    bool is_dry_run;                /* stops before anything is made */
};

/* What came of connecting. All zero at first; kube_connected_done gives it back. */
struct kube_connected {
    struct findings steps;
    char cluster_id[37]; /* of the record; "": none was written */
    /* What whoever connects has to add, where a step failed for want of it. */
    struct x509_info certificate;      /* of the server, to be confirmed, since no CA is given; subject NULL: nothing is */
    char *contexts[KUBE_CONTEXTS_MAX]; /* one of these, by name; the first KUBE_CONTEXTS_MAX that there are */
    size_t contexts_count;
};
void kube_connected_done(struct kube_connected *connected);

/* Connects. Every step is appended to out->steps in a fixed order with a finding each: text, address, name, tls, signed_in, version, identity, rights, account, list,
 * machines; steps behind a failed one are skipped. If a step fails nothing is left in the cluster, and no row:
 * its error is returned. ERR_UNPROCESSABLE (what was given), ERR_TLS (not trusted; where a certificate is to be confirmed *out has it), ERR_CONFLICT (another record has this cluster, or
 * this record another cluster: both are named), ERR_EXISTS (name), ERR_UNAUTHENTICATED, ERR_UPSTREAM_DENIED, ERR_UNREACHABLE, ERR_TIMEOUT, ERR_NOT_FOUND, ERR_PRECONDITION. */
int kubernetes_connect(struct kubernetes *k, const struct actor *actor, const struct kube_wish *wish, struct kube_connected *out,
                       struct err *err);

/* Goes through the same steps with the stored token, changing nothing; a step that fails is a finding, not an error. ERR_NOT_FOUND. */
int kubernetes_test(struct kubernetes *k, const char *cluster_id, struct findings *steps, struct err *err);

enum kube_leave {
    KUBE_LEAVE_SHOW,   /* only says what would be removed */
    KUBE_LEAVE_REMOVE, /* removes what we made there, then the connection; if that cannot be, the connection stays */
    KUBE_LEAVE_FORGET, /* removes the connection also if the cluster is gone; what could not be removed there is told */
};
/* Disconnects; `steps` gets a finding for each object in the cluster, and one for the connection. ERR_NOT_FOUND, ERR_PRECONDITION; with KUBE_LEAVE_REMOVE those of calls. */
int kubernetes_disconnect(struct kubernetes *k, const struct actor *actor, const char *cluster_id, int64_t version_no,
                          enum kube_leave how, struct findings *steps, struct err *err);

/* The job that disconnects the cluster it is about as soon as that answers. `arg` is `k`. */
#define KUBERNETES_LEAVE_JOB "cluster.disconnect"
struct job_kind kubernetes_leave_job_kind(struct kubernetes *k);

/* -- reading (database) --------------------------------------------------------------------------------------------------- */

/* *out is given back by kube_connection_list_done, kube_status_list_done. */
int kubernetes_list(struct kubernetes *k, struct kube_connection_list *out, struct err *err);
int kubernetes_list_statuses(struct kubernetes *k, struct kube_status_list *out, struct err *err);
/* *out is freed by kube_connection_free, kube_status_free. ERR_NOT_FOUND. */
int kubernetes_load(struct kubernetes *k, const char *cluster_id, struct kube_connection **out, struct err *err);
int kubernetes_load_status(struct kubernetes *k, const char *cluster_id, struct kube_status **out, struct err *err);

/* -- from memory ------------------------------------------------------------------------------------------------------------ */

/* Appends a finding for each connection that is not well, at most one line each. */
void kubernetes_check_health(struct kubernetes *k, struct findings *out);
/* Appends the metrics of connections (docs/admin/monitoring.md). */
void kubernetes_write_metrics(struct kubernetes *k, struct metric_page *page);
