/* A cluster's state and placement, derived from what was said, what Kubernetes shows when asked, and what vCenters show. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * State: the worst of three sources: said (the last report, or what an administrator declared after it), asked (Kubernetes, of a cluster that is connected:
 * kube_health.h) and seen (what the vCenters show of the nodes).
 *   - A virtual machine that is gone, off, suspended, not connected, or on a host that does not respond: `degraded`.
 *   - So many machines of the control plane like that that no majority of it is left: `unreachable`. Its size is the number of nodes wanted, or
 *     of nodes recorded, whichever is more; nodes that no vCenter shows are taken for running. One of two, two of three, two of four are
 *     too many.
 *   - No report for the time limit: `unknown`, unless what is seen says worse. What a person typed does not age: it is shown as typed, with
 *     who and when.
 *   - A connected cluster needs no report: of it a report that is too old says nothing, and neither does `ready` or `unknown`, whoever said it. So it is
 *     `ready` only when Kubernetes says so itself.
 *   - `creating`, `updating`, `deleting` and `failed` stay what they are, but their reason mentions what is seen. A cluster that is
 *     `updating` without that majority, or without an answer of Kubernetes, is `unreachable`.
 *   - A state that is as bad as what is seen stays, with a reason that mentions it.
 * Counts of ready nodes: the number that Kubernetes shows, of a connected cluster, else the number that was reported; or the number of machines not seen down if
 * that is less. Without either unknown. Of wanted nodes: as declared, or as many as Kubernetes has, whichever is more.
 * Placement: the vSphere clusters of the hosts that the nodes run on, when at least one is known; else what was declared. For placement
 * observations count however old they are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cluster.h"
#include "err.h"

struct kube_summary;

struct rollup_input {
    const struct cluster *cluster; /* as stored: state and placement as reported or declared */
    int64_t now_ms;                /* wall clock */
    int64_t report_stale_after_ms; /* 0: reports do not age */
    /* Does what this vCenter shows count as evidence now? NULL: it always does. */
    bool (*counts)(const void *arg, const char *vcenter_id);
    const void *arg;
    const struct kube_summary *asked; /* what Kubernetes shows; NULL: the cluster is not connected */
};

/* State and placement as they are shown. Texts malloc'ed. */
struct rollup {
    enum cluster_state state;
    char *reason;         /* for those who see all parts of the cluster; NULL: none */
    char *reason_partial; /* the same without names of virtual machines and hosts; NULL: none */
    char *source;         /* a word of cluster_state_sources */
    int64_t since_ms;     /* wall clock: since when the state is declared, reported, asked or observed; 0: not known */
    char *by;             /* who declared or reported it; NULL: not known, asked or observed */
    int control_plane_ready, workers_ready;     /* -1: unknown */
    int control_plane_desired, workers_desired; /* -1: unknown */
    size_t down;                                /* number of its virtual machines that are seen not to work */
    struct object_set placement;
    char *placement_source; /* "declared" or "observed" */
    int64_t observed_at_ms; /* newest observation or change; 0: none */
    bool is_report_stale;   /* there was no report for the time limit, whether that matters or not */
};
void rollup_done(struct rollup *r); /* NULL is allowed */

/* Fills *out (uninitialised), given back by rollup_done. ERR_NOMEM. */
int rollup_make(const struct rollup_input *input, struct rollup *out, struct err *err);

/* True if this shows the node's own virtual machine, so that it may count. False for NULL. */
bool rollup_is_own(const struct node_observation *seen);
/* True if a control plane of `known` nodes, of which so many are down, can work. */
bool rollup_has_majority(size_t known, size_t down);
/* True if the node's virtual machine is seen not to work. False without an observation, and for a machine that is another's. */
bool rollup_is_down(const struct node_observation *seen);
