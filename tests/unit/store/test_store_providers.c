/* Providers against a real server. SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include "provider_store.h"
#include "str.h"
#include "vcenter_store.h"

#define VC FIXTURE_VC
#define ID "2b7e1516-28ae-4d2a-a6ab-f7158809cf4f"

static const char text[] =
    "{\"kind\": \"Provider\", \"name\": \"east\", \"vcenter\": \"Main\", \"resource_pool\": \"/DC0/host/c/Resources\", "
    "\"folder\": \"kaas\", \"datastore\": \"d\", \"network\": \"n\", \"template\": \"t\", "
    "\"nodes\": {\"addresses\": [\"192.0.2.5-192.0.2.6\"], \"prefix\": 24, \"gateway\": \"192.0.2.1\"}}";

static struct store *store;
static struct change_positions positions;

static int set_up(void **state) {
    return fixture_begin(state, &store, &positions);
}

static int tear_down(void **state) {
    return fixture_end(state, store, &positions);
}

static void add_vcenter(void) {
    struct vcenter vc = {.id = str_dup(VC), .address = str_dup("vc.example.com"), .port = 443, .name = str_dup("Main")};
    struct err err = {0};
    ASSERT_OK(vcenter_store_insert(store, &vc, NULL, &err), &err);
    vcenter_done(&vc);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM machines");
    fixture_exec("DELETE FROM address_leases");
    fixture_exec("DELETE FROM providers");
    fixture_exec("DELETE FROM vcenters");
    add_vcenter();
    return 0;
}

static void make(struct provider *p) {
    struct err err = {0};
    ASSERT_OK(provider_parse("text", text, strlen(text), p, &err), &err);
    p->id = str_dup(ID);
    p->vcenter_id = str_dup(VC);
    p->created_at_ms = p->updated_at_ms = FIXTURE_NOW_MS;
    for (size_t i = 0; i < PROVIDER_PLACES_COUNT; i++) {
        p->places[i].type = str_dup("Folder");
        p->places[i].name = str_dup("kaas");
        p->places[i].path = str_dup("/DC0/vm/kaas");
        p->places[i].moref = str_format("group-v%zu", i);
    }
}

static void written_and_read(void **state) {
    _cleanup_provider_ struct provider p = {0};
    _cleanup_done_(provider_list_done) struct provider_list list = {0};
    struct provider *read = NULL;
    struct err err = {0};
    (void)state;
    make(&p);
    ASSERT_OK(provider_store_put(store, &p, false, NULL, &err), &err);
    ASSERT_OK(provider_store_load_by_name(store, "east", &read, &err), &err);
    assert_string_equal(read->id, ID);
    assert_string_equal(read->vcenter_id, VC);
    assert_string_equal(read->places[PROVIDER_FOLDER].given, "kaas");
    assert_string_equal(read->places[PROVIDER_TEMPLATE].moref, "group-v5");
    assert_int_equal(read->node_gateway, 0xc0000201);
    assert_int_equal(read->created_at_ms, FIXTURE_NOW_MS);
    assert_int_equal(read->version_no, 1);
    provider_free(read);
    ASSERT_OK(provider_store_load(store, ID, &read, &err), &err);
    provider_free(read);
    ASSERT_CODE(provider_store_load_by_name(store, "East", &read, &err), ERR_NOT_FOUND, &err);
    ASSERT_OK(provider_store_list(store, &list, &err), &err);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].name, "east");
}

static void changed_and_removed(void **state) {
    _cleanup_provider_ struct provider p = {0};
    struct provider *read = NULL;
    struct err err = {0};
    (void)state;
    make(&p);
    ASSERT_OK(provider_store_put(store, &p, false, NULL, &err), &err);
    ASSERT_CODE(provider_store_put(store, &p, false, NULL, &err), ERR_EXISTS, &err);
    p.version_no = 1;
    p.node_prefix = 25;
    p.updated_at_ms++;
    ASSERT_OK(provider_store_put(store, &p, false, NULL, &err), &err);
    ASSERT_CODE(provider_store_put(store, &p, false, NULL, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(provider_store_load(store, ID, &read, &err), &err);
    assert_int_equal(read->node_prefix, 25);
    assert_int_equal(read->version_no, 2);
    provider_free(read);
    ASSERT_CODE(provider_store_delete(store, &p, 1, NULL, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(provider_store_delete(store, &p, 2, NULL, &err), &err);
    ASSERT_CODE(provider_store_delete(store, &p, 0, NULL, &err), ERR_NOT_FOUND, &err);
}

static void a_vcenter_with_providers_stays(void **state) {
    _cleanup_provider_ struct provider p = {0};
    struct err err = {0};
    (void)state;
    make(&p);
    ASSERT_OK(provider_store_put(store, &p, false, NULL, &err), &err);
    const int rc = vcenter_store_delete(store, VC, FIXTURE_NOW_MS, NULL, &err);
    assert_int_equal(rc, ERR_CONFLICT);
    assert_non_null(strstr(err.text, "the provider east builds at this vCenter"));
    assert_string_equal(err.remedy, "remove it first: kaasctl provider remove east");
    err_clear(&err);
    ASSERT_OK(provider_store_delete(store, &p, 0, NULL, &err), &err);
    ASSERT_OK(vcenter_store_delete(store, VC, FIXTURE_NOW_MS, NULL, &err), &err);
    p.version_no = 0;
    ASSERT_CODE(provider_store_put(store, &p, false, NULL, &err), ERR_CONFLICT, &err);
}

static void one_in_use_stays(void **state) {
    _cleanup_provider_ struct provider p = {0};
    struct address_ranges held = {0};
    struct err err = {0};
    (void)state;
    make(&p);
    ASSERT_OK(provider_store_put(store, &p, false, NULL, &err), &err);
    ASSERT_OK(provider_store_check_unused(store, &p, &err), &err);
    fixture_exec("INSERT INTO machines VALUES ('m', 'gone-cluster', '" ID "', '" VC
                 "', 'group-v4', 'prod-cp-aaaaa', 'worker', 'u', '192.0.2.5', "
                 "NULL, 'drawn', 1)");
    fixture_exec("INSERT INTO address_leases VALUES ('" VC "', 'group-v4', '192.0.2.5', 'm', 0), ('" VC
                 "', 'group-v4', '192.0.2.6', NULL, 5), "
                 "('" VC "', 'other', '192.0.2.7', 'm', 0)");
    ASSERT_CODE(provider_store_check_unused(store, &p, &err), ERR_CONFLICT, &err);
    assert_int_equal(provider_store_delete(store, &p, 0, NULL, &err), ERR_CONFLICT);
    assert_string_equal(err.text, "1 machines were built by provider east, one is prod-cp-aaaaa");
    err_clear(&err);
    ASSERT_OK(provider_store_list_held(store, &p, &held, &err), &err);
    assert_int_equal(held.count, 1);
    assert_int_equal(held.items[0].first, 0xc0000205);
    free(held.items);
    fixture_exec("DELETE FROM machines");
    ASSERT_OK(provider_store_delete(store, &p, 0, NULL, &err), &err);
}

static void what_is_broken_is_named(void **state) {
    _cleanup_provider_ struct provider p = {0};
    struct provider *read = NULL;
    struct err err = {0};
    (void)state;
    make(&p);
    ASSERT_OK(provider_store_put(store, &p, false, NULL, &err), &err);
    fixture_exec("UPDATE providers SET places = '{}'");
    assert_int_equal(provider_store_load(store, ID, &read, &err), ERR_SCHEMA);
    assert_non_null(strstr(err.text, "provider east"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(written_and_read, empty),
        cmocka_unit_test_setup(changed_and_removed, empty),
        cmocka_unit_test_setup(a_vcenter_with_providers_stays, empty),
        cmocka_unit_test_setup(one_in_use_stays, empty),
        cmocka_unit_test_setup(what_is_broken_is_named, empty),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
