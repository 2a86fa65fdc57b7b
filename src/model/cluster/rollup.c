/* A cluster's state and placement out of what each source tells of it. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "rollup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "kube_connection.h"
#include "limits.h"
#include "str.h"
#include "strbuf.h"

#define NAMED_MAX 3           /* virtual machines that a reason names; the rest is counted */
#define KEPT_REASON_CHARS 600 /* of a reported reason that something is added to */
#define REASON_BYTES_MAX 16384

void rollup_done(struct rollup *r) {
    if (!r)
        return;
    free(r->reason);
    free(r->reason_partial);
    free(r->source);
    free(r->by);
    free(r->placement_source);
    object_set_done(&r->placement);
    *r = (struct rollup){0};
}

/* -- what is seen of one node ------------------------------------------------------------------------------------------- */

bool rollup_is_own(const struct node_observation *seen) {
    return seen && (seen->match == VM_MATCH_INSTANCE_UUID || seen->match == VM_MATCH_BIOS_UUID || seen->match == VM_MATCH_NAME);
}

/* A node that was bound to a virtual machine once has lost it when the vCenter shows none, or another in its place. */
static bool rollup_is_lost(const struct node_observation *seen) {
    return seen && seen->bound_uuid && (seen->match == VM_MATCH_NONE || seen->match == VM_MATCH_MISMATCH);
}

static bool is_host_away(const struct node_observation *seen) {
    return seen->host_connection == HOST_CONNECTION_NOT_RESPONDING || seen->host_connection == HOST_CONNECTION_DISCONNECTED;
}

bool rollup_is_down(const struct node_observation *seen) {
    if (rollup_is_lost(seen))
        return true;
    if (!rollup_is_own(seen))
        return false;
    return seen->power == VM_POWER_OFF || seen->power == VM_POWER_SUSPENDED || is_host_away(seen) ||
           (seen->connection != VM_CONNECTION_CONNECTED && seen->connection != VM_CONNECTION_UNKNOWN);
}

static const char *host_name(const struct node_observation *seen) {
    return seen->host_name ? seen->host_name : seen->host_moref ? seen->host_moref : "its host";
}

/* "VM prod-1-cp-0 is powered off" */
static void tell_node(const struct node *n, struct strbuf *out) {
    const struct node_observation *seen = n->seen;
    const char *vm = rollup_is_own(seen) && seen->vm_name ? seen->vm_name : n->vm_name ? n->vm_name : n->name;
    if (rollup_is_lost(seen))
        strbuf_addf(out, seen->match == VM_MATCH_NONE ? "VM %s is gone" : "VM %s is gone; another has its name", vm);
    else if (is_host_away(seen))
        strbuf_addf(out, "host %s of VM %s %s", host_name(seen), vm,
                    seen->host_connection == HOST_CONNECTION_DISCONNECTED ? "is disconnected" : "does not respond");
    else if (seen->connection != VM_CONNECTION_CONNECTED && seen->connection != VM_CONNECTION_UNKNOWN)
        strbuf_addf(out, "VM %s is %s", vm, vm_connection_name(seen->connection));
    else
        strbuf_addf(out, "VM %s is %s", vm, seen->power == VM_POWER_SUSPENDED ? "suspended" : "powered off");
}

/* -- evidence --------------------------------------------------------------------------------------------------------------- */

#define ROLES (NODE_WORKER + 1)

/* What one source tells of a cluster. */
struct evidence {
    enum cluster_state state;      /* CLUSTER_READY: nothing bad */
    const char *source;            /* a word of cluster_state_sources; borrowed */
    const char *by;                /* who said so; NULL: it was asked or seen, or that is not known; borrowed */
    int64_t since_ms;              /* wall clock */
    struct strbuf reason, partial; /* for those who see all parts of the cluster, and for others; empty: none */
    int ready[ROLES];              /* so many nodes can be ready at most; -1: it does not tell */
    size_t down;                   /* virtual machines that do not work */
    bool is_stale;                 /* it is told no more */
    bool is_hearsay;               /* what was said, of a cluster that can be asked: it says nothing bad, or is told no more */
};

static void evidence_init(struct evidence *e) {
    *e = (struct evidence){.state = CLUSTER_READY, .source = "observed", .ready = {-1, -1}};
    strbuf_init(&e->reason, REASON_BYTES_MAX);
    strbuf_init(&e->partial, REASON_BYTES_MAX);
}

static void evidence_done(struct evidence *e) {
    strbuf_done(&e->reason);
    strbuf_done(&e->partial);
}

/* -- what vCenters show of its nodes ------------------------------------------------------------------------------------------ */

/* The nodes of one role, as far as anybody has told of them. */
struct part {
    size_t known; /* as many as were declared to be wanted, or as there are records of, whichever is more */
    size_t down;  /* of those that a vCenter shows */
};

static bool is_seen_down(const struct rollup_input *in, const struct node *n) {
    const struct node_observation *seen = n->seen;
    return seen && seen->vcenter_id && (!in->counts || in->counts(in->arg, seen->vcenter_id)) && rollup_is_down(seen);
}

static bool rollup_is_connected(const struct rollup_input *in) {
    return in->asked != NULL;
}

/* As declared, or as Kubernetes has them, whichever is more. */
static int rollup_wanted(const struct rollup_input *in, enum node_role role) {
    const struct cluster *c = in->cluster;
    const int declared = role == NODE_CONTROL_PLANE ? c->control_plane_desired : c->workers_desired;
    const int asked = !rollup_is_connected(in)     ? -1
                      : role == NODE_CONTROL_PLANE ? in->asked->control_plane_desired
                                                   : in->asked->workers_desired;
    return asked > declared ? asked : declared;
}

static void rollup_count(const struct rollup_input *in, struct evidence *e, struct part parts[ROLES]) {
    const struct cluster *c = in->cluster;
    const int wanted[ROLES] = {
        [NODE_CONTROL_PLANE] = rollup_wanted(in, NODE_CONTROL_PLANE), [NODE_WORKER] = rollup_wanted(in, NODE_WORKER)};
    for (size_t i = 0; i < c->nodes_count; i++) {
        const bool is_down = is_seen_down(in, &c->nodes[i]);
        parts[c->nodes[i].role].known++;
        parts[c->nodes[i].role].down += is_down;
        e->down += is_down;
        if (is_down && c->nodes[i].seen->observed_at_ms > e->since_ms)
            e->since_ms = c->nodes[i].seen->observed_at_ms;
    }
    for (int role = 0; role < ROLES; role++) {
        if (wanted[role] > 0 && (size_t)wanted[role] > parts[role].known)
            parts[role].known = (size_t)wanted[role];
        if (parts[role].down)
            e->ready[role] = (int)(parts[role].known - parts[role].down);
    }
}

/* etcd works while more than half of its members do, and each node of the control plane has one (kubernetes.io, "Options for Highly
 * Available Topology", stacked; etcd.io, "Frequently Asked Questions": a cluster of four tolerates one failure, as one of three does). */
bool rollup_has_majority(size_t known, size_t down) {
    return !down || (known - down) * 2 > known;
}

/* Control plane first: it is what matters, and few are named. */
static void tell_names(const struct rollup_input *in, struct strbuf *out) {
    const struct cluster *c = in->cluster;
    size_t told = 0;
    for (int role = NODE_CONTROL_PLANE; role <= NODE_WORKER; role++)
        for (size_t i = 0; i < c->nodes_count && told < NAMED_MAX; i++)
            if ((int)c->nodes[i].role == role && is_seen_down(in, &c->nodes[i])) {
                strbuf_adds(out, told++ ? "; " : "");
                tell_node(&c->nodes[i], out);
            }
}

static void look_at_machines(const struct rollup_input *in, struct evidence *e) {
    struct part parts[ROLES] = {{0}};
    const struct part *control_plane = &parts[NODE_CONTROL_PLANE];
    rollup_count(in, e, parts);
    e->state = !e->down                                                         ? CLUSTER_READY
               : rollup_has_majority(control_plane->known, control_plane->down) ? CLUSTER_DEGRADED
                                                                                : CLUSTER_UNREACHABLE;
    if (!e->down)
        return;
    if (e->state == CLUSTER_UNREACHABLE) {
        strbuf_addf(&e->reason, "%zu of %zu of its control plane %s not running: no majority, the API cannot work; ",
                    control_plane->down, control_plane->known, control_plane->down == 1 ? "is" : "are");
        strbuf_adds(&e->partial, e->reason.data);
    }
    tell_names(in, &e->reason);
    if (e->down > NAMED_MAX)
        strbuf_addf(&e->reason, "; and %zu more", e->down - NAMED_MAX);
    strbuf_addf(&e->partial, "%zu of its virtual machines %s not running", e->down, e->down == 1 ? "is" : "are");
}

/* -- what was said ---------------------------------------------------------------------------------------------------------- */

static void say_stale(const struct rollup_input *in, struct evidence *e) {
    const struct cluster *c = in->cluster;
    const time_t at = (time_t)(c->reported_at_ms / 1000);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&at, &utc))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    strbuf_addf(&e->reason, "no report since %s, when it was %s", text, cluster_state_name(c->reported_state));
    e->state = CLUSTER_UNKNOWN;
    e->since_ms = c->reported_at_ms + in->report_stale_after_ms;
    e->is_stale = true;
}

static bool is_report_old(const struct rollup_input *in) {
    const struct cluster *c = in->cluster;
    return cluster_is_reported(c) && in->report_stale_after_ms > 0 && in->now_ms - c->reported_at_ms > in->report_stale_after_ms;
}

static void look_at_report(const struct rollup_input *in, struct evidence *e) {
    const struct cluster *c = in->cluster;
    const enum cluster_state said = cluster_is_reported(c) ? c->reported_state : c->state;
    if (rollup_is_connected(in) && (said == CLUSTER_READY || said == CLUSTER_UNKNOWN || is_report_old(in))) {
        e->is_hearsay = true;
        return;
    }
    e->ready[NODE_CONTROL_PLANE] = c->control_plane_ready;
    e->ready[NODE_WORKER] = c->workers_ready;
    if (is_report_old(in)) {
        say_stale(in, e);
        return;
    }
    e->state = said;
    e->source = c->state_source ? c->state_source : "declared";
    e->since_ms = c->state_since_ms;
    e->by = c->state_by;
    strbuf_adds(&e->reason, c->state_reason ? c->state_reason : ""); /* holds the report's reason, too */
}

/* -- what Kubernetes itself shows --------------------------------------------------------------------------------------------- */

static void look_at_kubernetes(const struct rollup_input *in, struct evidence *e) {
    const struct kube_summary *k = in->asked;
    if (!rollup_is_connected(in))
        return;
    e->state = k->state;
    e->source = "asked";
    e->since_ms = k->since_ms;
    e->ready[NODE_CONTROL_PLANE] = k->control_plane_ready;
    e->ready[NODE_WORKER] = k->workers_ready;
    strbuf_adds(&e->reason, k->reason ? k->reason : "");
    strbuf_adds(&e->partial, e->reason.data); /* it names nodes, but neither virtual machines nor hosts */
}

/* What was said comes first, and what is asked second; what the others tell counts where it is worse. */
enum { SAID, ASKED };
static void (*const sources[])(const struct rollup_input *in, struct evidence *e) = {look_at_report, look_at_kubernetes,
                                                                                     look_at_machines};
#define SOURCES ARRAY_COUNT(sources)

/* -- all together -------------------------------------------------------------------------------------------------------- */

/* States that tell of work under way or its end: virtual machines may well be off then. */
static bool rollup_is_kept(enum cluster_state said, enum cluster_state seen) {
    if (said == CLUSTER_UPDATING)
        return seen != CLUSTER_UNREACHABLE;
    return said == CLUSTER_CREATING || said == CLUSTER_DELETING || said == CLUSTER_FAILED;
}

static int rollup_badness(enum cluster_state state) {
    return state == CLUSTER_UNREACHABLE ? 2 : state == CLUSTER_DEGRADED ? 1 : 0;
}

/* Cut between characters: continuation bytes of UTF-8 are 10xxxxxx (RFC 3629). */
static void rollup_add_cut(struct strbuf *out, const char *text, size_t chars_max) {
    size_t n = 0, chars = 0;
    for (; text[n]; n++) {
        if ((text[n] & 0xC0) != 0x80 && chars++ == chars_max)
            break;
    }
    strbuf_add(out, text, n);
    if (text[n])
        strbuf_adds(out, "...");
}

static char *rollup_join(const char *first, const char *second, struct err *err) {
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init(&out, REASON_BYTES_MAX);
    if (first)
        rollup_add_cut(&out, first, second ? KEPT_REASON_CHARS : KAAS_DESCRIPTION_CHARS_MAX);
    if (first && second)
        strbuf_adds(&out, "; ");
    if (second)
        rollup_add_cut(&out, second, first ? KAAS_DESCRIPTION_CHARS_MAX - KEPT_REASON_CHARS - 8 : KAAS_DESCRIPTION_CHARS_MAX - 3);
    return strbuf_check(&out, "reason", err) ? NULL : strbuf_steal(&out);
}

/* What all but the first tell, one behind the other; NULL: nothing. */
static char *rollup_others(const struct evidence all[SOURCES], bool is_partial, struct err *err) {
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init(&out, SOURCES * REASON_BYTES_MAX);
    for (size_t i = 1; i < SOURCES; i++) {
        const struct strbuf *text = is_partial ? &all[i].partial : &all[i].reason;
        if (text->len)
            strbuf_addf(&out, "%s%s", out.len ? "; " : "", text->data);
    }
    return out.len && !strbuf_check(&out, "reason", err) ? strbuf_steal(&out) : NULL;
}

/* What was said explains nothing once something else overrides it; that nobody reports any more still does. */
static int rollup_explain(const struct evidence all[SOURCES], const struct evidence *worst, struct rollup *out, struct err *err) {
    const struct evidence *said = &all[SAID];
    const char *first = said->reason.len && (worst == said || said->is_stale) ? said->reason.data : NULL;
    _cleanup_free_ char *others = rollup_others(all, false, err), *partial = rollup_others(all, true, err);
    if (!first && !others)
        return 0;
    out->reason = rollup_join(first, others, err);
    out->reason_partial = rollup_join(first, partial, err);
    return out->reason && out->reason_partial ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* The least that the sources allow of what was told; what is not known stays so. Kubernetes, where it is asked, knows better than what was said. */
static int rollup_ready(const struct rollup_input *in, const struct evidence all[SOURCES], enum node_role role) {
    const size_t first = rollup_is_connected(in) ? ASKED : SAID;
    int ready = all[first].ready[role];
    for (size_t i = first + 1; i < SOURCES; i++)
        if (all[i].ready[role] >= 0 && ready > all[i].ready[role])
            ready = all[i].ready[role];
    return ready;
}

static int rollup_combine(const struct rollup_input *in, const struct evidence all[SOURCES], struct rollup *out,
                          struct err *err) {
    const struct evidence *worst = &all[all[SAID].is_hearsay ? ASKED : SAID];
    for (size_t i = 1; i < SOURCES; i++) {
        if (rollup_badness(all[i].state) > rollup_badness(worst->state) && !rollup_is_kept(all[SAID].state, all[i].state))
            worst = &all[i];
        out->down += all[i].down;
    }
    out->state = worst->state;
    out->source = str_dup(worst->source);
    out->since_ms = worst->since_ms;
    out->by = str_dup(worst->by);
    out->is_report_stale = is_report_old(in);
    out->control_plane_desired = rollup_wanted(in, NODE_CONTROL_PLANE);
    out->workers_desired = rollup_wanted(in, NODE_WORKER);
    out->control_plane_ready = rollup_ready(in, all, NODE_CONTROL_PLANE);
    out->workers_ready = rollup_ready(in, all, NODE_WORKER);
    if (!out->source || (worst->by && !out->by))
        return err_set(err, ERR_NOMEM, "out of memory");
    return rollup_explain(all, worst, out, err);
}

static int rollup_place(const struct rollup_input *in, struct rollup *out, struct err *err) {
    const struct cluster *c = in->cluster;
    struct object_ref ref;
    bool is_seen = false;
    int rc = 0;
    for (size_t i = 0; i < c->nodes_count && !rc; i++) {
        const struct node_observation *seen = c->nodes[i].seen;
        if (!rollup_is_own(seen) || !seen->host_moref)
            continue;
        is_seen = true;
        if (seen->cluster_moref && !object_ref_make(seen->vcenter_id, seen->cluster_moref, &ref, NULL))
            rc = object_set_add(&out->placement, &ref, err);
    }
    if (!rc && !is_seen)
        rc = object_set_copy(&c->placement, &out->placement, err);
    if (rc)
        return rc;
    out->placement_source = str_dup(is_seen ? "observed" : "declared");
    return out->placement_source ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int64_t rollup_newest(const struct cluster *c) {
    int64_t at_ms = c->observed_at_ms;
    for (size_t i = 0; i < c->nodes_count; i++)
        if (c->nodes[i].seen && c->nodes[i].seen->observed_at_ms > at_ms)
            at_ms = c->nodes[i].seen->observed_at_ms;
    return at_ms;
}

int rollup_make(const struct rollup_input *input, struct rollup *out, struct err *err) {
    struct rollup made = {.observed_at_ms = rollup_newest(input->cluster)};
    struct evidence all[SOURCES];
    for (size_t i = 0; i < SOURCES; i++) {
        evidence_init(&all[i]);
        sources[i](input, &all[i]);
    }
    int rc = rollup_combine(input, all, &made, err);
    if (!rc)
        rc = rollup_place(input, &made, err);
    for (size_t i = 0; i < SOURCES; i++)
        evidence_done(&all[i]);
    if (rc)
        rollup_done(&made);
    else
        *out = made;
    return rc;
}
