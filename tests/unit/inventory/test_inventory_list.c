/* Lists: filters, HX names, pages by cursor in every order, entity tags.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "inventory_world.h"
#include "json.h"
#include "limits.h"
#include "query.h"
#include "str.h"

static struct viewer_key admin;

static int set_up(void **state) {
    admin = world_admin();
    return world_set_up(state);
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
    a.rc = inventory_list_clusters(world_now, viewer, &q, &page, &a.err);
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
    world_renew();
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
    assert_int_equal(ask(&admin, QUERY(.vsphere_cluster = "domain-c7")).rc, ERR_AMBIGUOUS);
    expect(&admin, QUERY(.vsphere_cluster = "DC0/HX-West"), "beta gamma"); /* one vCenter alone has it */
}

static void add_label(struct cluster *c, const char *key, const char *value) {
    c->labels = reallocarray(c->labels, c->labels_count + 1, sizeof(*c->labels));
    assert_non_null(c->labels);
    c->labels[c->labels_count++] = (struct label){str_dup(key), str_dup(value)};
}

/* alpha: env=prod, team=Shop; beta: env=production; gamma: team="". */
static void add_labels(void) {
    add_label(&world.clusters[0], "env", "prod");
    add_label(&world.clusters[0], "team", "Shop");
    add_label(&world.clusters[1], "env", "production");
    add_label(&world.clusters[2], "team", "");
    world_renew();
}

static void a_text_is_looked_for_in_all_that_the_list_shows(void **state) {
    (void)state;
    world.clusters[0].description = str_dup("Shop front\nÜber");
    world.clusters[1].state = CLUSTER_DEGRADED;
    free(world.clusters[3].kubernetes_version);
    world.clusters[3].kubernetes_version = str_dup("1.30.9-RC.1");
    add_labels();
    expect(&admin, QUERY(.text = "ALPH"), "alpha");
    expect(&admin, QUERY(.text = "front"), "alpha");
    expect(&admin, QUERY(.text = "1.30"), "delta");
    expect(&admin, QUERY(.text = "9-rc"), "delta");
    expect(&admin, QUERY(.text = "Degraded"), "beta");
    expect(&admin, QUERY(.text = "env=prod"), "alpha beta");
    expect(&admin, QUERY(.text = "team"), "alpha gamma");
    expect(&admin, QUERY(.text = "team=shop"), "alpha");
    expect(&admin, QUERY(.text = "Über"), "alpha");
    expect(&admin, QUERY(.text = "über"), ""); /* only A to Z */
    expect(&admin, QUERY(.text = "frontÜber"), "");
    expect(&admin, QUERY(.text = "betadegraded"), "");
    expect(&admin, QUERY(.text = "alpha1.31"), "");
}

/* gamma is on HX-East and HX-West. */
static void text_is_looked_for_in_places_as_far_as_they_are_seen(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c70", &set);
    (void)state;
    expect(&admin, QUERY(.text = "hx-west"), "beta gamma");
    expect(&admin, QUERY(.text = "gam HX-WEST"), "gamma");
    expect(&viewer, QUERY(.text = "hx-west"), "beta gamma");
    expect(&viewer, QUERY(.text = "hx-east"), ""); /* that gamma is on HX-East, too, stays hidden */
    object_set_done(&set);
}

static void each_word_must_be_there(void **state) {
    char most[INVENTORY_TEXT_BYTES_MAX + 2];
    (void)state;
    add_labels();
    expect(&admin, QUERY(.text = "env=prod READY"), "alpha beta");
    expect(&admin, QUERY(.text = "ready env=prod alp"), "alpha");
    expect(&admin, QUERY(.text = "ready env=prod zz"), "");
    expect(&admin, QUERY(.text = "  team   alpha  "), "alpha");
    expect(&admin, QUERY(.text = "alpha alpha"), "alpha");
    expect(&admin, QUERY(.text = " "), "alpha beta delta epsilon gamma");
    memset(most, ' ', sizeof(most) - 1);
    most[sizeof(most) - 1] = 0;
    assert_int_equal(ask(&admin, QUERY(.text = most)).rc, ERR_INVALID);
    most[INVENTORY_TEXT_BYTES_MAX] = 0;
    memset(most, 'z', INVENTORY_TEXT_BYTES_MAX);
    expect(&admin, QUERY(.text = most), "");
    for (size_t i = 1; i < INVENTORY_TEXT_BYTES_MAX; i += 2)
        most[i] = ' '; /* as many words as there can be */
    expect(&admin, QUERY(.text = most), "");
    memset(most, ' ', INVENTORY_TEXT_BYTES_MAX - 1);
    most[INVENTORY_TEXT_BYTES_MAX - 1] = 'B';
    expect(&admin, QUERY(.text = most), "beta");
}

#define KEY(text) \
    { .key = (text), .key_len = strlen(text) }
#define LABEL(k, v) \
    { .key = (k), .key_len = strlen(k), .value = (v), .value_len = strlen(v) }

static void labels_are_compared_whole(void **state) {
    (void)state;
    add_labels();
    expect(&admin, QUERY(.labels = {KEY("env")}, .labels_count = 1), "alpha beta");
    expect(&admin, QUERY(.labels = {LABEL("env", "prod")}, .labels_count = 1), "alpha");
    expect(&admin, QUERY(.labels = {LABEL("team", "")}, .labels_count = 1), "gamma");
    expect(&admin, QUERY(.labels = {LABEL("team", "shop")}, .labels_count = 1), "");
    expect(&admin, QUERY(.labels = {KEY("en")}, .labels_count = 1), "");
    expect(&admin, QUERY(.labels = {KEY("envs")}, .labels_count = 1), "");
    expect(&admin, QUERY(.labels = {LABEL("env", "pro")}, .labels_count = 1), "");
    expect(&admin, QUERY(.labels = {KEY("env"), KEY("team")}, .labels_count = 2), "alpha");
    expect(&admin, QUERY(.labels = {KEY("env"), LABEL("team", "")}, .labels_count = 2), "");
    expect(&admin, QUERY(.labels = {{.key = "env=prod", .key_len = 3}}, .labels_count = 1), "alpha beta");
    expect(&admin, QUERY(.labels = {KEY("env")}, .labels_count = 1, .text = "beta"), "beta");
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

/* world.hx: HX-East and HX-West of A, HX-East of B. */
static void has_told(struct hx_cluster *hx, const char *name, const char *uuid) {
    free(hx->name);
    hx->name = str_dup(name);
    hx->is_name_set = hx->is_name_read = true;
    hx->hx_uuid = str_dup(uuid);
}

static void an_hx_cluster_is_found_by_all_that_it_is_called(void **state) {
    (void)state;
    has_told(&world.hx[0], "Production", "1:2");
    world.hx[0].address = str_dup("old.example.com");
    world.hx[0].connection_address = str_dup("hx-east.example.com");
    world.hx[1].address = str_dup("10.0.0.9");
    world_renew();
    expect(&admin, QUERY(.hx_cluster = "Production"), "alpha epsilon gamma");
    expect(&admin, QUERY(.hx_cluster = "1:2"), "alpha epsilon gamma");
    expect(&admin, QUERY(.hx_cluster = "HX-EAST.example.com"), "alpha epsilon gamma");
    expect(&admin, QUERY(.hx_cluster = "old.example.com"), "alpha epsilon gamma"); /* a second name, by which people open it */
    expect(&admin, QUERY(.hx_cluster = "DC0/HX-East"), "alpha epsilon gamma");
    expect(&admin, QUERY(.hx_cluster = "DC0/HX-West"), "beta gamma");
    expect(&admin, QUERY(.hx_cluster = "10.0.0.9"), "beta gamma");
    expect(&admin, QUERY(.hx_cluster = "HX-East"), "delta"); /* B's: A's has another name now */
    assert_int_equal(ask(&admin, QUERY(.hx_cluster = "Production", .vcenter = "vc-b")).rc, ERR_HX_NAME_UNKNOWN);
    free(world.hx[1].address);
    world.hx[1].address = str_dup("production"); /* an address is one without case, a name is not */
    world_renew();
    assert_int_equal(ask(&admin, QUERY(.hx_cluster = "Production")).rc, ERR_AMBIGUOUS);
    expect(&admin, QUERY(.hx_cluster = "PRODUCTION"), "beta gamma");
    for (const char *const *wrong =
             (const char *const[]){"older.example.com", "DC0/", "/HX-East", "DC0/HX-Eas", "DC0/HX-East/", NULL};
         *wrong; wrong++)
        assert_int_equal(ask(&admin, QUERY(.hx_cluster = *wrong)).rc, ERR_HX_NAME_UNKNOWN);
}

static void an_id_that_became_another_s_is_answered_with_that(void **state) {
    static char old_id[] = "hxa00001-0000-4000-8000-000000000001", id[] = HX_A7;
    (void)state;
    assert_int_equal(ask(&admin, QUERY(.hx_cluster_id = old_id)).rc, ERR_NOT_FOUND);
    world.hx_aliases[0] = (struct hx_alias){old_id, id};
    world.hx_aliases_count = 1;
    world_renew();
    expect(&admin, QUERY(.hx_cluster_id = old_id), "alpha epsilon gamma");
    expect(&admin, QUERY(.hx_cluster_id = HX_A70), "beta gamma");
}

/* What is not read makes a difference for those only who see it. */
static void a_name_that_was_not_read_is_told_to_those_who_see_the_hx_cluster(void **state) {
    struct object_set one = {0}, none = {0};
    struct viewer_key sees_one = world_viewer(VC_A, "domain-c7", &one), sees_none = world_viewer(VC_B, "domain-c9", &none);
    (void)state;
    assert_int_equal(ask(&sees_one, QUERY(.hx_cluster = "East")).rc, ERR_HX_NAME_UNKNOWN);
    assert_true(ask(&sees_one, QUERY(.hx_cluster = "East")).err.remedy[0]);
    assert_int_equal(ask(&sees_none, QUERY(.hx_cluster = "East")).rc, ERR_NOT_FOUND);
    has_told(&world.hx[0], "Production", "1:2");
    world_renew();
    assert_int_equal(ask(&sees_one, QUERY(.hx_cluster = "East")).rc,
                     ERR_NOT_FOUND); /* those that it does not see were not read */
    assert_int_equal(ask(&admin, QUERY(.hx_cluster = "East")).rc, ERR_HX_NAME_UNKNOWN);
    world.hx[1].is_gone = world.hx[2].is_gone = true;
    world_renew();
    assert_int_equal(ask(&admin, QUERY(.hx_cluster = "East")).rc, ERR_NOT_FOUND);
    object_set_done(&one);
    object_set_done(&none);
}

static void unknown_invisible_and_gone_hx_clusters_are_one_404(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    has_told(&world.hx[0], "HX-East", "1:2");
    world_renew();
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
    world_renew();
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
    world_renew();
    viewer.grants =
        policy_grants_of(world_now->platform->grants, world_now->platform->grants_count, "vc:somebody", &viewer.grants_count);
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
    world_renew();
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
    world_renew();
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
            assert_int_equal(inventory_list_clusters(world_now, &admin, &query, &page, &err), 0);
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

/* -- order ---------------------------------------------------------------------------------------------------------------- */

static void states_order_from_good_to_bad(void **state) {
    static const enum cluster_state of[] = {CLUSTER_UNREACHABLE, CLUSTER_READY, CLUSTER_FAILED, CLUSTER_UNKNOWN,
                                            CLUSTER_UPDATING};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(of); i++)
        world.clusters[i].state = of[i];
    world_renew();
    expect(&admin, QUERY(.sort = INVENTORY_SORT_STATE), "beta epsilon delta alpha gamma");
    expect(&admin, QUERY(.sort = INVENTORY_SORT_STATE, .is_descending = true), "gamma alpha delta epsilon beta");
}

/* Which way around ever: who looks for a name in a long list of equal rows finds it. */
static void equal_ones_order_by_name(void **state) {
    static const enum inventory_sort by[] = {INVENTORY_SORT_STATE, INVENTORY_SORT_CONTROL_PLANE, INVENTORY_SORT_WORKERS};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct cluster *c = &world.clusters[i];
        c->state = CLUSTER_READY;
        c->workers_ready = c->workers_desired = c->control_plane_ready = c->control_plane_desired = 1;
    }
    world_renew();
    for (size_t i = 0; i < UNIT_COUNT(by); i++) {
        expect(&admin, QUERY(.sort = by[i]), "alpha beta delta epsilon gamma");
        expect(&admin, QUERY(.sort = by[i], .is_descending = true), "alpha beta delta epsilon gamma");
    }
}

static void every_state_has_a_place_in_the_order(void **state) {
    struct answer a;
    (void)state;
    world_reset();
    for (unsigned n = 0; n < CLUSTER_STATE_COUNT; n++)
        world_add_cluster(n, cluster_state_name(n))->state = n;
    world_renew();
    a = ask(&admin, QUERY(.sort = INVENTORY_SORT_STATE));
    char got[200];
    names_of(&a, got, sizeof(got));
    assert_string_equal(got, "ready updating creating deleting unknown degraded unreachable failed");
    json_decref(a.json);
}

static void replicas_order_by_how_many_are_wanted_then_ready(void **state) {
    static const int ready[] = {4, 0, -1, 9, 1}, desired[] = {5, 5, 5, 4, 10};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ready); i++) {
        world.clusters[i].workers_ready = world.clusters[i].control_plane_desired = ready[i];
        world.clusters[i].workers_desired = desired[i];
    }
    world_renew();
    expect(&admin, QUERY(.sort = INVENTORY_SORT_WORKERS), "delta gamma beta alpha epsilon");
    expect(&admin, QUERY(.sort = INVENTORY_SORT_WORKERS, .is_descending = true), "epsilon alpha beta gamma delta");
    expect(&admin, QUERY(.sort = INVENTORY_SORT_CONTROL_PLANE), "beta gamma epsilon alpha delta"); /* -1 and 0: none */
}

/* By the first name that is shown: gamma is on HX-East and HX-West. */
static void hx_clusters_order_as_far_as_they_are_seen(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c70", &set);
    (void)state;
    free(world.hx[0].name);
    world.hx[0].name = str_dup("HX-Zulu");
    (void)world_add_cluster(6, "nowhere");
    world_renew();
    expect(&admin, QUERY(.sort = INVENTORY_SORT_HX_CLUSTER), "nowhere delta beta alpha epsilon gamma");
    expect(&admin, QUERY(.sort = INVENTORY_SORT_HX_CLUSTER, .is_descending = true), "alpha epsilon gamma beta delta nowhere");
    world.hx[0].is_gone = true;
    world_renew();
    expect(&admin, QUERY(.sort = INVENTORY_SORT_HX_CLUSTER), "alpha epsilon nowhere delta beta gamma");
    world.hx[0].is_gone = false;
    memcpy(world.hx[0].name, "HX-Alfa", sizeof("HX-Alfa"));
    world_renew();
    expect(&admin, QUERY(.sort = INVENTORY_SORT_HX_CLUSTER), "nowhere alpha epsilon gamma delta beta");
    expect(&viewer, QUERY(.sort = INVENTORY_SORT_HX_CLUSTER),
           "beta gamma"); /* both on HX-West: that gamma is on HX-Alfa stays hidden */
    object_set_done(&set);
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
    world_renew();
    a = ask(&admin, QUERY(.sort = INVENTORY_SORT_KUBERNETES_VERSION));
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(json_get_string(json_array_get(json_object_get(a.json, "items"), i), "kubernetes_version"),
                            wanted[i]);
    json_decref(a.json);
}

/* -- how many there are ------------------------------------------------------------------------------------------------------ */

static size_t total_of(const struct viewer_key *viewer, const struct inventory_cluster_query *query) {
    struct answer a = ask(viewer, query);
    json_int_t total = json_integer_value(json_object_get(a.json, "total"));
    assert_int_equal(a.rc, 0);
    json_decref(a.json);
    return (size_t)total;
}

static struct inventory_counts counts_of(const struct viewer_key *viewer, const struct inventory_cluster_query *query) {
    struct inventory_candidates candidates;
    struct inventory_counts counts;
    size_t sum = 0;
    assert_int_equal(inventory_count_clusters(world_now, viewer, query, &candidates, &counts, NULL), 0);
    for (size_t i = 0; i < CLUSTER_STATE_COUNT; i++)
        sum += counts.by_state[i];
    assert_int_equal(sum, counts.total);
    return counts;
}

/* In every order, on whatever page; and the counts say the same. */
static void expect_total(const struct viewer_key *viewer, const struct inventory_cluster_query *query, size_t total) {
    struct inventory_cluster_query q = *query;
    assert_int_equal(counts_of(viewer, query).total, total);
    for (int sort = INVENTORY_SORT_NAME; sort <= INVENTORY_SORT_UPDATED; sort++)
        for (unsigned limit = 1; limit < 4; limit++) {
            q.sort = (enum inventory_sort)sort;
            q.limit = limit;
            q.is_descending = limit == 2;
            assert_int_equal(total_of(viewer, &q), total);
        }
}

static void the_total_is_of_all_pages_and_of_nothing_hidden(void **state) {
    struct object_set set = {0}, none = {0};
    struct viewer_key east = world_viewer(VC_A, "domain-c7", &set), nobody = world_viewer(VC_A, "", &none);
    (void)state;
    world.clusters[2].state = CLUSTER_DEGRADED;
    add_labels();
    expect_total(&admin, QUERY(0), 5);
    expect_total(&admin, QUERY(.text = "e"), 5);
    expect_total(&admin, QUERY(.text = "degraded"), 1);
    expect_total(&admin, QUERY(.hx_cluster_id = HX_A7), 3);
    expect_total(&admin, QUERY(.vcenter = "vc-a", .vsphere_cluster = "domain-c7"), 3);
    expect_total(&admin, QUERY(.vcenter = "vc-b"), 2);
    expect_total(&admin, QUERY(.labels = {KEY("env")}, .labels_count = 1), 2);
    expect_total(&east, QUERY(0), 3);
    expect_total(&east, QUERY(.hx_cluster = "HX-East"), 3);
    expect_total(&east, QUERY(.state_mask = 1U << CLUSTER_READY), 2);
    expect_total(&east, QUERY(.labels = {KEY("env")}, .labels_count = 1), 1);
    expect_total(&nobody, QUERY(0), 0);
    object_set_done(&set);
}

/* What a grant on the cluster itself shows, and a placement that is on no vSphere cluster that is known. An HX cluster that is hidden is none. */
static void the_total_counts_what_any_rule_shows(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c70 domain-c99", &set);
    struct cluster *elsewhere = world_add_cluster(6, "elsewhere");
    (void)state;
    world_add_grant("vc:somebody", GRANT_CLUSTER, world_cluster_id(4));
    world_add_grant("vc:somebody", GRANT_CLUSTER, world_cluster_id(3)); /* seen anyway */
    world_place(elsewhere, VC_A, "domain-c99");
    world_place(elsewhere, VC_A, "domain-c7");
    (void)world_add_cluster(7, "nowhere");
    world_renew();
    viewer.grants =
        policy_grants_of(world_now->platform->grants, world_now->platform->grants_count, "vc:somebody", &viewer.grants_count);
    expect(&viewer, QUERY(0), "beta delta elsewhere gamma");
    expect_total(&viewer, QUERY(0), 4);
    expect_total(&admin, QUERY(0), 7);
    expect(&viewer, QUERY(.on_hx = INVENTORY_ON_HX), "beta delta gamma");
    expect(&viewer, QUERY(.on_hx = INVENTORY_NOT_ON_HX), "elsewhere");
    expect_total(&admin, QUERY(.on_hx = INVENTORY_ON_HX), 6);
    expect_total(&admin, QUERY(.on_hx = INVENTORY_NOT_ON_HX), 1);
    object_set_done(&set);
}

/* A program sees its HX clusters only, whatever its role would show. */
static void the_total_of_a_limited_caller_is_limited(void **state) {
    struct viewer_key limited = world_admin();
    struct object_set set = {0};
    (void)state;
    limited.limits = world_add_service("service-1", HX_A70);
    world_renew();
    expect_total(&limited, QUERY(0), 0);
    limited.role = ROLE_SERVICE;
    expect(&limited, QUERY(0), "beta gamma");
    expect_total(&limited, QUERY(0), 2);
    object_set_done(&set);
}

/* On more vSphere clusters than a mask has bits for: those on the last of them only see nothing of it. */
static void the_total_has_no_cluster_whose_placement_shows_to_nobody(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c999", &set);
    struct cluster *wide = world_add_cluster(6, "wide");
    (void)state;
    for (unsigned i = 0; i < KAAS_PLACEMENTS_PER_CLUSTER_MAX; i++) {
        char moref[20];
        (void)snprintf(moref, sizeof(moref), "domain-c1%02u", i);
        world_place(wide, VC_A, moref);
    }
    world_place(wide, VC_A, "domain-c999");
    world_place(world_add_cluster(7, "beside-1"), VC_A, "domain-c999");
    world_place(world_add_cluster(8, "beside-2"), VC_A, "domain-c999");
    (void)world_add_vsphere(VC_A, "domain-c999", "DC0", "Last");
    world_renew();
    expect(&viewer, QUERY(0), "beside-1 beside-2");
    expect_total(&viewer, QUERY(0), 2);
    expect_total(&admin, QUERY(0), 8);
    object_set_done(&set);
}

static void counts_are_by_state(void **state) {
    struct object_set set = {0};
    struct viewer_key east = world_viewer(VC_A, "domain-c7", &set);
    struct inventory_candidates candidates;
    struct inventory_counts counts;
    (void)state;
    world.clusters[1].state = CLUSTER_FAILED;
    world.clusters[2].state = CLUSTER_DEGRADED;
    world_renew();
    counts = counts_of(&admin, QUERY(0));
    assert_int_equal(counts.by_state[CLUSTER_READY], 3);
    assert_int_equal(counts.by_state[CLUSTER_FAILED], 1);
    assert_int_equal(counts.by_state[CLUSTER_DEGRADED], 1);
    counts = counts_of(&east, QUERY(0));
    assert_int_equal(counts.by_state[CLUSTER_READY], 2);
    assert_int_equal(counts.by_state[CLUSTER_FAILED], 0);
    counts = counts_of(&admin, QUERY(.state_mask = 1U << CLUSTER_FAILED));
    assert_int_equal(counts.total, 1);
    assert_int_equal(inventory_count_clusters(world_now, &admin, QUERY(.hx_cluster = "HX-East"), &candidates, &counts, NULL),
                     ERR_AMBIGUOUS);
    assert_int_equal(candidates.count, 2);
    assert_int_equal(inventory_count_clusters(world_now, &east, QUERY(.hx_cluster = "HX-West"), &candidates, &counts, NULL),
                     ERR_HX_NAME_UNKNOWN);
    object_set_done(&set);
}

static void a_page_begins_at_any_place(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    struct answer a;
    (void)state;
    expect(&admin, QUERY(.offset = 0), "alpha beta delta epsilon gamma");
    expect(&admin, QUERY(.offset = 2), "delta epsilon gamma");
    expect(&admin, QUERY(.offset = 2, .limit = 2), "delta epsilon");
    expect(&admin, QUERY(.offset = 1, .is_descending = true), "epsilon delta beta alpha");
    expect(&admin, QUERY(.offset = 3, .sort = INVENTORY_SORT_CREATED), "delta epsilon");
    expect(&admin, QUERY(.offset = 1, .text = "ta"), "delta");
    expect(&viewer, QUERY(.offset = 1), "epsilon gamma");
    for (int sort = INVENTORY_SORT_NAME; sort <= INVENTORY_SORT_UPDATED; sort++)
        for (size_t offset = 5; offset < 1000000; offset = offset * 3 + 1) {
            a = ask(&admin, QUERY(.offset = offset, .sort = (enum inventory_sort)sort));
            assert_int_equal(json_array_size(json_object_get(a.json, "items")), 0);
            assert_int_equal(json_integer_value(json_object_get(a.json, "total")), 5);
            assert_true(json_is_null(json_object_get(a.json, "next_cursor")));
            json_decref(a.json);
        }
    a = ask(&admin, QUERY(.offset = 1, .limit = 2));
    expect(&admin, QUERY(.cursor = json_get_string(a.json, "next_cursor"), .limit = 2), "epsilon gamma");
    json_decref(a.json);
    object_set_done(&set);
}

/* -- cursors and tags ------------------------------------------------------------------------------------------------------ */

static void a_cursor_survives_changes_between_pages(void **state) {
    struct answer first = ask(&admin, QUERY(.limit = 2));
    const char *cursor = json_get_string(first.json, "next_cursor"); /* behind "beta" */
    (void)state;
    assert_non_null(cursor);
    world_remove_cluster(world_cluster_id(2)); /* the last one of the page itself */
    (void)world_add_cluster(7, "aardvark");    /* before the cursor: not shown again */
    (void)world_add_cluster(8, "cobalt");      /* behind it */
    world_renew();
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
    assert_int_equal(ask(&admin, QUERY(.text = "a", .cursor = cursor, .labels = {KEY("a")}, .labels_count = 1)).rc, ERR_INVALID);
    cut[14] = 0;
    assert_int_equal(ask(&admin, QUERY(.text = "a", .cursor = cut)).rc, ERR_INVALID);
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        struct answer a = ask(&admin, QUERY(.text = "a", .cursor = wrong[i]));
        assert_int_equal(a.rc, ERR_INVALID);
        assert_true(a.err.remedy[0]);
    }
    expect(&admin, QUERY(.text = "a", .cursor = cursor, .limit = 50), "delta epsilon gamma");
    json_decref(first.json);
    first = ask(&admin, QUERY(.limit = 1, .on_hx = INVENTORY_ON_HX));
    cursor = json_get_string(first.json, "next_cursor");
    assert_int_equal(ask(&admin, QUERY(.cursor = cursor)).rc, ERR_INVALID);
    assert_int_equal(ask(&admin, QUERY(.cursor = cursor, .on_hx = INVENTORY_NOT_ON_HX)).rc, ERR_INVALID);
    expect(&admin, QUERY(.cursor = cursor, .on_hx = INVENTORY_ON_HX, .limit = 50), "beta delta epsilon gamma");
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
    world_renew();
    assert_int_equal(etag_of(&admin, q), before);
    world.clusters[2].workers_desired = 9; /* gamma, on the next page */
    world_renew();
    assert_int_equal(etag_of(&admin, q), before);
    assert_int_not_equal(etag_of(&viewer, QUERY(0)), part);
    world.clusters[0].workers_desired = 9; /* alpha */
    world_renew();
    assert_int_not_equal(etag_of(&admin, q), before);
    world.clusters[0].workers_desired = 5;
    world_renew();
    assert_int_equal(etag_of(&admin, q), before);
    while (world.clusters_count > 2) /* the same two, but no next page */
        world_remove_cluster(world.clusters[2].id);
    world_renew();
    assert_int_not_equal(etag_of(&admin, q), before);
    object_set_done(&set);
}

static uint64_t digest_of(const struct viewer_key *viewer, const struct inventory_cluster_query *query) {
    struct inventory_candidates candidates;
    uint64_t digest = 0;
    assert_int_equal(inventory_digest_clusters(world_now, viewer, query, &candidates, &digest, NULL), 0);
    return digest;
}

static void the_tag_and_the_digest_change_with_the_total(void **state) {
    struct object_set set = {0};
    struct viewer_key viewer = world_viewer(VC_A, "domain-c7", &set);
    const struct inventory_cluster_query *q = QUERY(.limit = 2), *far = QUERY(.offset = 50), *text = QUERY(.text = "alp");
    const uint64_t tag = etag_of(&admin, q), far_tag = etag_of(&admin, far), text_tag = etag_of(&admin, text);
    const uint64_t viewer_tag = etag_of(&viewer, q), digest = digest_of(&admin, q), viewer_digest = digest_of(&viewer, q);
    (void)state;
    world_place(world_add_cluster(6, "zulu"), VC_A, "domain-c70"); /* behind the page, and not for the viewer */
    world_renew();
    assert_int_not_equal(etag_of(&admin, q), tag);
    assert_int_not_equal(etag_of(&admin, far), far_tag);
    assert_int_not_equal(digest_of(&admin, q), digest);
    assert_int_equal(etag_of(&admin, text), text_tag);
    assert_int_equal(etag_of(&viewer, q), viewer_tag);
    assert_int_equal(digest_of(&viewer, q), viewer_digest);
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
    world_renew();
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
    assert_true(inventory_sort_parse("-workers", &sort, &is_descending));
    assert_int_equal(sort, INVENTORY_SORT_WORKERS);
    assert_true(inventory_sort_parse("control_plane", &sort, &is_descending));
    assert_int_equal(sort, INVENTORY_SORT_CONTROL_PLANE);
    assert_true(inventory_sort_parse("hx_cluster", &sort, &is_descending));
    assert_int_equal(sort, INVENTORY_SORT_HX_CLUSTER);
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
    world_renew();
    do {
        struct answer a;
        query.cursor = cursor;
        a = ask(&viewer, &query);
        assert_int_equal(a.rc, 0);
        assert_int_equal(json_integer_value(json_object_get(a.json, "total")), 1002);
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

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(filters),
        TEST(a_text_is_looked_for_in_all_that_the_list_shows),
        TEST(text_is_looked_for_in_places_as_far_as_they_are_seen),
        TEST(each_word_must_be_there),
        TEST(labels_are_compared_whole),
        TEST(a_name_of_two_hx_clusters_is_ambiguous_for_those_who_see_both),
        TEST(an_hx_cluster_is_found_by_all_that_it_is_called),
        TEST(an_id_that_became_another_s_is_answered_with_that),
        TEST(a_name_that_was_not_read_is_told_to_those_who_see_the_hx_cluster),
        TEST(unknown_invisible_and_gone_hx_clusters_are_one_404),
        TEST(unknown_and_invisible_vcenters_are_one_404),
        TEST(a_hidden_part_does_not_match_a_vcenter),
        TEST(pages_neither_repeat_nor_omit),
        TEST(pages_of_large_records_end_early),
        TEST(states_order_from_good_to_bad),
        TEST(equal_ones_order_by_name),
        TEST(every_state_has_a_place_in_the_order),
        TEST(replicas_order_by_how_many_are_wanted_then_ready),
        TEST(hx_clusters_order_as_far_as_they_are_seen),
        TEST(versions_order_by_number),
        TEST(the_total_is_of_all_pages_and_of_nothing_hidden),
        TEST(the_total_counts_what_any_rule_shows),
        TEST(the_total_of_a_limited_caller_is_limited),
        TEST(the_total_has_no_cluster_whose_placement_shows_to_nobody),
        TEST(counts_are_by_state),
        TEST(a_page_begins_at_any_place),
        TEST(a_cursor_survives_changes_between_pages),
        TEST(cursors_of_other_queries_are_refused),
        TEST(the_tag_changes_with_the_page_and_only_then),
        TEST(the_tag_and_the_digest_change_with_the_total),
        TEST(a_hidden_change_leaves_the_tag),
        TEST(sort_words),
        TEST(two_thousand_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
