/* The directory over the change feed: what is read again, what failures leave, who else is told.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "clock.h"
#include "inventory_world.h"
#include "inventory.h"
#include "json.h"
#include "query.h"
#include "str.h"

static struct inventory *directory;
static struct change told[64];
static unsigned told_count, turns, gaps;
static int answer_to_change, answer_to_gap;

static int on_changes(void *arg, const struct change_list *changes) {
    (void)arg;
    turns++;
    for (size_t i = 0; i < changes->count; i++) {
        assert_true(told_count < UNIT_COUNT(told));
        told[told_count++] = changes->items[i];
    }
    return answer_to_change;
}

static int on_gap(void *arg) {
    (void)arg;
    gaps++;
    return answer_to_gap;
}

static int set_up(void **state) {
    static const struct runtime runtime;
    const struct inventory_options options = {.runtime = &runtime, .on_changes = on_changes, .on_gap = on_gap};
    (void)state;
    told_count = turns = gaps = 0;
    answer_to_change = answer_to_gap = 0;
    world_fill();
    clock_fake(1000, 1700000000000);
    return inventory_new(&options, &directory, NULL);
}

static int tear_down(void **state) {
    (void)state;
    inventory_free(directory);
    clock_unfake();
    world_reset();
    return 0;
}

static size_t count_clusters(void) {
    struct inventory_snapshot *snapshot = inventory_get(directory);
    size_t count = snapshot->clusters_count;
    inventory_snapshot_unref(snapshot);
    return count;
}

static void nothing_before_the_first_load(void **state) {
    (void)state;
    assert_null(inventory_get(directory));
    assert_int_equal(inventory_as_of_ms(directory), 0);
    assert_true(inventory_is_stale(directory));
    assert_int_equal(inventory_load(directory, NULL), 0);
    assert_int_equal(count_clusters(), 5);
    assert_int_equal(inventory_as_of_ms(directory), 1700000000000);
    assert_false(inventory_is_stale(directory));
}

static void a_poll_before_the_load_loads(void **state) {
    (void)state;
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(count_clusters(), 5);
}

static void reads_just_what_changed(void **state) {
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    (void)world_add_cluster(6, "zeta");
    world_note(CHANGE_CLUSTER, world_cluster_id(6));
    world.clusters[0].workers_desired = 77;
    world_note(CHANGE_CLUSTER, world_cluster_id(1));
    world_note(CHANGE_CLUSTER, world_cluster_id(1)); /* twice in one batch: read once */
    world_remove_cluster(world_cluster_id(2));
    world_note(CHANGE_CLUSTER, world_cluster_id(2));
    world_note(CHANGE_CLUSTER, world_cluster_id(999)); /* added and removed between two polls */
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(world.full_loads, 1);
    assert_int_equal(world.single_loads, 4);
    assert_int_equal(count_clusters(), 5);
    assert_true(world_shows(directory, 6, "zeta"));
    assert_true(world_shows(directory, 1, "\"desired\":77"));
    assert_false(world_shows(directory, 2, "beta"));
}

static void a_poll_without_news_keeps_the_snapshot(void **state) {
    struct inventory_snapshot *before, *after;
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    before = inventory_get(directory);
    clock_advance_ms(1500);
    assert_int_equal(inventory_poll(directory, NULL), 0);
    after = inventory_get(directory);
    assert_ptr_equal(before, after);
    assert_int_equal(inventory_as_of_ms(directory), 1700000001500);
    inventory_snapshot_unref(before);
    inventory_snapshot_unref(after);
}

static void unchanged_entries_are_shared(void **state) {
    struct inventory_snapshot *before, *after;
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    before = inventory_get(directory);
    world_note(CHANGE_CLUSTER, world_cluster_id(1));
    assert_int_equal(inventory_poll(directory, NULL), 0);
    after = inventory_get(directory);
    assert_true(after->generation > before->generation);
    assert_ptr_equal(inventory_find_cluster(before, world_cluster_id(2)), inventory_find_cluster(after, world_cluster_id(2)));
    assert_ptr_not_equal(inventory_find_cluster(before, world_cluster_id(1)), inventory_find_cluster(after, world_cluster_id(1)));
    inventory_snapshot_unref(before);
    inventory_snapshot_unref(after);
}

static void a_platform_change_renders_anew(void **state) {
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    assert_true(world_shows(directory, 1, "HX-East"));
    free(world.vsphere[0].name);
    world.vsphere[0].name = str_dup("HX-Osten");
    free(world.hx[0].name);
    world.hx[0].name = str_dup("HX-Osten");
    world_note(CHANGE_VSPHERE_CLUSTER, VC_A "/domain-c7");
    world_note(CHANGE_HX_CLUSTER, HX_A7);
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_true(world_shows(directory, 1, "HX-Osten"));
    assert_false(world_shows(directory, 1, "HX-East"));
    assert_int_equal(world.full_loads, 1); /* the clusters themselves were not read again */
}

static void a_grant_shows_at_once(void **state) {
    struct inventory_snapshot *snapshot;
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    world_add_grant("local:me", GRANT_CLUSTER, world_cluster_id(1));
    world_note(CHANGE_GRANT, "grant-1");
    assert_int_equal(inventory_poll(directory, NULL), 0);
    snapshot = inventory_get(directory);
    assert_int_equal(snapshot->platform->grants_count, 1);
    inventory_snapshot_unref(snapshot);
}

static void tells_others_in_order_and_at_once(void **state) {
    static const enum change_kind kinds[] = {CHANGE_SESSION,     CHANGE_CLUSTER, CHANGE_USER,
                                             CHANGE_SIGNING_KEY, CHANGE_VCENTER, CHANGE_GRANT};
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(kinds); i++)
        world_note(kinds[i], world_cluster_id(1));
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(told_count, UNIT_COUNT(kinds));
    for (size_t i = 0; i < UNIT_COUNT(kinds); i++)
        assert_int_equal(told[i].kind, kinds[i]);
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(told_count, UNIT_COUNT(kinds));
    assert_int_equal(turns, 1);
}

/* A change that could not be applied elsewhere must not be lost: a logout would not happen here. */
static void a_change_that_was_not_taken_is_told_again(void **state) {
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    world_note(CHANGE_SESSION, "s1");
    world_note(CHANGE_SESSION, "s2");
    answer_to_change = ERR_DATABASE;
    assert_int_equal(inventory_poll(directory, NULL), ERR_UNAVAILABLE);
    assert_int_equal(told_count, 2);
    answer_to_change = 0;
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(told_count, 4);
    assert_string_equal(told[2].object_id, "s1");
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(told_count, 4);
}

static void a_failure_keeps_the_old_and_is_made_good(void **state) {
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    world.clusters[0].workers_desired = 77;
    world_note(CHANGE_CLUSTER, world_cluster_id(1));
    world_note(CHANGE_SESSION, "s1");
    for (int works = 0; works <= 1; works++) { /* the feed itself, then the cluster's row */
        world.fail_code = ERR_DATABASE;
        world.fail_after = works;
        assert_int_equal(inventory_poll(directory, NULL), ERR_DATABASE);
        assert_int_equal(count_clusters(), 5);
        assert_false(world_shows(directory, 1, "\"desired\":77"));
        assert_int_equal(told_count, 0);
    }
    clock_advance_ms(2001);
    assert_true(inventory_is_stale(directory));
    world.fail_code = 0;
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_true(world_shows(directory, 1, "\"desired\":77"));
    assert_int_equal(told_count, 2);
    assert_false(inventory_is_stale(directory));
}

static void every_step_of_a_full_load_may_fail(void **state) {
    (void)state;
    for (int works = 0; works < 6; works++) {
        world.fail_code = ERR_DATABASE;
        world.fail_after = works;
        assert_int_equal(inventory_load(directory, NULL), ERR_DATABASE);
        assert_null(inventory_get(directory));
    }
    world.fail_code = 0;
    assert_int_equal(inventory_load(directory, NULL), 0);
    for (int works = 0; works < 5; works++) {
        struct err err = {0};
        world.fail_code = ERR_DATABASE;
        world.fail_after = works;
        assert_int_equal(inventory_load(directory, &err), ERR_DATABASE);
        assert_int_equal(err.code, ERR_DATABASE);
        assert_int_equal(count_clusters(), 5);
    }
}

static void a_gap_loads_everything_and_tells_so(void **state) {
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    world_remove_cluster(world_cluster_id(4)); /* nothing in the feed tells */
    world.is_gap = true;
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(world.full_loads, 2);
    assert_int_equal(count_clusters(), 4);
    assert_int_equal(gaps, 1);
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(gaps, 1);
}

/* The fake's gap is told once; a real one is met again as long as the positions lie before it. */
static void a_gap_whose_load_fails_is_met_again(void **state) {
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    world_note(CHANGE_SESSION, "s1");
    world.is_gap = true;
    world.fail_code = ERR_DATABASE;
    world.fail_after = 1;
    assert_int_equal(inventory_poll(directory, NULL), ERR_DATABASE);
    world.fail_code = 0;
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(told_count, 1); /* positions had not moved */
}

static void change_between(void) {
    world.between = NULL;
    world_note(CHANGE_SESSION, "s1");
    (void)world_add_cluster(9, "late");
    world_note(CHANGE_CLUSTER, world_cluster_id(9));
}

static void a_change_during_the_load_is_not_missed(void **state) {
    (void)state;
    world.between = change_between;
    assert_int_equal(inventory_load(directory, NULL), 0);
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_true(world_shows(directory, 9, "late"));
    assert_int_equal(told_count, 2);
}

/* The hourly check must not step over changes that nobody was told of. */
static void a_later_load_does_not_swallow_changes(void **state) {
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    world_note(CHANGE_SESSION, "s1");
    assert_int_equal(inventory_load(directory, NULL), 0);
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_int_equal(told_count, 1);
}

/* -- readers beside a writer --------------------------------------------------------------------------------------------- */

static atomic_bool is_over;

static void *read_lists(void *arg) {
    struct viewer_key admin = world_admin();
    unsigned *reads = arg;
    while (!atomic_load(&is_over)) {
        struct inventory_cluster_query query = {.limit = 10};
        struct strbuf text;
        struct inventory_page page = {.text = &text};
        struct inventory_snapshot *snapshot = inventory_get(directory);
        strbuf_init(&text, 1U << 20);
        assert_int_equal(inventory_list_clusters(snapshot, &admin, &query, &page, NULL), 0);
        strbuf_done(&text);
        inventory_snapshot_unref(snapshot);
        ++*reads;
    }
    return NULL;
}

static void readers_never_wait_for_or_meet_half_a_change(void **state) {
    pthread_t threads[3];
    unsigned reads[3] = {0};
    (void)state;
    atomic_store(&is_over, false);
    assert_int_equal(inventory_load(directory, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_lists, &reads[i]), 0);
    for (int i = 0; i < 200; i++) {
        world.changes_count = 0;
        assert_int_equal(inventory_load(directory, NULL), 0);
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_before_the_first_load),
        TEST(a_poll_before_the_load_loads),
        TEST(reads_just_what_changed),
        TEST(a_poll_without_news_keeps_the_snapshot),
        TEST(unchanged_entries_are_shared),
        TEST(a_platform_change_renders_anew),
        TEST(a_grant_shows_at_once),
        TEST(tells_others_in_order_and_at_once),
        TEST(a_change_that_was_not_taken_is_told_again),
        TEST(a_failure_keeps_the_old_and_is_made_good),
        TEST(every_step_of_a_full_load_may_fail),
        TEST(a_gap_loads_everything_and_tells_so),
        TEST(a_gap_whose_load_fails_is_met_again),
        TEST(a_change_during_the_load_is_not_missed),
        TEST(a_later_load_does_not_swallow_changes),
        TEST(readers_never_wait_for_or_meet_half_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
