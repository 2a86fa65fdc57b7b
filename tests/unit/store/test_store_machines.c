/* Machines and leases of addresses against a real server. SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <stdio.h>

#include "machine_store.h"
#include "str.h"

#define ONE "aaaaaaaa-0000-4000-8000-000000000001"
#define TWO "aaaaaaaa-0000-4000-8000-000000000002"
#define THREE "aaaaaaaa-0000-4000-8000-000000000003"
#define CLUSTER "aaaaaaaa-0000-4000-8000-0000000000cc"
#define VCENTER "aaaaaaaa-0000-4000-8000-0000000000ff"

static struct store *store;
static struct change_positions positions;
static struct address_range range;
static struct address_ranges ranges = {&range, 1};
static struct address_pool pool = {.vcenter_id = VCENTER, .network = "network-1", .ranges = &ranges, .provider = "east"};

static int set_up(void **state) {
    return fixture_begin(state, &store, &positions);
}

static int tear_down(void **state) {
    return fixture_end(state, store, &positions);
}

static int empty(void **state) {
    struct err err = {0};
    (void)state;
    fixture_exec("DELETE FROM machines");
    fixture_exec("DELETE FROM address_leases");
    fixture_exec("DELETE FROM machine_folders");
    ASSERT_OK(address_range_parse("10.9.0.20-10.9.0.21", &range, &err), &err);
    pool.network = "network-1";
    return 0;
}

static int draw(const char *id, const char *name, const char *uuid, struct err *err) {
    const struct machine m = {.id = (char *)(uintptr_t)id,
                              .cluster_id = (char *)(uintptr_t)CLUSTER,
                              .provider_id = (char *)(uintptr_t)CLUSTER,
                              .vcenter_id = (char *)(uintptr_t)VCENTER,
                              .network = (char *)(uintptr_t) "network-1",
                              .name = (char *)(uintptr_t)name,
                              .instance_uuid = (char *)(uintptr_t)uuid};
    return machine_store_draw(store, &m, &pool, err);
}

static void a_machine_and_its_address_come_together(void **state) {
    _cleanup_(machine_free) struct machine *m = NULL;
    struct machine_list list;
    struct err err = {0};
    uint64_t count = 9;
    (void)state;
    ASSERT_OK(draw(ONE, "prod-cp-1", ONE, &err), &err);
    ASSERT_OK(draw(ONE, "prod-cp-9", TWO, &err), &err); /* it is there: nothing is written */
    ASSERT_OK(machine_store_load(store, ONE, &m, &err), &err);
    assert_string_equal(m->name, "prod-cp-1");
    assert_string_equal(m->address, "10.9.0.20");
    assert_int_equal(m->state, MACHINE_DRAWN);
    ASSERT_CODE(draw(TWO, "prod-cp-1", TWO, &err), ERR_EXISTS, &err);
    ASSERT_OK(address_store_count_free(store, &pool, &count, &err), &err);
    assert_int_equal(count, 1); /* the one that was not drawn has none */
    ASSERT_OK(draw(TWO, "prod-cp-2", TWO, &err), &err);
    err_clear(&err);
    assert_int_equal(draw(THREE, "prod-cp-3", THREE, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "provider east has no address left in 10.9.0.20-10.9.0.21"));
    err_clear(&err);
    ASSERT_OK(machine_store_list(store, CLUSTER, &list, &err), &err);
    assert_int_equal(list.count, 2);
    machine_list_done(&list);
}

static void an_address_is_quiet_after_its_release(void **state) {
    struct err err = {0};
    char address[ADDRESS_TEXT_BYTES], again[ADDRESS_TEXT_BYTES];
    (void)state;
    ASSERT_OK(draw(ONE, "prod-cp-1", ONE, &err), &err);
    ASSERT_OK(machine_store_release(store, ONE, &err), &err);
    ASSERT_OK(machine_store_release(store, ONE, &err), &err);
    ASSERT_OK(address_store_lease(store, &pool, TWO, address, &err), &err);
    assert_string_equal(address, "10.9.0.21");
    ASSERT_OK(address_store_lease(store, &pool, TWO, again, &err), &err); /* what it has */
    assert_string_equal(again, address);
    ASSERT_CODE(address_store_lease(store, &pool, THREE, address, &err), ERR_CONFLICT, &err);
    fixture_exec("UPDATE address_leases SET quiet_until_ms = 1 WHERE owner IS NULL"); /* ten minutes later */
    ASSERT_OK(address_store_lease(store, &pool, THREE, address, &err), &err);
    assert_string_equal(address, "10.9.0.20");
    pool.network = "network-2"; /* another network has addresses of its own */
    ASSERT_OK(address_store_lease(store, &pool, ONE, address, &err), &err);
    assert_string_equal(address, "10.9.0.20");
    ASSERT_OK(address_store_release(store, ONE, &err), &err);
}

static void what_is_said_of_a_machine_that_was_drawn_again_is_not_written(void **state) {
    struct machine *before = NULL, *after = NULL;
    struct err err = {0};
    (void)state;
    ASSERT_OK(draw(ONE, "prod-cp-1", ONE, &err), &err);
    ASSERT_OK(machine_store_load(store, ONE, &before, &err), &err);
    ASSERT_OK(machine_store_set(store, before, MACHINE_CLONED, "vm-1", &err), &err);
    ASSERT_CODE(machine_store_redraw(store, ONE, "prod-cp-2", TWO, &err), ERR_NOT_FOUND, &err); /* it is not sick */
    ASSERT_OK(machine_store_set(store, before, MACHINE_SICK, NULL, &err), &err);
    ASSERT_OK(machine_store_redraw(store, ONE, "prod-cp-2", TWO, &err), &err);
    ASSERT_CODE(machine_store_set(store, before, MACHINE_READY, NULL, &err), ERR_NOT_FOUND, &err);
    ASSERT_OK(machine_store_load(store, ONE, &after, &err), &err);
    assert_int_equal(after->state, MACHINE_DRAWN);
    assert_null(after->moref);
    assert_string_equal(after->address, before->address);
    machine_free(before);
    machine_free(after);
}

static void a_sick_machine_gets_another_address_or_keeps_its_own(void **state) {
    struct machine *machine = NULL;
    struct err err = {0};
    uint64_t count = 0;
    (void)state;
    ASSERT_OK(draw(ONE, "prod-cp-1", ONE, &err), &err);
    ASSERT_CODE(machine_store_move(store, ONE, &pool, &err), ERR_NOT_FOUND, &err); /* it is not sick */
    ASSERT_OK(machine_store_load(store, ONE, &machine, &err), &err);
    ASSERT_OK(machine_store_set(store, machine, MACHINE_SICK, NULL, &err), &err);
    machine_free(STEAL(machine));
    ASSERT_OK(machine_store_move(store, ONE, &pool, &err), &err);
    ASSERT_OK(machine_store_load(store, ONE, &machine, &err), &err);
    assert_string_equal(machine->address, "10.9.0.21");
    machine_free(machine);
    ASSERT_CODE(machine_store_move(store, ONE, &pool, &err), ERR_CONFLICT, &err); /* the other one is quiet */
    fixture_exec("UPDATE address_leases SET quiet_until_ms = 1 WHERE owner IS NULL");
    ASSERT_OK(address_store_count_free(store, &pool, &count, &err), &err);
    assert_int_equal(count, 1); /* it has its own still */
}

static void a_folder_is_kept_and_forgotten(void **state) {
    struct machine_folder folder;
    struct err err = {0};
    (void)state;
    ASSERT_OK(machine_store_set_folder(store, CLUSTER, VCENTER, "group-v1", &err), &err);
    ASSERT_OK(machine_store_set_folder(store, CLUSTER, VCENTER, "group-v2", &err), &err);
    ASSERT_OK(machine_store_get_folder(store, CLUSTER, &folder, &err), &err);
    assert_string_equal(folder.moref, "group-v2");
    ASSERT_OK(machine_store_set_folder(store, CLUSTER, VCENTER, NULL, &err), &err);
    ASSERT_OK(machine_store_get_folder(store, CLUSTER, &folder, &err), &err);
    assert_string_equal(folder.moref, "");
}

#define TEST(name) cmocka_unit_test_setup(name, empty)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_machine_and_its_address_come_together),
        TEST(an_address_is_quiet_after_its_release),
        TEST(what_is_said_of_a_machine_that_was_drawn_again_is_not_written),
        TEST(a_sick_machine_gets_another_address_or_keeps_its_own),
        TEST(a_folder_is_kept_and_forgotten),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
