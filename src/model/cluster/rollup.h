/* A cluster's state and placement out of what was said and what was seen. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * State: the last report (or what an administrator declared after it) combined with what the vCenters show of the nodes.
 *   - A virtual machine that is gone, off, suspended, not connected, or on a host that does not respond: `degraded`.
 *   - So many of the control plane that no majority of it is left: `unreachable`. It has as many nodes as are wanted, or as there are
 *     records of, whichever is more; those that no vCenter shows are taken for running. One of two, two of three, two of four are too
 *     many.
 *   - No report for the time limit: `unknown`, unless what is seen says worse. What a person typed does not age: it is shown as typed, with
 *     who and when.
 *   - `creating`, `updating`, `deleting` and `failed` stay what they are, but their reason mentions what is seen. A cluster that is
 *     `updating` without that majority is `unreachable`.
 *   - A state that is as bad as what is seen stays, with a reason that mentions it.
 * Counts of ready nodes: the least that the sources allow. What was told stands until more machines are seen down than it allows for;
 * what nobody told stays unknown.
 * Placement: the vSphere clusters of the hosts that the nodes run on, when at least one is known; else what was declared. It does not
 * matter for placement how old what is seen is: where a node was last seen is the best that is known. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cluster.h"
#include "err.h"

struct rollup_input {
    const struct cluster *cluster; /* as stored: state and placement as reported or declared */
    int64_t now_ms;                /* wall clock */
    int64_t report_stale_after_ms; /* 0: reports do not age */
    /* Does what this vCenter shows count as evidence now? NULL: it always does. */
    bool (*counts)(const void *arg, const char *vcenter_id);
    const void *arg;
};

/* What everyone sees. Texts malloc'ed. */
struct rollup {
    enum cluster_state state;
    char *reason;                           /* for those who see all parts of the cluster; NULL: none */
    char *reason_partial;                   /* the same without names of virtual machines and hosts; NULL: none */
    char *source;                           /* "declared", "reported" or "observed" */
    int64_t since_ms;                       /* when it came to be said or seen; 0: not known */
    char *by;                               /* who said it; NULL: not known, or seen */
    int control_plane_ready, workers_ready; /* -1: unknown */
    size_t down;                            /* of its virtual machines, so many are seen not to work */
    struct object_set placement;
    char *placement_source; /* "declared" or "observed" */
    int64_t observed_at_ms; /* newest observation or change; 0: none */
    bool is_report_stale;
};
void rollup_done(struct rollup *r); /* NULL is allowed */

/* Fills *out (uninitialised), given back by rollup_done. ERR_NOMEM. */
int rollup_make(const struct rollup_input *input, struct rollup *out, struct err *err);

/* Can this node not work, by what is seen? False without an observation, and for the machines of others. */
bool rollup_is_down(const struct node_observation *seen);
