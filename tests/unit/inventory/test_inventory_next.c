/* A snapshot made out of the one before must be as one made anew, whatever was changed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "inventory_world.h"
#include "load.h"
#include "str.h"

#define ROUNDS 300
#define IDS 60

static uint32_t seed;

static uint32_t draw(uint32_t below) {
    seed = seed * 1664525U + 1013904223U; /* Numerical Recipes' generator: the same run each time */
    return (seed >> 8) % below;
}

static int set_up(void **state) {
    (void)state;
    seed = 42;
    world_fill();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    world_reset();
    return 0;
}

static void assert_same_index(const struct inventory_snapshot *a, const struct inventory_snapshot *b) {
    assert_int_equal(a->platform->vsphere_count, b->platform->vsphere_count);
    for (size_t v = 0; v < a->platform->vsphere_count; v++) {
        assert_int_equal(a->by_vsphere[v].count, b->by_vsphere[v].count);
        for (size_t i = 0; i < a->by_vsphere[v].count; i++)
            assert_int_equal(a->by_vsphere[v].positions[i], b->by_vsphere[v].positions[i]);
    }
}

static void assert_same(const struct inventory_snapshot *a, const struct inventory_snapshot *b) {
    assert_int_equal(a->clusters_count, b->clusters_count);
    assert_int_equal(a->nodes_count, b->nodes_count);
    for (size_t i = 0; i < a->clusters_count; i++) {
        assert_null(inventory_cluster_difference(a->clusters[i], b->clusters[i]));
        assert_int_equal(a->by_id[i], b->by_id[i]);
    }
    assert_same_index(a, b);
}

static struct cluster *find(const char *id) {
    for (size_t i = 0; i < world.clusters_count; i++)
        if (str_eq(world.clusters[i].id, id))
            return &world.clusters[i];
    return NULL;
}

static void place_at_random(struct cluster *c) {
    static const char *const places[][2] = {{VC_A, "domain-c7"}, {VC_A, "domain-c70"}, {VC_B, "domain-c7"}, {VC_B, "domain-c9"}};
    object_set_done(&c->placement);
    for (size_t i = 0; i < UNIT_COUNT(places); i++)
        if (draw(3) == 0)
            world_place(c, places[i][0], places[i][1]);
    c->nodes_count = 0;
    free(c->nodes);
    c->nodes_count = draw(3);
    c->nodes = calloc(c->nodes_count + 1, sizeof(*c->nodes));
}

static void change_one(struct change *change) {
    const unsigned n = 1 + draw(IDS);
    struct cluster *c = find(world_cluster_id(n));
    char name[20];
    (void)snprintf(change->object_id, sizeof(change->object_id), "%s", world_cluster_id(n));
    change->kind = CHANGE_CLUSTER;
    (void)snprintf(name, sizeof(name), "n%u-%u", draw(1000), n);
    if (!c) {
        place_at_random(world_add_cluster(n, name));
        return;
    }
    if (draw(3) == 0) {
        world_remove_cluster(change->object_id);
        return;
    }
    if (draw(2)) {
        free(c->name);
        c->name = str_dup(name);
    }
    place_at_random(c);
}

static void change_below(struct change *change) {
    change->kind = CHANGE_VSPHERE_CLUSTER;
    if (world.vsphere_count > 4 && draw(2)) {
        vsphere_cluster_done(&world.vsphere[--world.vsphere_count]);
        memset(&world.vsphere[world.vsphere_count], 0, sizeof(world.vsphere[0]));
    } else if (world.vsphere_count < 8) {
        char moref[20];
        (void)snprintf(moref, sizeof(moref), "domain-c%u", 1 + (unsigned)world.vsphere_count);
        (void)world_add_vsphere(VC_A, moref, "DC0", "More");
    }
    free(world.hx[0].name);
    world.hx[0].name = str_format("HX-%u", draw(3));
    world.hx[1].is_gone = draw(2);
}

static void as_made_anew(void **state) {
    struct inventory_loading loading = {.basis = {.wall_ms = 1, .mono_ms = 1}};
    struct change items[4];
    (void)state;
    loading.old = world_snapshot();
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct change_list changes = {.items = items, .count = 1 + draw(3)};
        struct inventory_snapshot *next = NULL, *anew;
        memset(items, 0, sizeof(items));
        for (size_t i = 0; i < changes.count; i++)
            change_one(&items[i]);
        if (draw(4) == 0)
            change_below(&items[changes.count++]);
        assert_int_equal(inventory_load_changes(&loading, &changes, &next, NULL), 0);
        anew = world_snapshot();
        assert_same(next, anew);
        inventory_snapshot_unref(anew);
        inventory_snapshot_unref(loading.old);
        loading.old = next;
    }
    inventory_snapshot_unref(loading.old);
}

static void a_grant_makes_no_cluster_anew(void **state) {
    struct inventory_loading loading = {.basis = {.wall_ms = 1, .mono_ms = 1}};
    struct change change = {.kind = CHANGE_GRANT, .object_id = "grant-1"};
    const struct change_list changes = {.items = &change, .count = 1};
    struct inventory_snapshot *next = NULL;
    (void)state;
    loading.old = world_snapshot();
    world_add_grant("local:a", GRANT_HX_CLUSTER, HX_A7);
    assert_int_equal(inventory_load_changes(&loading, &changes, &next, NULL), 0);
    assert_int_equal(next->platform->grants_count, 1);
    for (size_t i = 0; i < next->clusters_count; i++)
        assert_ptr_equal(next->clusters[i], loading.old->clusters[i]);
    inventory_snapshot_unref(next);
    inventory_snapshot_unref(loading.old);
}

/* Of clusters 1, 3 and 5 on it a part is shown under another name; 2 and 4 are elsewhere. */
static void a_renamed_ground_makes_anew_what_shows_it(void **state) {
    struct inventory_loading loading = {.basis = {.wall_ms = 1, .mono_ms = 1}};
    struct change change = {.kind = CHANGE_VSPHERE_CLUSTER, .object_id = VC_A "/domain-c7"};
    const struct change_list changes = {.items = &change, .count = 1};
    struct inventory_snapshot *next = NULL;
    (void)state;
    loading.old = world_snapshot();
    free(world.vsphere[0].name);
    world.vsphere[0].name = str_dup("Renamed");
    assert_int_equal(inventory_load_changes(&loading, &changes, &next, NULL), 0);
    for (unsigned n = 1; n <= 5; n++) {
        const bool is_kept =
            inventory_find_cluster(next, world_cluster_id(n)) == inventory_find_cluster(loading.old, world_cluster_id(n));
        assert_int_equal(is_kept, n == 2 || n == 4);
    }
    assert_non_null(strstr(inventory_find_cluster(next, world_cluster_id(1))->fragments[0].json, "Renamed"));
    inventory_snapshot_unref(next);
    inventory_snapshot_unref(loading.old);
}

/* As many vSphere clusters as before, but not the same: positions among them mean others now. */
static void an_exchanged_ground_is_looked_up_anew(void **state) {
    struct inventory_loading loading = {.basis = {.wall_ms = 1, .mono_ms = 1}};
    struct change items[] = {{.kind = CHANGE_VSPHERE_CLUSTER, .object_id = VC_B "/domain-c9"},
                             {.kind = CHANGE_VSPHERE_CLUSTER, .object_id = VC_A "/domain-c1"}};
    const struct change_list changes = {.items = items, .count = UNIT_COUNT(items)};
    struct inventory_snapshot *next = NULL, *anew;
    (void)state;
    loading.old = world_snapshot();
    vsphere_cluster_done(&world.vsphere[--world.vsphere_count]);
    memset(&world.vsphere[world.vsphere_count], 0, sizeof(world.vsphere[0]));
    (void)world_add_vsphere(VC_A, "domain-c1", "DC0", "More");
    assert_int_equal(inventory_load_changes(&loading, &changes, &next, NULL), 0);
    anew = world_snapshot();
    assert_same(next, anew);
    inventory_snapshot_unref(anew);
    inventory_snapshot_unref(next);
    inventory_snapshot_unref(loading.old);
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(as_made_anew),
        EACH(a_grant_makes_no_cluster_anew),
        EACH(a_renamed_ground_makes_anew_what_shows_it),
        EACH(an_exchanged_ground_is_looked_up_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
