/* What sums and rows say of the source of a state and of HX clusters that share a name.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "hx_query.h"
#include "inventory_world.h"
#include "json.h"
#include "query.h"
#include "str.h"
#include "strbuf.h"

static struct viewer_key admin;

#define QUERY(...) (&(struct inventory_cluster_query){__VA_ARGS__})

static int set_up(void **state) {
    admin = world_admin();
    return world_set_up(state);
}

static struct inventory_counts counts_of(const struct viewer_key *viewer, const struct inventory_cluster_query *query) {
    struct inventory_candidates candidates;
    struct inventory_counts counts;
    assert_int_equal(inventory_count_clusters(world_now, viewer, query, &candidates, &counts, NULL), 0);
    return counts;
}

/* Of the ready ones only, of those that are seen, and on one HX cluster as in the whole list. */
static void counts_tell_what_is_ready_by_hand_only(void **state) {
    struct object_set set = {0};
    struct viewer_key east = world_viewer(VC_A, "domain-c7", &set);
    const struct hx_cluster *hx = NULL;
    struct inventory_counts counts;
    (void)state;
    assert_int_equal(counts_of(&admin, QUERY(0)).ready_declared, 5); /* all of them were typed */
    world.clusters[1].state = CLUSTER_DEGRADED;
    assert_int_equal(str_replace(&world.clusters[2].state_source, "reported", NULL), 0);
    world_renew();
    counts = counts_of(&admin, QUERY(0));
    assert_int_equal(counts.by_state[CLUSTER_READY], 4);
    assert_int_equal(counts.ready_declared, 3);
    assert_int_equal(counts_of(&admin, QUERY(.state_mask = 1U << CLUSTER_DEGRADED)).ready_declared, 0);
    assert_int_equal(inventory_get_visible_hx(world_now, &east, HX_A7, &hx, NULL), 0);
    inventory_count_on_hx(world_now, &east, hx, &counts);
    const struct inventory_counts listed = counts_of(&east, QUERY(.hx_cluster_id = HX_A7));
    assert_memory_equal(&counts, &listed, sizeof(counts));
    assert_true(counts.ready_declared < counts.by_state[CLUSTER_READY]);
    object_set_done(&set);
}

/* Two of one name differ by it; it is null for a place whose names are not known yet. */
static void an_hx_cluster_of_a_row_has_its_place(void **state) {
    _cleanup_strbuf_ struct strbuf text;
    _cleanup_json_ json_t *answer = NULL;
    struct inventory_page page = {.text = &text};
    char got[200] = "";
    (void)state;
    assert_int_equal(str_replace(&world.vsphere[1].datacenter, NULL, NULL), 0);
    world_renew();
    strbuf_init(&text, 1U << 20);
    assert_int_equal(inventory_list_clusters(world_now, &admin, QUERY(.limit = 10), &page, NULL), 0);
    assert_int_equal(json_parse(text.data, text.len, &answer, NULL), 0);
    for (size_t i = 0; i < json_array_size(json_object_get(answer, "items")); i++) {
        const json_t *placement = json_object_get(json_array_get(json_object_get(answer, "items"), i), "placement");
        const json_t *hx = json_array_get(json_object_get(placement, "hx_clusters"), 0);
        const json_t *path = json_object_get(hx, "path");
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s:%s", i ? " " : "", json_get_string(hx, "name"),
                       json_is_null(path) ? "null" : json_string_value(path));
    }
    assert_string_equal(got, "HX-East:DC0/HX-East HX-West:null HX-East:DC1/HX-East HX-East:DC0/HX-East HX-East:DC0/HX-East");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(counts_tell_what_is_ready_by_hand_only),
        TEST(an_hx_cluster_of_a_row_has_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
