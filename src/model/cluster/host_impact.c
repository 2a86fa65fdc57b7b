/* What a Kubernetes cluster loses when a host goes, and which of its control planes share one. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "host_impact.h"

#include "kube_facts.h"
#include "rollup.h"
#include "str.h"

#define NODES_NAMED_MAX 5 /* of one host */
#define HOSTS_NAMED_MAX 3

const char *host_verdict_name(enum host_verdict verdict) {
    static const char *const words[] = {"loses_quorum", "no_quorum", "keeps_quorum", "workers_only"};
    return words[verdict];
}

/* -- one host -------------------------------------------------------------------------------------------------------------- */

bool host_impact_is_on(const struct node *node, const struct object_ref *host) {
    const struct node_observation *seen = node->seen;
    return rollup_is_own(seen) && seen->host_moref && str_eq(seen->host_moref, host->moref) &&
           str_eq_nocase(seen->vcenter_id, host->vcenter_id);
}

static bool impact_is_down(const struct cluster *c, const struct node *n) {
    const bool is_told = n->kube && cluster_kube_knows_nodes(c->kube);
    return rollup_is_down(n->seen) || (is_told && n->kube->ready != KUBE_TRUE);
}

void host_impact_judge(const struct cluster *cluster, const struct object_ref *host, struct host_impact *out) {
    size_t known = 0, down = 0, lost = 0;
    *out = (struct host_impact){.verdict = HOST_HAS_NO_CONTROL};
    for (size_t i = 0; i < cluster->nodes_count; i++) {
        const struct node *n = &cluster->nodes[i];
        const bool is_on = host_impact_is_on(n, host), is_control = n->role == NODE_CONTROL_PLANE;
        out->workers_on += is_on && !is_control;
        if (!is_control)
            continue;
        const bool is_down = impact_is_down(cluster, n);
        known++;
        down += is_down;
        out->control_planes_on += is_on;
        lost += is_on && !is_down;
    }
    if (cluster->control_plane_desired > 0 && (size_t)cluster->control_plane_desired > known)
        known = (size_t)cluster->control_plane_desired;
    out->control_planes = known;
    out->running = known - down;
    out->left = known - down - lost;
    if (out->control_planes_on)
        out->verdict = !rollup_has_majority(known, down)         ? HOST_LACKS_QUORUM
                       : rollup_has_majority(known, down + lost) ? HOST_LEAVES_QUORUM
                                                                 : HOST_TAKES_QUORUM;
}

/* -- control planes that share a host ---------------------------------------------------------------------------------------- */

/* The host of a node of the control plane, with what shows it; NULL: not one, or not known. */
static const struct node_observation *impact_place(const struct node *n, struct object_ref *out) {
    const bool is_placed = n->role == NODE_CONTROL_PLANE && rollup_is_own(n->seen) && n->seen->host_moref;
    return is_placed && !object_ref_make(n->seen->vcenter_id, n->seen->host_moref, out, NULL) ? n->seen : NULL;
}

/* Is there one before this node on the same host? */
static bool impact_is_told(const struct cluster *c, size_t before, const struct object_ref *host) {
    for (size_t i = 0; i < before; i++)
        if (c->nodes[i].role == NODE_CONTROL_PLANE && host_impact_is_on(&c->nodes[i], host))
            return true;
    return false;
}

void host_impact_tell_nodes(const struct cluster *c, const struct object_ref *host, struct strbuf *out) {
    struct host_impact impact;
    size_t named = 0;
    host_impact_judge(c, host, &impact);
    for (size_t i = 0; i < c->nodes_count && named < NODES_NAMED_MAX; i++) {
        const struct node *n = &c->nodes[i];
        if (n->role != NODE_CONTROL_PLANE || !host_impact_is_on(n, host))
            continue;
        strbuf_addf(out, "%s%s", !named ? "" : named + 1 == impact.control_planes_on ? " and " : ", ", n->name);
        named++;
    }
    if (impact.control_planes_on > named)
        strbuf_addf(out, " and %zu more", impact.control_planes_on - named);
}

static int64_t impact_known_since_ms(const struct cluster *c, const struct object_ref *host) {
    int64_t since_ms = 0;
    for (size_t i = 0; i < c->nodes_count; i++) {
        const struct node *n = &c->nodes[i];
        if (n->role == NODE_CONTROL_PLANE && host_impact_is_on(n, host) && n->seen->observed_at_ms > since_ms)
            since_ms = n->seen->observed_at_ms;
    }
    return since_ms;
}

/* "cp-0, cp-1 and 3 more are on host esx-7, and without it there is no majority" */
static void impact_tell_host(const struct cluster *c, const struct object_ref *host, const char *name, struct strbuf *out,
                             int64_t *since_ms) {
    const int64_t known_ms = impact_known_since_ms(c, host);
    struct host_impact impact;
    host_impact_judge(c, host, &impact);
    *since_ms = known_ms > *since_ms ? known_ms : *since_ms;
    host_impact_tell_nodes(c, host, out);
    strbuf_addf(out, " are on host %s%s", name ? name : host->moref,
                impact.verdict == HOST_TAKES_QUORUM ? ", and without it there is no majority" : "");
}

bool host_impact_tell_shared(const struct cluster *cluster, struct strbuf *out, int64_t *since_ms) {
    size_t hosts = 0;
    *since_ms = 0;
    for (size_t i = 0; i < cluster->nodes_count && hosts < HOSTS_NAMED_MAX; i++) {
        struct host_impact impact;
        struct object_ref host;
        const struct node_observation *seen = impact_place(&cluster->nodes[i], &host);
        if (!seen || impact_is_told(cluster, i, &host))
            continue;
        host_impact_judge(cluster, &host, &impact);
        if (impact.control_planes_on < 2)
            continue;
        strbuf_adds(out, hosts++ ? "; " : "");
        impact_tell_host(cluster, &host, seen->host_name, out, since_ms);
    }
    return hosts > 0;
}
