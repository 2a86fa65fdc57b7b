/* What the jobs of this folder share. Layer 5 (provision); private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "bootstrap_token.h"
#include "cluster.h"
#include "cluster_spec.h"
#include "machine_steps.h"
#include "made_cluster.h"
#include "node_plan.h"
#include "provider.h"
#include "provision.h"

struct cluster_pki;
struct k8s_client;

#define MAKING_SPEC_BYTES_MAX 8192U

struct provision {
    struct machine_work work; /* first: the steps of machine_steps.h take the kind's arg for one */
    struct provision_options options;
};

/* -- making.c: one cluster as a step works on it -------------------------------------------------------------------------------- */

/* All zero at first. */
struct making {
    struct made_cluster *made;
    struct cluster_spec spec;
    struct provider *provider;
    struct made_name_list others; /* before it is stored: who was there when addresses for its Services were chosen */
};
void making_done(struct making *m);
#define _cleanup_making_ _cleanup_done_(making_done)
/* Reads what was asked for and where. ERR_NOT_FOUND: the cluster is not there (any more); ERR_CONFIG: what is stored is not readable. */
int making_load(const struct provision *provision, const char *cluster_id, struct making *out, struct err *err);
/* The same by the parameters of its job, before it is stored. */
int making_of_params(const struct provision *provision, const char *cluster_id, const json_t *params, struct making *out,
                     struct err *err);
/* After a member of out->spec was chosen: what is stored says it, too. ERR_NOMEM. */
int making_write_spec(struct making *m, struct err *err);
/* Where its API answers: "https://10.9.0.10:6443", freed by the caller. ERR_NOT_FOUND: that was not chosen, or the cluster is not there. */
int making_load_endpoint(const struct provision *provision, const char *cluster_id, char **url, struct err *err);
/* Signs in as its administrator; freed by k8s_client_free. Errors of these two and of cluster_admin_issue. */
int making_open_client(struct provision *provision, const char *cluster_id, struct k8s_client **out, struct err *err);
/* A control plane that never was one, or is none any more, does not count among the members of etcd: asks each other control plane to remove it, until one has. Without
 * another one there is nothing to do. ERR_UNREACHABLE and the like: none has. */
int making_remove_member(const struct provision *provision, const struct machine *machine, struct err *err);

/* Whether the bundles of its network, and of addresses for its Services, are there and whole. ERR_UNPROCESSABLE naming the bundle; ERR_NOMEM. */
int making_check_network(const struct provision *provision, const struct cluster_spec *spec, struct err *err);
/* Addresses for its Services: those that it names are the provider's, and no other cluster's in the same network; where it names none, the first that are free. *others
 * (uninitialised) is who was there then, given back by made_name_list_done, also on an error. ERR_UNPROCESSABLE naming what is wrong; errors of the store. */
int making_choose_services(const struct provision *provision, struct cluster_spec *spec, const struct provider *provider,
                           struct made_name_list *others, struct err *err);
/* Applies the bundles of its network, and of addresses for its Services where it has some. Errors of bundles.h. */
int making_apply_network(const struct job_call *call, const struct making *m, struct k8s_client *client, struct err *err);

/* Changes members of the record in the job's name. One that is gone is no error. */
typedef int making_change_fn(void *arg, struct cluster *record, unsigned *parts, struct err *err);
int making_change(const struct job_call *call, making_change_fn *fn, void *arg, struct err *err);
/* Ends of a cluster: each is done where there is nothing (any more). */
int making_forget_connection(const struct job_call *call, struct err *err);
int making_remove_keys(const struct job_call *call, struct err *err);
int making_remove_record(const struct job_call *call, struct err *err);

/* For job_kind.submit: the pool for machines of the vCenter where this cluster is. */
int making_submit(struct provision *provision, const char *cluster_id, worker_fn *fn, void *arg, struct err *err);

/* -- making_plan.c: what a machine is to become --------------------------------------------------------------------------------- */

#define MAKING_HOST_BYTES 254 /* RFC 1123 */

/* Input: the members up to `token`; all else zero. */
struct making_plan {
    const struct machine *machine; /* borrowed, as the next one */
    const char *mac;
    bool is_first; /* it makes the cluster */
    char token[BOOTSTRAP_TOKEN_BYTES];

    struct node_plan plan; /* borrows from all below, and from the cluster */
    char *endpoint;        /* where its API answers, as a URL */
    char api_host[MAKING_HOST_BYTES], gateway[ADDRESS_TEXT_BYTES];
    char pods[SPEC_NETWORK_BYTES], services[SPEC_NETWORK_BYTES], own_pods[SPEC_NETWORK_BYTES];
    struct machine_list machines;
    char route_to[NODE_ROUTES_MAX][SPEC_NETWORK_BYTES];
    struct node_route routes[NODE_ROUTES_MAX];
    const char *asked[1]; /* for names, where the provider has nobody for that */
};
void making_plan_done(struct making_plan *plan); /* wipes the token */
/* Fills in plan->plan, which is good while `m`, `pki` and `plan` are. ERR_BUSY: not all machines have been drawn yet, and each is told the addresses of the others;
 * ERR_UNPROCESSABLE: too many for the network; ERR_NOMEM, errors of the store. */
int making_plan_fill(const struct provision *provision, const struct making *m, const struct cluster_pki *pki,
                     struct making_plan *plan, struct err *err);
