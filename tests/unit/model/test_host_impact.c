/* What a cluster loses when a host goes, as a table; and which control planes share a host.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "host_impact.h"
#include "kube_facts.h"

#define VC "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"
#define OTHER_VC "7f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"
#define NODES_MAX 12
#define TOLD_BYTES 4096U

static const struct object_ref host = {VC, "host-1"};

/* Literals as members; nothing here is freed or written. */
static char *text(const char *s) {
    return (char *)(uintptr_t)s;
}

struct scene {
    struct cluster cluster;
    struct node nodes[NODES_MAX];
    struct node_observation seen[NODES_MAX];
    struct node_kube told[NODES_MAX];
    struct cluster_kube kube;
};

/* Where nodes are, a letter for each: of the control plane '1' to '9' is on host-1 to host-9, 'x' on host-1 and off, 'o' on host-2 and off, 'n' on host-2
 * and not Ready, '?' seen by no vCenter, 'm' where another's machine is on host-1; of workers 'a' to 'c' is on host-1 to host-3. */
static void set_scene(struct scene *s, const char *places) {
    static const char *const hosts[] = {"host-1", "host-2", "host-3", "host-4", "host-5"};
    static const char *const names[NODES_MAX] = {"n-0", "n-1", "n-2", "n-3", "n-4",  "n-5",
                                                 "n-6", "n-7", "n-8", "n-9", "n-10", "n-11"};
    memset(s, 0, sizeof(*s));
    for (size_t i = 0; places[i]; i++) {
        const char at = places[i];
        const bool is_worker = at >= 'a' && at <= 'c';
        const size_t on = is_worker ? (size_t)(at - 'a') : at >= '1' && at <= '5' ? (size_t)(at - '1') : at == 'o' || at == 'n';
        s->seen[i] = (struct node_observation){.match = at == 'm' ? VM_MATCH_MISMATCH : VM_MATCH_NAME,
                                               .vcenter_id = text(VC),
                                               .power = at == 'x' || at == 'o' ? VM_POWER_OFF : VM_POWER_ON,
                                               .connection = VM_CONNECTION_CONNECTED,
                                               .host_connection = HOST_CONNECTION_CONNECTED,
                                               .host_moref = text(hosts[on]),
                                               .observed_at_ms = 1000 + (int64_t)i};
        s->told[i] = (struct node_kube){.ready = at == 'n' ? KUBE_FALSE : KUBE_TRUE};
        s->nodes[i] = (struct node){.name = text(names[i]),
                                    .role = is_worker ? NODE_WORKER : NODE_CONTROL_PLANE,
                                    .seen = at == '?' ? NULL : &s->seen[i],
                                    .kube = at == 'n' ? &s->told[i] : NULL};
        s->cluster.nodes_count++;
    }
    s->kube.connection = REMOTE_OK;
    s->cluster.nodes = s->nodes;
    s->cluster.kube = &s->kube;
    s->cluster.control_plane_desired = -1;
}

static void verdicts(void **state) {
    static const struct {
        const char *places;
        int desired;
        const char *verdict;
        size_t size, running, left, on, workers;
    } rows[] = {
        {"1", -1, "loses_quorum", 1, 1, 0, 1, 0},      {"2", -1, "workers_only", 1, 1, 1, 0, 0},
        {"2a", -1, "workers_only", 1, 1, 1, 0, 1},     {"12", -1, "loses_quorum", 2, 2, 1, 1, 0},
        {"11", -1, "loses_quorum", 2, 2, 0, 2, 0},     {"123", -1, "keeps_quorum", 3, 3, 2, 1, 0},
        {"123aab", -1, "keeps_quorum", 3, 3, 2, 1, 2}, {"112", -1, "loses_quorum", 3, 3, 1, 2, 0},
        {"111", -1, "loses_quorum", 3, 3, 0, 3, 0},    {"1234", -1, "keeps_quorum", 4, 4, 3, 1, 0},
        {"1123", -1, "loses_quorum", 4, 4, 2, 2, 0},   {"12345", -1, "keeps_quorum", 5, 5, 4, 1, 0},
        {"11234", -1, "keeps_quorum", 5, 5, 3, 2, 0},  {"11123", -1, "loses_quorum", 5, 5, 2, 3, 0},
        {"1o3", -1, "loses_quorum", 3, 2, 1, 1, 0},  /* one is off elsewhere */
        {"1n3", -1, "loses_quorum", 3, 2, 1, 1, 0},  /* one is not Ready elsewhere */
        {"x23", -1, "keeps_quorum", 3, 2, 2, 1, 0},  /* what is off there is not lost twice */
        {"1oo", -1, "no_quorum", 3, 1, 0, 1, 0},     /* there is none to lose */
        {"2ooa", -1, "workers_only", 3, 1, 1, 0, 1}, /* nor is it this host's doing */
        {"1??", -1, "keeps_quorum", 3, 3, 2, 1, 0},  /* what no vCenter shows is taken for running */
        {"1", 3, "keeps_quorum", 3, 3, 2, 1, 0},     /* so are nodes that are wanted */
        {"m23", -1, "workers_only", 3, 3, 3, 0, 0},  /* somebody else's machine is none of the cluster's */
        {"aab", 0, "workers_only", 0, 0, 0, 0, 2},   /* another runs the control plane */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct host_impact got;
        struct scene s;
        set_scene(&s, rows[i].places);
        s.cluster.control_plane_desired = rows[i].desired;
        host_impact_judge(&s.cluster, &host, &got);
        if (strcmp(host_verdict_name(got.verdict), rows[i].verdict) != 0 || got.control_planes != rows[i].size ||
            got.running != rows[i].running || got.left != rows[i].left || got.control_planes_on != rows[i].on ||
            got.workers_on != rows[i].workers)
            fail_msg("\"%s\": %s %zu/%zu/%zu, %zu and %zu on it", rows[i].places, host_verdict_name(got.verdict), got.left,
                     got.running, got.control_planes, got.control_planes_on, got.workers_on);
    }
}

static void a_connection_that_does_not_answer_says_nothing_of_today(void **state) {
    struct host_impact got;
    struct scene s;
    (void)state;
    set_scene(&s, "1n3");
    s.kube.connection = REMOTE_FAILING;
    host_impact_judge(&s.cluster, &host, &got);
    assert_int_equal(got.verdict, HOST_TAKES_QUORUM); /* it has not been silent for long */
    s.kube.health = (struct kube_summary){.state = CLUSTER_UNREACHABLE, .control_plane_ready = -1, .workers_ready = -1};
    host_impact_judge(&s.cluster, &host, &got);
    assert_int_equal(got.verdict, HOST_LEAVES_QUORUM);
}

static void a_host_of_another_vcenter_is_another_host(void **state) {
    struct host_impact got;
    struct scene s;
    (void)state;
    set_scene(&s, "112");
    s.seen[0].vcenter_id = text(OTHER_VC);
    host_impact_judge(&s.cluster, &host, &got);
    assert_int_equal(got.control_planes_on, 1);
    assert_int_equal(got.verdict, HOST_LEAVES_QUORUM);
}

static void control_planes_that_share_a_host(void **state) {
    static const struct {
        const char *places, *told;
        int64_t since_ms;
    } rows[] = {
        {"1", NULL, 0},
        {"123", NULL, 0},
        {"1aa", NULL, 0},
        {"1m2", NULL, 0},
        {"1?2", NULL, 0},
        {"112", "n-0 and n-1 are on host host-1, and without it there is no majority", 1001},
        {"12a2", "n-1 and n-3 are on host host-2, and without it there is no majority", 1003},
        {"11234", "n-0 and n-1 are on host host-1", 1001},
        {"111", "n-0, n-1 and n-2 are on host host-1, and without it there is no majority", 1002},
        {"12123", "n-0 and n-2 are on host host-1; n-1 and n-3 are on host host-2", 1003},
        {"1111111", "n-0, n-1, n-2, n-3, n-4 and 2 more are on host host-1, and without it there is no majority", 1006},
        {"11223344555", "n-0 and n-1 are on host host-1; n-2 and n-3 are on host host-2; n-4 and n-5 are on host host-3", 1005},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        _cleanup_strbuf_ struct strbuf told;
        int64_t since_ms = -1;
        struct scene s;
        set_scene(&s, rows[i].places);
        strbuf_init(&told, TOLD_BYTES);
        assert_int_equal(host_impact_tell_shared(&s.cluster, &told, &since_ms), rows[i].told != NULL);
        assert_string_equal(told.data ? told.data : "", rows[i].told ? rows[i].told : "");
        assert_int_equal(since_ms, rows[i].since_ms);
    }
}

static void a_host_is_called_by_its_name(void **state) {
    _cleanup_strbuf_ struct strbuf told;
    int64_t since_ms = 0;
    struct scene s;
    (void)state;
    set_scene(&s, "11234");
    s.seen[0].host_name = text("esx-1.example.com");
    strbuf_init(&told, TOLD_BYTES);
    assert_true(host_impact_tell_shared(&s.cluster, &told, &since_ms));
    assert_string_equal(told.data, "n-0 and n-1 are on host esx-1.example.com");
}

#define TEST(fn) cmocka_unit_test(fn)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(verdicts),
        TEST(a_connection_that_does_not_answer_says_nothing_of_today),
        TEST(a_host_of_another_vcenter_is_another_host),
        TEST(control_planes_that_share_a_host),
        TEST(a_host_is_called_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
