/* Facts about a cluster made a verdict. Layer 1 (model); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_health.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "kube_version.h"
#include "str.h"
#include "strbuf.h"

#define DAY_S 86400
#define TERM_WARNED_S (30LL * DAY_S)
#define UTF8_BYTES_MAX 4
#define NAMED_MAX 3 /* things that a reason names; the rest is counted */

static const struct {
    const char *word;
    enum kube_severity severity;
    const char *remedy;
} kinds[KUBE_REASONS] = {
#define KUBE_REASON(symbol, word, severity, remedy) {word, KUBE_SEVERITY_##severity, remedy},
#include "kube_reasons.def"
#undef KUBE_REASON
};

const char *kube_severity_name(enum kube_severity severity) {
    static const char *const words[] = {"info", "unknown", "warning", "error"};
    return words[severity];
}

/* A verdict in the making. */
struct judging {
    const struct kube_facts *facts;
    const struct kube_verdict *before;
    struct kube_verdict *out;
};

/* -- reasons ---------------------------------------------------------------------------------------------------------------- */

static const struct kube_reason *find_reason(const struct kube_verdict *verdict, enum kube_reason_kind kind) {
    for (size_t i = 0; verdict && i < verdict->reasons_count; i++)
        if (verdict->reasons[i].kind == kind)
            return &verdict->reasons[i];
    return NULL;
}

static void __attribute__((format(printf, 2, 3))) reason_add(struct kube_reason *r, const char *fmt, ...) {
    const size_t len = strlen(r->text);
    va_list args;
    if (len > sizeof(r->text) - UTF8_BYTES_MAX - 1)
        return; /* it was cut, which may have left some bytes */
    va_start(args, fmt);
    (void)vsnprintf(r->text + len, sizeof(r->text) - len, fmt, args);
    va_end(args);
    str_trim_utf8(r->text);
}

/* Begins a reason without text. It is so since it was first told, else since the time that Kubernetes tells (0: none), else since now. */
static struct kube_reason *begin_reason(struct judging *j, enum kube_reason_kind kind, int64_t since_ms) {
    const struct kube_reason *last = find_reason(j->before, kind);
    struct kube_reason *r = &j->out->reasons[j->out->reasons_count++];
    const int64_t now_ms = j->facts->now_ms;
    *r = (struct kube_reason){
        .kind = kind, .severity = kinds[kind].severity, .word = kinds[kind].word, .remedy = kinds[kind].remedy};
    r->since_ms = last ? last->since_ms : since_ms > 0 && since_ms < now_ms ? since_ms : now_ms;
    return r;
}

/* Names one of several things, or counts it once enough are named. */
static void name_one(struct kube_reason *r, size_t *told, const char *name, const char *why) {
    if ((*told)++ < NAMED_MAX)
        reason_add(r, "%s%s%s%s%s", *told > 1 ? ", " : "", name, why ? " (" : "", why ? why : "", why ? ")" : "");
}

static void count_rest(struct kube_reason *r, size_t told) {
    if (told > NAMED_MAX)
        reason_add(r, " and %zu more", told - NAMED_MAX);
}

/* -- contact ---------------------------------------------------------------------------------------------------------------- */

static bool is_patience_over(const struct kube_facts *f) {
    return f->contact_tries >= KUBE_PATIENCE_TRIES && f->now_ms - f->contact_since_ms >= KUBE_PATIENCE_MS;
}

static bool is_refused(const struct kube_facts *f) {
    return f->contact == KUBE_CONTACT_REFUSED && is_patience_over(f);
}

/* True if nothing at all is told of the cluster any more, or yet. */
static bool is_lost(const struct kube_facts *f) {
    return f->contact == KUBE_CONTACT_NEVER || f->contact == KUBE_CONTACT_OTHER ||
           (f->contact == KUBE_CONTACT_SILENT && is_patience_over(f));
}

/* Readiness is told to everybody, so also to those whose credential is refused. */
static bool has_no_quorum(const struct kube_facts *f) {
    return !is_lost(f) && f->readyz.etcd == KUBE_FALSE;
}

static void judge_contact(struct judging *j) {
    const struct kube_facts *f = j->facts;
    static const struct {
        enum kube_reason_kind kind;
        const char *text;
    } of[] = {
        [KUBE_CONTACT_NEVER] = {KUBE_REASON_NEVER_ASKED, "Kubernetes was not asked yet"},
        [KUBE_CONTACT_SILENT] = {KUBE_REASON_NO_ANSWER, "its API server does not answer"},
        [KUBE_CONTACT_REFUSED] = {KUBE_REASON_REFUSED, "its API server refuses kaasd"},
        [KUBE_CONTACT_OTHER] = {KUBE_REASON_OTHER_CLUSTER, "another cluster answers at its address"},
    };
    if (!is_lost(f) && !is_refused(f))
        return;
    struct kube_reason *r = begin_reason(j, of[f->contact].kind, f->contact_since_ms);
    reason_add(r, "%s", of[f->contact].text);
    if (f->contact_text)
        reason_add(r, ": %s", f->contact_text);
}

/* -- readiness ---------------------------------------------------------------------------------------------------------------- */

static void judge_readiness(struct judging *j) {
    const struct kube_readyz *z = &j->facts->readyz;
    size_t told = 0;
    if (is_lost(j->facts) || (z->is_there && !z->failed_count))
        return;
    if (!z->is_there) {
        reason_add(begin_reason(j, KUBE_REASON_NEVER_ASKED, 0), "its API server has not told its readiness yet");
        return;
    }
    if (z->etcd == KUBE_FALSE) {
        reason_add(begin_reason(j, KUBE_REASON_NO_QUORUM, 0),
                   "etcd does not answer its API server: without a majority of its members nothing can be read or written");
        return;
    }
    struct kube_reason *r = begin_reason(j, KUBE_REASON_READINESS, 0);
    reason_add(r, "its API server is not ready: ");
    for (size_t i = 0; i < z->failed_count; i++)
        name_one(r, &told, i < KUBE_READYZ_NAMED_MAX ? z->failed[i] : "", NULL);
    count_rest(r, told);
}

/* -- nodes ------------------------------------------------------------------------------------------------------------------- */

/* Heartbeats are told by clocks of the cluster, so they are held against the server's. */
static int64_t server_s(const struct kube_facts *f) {
    return f->now_ms / 1000 + (f->has_clock ? f->clock_skew_s : 0);
}

/* NetworkUnavailable does not age: no kubelet writes it, but the network plugin, once. */
static bool is_old(const struct kube_node *n, enum kube_node_condition which, int64_t now_s) {
    return which != KUBE_NODE_NETWORK_UNAVAILABLE && now_s - n->conditions[which].heartbeat_s > KUBE_HEARTBEAT_S;
}

static enum kube_truth condition_now(const struct kube_facts *f, const struct kube_node *n, enum kube_node_condition which) {
    const struct kube_condition *c = &n->conditions[which];
    return c->is_there && !is_old(n, which, server_s(f)) ? c->truth : KUBE_UNKNOWN;
}

int kube_health_age_node(struct kube_node *node, int64_t now_s, struct err *err) {
    for (enum kube_node_condition which = 0; which < KUBE_NODE_CONDITIONS; which++) {
        struct kube_condition *c = &node->conditions[which];
        if (!c->is_there || c->truth == KUBE_UNKNOWN || !is_old(node, which, now_s))
            continue;
        int rc = which == KUBE_NODE_READY ? str_replace(&node->reason, "NodeStatusUnknown", err) : 0;
        if (rc)
            return rc;
        c->truth = KUBE_UNKNOWN;
        c->transition_s = c->heartbeat_s ? c->heartbeat_s + KUBE_HEARTBEAT_S : 0;
    }
    return 0;
}

static bool is_node_ready(const struct kube_facts *f, const struct kube_node *n) {
    return condition_now(f, n, KUBE_NODE_READY) == KUBE_TRUE;
}

/* By our clock: since when a node is not Ready; 0: not told. */
static int64_t not_ready_since_ms(const struct kube_facts *f, const struct kube_node *n) {
    const struct kube_condition *c = &n->conditions[KUBE_NODE_READY];
    const int64_t at_s = c->truth == KUBE_TRUE && c->heartbeat_s ? c->heartbeat_s + KUBE_HEARTBEAT_S : c->transition_s;
    return at_s ? (at_s - (f->has_clock ? f->clock_skew_s : 0)) * 1000 : 0;
}

/* The nodes of one role. */
struct group {
    bool is_control_plane;
    const char *called;
    int count, ready, wanted; /* wanted: as declared, or as many as there are, whichever is more */
    int64_t since_ms;         /* since the first is not Ready; 0: not told */
};

static struct group count_group(const struct kube_facts *f, bool is_control_plane) {
    struct group g = {.is_control_plane = is_control_plane, .called = is_control_plane ? "control planes" : "workers"};
    const int declared = is_control_plane ? f->control_plane_desired : f->workers_desired;
    for (size_t i = 0; i < f->nodes_count; i++) {
        if (f->nodes[i].is_control_plane != is_control_plane)
            continue;
        g.count++;
        g.ready += is_node_ready(f, &f->nodes[i]);
        const int64_t since_ms = is_node_ready(f, &f->nodes[i]) ? 0 : not_ready_since_ms(f, &f->nodes[i]);
        if (since_ms && (!g.since_ms || since_ms < g.since_ms))
            g.since_ms = since_ms;
    }
    g.wanted = declared > g.count ? declared : g.count;
    return g;
}

static void tell_group(struct judging *j, enum kube_reason_kind kind, const struct group *g) {
    const struct kube_facts *f = j->facts;
    struct kube_reason *r = begin_reason(j, kind, g->since_ms);
    size_t told = 0;
    reason_add(r, "%d of %d %s %s Ready", g->ready, g->wanted, g->called, g->ready == 1 ? "is" : "are");
    if (kind == KUBE_REASON_NO_MAJORITY)
        reason_add(r, ": no majority, the API cannot work");
    if (g->ready < g->count)
        reason_add(r, "; not Ready: ");
    for (size_t i = 0; i < f->nodes_count; i++) {
        if (f->nodes[i].is_control_plane == g->is_control_plane && !is_node_ready(f, &f->nodes[i]))
            name_one(r, &told, f->nodes[i].name,
                     condition_now(f, &f->nodes[i], KUBE_NODE_READY) == KUBE_UNKNOWN ? "its kubelet is silent"
                                                                                     : f->nodes[i].reason);
    }
    count_rest(r, told);
    if (g->count < g->wanted)
        reason_add(r, "; %d %s not there", g->wanted - g->count, g->wanted - g->count == 1 ? "is" : "are");
}

/* Each node of the control plane has a member of etcd as a rule, of which more than half must work (rollup.c). Where the server says itself that etcd works, that is
 * better evidence than kubelets. A control plane without nodes is run by somebody else. */
static void judge_control_plane(struct judging *j, const struct group *g) {
    if (!g->count || g->ready == g->wanted)
        return;
    const bool is_lost_for_sure = j->facts->readyz.etcd != KUBE_TRUE && g->ready * 2 <= g->wanted;
    tell_group(j, is_lost_for_sure ? KUBE_REASON_NO_MAJORITY : KUBE_REASON_CONTROL_PLANE, g);
}

/* One reason for a condition that ought not to be true, whichever nodes have it. */
static void judge_condition(struct judging *j, enum kube_node_condition which, enum kube_reason_kind kind) {
    const struct kube_facts *f = j->facts;
    struct kube_reason *r = NULL;
    size_t told = 0;
    for (size_t i = 0; i < f->nodes_count; i++) {
        if (condition_now(f, &f->nodes[i], which) != KUBE_TRUE)
            continue;
        if (!r) {
            r = begin_reason(j, kind, 0);
            reason_add(r, "%s: ", kube_node_condition_words[which]);
        }
        name_one(r, &told, f->nodes[i].name, NULL);
    }
    if (r)
        count_rest(r, told);
}

static void judge_cordoned(struct judging *j) {
    struct kube_reason *r = NULL;
    size_t told = 0;
    for (size_t i = 0; i < j->facts->nodes_count; i++) {
        if (!j->facts->nodes[i].is_cordoned)
            continue;
        if (!r) {
            r = begin_reason(j, KUBE_REASON_CORDONED, 0);
            reason_add(r, "cordoned: ");
        }
        name_one(r, &told, j->facts->nodes[i].name, NULL);
    }
    if (r)
        count_rest(r, told);
}

static void judge_skew(struct judging *j) {
    const struct kube_facts *f = j->facts;
    struct kube_version api, kubelet;
    struct kube_reason *r = NULL;
    size_t told = 0;
    if (!kube_version_parse(f->version, &api))
        return;
    for (size_t i = 0; i < f->nodes_count; i++) {
        if (!kube_version_parse(f->nodes[i].kubelet_version, &kubelet) || kube_version_skew(&kubelet, &api) == KUBE_SKEW_FITS)
            continue;
        if (!r) {
            r = begin_reason(j, KUBE_REASON_SKEW, 0);
            reason_add(r, "kubelets that do not fit the API server %s, newer or too old: ", f->version);
        }
        name_one(r, &told, f->nodes[i].name, f->nodes[i].kubelet_version);
    }
    if (r)
        count_rest(r, told);
}

static void judge_pods(struct judging *j) {
    const struct kube_facts *f = j->facts;
    struct kube_reason *r = NULL;
    size_t told = 0;
    for (size_t i = 0; i < f->pods_count; i++) {
        if (f->pods[i].is_ready)
            continue;
        if (!r) {
            r = begin_reason(j, KUBE_REASON_PODS, 0);
            reason_add(r, "not ready in the control plane: ");
        }
        name_one(r, &told, f->pods[i].component ? f->pods[i].component : f->pods[i].name, f->pods[i].node);
    }
    if (r)
        count_rest(r, told);
}

static void judge_nodes(struct judging *j) {
    const struct kube_facts *f = j->facts;
    struct kube_verdict *out = j->out;
    if (is_lost(f) || is_refused(f) || has_no_quorum(f))
        return;
    judge_pods(j);
    if (!f->has_nodes) {
        reason_add(begin_reason(j, KUBE_REASON_NODES_UNKNOWN, 0), "its nodes have not been listed");
        return;
    }
    const struct group control_plane = count_group(f, true), workers = count_group(f, false);
    if (control_plane.count) {
        out->control_plane_ready = control_plane.ready;
        out->control_plane_desired = control_plane.wanted;
    }
    out->workers_ready = workers.ready;
    out->workers_desired = workers.wanted;
    judge_control_plane(j, &control_plane);
    if (workers.ready < workers.wanted)
        tell_group(j, KUBE_REASON_WORKERS, &workers);
    judge_condition(j, KUBE_NODE_MEMORY_PRESSURE, KUBE_REASON_MEMORY_PRESSURE);
    judge_condition(j, KUBE_NODE_DISK_PRESSURE, KUBE_REASON_DISK_PRESSURE);
    judge_condition(j, KUBE_NODE_PID_PRESSURE, KUBE_REASON_PID_PRESSURE);
    judge_condition(j, KUBE_NODE_NETWORK_UNAVAILABLE, KUBE_REASON_NETWORK);
    judge_skew(j);
    judge_cordoned(j);
}

/* -- what ends, clocks, rights, support --------------------------------------------------------------------------------------- */

/* In steps, so that the text does not change each day. What lives shortly by design is told of in the last third of its life only. */
static void judge_term(struct judging *j, enum kube_reason_kind kind, const struct kube_term *term, const char *what) {
    const int64_t left_s = term->end_s - j->facts->now_ms / 1000;
    char day[CLOCK_RFC3339_BYTES];
    if (!term->end_s || left_s > TERM_WARNED_S || (term->start_s && left_s > (term->end_s - term->start_s) / 3))
        return;
    clock_format(term->end_s * 1000, day);
    reason_add(begin_reason(j, kind, 0), "%s %s, at %s", what,
               left_s <= 0            ? "has ended"
               : left_s <= DAY_S      ? "ends within a day"
               : left_s <= 7L * DAY_S ? "ends within 7 days"
                                      : "ends within 30 days",
               day);
}

static void judge_clock(struct judging *j) {
    const int64_t skew_s = j->facts->clock_skew_s;
    if (j->facts->has_clock && (skew_s > KUBE_CLOCK_SKEW_S_MAX || skew_s < -KUBE_CLOCK_SKEW_S_MAX))
        reason_add(begin_reason(j, KUBE_REASON_CLOCK, 0), "the clock of its API server is more than a minute %s that of kaasd",
                   skew_s > 0 ? "ahead of" : "behind");
}

static void judge_rights(struct judging *j) {
    size_t told = 0;
    if (!j->facts->missing_count)
        return;
    struct kube_reason *r = begin_reason(j, KUBE_REASON_RIGHTS, 0);
    reason_add(r, "kaasd may not: ");
    for (size_t i = 0; i < j->facts->missing_count; i++)
        name_one(r, &told, j->facts->missing[i], NULL);
    count_rest(r, told);
}

static void judge_support(struct judging *j) {
    const struct kube_facts *f = j->facts;
    struct kube_supported s;
    kube_version_support(f->version, f->now_ms, &s);
    if (s.support == KUBE_SUPPORT_ENDED)
        reason_add(begin_reason(j, KUBE_REASON_OUT_OF_SUPPORT, 0), "Kubernetes %s is out of support%s%s", f->version,
                   s.end ? " since " : "", s.end ? s.end : "");
    if (s.upgrade[0])
        reason_add(begin_reason(j, KUBE_REASON_UPGRADE, 0), "upgrade available: v%s", s.upgrade);
}

/* -- all together ---------------------------------------------------------------------------------------------------------- */

static int compare_reasons(const void *a, const void *b) {
    return (int)((const struct kube_reason *)a)->kind - (int)((const struct kube_reason *)b)->kind;
}

static enum kube_severity worst_severity(const struct kube_verdict *v) {
    enum kube_severity worst = KUBE_SEVERITY_INFO;
    for (size_t i = 0; i < v->reasons_count; i++)
        if (v->reasons[i].severity > worst)
            worst = v->reasons[i].severity;
    return worst;
}

/* The state follows from the worst reasons, and is so since the first of these. */
static void conclude(struct judging *j) {
    static const enum cluster_state states[] = {[KUBE_SEVERITY_INFO] = CLUSTER_READY,
                                                [KUBE_SEVERITY_UNKNOWN] = CLUSTER_UNKNOWN,
                                                [KUBE_SEVERITY_WARNING] = CLUSTER_DEGRADED,
                                                [KUBE_SEVERITY_ERROR] = CLUSTER_UNREACHABLE};
    struct kube_verdict *out = j->out;
    const enum kube_severity worst = worst_severity(out);
    out->state = states[worst];
    out->since_ms = j->facts->now_ms;
    if (j->before && j->before->since_ms && j->before->state == out->state) {
        out->since_ms = j->before->since_ms;
        return;
    }
    for (size_t i = 0; worst > KUBE_SEVERITY_INFO && i < out->reasons_count; i++)
        if (out->reasons[i].severity == worst && out->reasons[i].since_ms < out->since_ms)
            out->since_ms = out->reasons[i].since_ms;
}

void kube_health_judge(const struct kube_facts *facts, const struct kube_verdict *before, struct kube_verdict *out) {
    struct judging j = {.facts = facts, .before = before, .out = out};
    *out = (struct kube_verdict){.control_plane_ready = -1,
                                 .workers_ready = -1,
                                 .control_plane_desired = facts->control_plane_desired,
                                 .workers_desired = facts->workers_desired};
    judge_contact(&j);
    judge_readiness(&j);
    judge_nodes(&j);
    judge_term(&j, KUBE_REASON_CERTIFICATE, &facts->certificate, "the certificate of its API server");
    judge_term(&j, KUBE_REASON_TOKEN, &facts->token, "kaasd's token for it");
    judge_clock(&j);
    judge_rights(&j);
    judge_support(&j);
    qsort(out->reasons, out->reasons_count, sizeof(out->reasons[0]), compare_reasons);
    conclude(&j);
}

/* The reasons of the worst severity; what has no room is counted. */
static void join_reasons(const struct kube_verdict *v, struct strbuf *out) {
    static const size_t bytes_max = KUBE_SUMMARY_CHARS_MAX - sizeof("; and 99 more");
    const enum kube_severity worst = worst_severity(v);
    size_t left = 0;
    for (size_t i = 0; worst > KUBE_SEVERITY_INFO && i < v->reasons_count; i++) {
        const struct kube_reason *r = &v->reasons[i];
        if (r->severity != worst)
            continue;
        if (left || out->len + strlen(r->text) + 2 > bytes_max)
            left++;
        else
            strbuf_addf(out, "%s%s", out->len ? "; " : "", r->text);
    }
    if (left)
        strbuf_addf(out, "; and %zu more", left);
}

int kube_health_sum_up(const struct kube_verdict *verdict, struct kube_summary *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, KUBE_SUMMARY_CHARS_MAX);
    join_reasons(verdict, &text);
    int rc = strbuf_check(&text, "reason", err);
    if (rc)
        return rc;
    *out = (struct kube_summary){.state = verdict->state,
                                 .since_ms = verdict->since_ms,
                                 .control_plane_ready = verdict->control_plane_ready,
                                 .workers_ready = verdict->workers_ready,
                                 .control_plane_desired = verdict->control_plane_desired,
                                 .workers_desired = verdict->workers_desired};
    out->reason = text.len ? strbuf_steal(&text) : NULL;
    return 0;
}
