/* Events for vCenters against a real server: which wait, which are made, and by whom.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include "clock.h"
#include "cluster_store.h"
#include "event_make.h"
#include "event_store.h"
#include "grant_store.h"
#include "inventory.h"
#include "platform_store.h"
#include "replica_store.h"
#include "str.h"

#define VC FIXTURE_VC
#define NOW_MS FIXTURE_NOW_MS
#define ASK_MS 10000 /* how often a replica asks whether it is its turn */

static struct store *store;

static int set_up(void **state) {
    const struct platform_seen seen = {.vcenter_id = VC, .now_ms = NOW_MS};
    struct vsphere_cluster c = {.ref = {.vcenter_id = VC, .moref = "domain-c7"}, .name = str_dup("east")};
    struct err err = {0};
    unsigned changed = 0;
    (void)fixture_set_up(state);
    store = fixture_runtime();
    fixture_insert_vcenter(store, VC);
    fixture_exec("UPDATE vcenters SET registered_at_ms = 1");
    ASSERT_OK(platform_store_save_vsphere(store, &seen, &c, 1, &changed, &err), &err);
    vsphere_cluster_done(&c);
    clock_fake(1000, NOW_MS);
    return 0;
}

static int tear_down(void **state) {
    clock_unfake();
    store_free(store);
    return fixture_tear_down(state);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM clusters");
    fixture_exec("DELETE FROM vcenter_events");
    fixture_exec("DELETE FROM cluster_places");
    fixture_exec("DELETE FROM leases");
    fixture_exec("UPDATE vcenters SET events_since_ms = 1, host_event_key = 0, host_event_at_ms = 0");
    return 0;
}

static int64_t waiting(void) {
    return fixture_number("SELECT COUNT(*) FROM vcenter_events");
}

/* -- what waits ------------------------------------------------------------------------------------------------------------ */

#define ROW(id, claimed, refused) "('" id "', '" VC "', 'domain-c7', 'ready', 1, 0, " claimed ", " refused ")"

static void test_the_refused_wait_behind_all_others(void **state) {
    struct vcenter_event_list list = {0};
    struct err err = {0};
    (void)state;
    fixture_exec(
        "INSERT INTO vcenter_events (id, vcenter_id, moref, kind, folded, made_at_ms, claimed_at_ms, refused_at_ms) VALUES" ROW(
            "a", "1", "5") "," ROW("b", "0", "0") "," ROW("c", "1", "0"));
    ASSERT_OK(event_store_list(store, VC, 10, &list, &err), &err);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].id, "c");
    assert_string_equal(list.items[1].id, "b");
    assert_string_equal(list.items[2].id, "a");
    ASSERT_OK(event_store_note_refused(store, &list.items[0], 7, &err), &err);
    ASSERT_OK(event_store_note_refused(store, &list.items[2], 7, &err), &err);
    vcenter_event_list_done(&list);
    assert_int_equal(fixture_number("SELECT refused_at_ms FROM vcenter_events WHERE id = 'c'"), 7);
    assert_int_equal(fixture_number("SELECT refused_at_ms FROM vcenter_events WHERE id = 'a'"), 5); /* the first time counts */
}

static void grant_and_withdraw(void) {
    struct grant g = {.id = fixture_uuid(1),
                      .principal_id = str_dup("local:a"),
                      .object = GRANT_VSPHERE_CLUSTER,
                      .object_id = str_dup(VC "/domain-c7"),
                      .role = str_dup("viewer")};
    struct err err = {0};
    ASSERT_OK(grant_store_insert(store, &g, NOW_MS, NULL, &err), &err);
    ASSERT_OK(grant_store_delete(store, g.id, NULL, &err), &err);
    grant_done(&g);
}

static void test_without_events_grants_are_not_told(void **state) {
    struct err err = {0};
    (void)state;
    grant_and_withdraw();
    assert_int_equal(waiting(), 2);
    fixture_exec("INSERT INTO cluster_places VALUES ('c', '" VC "', 'domain-c7', 'name', 'ready', 0)");
    ASSERT_OK(event_store_end(store, &err), &err);
    assert_int_equal(waiting(), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM cluster_places"), 0);
    grant_and_withdraw();
    assert_int_equal(waiting(), 0);
    ASSERT_OK(event_store_begin(store, VC, NOW_MS, &err), &err);
    grant_and_withdraw();
    assert_int_equal(waiting(), 2);
}

/* -- hosts about to enter maintenance mode ---------------------------------------------------------------------------------- */

static bool save_host(int64_t key, int64_t at_ms) {
    struct vcenter_event made = {.kind = VCENTER_EVENT_MAINTENANCE,
                                 .name = (char *)(uintptr_t) "esx-1",
                                 .object_id = (char *)(uintptr_t) "host-1",
                                 .reason = (char *)(uintptr_t) "prod (cp-0)",
                                 .folded = 1,
                                 .made_at_ms = NOW_MS};
    struct err err = {0};
    bool is_news = false;
    uuid_new(made.id);
    ASSERT_OK(object_ref_make(VC, "domain-c7", &made.ref, &err), &err);
    ASSERT_OK(event_store_save_host(store, &(struct event_of_host){&made, key, at_ms}, &is_news, &err), &err);
    return is_news;
}

static void test_a_host_is_told_of_once_by_whomever(void **state) {
    struct vcenter_event_list list = {0};
    struct err err = {0};
    (void)state;
    fixture_exec("UPDATE vcenters SET events_since_ms = 0");
    assert_false(save_host(5, 100));
    fixture_exec("UPDATE vcenters SET events_since_ms = 1");
    assert_true(save_host(5, 100));
    assert_false(save_host(5, 100));
    assert_false(save_host(4, 99));
    assert_true(save_host(6, 100)); /* a clock that was put back */
    assert_true(save_host(1, 200)); /* keys that begin again */
    fixture_exec("INSERT INTO vcenter_events (id, vcenter_id, moref, kind, folded, made_at_ms) VALUES" //
                 "('a', '" VC "', 'domain-c7', 'ready', 1, 0)");
    ASSERT_OK(event_store_list(store, VC, 10, &list, &err), &err);
    assert_int_equal(list.count, 4);
    assert_int_equal(list.items[0].kind, VCENTER_EVENT_MAINTENANCE); /* before the older one, which can wait */
    assert_int_equal(list.items[3].kind, VCENTER_EVENT_READY);
    vcenter_event_list_done(&list);
}

/* -- who makes them -------------------------------------------------------------------------------------------------------- */

struct replica_world {
    struct store *store;
    struct inventory *inventory;
    struct event_maker *maker;
};

#define REPLICAS_MAX 8U /* at a time */

static struct replica_world make_replica(const char *name) {
    static struct runtime runtimes[REPLICAS_MAX];
    static size_t count;
    struct replica_world r = {.store = fixture_runtime()};
    struct runtime *runtime = &runtimes[count++ % REPLICAS_MAX]; /* outlives the inventory */
    struct err err = {0};
    unsigned id = 0;
    int64_t age_ms = 0;
    runtime->store = r.store;
    ASSERT_OK(replica_store_register(r.store, name, &id, &age_ms, &err), &err);
    ASSERT_OK(inventory_new(&(struct inventory_options){.runtime = runtime}, &r.inventory, &err), &err);
    ASSERT_OK(inventory_load(r.inventory, &err), &err);
    ASSERT_OK(event_maker_new(r.store, r.inventory, &r.maker, &err), &err);
    return r;
}

static void drop_replica(const struct replica_world *r) {
    event_maker_free(r->maker);
    inventory_free(r->inventory);
    store_free(r->store);
}

static void tick(const struct replica_world *r) {
    struct err err = {0};
    ASSERT_OK(inventory_poll(r->inventory, &err), &err);
    ASSERT_OK(event_maker_tick(r->maker, &err), &err);
}

static void insert_cluster(unsigned n) {
    struct cluster *c = fixture_cluster(n, NULL);
    struct object_ref ref;
    struct err err = {0};
    c->state = CLUSTER_CREATING;
    c->created_at_ms = c->updated_at_ms = NOW_MS;
    ASSERT_OK(object_ref_make(VC, "domain-c7", &ref, &err), &err);
    ASSERT_OK(object_set_add(&c->placement, &ref, &err), &err);
    ASSERT_OK(cluster_store_insert(store, c, NULL, &err), &err);
    cluster_free(c);
}

/* Of those that the server answers: the end of a connection or of a prepared statement it takes in when it comes to it, so that of the look before it
 * may be counted or not. */
static int64_t statements(void) {
    return fixture_number("SELECT CAST(SUM(VARIABLE_VALUE) AS SIGNED) FROM information_schema.GLOBAL_STATUS"
                          " WHERE VARIABLE_NAME LIKE 'COM\\_%' AND VARIABLE_NAME <> 'COM_STMT_CLOSE'");
}

static void test_seconds_without_news_cost_no_statement(void **state) {
    const struct replica_world one = make_replica("one"), other = make_replica("other");
    struct err err = {0};
    (void)state;
    tick(&one);
    tick(&other);
    insert_cluster(1);
    tick(&one);
    assert_int_equal(waiting(), 1);
    (void)statements();
    const int64_t first = statements(), looking = statements() - first, before = statements();
    for (int i = 0; i < 9; i++) {
        clock_advance_ms(1000);
        ASSERT_OK(event_maker_tick(one.maker, &err), &err);
        ASSERT_OK(event_maker_tick(other.maker, &err), &err);
    }
    assert_int_equal(statements() - before, looking);
    drop_replica(&one);
    drop_replica(&other);
}

static void test_what_a_dead_replica_did_not_tell_another_does(void **state) {
    const struct replica_world dead = make_replica("one"), other = make_replica("other");
    (void)state;
    tick(&dead);
    insert_cluster(1);
    tick(&other);
    insert_cluster(2);
    tick(&other);
    assert_int_equal(waiting(), 0); /* it is not its turn */
    fixture_exec("UPDATE leases SET expires_at_ms = 1");
    clock_advance_ms(ASK_MS);
    tick(&other);
    assert_int_equal(waiting(), 2);
    tick(&dead); /* it lives after all: it knows that it has lost its turn within ASK_MS, and what it would write is refused */
    assert_int_equal(waiting(), 2);
    drop_replica(&dead);
    drop_replica(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_refused_wait_behind_all_others, empty),
        cmocka_unit_test_setup(test_without_events_grants_are_not_told, empty),
        cmocka_unit_test_setup(test_a_host_is_told_of_once_by_whomever, empty),
        cmocka_unit_test_setup(test_seconds_without_news_cost_no_statement, empty),
        cmocka_unit_test_setup(test_what_a_dead_replica_did_not_tell_another_does, empty),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
