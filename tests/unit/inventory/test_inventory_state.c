/* State and placement in the directory: aged reports, vCenters that are (not) watched, times of reports, who sees what then.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "hx_query.h"
#include "inventory_world.h"
#include "inventory.h"
#include "limits.h"
#include "load.h"
#include "query.h"
#include "str.h"

#define NOW 1700000000000
#define LIMIT 900000

static struct inventory *directory;

static int set_up(void **state) {
    static const struct runtime runtime;
    const struct inventory_options options = {.runtime = &runtime, .report_stale_after_ms = LIMIT};
    (void)state;
    world_fill();
    clock_fake(1000, NOW);
    return inventory_new(&options, &directory, NULL);
}

static int tear_down(void **state) {
    (void)state;
    inventory_free(directory);
    clock_unfake();
    world_reset();
    return 0;
}

static void set_text(char **text, const char *to) {
    free(*text);
    *text = str_dup(to);
}

static void report(struct cluster *c, int64_t at_ms) {
    set_text(&c->state_source, "reported");
    c->state = c->reported_state = CLUSTER_READY;
    c->reported_at_ms = at_ms;
}

/* A control-plane node of the cluster, seen on a vSphere cluster. */
static struct node_observation *add_node(struct cluster *c, const char *vcenter_id, const char *moref) {
    struct node *n;
    c->nodes = reallocarray(c->nodes, c->nodes_count + 1, sizeof(*c->nodes));
    n = &c->nodes[c->nodes_count++];
    *n = (struct node){.id = str_format("n-%zu", c->nodes_count), .name = str_format("cp-%zu", c->nodes_count)};
    n->seen = calloc(1, sizeof(*n->seen));
    *n->seen = (struct node_observation){.node_id = str_dup(n->id),
                                         .match = VM_MATCH_NAME,
                                         .vcenter_id = str_dup(vcenter_id),
                                         .host_moref = str_dup("host-1"),
                                         .cluster_moref = str_dup(moref),
                                         .power = VM_POWER_ON,
                                         .connection = VM_CONNECTION_CONNECTED,
                                         .observed_at_ms = NOW};
    return n->seen;
}

/* The state of cluster n as everyone sees it. */
static enum cluster_state state_of(unsigned n) {
    struct inventory_snapshot *snapshot = inventory_get(directory);
    enum cluster_state found = inventory_find_cluster(snapshot, world_cluster_id(n))->record->state;
    inventory_snapshot_unref(snapshot);
    return found;
}

static void pass(int64_t ms) {
    clock_advance_ms(ms);
    (void)inventory_poll(directory, NULL);
}

static void a_report_ages_without_the_database(void **state) {
    (void)state;
    report(&world.clusters[0], NOW);
    assert_int_equal(inventory_load(directory, NULL), 0);
    world.fail_code = ERR_DATABASE;
    pass(LIMIT);
    assert_int_equal(state_of(1), CLUSTER_READY);
    pass(1000);
    assert_int_equal(state_of(1), CLUSTER_UNKNOWN);
    assert_int_equal(state_of(2), CLUSTER_READY); /* declared */
    assert_int_equal(world.single_loads, 0);
    assert_int_equal(world.full_loads, 1);
}

static void a_report_in_memory_keeps_a_cluster_fresh(void **state) {
    (void)state;
    report(&world.clusters[0], NOW);
    assert_int_equal(inventory_load(directory, NULL), 0);
    pass(LIMIT - 1000);
    inventory_note_report(directory, world_cluster_id(1), clock_wall_ms());
    pass(2000);
    assert_int_equal(state_of(1), CLUSTER_READY);
    world_note(CHANGE_CLUSTER, world_cluster_id(1)); /* read anew: the row's own time is old, what memory knows counts */
    pass(1000);
    assert_int_equal(world.single_loads, 1);
    assert_int_equal(state_of(1), CLUSTER_READY);
    pass(LIMIT);
    assert_int_equal(state_of(1), CLUSTER_UNKNOWN);
}

static void report_times_are_exchanged_with_the_database(void **state) {
    struct inventory_snapshot *before, *after;
    (void)state;
    report(&world.clusters[0], NOW);
    report(&world.clusters[1], NOW);
    assert_int_equal(inventory_load(directory, NULL), 0);
    before = inventory_get(directory);
    pass(LIMIT - 1000);
    inventory_note_report(directory, world_cluster_id(1), clock_wall_ms());
    world.clusters[1].reported_at_ms = clock_wall_ms(); /* by another replica */
    world.fail_code = ERR_DATABASE;
    assert_int_equal(inventory_sync_reports(directory, NULL), ERR_DATABASE);
    world.fail_code = 0;
    assert_int_equal(inventory_sync_reports(directory, NULL), 0);
    assert_int_equal(inventory_sync_reports(directory, NULL), 0);
    assert_int_equal(world.times_saved, 1);
    assert_int_equal(world.clusters[0].reported_at_ms, clock_wall_ms());
    after = inventory_get(directory);
    assert_ptr_equal(before, after); /* nothing was rendered anew */
    inventory_snapshot_unref(before);
    inventory_snapshot_unref(after);
    pass(2000);
    assert_int_equal(state_of(1), CLUSTER_READY);
    assert_int_equal(state_of(2), CLUSTER_READY);
    pass(LIMIT);
    assert_int_equal(state_of(2), CLUSTER_UNKNOWN);
}

/* More than one look makes anew: all come out in the end. */
static void many_clusters_age_bit_by_bit(void **state) {
    unsigned unknown = 0;
    (void)state;
    for (unsigned n = 6; n <= WORLD_CLUSTERS_MAX; n++)
        report(world_add_cluster(n, world_cluster_id(n)), NOW);
    assert_int_equal(inventory_load(directory, NULL), 0);
    for (int polls = 0; polls < 3; polls++)
        pass(polls ? 250 : LIMIT + 1000);
    for (unsigned n = 6; n <= WORLD_CLUSTERS_MAX; n++)
        unknown += state_of(n) == CLUSTER_UNKNOWN;
    assert_int_equal(unknown, WORLD_CLUSTERS_MAX - 5);
}

static void a_vcenter_that_is_not_watched_stops_counting(void **state) {
    (void)state;
    add_node(&world.clusters[0], VC_A, "domain-c7")->power = VM_POWER_OFF;
    assert_int_equal(inventory_load(directory, NULL), 0);
    assert_int_equal(state_of(1), CLUSTER_DEGRADED); /* after a start, what was seen before goes on counting */
    pass(KAAS_OBSERVED_EVIDENCE_MS + 1000);
    assert_int_equal(state_of(1), CLUSTER_READY);
    inventory_set_watched(directory, VC_B, true);
    pass(1000);
    assert_int_equal(state_of(1), CLUSTER_READY);
    inventory_set_watched(directory, VC_A, true);
    pass(1000);
    assert_int_equal(state_of(1), CLUSTER_DEGRADED);
    pass(10 * KAAS_OBSERVED_EVIDENCE_MS);
    assert_int_equal(state_of(1), CLUSTER_DEGRADED);
    inventory_set_watched(directory, VC_A, false); /* a short break turns nothing over */
    pass(KAAS_OBSERVED_EVIDENCE_MS - 1000);
    assert_int_equal(state_of(1), CLUSTER_DEGRADED);
    inventory_set_watched(directory, VC_A, false); /* said twice is no new beginning */
    pass(3000);
    assert_int_equal(state_of(1), CLUSTER_READY);
}

static bool sees(const struct viewer_key *viewer, unsigned n, uint64_t *mask) {
    struct inventory_snapshot *snapshot = inventory_get(directory);
    const struct inventory_cluster *entry;
    bool found = !inventory_get_visible_cluster(snapshot, viewer, world_cluster_id(n), &entry, mask, NULL);
    inventory_snapshot_unref(snapshot);
    return found;
}

static void what_is_seen_follows_the_nodes(void **state) {
    struct object_set set = {0}, other = {0}, interest = {0};
    struct viewer_key east = world_viewer(VC_A, "domain-c7", &set), plain = world_viewer(VC_B, "domain-c9", &other);
    struct inventory_snapshot *snapshot;
    struct node_observation *seen;
    uint64_t mask = 0;
    (void)state;
    world.clusters_count = 1; /* only "alpha", declared on A/c7 */
    seen = add_node(&world.clusters[0], VC_A, "domain-c7");
    assert_int_equal(inventory_load(directory, NULL), 0);
    assert_true(sees(&east, 1, &mask));
    assert_false(sees(&plain, 1, &mask));
    set_text(&seen->vcenter_id, VC_B);
    set_text(&seen->cluster_moref, "domain-c9");
    world_note(CHANGE_CLUSTER, world_cluster_id(1));
    pass(250);
    assert_false(sees(&east, 1, &mask));
    assert_true(sees(&plain, 1, &mask));
    snapshot = inventory_get(directory);
    assert_int_equal(inventory_objects_of_interest(snapshot, VC_B, &interest, NULL), 0);
    assert_int_equal(interest.count, 2); /* c7 with its HX cluster, and c9 for the node */
    inventory_snapshot_unref(snapshot);
    object_set_done(&set);
    object_set_done(&other);
    object_set_done(&interest);
    world.clusters_count = 5;
}

static void names_are_left_out_for_those_who_see_a_part(void **state) {
    struct inventory_snapshot *snapshot;
    const struct inventory_cluster *gamma;
    (void)state;
    add_node(&world.clusters[2], VC_A, "domain-c7");
    add_node(&world.clusters[2], VC_A, "domain-c70")->power = VM_POWER_OFF;
    assert_int_equal(inventory_load(directory, NULL), 0);
    snapshot = inventory_get(directory);
    gamma = inventory_find_cluster(snapshot, world_cluster_id(3));
    assert_int_equal(gamma->fragments_count, 3);
    assert_non_null(strstr(gamma->fragments[0].json, "VM cp-2 is powered off"));
    assert_null(strstr(gamma->fragments[1].json, "cp-2"));
    assert_non_null(strstr(gamma->fragments[1].json, "1 of its virtual machines is not running"));
    inventory_snapshot_unref(snapshot);
}

/* It may be on any of the vSphere clusters, also on those that are hidden. */
static void a_node_whose_place_is_not_known_is_for_those_who_see_all(void **state) {
    const struct node node = {.seen = NULL};
    struct object_set set = {0};
    struct viewer_key west = world_viewer(VC_A, "domain-c70", &set), all = world_admin();
    struct inventory_snapshot *snapshot;
    struct inventory_seen in;
    (void)state;
    assert_int_equal(inventory_load(directory, NULL), 0);
    snapshot = inventory_get(directory);
    assert_int_equal(inventory_get_visible_cluster(snapshot, &west, world_cluster_id(3), &in.entry, &in.mask, NULL), 0);
    assert_false(inventory_sees_node(snapshot->platform, &west, &in, &node));
    assert_int_equal(inventory_get_visible_cluster(snapshot, &all, world_cluster_id(3), &in.entry, &in.mask, NULL), 0);
    assert_true(inventory_sees_node(snapshot->platform, &all, &in, &node));
    inventory_snapshot_unref(snapshot);
    object_set_done(&set);
}

/* What people and programs write goes by what is stored, not by what follows from it. */
static void the_stored_record_can_be_had_again(void **state) {
    struct inventory_snapshot *snapshot;
    struct cluster *stored = NULL;
    (void)state;
    report(&world.clusters[0], NOW);
    world.clusters[0].state_since_ms = NOW - 5000;
    add_node(&world.clusters[0], VC_B, "domain-c9")->power = VM_POWER_OFF;
    assert_int_equal(inventory_load(directory, NULL), 0);
    assert_int_equal(state_of(1), CLUSTER_DEGRADED);
    snapshot = inventory_get(directory);
    const struct inventory_cluster *entry = inventory_find_cluster(snapshot, world_cluster_id(1));
    assert_int_equal(entry->record->control_plane_ready, 2);
    assert_int_equal(entry->record->state_since_ms, NOW);
    assert_int_equal(inventory_cluster_stored(entry, &stored, NULL), 0);
    assert_int_equal(stored->control_plane_ready, 3); /* as told */
    assert_int_equal(stored->state_since_ms, NOW - 5000);
    assert_true(cluster_same(stored, &world.clusters[0]));
    assert_int_equal(stored->reported_at_ms, NOW);
    cluster_free(stored);
    inventory_snapshot_unref(snapshot);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_report_ages_without_the_database),           TEST(a_report_in_memory_keeps_a_cluster_fresh),
        TEST(report_times_are_exchanged_with_the_database), TEST(many_clusters_age_bit_by_bit),
        TEST(a_vcenter_that_is_not_watched_stops_counting), TEST(what_is_seen_follows_the_nodes),
        TEST(names_are_left_out_for_those_who_see_a_part),  TEST(a_node_whose_place_is_not_known_is_for_those_who_see_all),
        TEST(the_stored_record_can_be_had_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
