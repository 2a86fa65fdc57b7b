/* Facts about a cluster made a verdict, as a table: a scene in which all is well, one thing that happens, and what is said of it.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "kube_facts.h"
#include "kube_health.h"
#include "str.h"

#define NOW 1796032800000 /* 2026-11-30T10:00:00Z */
#define NOW_S (NOW / 1000)
#define DAY_S 86400
#define NODES 5
#define PODS 4
#define VERSION "v1.37.2"

/* Literals as members; nothing here is freed or written. */
static char *literal(const char *s) {
    return (char *)(uintptr_t)s;
}

/* Three control planes and two workers that declare themselves well, asked a second ago. */
struct sight {
    struct kube_facts facts;
    struct kube_node nodes[NODES];
    struct kube_pod pods[PODS];
    const char *missing[5];
};

static void set_condition(struct kube_node *n, enum kube_node_condition which, enum kube_truth truth) {
    n->conditions[which].is_there = true;
    n->conditions[which].truth = truth;
    n->conditions[which].heartbeat_s = NOW_S - 30;
    n->conditions[which].transition_s = NOW_S - 600;
}

static void set_sight(struct sight *s) {
    static const char *const names[NODES] = {"cp-0", "cp-1", "cp-2", "w-0", "w-1"};
    memset(s, 0, sizeof(*s));
    for (int i = 0; i < NODES; i++) {
        s->nodes[i] = (struct kube_node){
            .name = literal(names[i]), .uid = literal("u"), .kubelet_version = literal(VERSION), .is_control_plane = i < 3};
        set_condition(&s->nodes[i], KUBE_NODE_READY, KUBE_TRUE);
        for (enum kube_node_condition c = KUBE_NODE_MEMORY_PRESSURE; c < KUBE_NODE_CONDITIONS; c++)
            set_condition(&s->nodes[i], c, KUBE_FALSE);
    }
    for (int i = 0; i < PODS; i++)
        s->pods[i] = (struct kube_pod){.name = literal("kube-scheduler-x"),
                                       .component = literal("kube-scheduler"),
                                       .node = literal("cp-1"),
                                       .is_ready = true};
    s->facts = (struct kube_facts){.now_ms = NOW,
                                   .contact = KUBE_CONTACT_ANSWERS,
                                   .contact_since_ms = NOW - 3600000,
                                   .contact_tries = 100,
                                   .readyz = {.is_there = true, .etcd = KUBE_TRUE},
                                   .version = VERSION,
                                   .has_nodes = true,
                                   .nodes = s->nodes,
                                   .nodes_count = NODES,
                                   .control_plane_desired = 3,
                                   .workers_desired = 2,
                                   .pods = s->pods,
                                   .pods_count = PODS,
                                   .certificate = {NOW_S - 100L * DAY_S, NOW_S + 265L * DAY_S},
                                   .token = {NOW_S - 3600, NOW_S + 23L * 3600},
                                   .has_clock = true,
                                   .missing = s->missing};
}

/* -- what may happen ----------------------------------------------------------------------------------------------------- */

static void contact_is(struct sight *s, enum kube_contact contact, int64_t for_ms, unsigned tries) {
    s->facts.contact = contact;
    s->facts.contact_since_ms = NOW - for_ms;
    s->facts.contact_tries = tries;
}
static void all_well(struct sight *s) {
    (void)s;
}
static void never_asked(struct sight *s) {
    contact_is(s, KUBE_CONTACT_NEVER, 0, 0);
}
static void just_silent(struct sight *s) {
    contact_is(s, KUBE_CONTACT_SILENT, KUBE_PATIENCE_MS - 1, 3);
}
static void silent_twice(struct sight *s) {
    contact_is(s, KUBE_CONTACT_SILENT, 60000, 2); /* a replica that was paused */
}
static void silent(struct sight *s) {
    contact_is(s, KUBE_CONTACT_SILENT, KUBE_PATIENCE_MS, 3);
    s->facts.contact_text = "connection refused";
}
static void just_refused(struct sight *s) {
    contact_is(s, KUBE_CONTACT_REFUSED, 10000, 2); /* a server that restarts says 401, too */
}
static void refused(struct sight *s) {
    contact_is(s, KUBE_CONTACT_REFUSED, 30000, 3);
}
static void etcd_fails(struct sight *s) {
    s->facts.readyz = (struct kube_readyz){.is_there = true, .etcd = KUBE_FALSE, .failed_count = 1, .failed = {"etcd"}};
}
static void refused_without_etcd(struct sight *s) {
    refused(s);
    etcd_fails(s);
}
static void silent_without_etcd(struct sight *s) {
    silent(s);
    etcd_fails(s);
}
static void refused_and_old(struct sight *s) {
    refused(s);
    for (int i = 0; i < NODES; i++)
        s->nodes[i].conditions[KUBE_NODE_READY].heartbeat_s = NOW_S - 3600;
}
static void other_cluster(struct sight *s) {
    contact_is(s, KUBE_CONTACT_OTHER, 0, 1);
}
static void readiness_not_told(struct sight *s) {
    s->facts.readyz = (struct kube_readyz){0};
}
static void hook_fails(struct sight *s) {
    s->facts.readyz.failed_count = 1;
    (void)snprintf(s->facts.readyz.failed[0], KUBE_READYZ_NAME_BYTES, "poststarthook/rbac");
}
static void five_hooks_fail(struct sight *s) {
    s->facts.readyz.failed_count = 5;
    for (int i = 0; i < 5; i++)
        (void)snprintf(s->facts.readyz.failed[i], KUBE_READYZ_NAME_BYTES, "h%d", i);
}
static void nodes_not_listed(struct sight *s) {
    s->facts.has_nodes = false;
    s->facts.nodes_count = 0;
}
static void not_ready(struct sight *s, int node) {
    set_condition(&s->nodes[node], KUBE_NODE_READY, KUBE_FALSE);
    s->nodes[node].reason = literal("KubeletNotReady");
}
static void worker_not_ready(struct sight *s) {
    not_ready(s, 3);
}
static void worker_unknown(struct sight *s) {
    set_condition(&s->nodes[4], KUBE_NODE_READY, KUBE_UNKNOWN);
    s->nodes[4].reason = literal("NodeStatusUnknown");
}
static void worker_not_heard(struct sight *s) {
    s->nodes[3].conditions[KUBE_NODE_READY].heartbeat_s = NOW_S - 361;
}
static void worker_just_heard(struct sight *s) {
    s->nodes[3].conditions[KUBE_NODE_READY].heartbeat_s = NOW_S - 360;
}
static void worker_without_heartbeat(struct sight *s) {
    s->nodes[3].conditions[KUBE_NODE_READY].heartbeat_s = 0;
}
static void worker_without_ready(struct sight *s) {
    s->nodes[3].conditions[KUBE_NODE_READY] = (struct kube_condition){0};
}
static void worker_missing(struct sight *s) {
    s->facts.workers_desired = 3;
}
static void worker_missing_and_one_down(struct sight *s) {
    s->facts.workers_desired = 4;
    not_ready(s, 3);
}
static void one_worker_too_many(struct sight *s) {
    s->facts.workers_desired = 1;
}
static void too_many_but_one_down(struct sight *s) {
    one_worker_too_many(s);
    not_ready(s, 3);
}
static void nothing_declared(struct sight *s) {
    s->facts.control_plane_desired = s->facts.workers_desired = -1;
}
static void one_control_plane_down(struct sight *s) {
    not_ready(s, 1);
}
static void two_control_planes_down(struct sight *s) {
    not_ready(s, 0);
    not_ready(s, 2);
}
static void two_down_and_etcd_not_named(struct sight *s) {
    two_control_planes_down(s);
    s->facts.readyz.etcd = KUBE_UNKNOWN;
}
static void one_down_and_etcd_not_named(struct sight *s) {
    one_control_plane_down(s);
    s->facts.readyz.etcd = KUBE_UNKNOWN;
}
static void two_of_five_left(struct sight *s) { /* two are not there, one is down */
    one_down_and_etcd_not_named(s);
    s->facts.control_plane_desired = 5;
}
static void three_of_five_there(struct sight *s) {
    s->facts.control_plane_desired = 5;
    s->facts.readyz.etcd = KUBE_UNKNOWN;
}
static void hosted_control_plane(struct sight *s) {
    s->facts.nodes += 3;
    s->facts.nodes_count = 2;
}
static void no_workers(struct sight *s) {
    s->facts.nodes_count = 3;
    s->facts.workers_desired = 0;
}
static void no_quorum_and_all_ready(struct sight *s) { /* without quorum each node stays Ready */
    etcd_fails(s);
    s->nodes[3].conditions[KUBE_NODE_READY].heartbeat_s = NOW_S - 3600;
}
static void memory(struct sight *s) {
    set_condition(&s->nodes[3], KUBE_NODE_MEMORY_PRESSURE, KUBE_TRUE);
}
static void disk_on_four(struct sight *s) {
    for (int i = 0; i < 4; i++)
        set_condition(&s->nodes[i], KUBE_NODE_DISK_PRESSURE, KUBE_TRUE);
}
static void processes(struct sight *s) {
    set_condition(&s->nodes[0], KUBE_NODE_PID_PRESSURE, KUBE_TRUE);
}
static void pressure_long_ago(struct sight *s) {
    memory(s);
    s->nodes[3].conditions[KUBE_NODE_MEMORY_PRESSURE].heartbeat_s = NOW_S - 361;
}
static void no_network(struct sight *s) { /* written once, by the network plugin */
    set_condition(&s->nodes[4], KUBE_NODE_NETWORK_UNAVAILABLE, KUBE_TRUE);
    s->nodes[4].conditions[KUBE_NODE_NETWORK_UNAVAILABLE].heartbeat_s = NOW_S - 3600;
}
static void scheduler_not_ready(struct sight *s) {
    s->pods[2].is_ready = false;
}
static void pod_without_label(struct sight *s) {
    s->pods[2] = (struct kube_pod){.name = literal("etcd-cp-2")};
}
static void kubelet_newer(struct sight *s) {
    s->facts.version = "v1.36.4";
}
static void kubelet_old(struct sight *s) {
    s->nodes[3].kubelet_version = literal("v1.34.1");
}
static void kubelet_too_old(struct sight *s) {
    s->nodes[3].kubelet_version = literal("v1.33.1");
}
static void kubelet_unreadable(struct sight *s) {
    s->nodes[3].kubelet_version = NULL;
    s->nodes[4].kubelet_version = literal("nonsense");
}
static void certificate_in(struct sight *s, int64_t left_s) {
    s->facts.certificate = (struct kube_term){NOW_S + left_s - 365L * DAY_S, NOW_S + left_s};
}
static void certificate_31(struct sight *s) {
    certificate_in(s, 30L * DAY_S + 1);
}
static void certificate_30(struct sight *s) {
    certificate_in(s, 30L * DAY_S);
}
static void certificate_7(struct sight *s) {
    certificate_in(s, 7L * DAY_S);
}
static void certificate_1(struct sight *s) {
    certificate_in(s, DAY_S);
}
static void certificate_ended(struct sight *s) {
    certificate_in(s, 0);
}
static void short_certificate(struct sight *s) { /* of a week, five days left */
    s->facts.certificate = (struct kube_term){NOW_S - 2L * DAY_S, NOW_S + 5L * DAY_S};
}
static void short_certificate_late(struct sight *s) {
    s->facts.certificate = (struct kube_term){NOW_S - 5L * DAY_S, NOW_S + 2L * DAY_S};
}
static void no_certificate(struct sight *s) {
    s->facts.certificate = (struct kube_term){0};
}
static void token_not_renewed(struct sight *s) {
    s->facts.token = (struct kube_term){NOW_S - 17L * 3600, NOW_S + 7L * 3600};
}
static void clock_60(struct sight *s) {
    s->facts.clock_skew_s = -60;
}
static void clock_behind(struct sight *s) {
    s->facts.clock_skew_s = -61;
}
static void clock_ahead_by_a_day(struct sight *s) { /* nodes tell the time of the server */
    s->facts.clock_skew_s = DAY_S;
    for (int i = 0; i < NODES; i++)
        for (int c = 0; c < KUBE_NODE_CONDITIONS; c++)
            s->nodes[i].conditions[c].heartbeat_s += DAY_S;
}
static void clock_behind_by_a_day(struct sight *s) {
    s->facts.clock_skew_s = -DAY_S;
    for (int i = 0; i < NODES; i++)
        for (int c = 0; c < KUBE_NODE_CONDITIONS; c++)
            s->nodes[i].conditions[c].heartbeat_s -= DAY_S;
}
static void clock_not_told(struct sight *s) {
    s->facts.has_clock = false;
    s->facts.clock_skew_s = 5000;
}
static void cordoned(struct sight *s) {
    s->nodes[4].is_cordoned = true;
}
static void rights_missing(struct sight *s) {
    s->missing[0] = "list pods";
    s->facts.missing_count = 1;
}
static void out_of_support(struct sight *s) {
    s->facts.version = "v1.34.9";
    for (int i = 0; i < NODES; i++)
        s->nodes[i].kubelet_version = literal("v1.34.9");
}
static void old_patch(struct sight *s) {
    s->facts.version = "v1.37.1";
}
static void version_not_known(struct sight *s) {
    s->facts.version = NULL;
}
static void worst_of_three(struct sight *s) {
    cordoned(s);
    memory(s);
    etcd_fails(s);
    certificate_7(s);
}

/* -- the table ---------------------------------------------------------------------------------------------------------------- */

#define ETCD "etcd does not answer its API server: without a majority of its members nothing can be read or written"
#define EXPIRES(word, at) "the certificate of its API server " word ", at " at "T10:00:00.000Z"

static const struct {
    void (*happens)(struct sight *s);
    enum cluster_state state;
    int control_plane_ready, workers_ready;
    const char *words; /* of all reasons, gravest first */
    const char *text;  /* of the first; NULL: none */
} rows[] = {
    {all_well, CLUSTER_READY, 3, 2, "", NULL},
    /* contact */
    {never_asked, CLUSTER_UNKNOWN, -1, -1, "never_asked", "Kubernetes was not asked yet"},
    {just_silent, CLUSTER_READY, 3, 2, "", NULL},
    {silent_twice, CLUSTER_READY, 3, 2, "", NULL},
    {silent, CLUSTER_UNREACHABLE, -1, -1, "no_answer", "its API server does not answer: connection refused"},
    {silent_without_etcd, CLUSTER_UNREACHABLE, -1, -1, "no_answer", "its API server does not answer: connection refused"},
    {just_refused, CLUSTER_READY, 3, 2, "", NULL},
    {refused, CLUSTER_UNKNOWN, -1, -1, "refused", "its API server refuses kaasd"},
    {refused_and_old, CLUSTER_UNKNOWN, -1, -1, "refused", "its API server refuses kaasd"},
    {refused_without_etcd, CLUSTER_UNREACHABLE, -1, -1, "no_quorum refused", ETCD},
    {other_cluster, CLUSTER_UNREACHABLE, -1, -1, "other_cluster", "another cluster answers at its address"},
    /* readiness and quorum */
    {etcd_fails, CLUSTER_UNREACHABLE, -1, -1, "no_quorum", ETCD},
    {no_quorum_and_all_ready, CLUSTER_UNREACHABLE, -1, -1, "no_quorum", ETCD},
    {readiness_not_told, CLUSTER_UNKNOWN, 3, 2, "never_asked", "its API server has not told its readiness yet"},
    {hook_fails, CLUSTER_DEGRADED, 3, 2, "readiness_failed", "its API server is not ready: poststarthook/rbac"},
    {five_hooks_fail, CLUSTER_DEGRADED, 3, 2, "readiness_failed", "its API server is not ready: h0, h1, h2 and 2 more"},
    /* nodes of those wanted */
    {nodes_not_listed, CLUSTER_UNKNOWN, -1, -1, "nodes_unknown", "its nodes have not been listed"},
    {worker_not_ready, CLUSTER_DEGRADED, 3, 1, "workers_not_ready", "1 of 2 workers is Ready; not Ready: w-0 (KubeletNotReady)"},
    {worker_unknown, CLUSTER_DEGRADED, 3, 1, "workers_not_ready",
     "1 of 2 workers is Ready; not Ready: w-1 (its kubelet is silent)"},
    {worker_not_heard, CLUSTER_DEGRADED, 3, 1, "workers_not_ready",
     "1 of 2 workers is Ready; not Ready: w-0 (its kubelet is silent)"},
    {worker_just_heard, CLUSTER_READY, 3, 2, "", NULL},
    {worker_without_heartbeat, CLUSTER_DEGRADED, 3, 1, "workers_not_ready",
     "1 of 2 workers is Ready; not Ready: w-0 (its kubelet is silent)"},
    {worker_without_ready, CLUSTER_DEGRADED, 3, 1, "workers_not_ready",
     "1 of 2 workers is Ready; not Ready: w-0 (its kubelet is silent)"},
    {worker_missing, CLUSTER_DEGRADED, 3, 2, "workers_not_ready", "2 of 3 workers are Ready; 1 is not there"},
    {worker_missing_and_one_down, CLUSTER_DEGRADED, 3, 1, "workers_not_ready",
     "1 of 4 workers is Ready; not Ready: w-0 (KubeletNotReady); 2 are not there"},
    {one_worker_too_many, CLUSTER_READY, 3, 2, "", NULL},
    {too_many_but_one_down, CLUSTER_DEGRADED, 3, 1, "workers_not_ready",
     "1 of 2 workers is Ready; not Ready: w-0 (KubeletNotReady)"},
    {nothing_declared, CLUSTER_READY, 3, 2, "", NULL},
    {no_workers, CLUSTER_READY, 3, 0, "", NULL},
    {hosted_control_plane, CLUSTER_READY, -1, 2, "", NULL},
    /* the control plane: readiness checks judge quorum, and kubelets where these say nothing */
    {one_control_plane_down, CLUSTER_DEGRADED, 2, 2, "control_plane_not_ready",
     "2 of 3 control planes are Ready; not Ready: cp-1 (KubeletNotReady)"},
    {two_control_planes_down, CLUSTER_DEGRADED, 1, 2, "control_plane_not_ready",
     "1 of 3 control planes is Ready; not Ready: cp-0 (KubeletNotReady), cp-2 (KubeletNotReady)"},
    {one_down_and_etcd_not_named, CLUSTER_DEGRADED, 2, 2, "control_plane_not_ready",
     "2 of 3 control planes are Ready; not Ready: cp-1 (KubeletNotReady)"},
    {two_down_and_etcd_not_named, CLUSTER_UNREACHABLE, 1, 2, "no_majority",
     "1 of 3 control planes is Ready: no majority, the API cannot work; not Ready: cp-0 (KubeletNotReady), cp-2 (KubeletNotReady)"},
    {two_of_five_left, CLUSTER_UNREACHABLE, 2, 2, "no_majority",
     "2 of 5 control planes are Ready: no majority, the API cannot work; not Ready: cp-1 (KubeletNotReady); 2 are not there"},
    {three_of_five_there, CLUSTER_DEGRADED, 3, 2, "control_plane_not_ready", "3 of 5 control planes are Ready; 2 are not there"},
    /* pressure, network, pods */
    {memory, CLUSTER_DEGRADED, 3, 2, "memory_pressure", "MemoryPressure: w-0"},
    {disk_on_four, CLUSTER_DEGRADED, 3, 2, "disk_pressure", "DiskPressure: cp-0, cp-1, cp-2 and 1 more"},
    {processes, CLUSTER_DEGRADED, 3, 2, "pid_pressure", "PIDPressure: cp-0"},
    {pressure_long_ago, CLUSTER_READY, 3, 2, "", NULL},
    {no_network, CLUSTER_DEGRADED, 3, 2, "network_unavailable", "NetworkUnavailable: w-1"},
    {scheduler_not_ready, CLUSTER_DEGRADED, 3, 2, "control_plane_pods", "not ready in the control plane: kube-scheduler (cp-1)"},
    {pod_without_label, CLUSTER_DEGRADED, 3, 2, "control_plane_pods", "not ready in the control plane: etcd-cp-2"},
    /* versions */
    {kubelet_newer, CLUSTER_DEGRADED, 3, 2, "version_skew upgrade_available",
     "kubelets that do not fit the API server v1.36.4, newer or too old: cp-0 (v1.37.2), cp-1 (v1.37.2), cp-2 (v1.37.2) and 2 more"},
    {kubelet_old, CLUSTER_READY, 3, 2, "", NULL},
    {kubelet_too_old, CLUSTER_DEGRADED, 3, 2, "version_skew",
     "kubelets that do not fit the API server v1.37.2, newer or too old: w-0 (v1.33.1)"},
    {kubelet_unreadable, CLUSTER_READY, 3, 2, "", NULL},
    {version_not_known, CLUSTER_READY, 3, 2, "", NULL},
    {out_of_support, CLUSTER_READY, 3, 2, "out_of_support upgrade_available",
     "Kubernetes v1.34.9 is out of support since 2026-10-27"},
    {old_patch, CLUSTER_READY, 3, 2, "upgrade_available", "upgrade available: v1.37.2"},
    /* what ends */
    {certificate_31, CLUSTER_READY, 3, 2, "", NULL},
    {certificate_30, CLUSTER_DEGRADED, 3, 2, "certificate_ends", EXPIRES("ends within 30 days", "2026-12-30")},
    {certificate_7, CLUSTER_DEGRADED, 3, 2, "certificate_ends", EXPIRES("ends within 7 days", "2026-12-07")},
    {certificate_1, CLUSTER_DEGRADED, 3, 2, "certificate_ends", EXPIRES("ends within a day", "2026-12-01")},
    {certificate_ended, CLUSTER_DEGRADED, 3, 2, "certificate_ends", EXPIRES("has ended", "2026-11-30")},
    {short_certificate, CLUSTER_READY, 3, 2, "", NULL},
    {short_certificate_late, CLUSTER_DEGRADED, 3, 2, "certificate_ends", EXPIRES("ends within 7 days", "2026-12-02")},
    {no_certificate, CLUSTER_READY, 3, 2, "", NULL},
    {token_not_renewed, CLUSTER_READY, 3, 2, "token_ends", "kaasd's token for it ends within a day, at 2026-11-30T17:00:00.000Z"},
    /* clocks */
    {clock_60, CLUSTER_READY, 3, 2, "", NULL},
    {clock_behind, CLUSTER_DEGRADED, 3, 2, "clock", "the clock of its API server is more than a minute behind that of kaasd"},
    {clock_ahead_by_a_day, CLUSTER_DEGRADED, 3, 2, "clock",
     "the clock of its API server is more than a minute ahead of that of kaasd"},
    {clock_behind_by_a_day, CLUSTER_DEGRADED, 3, 2, "clock",
     "the clock of its API server is more than a minute behind that of kaasd"},
    {clock_not_told, CLUSTER_READY, 3, 2, "", NULL},
    /* told, and no worse */
    {cordoned, CLUSTER_READY, 3, 2, "cordoned", "cordoned: w-1"},
    {rights_missing, CLUSTER_READY, 3, 2, "rights_missing", "kaasd may not: list pods"},
    {worst_of_three, CLUSTER_UNREACHABLE, -1, -1, "no_quorum certificate_ends", ETCD},
};

static void join_words(const struct kube_verdict *v, char *out, size_t room) {
    out[0] = '\0';
    for (size_t i = 0; i < v->reasons_count; i++)
        (void)snprintf(out + strlen(out), room - strlen(out), "%s%s", i ? " " : "", v->reasons[i].word);
}

static struct kube_verdict judge(const struct sight *s, const struct kube_verdict *before) {
    struct kube_verdict v;
    memset(&v, 0xA5, sizeof(v));
    kube_health_judge(&s->facts, before, &v);
    return v;
}

static void verdicts_follow_from_the_table(void **state) {
    (void)state;
    assert_true(UNIT_COUNT(rows) >= 40);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct sight s;
        char words[400];
        set_sight(&s);
        rows[i].happens(&s);
        const struct kube_verdict v = judge(&s, NULL);
        join_words(&v, words, sizeof(words));
        if (v.state != rows[i].state || strcmp(words, rows[i].words))
            print_error("row %zu: %s, %s\n", i, cluster_state_name(v.state), words);
        assert_int_equal(v.state, rows[i].state);
        assert_string_equal(words, rows[i].words);
        assert_int_equal(v.control_plane_ready, rows[i].control_plane_ready);
        assert_int_equal(v.workers_ready, rows[i].workers_ready);
        if (rows[i].text)
            assert_string_equal(v.reasons[0].text, rows[i].text);
        for (size_t r = 0; r < v.reasons_count; r++)
            assert_true(v.reasons[r].remedy[0] && v.reasons[r].text[0] && v.reasons[r].since_ms);
    }
}

/* As long as the verdict counts them: rows of lists follow (kube_facts.h). */
static void what_was_told_last_of_nodes_counts_until_it_is_silent(void **state) {
    static const struct {
        enum remote_state connection;
        enum cluster_state health;
        int workers_ready;
        bool knows;
    } cases[] = {
        {REMOTE_OK, CLUSTER_READY, 2, true},          {REMOTE_OK, CLUSTER_UNKNOWN, -1, true},           /* a list under way */
        {REMOTE_FAILING, CLUSTER_READY, 2, true},                                                       /* one try */
        {REMOTE_FAILING, CLUSTER_DEGRADED, 1, true},  {REMOTE_FAILING, CLUSTER_UNREACHABLE, -1, false}, /* silent */
        {REMOTE_OK, CLUSTER_UNREACHABLE, -1, false},                                                    /* no quorum */
        {REMOTE_OK, CLUSTER_UNREACHABLE, 0, true}, /* no majority is Ready, and which is told */
        {REMOTE_REFUSED, CLUSTER_UNKNOWN, -1, false}, {REMOTE_NEW, CLUSTER_UNKNOWN, -1, false},
    };
    struct cluster_kube kube = {.connection_since_ms = 77};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        kube.connection = cases[i].connection;
        kube.health = (struct kube_summary){.state = cases[i].health, .workers_ready = cases[i].workers_ready};
        if (cluster_kube_knows_nodes(&kube) != cases[i].knows)
            fail_msg("case %zu", i);
        assert_int_equal(cluster_kube_as_of_ms(&kube), kube.connection == REMOTE_OK ? 0 : 77);
    }
    assert_false(cluster_kube_knows_nodes(NULL));
}

static void each_severity_has_its_word(void **state) {
    struct sight s;
    (void)state;
    set_sight(&s);
    worst_of_three(&s);
    cordoned(&s);
    const struct kube_verdict v = judge(&s, NULL);
    assert_string_equal(kube_severity_name(v.reasons[0].severity), "error");
    assert_string_equal(kube_severity_name(v.reasons[1].severity), "warning");
    assert_string_equal(kube_severity_name(KUBE_SEVERITY_UNKNOWN), "unknown");
    assert_string_equal(kube_severity_name(KUBE_SEVERITY_INFO), "info");
}

static void wanted_is_what_was_declared_or_is_there(void **state) {
    struct sight s;
    (void)state;
    set_sight(&s);
    s.facts.workers_desired = 7;
    struct kube_verdict v = judge(&s, NULL);
    assert_int_equal(v.control_plane_desired, 3);
    assert_int_equal(v.workers_desired, 7);
    s.facts.workers_desired = 1;
    v = judge(&s, NULL);
    assert_int_equal(v.state, CLUSTER_READY);
    assert_int_equal(v.workers_desired, 2);
    nothing_declared(&s);
    v = judge(&s, NULL);
    assert_int_equal(v.control_plane_desired, 3);
    assert_int_equal(v.workers_desired, 2);
    silent(&s);
    v = judge(&s, NULL);
    assert_int_equal(v.control_plane_desired, -1);
    assert_int_equal(v.workers_desired, -1);
}

/* -- since when ----------------------------------------------------------------------------------------------------------------- */

static void since_is_what_kubernetes_tells(void **state) {
    struct sight s;
    (void)state;
    set_sight(&s);
    not_ready(&s, 3);
    not_ready(&s, 4);
    s.nodes[4].conditions[KUBE_NODE_READY].transition_s = NOW_S - 900;
    struct kube_verdict v = judge(&s, NULL);
    assert_int_equal(v.reasons[0].since_ms, NOW - 900000); /* the first of them */
    assert_int_equal(v.since_ms, NOW - 900000);
    s.facts.clock_skew_s = 30; /* their clock */
    v = judge(&s, NULL);
    assert_int_equal(v.since_ms, NOW - 930000);
    set_sight(&s);
    worker_not_heard(&s);
    v = judge(&s, NULL);
    assert_int_equal(v.since_ms, NOW - 1000); /* since the heartbeat was too old */
    set_sight(&s);
    silent(&s);
    v = judge(&s, NULL);
    assert_int_equal(v.since_ms, NOW - KUBE_PATIENCE_MS); /* since the first try that failed */
    set_sight(&s);
    worker_not_ready(&s);
    s.nodes[3].conditions[KUBE_NODE_READY].transition_s = NOW_S + 500; /* a time to come is none */
    v = judge(&s, NULL);
    assert_int_equal(v.reasons[0].since_ms, NOW);
    assert_int_equal(v.since_ms, NOW);
}

static void since_stays_while_it_lasts(void **state) {
    struct sight s;
    (void)state;
    set_sight(&s);
    struct kube_verdict v = judge(&s, NULL);
    assert_int_equal(v.since_ms, NOW);
    s.facts.now_ms += 5000;
    struct kube_verdict next = judge(&s, &v);
    assert_int_equal(next.since_ms, NOW); /* ready since then */
    memory(&s);
    s.facts.now_ms += 5000;
    v = judge(&s, &next);
    assert_int_equal(v.since_ms, NOW + 10000);
    scheduler_not_ready(&s);
    s.facts.now_ms += 5000;
    next = judge(&s, &v);
    assert_int_equal(next.since_ms, NOW + 10000); /* degraded since the first reason */
    assert_int_equal(next.reasons[0].since_ms, NOW + 10000);
    assert_int_equal(next.reasons[1].since_ms, NOW + 15000);
    set_condition(&s.nodes[3], KUBE_NODE_MEMORY_PRESSURE, KUBE_FALSE);
    s.facts.now_ms += 5000;
    v = judge(&s, &next);
    assert_int_equal(v.since_ms, NOW + 10000); /* degraded all the time, whichever reason went */
    assert_int_equal(v.reasons[0].since_ms, NOW + 15000);
    etcd_fails(&s);
    s.facts.now_ms += 5000;
    next = judge(&s, &v);
    assert_int_equal(next.since_ms, NOW + 25000);
}

/* The row of a connection is written when its text changes: time alone does not change it. */
static void time_alone_changes_no_text(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct sight s;
        set_sight(&s);
        rows[i].happens(&s);
        const struct kube_verdict v = judge(&s, NULL);
        if (v.state == CLUSTER_READY)
            continue; /* some of these are so for the last moment */
        s.facts.now_ms += 1000;
        const struct kube_verdict next = judge(&s, &v);
        assert_string_equal(next.reasons[0].text, v.reasons[0].text);
        assert_int_equal(next.reasons[0].since_ms, v.reasons[0].since_ms);
        assert_int_equal(next.since_ms, v.since_ms);
    }
}

/* -- long texts and summaries --------------------------------------------------------------------------------------------------- */

static void long_names_are_cut_between_characters(void **state) {
    static char name[KUBE_NAME_BYTES_MAX + 1];
    struct sight s;
    (void)state;
    set_sight(&s);
    for (size_t i = 0; i + 2 < sizeof(name); i += 2)
        memcpy(name + i, "\xc3\xa4", 3);
    disk_on_four(&s);
    for (int i = 0; i < NODES; i++)
        s.nodes[i].name = name;
    const struct kube_verdict v = judge(&s, NULL);
    const size_t len = strlen(v.reasons[0].text);
    assert_in_range(len, KUBE_REASON_TEXT_BYTES - 4, KUBE_REASON_TEXT_BYTES - 1);
    assert_int_equal((unsigned char)v.reasons[0].text[len - 1], 0xa4);
}

static void the_summary_joins_the_worst(void **state) {
    static char name[KUBE_NAME_BYTES_MAX + 1];
    struct sight s;
    struct kube_summary sum;
    (void)state;
    set_sight(&s);
    cordoned(&s);
    struct kube_verdict v = judge(&s, NULL);
    assert_int_equal(kube_health_sum_up(&v, &sum, NULL), 0);
    assert_true(sum.state == CLUSTER_READY && sum.since_ms == NOW && sum.control_plane_desired == 3);
    assert_null(sum.reason); /* what makes it no worse is not told */
    kube_summary_done(&sum);
    memory(&s);
    worker_not_ready(&s);
    v = judge(&s, NULL);
    assert_int_equal(kube_health_sum_up(&v, &sum, NULL), 0);
    assert_int_equal(sum.state, CLUSTER_DEGRADED);
    assert_int_equal(sum.workers_ready, 1);
    assert_string_equal(sum.reason, "1 of 2 workers is Ready; not Ready: w-0 (KubeletNotReady); MemoryPressure: w-0");
    kube_summary_done(&sum);
    assert_null(sum.reason);
    memset(name, 'n', KUBE_NAME_BYTES_MAX);
    for (int i = 0; i < NODES; i++)
        s.nodes[i].name = name;
    disk_on_four(&s);
    processes(&s);
    v = judge(&s, NULL);
    assert_int_equal(kube_health_sum_up(&v, &sum, NULL), 0);
    assert_true(strlen(sum.reason) <= KUBE_SUMMARY_CHARS_MAX);
    assert_non_null(strstr(sum.reason, "; and 2 more"));
    kube_summary_done(&sum);
    kube_summary_done(NULL);
}

/* -- what lists show of a node ------------------------------------------------------------------------------------------- */

static char *made(const char *text) {
    char *copy = NULL;
    assert_int_equal(str_replace(&copy, text, NULL), 0);
    return copy;
}

static void a_silent_node_is_shown_as_it_is_judged(void **state) {
    struct kube_node node = {.name = made("w-0")};
    (void)state;
    set_condition(&node, KUBE_NODE_READY, KUBE_TRUE);
    set_condition(&node, KUBE_NODE_DISK_PRESSURE, KUBE_TRUE);
    set_condition(&node, KUBE_NODE_NETWORK_UNAVAILABLE, KUBE_FALSE);
    assert_int_equal(kube_health_age_node(&node, NOW_S, NULL), 0);
    assert_int_equal(node.conditions[KUBE_NODE_READY].truth, KUBE_TRUE);
    assert_null(node.reason);
    assert_int_equal(kube_health_age_node(&node, NOW_S - 30 + KUBE_HEARTBEAT_S + 1, NULL), 0);
    assert_int_equal(node.conditions[KUBE_NODE_READY].truth, KUBE_UNKNOWN);
    assert_int_equal(node.conditions[KUBE_NODE_READY].transition_s, NOW_S - 30 + KUBE_HEARTBEAT_S);
    assert_string_equal(node.reason, "NodeStatusUnknown");
    assert_int_equal(node.conditions[KUBE_NODE_DISK_PRESSURE].truth, KUBE_UNKNOWN);
    assert_int_equal(node.conditions[KUBE_NODE_NETWORK_UNAVAILABLE].truth, KUBE_FALSE);
    assert_false(node.conditions[KUBE_NODE_PID_PRESSURE].is_there);
    kube_node_done(&node);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_follow_from_the_table),
        cmocka_unit_test(each_severity_has_its_word),
        cmocka_unit_test(what_was_told_last_of_nodes_counts_until_it_is_silent),
        cmocka_unit_test(wanted_is_what_was_declared_or_is_there),
        cmocka_unit_test(since_is_what_kubernetes_tells),
        cmocka_unit_test(since_stays_while_it_lasts),
        cmocka_unit_test(time_alone_changes_no_text),
        cmocka_unit_test(long_names_are_cut_between_characters),
        cmocka_unit_test(the_summary_joins_the_worst),
        cmocka_unit_test(a_silent_node_is_shown_as_it_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
