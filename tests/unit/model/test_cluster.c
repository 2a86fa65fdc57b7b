/* The rules that the record of a cluster obeys, and the order of its parts.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cluster.h"
#include "limits.h"

#define UUID "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"

static char long_text[1100];

/* Literals as members; nothing here is freed or written. */
static char *text(const char *s) {
    return (char *)(uintptr_t)s;
}

static struct cluster good(void) {
    static char id[] = UUID, name[] = "prod-1", version[] = "1.31.2", url[] = "https://10.0.0.1:6443", declared[] = "declared";
    static struct object_ref refs[] = {{UUID, "domain-c7"}};
    static struct label labels[2];
    static struct node nodes[2];
    struct cluster c = {
        .id = id,
        .name = name,
        .state = CLUSTER_READY,
        .state_source = declared,
        .kubernetes_version = version,
        .api_endpoint = url,
        .control_plane_ready = -1,
        .control_plane_desired = 3,
        .workers_ready = 0,
        .workers_desired = KAAS_REPLICAS_COUNT_MAX,
        .placement_source = declared,
        .placement = {.items = refs, .count = 1},
        .labels = labels,
        .labels_count = 2,
        .nodes = nodes,
        .nodes_count = 2,
    };
    labels[0] = (struct label){text("example.com/team"), text("shop")};
    labels[1] = (struct label){text("tier"), text("")};
    nodes[0] =
        (struct node){.id = id, .name = text("cp-0"), .role = NODE_CONTROL_PLANE, .vcenter_id = id, .vm_instance_uuid = id};
    nodes[1] = (struct node){.id = id, .name = text("w-0"), .role = NODE_WORKER};
    return c;
}

static void assert_refused(const struct cluster *c, const char *part) {
    struct err err = {0};
    assert_int_equal(cluster_check(c, &err), ERR_UNPROCESSABLE);
    if (!strstr(err.text, part))
        print_error("\"%s\" lacks \"%s\"\n", err.text, part);
    assert_non_null(strstr(err.text, part));
}

static void good_ones_pass(void **state) {
    struct cluster c = good();
    struct err err = {0};
    (void)state;
    assert_int_equal(cluster_check(&c, &err), 0);
    c.placement.count = 0;
    c.labels_count = c.nodes_count = 0;
    c.api_endpoint = NULL;
    assert_int_equal(cluster_check(&c, NULL), 0);
}

#define WITH(member, value, part)   \
    do {                            \
        struct cluster c_ = good(); \
        c_.member = value;          \
        assert_refused(&c_, part);  \
    } while (0)

static void members_are_checked(void **state) {
    (void)state;
    memset(long_text, 'x', 1001);
    WITH(id, NULL, "id");
    WITH(id, text("7"), "id \"7\"");
    WITH(name, text(" x"), "name");
    WITH(name, NULL, "name");
    WITH(description, long_text, "description has 1001");
    WITH(state_reason, long_text, "state_reason");
    WITH(description, text("\xff"), "description is not valid UTF-8");
    WITH(state, CLUSTER_STATE_COUNT, "state");
    WITH(state_source, text("guessed"), "state_source");
    WITH(state_source, NULL, "state_source");
    WITH(placement_source, text("reported"), "placement");
    WITH(kubernetes_version, text("v1.31.2"), "kubernetes_version");
    WITH(kubernetes_version, NULL, "kubernetes_version");
    WITH(api_endpoint, text("http://x"), "api_endpoint");
    WITH(dashboard_url, text("javascript:x"), "dashboard_url");
    WITH(control_plane_ready, -2, "control_plane.ready");
    WITH(control_plane_desired, KAAS_REPLICAS_COUNT_MAX + 1, "control_plane.desired");
    WITH(workers_ready, -2, "workers.ready");
    WITH(workers_desired, KAAS_REPLICAS_COUNT_MAX + 1, "workers.desired");
}

static void placements_are_checked(void **state) {
    static struct object_ref many[KAAS_PLACEMENTS_PER_CLUSTER_MAX + 1];
    static struct object_ref bad_vcenter[] = {{"x", "domain-c7"}}, bad_moref[] = {{UUID, "domain c7"}};
    (void)state;
    WITH(placement, ((struct object_set){.items = many, .count = UNIT_COUNT(many)}), "vsphere_clusters has 65");
    WITH(placement, ((struct object_set){.items = bad_vcenter, .count = 1}), "vcenter_id");
    WITH(placement, ((struct object_set){.items = bad_moref, .count = 1}), "moref");
}

static void labels_are_checked(void **state) {
    static const char *const bad[] = {
        "", "-a", "a-", "a b", "\xc3\xa4", "a=b", ".", "/a", "a234567890123456789012345678901234567890123456789012345678901234"};
    struct cluster c = good();
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        c = good();
        c.labels_count = 1;
        c.labels[0].key = text(bad[i]);
        assert_refused(&c, "label");
    }
    c = good();
    c.labels[0].value = NULL;
    assert_refused(&c, "no value");
    memset(long_text, 'x', 256);
    long_text[256] = '\0';
    c = good();
    c.labels[0].value = long_text;
    assert_refused(&c, "label \"example.com/team\" has 256");
    c = good();
    c.labels[1].key = c.labels[0].key;
    assert_refused(&c, "twice");
    c.labels_count = KAAS_LABELS_COUNT_MAX + 1;
    assert_refused(&c, "labels has 65");
}

static void nodes_are_checked(void **state) {
    struct cluster c = good();
    (void)state;
    c.nodes[0].name = text("");
    assert_refused(&c, "nodes[].name");
    c = good();
    c.nodes[0].id = text("1");
    assert_refused(&c, "nodes[].id");
    c = good();
    c.nodes[0].vcenter_id = NULL; /* found out by watching */
    assert_int_equal(cluster_check(&c, NULL), 0);
    c = good();
    c.nodes[0].vm_bios_uuid = text("1");
    assert_refused(&c, "nodes[].vm_bios_uuid");
    c = good();
    c.nodes[1].vm_name = text("a\nb");
    assert_refused(&c, "nodes[].vm_name");
    c = good();
    c.nodes[0].vcenter_id = text("1");
    assert_refused(&c, "nodes[].vcenter_id");
    c = good();
    c.nodes[0].vm_instance_uuid = text("1");
    assert_refused(&c, "nodes[].vm_instance_uuid");
    c = good();
    c.nodes[1].kubernetes_version = text("1");
    assert_refused(&c, "kubernetes_version");
    c = good();
    c.nodes[1].address = text("node.example.com");
    assert_refused(&c, "nodes[].address");
    c = good();
    c.nodes[1].name = c.nodes[0].name;
    assert_refused(&c, "\"cp-0\" is given twice");
    c.nodes_count = KAAS_NODES_PER_CLUSTER_MAX + 1;
    assert_refused(&c, "nodes has 1001");
}

static void parts_are_sorted(void **state) {
    struct label labels[] = {{text("b"), text("1")}, {text("a"), text("2")}, {text("B"), text("3")}};
    struct node nodes[] = {{.name = text("w-1")}, {.name = text("cp-0")}, {.name = text("w-0")}};
    struct cluster c = {.labels = labels, .labels_count = 3, .nodes = nodes, .nodes_count = 3}, empty = {0};
    (void)state;
    cluster_sort(&c);
    assert_string_equal(labels[0].value, "3");
    assert_string_equal(labels[1].value, "2");
    assert_string_equal(labels[2].value, "1");
    assert_string_equal(nodes[0].name, "cp-0");
    assert_string_equal(nodes[2].name, "w-1");
    cluster_sort(&empty);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones_pass),     cmocka_unit_test(members_are_checked), cmocka_unit_test(placements_are_checked),
        cmocka_unit_test(labels_are_checked), cmocka_unit_test(nodes_are_checked),   cmocka_unit_test(parts_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
