/* Clusters that kaasd makes at a vCenter, and takes away again. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Both are jobs (docs/design/jobs.md): here are their kinds, and what is judged before one begins. Keys, machines and documents have headers of their own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "jobs.h"
#include "made_store.h"
#include "runtime.h"
#include "uuid.h"

struct cluster_spec;
struct clusters;
struct inventory;
struct kubernetes;
struct net_policy;
struct platform;
struct providers;
struct provision;

struct provision_options {
    const struct runtime *runtime;
    struct platform *platform;
    struct providers *providers;
    struct inventory *inventory;
    struct clusters *clusters;
    struct kubernetes *kubernetes;
    const struct net_policy *networks; /* where nodes may be: no other address is connected to; borrowed; NULL: anywhere */
    const char *bundles;               /* folder of bundles (bundles.h); borrowed */
};

int provision_new(const struct provision_options *options, struct provision **out, struct err *err); /* ERR_NOMEM */
void provision_free(struct provision *provision);                                                    /* NULL is allowed */

/* -- creating --------------------------------------------------------------------------------------------------------------- */

#define PROVISION_CREATE_JOB "cluster.create"
/* The kind of job that makes a cluster; borrows `provision`. */
struct job_kind provision_create_kind(struct provision *provision);

/* What came of it: the ids of the record that is to be, and of the job. */
struct provision_begun {
    char cluster_id[UUID_TEXT_BYTES], job_id[UUID_TEXT_BYTES];
};
/* Judges what is wanted against its provider, fills in the addresses of its Services, and begins the job that makes it. Nothing is asked of the vCenter here. Blocks for the database. ERR_UNPROCESSABLE: no such
 * provider, not enough addresses, networks that meet; ERR_EXISTS: a cluster of this name. */
int provision_create(struct provision *provision, struct jobs *jobs, struct cluster_spec *wanted, const struct actor *actor,
                     struct provision_begun *out, struct err *err);

/* -- deleting --------------------------------------------------------------------------------------------------------------- */

#define PROVISION_DELETE_JOB "cluster.delete"
/* The kind of job that takes one away; borrows `provision`. */
struct job_kind provision_delete_kind(struct provision *provision);

/* Says what a deletion takes away and what stays, in `out`: machines with their addresses; volumes by name, where the cluster can be asked. Blocks for the cluster.
 * ERR_NOT_FOUND: kaasd has not made this cluster. */
int provision_look(struct provision *provision, const char *cluster_id, struct findings *out, struct err *err);
/* Begins the job that takes a cluster away, whatever its creation left. ERR_NOT_FOUND as above; ERR_EXISTS: a job is at work on it, `job_id` says which. */
int provision_delete(struct provision *provision, struct jobs *jobs, const char *cluster_id, const struct actor *actor,
                     char job_id[UUID_TEXT_BYTES], struct err *err);

/* The clusters that were made, by name. *out (uninitialised) is given back by made_name_list_done. Blocks for the database. */
int provision_list_made(const struct provision *provision, struct made_name_list *out, struct err *err);

/* After a job has ended: a cluster that it did not finish is `failed`, and says why; one whose deletion was canceled is what Kubernetes says of it, where kaasd is connected
 * still. Blocks. Errors are logged. */
void provision_note_end(struct provision *provision, const struct job *job);
/* Before such a job goes on: the cluster is `creating` or `deleting` again. Blocks. Errors are logged. */
void provision_note_retry(struct provision *provision, const struct job *job);
/* Does the former for jobs whose end was not noted, since kaasd was killed. Call it once a minute or so. Blocks. Errors of the store. */
int provision_settle(struct provision *provision, struct err *err);
