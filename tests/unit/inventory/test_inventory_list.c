/* Lists: filters, HX names, pages by cursor in every order, entity tags.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "inventory_world.h"
#include "json.h"
#include "limits.h"
#include "query.h"
#include "str.h"

static struct inventory_snapshot *snapshot;
static struct viewer_key admin;

static int set_up(void **state) {
    (void)state;
    world_fill();
    snapshot = world_snapshot();
    admin = world_admin();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    inventory_snapshot_unref(snapshot);
    world_reset();
    return 0;
}

static void renew(void) {
    inventory_snapshot_unref(snapshot);
    snapshot = world_snapshot();
}

struct answer {
    int rc;
    json_t *json; /* NULL on failure */
    uint64_t etag;
    struct inventory_candidates candidates;
    struct err err;
};

static struct answer ask(const struct viewer_key *viewer, const struct inventory_cluster_query *query) {
    struct answer a = {0};
    _cleanup_strbuf_ struct strbuf text;
    struct inventory_cluster_query q = *query;
    if (!q.limit)
        q.limit = 100;
    strbuf_init(&text, 1U << 24);
    struct inventory_page page = {.text = &text};
    a.rc = inventory_list_clusters(snapshot, viewer, &q, &page, &a.err);
    a.etag = page.etag_hash;
    a.candidates = page.candidates;
    if (!a.rc)
        assert_int_equal(json_parse(text.data, text.len, &a.json, NULL), 0);
    return a;
}

/* "alpha beta" of one page. */
static void names_of(const struct answer *a, char *out, size_t n) {
    const json_t *items = json_object_get(a->json, "items");
    assert_int_equal(a->rc, 0);
    out[0] = 0;
    for (size_t i = 0; i < json_array_size(items); i++)
        (void)snprintf(out + strlen(out), n - strlen(out), "%s%s", i ? " " : "",
                       json_get_string(json_array_get(items, i), "name"));
}

static void expect(const struct viewer_key *viewer, const struct inventory_cluster_query *query, const char *names) {
    struct answer a = ask(viewer, query);
    char got[200];
    names_of(&a, got, sizeof(got));
    assert_string_equal(got, names);
    json_decref(a.json);
}

#define QUERY(...) (&(struct inventory_cluster_query){__VA_ARGS__})

static void filters(void **state) {
    (void)state;
    world.clusters[0].description = str_dup("Für die Tests in GAMMA");
    world.clusters[1].state = CLUSTER_DEGRADED;
    renew();
    expect(&admin, QUERY(0), "alpha beta delta epsilon gamma");
    expect(&admin, QUERY(.text = "GAMMA"), "alpha gamma");
    expect(&admin, QUERY(.text = "nothing"), "");
    expect(&admin, QUERY(.state_mask = 1U << CLUSTER_DEGRADED), "beta");
    expect(&admin, QUERY(.state_mask = 1U << CLUSTER_DEGRADED | 1U << CLUSTER_READY), "alpha beta delta epsilon gamma");
    expect(&admin, QUERY(.vcenter = "vc-b"), "delta epsilon");
    expect(&admin, QUERY(.vcenter = "vc-a", .vsphere_cluster = "DC0/HX-West"), "beta gamma");
    expect(&admin, QUERY(.vcenter = "vc-b", .vsphere_cluster = "domain-c7"), "delta");
    expect(&admin, QUERY(.hx_cluster_id = HX_A7), "alpha epsilon gamma");
    expect(&admin, QUERY(.hx_cluster = "HX-West"), "beta gamma");
    expect(&admin, QUERY(.hx_cluster = "HX-East", .vcenter = "vc-b"), "delta");
    expect(&admin, QUERY(.hx_cluster = "HX-East", .vcenter = "vc-a", .text = "alp"), "alpha");
    assert_int_equal(ask(&admin, QUERY(.hx_cluster_id = HX_A7, .vcenter = "vc-b")).rc, ERR_NOT_FOUND);
    assert_int_equal(ask(&admin, QUERY(.vsphere_cluster = "domain-c7")).rc, ERR_INVALID);
}

static void a_name_of_two_hx_clusters_is_ambiguous_for_those_who_see_both(void **state) {
    struct answer a = ask(&admin, QUERY(.hx_cluster = "HX-East"));
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7 domain-c70", &set);
    (void)state;
    assert_int_equal(a.rc, ERR_AMBIGUOUS);
    assert_int_equal(a.candidates.count, 2);
    assert_true(a.err.remedy[0]);
    expect(&viewer, QUERY(.hx_cluster = "HX-East"), "alpha epsilon gamma");
    object_set_done(&set);
}

static void unknown_invisible_and_gone_hx_clusters_are_one_404(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    struct answer unknown = ask(&viewer, QUERY(.hx_cluster = "HX-Best")),
                  invisible = ask(&viewer, QUERY(.hx_cluster = "HX-West"));
    (void)state;
    assert_int_equal(unknown.rc, ERR_NOT_FOUND);
    assert_int_equal(invisible.rc, ERR_NOT_FOUND);
    memcpy(strstr(unknown.err.text, "Best"), "West", 4);
    assert_string_equal(unknown.err.text, invisible.err.text);
    assert_string_equal(unknown.err.remedy, invisible.err.remedy);
    assert_int_equal(ask(&viewer, QUERY(.hx_cluster_id = HX_A70)).rc, ERR_NOT_FOUND);
    world.hx[0].is_gone = true;
    renew();
    assert_int_equal(ask(&viewer, QUERY(.hx_cluster = "HX-East")).rc, ERR_NOT_FOUND);
    object_set_done(&set);
}

static void unknown_and_invisible_vcenters_are_one_404(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    struct answer unknown = ask(&viewer, QUERY(.vcenter = "vc-x")), invisible = ask(&viewer, QUERY(.vcenter = "vc-b"));
    (void)state;
    assert_int_equal(invisible.rc, ERR_NOT_FOUND);
    assert_int_equal(unknown.rc, ERR_NOT_FOUND);
    *strrchr(unknown.err.text, 'x') = 'b';
    assert_string_equal(unknown.err.text, invisible.err.text);
    expect(&viewer, QUERY(.vcenter = "vc-a"), "alpha epsilon gamma");
    assert_int_equal(ask(&viewer, QUERY(.vcenter = "vc-a", .vsphere_cluster = "domain-c70")).rc, ERR_NOT_FOUND);
    object_set_done(&set);
}

/* A cluster of two vCenters is on the vCenter that one may see, and on no other. */
static void a_hidden_part_does_not_match_a_vcenter(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_B, "domain-c7", &set);
    (void)state;
    world_add_grant("vc:somebody", GRANT_VSPHERE_CLUSTER, VC_A "/domain-c7");
    renew();
    viewer.grants =
        policy_grants_of(snapshot->platform->grants, snapshot->platform->grants_count, "vc:somebody", &viewer.grants_count);
    expect(&viewer, QUERY(.vcenter = "vc-b"), "delta"); /* epsilon's part there is hidden */
    expect(&viewer, QUERY(.vcenter = "vc-a"), "alpha epsilon gamma");
    object_set_done(&set);
}

/* -- pages -------------------------------------------------------------------------------------------------------------- */

#define MANY 60U

static void fill_many(void) {
    static const char *const versions[] = {"1.9.1", "1.31.2", "1.31.10", "1.4.0"};
    world_reset();
    for (unsigned n = 0; n < MANY; n++) {
        char name[60];
        struct cluster *c;
        (void)snprintf(name, sizeof(name), "%s-%02u", n % 3 ? "Ä%\"\\'/" : "c", n * 37 % MANY);
        c = world_add_cluster(n, name);
        free(c->kubernetes_version);
        c->kubernetes_version = str_dup(versions[n % 4]);
        c->state = n % CLUSTER_STATE_COUNT;
        c->created_at_ms = 1700000000000 + n % 5; /* many ties */
        c->updated_at_ms = 1700000000000 - n % 7;
    }
    renew();
}

static void walk(enum inventory_sort sort, bool is_descending, unsigned limit) {
    struct inventory_cluster_query whole = {.sort = sort, .is_descending = is_descending, .limit = 500}, page = whole;
    struct answer all = ask(&admin, &whole);
    const json_t *expected = json_object_get(all.json, "items");
    _cleanup_free_ char *cursor = NULL;
    size_t seen = 0;
    assert_int_equal(json_array_size(expected), MANY);
    assert_true(json_is_null(json_object_get(all.json, "next_cursor")));
    page.limit = limit;
    for (bool is_more = true; is_more;) {
        struct answer a;
        const json_t *items;
        page.cursor = cursor;
        a = ask(&admin, &page);
        assert_int_equal(a.rc, 0);
        items = json_object_get(a.json, "items");
        for (size_t i = 0; i < json_array_size(items); i++)
            assert_string_equal(json_get_string(json_array_get(items, i), "id"),
                                json_get_string(json_array_get(expected, seen++), "id"));
        free(cursor);
        cursor = str_dup(json_get_string(a.json, "next_cursor"));
        is_more = cursor != NULL;
        assert_true(!is_more || json_array_size(items) == limit);
        json_decref(a.json);
    }
    assert_int_equal(seen, MANY);
    json_decref(all.json);
}

static void pages_neither_repeat_nor_omit(void **state) {
    static const unsigned limits[] = {1, 7, 30, 59, 60, 61};
    (void)state;
    fill_many();
    for (int sort = INVENTORY_SORT_NAME; sort <= INVENTORY_SORT_UPDATED; sort++)
        for (size_t i = 0; i < UNIT_COUNT(limits); i++) {
            walk((enum inventory_sort)sort, false, limits[i]);
            walk((enum inventory_sort)sort, true, limits[i]);
        }
}

#define LARGE 30U
#define LARGE_BYTES 400000U

/* A page of large records ends early, whatever was asked for: answers have a largest size. */
static void pages_of_large_records_end_early(void **state) {
    struct inventory_cluster_query query = {.limit = 500};
    (void)state;
    world_reset();
    for (unsigned n = 0; n < LARGE; n++) {
        char name[20];
        struct cluster *c;
        (void)snprintf(name, sizeof(name), "c-%02u", n);
        c = world_add_cluster(n, name);
        c->description = calloc(1, (n == 5 ? 9 * LARGE_BYTES : LARGE_BYTES) + 1); /* one is nearly a page by itself */
        assert_non_null(c->description);
        memset(c->description, 'x', n == 5 ? 9 * LARGE_BYTES : LARGE_BYTES);
        c->created_at_ms = 1700000000000 + n;
    }
    renew();
    for (unsigned kind = 0; kind < 4; kind++) {
        _cleanup_free_ char *cursor = NULL;
        unsigned seen = 0;
        query.sort = kind & 1 ? INVENTORY_SORT_CREATED : INVENTORY_SORT_NAME;
        query.is_descending = kind & 2;
        do {
            _cleanup_strbuf_ struct strbuf text;
            _cleanup_json_ json_t *json = NULL;
            struct inventory_page page = {.text = &text};
            struct err err = {0};
            const json_t *items;
            strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
            query.cursor = cursor;
            assert_int_equal(inventory_list_clusters(snapshot, &admin, &query, &page, &err), 0);
            assert_true(text.len < KAAS_PAGE_BYTES_MAX + 200);
            assert_int_equal(json_parse(text.data, text.len, &json, NULL), 0);
            items = json_object_get(json, "items");
            assert_true(json_array_size(items) > 0);
            for (size_t i = 0; i < json_array_size(items); i++, seen++)
                assert_string_equal(json_get_string(json_array_get(items, i), "id"),
                                    world_cluster_id(query.is_descending ? LARGE - 1 - seen : seen));
            free(cursor);
            cursor = str_dup(json_get_string(json, "next_cursor"));
        } while (cursor);
        assert_int_equal(seen, LARGE);
    }
}

static void versions_order_by_number(void **state) {
    static const char *const versions[] = {"1.9.1", "1.31.2", "1.31.10", "1.4.0"};
    static const char *const wanted[] = {"1.4.0", "1.9.1", "1.31.2", "1.31.10"};
    struct answer a;
    (void)state;
    world_reset();
    for (unsigned n = 0; n < 4; n++) {
        struct cluster *c = world_add_cluster(n, versions[n]);
        free(c->kubernetes_version);
        c->kubernetes_version = str_dup(versions[n]);
    }
    renew();
    a = ask(&admin, QUERY(.sort = INVENTORY_SORT_KUBERNETES_VERSION));
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(json_get_string(json_array_get(json_object_get(a.json, "items"), i), "kubernetes_version"),
                            wanted[i]);
    json_decref(a.json);
}

static void a_cursor_survives_changes_between_pages(void **state) {
    struct answer first = ask(&admin, QUERY(.limit = 2));
    const char *cursor = json_get_string(first.json, "next_cursor"); /* behind "beta" */
    (void)state;
    assert_non_null(cursor);
    world_remove_cluster(world_cluster_id(2)); /* the last one of the page itself */
    (void)world_add_cluster(7, "aardvark");    /* before the cursor: not shown again */
    (void)world_add_cluster(8, "cobalt");      /* behind it */
    renew();
    expect(&admin, QUERY(.limit = 100, .cursor = cursor), "cobalt delta epsilon gamma");
    json_decref(first.json);
}

static void cursors_of_other_queries_are_refused(void **state) {
    struct answer first = ask(&admin, QUERY(.limit = 2, .text = "a"));
    const char *cursor = json_get_string(first.json, "next_cursor");
    _cleanup_free_ char *cut = str_dup(cursor);
    static const char *const wrong[] = {"", "x", "AAAAAAAAAAAAAAAA", "not base64!", "AAAAAAAAAAA="};
    (void)state;
    assert_non_null(cut);
    assert_int_equal(ask(&admin, QUERY(.cursor = cursor)).rc, ERR_INVALID);
    assert_int_equal(ask(&admin, QUERY(.text = "a", .cursor = cursor, .is_descending = true)).rc, ERR_INVALID);
    assert_int_equal(ask(&admin, QUERY(.text = "a", .cursor = cursor, .sort = INVENTORY_SORT_STATE)).rc, ERR_INVALID);
    assert_int_equal(ask(&admin, QUERY(.text = "b", .cursor = cursor)).rc, ERR_INVALID);
    cut[14] = 0;
    assert_int_equal(ask(&admin, QUERY(.text = "a", .cursor = cut)).rc, ERR_INVALID);
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        struct answer a = ask(&admin, QUERY(.text = "a", .cursor = wrong[i]));
        assert_int_equal(a.rc, ERR_INVALID);
        assert_true(a.err.remedy[0]);
    }
    expect(&admin, QUERY(.text = "a", .cursor = cursor, .limit = 50), "delta gamma");
    json_decref(first.json);
}

static uint64_t etag_of(const struct viewer_key *viewer, const struct inventory_cluster_query *query) {
    struct answer a = ask(viewer, query);
    assert_int_equal(a.rc, 0);
    json_decref(a.json);
    return a.etag;
}

static void the_tag_changes_with_the_page_and_only_then(void **state) {
    const struct inventory_cluster_query *q = QUERY(.limit = 2);
    uint64_t before = etag_of(&admin, q);
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    uint64_t part = etag_of(&viewer, QUERY(0));
    (void)state;
    renew();
    assert_int_equal(etag_of(&admin, q), before);
    world.clusters[2].workers_desired = 9; /* gamma, on the next page */
    renew();
    assert_int_equal(etag_of(&admin, q), before);
    assert_int_not_equal(etag_of(&viewer, QUERY(0)), part);
    world.clusters[0].workers_desired = 9; /* alpha */
    renew();
    assert_int_not_equal(etag_of(&admin, q), before);
    world.clusters[0].workers_desired = 5;
    renew();
    assert_int_equal(etag_of(&admin, q), before);
    while (world.clusters_count > 2) /* the same two, but no next page */
        world_remove_cluster(world.clusters[2].id);
    renew();
    assert_int_not_equal(etag_of(&admin, q), before);
    object_set_done(&set);
}

static void a_hidden_change_leaves_the_tag(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    uint64_t before = etag_of(&viewer, QUERY(0));
    (void)state;
    free(world.vsphere[1].name);
    world.vsphere[1].name = str_dup("HX-Renamed"); /* domain-c70, the other part of gamma */
    world.clusters[1].workers_desired = 9;         /* beta */
    renew();
    assert_int_equal(etag_of(&viewer, QUERY(0)), before);
    object_set_done(&set);
}

static void sort_words(void **state) {
    enum inventory_sort sort = INVENTORY_SORT_NAME;
    bool is_descending = false;
    (void)state;
    assert_true(inventory_sort_parse("-created_at", &sort, &is_descending));
    assert_int_equal(sort, INVENTORY_SORT_CREATED);
    assert_true(is_descending);
    assert_true(inventory_sort_parse("kubernetes_version", &sort, &is_descending));
    assert_false(is_descending);
    assert_false(inventory_sort_parse("", &sort, &is_descending));
    assert_false(inventory_sort_parse("-", &sort, &is_descending));
    assert_false(inventory_sort_parse("--name", &sort, &is_descending));
    assert_false(inventory_sort_parse("names", &sort, &is_descending));
}

static void two_thousand_clusters(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c70", &set);
    struct inventory_cluster_query query = {.hx_cluster = "HX-West", .limit = 500};
    _cleanup_free_ char *cursor = NULL;
    size_t seen = 0, pages = 0;
    (void)state;
    for (unsigned n = 100; n < 2100; n++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "prod-%04u", n);
        if (world.clusters_count < WORLD_CLUSTERS_MAX)
            world_place(world_add_cluster(n, name), VC_A, n % 2 ? "domain-c7" : "domain-c70");
    }
    renew();
    do {
        struct answer a;
        query.cursor = cursor;
        a = ask(&viewer, &query);
        assert_int_equal(a.rc, 0);
        seen += json_array_size(json_object_get(a.json, "items"));
        free(cursor);
        cursor = str_dup(json_get_string(a.json, "next_cursor"));
        pages++;
        json_decref(a.json);
    } while (cursor);
    assert_int_equal(seen, 1002); /* 1,000 of these, beta and gamma */
    assert_int_equal(pages, 3);
    object_set_done(&set);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(filters),
        TEST(a_name_of_two_hx_clusters_is_ambiguous_for_those_who_see_both),
        TEST(unknown_invisible_and_gone_hx_clusters_are_one_404),
        TEST(unknown_and_invisible_vcenters_are_one_404),
        TEST(a_hidden_part_does_not_match_a_vcenter),
        TEST(pages_neither_repeat_nor_omit),
        TEST(pages_of_large_records_end_early),
        TEST(versions_order_by_number),
        TEST(a_cursor_survives_changes_between_pages),
        TEST(cursors_of_other_queries_are_refused),
        TEST(the_tag_changes_with_the_page_and_only_then),
        TEST(a_hidden_change_leaves_the_tag),
        TEST(sort_words),
        TEST(two_thousand_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
