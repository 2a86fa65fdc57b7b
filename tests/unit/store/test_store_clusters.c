/* Kubernetes clusters against a real server.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include "change_store.h"
#include "cluster_store.h"
#include "grant_store.h"
#include "platform_store.h"
#include "str.h"
#include "vcenter_store.h"

#define VC FIXTURE_VC
#define OTHER_VC "22222222-2222-4222-8222-222222222222"
#define NOW_MS FIXTURE_NOW_MS

static struct store *store;
static struct change_positions positions;

static struct vsphere_cluster vsphere(const char *moref, const char *name) {
    struct vsphere_cluster c = {.datacenter = str_dup("DC0"), .name = str_dup(name)};
    struct err err = {0};
    ASSERT_OK(object_ref_make(VC, moref, &c.ref, &err), &err);
    return c;
}

static unsigned save_vsphere(const struct vsphere_cluster *items, size_t count, bool is_complete) {
    const struct platform_seen seen = {.vcenter_id = VC, .is_complete = is_complete, .now_ms = NOW_MS};
    struct err err = {0};
    unsigned changed = 99;
    ASSERT_OK(platform_store_save_vsphere(store, &seen, items, count, &changed, &err), &err);
    return changed;
}

static int set_up(void **state) {
    struct vsphere_cluster two[2];
    struct err err = {0};
    (void)fixture_set_up(state);
    store = fixture_runtime();
    fixture_insert_vcenter(store, VC);
    fixture_insert_vcenter(store, OTHER_VC);
    two[0] = vsphere("domain-c7", "HX-East");
    two[1] = vsphere("domain-c70", "HX-West");
    assert_int_equal(save_vsphere(two, 2, true), 2);
    vsphere_cluster_done(&two[0]);
    vsphere_cluster_done(&two[1]);
    ASSERT_OK(change_store_load_positions(store, &positions, &err), &err);
    return 0;
}

static int tear_down(void **state) {
    return fixture_end(state, store, &positions);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM clusters");
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    return 0;
}

static void add_place(struct cluster *c, const char *moref) {
    struct object_ref ref;
    struct err err = {0};
    ASSERT_OK(object_ref_make(VC, moref, &ref, &err), &err);
    ASSERT_OK(object_set_add(&c->placement, &ref, &err), &err);
}

static struct cluster *make_cluster(unsigned n, const char *name) {
    struct cluster *c = fixture_cluster(n, name);
    c->state = CLUSTER_READY;
    c->control_plane_ready = c->control_plane_desired = 3;
    c->workers_ready = -1;
    c->workers_desired = 5;
    c->created_at_ms = c->updated_at_ms = NOW_MS;
    add_place(c, "domain-c7");
    return c;
}

static void add_rest(struct cluster *c) {
    c->description = str_dup("50 % of 'it'");
    c->state_reason = str_dup("all fine");
    c->api_endpoint = str_dup("https://k8s.example.com:6443");
    c->dashboard_url = str_dup("https://k8s.example.com/ui");
    c->observed_at_ms = NOW_MS + 5;
    add_place(c, "domain-c70");
    c->labels = calloc(2, sizeof(*c->labels));
    c->labels_count = 2;
    c->labels[0] = (struct label){str_dup("env"), str_dup("prod")};
    c->labels[1] = (struct label){str_dup("team"), str_dup("\xF0\x9F\x90\xB3")};
    c->nodes = calloc(2, sizeof(*c->nodes));
    c->nodes_count = 2;
    c->nodes[0] = (struct node){.id = fixture_uuid(901),
                                .name = str_dup("cp-1"),
                                .role = NODE_CONTROL_PLANE,
                                .vcenter_id = str_dup(VC),
                                .vm_instance_uuid = fixture_uuid(801),
                                .kubernetes_version = str_dup("1.31.2"),
                                .address = str_dup("10.0.0.7")};
    c->nodes[1] = (struct node){.id = fixture_uuid(902), .name = str_dup("w-1"), .role = NODE_WORKER};
}

static void insert_cluster(const struct cluster *c) {
    struct err err = {0};
    ASSERT_OK(cluster_store_insert(store, c, NULL, &err), &err);
}

static void assert_text(const char *a, const char *b) {
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_ptr_equal(a, b);
}

static void assert_same_node(const struct node *a, const struct node *b) {
    assert_text(a->id, b->id);
    assert_text(a->name, b->name);
    assert_int_equal(a->role, b->role);
    assert_text(a->vcenter_id, b->vcenter_id);
    assert_text(a->vm_instance_uuid, b->vm_instance_uuid);
    assert_text(a->kubernetes_version, b->kubernetes_version);
    assert_text(a->address, b->address);
}

static void assert_same_lists(const struct cluster *a, const struct cluster *b) {
    assert_int_equal(a->placement.count, b->placement.count);
    for (size_t i = 0; i < a->placement.count; i++)
        assert_true(object_ref_eq(&a->placement.items[i], &b->placement.items[i]));
    assert_int_equal(a->labels_count, b->labels_count);
    for (size_t i = 0; i < a->labels_count; i++) {
        assert_text(a->labels[i].key, b->labels[i].key);
        assert_text(a->labels[i].value, b->labels[i].value);
    }
    assert_int_equal(a->nodes_count, b->nodes_count);
    for (size_t i = 0; i < a->nodes_count; i++)
        assert_same_node(&a->nodes[i], &b->nodes[i]);
}

static void assert_same_cluster(const struct cluster *a, const struct cluster *b) {
    assert_text(a->id, b->id);
    assert_text(a->name, b->name);
    assert_text(a->description, b->description);
    assert_int_equal(a->state, b->state);
    assert_text(a->state_reason, b->state_reason);
    assert_text(a->state_source, b->state_source);
    assert_text(a->kubernetes_version, b->kubernetes_version);
    assert_text(a->api_endpoint, b->api_endpoint);
    assert_text(a->dashboard_url, b->dashboard_url);
    assert_int_equal(a->control_plane_ready, b->control_plane_ready);
    assert_int_equal(a->control_plane_desired, b->control_plane_desired);
    assert_int_equal(a->workers_ready, b->workers_ready);
    assert_int_equal(a->workers_desired, b->workers_desired);
    assert_text(a->placement_source, b->placement_source);
    assert_int_equal(a->created_at_ms, b->created_at_ms);
    assert_int_equal(a->updated_at_ms, b->updated_at_ms);
    assert_int_equal(a->observed_at_ms, b->observed_at_ms);
    assert_same_lists(a, b);
}

static struct cluster *load_cluster(const char *id) {
    struct cluster *c = NULL;
    struct err err = {0};
    ASSERT_OK(cluster_store_load(store, id, &c, &err), &err);
    return c;
}

static void test_round_trip(void **state) {
    struct cluster *plain = make_cluster(1, "plain"), *full = make_cluster(2, "full");
    (void)state;
    add_rest(full);
    insert_cluster(plain);
    insert_cluster(full);
    struct cluster *read = load_cluster(plain->id);
    assert_same_cluster(read, plain);
    assert_int_equal(read->version_no, 1);
    cluster_free(read);
    read = load_cluster(full->id);
    assert_same_cluster(read, full);
    cluster_free(read);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_CLUSTER), 2);
    cluster_free(plain);
    cluster_free(full);
}

#define LISTED 510 /* more than are read at once */

struct listed {
    struct cluster *items[LISTED + 1];
    size_t count;
};

static void begin_listing(void *arg) {
    struct listed *listed = arg;
    assert_int_equal(listed->count, 0);
}

static int take_listed(void *arg, struct cluster *record, struct err *err) {
    struct listed *listed = arg;
    (void)err;
    listed->items[listed->count++] = record;
    return 0;
}

static void test_list(void **state) {
    struct cluster *made[LISTED];
    struct listed listed = {.count = 0};
    const struct cluster_sink sink = {.begin = begin_listing, .take = take_listed, .arg = &listed};
    struct err err = {0};
    (void)state;
    for (unsigned i = 0; i < UNIT_COUNT(made); i++) {
        char name[20];
        (void)snprintf(name, sizeof(name), "c-%u", 9999 - i);
        made[i] = make_cluster(i, name);
        if (i % 3 == 1)
            add_place(made[i], "domain-c70");
        if (i == 7)
            add_rest(made[i]);
        insert_cluster(made[i]);
    }
    ASSERT_OK(cluster_store_each(store, &sink, &err), &err);
    assert_int_equal(listed.count, UNIT_COUNT(made));
    for (size_t i = 0; i < listed.count; i++) {
        assert_same_cluster(listed.items[i], made[i]);
        cluster_free(made[i]);
        cluster_free(listed.items[i]);
    }
}

static int refuse_the_third(void *arg, struct cluster *record, struct err *err) {
    cluster_free(record);
    return ++*(unsigned *)arg == 3 ? err_set(err, ERR_TOO_LARGE, "enough") : 0;
}

static void begin_counting(void *arg) {
    *(unsigned *)arg = 0;
}

static void test_list_ends_when_refused(void **state) {
    unsigned count = 0;
    const struct cluster_sink sink = {.begin = begin_counting, .take = refuse_the_third, .arg = &count};
    struct err err = {0};
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        char name[20];
        (void)snprintf(name, sizeof(name), "c-%u", i);
        struct cluster *c = make_cluster(i, name);
        insert_cluster(c);
        cluster_free(c);
    }
    assert_int_equal(cluster_store_each(store, &sink, &err), ERR_TOO_LARGE);
    assert_int_equal(count, 3);
}

static void test_names(void **state) {
    static const char *const fine[] = {"a",
                                       "12345678901234567890123456789012345678901234567890",
                                       "O'Neil's \"best\"",
                                       "100 % _sure_",
                                       "back\\slash",
                                       "a/b",
                                       "\xF0\x9F\x9A\x80",
                                       "trailing",
                                       "trailing ",
                                       "Case",
                                       "case",
                                       "\xC3\xA9",
                                       "e\xCC\x81"};
    struct err err = {0};
    char long_name[50 * 4 + 8] = "";
    (void)state;
    for (unsigned i = 0; i < UNIT_COUNT(fine); i++) {
        struct cluster *c = make_cluster(i, fine[i]);
        insert_cluster(c);
        struct cluster *read = load_cluster(c->id);
        assert_string_equal(read->name, fine[i]);
        cluster_free(read);
        cluster_free(c);
    }
    for (size_t i = 0; i < 50; i++) /* characters count, not bytes */
        memcpy(long_name + i * 4, "\xF0\x9F\x9A\x80", 5);
    struct cluster *c = make_cluster(100, long_name);
    insert_cluster(c);
    memcpy(long_name + 200, "x", 2);
    free(c->name);
    c->name = str_dup(long_name);
    ASSERT_CODE(cluster_store_insert(store, c, NULL, &err), ERR_UNPROCESSABLE, &err);
    free(c->name);
    c->name = str_dup("not \xFF utf-8");
    assert_int_equal(cluster_store_insert(store, c, NULL, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "UTF-8"));
    cluster_free(c);
}

static void test_taken_names_and_machines(void **state) {
    struct cluster *one = make_cluster(1, "one"), *two = make_cluster(2, "one");
    struct err err = {0};
    (void)state;
    add_rest(one);
    insert_cluster(one);
    assert_int_equal(cluster_store_insert(store, two, NULL, &err), ERR_EXISTS);
    assert_string_equal(err.text, "a cluster named \"one\" exists already");
    err_clear(&err);
    free(two->name);
    two->name = str_dup("two");
    add_rest(two);
    for (size_t i = 0; i < 2; i++) {
        free(two->nodes[i].id);
        two->nodes[i].id = fixture_uuid(950 + (unsigned)i);
    }
    assert_int_equal(cluster_store_insert(store, two, NULL, &err), ERR_EXISTS);
    assert_string_equal(err.text, "the virtual machine of node \"cp-1\" belongs to another node already");
    err_clear(&err);
    /* what failed left nothing behind */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM clusters"), 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM cluster_labels"), 2);
    free(two->id);
    two->id = str_dup(one->id);
    assert_int_equal(cluster_store_insert(store, two, NULL, &err), ERR_EXISTS);
    assert_non_null(strstr(err.text, one->id));
    err_clear(&err);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_CLUSTER), 1);
    cluster_free(one);
    cluster_free(two);
}

static void test_unknown_placement(void **state) {
    struct cluster *c = make_cluster(1, "one");
    struct err err = {0};
    (void)state;
    add_place(c, "domain-c8");
    assert_int_equal(cluster_store_insert(store, c, NULL, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "domain-c8"));
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM clusters"), 0);
    cluster_free(c);
}

static void test_update(void **state) {
    struct cluster *c = make_cluster(1, "one"), *bare = make_cluster(1, "renamed");
    struct err err = {0};
    (void)state;
    add_rest(c);
    insert_cluster(c);
    bare->version_no = 1;
    bare->created_at_ms = 5; /* must not be taken */
    bare->state = CLUSTER_DEGRADED;
    ASSERT_OK(cluster_store_update(store, bare, CLUSTER_PART_NONE, NULL, &err), &err);
    struct cluster *read = load_cluster(c->id);
    assert_int_equal(read->version_no, 2);
    assert_string_equal(read->name, "renamed");
    assert_int_equal(read->state, CLUSTER_DEGRADED);
    assert_null(read->description);
    assert_int_equal(read->created_at_ms, NOW_MS);
    assert_same_lists(read, c);
    cluster_free(read);
    bare->version_no = 2;
    ASSERT_OK(cluster_store_update(store, bare, CLUSTER_PART_ALL, NULL, &err), &err);
    read = load_cluster(c->id);
    assert_same_lists(read, bare);
    assert_int_equal(read->version_no, 3);
    cluster_free(read);
    assert_int_equal(cluster_store_update(store, bare, CLUSTER_PART_ALL, NULL, &err), ERR_PRECONDITION);
    assert_true(err.remedy[0]);
    err_clear(&err);
    assert_int_equal(fixture_number("SELECT version_no FROM clusters"), 3);
    free(bare->id);
    bare->id = fixture_uuid(77);
    ASSERT_CODE(cluster_store_update(store, bare, CLUSTER_PART_ALL, NULL, &err), ERR_NOT_FOUND, &err);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_CLUSTER), 3);
    cluster_free(c);
    cluster_free(bare);
}

static void test_delete(void **state) {
    struct cluster *c = make_cluster(1, "one"), *gone = NULL;
    struct grant g = {.id = fixture_uuid(500),
                      .principal_id = str_dup("local:x"),
                      .object = GRANT_CLUSTER,
                      .object_id = str_dup(c->id),
                      .role = str_dup("viewer")};
    struct err err = {0};
    (void)state;
    add_rest(c);
    insert_cluster(c);
    ASSERT_OK(grant_store_insert(store, &g, NOW_MS, NULL, &err), &err);
    ASSERT_CODE(cluster_store_delete(store, c->id, 7, NULL, &err), ERR_PRECONDITION, &err);
    (void)fixture_count_changes(store, &positions, CHANGE_GRANT);
    ASSERT_OK(cluster_store_delete(store, c->id, 1, NULL, &err), &err);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_GRANT), 1);
    assert_int_equal(fixture_number("SELECT (SELECT COUNT(*) FROM nodes) + (SELECT COUNT(*) FROM cluster_labels)"
                                    " + (SELECT COUNT(*) FROM cluster_placements) + (SELECT COUNT(*) FROM grants)"),
                     0);
    ASSERT_CODE(cluster_store_load(store, c->id, &gone, &err), ERR_NOT_FOUND, &err);
    assert_null(gone);
    ASSERT_CODE(cluster_store_delete(store, c->id, 0, NULL, &err), ERR_NOT_FOUND, &err);
    insert_cluster(c);
    ASSERT_OK(cluster_store_delete(store, c->id, 0, NULL, &err), &err);
    cluster_free(c);
    grant_done(&g);
}

static int64_t count_audit(void) {
    return fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'cluster.test'");
}

/* What is refused or taken back leaves no line of something that was not done. */
static void test_a_change_and_its_line_go_together(void **state) {
    struct cluster *c = make_cluster(1, "one"), *two = make_cluster(2, "one");
    const struct audit_record audit = {.at_ms = NOW_MS, .event = {.action = "cluster.test", .object_id = c->id}};
    const struct cluster_writing with = {.audit = &audit};
    struct err err = {0};
    (void)state;
    ASSERT_OK(cluster_store_insert(store, c, &with, &err), &err);
    assert_int_equal(count_audit(), 1);
    assert_int_equal(cluster_store_insert(store, two, &with, &err), ERR_EXISTS);
    err_clear(&err);
    c->version_no = 1;
    ASSERT_OK(cluster_store_update(store, c, CLUSTER_PART_NONE, &with, &err), &err);
    assert_int_equal(count_audit(), 2);
    ASSERT_CODE(cluster_store_update(store, c, CLUSTER_PART_NONE, &with, &err), ERR_PRECONDITION, &err);
    ASSERT_CODE(cluster_store_delete(store, c->id, 1, &audit, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(cluster_store_delete(store, c->id, 2, &audit, &err), &err);
    assert_int_equal(count_audit(), 3);
    cluster_free(c);
    cluster_free(two);
}

static void test_vcenter_with_clusters_stays(void **state) {
    struct cluster *c = make_cluster(1, "one");
    struct err err = {0};
    (void)state;
    insert_cluster(c);
    assert_int_equal(vcenter_store_delete(store, VC, NOW_MS, NULL, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "still placed"));
    assert_true(err.remedy[0]);
    err_clear(&err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vsphere_clusters"), 2);
    ASSERT_OK(vcenter_store_delete(store, OTHER_VC, NOW_MS, NULL, &err), &err);
    ASSERT_CODE(vcenter_store_delete(store, OTHER_VC, NOW_MS, NULL, &err), ERR_NOT_FOUND, &err);
    fixture_insert_vcenter(store, OTHER_VC);
    cluster_free(c);
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup(fn, empty)
    const struct CMUnitTest tests[] = {
        EACH(test_round_trip),
        EACH(test_list),
        EACH(test_list_ends_when_refused),
        EACH(test_names),
        EACH(test_taken_names_and_machines),
        EACH(test_unknown_placement),
        EACH(test_update),
        EACH(test_delete),
        EACH(test_a_change_and_its_line_go_together),
        EACH(test_vcenter_with_clusters_stays),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
