/* What vCenters show of nodes, against a real server: whom to look for, what is written, who is bound to what; and times of reports.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>

#include "cluster_store.h"
#include "observation_store.h"
#include "platform_store.h"
#include "str.h"
#include "store_fixture.h"
#include "vcenter_store.h"

#define VC FIXTURE_VC
#define OTHER_VC "22222222-2222-4222-8222-222222222222"
#define NOW_MS FIXTURE_NOW_MS
#define MANY 2500U
#define PER_CLUSTER 1000U

static struct store *store;
static struct change_positions positions;

static void save_vsphere(const char *vcenter_id) {
    const struct platform_seen seen = {.vcenter_id = vcenter_id, .is_complete = true, .now_ms = NOW_MS};
    struct vsphere_cluster c = {.datacenter = str_dup("DC0"), .name = str_dup("HX-East")};
    struct err err = {0};
    unsigned changed;
    fixture_insert_vcenter(store, vcenter_id);
    ASSERT_OK(object_ref_make(vcenter_id, "domain-c7", &c.ref, &err), &err);
    ASSERT_OK(platform_store_save_vsphere(store, &seen, &c, 1, &changed, &err), &err);
    vsphere_cluster_done(&c);
}

static int set_up(void **state) {
    struct err err = {0};
    (void)fixture_set_up(state);
    store = fixture_runtime();
    save_vsphere(VC);
    save_vsphere(OTHER_VC);
    ASSERT_OK(change_store_load_positions(store, &positions, &err), &err);
    return 0;
}

static int tear_down(void **state) {
    return fixture_end(state, store, &positions);
}

static unsigned count_changes(void) {
    return fixture_count_changes(store, &positions, CHANGE_CLUSTER);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM clusters");
    fixture_exec("DELETE FROM node_observations");
    (void)count_changes();
    return 0;
}

/* A cluster of `count` workers "w-0000" ... with node ids from first_id on, placed on this vCenter's vSphere cluster. */
static struct cluster *make_cluster(unsigned n, const char *vcenter_id, unsigned first_id, unsigned count) {
    struct cluster *c = fixture_cluster(n, NULL);
    struct object_ref ref;
    c->control_plane_ready = c->control_plane_desired = c->workers_ready = c->workers_desired = 1;
    c->created_at_ms = c->updated_at_ms = NOW_MS;
    assert_int_equal(object_ref_make(vcenter_id, "domain-c7", &ref, NULL), 0);
    assert_int_equal(object_set_add(&c->placement, &ref, NULL), 0);
    c->nodes = calloc(count + 1, sizeof(*c->nodes));
    c->nodes_count = count;
    for (unsigned i = 0; i < count; i++)
        c->nodes[i] = (struct node){.id = fixture_uuid(first_id + i), .name = str_format("w-%04u", i), .role = NODE_WORKER};
    return c;
}

static void insert_cluster(const struct cluster *c) {
    struct err err = {0};
    ASSERT_OK(cluster_store_insert(store, c, NULL, &err), &err);
}

static void update_nodes(struct cluster *c) {
    struct err err = {0};
    c->version_no = fixture_number("SELECT version_no FROM clusters WHERE name = 'cluster-1'");
    ASSERT_OK(cluster_store_update(store, c, CLUSTER_PART_NODES, NULL, &err), &err);
}

/* What a watch tells of node `id`: a running machine with this instance UUID (both numbers for fixture_uuid), found by name. */
static struct node_observation told(unsigned id, unsigned vm) {
    return (struct node_observation){.node_id = fixture_uuid(id),
                                     .match = VM_MATCH_NAME,
                                     .vm_moref = str_format("vm-%u", vm),
                                     .vm_name = str_dup("w"),
                                     .power = VM_POWER_ON,
                                     .connection = VM_CONNECTION_CONNECTED,
                                     .host_moref = str_dup("host-1"),
                                     .host_connection = HOST_CONNECTION_CONNECTED,
                                     .cluster_moref = str_dup("domain-c7"),
                                     .instance_uuid = fixture_uuid(vm)};
}

static unsigned save(const char *vcenter_id, const struct node_observation *items, size_t count, bool is_complete) {
    const struct observation_picture picture = {
        .vcenter_id = vcenter_id, .items = items, .count = count, .is_complete = is_complete, .now_ms = NOW_MS};
    struct err err = {0};
    unsigned changed = 99;
    ASSERT_OK(observation_store_save(store, &picture, &changed, &err), &err);
    return changed;
}

static enum vm_match match_of(const char *cluster, size_t i) {
    struct cluster *c = NULL;
    struct err err = {0};
    enum vm_match match;
    ASSERT_OK(cluster_store_load(store, cluster, &c, &err), &err);
    match = c->nodes[i].seen ? c->nodes[i].seen->match : VM_MATCH_COUNT;
    cluster_free(c);
    return match;
}

static size_t count_targets(const char *vcenter_id) {
    struct node_target_list list;
    struct err err = {0};
    size_t count;
    ASSERT_OK(observation_store_list_nodes(store, vcenter_id, &list, &err), &err);
    count = list.count;
    node_target_list_done(&list);
    return count;
}

static void test_whom_to_look_for(void **state) {
    struct cluster *c = make_cluster(1, VC, 100, 3);
    struct node_observation o = told(101, 501);
    struct node_target_list list;
    struct err err = {0};
    (void)state;
    c->nodes[0].vcenter_id = str_dup(OTHER_VC); /* declared elsewhere, whatever the placement says */
    c->nodes[0].vm_instance_uuid = str_dup("ABCDEF00-0000-4000-8000-000000000000");
    c->nodes[2].vm_name = str_dup("its-vm");
    insert_cluster(c);
    assert_int_equal(count_targets(VC), 2);
    assert_int_equal(count_targets(OTHER_VC), 1);
    assert_int_equal(save(VC, &o, 1, true), 1);
    ASSERT_OK(observation_store_list_nodes(store, VC, &list, &err), &err);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].vm_name, "w-0001");
    assert_string_equal(list.items[0].vm_instance_uuid, o.instance_uuid); /* bound */
    assert_string_equal(list.items[0].vcenter_id, VC);
    assert_string_equal(list.items[0].seen_moref, "vm-501");
    assert_string_equal(list.items[0].seen_name, "w");
    assert_null(list.items[1].seen_moref);
    assert_string_equal(list.items[1].vm_name, "its-vm");
    assert_null(list.items[1].vm_instance_uuid);
    assert_null(list.items[1].vcenter_id);
    node_target_list_done(&list);
    node_observation_done(&o);
    cluster_free(c);
}

static void test_only_what_differs_is_written(void **state) {
    struct cluster *c = make_cluster(1, VC, 100, 3), *other = make_cluster(2, VC, 200, 1), *read = NULL;
    struct node_observation items[3] = {told(100, 500), told(200, 600), told(101, 501)};
    struct err err = {0};
    (void)state;
    insert_cluster(c);
    insert_cluster(other);
    (void)count_changes();
    assert_int_equal(save(VC, items, 3, true), 3);
    assert_int_equal(count_changes(), 2); /* one for each cluster */
    assert_int_equal(save(VC, items, 3, true), 0);
    assert_int_equal(count_changes(), 0);
    items[2].power = VM_POWER_OFF;
    assert_int_equal(save(VC, items, 3, true), 1);
    assert_int_equal(count_changes(), 1);
    ASSERT_OK(cluster_store_load(store, c->id, &read, &err), &err);
    assert_int_equal(read->nodes[1].seen->power, VM_POWER_OFF);
    assert_string_equal(read->nodes[1].seen->vcenter_id, VC);
    assert_string_equal(read->nodes[1].seen->bound_uuid, items[2].instance_uuid);
    assert_int_equal(read->version_no, 1);
    cluster_free(read);
    items[0].power = VM_POWER_SUSPENDED;
    assert_int_equal(save(VC, items, 1, false), 1); /* the others are not gone for it */
    assert_int_equal(match_of(c->id, 1), VM_MATCH_NAME);
    for (size_t i = 0; i < 3; i++)
        node_observation_done(&items[i]);
    cluster_free(c);
    cluster_free(other);
}

static void test_what_is_no_longer_told(void **state) {
    struct cluster *c = make_cluster(1, VC, 100, 3);
    struct node_observation items[3] = {told(100, 500), told(101, 501), told(102, 502)}, unknown = told(999, 999);
    (void)state;
    insert_cluster(c);
    free(items[1].instance_uuid);
    items[1].instance_uuid = NULL; /* nothing to be bound to */
    assert_int_equal(save(VC, items, 3, true), 3);
    assert_int_equal(save(VC, &unknown, 1, false), 0); /* no such node */
    node_done(&c->nodes[2]);
    c->nodes_count = 2;
    update_nodes(c);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations"), 2);
    assert_int_equal(save(VC, items, 1, true), 1);
    assert_int_equal(match_of(c->id, 1), VM_MATCH_COUNT); /* never bound: no row is left */
    assert_int_equal(save(VC, NULL, 0, true), 1);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_NONE); /* bound: gone, but not forgotten */
    assert_int_equal(save(VC, NULL, 0, true), 0);
    fixture_exec("DELETE FROM nodes"); /* as the version before does when it writes them anew */
    assert_int_equal(save(VC, NULL, 0, true), 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations"), 0);
    for (size_t i = 0; i < 3; i++)
        node_observation_done(&items[i]);
    node_observation_done(&unknown);
    cluster_free(c);
}

static void test_bindings_hold_until_the_declaration_changes(void **state) {
    struct cluster *c = make_cluster(1, VC, 100, 1);
    struct node_observation first = told(100, 500), namesake = told(100, 501);
    (void)state;
    insert_cluster(c);
    assert_int_equal(save(VC, &first, 1, true), 1);
    assert_int_equal(save(OTHER_VC, &namesake, 1, true), 0); /* bound on the first vCenter */
    assert_int_equal(save(VC, &namesake, 1, true), 1);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_MISMATCH);
    c->nodes[0].address = str_dup("10.0.0.1"); /* not a matter of identity */
    update_nodes(c);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_MISMATCH);
    c->nodes[0].vm_instance_uuid = str_dup(namesake.instance_uuid);
    update_nodes(c);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_COUNT);
    assert_int_equal(save(VC, &namesake, 1, true), 1);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_INSTANCE_UUID);
    node_observation_done(&first);
    node_observation_done(&namesake);
    cluster_free(c);
}

/* A cluster that is declared here may be seen there. */
static void test_a_removed_vcenter_takes_its_word_along(void **state) {
    struct cluster *c = make_cluster(1, VC, 100, 1);
    struct node_observation o = told(100, 500);
    struct err err = {0};
    (void)state;
    c->nodes[0].vcenter_id = str_dup(OTHER_VC);
    insert_cluster(c);
    assert_int_equal(save(OTHER_VC, &o, 1, true), 1);
    (void)count_changes();
    ASSERT_OK(vcenter_store_delete(store, OTHER_VC, NOW_MS, NULL, &err), &err);
    assert_int_equal(count_changes(), 1);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_COUNT);
    save_vsphere(OTHER_VC);
    node_observation_done(&o);
    cluster_free(c);
}

static void test_a_machine_has_one_node(void **state) {
    struct cluster *c = make_cluster(1, VC, 100, 3);
    struct node_observation items[3] = {told(100, 500), told(101, 500), told(102, 500)};
    (void)state;
    insert_cluster(c);
    (void)save(VC, items, 2, true);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_NAME);
    assert_int_equal(match_of(c->id, 1), VM_MATCH_MISMATCH);
    assert_int_equal(save(VC, items, 2, true), 0);
    for (size_t i = 1; i < 3; i++) {
        c->nodes[i].vm_instance_uuid = str_dup(items[0].instance_uuid); /* two that declare it: no to and fro */
        items[i].match = VM_MATCH_INSTANCE_UUID;
    }
    update_nodes(c);
    (void)save(VC, items, 3, true);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_MISMATCH);
    assert_int_equal(match_of(c->id, 1), VM_MATCH_INSTANCE_UUID);
    assert_int_equal(match_of(c->id, 2), VM_MATCH_MISMATCH);
    (void)save(VC, items, 3, true);
    assert_int_equal(save(VC, items, 3, true), 0);
    for (size_t i = 0; i < 3; i++)
        node_observation_done(&items[i]);
    cluster_free(c);
}

/* A save that was under way while the cluster was removed has written a row for a node that is no more. */
static void test_a_node_that_is_gone_owns_nothing(void **state) {
    struct cluster *gone = make_cluster(1, VC, 100, 1), *c = make_cluster(2, VC, 200, 1);
    struct node_observation before = told(100, 500), o = told(200, 500);
    (void)state;
    insert_cluster(gone);
    assert_int_equal(save(VC, &before, 1, false), 1);
    fixture_exec("DELETE FROM clusters"); /* and its nodes, but not what was seen of them */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations"), 1);
    insert_cluster(c);
    assert_int_equal(save(VC, &o, 1, false), 1);
    assert_int_equal(match_of(c->id, 0), VM_MATCH_NAME);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations"), 1);
    node_observation_done(&before);
    node_observation_done(&o);
    cluster_free(gone);
    cluster_free(c);
}

static void test_many_nodes_go_in_batches(void **state) {
    struct node_observation *items = calloc(MANY, sizeof(*items));
    (void)state;
    assert_non_null(items);
    for (unsigned n = 0; n * PER_CLUSTER < MANY; n++) {
        unsigned left = MANY - n * PER_CLUSTER;
        struct cluster *c = make_cluster(n + 1, VC, 10000 + n * PER_CLUSTER, left < PER_CLUSTER ? left : PER_CLUSTER);
        insert_cluster(c);
        cluster_free(c);
    }
    for (unsigned i = 0; i < MANY; i++)
        items[MANY - 1 - i] = told(10000 + i, 50000 + i); /* any order */
    assert_int_equal(count_targets(VC), MANY);
    assert_int_equal(save(VC, items, MANY, true), MANY);
    assert_int_equal(save(VC, items, MANY, true), 0);
    items[7].power = VM_POWER_OFF;
    assert_int_equal(save(VC, items, MANY, true), 1);
    assert_int_equal(save(VC, items, 1, true), MANY - 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations WHERE vm_match = 'none'"), MANY - 1);
    assert_int_equal(save(VC, items, MANY, false), MANY - 1); /* back again, told in pieces of the whole */
    for (unsigned i = 0; i < MANY; i++)
        node_observation_done(&items[i]);
    free(items);
}

static void test_what_is_refused(void **state) {
    struct node_observation twice[2] = {told(100, 500), told(100, 501)};
    struct observation_picture picture = {.vcenter_id = VC, .items = twice, .count = 2};
    struct err err = {0};
    unsigned changed = 0;
    (void)state;
    ASSERT_CODE(observation_store_save(store, &picture, &changed, &err), ERR_INVALID, &err);
    picture.count = 1;
    twice[0].match = VM_MATCH_MISMATCH;
    ASSERT_CODE(observation_store_save(store, &picture, &changed, &err), ERR_INVALID, &err);
    picture = (struct observation_picture){.vcenter_id = "33333333-3333-4333-8333-333333333333", .is_complete = true};
    ASSERT_CODE(observation_store_save(store, &picture, &changed, &err), ERR_NOT_FOUND, &err);
    node_observation_done(&twice[0]);
    node_observation_done(&twice[1]);
}

/* -- several at once ------------------------------------------------------------------------------------------------------ */

struct saver {
    const char *vcenter_id;
    struct node_observation *items;
    size_t count;
};

static void *save_often(void *arg) {
    const struct saver *saver = arg;
    store_thread_begin();
    for (int i = 0; i < 20; i++)
        (void)save(saver->vcenter_id, saver->items, saver->count, true);
    store_thread_end();
    return NULL;
}

/* Two vCenters show the same free nodes, two replicas save each: every node is bound once, every machine too. */
static void test_savers_beside_each_other(void **state) {
    struct cluster *c = make_cluster(1, VC, 100, 20);
    struct node_observation here[20], there[20];
    struct saver savers[4] = {{VC, here, 20}, {OTHER_VC, there, 20}, {VC, here, 20}, {OTHER_VC, there, 20}};
    pthread_t threads[4];
    (void)state;
    insert_cluster(c);
    for (unsigned i = 0; i < 20; i++) {
        here[i] = told(100 + i, 500 + i);
        there[i] = told(100 + i, 600 + i);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, save_often, &savers[i]), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM node_observations WHERE vm_match = 'name'"), 20);
    assert_int_equal(fixture_number("SELECT COUNT(DISTINCT bound_uuid) FROM node_observations"), 20);
    assert_int_equal(save(VC, here, 20, true), 0);
    assert_int_equal(save(OTHER_VC, there, 20, true), 0);
    for (size_t i = 0; i < 20; i++) {
        node_observation_done(&here[i]);
        node_observation_done(&there[i]);
    }
    cluster_free(c);
}

static void test_times_of_reports(void **state) {
    struct cluster *c = make_cluster(1, VC, 100, 0);
    struct report_time times[2] = {{.at_ms = NOW_MS}, {.at_ms = NOW_MS}};
    struct report_times read;
    struct err err = {0};
    (void)state;
    insert_cluster(c);
    (void)count_changes();
    (void)snprintf(times[0].cluster_id, sizeof(times[0].cluster_id), "%s", c->id);
    (void)snprintf(times[1].cluster_id, sizeof(times[1].cluster_id), "%s", OTHER_VC); /* no such cluster */
    ASSERT_OK(cluster_store_save_report_times(store, times, 2, false, &err), &err);
    assert_int_equal(count_changes(), 0);
    times[0].at_ms = NOW_MS - 1; /* never back */
    ASSERT_OK(cluster_store_save_report_times(store, times, 1, true, &err), &err);
    assert_int_equal(count_changes(), 0);
    times[0].at_ms = NOW_MS + 1;
    ASSERT_OK(cluster_store_save_report_times(store, times, 1, true, &err), &err);
    assert_int_equal(count_changes(), 1);
    ASSERT_OK(cluster_store_list_report_times(store, NOW_MS, &read, &err), &err);
    assert_int_equal(read.count, 1);
    assert_string_equal(read.items[0].cluster_id, c->id);
    assert_int_equal(read.items[0].at_ms, NOW_MS + 1);
    report_times_done(&read);
    assert_int_equal(fixture_number("SELECT version_no FROM clusters"), 1);
    cluster_free(c);
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup(fn, empty)
    const struct CMUnitTest tests[] = {
        EACH(test_whom_to_look_for),
        EACH(test_only_what_differs_is_written),
        EACH(test_what_is_no_longer_told),
        EACH(test_bindings_hold_until_the_declaration_changes),
        EACH(test_a_removed_vcenter_takes_its_word_along),
        EACH(test_a_machine_has_one_node),
        EACH(test_a_node_that_is_gone_owns_nothing),
        EACH(test_many_nodes_go_in_batches),
        EACH(test_what_is_refused),
        EACH(test_savers_beside_each_other),
        EACH(test_times_of_reports),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
