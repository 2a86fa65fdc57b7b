/* A change and its line in the audit log against a real server: both or neither. And the caps of the directory.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "audit_store.h"
#include "cluster_store.h"
#include "platform_store.h"
#include "str.h"
#include "vcenter_store.h"

#define NOW_MS FIXTURE_NOW_MS
#define WRITERS 6U
#define HAVE_ROOM 3U

static struct store *store;
static const struct audit_record line = {.at_ms = NOW_MS, .event = {.action = "audit.test"}};
static const struct cluster_writing with_line = {.audit = &line};

static void insert_hx(void) {
    const struct platform_seen seen = {.vcenter_id = FIXTURE_VC, .now_ms = NOW_MS};
    struct vsphere_cluster below = {.datacenter = str_dup("DC0"), .name = str_dup("East")};
    struct hx_cluster hx = {.id = fixture_uuid(500), .name = str_dup("East"), .extension_key = str_dup("key")};
    struct err err = {0};
    unsigned changed = 0;
    ASSERT_OK(object_ref_make(FIXTURE_VC, "domain-c7", &below.ref, &err), &err);
    hx.vsphere_cluster = below.ref;
    ASSERT_OK(platform_store_save_vsphere(store, &seen, &below, 1, &changed, &err), &err);
    ASSERT_OK(platform_store_save_hx(store, &seen, &hx, 1, &changed, &err), &err);
    vsphere_cluster_done(&below);
    hx_cluster_done(&hx);
}

static int set_up(void **state) {
    (void)fixture_set_up(state);
    store = fixture_runtime();
    fixture_insert_vcenter(store, FIXTURE_VC);
    insert_hx();
    return 0;
}

static int tear_down(void **state) {
    store_free(store);
    return fixture_tear_down(state);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DROP TRIGGER IF EXISTS no_trail");
    fixture_exec("DELETE FROM clusters");
    fixture_exec("DELETE FROM audit");
    return 0;
}

static void break_trail(void) {
    fixture_exec("CREATE TRIGGER no_trail BEFORE INSERT ON audit FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'");
}

static int64_t lines(void) {
    return fixture_number("SELECT COUNT(*) FROM audit");
}

static int64_t clusters(void) {
    return fixture_number("SELECT COUNT(*) FROM clusters");
}

static struct cluster *make_cluster(unsigned n, unsigned nodes) {
    struct cluster *c = fixture_cluster(n, NULL);
    c->version_no = 1;
    c->nodes = calloc(nodes + 1, sizeof(*c->nodes));
    assert_non_null(c->nodes);
    for (; c->nodes_count < nodes; c->nodes_count++) {
        struct node *node = &c->nodes[c->nodes_count];
        node->id = fixture_uuid(n * 1000 + (unsigned)c->nodes_count);
        node->name = str_format("node-%zu", c->nodes_count);
    }
    return c;
}

static void assert_failed(int rc, struct err *err) {
    assert_int_not_equal(rc, 0);
    assert_int_equal(rc, err->code);
    err_clear(err);
}

static void test_no_cluster_is_changed_without_a_line(void **state) {
    struct cluster *c = make_cluster(1, 1), *two = make_cluster(2, 0);
    struct err err = {0};
    (void)state;
    ASSERT_OK(cluster_store_insert(store, c, &with_line, &err), &err);
    assert_int_equal(lines(), 1);
    break_trail();
    assert_failed(cluster_store_insert(store, two, &with_line, &err), &err);
    free(c->name);
    c->name = str_dup("renamed");
    assert_failed(cluster_store_update(store, c, CLUSTER_PART_ALL, &with_line, &err), &err);
    assert_failed(cluster_store_delete(store, c->id, 0, &line, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM clusters WHERE name = 'cluster-1' AND version_no = 1"), 1);
    assert_int_equal(clusters(), 1);
    assert_int_equal(lines(), 1);
    cluster_free(c);
    cluster_free(two);
}

static void test_no_batch_is_written_without_its_lines(void **state) {
    struct cluster *one = make_cluster(1, 0), *two = make_cluster(2, 0), *twin = make_cluster(1, 0);
    struct cluster_batch_item items[] = {
        {.cluster = one, .audit = line}, {.cluster = twin, .audit = line}, {.cluster = two, .audit = line}};
    const struct cluster_batch batch = {.items = items, .count = 3};
    struct err err = {0};
    (void)state;
    break_trail();
    assert_failed(cluster_store_write_batch(store, &batch, &err), &err);
    assert_int_equal(clusters(), 0);
    fixture_exec("DROP TRIGGER no_trail");
    ASSERT_OK(cluster_store_write_batch(store, &batch, &err), &err);
    assert_int_equal(items[1].err.code, ERR_EXISTS);
    assert_int_equal(clusters(), 2);
    assert_int_equal(lines(), 2); /* none for the one that was refused */
    cluster_free(one);
    cluster_free(two);
    cluster_free(twin);
}

static void test_no_hx_cluster_is_changed_without_a_line(void **state) {
    struct hx_cluster_list list = {0};
    struct err err = {0};
    int64_t version_no = 0;
    (void)state;
    ASSERT_OK(platform_store_list_hx(store, NULL, &list, &err), &err);
    assert_int_equal(list.count, 1);
    free(list.items[0].name);
    list.items[0].name = str_dup("other");
    break_trail();
    assert_failed(platform_store_update_hx(store, &list.items[0], &line, &version_no, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM hx_clusters WHERE name = 'East'"), 1);
    fixture_exec("DROP TRIGGER no_trail");
    ASSERT_OK(platform_store_update_hx(store, &list.items[0], &line, &version_no, &err), &err);
    ASSERT_CODE(platform_store_update_hx(store, &list.items[0], &line, &version_no, &err), ERR_PRECONDITION, &err);
    assert_int_equal(lines(), 1); /* none for the change that was refused */
    hx_cluster_list_done(&list);
}

static void test_no_vcenter_is_changed_without_a_line(void **state) {
    struct vcenter *vc = NULL;
    struct vcenter other;
    struct err err = {0};
    int64_t version_no = 0;
    (void)state;
    ASSERT_OK(vcenter_store_load(store, FIXTURE_VC, &vc, &err), &err);
    assert_int_equal(vcenter_copy(vc, &other, &err), 0);
    free(other.id);
    other.id = fixture_uuid(77);
    free(vc->name);
    vc->name = str_dup("renamed");
    break_trail();
    assert_failed(vcenter_store_insert(store, &other, &line, &err), &err);
    assert_failed(vcenter_store_update(store, vc, &line, &version_no, &err), &err);
    assert_failed(vcenter_store_delete(store, FIXTURE_VC, NOW_MS, &line, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenters WHERE name <> 'renamed'"), 1);
    fixture_exec("DROP TRIGGER no_trail");
    ASSERT_OK(vcenter_store_insert(store, &other, &line, &err), &err);
    assert_int_equal(vcenter_store_insert(store, &other, &line, &err), ERR_EXISTS);
    err_clear(&err);
    ASSERT_OK(vcenter_store_update(store, vc, &line, &version_no, &err), &err);
    ASSERT_OK(vcenter_store_delete(store, other.id, NOW_MS, &line, &err), &err);
    assert_int_equal(lines(), 3);
    vcenter_free(vc);
    vcenter_done(&other);
}

/* -- caps ------------------------------------------------------------------------------------------------------------------- */

static void test_no_cluster_beyond_the_caps(void **state) {
    static const struct cluster_room room = {.clusters_max = 2, .nodes_max = 5};
    static const struct cluster_writing with = {.audit = &line, .room = &room};
    struct cluster *c[] = {make_cluster(1, 2), make_cluster(2, 4), make_cluster(3, 0), make_cluster(4, 3)};
    struct err err = {0};
    (void)state;
    ASSERT_OK(cluster_store_insert(store, c[0], &with, &err), &err);
    assert_int_equal(cluster_store_insert(store, c[1], &with, &err), ERR_INVENTORY_FULL);
    assert_non_null(strstr(err.text, "5 nodes"));
    assert_true(err.remedy[0]);
    err_clear(&err);
    ASSERT_OK(cluster_store_insert(store, c[3], &with, &err), &err);
    assert_int_equal(cluster_store_insert(store, c[2], &with, &err), ERR_INVENTORY_FULL);
    assert_non_null(strstr(err.text, "2 Kubernetes clusters"));
    err_clear(&err);
    assert_int_equal(clusters(), 2);
    assert_int_equal(lines(), 2);
    ASSERT_OK(cluster_store_update(store, c[0], CLUSTER_PART_NODES, &with, &err), &err); /* no more than before */
    free(c[1]->id);
    c[1]->id = str_dup(c[0]->id);
    c[1]->version_no = 2;
    ASSERT_CODE(cluster_store_update(store, c[1], CLUSTER_PART_NODES, &with, &err), ERR_INVENTORY_FULL, &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM nodes"), 5);
    for (size_t i = 0; i < ARRAY_COUNT(c); i++)
        cluster_free(c[i]);
}

static void test_a_batch_up_to_the_caps(void **state) {
    static const struct cluster_room room = {.clusters_max = 3, .nodes_max = 4};
    struct cluster *c[] = {make_cluster(1, 1), make_cluster(2, 9), make_cluster(3, 1), make_cluster(4, 2), make_cluster(5, 0)};
    struct cluster_batch_item items[ARRAY_COUNT(c)] = {0};
    struct cluster_batch batch = {.items = items, .count = ARRAY_COUNT(c), .room = &room, .is_atomic = true};
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(c); i++)
        items[i] = (struct cluster_batch_item){.cluster = c[i], .audit = line};
    ASSERT_OK(cluster_store_write_batch(store, &batch, &err), &err);
    assert_int_equal(items[1].err.code, ERR_INVENTORY_FULL);
    assert_int_equal(clusters(), 0); /* all or none */
    batch.is_atomic = false;
    ASSERT_OK(cluster_store_write_batch(store, &batch, &err), &err);
    assert_int_equal(items[0].err.code, 0);
    assert_int_equal(items[1].err.code, ERR_INVENTORY_FULL);
    for (size_t i = 0; i < ARRAY_COUNT(c); i++) { /* the first without room is the last that is tried */
        assert_int_equal(items[i].is_skipped, i > 1);
        assert_int_equal(items[i].err.code, i == 1 ? ERR_INVENTORY_FULL : 0);
    }
    assert_int_equal(clusters(), 1);
    assert_int_equal(lines(), 1);
    batch.items = items + 2;
    batch.count = 3;
    ASSERT_OK(cluster_store_write_batch(store, &batch, &err), &err);
    assert_int_equal(items[2].err.code, 0);
    assert_false(items[2].is_skipped);
    assert_int_equal(items[3].err.code, 0);
    assert_int_equal(items[4].err.code, ERR_INVENTORY_FULL);
    assert_int_equal(clusters(), 3);
    assert_int_equal(lines(), 3);
    batch.items = items;
    items[0].is_change = true; /* its node stays: it must not count twice */
    items[0].parts = CLUSTER_PART_NODES;
    batch.count = 1;
    ASSERT_OK(cluster_store_write_batch(store, &batch, &err), &err);
    assert_int_equal(items[0].err.code, 0);
    for (size_t i = 0; i < ARRAY_COUNT(c); i++)
        cluster_free(c[i]);
}

static atomic_uint written, refused, others;

static void *write_one(void *arg) {
    static const struct cluster_room room = {.clusters_max = HAVE_ROOM, .nodes_max = 10};
    static const struct cluster_writing with = {.room = &room};
    struct err err = {0};
    int rc;
    store_thread_begin();
    rc = cluster_store_insert(store, arg, &with, &err);
    (void)atomic_fetch_add(rc == 0 ? &written : rc == ERR_INVENTORY_FULL ? &refused : &others, 1);
    store_thread_end();
    return NULL;
}

/* The last place is given away once. */
static void test_writers_at_the_same_time(void **state) {
    struct cluster *c[WRITERS];
    pthread_t threads[WRITERS];
    (void)state;
    for (unsigned i = 0; i < WRITERS; i++) {
        c[i] = make_cluster(i + 1, 0);
        assert_int_equal(pthread_create(&threads[i], NULL, write_one, c[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        cluster_free(c[i]);
    }
    assert_int_equal(atomic_load(&others), 0);
    assert_int_equal(atomic_load(&written), HAVE_ROOM);
    assert_int_equal(atomic_load(&refused), WRITERS - HAVE_ROOM);
    assert_int_equal(clusters(), HAVE_ROOM);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, empty, empty)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(test_no_cluster_is_changed_without_a_line),
        EACH(test_no_batch_is_written_without_its_lines),
        EACH(test_no_hx_cluster_is_changed_without_a_line),
        EACH(test_no_vcenter_is_changed_without_a_line),
        EACH(test_no_cluster_beyond_the_caps),
        EACH(test_a_batch_up_to_the_caps),
        EACH(test_writers_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
