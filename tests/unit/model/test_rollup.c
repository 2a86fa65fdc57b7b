/* State and placement out of what was said and what was seen, as a table; and whose virtual machine is whose.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

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
    const struct rollup_input input = {.cluster = &s->cluster, .now_ms = NOW, .report_stale_after_ms = LIMIT, .counts = counts};
    struct rollup out;
    assert_int_equal(rollup_make(&input, &out, NULL), 0);
    return out;
}

/* What happens to the nodes of a scene. */
enum happening {
    ALL_WELL,
    CP0_OFF,
    CP_ALL_OFF,
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
        if (what == ALL_OFF || (what == CP_ALL_OFF && i < 3) || (what == CP0_OFF && i == 0))
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
     "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off"},
    {CLUSTER_READY, NULL, 0, ALL_OFF, CLUSTER_UNREACHABLE, "observed",
     "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off; and 2 more"},
    {CLUSTER_UNKNOWN, NULL, 0, CP0_OFF, CLUSTER_DEGRADED, "observed", "VM cp-0 is powered off"},
    {CLUSTER_DEGRADED, "slow", 0, CP_ALL_OFF, CLUSTER_UNREACHABLE, "observed",
     "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off"},
    /* what was said is as bad */
    {CLUSTER_DEGRADED, "slow", 0, CP0_OFF, CLUSTER_DEGRADED, "reported", "slow; VM cp-0 is powered off"},
    {CLUSTER_UNREACHABLE, NULL, 0, CP0_OFF, CLUSTER_UNREACHABLE, "reported", "VM cp-0 is powered off"},
    /* work under way, or its end */
    {CLUSTER_CREATING, "step 2", 0, CP_ALL_OFF, CLUSTER_CREATING, "reported",
     "step 2; VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off"},
    {CLUSTER_UPDATING, NULL, 0, CP0_OFF, CLUSTER_UPDATING, "reported", "VM cp-0 is powered off"},
    {CLUSTER_UPDATING, NULL, 0, CP_ALL_OFF, CLUSTER_UNREACHABLE, "observed",
     "VM cp-0 is powered off; VM cp-1 is powered off; VM cp-2 is powered off"},
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
    assert_string_equal(r.reason_partial, "slow; some of its virtual machines are not running");
    rollup_done(&r);
    happen(&s, CP_ALL_OFF);
    r = roll(&s, NULL);
    assert_string_equal(r.reason_partial, "no virtual machine of its control plane is running");
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
    assert_non_null(strstr(r.reason, "\xc3\xa4...; VM cp-0 is powered off"));
    for (const char *p = r.reason; *p; p++)
        chars += (*p & 0xC0) != 0x80;
    assert_true(chars <= KAAS_DESCRIPTION_CHARS_MAX);
    rollup_done(&r);
}

#define U1 "11111111-0000-4000-8000-000000000000"
#define U2 "22222222-0000-4000-8000-000000000000"
#define B1 "b1111111-0000-4000-8000-000000000000"
#define B2 "b2222222-0000-4000-8000-000000000000"

static const struct {
    const char *declared, *declared_bios, *bound;
    enum vm_match bound_by, told;
    const char *instance, *bios;
    enum vm_match verdict;
} judgements[] = {
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NONE, NULL, NULL, VM_MATCH_NONE},
    {U1, NULL, NULL, VM_MATCH_NONE, VM_MATCH_INSTANCE_UUID, U1, B1, VM_MATCH_INSTANCE_UUID},
    {U1, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U2, B1, VM_MATCH_MISMATCH},
    {U1, B1, U1, VM_MATCH_INSTANCE_UUID, VM_MATCH_BIOS_UUID, U2, B1, VM_MATCH_MISMATCH},
    {NULL, B1, NULL, VM_MATCH_NONE, VM_MATCH_BIOS_UUID, U1, B1, VM_MATCH_BIOS_UUID},
    {NULL, B1, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U1, B2, VM_MATCH_MISMATCH},
    {NULL, B1, U1, VM_MATCH_BIOS_UUID, VM_MATCH_INSTANCE_UUID, U1, B2, VM_MATCH_BIOS_UUID}, /* its BIOS UUID was changed */
    {NULL, B1, U1, VM_MATCH_BIOS_UUID, VM_MATCH_BIOS_UUID, U2, B1, VM_MATCH_BIOS_UUID},     /* restored from a backup */
    {NULL, NULL, NULL, VM_MATCH_NONE, VM_MATCH_NAME, U1, B1, VM_MATCH_NAME},
    {NULL, NULL, U1, VM_MATCH_NAME, VM_MATCH_INSTANCE_UUID, U1, B1, VM_MATCH_NAME},
    {NULL, NULL, U1, VM_MATCH_NAME, VM_MATCH_NAME, U2, B1, VM_MATCH_MISMATCH}, /* a namesake */
    {NULL, NULL, U1, VM_MATCH_NAME, VM_MATCH_NONE, NULL, NULL, VM_MATCH_NONE},
    {"11111111-0000-4000-8000-00000000000A", NULL, NULL, VM_MATCH_NONE, VM_MATCH_INSTANCE_UUID,
     "11111111-0000-4000-8000-00000000000a", NULL, VM_MATCH_INSTANCE_UUID},
};

static void machines_are_judged(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(judgements); i++) {
        const struct node_identity known = {judgements[i].declared, judgements[i].declared_bios, judgements[i].bound,
                                            judgements[i].bound_by};
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
        cmocka_unit_test(a_declared_state_does_not_age),
        cmocka_unit_test(an_unwatched_vcenter_is_no_witness),
        cmocka_unit_test(names_are_for_those_who_see_all),
        cmocka_unit_test(placement_is_where_the_nodes_run),
        cmocka_unit_test(unseen_nodes_leave_the_declared_placement),
        cmocka_unit_test(long_reasons_are_cut_between_characters),
        cmocka_unit_test(machines_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
