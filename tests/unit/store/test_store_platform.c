/* vSphere and HyperFlex clusters against a real server.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include "change_store.h"
#include "platform_store.h"
#include "str.h"

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

static void test_vsphere_saves_only_differences(void **state) {
    struct vsphere_cluster items[2] = {vsphere("domain-c7", "HX-East"), vsphere("domain-c70", "HX-West")};
    struct vsphere_cluster_list list = {0};
    struct vsphere_cluster one;
    struct err err = {0};
    (void)state;
    (void)fixture_count_changes(store, &positions, CHANGE_VSPHERE_CLUSTER);
    assert_int_equal(save_vsphere(items, 2, true), 0);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_VSPHERE_CLUSTER), 0);
    free(items[0].name);
    items[0].name = str_dup("HX-East renamed");
    assert_int_equal(save_vsphere(items, 1, false), 1); /* domain-c70 is not mentioned, and stays */
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_VSPHERE_CLUSTER), 1);
    assert_int_equal(save_vsphere(items, 1, true), 1); /* now it is gone */
    ASSERT_OK(platform_store_list_vsphere(store, VC, &list, &err), &err);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].ref.moref, "domain-c7");
    assert_string_equal(list.items[0].name, "HX-East renamed");
    assert_string_equal(list.items[0].datacenter, "DC0");
    assert_false(list.items[0].is_gone);
    assert_true(list.items[1].is_gone);
    vsphere_cluster_list_done(&list);
    assert_int_equal(save_vsphere(items, 1, true), 0);
    assert_int_equal(save_vsphere(items, 2, true), 1); /* back again */
    ASSERT_OK(platform_store_load_vsphere(store, &items[1].ref, &one, &err), &err);
    assert_false(one.is_gone);
    vsphere_cluster_done(&one);
    ASSERT_OK(platform_store_list_vsphere(store, OTHER_VC, &list, &err), &err);
    assert_int_equal(list.count, 0);
    vsphere_cluster_list_done(&list);
    vsphere_cluster_done(&items[0]);
    vsphere_cluster_done(&items[1]);
}

static void test_vsphere_refused(void **state) {
    const struct platform_seen seen = {.vcenter_id = OTHER_VC, .now_ms = NOW_MS},
                               unknown = {.vcenter_id = "33333333-3333-4333-8333-333333333333"};
    struct vsphere_cluster c = vsphere("domain-c7", "x"), none;
    struct err err = {0};
    unsigned changed = 0;
    (void)state;
    ASSERT_CODE(platform_store_save_vsphere(store, &seen, &c, 1, &changed, &err), ERR_INVALID, &err);
    ASSERT_CODE(platform_store_save_vsphere(store, &unknown, NULL, 0, &changed, &err), ERR_NOT_FOUND, &err);
    vsphere_cluster_done(&c);
    ASSERT_OK(object_ref_make(VC, "domain-c700", &c.ref, &err), &err);
    ASSERT_CODE(platform_store_load_vsphere(store, &c.ref, &none, &err), ERR_NOT_FOUND, &err);
}

static struct hx_cluster hx(unsigned n, const char *moref, const char *name) {
    struct hx_cluster item = {
        .id = fixture_uuid(n), .name = str_dup(name), .extension_key = str_format("com.springpath.sysmgmt.%s", moref)};
    struct err err = {0};
    ASSERT_OK(object_ref_make(VC, moref, &item.vsphere_cluster, &err), &err);
    return item;
}

static unsigned save_hx(const struct hx_cluster *items, size_t count, bool is_complete) {
    const struct platform_seen seen = {.vcenter_id = VC, .is_complete = is_complete, .now_ms = NOW_MS};
    struct err err = {0};
    unsigned changed = 99;
    ASSERT_OK(platform_store_save_hx(store, &seen, items, count, &changed, &err), &err);
    return changed;
}

/* A row that the database refuses stays as it was, and the others are saved. */
static void test_vsphere_left_out(void **state) {
    struct vsphere_cluster items[3] = {vsphere("domain-c7", "HX-East"), vsphere("domain-c70", "HX-West"),
                                       vsphere("domain-c71", "New")};
    struct refused_rows refused = {.count = 9};
    const struct platform_seen seen = {.vcenter_id = VC, .is_complete = true, .now_ms = NOW_MS, .refused = &refused};
    struct vsphere_cluster one;
    struct err err = {0};
    unsigned changed = 0;
    (void)state;
    (void)save_vsphere(items, 2, true); /* whatever other tests have left */
    free(items[1].name);
    items[1].name = malloc(257);
    assert_non_null(items[1].name);
    memset(items[1].name, 'n', 256);
    items[1].name[256] = '\0';
    ASSERT_OK(platform_store_save_vsphere(store, &seen, items, 3, &changed, &err), &err);
    assert_int_equal(changed, 1);
    assert_int_equal(refused.count, 1);
    assert_string_equal(refused.id, "domain-c70");
    assert_string_equal(refused.why, "a name of it has 256 characters, 255 are the most");
    ASSERT_OK(platform_store_load_vsphere(store, &items[1].ref, &one, &err), &err);
    assert_string_equal(one.name, "HX-West");
    assert_false(one.is_gone);
    vsphere_cluster_done(&one);
    assert_int_equal(save_vsphere(items, 1, false), 0);
    free(items[1].name);
    items[1].name = str_dup("HX-West");
    assert_int_equal(save_vsphere(items, 2, true), 1); /* the new one is gone again */
    for (size_t i = 0; i < 3; i++)
        vsphere_cluster_done(&items[i]);
}

static void test_hx_found_again_keeps_what_was_set(void **state) {
    struct hx_cluster found[2] = {hx(1, "domain-c7", "HX-East"), hx(2, "domain-c70", "HX-East")};
    struct hx_cluster *read = NULL;
    struct hx_cluster_list list = {0};
    struct err err = {0};
    int64_t version_no = 0;
    (void)state;
    (void)fixture_count_changes(store, &positions, CHANGE_HX_CLUSTER);
    assert_int_equal(save_hx(found, 2, true), 2); /* two of one name are two */
    assert_int_equal(save_hx(found, 2, true), 0);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_HX_CLUSTER), 2);
    ASSERT_OK(platform_store_load_hx(store, found[0].id, &read, &err), &err);
    free(read->name);
    read->name = str_dup("East by hand");
    read->is_name_set = true;
    read->address = str_dup("hx.example.com");
    ASSERT_OK(platform_store_update_hx(store, read, NULL, &version_no, &err), &err);
    assert_int_equal(version_no, 2);
    ASSERT_CODE(platform_store_update_hx(store, read, NULL, &version_no, &err), ERR_PRECONDITION, &err);
    hx_cluster_free(read);
    /* discovery runs again: another id, the vSphere name, and now the HX uuid */
    hx_cluster_done(&found[0]);
    found[0] = hx(9, "domain-c7", "HX-East");
    found[0].hx_uuid = str_dup("9004183636114227531:5445300663653806560");
    assert_int_equal(save_hx(found, 1, true), 2);
    ASSERT_OK(platform_store_list_hx(store, NULL, &list, &err), &err);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "East by hand");
    assert_string_equal(list.items[0].address, "hx.example.com");
    assert_string_equal(list.items[0].hx_uuid, "9004183636114227531:5445300663653806560");
    assert_string_equal(list.items[0].extension_key, "com.springpath.sysmgmt.domain-c7");
    assert_string_not_equal(list.items[0].id, found[0].id);
    assert_int_equal(list.items[0].version_no, 3);
    assert_int_equal(list.items[0].seen_at_ms, NOW_MS);
    assert_true(list.items[1].is_gone);
    hx_cluster_list_done(&list);
    ASSERT_CODE(platform_store_load_hx(store, found[0].id, &read, &err), ERR_NOT_FOUND, &err);
    hx_cluster_done(&found[0]);
    hx_cluster_done(&found[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vsphere_saves_only_differences),
        cmocka_unit_test(test_vsphere_refused),
        cmocka_unit_test(test_vsphere_left_out),
        cmocka_unit_test(test_hx_found_again_keeps_what_was_set),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
