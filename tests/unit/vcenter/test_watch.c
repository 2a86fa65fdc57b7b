/* What a watch knows, whom it recognises, and when it saves. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "strbuf.h"
#include "watch_mirror.h"
#include "str.h"
#include "watch_run_private.h"

#define U1 "50010000-0000-4000-8000-000000000001"
#define U2 "50010000-0000-4000-8000-000000000002"
#define U3 "50010000-0000-4000-8000-000000000003"
#define B3 "42010000-0000-4000-8000-000000000003"
#define B1_TURNED "00000142-0000-0040-8000-000000000001"
#define B1 "42010000-0000-4000-8000-000000000001"

/* of nodes of which Kubernetes tells */
#define P5 "42aa0000-0000-4000-8000-000000000005"
#define P5_TURNED "0000AA42-0000-0040-8000-000000000005"
#define S5 "42bb0000-0000-4000-8000-000000000005"
#define S5_TURNED "0000bb42-0000-0040-8000-000000000005"
#define B5 "42cc0000-0000-4000-8000-000000000005"
#define I6 "500a0000-0000-4000-8000-000000000006"
#define P6 "42aa0000-0000-4000-8000-000000000006"

/* A text that may be pointed to by what is not const. */
#define T(text) ((char[]){text})

/* -- which machine is which node ------------------------------------------------------------------------------------------- */

static const struct node_target targets[] = {
    {.node_id = T("by-instance"), .vm_name = T("n1"), .vm_instance_uuid = T(U1), .vm_bios_uuid = T(B1)},
    {.node_id = T("by-bios"), .vm_name = T("n2"), .vm_bios_uuid = T("4201AAAA-0000-4000-8000-000000000002")},
    {.node_id = T("by-name"), .vm_name = T("n3")},
    {.node_id = T("bound"),
     .vm_name = T("n4"),
     .vm_instance_uuid = T(U3),
     .vm_bios_uuid = T(B3),
     .seen_moref = T("vm-4"),
     .seen_name = T("its name")},
    {.node_id = T("told"), .vm_name = T("n5"), .provider_uuid = T(P5), .system_uuid = T(S5), .vm_bios_uuid = T(B5)},
    {.node_id = T("told-and-declared"), .vm_name = T("n6"), .vm_instance_uuid = T(I6), .provider_uuid = T(P6)},
};

static struct node_found find(const struct watch_object *vms, size_t count, size_t target) {
    struct node_matcher *matcher = NULL;
    struct node_found found;
    assert_int_equal(node_matcher_new(targets, UNIT_COUNT(targets), &matcher, NULL), 0);
    for (int round = 0; round < 2; round++) { /* the second one must not remember the first */
        node_matcher_reset(matcher);
        for (size_t i = 0; i < count; i++)
            node_matcher_look(matcher, &vms[i]);
        found = node_matcher_get(matcher, target);
    }
    node_matcher_free(matcher);
    return found;
}

static void the_instance_uuid_comes_first(void **state) {
    const struct watch_object vms[] = {{.moref = T("vm-1"), .name = T("n1"), .instance_uuid = T(U2)},
                                       {.moref = T("vm-2"), .name = T("other"), .instance_uuid = T(U1)}};
    struct node_found found = find(vms, 2, 0);
    (void)state;
    assert_string_equal(found.vm->moref, "vm-2");
    assert_int_equal(found.match, VM_MATCH_INSTANCE_UUID);
}

static void then_the_bios_uuid_then_the_name(void **state) {
    const struct watch_object bios = {.moref = T("vm-1"), .name = T("x"), .bios_uuid = T(B1)},
                              name = {.moref = T("vm-2"), .name = T("n1")};
    const struct watch_object both[] = {name, bios};
    struct node_found found = find(both, 2, 0);
    (void)state;
    assert_string_equal(found.vm->moref, "vm-1");
    assert_int_equal(found.match, VM_MATCH_BIOS_UUID);
    found = find(&name, 1, 0);
    assert_string_equal(found.vm->moref, "vm-2");
    assert_int_equal(found.match, VM_MATCH_NAME);
    found = find(NULL, 0, 0);
    assert_null(found.vm);
    assert_int_equal(found.match, VM_MATCH_NONE);
    assert_false(found.is_ambiguous);
}

static void uuids_have_no_case_names_have(void **state) {
    const struct watch_object bios = {.moref = T("vm-1"), .bios_uuid = T("4201aaaa-0000-4000-8000-000000000002")},
                              name = {.moref = T("vm-2"), .name = T("N3")};
    (void)state;
    assert_int_equal(find(&bios, 1, 1).match, VM_MATCH_BIOS_UUID);
    assert_int_equal(find(&name, 1, 2).match, VM_MATCH_NONE);
}

static void bios_uuids_have_two_byte_orders(void **state) {
    const struct watch_object turned[] = {{.moref = T("vm-2"), .name = T("n1")}, {.moref = T("vm-1"), .bios_uuid = T(B1_TURNED)}};
    const struct watch_object both[] = {{.moref = T("vm-1"), .bios_uuid = T(B1_TURNED)},
                                        {.moref = T("vm-2"), .bios_uuid = T(B1)}};
    const struct watch_object odd[] = {{.moref = T("vm-1"), .bios_uuid = T("no UUID")}, {.moref = T("vm-2"), .bios_uuid = T("")}};
    struct node_found found = find(turned, 2, 0);
    (void)state;
    assert_string_equal(found.vm->moref, "vm-1");
    assert_int_equal(found.match, VM_MATCH_BIOS_UUID);
    assert_true(find(both, 2, 0).is_ambiguous);
    assert_null(find(odd, 2, 0).vm);
}

static void a_bound_machine_without_configuration_stays(void **state) {
    const struct watch_object away = {.moref = T("vm-4"), .name = T("[ds] x/x.vmx")},
                              other = {.moref = T("vm-5"), .name = T("n4")},
                              copy = {.moref = T("vm-6"), .instance_uuid = T(U1), .bios_uuid = T(B3)},
                              back = {.moref = T("vm-7"), .instance_uuid = T(U3)},
                              new = {.moref = T("vm-4"), .instance_uuid = T(U2), .name = T("n4")};
    const struct watch_object one[] = {other, copy, away}, two[] = {away, back};
    struct node_found found = find(one, 3, 3); /* before one that has its BIOS UUID, or its name */
    (void)state;
    assert_string_equal(found.vm->moref, "vm-4");
    assert_int_equal(found.match, VM_MATCH_INSTANCE_UUID);
    assert_true(found.is_by_moref);
    found = find(two, 2, 3); /* registered anew under another moref */
    assert_string_equal(found.vm->moref, "vm-7");
    assert_false(found.is_by_moref);
    found = find(&new, 1, 3); /* one that says it is another is not it */
    assert_int_equal(found.match, VM_MATCH_NAME);
    assert_false(found.is_by_moref);
}

/* The machine with the name is always there, first the last of the others, then one more before it each time. */
static void what_kubernetes_tells_comes_before_declared_bios_uuid_and_name(void **state) {
    const struct watch_object vms[] = {{.moref = T("by-name"), .name = T("n5"), .bios_uuid = T(B1)},
                                       {.moref = T("by-bios"), .bios_uuid = T(B5)},
                                       {.moref = T("by-system"), .bios_uuid = T(S5_TURNED)},
                                       {.moref = T("by-provider"), .bios_uuid = T(P5_TURNED)}};
    static const enum vm_match by[] = {VM_MATCH_NAME, VM_MATCH_BIOS_UUID, VM_MATCH_BIOS_UUID, VM_MATCH_BIOS_UUID};
    (void)state;
    for (size_t count = 1; count <= UNIT_COUNT(vms); count++) {
        struct node_found found = find(vms, count, 4);
        assert_string_equal(found.vm->moref, vms[count - 1].moref);
        assert_int_equal(found.match, by[count - 1]);
    }
}

static void several_with_the_uuid_that_kubernetes_tells_are_no_answer(void **state) {
    const struct watch_object vms[] = {{.moref = T("one"), .bios_uuid = T(P5)},
                                       {.moref = T("its-copy"), .bios_uuid = T(P5_TURNED)},
                                       {.moref = T("by-system"), .bios_uuid = T(S5)}};
    struct node_found found = find(vms, 3, 4);
    (void)state;
    assert_null(found.vm);
    assert_true(found.is_ambiguous);
}

static void a_declared_or_bound_instance_uuid_comes_before_what_kubernetes_tells(void **state) {
    const struct watch_object told = {.moref = T("told"), .instance_uuid = T(U1), .bios_uuid = T(P6)};
    const struct watch_object vms[] = {told, {.moref = T("declared"), .instance_uuid = T(I6)}};
    (void)state;
    assert_string_equal(find(vms, 2, 5).vm->moref, "declared");
    assert_string_equal(find(&told, 1, 5).vm->moref, "told");
}

static void several_are_no_answer_and_no_way_on(void **state) {
    const struct watch_object vms[] = {{.moref = T("vm-1"), .name = T("a"), .bios_uuid = T(B1)},
                                       {.moref = T("vm-2"), .name = T("b"), .bios_uuid = T(B1)},
                                       {.moref = T("vm-3"), .name = T("n1")}};
    struct node_found found = find(vms, 3, 0);
    (void)state;
    assert_true(found.is_ambiguous);
    assert_null(found.vm);
    assert_int_equal(found.match, VM_MATCH_NONE);
}

static void templates_are_no_machines(void **state) {
    const struct watch_object vms[] = {{.moref = T("vm-1"), .name = T("n3"), .is_template = true},
                                       {.moref = T("vm-2"), .name = T("n3")}};
    (void)state;
    assert_string_equal(find(vms, 2, 2).vm->moref, "vm-2");
    assert_null(find(vms, 1, 2).vm);
}

static void many_targets_are_told_apart(void **state) {
    enum { MANY = 500 };
    struct node_target *many = calloc(MANY, sizeof(*many));
    struct watch_object *vms = calloc(MANY, sizeof(*vms));
    struct node_matcher *matcher = NULL;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        many[i].vm_name = str_format("node-%d", (i * 7) % MANY);
        vms[i].name = str_format("node-%d", i);
    }
    assert_int_equal(node_matcher_new(many, MANY, &matcher, NULL), 0);
    for (int i = 0; i < MANY; i++)
        node_matcher_look(matcher, &vms[i]);
    for (int i = 0; i < MANY; i++)
        assert_string_equal(node_matcher_get(matcher, (size_t)i).vm->name, many[i].vm_name);
    node_matcher_free(matcher);
    for (int i = 0; i < MANY; i++) {
        free(many[i].vm_name);
        free(vms[i].name);
    }
    free(many);
    free(vms);
}

/* -- when and by whom ------------------------------------------------------------------------------------------------------ */

static enum watch_step next(const struct watch_plan *plan, int64_t now_ms, int64_t *wait_ms) {
    return watch_plan_next(plan, now_ms, true, wait_ms);
}

static struct watch_plan plan_with_lease(void) {
    struct watch_plan plan = {0};
    int64_t wait_ms;
    assert_int_equal(next(&plan, 1000, &wait_ms), WATCH_TAKE_LEASE);
    watch_plan_note_lease(&plan, 1000, 0, true);
    assert_int_equal(next(&plan, 1000, &wait_ms), WATCH_SAVE);
    assert_int_equal(watch_plan_take(&plan, 1000), WATCH_SAVE_ALL);
    watch_plan_note_saved(&plan, 1010, WATCH_SAVE_ALL, 0, 0);
    return plan;
}

static void nothing_is_done_without_a_picture(void **state) {
    struct watch_plan plan = {0};
    int64_t wait_ms = 0;
    (void)state;
    watch_plan_add(&plan, WATCH_SAVE_NODES);
    assert_int_equal(watch_plan_next(&plan, 1000, false, &wait_ms), WATCH_WAIT);
    assert_true(wait_ms > 0);
}

static void the_first_change_is_saved_at_once_a_flood_is_not(void **state) {
    struct watch_plan plan = plan_with_lease();
    int64_t wait_ms = 0, saves = 0;
    (void)state;
    watch_plan_add(&plan, WATCH_SAVE_NODES);
    assert_int_equal(next(&plan, 2000, &wait_ms), WATCH_SAVE);
    for (int64_t now_ms = 2000; now_ms < 3000; now_ms++) { /* a change each millisecond */
        watch_plan_add(&plan, WATCH_SAVE_NODES);
        if (next(&plan, now_ms, &wait_ms) != WATCH_SAVE)
            continue;
        assert_int_equal(watch_plan_take(&plan, now_ms), WATCH_SAVE_NODES);
        watch_plan_note_saved(&plan, now_ms, WATCH_SAVE_NODES, 0, 0);
        saves++;
    }
    assert_int_equal(saves, 5);
    watch_plan_add(&plan, WATCH_SAVE_NODES); /* the last one is not forgotten */
    assert_int_equal(next(&plan, 2999, &wait_ms), WATCH_WAIT);
    assert_int_equal(next(&plan, 2999 + wait_ms, &wait_ms), WATCH_SAVE);
}

static void who_has_no_lease_saves_nothing_and_then_everything(void **state) {
    struct watch_plan plan = {0};
    int64_t wait_ms = 0;
    (void)state;
    watch_plan_note_lease(&plan, 1000, 0, false);
    watch_plan_add(&plan, WATCH_SAVE_NODES);
    assert_int_equal(next(&plan, 1001, &wait_ms), WATCH_WAIT);
    assert_int_equal(next(&plan, 1001 + wait_ms, &wait_ms), WATCH_TAKE_LEASE);
    plan.full_at_ms = INT64_MAX;
    watch_plan_note_lease(&plan, 9000, 0, true);
    assert_int_equal(next(&plan, 9000, &wait_ms), WATCH_SAVE);
    assert_int_equal(watch_plan_take(&plan, 9000), WATCH_SAVE_ALL);
}

static void a_lease_that_cannot_be_renewed_ends(void **state) {
    struct watch_plan plan = plan_with_lease();
    int64_t wait_ms = 0;
    (void)state;
    watch_plan_note_lease(&plan, 1000 + WATCH_LEASE_RENEW_MS, ERR_DATABASE, false);
    watch_plan_add(&plan, WATCH_SAVE_NODES);
    assert_int_equal(next(&plan, 1001 + WATCH_LEASE_RENEW_MS, &wait_ms), WATCH_SAVE); /* ours until it ends */
    plan.ask_lease_at_ms = INT64_MAX;
    assert_int_equal(next(&plan, 1000 + WATCH_LEASE_MS, &wait_ms), WATCH_WAIT);
}

static void what_failed_is_tried_again_with_back_off(void **state) {
    struct watch_plan plan = plan_with_lease();
    int64_t now_ms = 2000, wait_ms = 0;
    (void)state;
    watch_plan_add(&plan, WATCH_SAVE_CLUSTERS);
    for (int i = 0; i < 6; i++) {
        unsigned parts = watch_plan_take(&plan, now_ms);
        assert_int_equal(parts, WATCH_SAVE_CLUSTERS);
        watch_plan_note_saved(&plan, now_ms, parts, ERR_DATABASE, 0);
        plan.lease_until_ms = plan.ask_lease_at_ms = now_ms + 100000;
        assert_int_equal(next(&plan, now_ms, &wait_ms), WATCH_WAIT);
        assert_true(wait_ms >= 300 && wait_ms <= 5000);
        now_ms += wait_ms;
        assert_int_equal(next(&plan, now_ms, &wait_ms), WATCH_SAVE);
    }
}

static void from_time_to_time_everything_is_saved(void **state) {
    struct watch_plan plan = plan_with_lease();
    int64_t wait_ms = 0, now_ms = 1000 + WATCH_FULL_MS;
    (void)state;
    plan.lease_until_ms = plan.ask_lease_at_ms = now_ms + 1000;
    assert_int_equal(next(&plan, now_ms - 1, &wait_ms), WATCH_WAIT);
    assert_int_equal(next(&plan, now_ms, &wait_ms), WATCH_SAVE);
    assert_int_equal(watch_plan_take(&plan, now_ms), WATCH_SAVE_ALL);
}

/* -- the mirror ------------------------------------------------------------------------------------------------------------ */

static struct watch_mirror mirror;

static int empty_mirror(void **state) {
    (void)state;
    watch_mirror_done(&mirror);
    return 0;
}

static void put_cluster(const char *moref, const char *name, const char *parent) {
    const struct vim_watch_object c = {.kind = VIM_OBJECT_CLUSTER, .moref = moref, .name = name, .parent_moref = parent};
    assert_int_equal(watch_mirror_put(&mirror, &c, NULL), 0);
}

static void put_host(const char *moref, const char *parent, const char *connection) {
    const struct vim_watch_object h = {
        .kind = VIM_OBJECT_HOST, .moref = moref, .name = moref, .parent_moref = parent, .connection = connection};
    assert_int_equal(watch_mirror_put(&mirror, &h, NULL), 0);
}

static void put_vm(const char *moref, const char *name, const char *host, const char *power) {
    const struct vim_watch_object vm = {
        .kind = VIM_OBJECT_VM, .moref = moref, .name = name, .host_moref = host, .power = power, .connection = "connected"};
    assert_int_equal(watch_mirror_put(&mirror, &vm, NULL), 0);
}

static void put_places(void) {
    const struct vim_watch_object dc = {.kind = VIM_OBJECT_DATACENTER, .moref = T("datacenter-2"), .name = T("DC0")};
    const struct vim_watch_object folders[] = {
        {.kind = VIM_OBJECT_FOLDER, .moref = T("group-h1"), .parent_moref = "group-h0"},
        {.kind = VIM_OBJECT_FOLDER, .moref = T("group-h0"), .parent_moref = "datacenter-2"},
        {.kind = VIM_OBJECT_FOLDER, .moref = T("group-h8"), .parent_moref = "group-h9"},
        {.kind = VIM_OBJECT_FOLDER, .moref = T("group-h9"), .parent_moref = "group-h8"}}; /* round and round */
    assert_int_equal(watch_mirror_put(&mirror, &dc, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(folders); i++)
        assert_int_equal(watch_mirror_put(&mirror, &folders[i], NULL), 0);
}

/* The folders as vCenter has them; the root folder is not named, and a slash in a name is written as vCenter writes it. */
static void a_path_names_each_folder(void **state) {
    const struct vim_watch_object above[] = {
        {.kind = VIM_OBJECT_FOLDER, .moref = T("group-d1"), .name = T("Datacenters")},
        {.kind = VIM_OBJECT_DATACENTER, .moref = T("datacenter-3"), .name = T("DC1"), .parent_moref = T("group-d1")},
        {.kind = VIM_OBJECT_FOLDER, .moref = T("group-h3"), .name = T("host"), .parent_moref = T("datacenter-3")},
        {.kind = VIM_OBJECT_FOLDER, .moref = T("group-h4"), .name = T("Racks"), .parent_moref = T("group-h3")}};
    _cleanup_strbuf_ struct strbuf path;
    strbuf_init(&path, 200);
    (void)state;
    put_places();
    for (size_t i = 0; i < UNIT_COUNT(above); i++)
        assert_int_equal(watch_mirror_put(&mirror, &above[i], NULL), 0);
    put_cluster("domain-c7", "East/1", "group-h4");
    put_cluster("domain-c8", "Lost", "group-h8"); /* round and round */
    put_cluster("domain-c9", "Else", "group-h5"); /* a folder that is not shown to us */
    assert_true(watch_mirror_get_path(&mirror, "domain-c7", &path));
    assert_string_equal(path.data, "/DC1/host/Racks/East%2f1");
    assert_false(watch_mirror_get_path(&mirror, "domain-c8", &path));
    assert_false(watch_mirror_get_path(&mirror, "domain-c9", &path));
    assert_false(watch_mirror_get_path(&mirror, "domain-c10", &path));
}

static void clusters_come_with_their_datacenters(void **state) {
    const struct vim_watch_object plain = {
        .kind = VIM_OBJECT_CLUSTER, .moref = T("domain-s1"), .name = T("alone"), .is_plain = true};
    struct watch_inventory found = {0};
    (void)state;
    put_places();
    put_cluster("domain-c70", "West", "group-h1");
    put_cluster("domain-c7", "East", "datacenter-2");
    put_cluster("domain-c9", "Lost", "group-h8");
    put_cluster("domain-c8", NULL, "datacenter-2"); /* not ours to see */
    assert_int_equal(watch_mirror_put(&mirror, &plain, NULL), 0);
    assert_int_equal(watch_mirror_get_inventory(&mirror, &found, NULL), 0);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.clusters[0].moref, "domain-c7");
    assert_string_equal(found.clusters[1].datacenter, "DC0");
    assert_string_equal(found.clusters[1].datacenter_moref, "datacenter-2");
    assert_null(found.clusters[2].datacenter);
    assert_null(found.clusters[2].datacenter_moref);
    watch_inventory_done(&found);
}

static unsigned take_changed(void) {
    unsigned changed = mirror.changed;
    mirror.changed = 0;
    return changed;
}

static void only_what_differs_is_a_change(void **state) {
    const struct vim_watch_object
        modified = {.kind = VIM_OBJECT_VM, .op = VIM_WATCH_MODIFY, .moref = T("vm-1"), .power = "poweredOff"},
        unset = {.kind = VIM_OBJECT_VM, .op = VIM_WATCH_MODIFY, .moref = T("vm-1"), .unset = VIM_WATCH_HOST},
        left = {.kind = VIM_OBJECT_VM, .op = VIM_WATCH_LEAVE, .moref = T("vm-1")};
    (void)state;
    put_vm("vm-1", "n", "host-1", "poweredOn");
    assert_int_equal(take_changed(), WATCH_NODES);
    put_vm("vm-1", "n", "host-1", "poweredOn");
    assert_int_equal(take_changed(), 0);
    assert_int_equal(watch_mirror_put(&mirror, &modified, NULL), 0);
    assert_int_equal(take_changed(), WATCH_NODES);
    assert_int_equal(watch_mirror_put(&mirror, &unset, NULL), 0);
    assert_int_equal(take_changed(), WATCH_NODES);
    assert_int_equal(watch_mirror_put(&mirror, &unset, NULL), 0);
    assert_int_equal(take_changed(), 0);
    assert_int_equal(watch_mirror_put(&mirror, &left, NULL), 0);
    assert_int_equal(take_changed(), WATCH_NODES);
    assert_int_equal(watch_mirror_put(&mirror, &left, NULL), 0);
    assert_int_equal(take_changed(), 0);
    assert_int_equal(mirror.count, 0);
    put_cluster("domain-c1", "c", "group-h1");
    assert_int_equal(take_changed(), WATCH_CLUSTERS | WATCH_NODES);
}

static void nodes_come_with_host_and_cluster(void **state) {
    const struct node_target wanted[] = {{.node_id = T("a"), .vm_name = T("n1")}, {.node_id = T("b"), .vm_name = T("n2")}};
    struct node_matcher *matcher = NULL;
    struct watch_nodes nodes;
    (void)state;
    put_places();
    put_cluster("domain-c7", "East", "datacenter-2");
    put_host("host-1", "domain-c7", "notResponding");
    put_vm("vm-1", "n1", "host-1", "suspended");
    put_vm("vm-2", "n2", "host-2", "somethingNew");
    assert_int_equal(node_matcher_new(wanted, 2, &matcher, NULL), 0);
    assert_int_equal(watch_mirror_get_nodes(&mirror, matcher, wanted, 2, &nodes, NULL), 0);
    assert_int_equal(nodes.count, 2);
    assert_string_equal(nodes.items[0].cluster_moref, "domain-c7");
    assert_int_equal(nodes.items[0].power, VM_POWER_SUSPENDED);
    assert_int_equal(nodes.items[0].host_connection, HOST_CONNECTION_NOT_RESPONDING);
    assert_null(nodes.items[1].cluster_moref);
    assert_string_equal(nodes.items[1].host_moref, "host-2");
    assert_int_equal(nodes.items[1].power, VM_POWER_UNKNOWN);
    watch_nodes_done(&nodes);
    node_matcher_free(matcher);
}

/* vCenter cannot read the machine's files any more: what it was is kept, and it is inaccessible. */
static void a_machine_that_loses_its_configuration_is_inaccessible(void **state) {
    const struct node_target wanted[] = {
        {.node_id = T("a"), .vm_name = T("n1"), .vm_instance_uuid = T(U1), .seen_moref = T("vm-1"), .seen_name = T("web-1")}};
    static const char *const words[] = {"connected", "orphaned", "somethingNew"};
    static const enum vm_connection shown[] = {VM_CONNECTION_INACCESSIBLE, VM_CONNECTION_ORPHANED, VM_CONNECTION_UNKNOWN};
    struct node_matcher *matcher = NULL;
    struct watch_nodes nodes;
    (void)state;
    assert_int_equal(node_matcher_new(wanted, 1, &matcher, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(words); i++) {
        const struct vim_watch_object told = {.op = VIM_WATCH_ENTER,
                                              .kind = VIM_OBJECT_VM,
                                              .moref = T("vm-1"),
                                              .name = T("[ds-1] web/web.vmx"),
                                              .power = T("poweredOn"),
                                              .connection = (char *)(uintptr_t)words[i],
                                              .unset = VIM_WATCH_INSTANCE_UUID | VIM_WATCH_BIOS_UUID};
        assert_int_equal(watch_mirror_put(&mirror, &told, NULL), 0);
        assert_int_equal(watch_mirror_get_nodes(&mirror, matcher, wanted, 1, &nodes, NULL), 0);
        assert_int_equal(nodes.count, 1);
        assert_string_equal(nodes.items[0].vm_moref, "vm-1");
        assert_string_equal(nodes.items[0].vm_name, "web-1");
        assert_string_equal(nodes.items[0].instance_uuid, U1);
        assert_int_equal(nodes.items[0].match, VM_MATCH_INSTANCE_UUID);
        assert_int_equal(nodes.items[0].connection, shown[i]);
        watch_nodes_done(&nodes);
    }
    node_matcher_free(matcher);
}

static void our_record_is_compared(void **state) {
    static char key[] = "com.cisco.kaas";
    char *items[] = {key};
    const struct vim_key_list keys = {items, 1};
    struct vim_extension record = {.key = key, .version = "1"};
    (void)state;
    assert_int_equal(watch_mirror_put_extensions(&mirror, &keys, NULL, NULL), 0); /* missing from the beginning */
    assert_int_equal(take_changed(), WATCH_CLUSTERS | WATCH_RECORD);
    assert_int_equal(watch_mirror_put_extensions(&mirror, &keys, &record, NULL), 0);
    assert_int_equal(take_changed(), WATCH_RECORD); /* nobody knows what it was before */
    record.last_heartbeat_time = "2026-01-01T00:00:00Z";
    assert_int_equal(watch_mirror_put_extensions(&mirror, &keys, &record, NULL), 0);
    assert_int_equal(take_changed(), 0);
    record.health_url = "https://x";
    assert_int_equal(watch_mirror_put_extensions(&mirror, &keys, &record, NULL), 0);
    assert_int_equal(take_changed(), WATCH_RECORD);
    assert_int_equal(watch_mirror_put_extensions(&mirror, &keys, NULL, NULL), 0);
    assert_int_equal(take_changed(), WATCH_RECORD);
}

#define MIRROR(fn) cmocka_unit_test_setup_teardown(fn, empty_mirror, empty_mirror)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_instance_uuid_comes_first),
        cmocka_unit_test(then_the_bios_uuid_then_the_name),
        cmocka_unit_test(uuids_have_no_case_names_have),
        cmocka_unit_test(bios_uuids_have_two_byte_orders),
        cmocka_unit_test(a_bound_machine_without_configuration_stays),
        cmocka_unit_test(several_are_no_answer_and_no_way_on),
        cmocka_unit_test(what_kubernetes_tells_comes_before_declared_bios_uuid_and_name),
        cmocka_unit_test(several_with_the_uuid_that_kubernetes_tells_are_no_answer),
        cmocka_unit_test(a_declared_or_bound_instance_uuid_comes_before_what_kubernetes_tells),
        cmocka_unit_test(templates_are_no_machines),
        cmocka_unit_test(many_targets_are_told_apart),
        cmocka_unit_test(nothing_is_done_without_a_picture),
        cmocka_unit_test(the_first_change_is_saved_at_once_a_flood_is_not),
        cmocka_unit_test(who_has_no_lease_saves_nothing_and_then_everything),
        cmocka_unit_test(a_lease_that_cannot_be_renewed_ends),
        cmocka_unit_test(what_failed_is_tried_again_with_back_off),
        cmocka_unit_test(from_time_to_time_everything_is_saved),
        MIRROR(clusters_come_with_their_datacenters),
        MIRROR(a_path_names_each_folder),
        MIRROR(only_what_differs_is_a_change),
        MIRROR(nodes_come_with_host_and_cluster),
        MIRROR(a_machine_that_loses_its_configuration_is_inaccessible),
        MIRROR(our_record_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
