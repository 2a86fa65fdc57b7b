/* Connections to Kubernetes against a real server: their rows, their token, and the nodes that Kubernetes tells beside those that are declared.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <stdio.h>

#include "clock.h"
#include "cluster_store.h"
#include "kube_facts.h"
#include "kube_store.h"
#include "lease_store.h"
#include "observation_store.h"
#include "store_tx.h"
#include "str.h"

#define CLUSTER "aaaaaaaa-aaaa-4aaa-8aaa-000000000001" /* fixture_cluster(1) */
#define UID_1 "6a1f1f5e-0000-4000-8000-00000000000a"
#define MACHINE_1 "42111111-2222-3333-4444-555555555555"
#define TURNED_1 "11111142-2222-3333-4444-555555555555"
#define MACHINE_2 "42222222-2222-3333-4444-555555555555"

static struct store *store;
static struct change_positions positions;
static struct lease_fence fence;

static int set_up(void **state) {
    return fixture_begin(state, &store, &positions);
}

static int tear_down(void **state) {
    return fixture_end(state, store, &positions);
}

static int empty(void **state) {
    struct err err = {0};
    (void)state;
    fixture_exec("DELETE FROM kube_connections");
    fixture_exec("DELETE FROM clusters");
    fixture_exec("DELETE FROM node_observations");
    fixture_exec("DELETE FROM vcenters");
    fixture_exec("DELETE FROM secrets");
    ASSERT_OK(lease_store_take(store, "kube:" CLUSTER, 600000, &fence, &err), &err);
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    return 0;
}

/* -- the connection -------------------------------------------------------------------------------------------------------- */

static char cluster_id[] = CLUSTER, address[] = "https://k.test:6443", ca[] = "CA", uid[] = UID_1;
static uint8_t token_bytes[] = {'t', 0, 1};
static const struct secret_value token = {token_bytes, sizeof(token_bytes)};

static struct kube_connection make_connection(int64_t version_no) {
    return (struct kube_connection){.cluster_id = cluster_id,
                                    .address = address,
                                    .ca_pem = ca,
                                    .cluster_uid = uid,
                                    .updated_at_ms = FIXTURE_NOW_MS,
                                    .version_no = version_no};
}

static void put(const struct kube_connection *connection, const struct cluster *cluster, int code) {
    const struct kube_write write = {
        .connection = connection, .cluster = cluster, .token = &token, .token_until_ms = 7, .token_renew_at_ms = 5};
    struct err err = {0};
    ASSERT_CODE(kube_store_put(store, &write, &err), code, &err);
}

/* A cluster with one declared node, "worker-1", and a connection. */
static void connect(void) {
    const struct kube_connection connection = make_connection(0);
    struct cluster *c = fixture_cluster(1, "prod");
    char id[] = "00000000-0000-4000-8000-0000000000aa", name[] = "worker-1", vm[] = "vm-of-worker";
    struct node declared = {.id = id, .name = name, .role = NODE_WORKER, .vm_name = vm};
    struct node *const nodes = c->nodes;
    c->nodes = &declared;
    c->nodes_count = 1;
    assert_string_equal(c->id, CLUSTER);
    put(&connection, c, 0);
    c->nodes = nodes;
    c->nodes_count = 0;
    cluster_free(c);
}

static void test_a_cluster_comes_with_its_connection_or_not_at_all(void **state) {
    const struct kube_connection connection = make_connection(0);
    _cleanup_(cluster_free) struct cluster *c = fixture_cluster(1, "prod");
    _cleanup_(kube_connection_free) struct kube_connection *read = NULL;
    _cleanup_(kube_status_free) struct kube_status *status = NULL;
    struct kube_connection_list list = {0};
    const struct secret_place place = kube_store_place(CLUSTER);
    struct secret_value value = {0};
    struct err err = {0};
    (void)state;
    put(&connection, NULL, ERR_CONFLICT); /* there is no such cluster */
    put(&connection, c, 0);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_CLUSTER), 1);
    ASSERT_OK(kube_store_load_by_uid(store, UID_1, &read, &err), &err);
    assert_string_equal(read->cluster_id, CLUSTER);
    assert_string_equal(read->ca_pem, "CA");
    assert_null(read->sha256);
    assert_int_equal(read->created_at_ms, FIXTURE_NOW_MS);
    assert_int_equal(read->version_no, 1);
    ASSERT_OK(kube_store_load_status(store, CLUSTER, &status, &err), &err);
    assert_int_equal(status->remote.state, REMOTE_NEW);
    assert_int_equal(status->token_until_ms, 7);
    assert_int_equal(status->health.workers_desired, -1);
    ASSERT_OK(secret_store_load(store, &place, &value, &err), &err);
    assert_int_equal(value.count, sizeof(token_bytes));
    assert_memory_equal(value.bytes, token_bytes, sizeof(token_bytes));
    free(value.bytes);
    ASSERT_OK(kube_store_list(store, &list, &err), &err);
    assert_int_equal(list.count, 1);
    kube_connection_list_done(&list);
    put(&connection, NULL, ERR_EXISTS); /* it has one */
    struct cluster *second = fixture_cluster(2, "second");
    struct kube_connection same_uid = connection;
    same_uid.cluster_id = second->id;
    put(&same_uid, second, ERR_EXISTS); /* another cluster has this uid: neither of the two rows is written */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM clusters"), 1);
    cluster_free(second);
}

static void test_credentials_are_replaced_in_place(void **state) {
    struct kube_connection connection = make_connection(1);
    struct kube_status *status = NULL;
    struct err err = {0};
    (void)state;
    connect();
    ASSERT_OK(kube_store_load_status(store, CLUSTER, &status, &err), &err);
    connection.updated_at_ms = FIXTURE_NOW_MS + 1;
    put(&connection, NULL, 0);
    put(&connection, NULL, ERR_PRECONDITION);
    /* what began before cannot write over it */
    ASSERT_CODE(kube_store_save_status(store, status, NULL, &fence, true, &err), ERR_PRECONDITION, &err);
    kube_status_free(status);
    assert_int_equal(fixture_number("SELECT version_no FROM kube_connections"), 2);
    assert_int_equal(fixture_number("SELECT created_at_ms FROM kube_connections"), FIXTURE_NOW_MS);
}

static void test_a_status_is_written_by_the_holder_of_the_lease(void **state) {
    const struct secret_value renewed = {token_bytes, 1};
    struct lease_fence next;
    struct kube_status *status = NULL;
    const struct secret_place place = kube_store_place(CLUSTER);
    struct secret_value value = {0};
    struct err err = {0};
    (void)state;
    connect();
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    ASSERT_OK(kube_store_load_status(store, CLUSTER, &status, &err), &err);
    status->remote.state = REMOTE_OK;
    status->health.state = CLUSTER_DEGRADED;
    status->health.reason = str_dup("one node of five");
    status->health.workers_ready = 4;
    ASSERT_OK(kube_store_save_status(store, status, NULL, &fence, true, &err), &err);
    ASSERT_OK(kube_store_save_status(store, status, &renewed, &fence, false, &err), &err);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_CLUSTER), 1); /* only the news */
    ASSERT_OK(lease_store_take(store, "kube:" CLUSTER, 600000, &next, &err), &err);
    ASSERT_CODE(kube_store_save_status(store, status, &token, &fence, true, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(secret_store_load(store, &place, &value, &err), &err);
    assert_int_equal(value.count, 1);
    free(value.bytes);
    assert_int_equal(fixture_number("SELECT workers_ready FROM kube_statuses WHERE health = 'degraded' AND state = 'ok'"), 4);
    ASSERT_OK(kube_store_delete(store, CLUSTER, 0, NULL, &err), &err);
    ASSERT_CODE(kube_store_save_status(store, status, NULL, &next, true, &err), ERR_NOT_FOUND, &err);
    kube_status_free(status);
}

static void test_a_version_that_was_typed_gives_way_and_replicas_hear_of_it(void **state) {
    _cleanup_(kube_status_free) struct kube_status *status = NULL;
    _cleanup_(cluster_free) struct cluster *read = NULL;
    struct err err = {0};
    (void)state;
    connect();
    ASSERT_OK(kube_store_load_status(store, CLUSTER, &status, &err), &err);
    assert_int_equal(str_replace(&status->version, "1.36.3", NULL), 0);
    ASSERT_OK(kube_store_save_status(store, status, NULL, &fence, false, &err), &err);
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    ASSERT_OK(kube_store_save_status(store, status, NULL, &fence, false, &err), &err);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_CLUSTER), 0);
    fixture_exec("UPDATE clusters SET kubernetes_version = '1.2.3'");
    ASSERT_OK(kube_store_save_status(store, status, NULL, &fence, false, &err), &err);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_CLUSTER), 1);
    ASSERT_OK(cluster_store_load(store, CLUSTER, &read, &err), &err);
    assert_string_equal(read->kubernetes_version, "1.36.3");
}

static void test_a_connected_cluster_is_not_removed(void **state) {
    struct err err = {0};
    (void)state;
    connect();
    assert_int_equal(cluster_store_delete(store, CLUSTER, 0, NULL, &err), ERR_CONFLICT);
    assert_string_equal(err.text, "the cluster \"prod\" is connected");
    assert_string_equal(err.remedy, "disconnect it first: kaasctl cluster disconnect prod");
    err_clear(&err);
    ASSERT_CODE(kube_store_delete(store, CLUSTER, 7, NULL, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(kube_store_delete(store, CLUSTER, 1, NULL, &err), &err);
    ASSERT_CODE(kube_store_delete(store, CLUSTER, 0, NULL, &err), ERR_NOT_FOUND, &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM kube_statuses"), 0);
    ASSERT_OK(cluster_store_delete(store, CLUSTER, 0, NULL, &err), &err);
}

/* -- nodes ----------------------------------------------------------------------------------------------------------------- */

static struct kube_node make_node(const char *name, const char *machine) {
    struct kube_node node = {.name = str_dup(name),
                             .uid = str_format("uid of %s", name),
                             .system_uuid = str_dup(machine),
                             .kubelet_version = str_dup("v1.36.3"),
                             .address = str_dup("10.0.0.1"),
                             .created_s = 100};
    node.conditions[KUBE_NODE_READY] = (struct kube_condition){.truth = KUBE_TRUE, .is_there = true, .transition_s = 200};
    return node;
}

/* Saves these nodes, and expects so many rows to be written. */
static void save(const struct kube_node *items, size_t count, unsigned wanted) {
    const struct kube_nodes told = {items, count};
    struct err err = {0};
    unsigned changed = 99;
    ASSERT_OK(kube_store_save_nodes(store, CLUSTER, &told, NULL, &fence, &changed, &err), &err);
    assert_int_equal(changed, wanted);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_CLUSTER), wanted != 0);
}

#define NODES_COUNT 3
static struct kube_node nodes[NODES_COUNT]; /* cp-1, worker-1 (declared, too), worker-2 */

static void make_nodes(void) {
    nodes[0] = make_node("worker-2", MACHINE_2);
    nodes[1] = make_node("cp-1", MACHINE_1);
    nodes[1].is_control_plane = true;
    nodes[2] = make_node("worker-1", NULL);
}

static void free_nodes(void) {
    for (size_t i = 0; i < NODES_COUNT; i++)
        kube_node_done(&nodes[i]);
}

static void connect_with_nodes(void) {
    connect();
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    make_nodes();
    save(nodes, NODES_COUNT, 3);
}

/* "NAME ROLE made|declared READY, ..." in order of the name. */
static void expect_nodes(const char *wanted) {
    _cleanup_free_ char *told = fixture_text(
        "SELECT COALESCE(GROUP_CONCAT(CONCAT(n.name, ' ', n.role, ' ', ELT(1 + COALESCE(1 + k.is_made, 0), 'declared', 'told', 'made'),"
        " ' ', COALESCE(k.ready, '-')) ORDER BY n.name SEPARATOR ', '), '')"
        " FROM nodes n LEFT JOIN kube_nodes k ON k.node_id = n.id");
    assert_string_equal(told, wanted);
}

static void test_nodes_are_those_of_kubernetes_and_those_declared(void **state) {
    _cleanup_free_ char *declared = NULL;
    (void)state;
    connect_with_nodes();
    expect_nodes("cp-1 control_plane made true, worker-1 worker told true, worker-2 worker made true");
    declared = fixture_text("SELECT CONCAT(n.id, ' ', n.vm_name) FROM nodes n WHERE n.name = 'worker-1'");
    assert_string_equal(declared, "00000000-0000-4000-8000-0000000000aa vm-of-worker");
    save(nodes, NODES_COUNT, 0);
    nodes[0].conditions[KUBE_NODE_READY].heartbeat_s = 12345; /* a heartbeat is no news */
    save(nodes, NODES_COUNT, 0);
    nodes[0].conditions[KUBE_NODE_READY].truth = KUBE_FALSE;
    nodes[0].reason = str_dup("KubeletNotReady");
    nodes[0].conditions[KUBE_NODE_DISK_PRESSURE].truth = nodes[0].conditions[KUBE_NODE_PID_PRESSURE].truth = KUBE_TRUE;
    nodes[1].is_control_plane = false; /* its label went */
    save(nodes, NODES_COUNT, 2);
    expect_nodes("cp-1 worker made true, worker-1 worker told true, worker-2 worker made false");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM kube_nodes WHERE pressure = 'DiskPressure PIDPressure' AND"
                                    " reason = 'KubeletNotReady' AND ready_since_ms = 200000"),
                     1);
    save(nodes, 0, 3);
    expect_nodes("worker-1 worker declared -");
    free_nodes();
}

static void bind_nodes(void) {
    fixture_exec("INSERT INTO node_observations (node_id, vcenter_id, bound_uuid, bound_by, vm_match, vm_power, vm_connection,"
                 " host_connection, observed_at_ms) SELECT id, '" FIXTURE_VC
                 "', NULL, NULL, 'name', 'on', 'connected', 'connected', 1"
                 " FROM nodes");
}

static void test_disconnecting_leaves_what_was_declared(void **state) {
    struct err err = {0};
    (void)state;
    fixture_insert_vcenter(store, FIXTURE_VC);
    connect_with_nodes();
    bind_nodes();
    ASSERT_OK(kube_store_delete(store, CLUSTER, 0, NULL, &err), &err);
    expect_nodes("worker-1 worker declared -");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM kube_nodes"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations o JOIN nodes n ON n.id = o.node_id"), 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations"), 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM clusters"), 1);
    free_nodes();
}

static void test_a_lost_lease_or_a_full_inventory_writes_nothing(void **state) {
    const struct kube_nodes told = {nodes, NODES_COUNT};
    const struct cluster_room room = {.clusters_max = 10, .nodes_max = 2};
    struct lease_fence next;
    struct err err = {0};
    unsigned changed = 0;
    (void)state;
    connect();
    make_nodes();
    ASSERT_CODE(kube_store_save_nodes(store, CLUSTER, &told, &room, &fence, &changed, &err), ERR_INVENTORY_FULL, &err);
    ASSERT_OK(lease_store_take(store, "kube:" CLUSTER, 600000, &next, &err), &err);
    ASSERT_CODE(kube_store_save_nodes(store, CLUSTER, &told, NULL, &fence, &changed, &err), ERR_PRECONDITION, &err);
    ASSERT_CODE(kube_store_save_nodes(store, UID_1, &told, NULL, &fence, &changed, &err), ERR_NOT_FOUND, &err);
    expect_nodes("worker-1 worker declared -");
    free_nodes();
}

/* Nodes of a list that somebody gives. */
static void declare(const struct node *given, size_t count) {
    struct cluster *c = NULL;
    struct err err = {0};
    ASSERT_OK(cluster_store_load(store, CLUSTER, &c, &err), &err);
    struct cluster changed = *c;
    changed.nodes = (struct node *)(uintptr_t)given;
    changed.nodes_count = count;
    ASSERT_OK(cluster_store_update(store, &changed, CLUSTER_PART_NODES, NULL, &err), &err);
    cluster_free(c);
}

static void test_a_list_of_nodes_leaves_those_of_kubernetes(void **state) {
    char new_id[] = "00000000-0000-4000-8000-0000000000bb", name[] = "cp-1", vm[] = "vm-of-cp", other[] = "extra",
         other_id[] = "00000000-0000-4000-8000-0000000000cc";
    const struct node list[] = {{.id = new_id, .name = name, .role = NODE_CONTROL_PLANE, .vm_name = vm},
                                {.id = other_id, .name = other, .role = NODE_WORKER}};
    _cleanup_free_ char *id = NULL, *after = NULL;
    (void)state;
    connect_with_nodes();
    id = fixture_text("SELECT id FROM nodes WHERE name = 'cp-1'");
    declare(list, 2); /* names one of those that the connection made, and leaves out the declared one and the other made one */
    after = fixture_text("SELECT id FROM nodes WHERE name = 'cp-1' AND vm_name = 'vm-of-cp'");
    assert_string_equal(id, after);
    expect_nodes("cp-1 control_plane told true, extra worker declared -, worker-1 worker made true, worker-2 worker made true");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM nodes WHERE name = 'worker-1' AND vm_name IS NULL"), 1);
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    save(nodes, NODES_COUNT, 0);
    save(nodes, 0, 3);
    expect_nodes("cp-1 control_plane declared -, extra worker declared -");
    free_nodes();
}

/* The release before knows nothing of what Kubernetes tells: it takes away what its list does not name. */
static void test_rows_that_the_last_release_removed_come_back(void **state) {
    (void)state;
    connect_with_nodes();
    fixture_exec("DELETE FROM nodes WHERE name = 'cp-1'");
    save(nodes, NODES_COUNT, 2); /* what is left of the old one goes, and a new one comes */
    expect_nodes("cp-1 control_plane made true, worker-1 worker told true, worker-2 worker made true");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM kube_nodes"), 3);
    free_nodes();
}

static void test_what_is_seen_goes_with_the_machine(void **state) {
    (void)state;
    fixture_insert_vcenter(store, FIXTURE_VC);
    connect_with_nodes();
    bind_nodes();
    free(nodes[1].system_uuid);
    nodes[1].system_uuid = str_dup(TURNED_1); /* its virtual hardware was upgraded: the same machine */
    free(nodes[0].system_uuid);
    nodes[0].system_uuid = str_dup("42333333-2222-3333-4444-555555555555"); /* another machine took the name */
    save(nodes, NODES_COUNT, 2);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations"), 2);
    assert_int_equal(
        fixture_number("SELECT COUNT(*) FROM node_observations o JOIN nodes n ON n.id = o.node_id WHERE n.name = 'worker-2'"), 0);
    save(nodes, 1, 2); /* cp-1, which the connection made, goes with what is seen of it; worker-1, declared, keeps it */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations"), 1);
    free_nodes();
}

static void test_a_cluster_is_read_with_what_kubernetes_tells(void **state) {
    struct kube_status *status = NULL;
    struct cluster *c = NULL, *again = NULL;
    struct err err = {0};
    (void)state;
    connect_with_nodes();
    ASSERT_OK(kube_store_load_status(store, CLUSTER, &status, &err), &err);
    status->remote.state = REMOTE_OK;
    status->version = str_dup("v1.36.3");
    status->health.state = CLUSTER_DEGRADED;
    status->health.reason = str_dup("one node of three");
    status->health.workers_ready = 1;
    ASSERT_OK(kube_store_save_status(store, status, NULL, &fence, true, &err), &err);
    kube_status_free(status);
    ASSERT_OK(cluster_store_load(store, CLUSTER, &c, &err), &err);
    assert_int_equal(c->kube->connection, REMOTE_OK);
    assert_int_equal(c->kube->health.state, CLUSTER_DEGRADED);
    assert_string_equal(c->kube->health.reason, "one node of three");
    assert_string_equal(c->kube->version, "v1.36.3");
    assert_int_equal(c->kube->health.workers_ready, 1);
    assert_int_equal(c->nodes_count, 3);
    assert_string_equal(c->nodes[0].kube->system_uuid, MACHINE_1);
    assert_int_equal(c->nodes[0].kube->ready, KUBE_TRUE);
    assert_int_equal(c->nodes[0].kube->ready_since_ms, 200000);
    assert_true(c->nodes[0].kube->is_made);
    assert_false(c->nodes[1].kube->is_made); /* worker-1 was declared */
    ASSERT_OK(cluster_store_load(store, CLUSTER, &again, &err), &err);
    assert_null(cluster_difference(c, again));
    cluster_free(again);
    nodes[1].is_cordoned = true;
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    save(nodes, NODES_COUNT, 1);
    ASSERT_OK(cluster_store_load(store, CLUSTER, &again, &err), &err);
    assert_string_equal(cluster_difference(c, again), "nodes.kubernetes");
    cluster_free(again);
    ASSERT_OK(kube_store_delete(store, CLUSTER, 0, NULL, &err), &err);
    ASSERT_OK(cluster_store_load(store, CLUSTER, &again, &err), &err);
    assert_null(again->kube);
    assert_null(again->nodes[0].kube);
    cluster_free(again);
    cluster_free(c);
    free_nodes();
}

static void test_kubernetes_tells_a_watch_whom_to_look_for(void **state) {
    struct node_target_list list;
    struct err err = {0};
    (void)state;
    fixture_insert_vcenter(store, FIXTURE_VC);
    connect();
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    make_nodes();
    nodes[0].provider_id = str_dup("vsphere://" MACHINE_2);
    nodes[1].provider_id = str_dup("aws:///eu-central-1a/i-0abc");
    save(nodes, NODES_COUNT, 3);
    ASSERT_OK(observation_store_list_nodes(store, FIXTURE_VC, &list, &err), &err);
    assert_int_equal(list.count, 3);
    for (size_t i = 0; i < list.count; i++) {
        const struct node_target *t = &list.items[i];
        const bool is_worker_2 = str_eq(t->node_name, "worker-2"), is_declared = str_eq(t->node_name, "worker-1");
        assert_true(is_worker_2 ? str_eq(t->provider_uuid, MACHINE_2) : !t->provider_uuid);
        assert_true(is_declared ? !t->system_uuid : str_eq(t->system_uuid, is_worker_2 ? MACHINE_2 : MACHINE_1));
    }
    node_target_list_done(&list);
    free_nodes();
}

#define INSTANCE_1 "50111111-2222-3333-4444-555555555555"
#define INSTANCE_2 "50222222-2222-3333-4444-555555555555"

/* A vCenter shows a machine for the node of this name; returns what is stored of the match. */
static char *observe(const char *name, enum vm_match by, const char *instance, const char *bios) {
    _cleanup_free_ char *sql = str_format("SELECT id FROM nodes WHERE name = '%s'", name);
    _cleanup_free_ char *id = fixture_text(sql);
    const struct node_observation told = {.node_id = id,
                                          .match = by,
                                          .vm_moref = (char *)(uintptr_t) "vm-1",
                                          .instance_uuid = (char *)(uintptr_t)instance,
                                          .bios_uuid = (char *)(uintptr_t)bios,
                                          .power = VM_POWER_ON};
    const struct observation_picture picture = {.vcenter_id = FIXTURE_VC, .items = &told, .count = 1, .now_ms = FIXTURE_NOW_MS};
    struct err err = {0};
    unsigned changed;
    ASSERT_OK(observation_store_save(store, &picture, &changed, &err), &err);
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    return fixture_text(
        "SELECT COALESCE(MAX(CONCAT(vm_match, ' ', COALESCE(bound_uuid, '-'))), 'nothing') FROM node_observations");
}

static void test_a_mapping_is_that_of_the_machine_that_kubernetes_tells(void **state) {
    char *match = NULL;
    (void)state;
    fixture_insert_vcenter(store, FIXTURE_VC);
    connect_with_nodes();
    match = observe("worker-2", VM_MATCH_NAME, INSTANCE_1, MACHINE_1); /* has the name and is another machine */
    assert_string_equal(match, "mismatch -");
    free(match);
    match = observe("worker-2", VM_MATCH_BIOS_UUID, INSTANCE_2, MACHINE_2);
    assert_string_equal(match, "bios_uuid " INSTANCE_2);
    free(match);
    match = observe("worker-2", VM_MATCH_NONE, NULL, NULL); /* it vanishes for a while */
    assert_string_equal(match, "none " INSTANCE_2);
    free(match);
    match = observe("worker-2", VM_MATCH_INSTANCE_UUID, INSTANCE_2, MACHINE_2);
    assert_string_equal(match, "bios_uuid " INSTANCE_2);
    free(match);
    free_nodes();
}

/* Before it was connected the cluster was typed by hand, and a namesake was taken for its node. */
static void test_a_machine_found_by_name_gives_way_to_what_kubernetes_tells(void **state) {
    char *match = NULL;
    (void)state;
    fixture_insert_vcenter(store, FIXTURE_VC);
    connect();
    match = observe("worker-1", VM_MATCH_NAME, INSTANCE_1, MACHINE_1);
    assert_string_equal(match, "name " INSTANCE_1);
    free(match);
    make_nodes();
    nodes[2].system_uuid = str_dup(MACHINE_2); /* worker-1 */
    save(nodes, NODES_COUNT, 3);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations"), 0);
    match = observe("worker-1", VM_MATCH_BIOS_UUID, INSTANCE_2, MACHINE_2);
    assert_string_equal(match, "bios_uuid " INSTANCE_2);
    free(match);
    nodes[2].is_cordoned = true;
    save(nodes, NODES_COUNT, 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations WHERE bound_uuid = '" INSTANCE_2 "'"), 1);
    free_nodes();
}

#define MANY 1000
static void test_a_thousand_nodes_are_one_save(void **state) {
    struct kube_node *many = calloc(MANY, sizeof(*many));
    char name[32];
    (void)state;
    connect();
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "node-%u", i);
        many[i] = make_node(name, NULL);
    }
    const int64_t start = clock_mono_ms();
    save(many, MANY, MANY);
    print_message("1,000 nodes at first: %d ms\n", (int)(clock_mono_ms() - start));
    const int64_t again = clock_mono_ms();
    save(many, MANY, 0);
    print_message("compared: %d ms\n", (int)(clock_mono_ms() - again));
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM nodes"), MANY + 1);
    for (unsigned i = 0; i < MANY; i++)
        kube_node_done(&many[i]);
    free(many);
}

#define TEST(name) cmocka_unit_test_setup(name, empty)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_cluster_comes_with_its_connection_or_not_at_all),
        TEST(test_credentials_are_replaced_in_place),
        TEST(test_a_status_is_written_by_the_holder_of_the_lease),
        TEST(test_a_version_that_was_typed_gives_way_and_replicas_hear_of_it),
        TEST(test_a_connected_cluster_is_not_removed),
        TEST(test_nodes_are_those_of_kubernetes_and_those_declared),
        TEST(test_disconnecting_leaves_what_was_declared),
        TEST(test_a_lost_lease_or_a_full_inventory_writes_nothing),
        TEST(test_a_list_of_nodes_leaves_those_of_kubernetes),
        TEST(test_rows_that_the_last_release_removed_come_back),
        TEST(test_what_is_seen_goes_with_the_machine),
        TEST(test_a_cluster_is_read_with_what_kubernetes_tells),
        TEST(test_kubernetes_tells_a_watch_whom_to_look_for),
        TEST(test_a_mapping_is_that_of_the_machine_that_kubernetes_tells),
        TEST(test_a_machine_found_by_name_gives_way_to_what_kubernetes_tells),
        TEST(test_a_thousand_nodes_are_one_save),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
