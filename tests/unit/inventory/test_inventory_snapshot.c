/* Snapshots: look-ups, names that people type, who sees which part.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "inventory_world.h"
#include "json.h"
#include "limits.h"
#include "query.h"
#include "str.h"

static void finds_clusters(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 5; n++)
        assert_string_equal(inventory_find_cluster(world_now, world_cluster_id(n))->record->id, world_cluster_id(n));
    assert_null(inventory_find_cluster(world_now, world_cluster_id(0)));
    assert_null(inventory_find_cluster(world_now, world_cluster_id(6)));
    assert_null(inventory_find_cluster(world_now, ""));
    assert_string_equal(inventory_find_cluster_by_name(world_now, "gamma")->record->id, world_cluster_id(3));
    assert_null(inventory_find_cluster_by_name(world_now, "gam"));
    assert_null(inventory_find_cluster_by_name(world_now, "gammas"));
}

static void an_empty_world_is_fine(void **state) {
    struct inventory_snapshot *empty;
    (void)state;
    world_reset();
    empty = world_snapshot();
    assert_null(inventory_find_cluster(empty, world_cluster_id(1)));
    assert_null(inventory_find_cluster_by_name(empty, "alpha"));
    assert_null(inventory_find_vcenter(empty->platform, VC_A));
    inventory_snapshot_unref(empty);
}

static void finds_hx_by_whole_reference(void **state) {
    struct object_ref c7 = {VC_A, "domain-c7"}, c70 = {VC_A, "domain-c70"}, c9 = {VC_B, "domain-c9"}, none = {VC_A, "domain-c"};
    (void)state;
    assert_string_equal(inventory_find_hx_on(world_now->platform, &c7)->id, HX_A7);
    assert_string_equal(inventory_find_hx_on(world_now->platform, &c70)->id, HX_A70);
    assert_null(inventory_find_hx_on(world_now->platform, &c9));
    assert_null(inventory_find_hx_on(world_now->platform, &none));
    assert_string_equal(inventory_find_hx(world_now->platform, HX_B7)->name, "HX-East");
    assert_null(inventory_find_hx(world_now->platform, "hx"));
}

static void resolves_vcenters(void **state) {
    static const char *const a_words[] = {VC_A, "VC-A", "vc-a", "Vc-A.Example.COM", "vc-A.example.com:443"};
    const struct vcenter *vc = NULL;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(a_words); i++) {
        assert_int_equal(inventory_resolve_vcenter(world_now->platform, a_words[i], &vc, &err), 0);
        assert_string_equal(vc->id, VC_A);
    }
    assert_int_equal(inventory_resolve_vcenter(world_now->platform, "vc-", &vc, &err), ERR_NOT_FOUND);
    assert_true(err.remedy[0]);
    assert_int_equal(inventory_resolve_vcenter(world_now->platform, "vc-", &vc, NULL), ERR_NOT_FOUND);
    assert_int_equal(inventory_resolve_vcenter(world_now->platform, "vc-a.example.com:44", &vc, NULL), ERR_NOT_FOUND);
    assert_int_equal(inventory_resolve_vcenter(world_now->platform, "vc-a:443", &vc, NULL),
                     ERR_NOT_FOUND); /* a name has no port */
}

static void the_port_tells_vcenters_of_one_host_apart(void **state) {
    static const struct {
        const char *id, *address;
        unsigned port;
    } more[] = {{"d0", "::1", 443}, {"d1", "::1", 8443}, {"d2", "vc-a.example.com", 8443}};
    const struct vcenter *vc = NULL;
    struct inventory_snapshot *s;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(more); i++) {
        world_add_vcenter(more[i].id, more[i].address, more[i].address);
        world.vcenters[world.vcenters_count - 1].port = more[i].port;
    }
    s = world_snapshot();
    assert_int_equal(inventory_resolve_vcenter(s->platform, "vc-a.example.com", &vc, NULL), ERR_AMBIGUOUS);
    assert_int_equal(inventory_resolve_vcenter(s->platform, "::1", &vc, NULL), ERR_AMBIGUOUS);
    assert_int_equal(inventory_resolve_vcenter(s->platform, "vc-a.example.com:8443", &vc, NULL), 0);
    assert_string_equal(vc->id, "d2");
    assert_int_equal(inventory_resolve_vcenter(s->platform, "vc-a.example.com:443", &vc, NULL), 0);
    assert_string_equal(vc->id, VC_A);
    assert_int_equal(inventory_resolve_vcenter(s->platform, "[::1]:443", &vc, NULL), 0);
    assert_string_equal(vc->id, "d0");
    assert_int_equal(inventory_resolve_vcenter(s->platform, "[::1]:8443", &vc, NULL), 0);
    assert_string_equal(vc->id, "d1");
    assert_int_equal(inventory_resolve_vcenter(s->platform, "::1:8443", &vc, NULL), ERR_NOT_FOUND);
    inventory_snapshot_unref(s);
}

static void one_word_for_two_vcenters_is_ambiguous(void **state) {
    const struct vcenter *vc = NULL;
    struct object_set set = {0};
    struct viewer_key viewer;
    struct inventory_snapshot *more;
    (void)state;
    world_add_vcenter("dddddddd-0a53-4a8e-8a54-2f1f9f3f6f10", "vc-d", "VC-A.example.com");
    more = world_snapshot();
    assert_int_equal(inventory_resolve_vcenter(more->platform, "vc-a.example.com", &vc, NULL), ERR_AMBIGUOUS);
    viewer = world_viewer(VC_A, "", &set);
    assert_int_equal(inventory_resolve_visible_vcenter(more->platform, &viewer, "vc-a.example.com", &vc, NULL), 0);
    assert_string_equal(vc->id, VC_A);
    inventory_snapshot_unref(more);
}

static void resolves_vsphere_clusters(void **state) {
    const struct vcenter *vc = inventory_find_vcenter(world_now->platform, VC_A);
    const struct vsphere_cluster *found = NULL;
    (void)state;
    assert_int_equal(inventory_resolve_vsphere(world_now->platform, vc, "DC0/HX-East", &found, NULL), 0);
    assert_string_equal(found->ref.moref, "domain-c7");
    assert_int_equal(inventory_resolve_vsphere(world_now->platform, vc, "domain-c70", &found, NULL), 0);
    assert_string_equal(found->ref.moref, "domain-c70");
    assert_int_equal(inventory_resolve_vsphere(world_now->platform, vc, "domain-c", &found, NULL), ERR_NOT_FOUND);
    assert_int_equal(inventory_resolve_vsphere(world_now->platform, vc, "DC1/HX-East", &found, NULL), ERR_NOT_FOUND);
    assert_int_equal(inventory_resolve_vsphere(world_now->platform, vc, "domain-c9", &found, NULL), ERR_NOT_FOUND);
}

/* As vCenter, govc, our own status and people write them. */
static void vsphere_clusters_are_found_as_people_write_them(void **state) {
    static const struct {
        const char *typed, *moref; /* NULL: not found */
    } rows[] = {
        {"DC0/HX-East", "domain-c7"},
        {"/DC0/host/HX-East", "domain-c7"},
        {"DC0/host/HX-East", "domain-c7"},
        {"/DC0/host/Racks/Row 1/HX-East", "domain-c7"},
        {"/Sites/DC0/host/HX-East", "domain-c7"},
        {"/host/DC0/host/HX-East", "domain-c7"},
        {"/DC0/hosts/HX-East", NULL},
        {"/DC0/vm/HX-East", NULL},
        {"HX-East", "domain-c7"},
        {"East", NULL},
        {"A/B/100% \\ x", "domain-c8"},
        {"A%2fB/100%25 %5c x", "domain-c8"},
        {"A%2FB/100%25 %5C x", "domain-c8"},
        {"/A%2fB/host/100%25 %5c x", "domain-c8"},
        {"100% %5c x", "domain-c8"},
        {"a%2fB/100% \\ x", NULL},
        {"A%2fB", NULL},
        {"A/C/D", NULL}, /* of A and C/D, or A/C and D */
        {"A%2fC/D", "domain-c11"},
        {"A/C%2fD", "domain-c10"},
        {"50%2fx", "domain-c12"}, /* a name with a per cent sign, as it is */
        {"/", NULL},
        {"//", NULL},
    };
    struct inventory_snapshot *more;
    (void)state;
    (void)world_add_vsphere(VC_A, "domain-c8", "A/B", "100% \\ x");
    (void)world_add_vsphere(VC_A, "domain-c10", "A", "C/D");
    (void)world_add_vsphere(VC_A, "domain-c11", "A/C", "D");
    (void)world_add_vsphere(VC_A, "domain-c12", "A", "50%2fx");
    more = world_snapshot();
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct vsphere_cluster *found = NULL;
        const int rc =
            inventory_resolve_vsphere(more->platform, inventory_find_vcenter(more->platform, VC_A), rows[i].typed, &found, NULL);
        if (rc ? rows[i].moref != NULL : !rows[i].moref || strcmp(found->ref.moref, rows[i].moref))
            print_error("%s: %d, %s\n", rows[i].typed, rc, found ? found->ref.moref : "none");
        assert_int_equal(rc == 0, rows[i].moref != NULL);
        if (!rc)
            assert_string_equal(found->ref.moref, rows[i].moref);
    }
    inventory_snapshot_unref(more);
}

static void told(const struct inventory_snapshot *s, const char *typed, int code, const char *remedy) {
    const struct vsphere_cluster *found = NULL;
    struct err err = {0};
    assert_int_equal(inventory_resolve_vsphere(s->platform, NULL, typed, &found, &err), code);
    assert_non_null(strstr(err.remedy, remedy));
}

static void without_a_vcenter_one_alone_must_have_it(void **state) {
    const struct vsphere_cluster *found = NULL;
    struct inventory_snapshot *more;
    (void)state;
    (void)world_add_vsphere(VC_A, "domain-c8", "A/B", "Z\xc3\xbcrich");
    more = world_snapshot();
    assert_int_equal(inventory_resolve_vsphere(more->platform, NULL, "DC1/HX-East", &found, NULL), 0);
    assert_string_equal(found->ref.vcenter_id, VC_B);
    assert_int_equal(inventory_resolve_vsphere(more->platform, NULL, "Plain", &found, NULL), 0);
    assert_string_equal(found->ref.moref, "domain-c9");
    told(more, "HX-East", ERR_AMBIGUOUS, "VCENTER:HX-East: there are domain-c7 of vCenter vc-a and domain-c7 of vCenter vc-b");
    told(more, "DC0/HX-east", ERR_NOT_FOUND, "did you mean DC0/HX-East?");
    told(more, "/dc0/host/hx-west", ERR_NOT_FOUND, "did you mean DC0/HX-West?");
    told(more, "a/b/Z\xc3\xbcrich", ERR_NOT_FOUND, "did you mean A%2fB/Z\xc3\xbcrich?");
    told(more, "hx-east", ERR_NOT_FOUND, "did you mean DC0/HX-East or DC1/HX-East?");
    told(more, "DC0/Nowhere", ERR_NOT_FOUND, "DATACENTER/CLUSTER");
    inventory_snapshot_unref(more);
}

static void invisible_namesakes_do_not_make_a_name_ambiguous(void **state) {
    const struct vsphere_cluster *found = NULL;
    const struct vcenter *vc;
    struct inventory_snapshot *more;
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    struct err err = {0};
    (void)state;
    (void)world_add_vsphere(VC_A, "domain-c71", "DC0", "HX-East");
    more = world_snapshot();
    vc = inventory_find_vcenter(more->platform, VC_A);
    assert_int_equal(inventory_resolve_vsphere(more->platform, vc, "DC0/HX-East", &found, &err), ERR_AMBIGUOUS);
    assert_non_null(strstr(err.remedy, "domain-c71"));
    assert_int_equal(inventory_resolve_visible_vsphere(more->platform, &viewer, vc, "DC0/HX-East", &found, NULL), 0);
    assert_string_equal(found->ref.moref, "domain-c7");
    inventory_snapshot_unref(more);
    object_set_done(&set);
}

static void gone_vsphere_clusters_are_not_resolved(void **state) {
    const struct vsphere_cluster *found = NULL;
    struct inventory_snapshot *other;
    (void)state;
    world.vsphere[0].is_gone = true;
    other = world_snapshot();
    assert_int_equal(
        inventory_resolve_vsphere(other->platform, inventory_find_vcenter(other->platform, VC_A), "domain-c7", &found, NULL),
        ERR_NOT_FOUND);
    inventory_snapshot_unref(other);
}

/* -- who sees what ----------------------------------------------------------------------------------------------------- */

static struct policy_view view_of(const struct inventory_snapshot *of, const struct viewer_key *viewer, unsigned n) {
    struct policy_view view;
    (void)inventory_view_cluster(of->platform, viewer, inventory_find_cluster(of, world_cluster_id(n))->record, &view);
    return view;
}

static void a_vcenter_counts_for_its_own_objects(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    static const struct {
        unsigned n;
        uint64_t mask;
    } rows[] = {{1, 1}, {2, 0}, {3, 1}, {4, 0}, {5, 1}};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct policy_view view = view_of(world_now, &viewer, rows[i].n);
        assert_int_equal(view.parts, rows[i].mask);
        assert_int_equal(view.is_visible, rows[i].mask != 0);
    }
    object_set_done(&set);
}

static void an_hx_grant_shows_its_part(void **state) {
    struct inventory_snapshot *granted;
    struct viewer_key viewer = {.principal_id = "local:me", .role = ROLE_USER};
    (void)state;
    world_add_grant("local:me", GRANT_HX_CLUSTER, HX_A70);
    world_add_grant("local:other", GRANT_HX_CLUSTER, HX_A7);
    granted = world_snapshot();
    viewer.grants =
        policy_grants_of(granted->platform->grants, granted->platform->grants_count, "local:me", &viewer.grants_count);
    assert_int_equal(viewer.grants_count, 1);
    assert_int_equal(view_of(granted, &viewer, 3).parts, 2);
    assert_true(view_of(granted, &viewer, 3).is_visible);
    assert_false(view_of(granted, &viewer, 1).is_visible);
    inventory_snapshot_unref(granted);
}

static void clusters_on_a_vcenter_are_seen_by_role_rights_and_grants(void **state) {
    struct object_set set = {0};
    struct viewer_key admin = world_admin(), of_a = world_viewer(VC_A, "domain-c7", &set);
    struct viewer_key granted = {.principal_id = "local:me", .role = ROLE_USER};
    const char *const empty = "dddddddd-0a53-4a8e-8a54-2f1f9f3f6f10";
    struct inventory_snapshot *s;
    (void)state;
    world_add_vcenter(empty, "vc-d", "vc-d.example.com");
    (void)world_add_vsphere(empty, "domain-c7", "DC0", "bare");
    world_add_grant("local:me", GRANT_CLUSTER, world_cluster_id(5)); /* on A and B */
    world_add_grant("local:me", GRANT_CLUSTER, world_cluster_id(9)); /* gone meanwhile */
    world_add_grant("local:other", GRANT_HX_CLUSTER, HX_B7);
    s = world_snapshot();
    assert_true(inventory_sees_clusters_on(s, &admin, VC_A));
    assert_true(inventory_sees_clusters_on(s, &admin, VC_B));
    assert_false(inventory_sees_clusters_on(s, &admin, empty));
    assert_true(inventory_sees_clusters_on(s, &of_a, VC_A));
    assert_false(inventory_sees_clusters_on(s, &of_a, VC_B));
    assert_false(inventory_sees_clusters_on(s, &granted, VC_A));
    granted.grants = policy_grants_of(s->platform->grants, s->platform->grants_count, "local:me", &granted.grants_count);
    assert_true(inventory_sees_clusters_on(s, &granted, VC_A));
    assert_true(inventory_sees_clusters_on(s, &granted, VC_B));
    granted.grants = policy_grants_of(s->platform->grants, s->platform->grants_count, "local:other", &granted.grants_count);
    assert_false(inventory_sees_clusters_on(s, &granted, VC_A));
    assert_true(inventory_sees_clusters_on(s, &granted, VC_B));
    inventory_snapshot_unref(s);
    object_set_done(&set);
}

static json_t *show(const struct viewer_key *viewer, unsigned n) {
    _cleanup_strbuf_ struct strbuf text;
    json_t *json = NULL;
    uint64_t etag = 0;
    strbuf_init(&text, 1U << 20);
    assert_int_equal(inventory_show_cluster(world_now, viewer, world_cluster_id(n), &text, &etag, NULL), 0);
    assert_int_equal(json_parse(text.data, text.len, &json, NULL), 0);
    return json;
}

static void a_spread_cluster_shows_the_permitted_part_only(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c70", &set);
    _cleanup_json_ json_t *json = show(&viewer, 3);
    const json_t *placement = json_object_get(json, "placement");
    _cleanup_free_ char *text = json_dumps(json, 0);
    (void)state;
    assert_int_equal(json_array_size(json_object_get(placement, "vsphere_clusters")), 1);
    assert_string_equal(json_get_string(json_array_get(json_object_get(placement, "vsphere_clusters"), 0), "name"), "HX-West");
    assert_int_equal(json_array_size(json_object_get(placement, "hx_clusters")), 1);
    assert_string_equal(json_get_string(json_array_get(json_object_get(placement, "hx_clusters"), 0), "id"), HX_A70);
    assert_int_equal(json_get_int(placement, "hidden", -1), 1);
    assert_null(strstr(text, "HX-East"));
    assert_null(strstr(text, HX_A7));
    object_set_done(&set);
}

static void an_admin_sees_all_parts(void **state) {
    struct viewer_key admin = world_admin();
    _cleanup_json_ json_t *json = show(&admin, 5);
    const json_t *placement = json_object_get(json, "placement");
    (void)state;
    assert_int_equal(json_array_size(json_object_get(placement, "vsphere_clusters")), 2);
    assert_int_equal(json_array_size(json_object_get(placement, "hx_clusters")), 1);
    assert_int_equal(json_get_int(placement, "hidden", -1), 0);
    assert_true(json_is_null(json_object_get(json, "description")));
    assert_true(json_is_null(json_object_get(json_object_get(json, "workers"), "ready")));
}

static void invisible_and_unknown_answer_alike(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    struct err invisible = {0}, unknown = {0};
    _cleanup_strbuf_ struct strbuf text;
    char *at;
    uint64_t etag = 0;
    (void)state;
    strbuf_init(&text, 1U << 20);
    assert_int_equal(inventory_show_cluster(world_now, &viewer, world_cluster_id(2), &text, &etag, &invisible), ERR_NOT_FOUND);
    assert_int_equal(inventory_show_cluster(world_now, &viewer, world_cluster_id(9), &text, &etag, &unknown), ERR_NOT_FOUND);
    at = strstr(unknown.text, "000000000009");
    assert_non_null(at);
    at[11] = '2';
    assert_string_equal(invisible.text, unknown.text);
    assert_string_equal(invisible.remedy, unknown.remedy);
    assert_int_equal(text.len, 0);
    object_set_done(&set);
}

/* Many placements: a combination that is not rendered ahead is rendered for the answer. */
static void any_combination_of_parts_can_be_shown(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c1 domain-c3", &set);
    struct cluster *c = world_add_cluster(6, "wide");
    struct inventory_snapshot *before = world_now;
    json_t *placement;
    (void)state;
    for (int i = 1; i <= 4; i++) {
        char moref[20];
        (void)snprintf(moref, sizeof(moref), "domain-c%d", i);
        (void)world_add_vsphere(VC_A, moref, "DC0", moref);
        world_place(c, VC_A, moref);
    }
    world_now = world_snapshot();
    _cleanup_json_ json_t *json = show(&viewer, 6);
    placement = json_object_get(json, "placement");
    assert_int_equal(json_array_size(json_object_get(placement, "vsphere_clusters")), 2);
    assert_int_equal(json_get_int(placement, "hidden", -1), 2);
    inventory_snapshot_unref(before);
    object_set_done(&set);
}

static char *repeat(const char *unit, size_t count) {
    size_t n = strlen(unit);
    char *text = malloc(n * count + 1);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * n, unit, n);
    text[n * count] = 0;
    return text;
}

/* The largest record that the rules allow must not keep the list from being built. */
static void the_largest_record_can_be_rendered(void **state) {
    struct cluster *c = world_add_cluster(6, "large");
    struct viewer_key admin = world_admin();
    struct inventory_snapshot *before = world_now;
    (void)state;
    c->description = repeat("\x01", KAAS_DESCRIPTION_CHARS_MAX); /* six bytes each in JSON */
    c->state_reason = repeat("\x01", KAAS_DESCRIPTION_CHARS_MAX);
    c->labels = calloc(KAAS_LABELS_COUNT_MAX, sizeof(*c->labels));
    assert_non_null(c->labels);
    for (; c->labels_count < KAAS_LABELS_COUNT_MAX; c->labels_count++) {
        c->labels[c->labels_count].key =
            str_format("k%02zu%s", c->labels_count, "-------------------------------------------------------");
        c->labels[c->labels_count].value = repeat("\x01", KAAS_LABEL_VALUE_CHARS_MAX);
    }
    for (int i = 0; i < KAAS_PLACEMENTS_PER_CLUSTER_MAX; i++) {
        char moref[80];
        (void)snprintf(moref, sizeof(moref), "domain-c%070d", i);
        world_place(c, VC_A, moref);
    }
    world_now = world_snapshot();
    _cleanup_json_ json_t *json = show(&admin, 6);
    assert_int_equal(json_array_size(json_object_get(json_object_get(json, "placement"), "vsphere_clusters")),
                     KAAS_PLACEMENTS_PER_CLUSTER_MAX);
    inventory_snapshot_unref(before);
}

static void objects_of_interest_carry_something(void **state) {
    struct object_set set = {0};
    struct inventory_snapshot *other;
    (void)state;
    (void)world_add_vsphere(VC_A, "domain-c99", "DC0", "empty");
    world.vsphere[1].is_gone = true; /* domain-c70 */
    other = world_snapshot();
    assert_int_equal(inventory_objects_of_interest(other, VC_A, &set, NULL), 0);
    assert_int_equal(set.count, 1);
    assert_string_equal(set.items[0].moref, "domain-c7");
    object_set_done(&set);
    assert_int_equal(inventory_objects_of_interest(other, VC_B, &set, NULL), 0);
    assert_int_equal(set.count, 2); /* one with an HX cluster, one with a Kubernetes cluster only */
    object_set_done(&set);
    inventory_snapshot_unref(other);
}

static void a_gone_hx_cluster_is_not_shown_with_clusters(void **state) {
    struct viewer_key admin = world_admin();
    struct inventory_snapshot *before = world_now;
    (void)state;
    world.hx[0].is_gone = true;
    world_now = world_snapshot();
    _cleanup_json_ json_t *json = show(&admin, 1);
    assert_int_equal(json_array_size(json_object_get(json_object_get(json, "placement"), "hx_clusters")), 0);
    assert_int_equal(json_array_size(json_object_get(json_object_get(json, "placement"), "vsphere_clusters")), 1);
    inventory_snapshot_unref(before);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(finds_clusters),
        TEST(an_empty_world_is_fine),
        TEST(finds_hx_by_whole_reference),
        TEST(resolves_vcenters),
        TEST(one_word_for_two_vcenters_is_ambiguous),
        TEST(the_port_tells_vcenters_of_one_host_apart),
        TEST(resolves_vsphere_clusters),
        TEST(vsphere_clusters_are_found_as_people_write_them),
        TEST(without_a_vcenter_one_alone_must_have_it),
        TEST(invisible_namesakes_do_not_make_a_name_ambiguous),
        TEST(gone_vsphere_clusters_are_not_resolved),
        TEST(a_vcenter_counts_for_its_own_objects),
        TEST(an_hx_grant_shows_its_part),
        TEST(clusters_on_a_vcenter_are_seen_by_role_rights_and_grants),
        TEST(a_spread_cluster_shows_the_permitted_part_only),
        TEST(an_admin_sees_all_parts),
        TEST(invisible_and_unknown_answer_alike),
        TEST(any_combination_of_parts_can_be_shown),
        TEST(the_largest_record_can_be_rendered),
        TEST(objects_of_interest_carry_something),
        TEST(a_gone_hx_cluster_is_not_shown_with_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
