/* Which host a name means, which clusters it carries, and what of that a viewer may see.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "impact.h"
#include "inventory_world.h"
#include "str.h"

#define SEEN_MS 1700000000000

static struct viewer_key admin;
static struct object_set may_see;

static int set_up(void **state) {
    admin = world_admin();
    return world_set_up(state);
}

static int tear_down(void **state) {
    object_set_done(&may_see);
    return world_tear_down(state);
}

/* A node of the cluster `n` of the world, seen on this host of a vSphere cluster. */
static void add_node(unsigned n, enum node_role role, const char *vcenter_id, const char *cluster_moref, const char *host_moref,
                     const char *host_name) {
    struct cluster *c = &world.clusters[n - 1];
    struct node *node;
    c->nodes = reallocarray(c->nodes, c->nodes_count + 1, sizeof(*c->nodes));
    node = &c->nodes[c->nodes_count++];
    *node = (struct node){
        .id = str_format("%s-%zu", c->id, c->nodes_count), .name = str_format("n-%zu", c->nodes_count), .role = role};
    node->seen = calloc(1, sizeof(*node->seen));
    *node->seen = (struct node_observation){.node_id = str_dup(node->id),
                                            .match = VM_MATCH_NAME,
                                            .vcenter_id = str_dup(vcenter_id),
                                            .host_moref = str_dup(host_moref),
                                            .host_name = str_dup(host_name),
                                            .cluster_moref = str_dup(cluster_moref),
                                            .power = VM_POWER_ON,
                                            .connection = VM_CONNECTION_CONNECTED,
                                            .host_connection = HOST_CONNECTION_CONNECTED,
                                            .observed_at_ms = SEEN_MS};
}

/* On host-1 of A's domain-c7: a worker of alpha; one of three control planes of gamma, which is on domain-c70, too; both of epsilon's, and a worker. */
static void fill(void) {
    add_node(1, NODE_CONTROL_PLANE, VC_A, "domain-c7", "host-2", "esx-2.example.com");
    add_node(1, NODE_WORKER, VC_A, "domain-c7", "host-1", "esx-1.example.com");
    add_node(3, NODE_CONTROL_PLANE, VC_A, "domain-c7", "host-1", "esx-1.example.com");
    add_node(3, NODE_CONTROL_PLANE, VC_A, "domain-c70", "host-70", "esx-70.example.com");
    add_node(3, NODE_CONTROL_PLANE, VC_A, "domain-c70", "host-71", "esx-71.example.com");
    add_node(4, NODE_CONTROL_PLANE, VC_B, "domain-c7", "host-1", "esx-1.example.com");
    add_node(5, NODE_CONTROL_PLANE, VC_A, "domain-c7", "host-1", "esx-1.example.com");
    add_node(5, NODE_CONTROL_PLANE, VC_A, "domain-c7", "host-1", "esx-1.example.com");
    add_node(5, NODE_WORKER, VC_A, "domain-c7", "host-1", "esx-1.example.com");
    world_renew();
}

/* What becomes of whom without host-1 of A: "epsilon loses_quorum 3, ..." with the number of nodes on it; then the number of hidden ones. */
static void judge(const struct viewer_key *viewer, const char *expected) {
    const struct object_ref host = {VC_A, "host-1"};
    struct inventory_impact impact;
    char got[400] = "";
    assert_int_equal(inventory_judge_host(world_now, viewer, &host, &impact, NULL), 0);
    for (size_t i = 0; i < impact.count; i++)
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s %s %zu, ", impact.rows[i].seen.entry->record->name,
                       host_verdict_name(impact.rows[i].impact.verdict),
                       impact.rows[i].impact.control_planes_on + impact.rows[i].impact.workers_on);
    (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "hidden %zu", impact.hidden);
    free(impact.rows);
    assert_string_equal(got, expected);
}

static void the_worst_comes_first(void **state) {
    (void)state;
    fill();
    judge(&admin, "epsilon loses_quorum 3, gamma keeps_quorum 1, alpha workers_only 1, hidden 0");
}

static void what_may_not_be_seen_is_counted_or_unknown(void **state) {
    (void)state;
    fill();
    struct viewer_key east = world_viewer(VC_A, "domain-c7", &may_see);
    judge(&east, "epsilon loses_quorum 3, gamma keeps_quorum 1, alpha workers_only 1, hidden 0");
    object_set_done(&may_see);
    may_see = (struct object_set){0};
    struct viewer_key west = world_viewer(VC_A, "domain-c70", &may_see);
    judge(&west, "hidden 1"); /* of gamma; alpha and epsilon are not there for it */
}

/* The hosts that fit, "vc-a host-1, ..."; with what came of it. */
static void find(const struct viewer_key *viewer, const char *vcenter_id, const char *reference, int code, const char *expected) {
    const struct vcenter *vcenter = vcenter_id ? inventory_find_vcenter(world_now->platform, vcenter_id) : NULL;
    struct inventory_host_list found;
    char got[400] = "";
    assert_int_equal(inventory_resolve_host(world_now, viewer, vcenter, reference, &found, NULL), code);
    for (size_t i = 0; i < found.count; i++)
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s %s", i ? ", " : "",
                       str_eq(found.items[i].ref.vcenter_id, VC_A) ? "a" : "b", found.items[i].ref.moref);
    assert_string_equal(got, expected);
}

static void a_host_is_found_by_name_or_id(void **state) {
    (void)state;
    fill();
    add_node(2, NODE_WORKER, VC_A, "domain-c70", "host-72", "esx-2");
    add_node(1, NODE_WORKER, VC_A, "domain-c7", "host-73", "esx-71");
    world_renew();
    find(&admin, NULL, "ESX-70.example.COM", 0, "a host-70");
    find(&admin, NULL, "esx-70", 0, "a host-70");
    find(&admin, NULL, "host-70", 0, "a host-70");
    find(&admin, NULL, "esx-2", 0, "a host-72"); /* the whole name counts before a part of it, whichever comes first */
    find(&admin, NULL, "esx-71", 0, "a host-73");
    find(&admin, VC_A, "esx-1", 0, "a host-1");
    find(&admin, VC_B, "host-1", 0, "b host-1");
    find(&admin, NULL, "esx", ERR_NOT_FOUND, "");
    find(&admin, NULL, "esx-7", ERR_NOT_FOUND, "");
    find(&admin, NULL, "", ERR_NOT_FOUND, "");
    find(&admin, VC_B, "esx-70", ERR_NOT_FOUND, "");
}

static void a_name_that_fits_several_is_no_host(void **state) {
    struct inventory_host_list found;
    struct err err = {0};
    (void)state;
    fill();
    find(&admin, NULL, "esx-1.example.com", ERR_AMBIGUOUS, "a host-1, b host-1");
    find(&admin, NULL, "esx-1", ERR_AMBIGUOUS, "a host-1, b host-1");
    find(&admin, NULL, "host-1", ERR_AMBIGUOUS, "a host-1, b host-1");
    assert_int_equal(inventory_resolve_host(world_now, &admin, NULL, "esx-1", &found, &err), ERR_AMBIGUOUS);
    assert_non_null(strstr(err.remedy, "host-1 of vCenter "));
}

/* Neither does a host that may not be seen make a name ambiguous. */
static void a_host_that_may_not_be_seen_is_none(void **state) {
    (void)state;
    fill();
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &may_see);
    find(&viewer, NULL, "esx-1", 0, "a host-1");
    find(&viewer, NULL, "esx-70", ERR_NOT_FOUND, "");
    find(&viewer, VC_B, "esx-1", ERR_NOT_FOUND, "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_worst_comes_first),
        TEST(what_may_not_be_seen_is_counted_or_unknown),
        TEST(a_host_is_found_by_name_or_id),
        TEST(a_name_that_fits_several_is_no_host),
        TEST(a_host_that_may_not_be_seen_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
