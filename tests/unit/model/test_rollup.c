/* State and placement out of what was said, asked and seen, as tables; and whose virtual machine is whose.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "kube_connection.h"
#include "limits.h"
#include "rollup.h"

#define VC "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"
#define OTHER_VC "7f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"
#define NOW 1700000000000
#define LIMIT 900000
#define NODES 5

/* Literals as members; nothing here is freed or written. */
static char *text(const char *s) {
    return (char *)(uintptr_t)s;
}

/* Three control-plane nodes and two workers, all running on domain-c7. */
struct scene {
    struct cluster cluster;
    struct node nodes[NODES];
    struct node_observation seen[NODES];
    struct object_ref declared[1];
    struct kube_summary asked;
    bool is_connected; /* at first it is not */
};

static void set_scene(struct scene *s) {
    static const char *const names[NODES] = {"cp-0", "cp-1", "cp-2", "w-0", "w-1"};
    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < NODES; i++) {
        s->seen[i] = (struct node_observation){.match = VM_MATCH_NAME,
                                               .vcenter_id = text(VC),
                                               .vm_moref = text("vm-1"),
                                               .vm_name = text(names[i]),
                                               .bound_uuid = text(OTHER_VC),
                                               .power = VM_POWER_ON,
                                               .connection = VM_CONNECTION_CONNECTED,
                                               .host_moref = text("host-1"),
                                               .host_name = text("esx-1"),
                                               .host_connection = HOST_CONNECTION_CONNECTED,
                                               .cluster_moref = text("domain-c7"),
                                               .observed_at_ms = NOW - 1000 + (int64_t)i};
        s->nodes[i] =
            (struct node){.name = text(names[i]), .role = i < 3 ? NODE_CONTROL_PLANE : NODE_WORKER, .seen = &s->seen[i]};
    }
    s->declared[0] = (struct object_ref){VC, "domain-c70"};
    s->cluster = (struct cluster){.state = CLUSTER_READY,
                                  .state_source = text("reported"),
                                  .reported_state = CLUSTER_READY,
                                  .reported_at_ms = NOW - 60000,
                                  .placement_source = text("declared"),
                                  .placement = {.items = s->declared, .count = 1},
                                  .nodes = s->nodes,
                                  .nodes_count = NODES};
}

static void say(struct scene *s, enum cluster_state state, const char *reason) {
    s->cluster.state = s->cluster.reported_state = state;
    s->cluster.state_reason = s->cluster.reported_reason = reason ? text(reason) : NULL;
}

static bool only_other_vcenter(const void *arg, const char *vcenter_id) {
    (void)arg;
    return strcmp(vcenter_id, OTHER_VC) == 0;
}

static struct rollup roll(const struct scene *s, bool (*counts)(const void *, const char *)) {
    const struct rollup_input input = {.cluster = &s->cluster,
                                       .now_ms = NOW,
                                       .report_stale_after_ms = LIMIT,
                                       .counts = counts,
                                       .asked = s->is_connected ? &s->asked : NULL};
    struct rollup out;
    assert_int_equal(rollup_make(&input, &out, NULL), 0);
    return out;
}

/* What happens to the nodes of a scene. */
enum happening {
    ALL_WELL,
    CP0_OFF,
    CP_TWO_OFF,
    CP_ALL_OFF,
    W_ALL_OFF,
    W0_SUSPENDED,
    W0_DISCONNECTED,
    W0_HOST_SILENT,
    W0_HOST_AWAY,
    W0_GONE,
    W0_REPLACED,
    W0_NEVER_FOUND,
    W0_OTHERS,
    ALL_OFF
};

static void happen(struct scene *s, enum happening what) {
    struct node_observation *w0 = &s->seen[3];
    for (size_t i = 0; i < NODES; i++)
        if (what == ALL_OFF || (what == CP_ALL_OFF && i < 3) || (what == CP_TWO_OFF && i < 2) || (what == W_ALL_OFF && i >= 3) ||
            (what == CP0_OFF && i == 0))
            s->seen[i].power = VM_POWER_OFF;
    if (what == W0_SUSPENDED)
        w0->power = VM_POWER_SUSPENDED;
    if (what == W0_DISCONNECTED)
        w0->connection = VM_CONNECTION_DISCONNECTED;
    if (what == W0_HOST_SILENT)
        w0->host_connection = HOST_CONNECTION_NOT_RESPONDING;
    if (what == W0_HOST_AWAY)
        w0->host_connection = HOST_CONNECTION_DISCONNECTED;
    if (what == W0_GONE)
        w0->match = VM_MATCH_NONE;
    if (what == W0_REPLACED || what == W0_OTHERS)
        w0->match = VM_MATCH_MISMATCH;
    if (what == W0_OTHERS)
        w0->bound_uuid = NULL;
    if (what == W0_OTHERS)
        w0->power = VM_POWER_OFF;
    if (what == W0_NEVER_FOUND)
        s->nodes[3].seen = NULL;
}

#define NO_MAJORITY " of its control plane are not running: no majority, the API cannot work; "
#define ONE_OF_3 "2 of 3" NO_MAJORITY
#define NONE_OF_3 "3 of 3" NO_MAJORITY

static const struct {
    enum cluster_state said;
    const char *reason;
    int64_t age_ms; /* of the report */
    enum happening what;
    enum cluster_state state;
    const char *source, *told; /* the whole reason; NULL: none */
} table[] = {
    /* nothing is wrong */
    {CLUSTER_READY, NULL, 0, ALL_WELL, CLUSTER_READY, "reported", NULL},
    {CLUSTER_READY, "fine", 0, ALL_WELL, CLUSTER_READY, "reported", "fine"},
    {CLUSTER_DEGRADED, "4 of 5", 0, ALL_WELL, CLUSTER_DEGRADED, "reported", "4 of 5"},
    {CLUSTER_UNKNOWN, NULL, 0, ALL_WELL, CLUSTER_UNKNOWN, "reported", NULL},
    {CLUSTER_READY, NULL, 0, W0_NEVER_FOUND, CLUSTER_READY, "reported", NULL},
    {CLUSTER_READY, NULL, 0, W0_OTHERS, CLUSTER_READY, "reported", NULL},
    /* what is seen is worse */
    {CLUSTER_READY, "fine", 0, CP0_OFF, CLUSTER_DEGRADED, "observed", "VM cp-0 is powered off"},
    {CLUSTER_READY, NULL, 0, W0_SUSPENDED, CLUSTER_DEGRADED, "observed", "VM w-0 is suspended"},
    {CLUSTER_READY, NULL, 0, W0_DISCONNECTED, CLUSTER_DEGRADED, "observed", "VM w-0 is disconnected"},
    {CLUSTER_READY, NULL, 0, W0_HOST_SILENT, CLUSTER_DEGRADED, "observed", "host esx-1 of VM w-0 does not respond"},
    {CLUSTER_READY, NULL, 0, W0_HOST_AWAY, CLUSTER_DEGRADED, "observed", "host esx-1 of VM w-0 is disconnected"},
    {CLUSTER_READY, NULL, 0, W0_GONE, CLUSTER_DEGRADED, "observed", "VM w-0 is gone"},
    {CLUSTER_READY, NULL, 0, W0_REPLACED, CLUSTER_DEGRADED, "observed", "VM w-0 is gone; another has its name"},
    {CLUSTER_READY, NULL, 0, CP_ALL_OFF, CLUSTER_UNREACHABLE, "observed",
     NONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off"},
    {CLUSTER_READY, "fine", 0, CP_TWO_OFF, CLUSTER_UNREACHABLE, "observed",
     ONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off"},
    {CLUSTER_READY, NULL, 0, W_ALL_OFF, CLUSTER_DEGRADED, "observed", "VM w-0 is powered off; VM w-1 is powered off"},
    {CLUSTER_READY, NULL, 0, ALL_OFF, CLUSTER_UNREACHABLE, "observed",
     NONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off; and 2 more"},
    {CLUSTER_UNKNOWN, NULL, 0, CP0_OFF, CLUSTER_DEGRADED, "observed", "VM cp-0 is powered off"},
    {CLUSTER_DEGRADED, "slow", 0, CP_ALL_OFF, CLUSTER_UNREACHABLE, "observed",
     NONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off"},
    /* what was said is as bad */
    {CLUSTER_DEGRADED, "slow", 0, CP0_OFF, CLUSTER_DEGRADED, "reported", "slow; VM cp-0 is powered off"},
    {CLUSTER_UNREACHABLE, NULL, 0, CP0_OFF, CLUSTER_UNREACHABLE, "reported", "VM cp-0 is powered off"},
    /* work under way, or its end */
    {CLUSTER_CREATING, "step 2", 0, CP_TWO_OFF, CLUSTER_CREATING, "reported",
     "step 2; " ONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off"},
    {CLUSTER_UPDATING, NULL, 0, CP0_OFF, CLUSTER_UPDATING, "reported", "VM cp-0 is powered off"},
    {CLUSTER_UPDATING, NULL, 0, CP_TWO_OFF, CLUSTER_UNREACHABLE, "observed",
     ONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off"},
    {CLUSTER_UPDATING, NULL, 0, CP_ALL_OFF, CLUSTER_UNREACHABLE, "observed",
     NONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off"},
    {CLUSTER_DELETING, NULL, 0, CP0_OFF, CLUSTER_DELETING, "reported", "VM cp-0 is powered off"},
    {CLUSTER_FAILED, "no quota", 0, CP0_OFF, CLUSTER_FAILED, "reported", "no quota; VM cp-0 is powered off"},
    /* silence */
    {CLUSTER_READY, NULL, LIMIT, ALL_WELL, CLUSTER_READY, "reported", NULL},
    {CLUSTER_READY, NULL, LIMIT + 1, ALL_WELL, CLUSTER_UNKNOWN, "observed",
     "no report since 2023-11-14T21:58:19Z, when it was ready"},
    {CLUSTER_CREATING, "step 2", LIMIT + 1, ALL_WELL, CLUSTER_UNKNOWN, "observed",
     "no report since 2023-11-14T21:58:19Z, when it was creating"},
    {CLUSTER_READY, NULL, LIMIT + 1, CP0_OFF, CLUSTER_DEGRADED, "observed",
     "no report since 2023-11-14T21:58:19Z, when it was ready; VM cp-0 is powered off"},
};

static void states_follow_from_the_table(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(table); i++) {
        struct scene s;
        struct rollup r;
        set_scene(&s);
        say(&s, table[i].said, table[i].reason);
        s.cluster.reported_at_ms = NOW - table[i].age_ms;
        happen(&s, table[i].what);
        r = roll(&s, NULL);
        if (r.state != table[i].state || (table[i].told ? !r.reason || strcmp(r.reason, table[i].told) : r.reason != NULL))
            print_error("row %zu: %s, \"%s\"\n", i, cluster_state_name(r.state), r.reason ? r.reason : "");
        assert_int_equal(r.state, table[i].state);
        assert_string_equal(r.source, table[i].source);
        if (table[i].told)
            assert_string_equal(r.reason, table[i].told);
        else
            assert_null(r.reason);
        assert_int_equal(r.is_report_stale, table[i].age_ms > LIMIT);
        rollup_done(&r);
    }
}

/* -- clusters that are connected: Kubernetes itself is asked ------------------------------------------------------------------------------ */

/* Kubernetes says so, of as many nodes as there are. */
static void connect(struct scene *s, enum cluster_state state, const char *reason) {
    s->is_connected = true;
    s->asked = (struct kube_summary){.state = state,
                                     .reason = reason ? text(reason) : NULL,
                                     .since_ms = NOW - 77,
                                     .control_plane_ready = 3,
                                     .workers_ready = 2,
                                     .control_plane_desired = 3,
                                     .workers_desired = 2};
}

#define CP0 "VM cp-0 is powered off"
#define TWO_OFF ONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off"

static const struct {
    enum cluster_state said;
    const char *by_whom, *reason;
    int64_t age_ms;
    enum cluster_state asked;
    const char *asked_reason;
    enum happening what;
    enum cluster_state state;
    const char *source, *told;
} asked_table[] = {
    /* what was said to be well, or nothing, gives way to Kubernetes */
    {CLUSTER_READY, "declared", "fine", 0, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_READY, "asked", NULL},
    {CLUSTER_UNKNOWN, "declared", NULL, 0, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_READY, "asked", NULL},
    {CLUSTER_READY, "reported", "fine", 0, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_READY, "asked", NULL},
    {CLUSTER_UNKNOWN, "reported", NULL, 0, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_READY, "asked", NULL},
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_UNKNOWN, "refused", ALL_WELL, CLUSTER_UNKNOWN, "asked", "refused"},
    {CLUSTER_READY, "reported", NULL, 0, CLUSTER_UNKNOWN, "refused", ALL_WELL, CLUSTER_UNKNOWN, "asked", "refused"},
    {CLUSTER_READY, "declared", "fine", 0, CLUSTER_DEGRADED, "w-0", ALL_WELL, CLUSTER_DEGRADED, "asked", "w-0"},
    {CLUSTER_READY, "reported", "fine", 0, CLUSTER_UNREACHABLE, "silent", ALL_WELL, CLUSTER_UNREACHABLE, "asked", "silent"},
    {CLUSTER_UNKNOWN, "declared", NULL, 0, CLUSTER_UNREACHABLE, "silent", ALL_WELL, CLUSTER_UNREACHABLE, "asked", "silent"},
    /* it needs no report: one that is too old says nothing, whatever it was */
    {CLUSTER_READY, "reported", NULL, LIMIT + 1, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_READY, "asked", NULL},
    {CLUSTER_DEGRADED, "reported", "slow", LIMIT + 1, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_READY, "asked", NULL},
    {CLUSTER_CREATING, "reported", "step 2", LIMIT + 1, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_READY, "asked", NULL},
    {CLUSTER_UNREACHABLE, "reported", NULL, LIMIT + 1, CLUSTER_DEGRADED, "w-0", ALL_WELL, CLUSTER_DEGRADED, "asked", "w-0"},
    {CLUSTER_DEGRADED, "reported", "slow", LIMIT, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_DEGRADED, "reported", "slow"},
    {CLUSTER_DEGRADED, "declared", "slow", LIMIT + 1, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_DEGRADED, "declared", "slow"},
    /* the worst of the three */
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_READY, NULL, CP0_OFF, CLUSTER_DEGRADED, "observed", CP0},
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_READY, NULL, CP_TWO_OFF, CLUSTER_UNREACHABLE, "observed", TWO_OFF},
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_UNKNOWN, "refused", CP0_OFF, CLUSTER_DEGRADED, "observed", "refused; " CP0},
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_UNKNOWN, "refused", CP_TWO_OFF, CLUSTER_UNREACHABLE, "observed",
     "refused; " TWO_OFF},
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_DEGRADED, "w-0", CP0_OFF, CLUSTER_DEGRADED, "asked", "w-0; " CP0},
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_DEGRADED, "w-0", CP_TWO_OFF, CLUSTER_UNREACHABLE, "observed", "w-0; " TWO_OFF},
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_UNREACHABLE, "silent", CP0_OFF, CLUSTER_UNREACHABLE, "asked", "silent; " CP0},
    {CLUSTER_READY, "declared", NULL, 0, CLUSTER_UNREACHABLE, "silent", CP_TWO_OFF, CLUSTER_UNREACHABLE, "asked",
     "silent; " TWO_OFF},
    {CLUSTER_DEGRADED, "declared", "slow", 0, CLUSTER_UNKNOWN, "refused", ALL_WELL, CLUSTER_DEGRADED, "declared",
     "slow; refused"},
    {CLUSTER_DEGRADED, "reported", "slow", 0, CLUSTER_DEGRADED, "w-0", ALL_WELL, CLUSTER_DEGRADED, "reported", "slow; w-0"},
    {CLUSTER_DEGRADED, "reported", "slow", 0, CLUSTER_UNREACHABLE, "silent", ALL_WELL, CLUSTER_UNREACHABLE, "asked", "silent"},
    {CLUSTER_UNREACHABLE, "reported", "gone", 0, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_UNREACHABLE, "reported", "gone"},
    {CLUSTER_DEGRADED, "reported", "slow", 0, CLUSTER_DEGRADED, "w-0", CP0_OFF, CLUSTER_DEGRADED, "reported", "slow; w-0; " CP0},
    /* work under way, or its end, is kept */
    {CLUSTER_CREATING, "reported", "step 2", 0, CLUSTER_UNREACHABLE, "silent", ALL_WELL, CLUSTER_CREATING, "reported",
     "step 2; silent"},
    {CLUSTER_CREATING, "declared", NULL, 0, CLUSTER_READY, NULL, ALL_WELL, CLUSTER_CREATING, "declared", NULL},
    {CLUSTER_UPDATING, "reported", NULL, 0, CLUSTER_DEGRADED, "w-0", CP0_OFF, CLUSTER_UPDATING, "reported", "w-0; " CP0},
    {CLUSTER_UPDATING, "declared", NULL, 0, CLUSTER_UNREACHABLE, "silent", ALL_WELL, CLUSTER_UNREACHABLE, "asked", "silent"},
    {CLUSTER_DELETING, "reported", NULL, 0, CLUSTER_UNREACHABLE, "silent", ALL_OFF, CLUSTER_DELETING, "reported",
     "silent; " NONE_OF_3 "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off; and 2 more"},
    {CLUSTER_FAILED, "reported", "no quota", 0, CLUSTER_DEGRADED, "w-0", ALL_WELL, CLUSTER_FAILED, "reported", "no quota; w-0"},
};

static void kubernetes_is_the_third_source(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(asked_table); i++) {
        struct scene s;
        set_scene(&s);
        say(&s, asked_table[i].said, asked_table[i].reason);
        s.cluster.state_source = text(asked_table[i].by_whom);
        s.cluster.reported_at_ms = NOW - asked_table[i].age_ms;
        connect(&s, asked_table[i].asked, asked_table[i].asked_reason);
        happen(&s, asked_table[i].what);
        struct rollup r = roll(&s, NULL);
        const char *told = asked_table[i].told;
        if (r.state != asked_table[i].state || strcmp(r.source, asked_table[i].source) != 0 ||
            (told ? !r.reason || strcmp(r.reason, told) != 0 : r.reason != NULL))
            fail_msg("row %zu: %s, %s, \"%s\"", i, cluster_state_name(r.state), r.source, r.reason ? r.reason : "");
        if (!strcmp(r.source, "asked"))
            assert_int_equal(r.since_ms, NOW - 77);
        assert_true(strcmp(r.source, "asked") != 0 || !r.by);
        rollup_done(&r);
    }
}

static void a_cluster_that_is_not_connected_is_not_asked(void **state) {
    struct scene s;
    (void)state;
    set_scene(&s);
    connect(&s, CLUSTER_UNREACHABLE, "of old");
    s.is_connected = false;
    struct rollup r = roll(&s, NULL);
    assert_int_equal(r.state, CLUSTER_READY);
    assert_string_equal(r.source, "reported");
    assert_null(r.reason);
    rollup_done(&r);
}

static void kubernetes_counts_the_nodes(void **state) {
    struct scene s;
    (void)state;
    set_scene(&s);
    s.cluster.control_plane_ready = s.cluster.workers_ready = 1; /* what was reported does not matter */
    s.cluster.control_plane_desired = 1;
    s.cluster.workers_desired = 4;
    connect(&s, CLUSTER_READY, NULL);
    struct rollup r = roll(&s, NULL);
    assert_int_equal(r.control_plane_ready, 3);
    assert_int_equal(r.workers_ready, 2);
    assert_int_equal(r.control_plane_desired, 3); /* there are more than were declared */
    assert_int_equal(r.workers_desired, 4);
    rollup_done(&r);
    happen(&s, W0_SUSPENDED); /* of four at most three can be ready, which says nothing new; of the control plane two */
    happen(&s, CP0_OFF);
    r = roll(&s, NULL);
    assert_int_equal(r.control_plane_ready, 2);
    assert_int_equal(r.workers_ready, 2);
    rollup_done(&r);
    s.asked.control_plane_ready = s.asked.workers_ready = -1; /* it is silent, so nobody knows */
    r = roll(&s, NULL);
    assert_int_equal(r.control_plane_ready, -1);
    assert_int_equal(r.workers_ready, -1);
    rollup_done(&r);
    s.is_connected = false;
    s.cluster.control_plane_desired = -1;
    r = roll(&s, NULL);
    assert_int_equal(r.control_plane_desired, -1);
    assert_int_equal(r.control_plane_ready, 1);
    rollup_done(&r);
}

/* One node of the control plane is known by its machine, three are there. */
static void a_majority_is_one_of_those_that_kubernetes_has(void **state) {
    struct {
        struct cluster cluster;
        struct node node;
        struct node_observation seen;
    } q = {
        .seen = {.match = VM_MATCH_NAME, .vcenter_id = text(VC), .power = VM_POWER_OFF, .connection = VM_CONNECTION_CONNECTED}};
    struct kube_summary asked = {.state = CLUSTER_READY, .control_plane_desired = 3};
    struct rollup_input input = {.cluster = &q.cluster, .now_ms = NOW, .asked = &asked};
    struct rollup r;
    (void)state;
    q.node = (struct node){.name = text("cp-0"), .role = NODE_CONTROL_PLANE, .seen = &q.seen};
    q.cluster = (struct cluster){.control_plane_desired = -1, .workers_desired = -1, .nodes = &q.node, .nodes_count = 1};
    assert_int_equal(rollup_make(&input, &r, NULL), 0);
    assert_int_equal(r.state, CLUSTER_DEGRADED);
    rollup_done(&r);
    asked.control_plane_desired = 1;
    assert_int_equal(rollup_make(&input, &r, NULL), 0);
    assert_int_equal(r.state, CLUSTER_UNREACHABLE);
    rollup_done(&r);
}

/* Whoever keeps clusters has to know when a report grew too old, though of this cluster it says nothing then. */
static void an_old_report_is_noted_also_of_connected_clusters(void **state) {
    struct scene s;
    (void)state;
    set_scene(&s);
    connect(&s, CLUSTER_READY, NULL);
    for (int late = 0; late <= 1; late++) {
        s.cluster.reported_at_ms = NOW - LIMIT - late;
        struct rollup r = roll(&s, NULL);
        assert_int_equal(r.is_report_stale, late);
        rollup_done(&r);
    }
}

/* -- quorum and counts: each number of nodes of the control plane, declared and as records, with each number of them off ------------------ */

#define MANY 5

struct quorum {
    struct cluster cluster;
    struct node nodes[2 * MANY];
    struct node_observation seen[2 * MANY];
};

/* Of `records` nodes of that role the first `off` are off. */
static void add_role(struct quorum *q, enum node_role role, int records, int off) {
    for (int i = 0; i < records; i++) {
        const size_t at = q->cluster.nodes_count++;
        q->seen[at] = (struct node_observation){.match = VM_MATCH_NAME,
                                                .vcenter_id = text(VC),
                                                .vm_name = text("vm"),
                                                .bound_uuid = text(OTHER_VC),
                                                .power = i < off ? VM_POWER_OFF : VM_POWER_ON,
                                                .connection = VM_CONNECTION_CONNECTED};
        q->nodes[at] = (struct node){.name = text("n"), .role = role, .seen = &q->seen[at]};
    }
}

static void set_quorum(struct quorum *q, enum cluster_state said, int wanted, int records, int off, int told) {
    memset(q, 0, sizeof(*q));
    q->cluster = (struct cluster){.state = said,
                                  .state_source = text("reported"),
                                  .reported_state = said,
                                  .reported_at_ms = NOW,
                                  .placement_source = text("declared"),
                                  .control_plane_desired = wanted,
                                  .control_plane_ready = told,
                                  .workers_desired = 2,
                                  .workers_ready = 2,
                                  .nodes = q->nodes};
    add_role(q, NODE_CONTROL_PLANE, records, off);
}

static struct rollup roll_quorum(const struct quorum *q) {
    const struct rollup_input input = {.cluster = &q->cluster, .now_ms = NOW, .report_stale_after_ms = LIMIT};
    struct rollup out;
    assert_int_equal(rollup_make(&input, &out, NULL), 0);
    return out;
}

/* Members of etcd that must work (etcd.io, "Frequently Asked Questions", table of fault tolerance), by how many there are. */
static const int majority_of[] = {0, 1, 2, 2, 3, 3};

static enum cluster_state state_due(enum cluster_state said, int known, int off) {
    const bool is_dead = off && known - off < majority_of[known];
    if (said == CLUSTER_CREATING)
        return said;
    if (is_dead)
        return CLUSTER_UNREACHABLE;
    return off && said == CLUSTER_READY ? CLUSTER_DEGRADED : said;
}

static void look_at_quorum(enum cluster_state said, int wanted, int records, int off, int told) {
    const int known = wanted > records ? wanted : records;
    const int at_most = off && told > known - off ? known - off : told;
    struct quorum q;
    set_quorum(&q, said, wanted, records, off, told);
    struct rollup r = roll_quorum(&q);
    if (r.state != state_due(said, known, off) || r.control_plane_ready != at_most)
        print_error("%s, %d wanted, %d records, %d off, %d told: %s, %d ready\n", cluster_state_name(said), wanted, records, off,
                    told, cluster_state_name(r.state), r.control_plane_ready);
    assert_int_equal(r.state, state_due(said, known, off));
    assert_int_equal(r.control_plane_ready, at_most);
    assert_int_equal(r.workers_ready, 2);
    assert_int_equal(r.down, off);
    if (off)
        assert_int_equal(strstr(r.reason, "no majority") != NULL, known - off < majority_of[known]);
    rollup_done(&r);
}

static void look_at_each_told(enum cluster_state said, int wanted, int records, int off) {
    for (int told = -1; told <= MANY; told++)
        look_at_quorum(said, wanted, records, off, told);
}

static void a_control_plane_works_by_majority(void **state) {
    static const enum cluster_state said[] = {CLUSTER_READY, CLUSTER_UPDATING, CLUSTER_CREATING};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(said); i++)
        for (int wanted = 0; wanted <= MANY; wanted++)
            for (int records = 0; records <= MANY; records++)
                for (int off = 0; off <= records; off++)
                    look_at_each_told(said[i], wanted, records, off);
}

static void workers_that_are_off_are_not_ready(void **state) {
    (void)state;
    for (int records = 0; records <= MANY; records++)
        for (int off = 0; off <= records; off++) {
            const int known = records > 2 ? records : 2;
            struct quorum q;
            set_quorum(&q, CLUSTER_READY, 3, 0, 0, 3);
            add_role(&q, NODE_WORKER, records, off);
            struct rollup r = roll_quorum(&q);
            assert_int_equal(r.state, off ? CLUSTER_DEGRADED : CLUSTER_READY);
            assert_int_equal(r.workers_ready, off && known - off < 2 ? known - off : 2);
            assert_int_equal(r.control_plane_ready, 3);
            rollup_done(&r);
        }
}

/* Nobody has shown them, or they are others': that is no evidence, so they are taken for running. */
static void nodes_that_nobody_sees_are_taken_for_running(void **state) {
    struct quorum q;
    (void)state;
    set_quorum(&q, CLUSTER_READY, 3, 3, 3, 3);
    q.nodes[0].seen = NULL;
    q.seen[1].match = VM_MATCH_NONE;
    q.seen[1].bound_uuid = NULL;
    struct rollup r = roll_quorum(&q);
    assert_int_equal(r.state, CLUSTER_DEGRADED);
    assert_int_equal(r.control_plane_ready, 2);
    rollup_done(&r);
}

/* What everybody reads changes with each machine that goes, names or not. */
static void each_loss_changes_the_reason(void **state) {
    struct quorum q;
    char last[200] = "", last_partial[200] = "";
    (void)state;
    for (int off = 1; off <= MANY; off++) {
        set_quorum(&q, CLUSTER_READY, MANY, MANY, off, MANY);
        struct rollup r = roll_quorum(&q);
        assert_string_not_equal(r.reason, last);
        assert_string_not_equal(r.reason_partial, last_partial);
        (void)snprintf(last, sizeof(last), "%s", r.reason);
        (void)snprintf(last_partial, sizeof(last_partial), "%s", r.reason_partial);
        rollup_done(&r);
    }
    set_quorum(&q, CLUSTER_READY, 1, 1, 1, 1);
    struct rollup r = roll_quorum(&q);
    assert_string_equal(r.reason,
                        "1 of 1 of its control plane is not running: no majority, the API cannot work; VM vm is powered off");
    rollup_done(&r);
}

static void a_declared_state_does_not_age(void **state) {
    struct scene s;
    struct rollup r;
    (void)state;
    set_scene(&s);
    s.cluster.state_source = text("declared"); /* by an administrator, after the last report */
    s.cluster.state = CLUSTER_UPDATING;
    s.cluster.reported_at_ms = 1;
    r = roll(&s, NULL);
    assert_int_equal(r.state, CLUSTER_UPDATING);
    assert_string_equal(r.source, "declared");
    assert_false(r.is_report_stale);
    rollup_done(&r);
}

static void since_when_and_by_whom_goes_with_the_source(void **state) {
    struct scene s;
    struct rollup r;
    (void)state;
    set_scene(&s);
    s.cluster.state_by = text("anna");
    s.cluster.state_since_ms = NOW - 5000;
    s.cluster.state_source = text("declared");
    r = roll(&s, NULL);
    assert_string_equal(r.by, "anna");
    assert_int_equal(r.since_ms, NOW - 5000);
    rollup_done(&r);
    happen(&s, CP_TWO_OFF); /* seen, so it is nobody's word any more, and so since the last of them went */
    r = roll(&s, NULL);
    assert_null(r.by);
    assert_int_equal(r.since_ms, s.seen[1].observed_at_ms);
    rollup_done(&r);
    s.seen[0].observed_at_ms = NOW - 3; /* whichever place it has among the nodes */
    r = roll(&s, NULL);
    assert_int_equal(r.since_ms, NOW - 3);
    rollup_done(&r);
    set_scene(&s);
    s.cluster.state_by = text("terraform");
    s.cluster.reported_at_ms = NOW - LIMIT - 7;
    r = roll(&s, NULL);
    assert_null(r.by);
    assert_int_equal(r.since_ms, NOW - 7);
    rollup_done(&r);
}

static void an_unwatched_vcenter_is_no_witness(void **state) {
    struct scene s;
    struct rollup r;
    (void)state;
    set_scene(&s);
    happen(&s, CP_ALL_OFF);
    r = roll(&s, only_other_vcenter);
    assert_int_equal(r.state, CLUSTER_READY);
    assert_null(r.reason);
    assert_string_equal(r.placement_source, "observed"); /* where it was last seen is the best that is known */
    rollup_done(&r);
    s.seen[4].vcenter_id = text(OTHER_VC);
    s.seen[4].power = VM_POWER_OFF;
    r = roll(&s, only_other_vcenter);
    assert_int_equal(r.state, CLUSTER_DEGRADED);
    assert_string_equal(r.reason, "VM w-1 is powered off");
    rollup_done(&r);
}

static void names_are_for_those_who_see_all(void **state) {
    struct scene s;
    struct rollup r;
    (void)state;
    set_scene(&s);
    say(&s, CLUSTER_DEGRADED, "slow");
    happen(&s, CP0_OFF);
    r = roll(&s, NULL);
    assert_string_equal(r.reason_partial, "slow; 1 of its virtual machines is not running");
    rollup_done(&r);
    happen(&s, CP_ALL_OFF);
    r = roll(&s, NULL);
    assert_string_equal(r.reason_partial, NONE_OF_3 "3 of its virtual machines are not running");
    rollup_done(&r);
}

static void placement_is_where_the_nodes_run(void **state) {
    struct scene s;
    struct rollup r;
    (void)state;
    set_scene(&s);
    s.seen[2].cluster_moref = text("domain-c9");
    s.seen[3].match = VM_MATCH_MISMATCH; /* another's machine */
    s.seen[3].cluster_moref = text("domain-c99");
    s.seen[4].host_moref = s.seen[4].cluster_moref = NULL;
    r = roll(&s, NULL);
    assert_string_equal(r.placement_source, "observed");
    assert_int_equal(r.placement.count, 2);
    assert_string_equal(r.placement.items[0].moref, "domain-c7");
    assert_string_equal(r.placement.items[1].moref, "domain-c9");
    assert_int_equal(r.observed_at_ms, NOW - 996);
    rollup_done(&r);
}

static void unseen_nodes_leave_the_declared_placement(void **state) {
    struct scene s;
    struct rollup r;
    (void)state;
    set_scene(&s);
    for (size_t i = 0; i < NODES; i++)
        s.seen[i].match = i % 2 ? VM_MATCH_NONE : VM_MATCH_MISMATCH;
    r = roll(&s, NULL);
    assert_string_equal(r.placement_source, "declared");
    assert_int_equal(r.placement.count, 1);
    assert_string_equal(r.placement.items[0].moref, "domain-c70");
    rollup_done(&r);
    set_scene(&s);
    for (size_t i = 0; i < NODES; i++)
        s.seen[i].cluster_moref = NULL; /* stand-alone hosts: it runs on no vSphere cluster at all */
    r = roll(&s, NULL);
    assert_string_equal(r.placement_source, "observed");
    assert_int_equal(r.placement.count, 0);
    rollup_done(&r);
}

static void long_reasons_are_cut_between_characters(void **state) {
    static char reason[4 * KAAS_DESCRIPTION_CHARS_MAX + 1];
    struct scene s;
    struct rollup r;
    size_t chars = 0;
    (void)state;
    set_scene(&s);
    for (size_t i = 0; i < 2 * KAAS_DESCRIPTION_CHARS_MAX; i += 2)
        memcpy(reason + i, "\xc3\xa4", 3);
    say(&s, CLUSTER_FAILED, reason);
    happen(&s, ALL_OFF);
    r = roll(&s, NULL);
    assert_non_null(strstr(r.reason, "\xc3\xa4...; " NONE_OF_3 "VM cp-0 is powered off"));
    for (const char *p = r.reason; *p; p++)
        chars += (*p & 0xC0) != 0x80;
    assert_true(chars <= KAAS_DESCRIPTION_CHARS_MAX);
    rollup_done(&r);
}

#define U1 "11111111-0000-4000-8000-000000000000"
#define U2 "22222222-0000-4000-8000-000000000000"
#define B1 "b1111111-0000-4000-8000-000000000000"
#define B1_TURNED "111111B1-0000-0040-8000-000000000000"
#define B2 "b2222222-0000-4000-8000-000000000000"

static const struct {
    const char *declared, *declared_bios, *bound;
    enum vm_match bound_by, told;
    const char *instance, *bios;
    enum vm_match verdict;
    const char *provider, *system; /* as Kubernetes tells */
} judgements[] = {
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NONE, NULL, NULL, VM_MATCH_NONE, NULL, NULL},
    {U1, NULL, NULL, VM_MATCH_NONE, VM_MATCH_INSTANCE_UUID, U1, B1, VM_MATCH_INSTANCE_UUID, NULL, NULL},
    {U1, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U2, B1, VM_MATCH_MISMATCH, NULL, NULL},
    {U1, B1, U1, VM_MATCH_INSTANCE_UUID, VM_MATCH_BIOS_UUID, U2, B1, VM_MATCH_MISMATCH, NULL, NULL},
    {NULL, B1, NULL, VM_MATCH_NONE, VM_MATCH_BIOS_UUID, U1, B1, VM_MATCH_BIOS_UUID, NULL, NULL},
    {NULL, B1, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U1, B2, VM_MATCH_MISMATCH, NULL, NULL},
    {NULL, B1_TURNED, NULL, VM_MATCH_NONE, VM_MATCH_BIOS_UUID, U1, B1, VM_MATCH_BIOS_UUID, NULL, NULL}, /* as the node reads it */
    {NULL, B1_TURNED, U1, VM_MATCH_BIOS_UUID, VM_MATCH_BIOS_UUID, U2, B1, VM_MATCH_BIOS_UUID, NULL, NULL},
    {NULL, B1, U1, VM_MATCH_BIOS_UUID, VM_MATCH_INSTANCE_UUID, U1, B2, VM_MATCH_BIOS_UUID, NULL,
     NULL}, /* its BIOS UUID was changed */
    {NULL, B1, U1, VM_MATCH_BIOS_UUID, VM_MATCH_BIOS_UUID, U2, B1, VM_MATCH_BIOS_UUID, NULL, NULL}, /* restored from a backup */
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U1, B1, VM_MATCH_NAME, NULL, NULL},
    {NULL, NULL, U1, VM_MATCH_NAME, VM_MATCH_INSTANCE_UUID, U1, B1, VM_MATCH_NAME, NULL, NULL},
    {NULL, NULL, U1, VM_MATCH_NAME, VM_MATCH_NAME, U2, B1, VM_MATCH_MISMATCH, NULL, NULL}, /* a namesake */
    {NULL, NULL, U1, VM_MATCH_NAME, VM_MATCH_NONE, NULL, NULL, VM_MATCH_NONE, NULL, NULL},
    {"11111111-0000-4000-8000-00000000000A", NULL, NULL, VM_MATCH_NONE, VM_MATCH_INSTANCE_UUID,
     "11111111-0000-4000-8000-00000000000a", NULL, VM_MATCH_INSTANCE_UUID, NULL, NULL},
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_BIOS_UUID, U1, B1, VM_MATCH_BIOS_UUID, B1_TURNED, NULL},
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_BIOS_UUID, U1, B1, VM_MATCH_BIOS_UUID, B2, B1_TURNED},
    {NULL, B2, NULL, VM_MATCH_NONE, VM_MATCH_BIOS_UUID, U1, B1, VM_MATCH_BIOS_UUID, NULL, B1}, /* Kubernetes knows better */
    {NULL, NULL, U2, VM_MATCH_NAME, VM_MATCH_BIOS_UUID, U1, B1, VM_MATCH_BIOS_UUID, NULL, B1},
    {U2, NULL, NULL, VM_MATCH_NONE, VM_MATCH_BIOS_UUID, U1, B1, VM_MATCH_MISMATCH, B1, B1},   /* but not than an instance UUID */
    {NULL, NULL, U1, VM_MATCH_NAME, VM_MATCH_INSTANCE_UUID, U1, B2, VM_MATCH_NAME, NULL, B1}, /* its BIOS UUID was changed */
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U1, B2, VM_MATCH_MISMATCH, NULL, B1},    /* a namesake elsewhere */
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U1, NULL, VM_MATCH_NAME, NULL, B1},
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U1, B2, VM_MATCH_NAME, NULL,
     "0123456789abcdef0123456789abcdef"}, /* no UUID */
};

static void machines_are_judged(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(judgements); i++) {
        const struct node_identity known = {.declared_instance_uuid = judgements[i].declared,
                                            .declared_bios_uuid = judgements[i].declared_bios,
                                            .provider_uuid = judgements[i].provider,
                                            .system_uuid = judgements[i].system,
                                            .bound_uuid = judgements[i].bound,
                                            .bound_by = judgements[i].bound_by};
        const struct node_observation told = {
            .match = judgements[i].told, .instance_uuid = text(judgements[i].instance), .bios_uuid = text(judgements[i].bios)};
        if (observation_judge(&known, &told) != judgements[i].verdict)
            print_error("row %zu\n", i);
        assert_int_equal(observation_judge(&known, &told), judgements[i].verdict);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_follow_from_the_table),
        cmocka_unit_test(kubernetes_is_the_third_source),
        cmocka_unit_test(a_cluster_that_is_not_connected_is_not_asked),
        cmocka_unit_test(kubernetes_counts_the_nodes),
        cmocka_unit_test(a_majority_is_one_of_those_that_kubernetes_has),
        cmocka_unit_test(an_old_report_is_noted_also_of_connected_clusters),
        cmocka_unit_test(a_control_plane_works_by_majority),
        cmocka_unit_test(workers_that_are_off_are_not_ready),
        cmocka_unit_test(nodes_that_nobody_sees_are_taken_for_running),
        cmocka_unit_test(each_loss_changes_the_reason),
        cmocka_unit_test(a_declared_state_does_not_age),
        cmocka_unit_test(since_when_and_by_whom_goes_with_the_source),
        cmocka_unit_test(an_unwatched_vcenter_is_no_witness),
        cmocka_unit_test(names_are_for_those_who_see_all),
        cmocka_unit_test(placement_is_where_the_nodes_run),
        cmocka_unit_test(unseen_nodes_leave_the_declared_placement),
        cmocka_unit_test(long_reasons_are_cut_between_characters),
        cmocka_unit_test(machines_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
