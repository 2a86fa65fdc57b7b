/* The check of the change feed: what is found, told, corrected, and what is no difference.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "inventory_world.h"
#include "inventory.h"
#include "limits.h"
#include "load.h"
#include "metric.h"
#include "str.h"

#define KNOWN_AT_ONCE 1000 /* so many suspects are looked at again at once */

static struct inventory *directory;
static unsigned told_count, changes_told;
static struct {
    enum change_kind kind;
    char object_id[129], member[40];
} told[8];

static void on_difference(void *arg, const struct inventory_difference *difference) {
    (void)arg;
    if (told_count++ >= UNIT_COUNT(told))
        return;
    told[told_count - 1].kind = difference->kind;
    (void)snprintf(told[told_count - 1].object_id, sizeof(told[0].object_id), "%s", difference->object_id);
    (void)snprintf(told[told_count - 1].member, sizeof(told[0].member), "%s", difference->member);
}

static int on_changes(void *arg, const struct change_list *changes) {
    (void)arg;
    changes_told += (unsigned)changes->count;
    return 0;
}

static int set_up(void **state) {
    static const struct runtime runtime;
    const struct inventory_options options = {.runtime = &runtime, .on_difference = on_difference, .on_changes = on_changes};
    (void)state;
    told_count = changes_told = 0;
    world_fill();
    clock_fake(1000, 1700000000000);
    assert_int_equal(inventory_new(&options, &directory, NULL), 0);
    return inventory_load(directory, NULL);
}

static int tear_down(void **state) {
    (void)state;
    inventory_free(directory);
    clock_unfake();
    world_reset();
    return 0;
}

static unsigned long check(void) {
    unsigned long differences = 999;
    assert_int_equal(inventory_check(directory, &differences, NULL), 0);
    return differences;
}

static void assert_told(unsigned i, enum change_kind kind, const char *id, const char *member) {
    assert_true(i < told_count);
    assert_int_equal(told[i].kind, kind);
    assert_string_equal(told[i].object_id, id);
    assert_string_equal(told[i].member, member);
}

static void nothing_to_find(void **state) {
    const struct metric *checks = metric_get(METRIC_INVENTORY_CHECKS);
    const int64_t checks_before = metric_value(checks);
    struct inventory_snapshot *before = inventory_get(directory), *after;
    (void)state;
    world_add_grant("local:a", GRANT_HX_CLUSTER, HX_A7);
    world_note(CHANGE_GRANT, "grant-1");
    world.clusters[1].workers_desired = 8;
    world_note(CHANGE_CLUSTER, world.clusters[1].id);
    assert_int_equal(inventory_poll(directory, NULL), 0);
    inventory_snapshot_unref(before);
    before = inventory_get(directory);
    world.is_interrupted = true;
    assert_int_equal(check(), 0);
    after = inventory_get(directory);
    assert_ptr_equal(before, after);
    assert_int_equal(told_count, 0);
    assert_int_equal(metric_value(checks), checks_before + 1);
    inventory_snapshot_unref(before);
    inventory_snapshot_unref(after);
}

static void a_member_changed_behind_the_feed(void **state) {
    const struct metric *count = metric_get(METRIC_INVENTORY_DIFFERENCES);
    const int64_t before = metric_value(count);
    (void)state;
    world.clusters[0].description = str_dup("by hand");
    world.clusters[2].labels = calloc(1, sizeof(struct label));
    world.clusters[2].labels[0] = (struct label){str_dup("team"), str_dup("shop")};
    world.clusters[2].labels_count = 1;
    assert_int_equal(check(), 2);
    assert_told(0, CHANGE_CLUSTER, world_cluster_id(1), "description");
    assert_told(1, CHANGE_CLUSTER, world_cluster_id(3), "labels");
    assert_int_equal(metric_value(count), before + 2);
    assert_true(world_shows(directory, 1, "by hand"));
    assert_true(world_shows(directory, 3, "\"team\":\"shop\""));
    assert_int_equal(changes_told, 2); /* who watches nodes of clusters must know, too */
    assert_int_equal(check(), 0);
    assert_int_equal(told_count, 2);
}

static void both_directions(void **state) {
    (void)state;
    (void)world_add_cluster(6, "zeta");
    world_remove_cluster(world_cluster_id(2));
    assert_int_equal(check(), 2);
    assert_told(0, CHANGE_CLUSTER, world_cluster_id(6), INVENTORY_NOT_IN_MEMORY);
    assert_told(1, CHANGE_CLUSTER, world_cluster_id(2), INVENTORY_NOT_STORED);
    assert_true(world_shows(directory, 6, "zeta"));
    assert_false(world_shows(directory, 2, "beta"));
    assert_int_equal(check(), 0);
}

static void nodes_and_what_is_seen_of_them(void **state) {
    (void)state;
    world.clusters[0].nodes = calloc(1, sizeof(struct node));
    world.clusters[0].nodes_count = 1;
    world.clusters[0].nodes[0].id = str_dup("n1");
    world.clusters[0].nodes[0].name = str_dup("alpha-1");
    assert_int_equal(check(), 1);
    assert_told(0, CHANGE_CLUSTER, world_cluster_id(1), "nodes");
    world.clusters[0].nodes[0].seen = calloc(1, sizeof(struct node_observation));
    world.clusters[0].nodes[0].seen->node_id = str_dup("n1");
    world.clusters[0].nodes[0].seen->vcenter_id = str_dup(VC_A);
    assert_int_equal(check(), 1);
    assert_told(1, CHANGE_CLUSTER, world_cluster_id(1), "nodes.seen");
    assert_int_equal(check(), 0);
}

static void what_lies_below(void **state) {
    (void)state;
    free(world.hx[0].name);
    world.hx[0].name = str_dup("HX-Renamed");
    world.vcenters[1].port = 8443;
    free(world.vsphere[3].name);
    world.vsphere[3].name = str_dup("Plainer");
    world_add_grant("local:a", GRANT_HX_CLUSTER, HX_A7);
    assert_int_equal(check(), 4);
    assert_told(0, CHANGE_VCENTER, VC_B, "port");
    assert_told(1, CHANGE_VSPHERE_CLUSTER, VC_B "/domain-c9", "name");
    assert_told(2, CHANGE_HX_CLUSTER, HX_A7, "name");
    assert_told(3, CHANGE_GRANT, "grant-1", INVENTORY_NOT_IN_MEMORY);
    assert_true(world_shows(directory, 1, "HX-Renamed"));
    assert_true(world_shows(directory, 5, "Plainer"));
    assert_int_equal(check(), 0);
    grant_done(&world.grants[--world.grants_count]);
    assert_int_equal(check(), 1);
    assert_told(4, CHANGE_GRANT, "grant-1", INVENTORY_NOT_STORED);
}

/* Somebody else changes a cluster, adds one and renames what lies below, just after the check has read all. */
static void change_meanwhile(void) {
    world.during = NULL;
    world.clusters[0].workers_desired = 55;
    world_note(CHANGE_CLUSTER, world_cluster_id(1));
    (void)world_add_cluster(7, "eta");
    world_note(CHANGE_CLUSTER, world_cluster_id(7));
    world_remove_cluster(world_cluster_id(4));
    world_note(CHANGE_CLUSTER, world_cluster_id(4));
}

/* As if those had been there when the check read, and the feed had not been polled yet. */
static void changes_that_arrive_during_the_load(void **state) {
    (void)state;
    change_meanwhile(); /* stored, noted, not polled: the check meets it */
    assert_int_equal(check(), 0);
    assert_true(world_shows(directory, 1, "\"desired\":55"));
    assert_true(world_shows(directory, 7, "eta"));
    assert_false(world_shows(directory, 4, "delta"));
    world.clusters[1].description = str_dup("by hand"); /* a real one beside them */
    world.during = change_meanwhile;
    world_add_cluster(4, "delta");
    world_note(CHANGE_CLUSTER, world_cluster_id(4));
    world_remove_cluster(world_cluster_id(7));
    world_note(CHANGE_CLUSTER, world_cluster_id(7));
    assert_int_equal(check(), 1);
    assert_int_equal(told_count, 1);
    assert_string_equal(told[0].member, "description");
}

/* Noted between the polling and the second look: the feed still names it. */
static void note_late(void) {
    static unsigned calls;
    world.between_singles = NULL;
    world.clusters[2].workers_desired = 60 + (int)++calls;
    world_note(CHANGE_CLUSTER, world_cluster_id(3));
}

static void a_change_during_the_second_look(void **state) {
    (void)state;
    world.clusters[2].workers_desired = 59;
    world.between_singles = note_late;
    assert_int_equal(check(), 0);
    assert_int_equal(told_count, 0);
    assert_int_equal(inventory_poll(directory, NULL), 0);
    assert_true(world_shows(directory, 3, "\"desired\":61"));
}

/* The feed cannot tell what was changed: perhaps all of it. */
static void miss_late(void) {
    world.between_singles = NULL;
    world.is_gap = true;
}

static void a_gap_during_the_second_look(void **state) {
    (void)state;
    world.clusters[2].workers_desired = 59;
    world.between_singles = miss_late;
    assert_int_equal(check(), 0);
    assert_int_equal(told_count, 0);
    assert_int_equal(check(), 1); /* nothing is forgotten by it */
}

static void note_another_late(void) {
    world.between_singles = NULL;
    world_note(CHANGE_CLUSTER, world_cluster_id(2));
}

static void a_change_of_another_lets_nothing_off(void **state) {
    (void)state;
    world.clusters[2].workers_desired = 59;
    world.between_singles = note_another_late;
    assert_int_equal(check(), 1);
    assert_told(0, CHANGE_CLUSTER, world_cluster_id(3), "workers_desired");
}

static void note_two_late(void) {
    note_another_late();
    world_note(CHANGE_CLUSTER, world_cluster_id(3));
}

static void a_change_far_on_in_the_feed_lets_off(void **state) {
    (void)state;
    world.clusters[2].workers_desired = 59;
    world.changes_at_once = 1;
    world.between_singles = note_two_late;
    assert_int_equal(check(), 0);
    assert_int_equal(told_count, 0);
}

static void remove_the_first(void) {
    world.interrupted = NULL;
    world_remove_cluster(world_cluster_id(1));
}

static void what_was_read_before_an_interruption_does_not_count(void **state) {
    const unsigned many = KAAS_NODES_COUNT_MAX * 4 / 5 / KAAS_NODES_PER_CLUSTER_MAX;
    (void)state;
    world.is_interrupted = true;
    world.interrupted = remove_the_first;
    assert_int_equal(check(), 1);
    assert_told(0, CHANGE_CLUSTER, world_cluster_id(1), INVENTORY_NOT_STORED);
    for (unsigned i = 0; i < many; i++) {
        struct cluster *c = world_add_cluster(100 + i, ""); /* with the half before, too many */
        c->nodes_count = KAAS_NODES_PER_CLUSTER_MAX;
        c->nodes = calloc(c->nodes_count, sizeof(*c->nodes));
    }
    assert_int_equal(check(), many);
}

static void fail_the_second_look(void) {
    world.during = NULL;
    world.fail_code = ERR_DATABASE;
}

static void a_second_look_that_fails_is_no_difference(void **state) {
    unsigned long differences = 7;
    (void)state;
    world.clusters[0].description = str_dup("by hand");
    world.during = fail_the_second_look;
    assert_int_equal(inventory_check(directory, &differences, NULL), ERR_DATABASE);
    assert_int_equal(differences, 7);
    assert_int_equal(told_count, 0);
    world.fail_code = 0;
    assert_int_equal(check(), 1);
}

static void a_text_that_does_not_fit_its_record(void **state) {
    struct inventory_snapshot *snapshot = inventory_get(directory);
    const struct inventory_cluster *entry = inventory_find_cluster(snapshot, world_cluster_id(1));
    char *at = strstr(entry->fragments[0].json, "alpha");
    (void)state;
    *at = 'A';
    inventory_snapshot_unref(snapshot);
    assert_int_equal(check(), 1);
    assert_told(0, CHANGE_CLUSTER, world_cluster_id(1), "text");
    assert_true(world_shows(directory, 1, "alpha"));
}

static void note_one_below(void) {
    world.between_singles = NULL;
    world_note(CHANGE_VSPHERE_CLUSTER, VC_A "/domain-c7");
}

/* Texts show names of what lies below: the feed still names that. */
static void a_text_is_let_off_by_what_lies_below(void **state) {
    struct inventory_snapshot *snapshot = inventory_get(directory);
    (void)state;
    *strstr(inventory_find_cluster(snapshot, world_cluster_id(1))->fragments[0].json, "alpha") = 'A';
    inventory_snapshot_unref(snapshot);
    world.between_singles = note_one_below;
    assert_int_equal(check(), 0);
    assert_int_equal(told_count, 0);
    assert_int_equal(check(), 1); /* nothing is forgotten by it */
    assert_told(0, CHANGE_CLUSTER, world_cluster_id(1), "text");
}

static void a_database_that_fails(void **state) {
    unsigned long differences = 7;
    (void)state;
    world.clusters[0].description = str_dup("by hand");
    for (int after = 0; after < 12; after++) {
        world.fail_code = ERR_DATABASE;
        world.fail_after = after;
        const int rc = inventory_check(directory, &differences, NULL);
        world.fail_code = 0;
        if (!rc)
            break;
        assert_int_equal(rc, ERR_DATABASE);
        assert_int_equal(differences, 7);
    }
    assert_int_equal(check() + (differences == 1), 1); /* found once, whenever it worked */
    assert_true(world_shows(directory, 1, "by hand"));
}

static void more_than_are_looked_at_at_once(void **state) {
    char name[20];
    (void)state;
    for (unsigned i = 100; i < 100 + KNOWN_AT_ONCE + 50; i++) {
        (void)snprintf(name, sizeof(name), "c-%u", i);
        (void)world_add_cluster(i, name);
    }
    assert_int_equal(check(), KNOWN_AT_ONCE + 50);
    assert_int_equal(check(), 0);
}

static void before_the_first_load(void **state) {
    struct inventory *empty;
    unsigned long differences = 7;
    static const struct runtime runtime;
    const struct inventory_options options = {.runtime = &runtime, .on_difference = on_difference};
    (void)state;
    assert_int_equal(inventory_new(&options, &empty, NULL), 0);
    assert_int_equal(inventory_check(empty, &differences, NULL), 0);
    assert_int_equal(differences, 0);
    inventory_free(empty);
}

/* -- full loads ------------------------------------------------------------------------------------------------------------- */

static void a_full_load_shares_what_is_the_same(void **state) {
    struct inventory_snapshot *before = inventory_get(directory), *after;
    (void)state;
    world.clusters[1].workers_desired = 9;
    assert_int_equal(inventory_load(directory, NULL), 0);
    after = inventory_get(directory);
    assert_ptr_equal(inventory_find_cluster(before, world_cluster_id(1)), inventory_find_cluster(after, world_cluster_id(1)));
    assert_ptr_not_equal(inventory_find_cluster(before, world_cluster_id(2)), inventory_find_cluster(after, world_cluster_id(2)));
    inventory_snapshot_unref(before);
    inventory_snapshot_unref(after);
}

static void more_than_may_be_held(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(inventory_check_size(KAAS_CLUSTERS_COUNT_MAX, KAAS_NODES_COUNT_MAX, NULL), 0);
    assert_int_equal(inventory_check_size(KAAS_CLUSTERS_COUNT_MAX + 1, 0, NULL), ERR_TOO_LARGE);
    for (unsigned i = 0; i <= KAAS_NODES_COUNT_MAX / KAAS_NODES_PER_CLUSTER_MAX; i++) {
        struct cluster *c = world_add_cluster(100 + i, "");
        c->nodes_count = KAAS_NODES_PER_CLUSTER_MAX;
        c->nodes = calloc(c->nodes_count, sizeof(*c->nodes));
    }
    assert_int_equal(inventory_load(directory, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "250000 nodes"));
    assert_true(world_shows(directory, 1, "alpha")); /* what was there stays */
    world_note(CHANGE_CLUSTER, world_cluster_id(1));
    assert_int_equal(inventory_poll(directory, NULL), 0);
    for (unsigned i = 0; i <= 10; i++)
        world_note(CHANGE_CLUSTER, world_cluster_id(100 + i));
    assert_int_equal(inventory_poll(directory, NULL), 0); /* 11,000 nodes are few */
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(nothing_to_find),
        EACH(a_member_changed_behind_the_feed),
        EACH(both_directions),
        EACH(nodes_and_what_is_seen_of_them),
        EACH(what_lies_below),
        EACH(changes_that_arrive_during_the_load),
        EACH(a_change_during_the_second_look),
        EACH(a_gap_during_the_second_look),
        EACH(a_change_of_another_lets_nothing_off),
        EACH(a_change_far_on_in_the_feed_lets_off),
        EACH(what_was_read_before_an_interruption_does_not_count),
        EACH(a_second_look_that_fails_is_no_difference),
        EACH(a_text_that_does_not_fit_its_record),
        EACH(a_text_is_let_off_by_what_lies_below),
        EACH(a_database_that_fails),
        EACH(more_than_are_looked_at_at_once),
        EACH(before_the_first_load),
        EACH(a_full_load_shares_what_is_the_same),
        EACH(more_than_may_be_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
