/* JSON to cluster records: every member, wrong kinds, nulls, merging, strange names.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "api_call.h"
#include "cluster_input.h"
#include "cluster_store.h"
#include "inventory_world.h"
#include "limits.h"
#include "str.h"

static json_t *parse(const char *text) {
    json_t *json = NULL;
    struct err err = {0};
    if (json_parse(text, strlen(text), &json, &err))
        fail_msg("%s in %s", err.text, text);
    return json;
}

#define LEAST                                                                                                   \
    "\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-East\"}],\"kubernetes_version\":\"1.31.2\"," \
    "\"control_plane\":{\"desired\":3},\"workers\":{\"desired\":2}"

static const struct cluster_writer BY = {"local:1", "anna", 1700000000000};

/* As the service does it: from the body, then id and rules. */
static int create(const char *text, struct cluster **out, struct err *err) {
    _cleanup_json_ json_t *body = parse(text);
    struct cluster *c = NULL;
    int rc = member_json_check(body, &h_clusters_create_body, NULL, err);
    if (!rc)
        rc = cluster_input_create(body, world_now->platform, &BY, &c, err);
    if (!rc) {
        c->id = str_dup(world_cluster_id(77));
        rc = cluster_check(c, err);
    }
    if (!rc && out)
        *out = STEAL(c);
    cluster_free(c);
    return rc;
}

static int patch(struct cluster *c, const char *text, unsigned *parts, struct err *err) {
    _cleanup_json_ json_t *body = parse(text);
    int rc = member_json_check(body, &h_clusters_patch_body, NULL, err);
    *parts = 0;
    if (!rc)
        rc = cluster_input_patch(body, world_now->platform, &BY, c, parts, err);
    return rc ? rc : cluster_check(c, err);
}

static int status(struct cluster *c, const char *text, const struct cluster_writer *by, struct err *err) {
    _cleanup_json_ json_t *body = parse(text);
    unsigned parts = 0;
    int rc = member_json_check(body, &h_clusters_status_body, NULL, err);
    if (!rc)
        rc = cluster_input_status(body, by, c, &parts, err);
    return rc ? rc : cluster_check(c, err);
}

static void assert_state(const struct cluster *c, enum cluster_state state, const char *source, const char *by,
                         int64_t since_ms) {
    assert_int_equal(c->state, state);
    assert_string_equal(c->state_source, source);
    if (by)
        assert_string_equal(c->state_by, by);
    else
        assert_null(c->state_by);
    assert_int_equal(c->state_since_ms, since_ms);
    assert_int_equal(cluster_is_reported(c), strcmp(source, "reported") == 0);
}

/* A person's word counts from when it was typed last, a program's since it says so. */
static void who_said_it_and_when_is_kept(void **state) {
    const struct cluster_writer program = {"svc:1", "terraform", BY.at_ms + 1000},
                                later = {"svc:1", "terraform", BY.at_ms + 2000};
    const struct cluster_writer person = {"local:2", "bert", BY.at_ms + 3000}, again = {"local:2", "bert", BY.at_ms + 4000};
    _cleanup_(cluster_free) struct cluster *c = NULL;
    unsigned parts = 0;
    (void)state;
    assert_int_equal(create("{\"name\":\"prod-1\"," LEAST "}", &c, NULL), 0);
    assert_state(c, CLUSTER_UNKNOWN, "declared", NULL, 0); /* nobody said anything */
    assert_int_equal(patch(c, "{\"state\":\"ready\"}", &parts, NULL), 0);
    assert_state(c, CLUSTER_READY, "declared", "anna", BY.at_ms);
    assert_int_equal(status(c, "{\"state\":\"ready\"}", &program, NULL), 0);
    assert_state(c, CLUSTER_READY, "reported", "terraform", program.at_ms);
    assert_int_equal(status(c, "{\"state\":\"ready\",\"by_hand\":false}", &later, NULL), 0);
    assert_state(c, CLUSTER_READY, "reported", "terraform", program.at_ms);
    assert_int_equal(c->reported_at_ms, later.at_ms);
    assert_int_equal(status(c, "{\"state\":\"degraded\"}", &later, NULL), 0);
    assert_state(c, CLUSTER_DEGRADED, "reported", "terraform", later.at_ms);
    assert_int_equal(status(c, "{\"state\":\"ready\",\"reason\":\"looked at\",\"by_hand\":true}", &person, NULL), 0);
    assert_state(c, CLUSTER_READY, "declared", "bert", person.at_ms);
    assert_string_equal(c->state_reason, "looked at");
    assert_int_equal(status(c, "{\"state\":\"ready\",\"by_hand\":true}", &again, NULL), 0);
    assert_state(c, CLUSTER_READY, "declared", "bert", again.at_ms);
    assert_int_equal(status(c, "{\"state\":\"ready\",\"by_hand\":\"yes\"}", &again, NULL), ERR_UNPROCESSABLE);
}

static void the_least_body_will_do(void **state) {
    _cleanup_(cluster_free) struct cluster *c = NULL;
    (void)state;
    assert_int_equal(create("{\"name\":\"prod-1\"," LEAST "}", &c, NULL), 0);
    assert_string_equal(c->name, "prod-1");
    assert_string_equal(c->state_source, "declared");
    assert_string_equal(c->placement_source, "declared");
    assert_int_equal(c->state, CLUSTER_UNKNOWN);
    assert_int_equal(c->control_plane_ready, -1);
    assert_int_equal(c->control_plane_desired, 3);
    assert_int_equal(c->workers_desired, 2);
    assert_int_equal(c->placement.count, 1);
    assert_string_equal(c->placement.items[0].moref, "domain-c7");
    assert_null(c->description);
}

static void all_members_are_taken(void **state) {
    _cleanup_(cluster_free) struct cluster *c = NULL;
    (void)state;
    assert_int_equal(
        create(
            "{\"name\":\"full\",\"description\":\"two\\nlines\",\"vsphere_clusters\":[{\"vcenter_id\":\"" VC_A "\",\"moref\":"
            "\"domain-c70\"},{\"vcenter\":\"VC-B.example.com\",\"path\":\"domain-c9\"}],\"kubernetes_version\":\"1.30.0-rc.1\","
            "\"api_endpoint\":\"https://k8s.test:6443\",\"dashboard_url\":\"https://d.test/\",\"control_plane\":{\"ready\":1,"
            "\"desired\":3},\"workers\":{\"ready\":null,\"desired\":0},\"state\":\"degraded\",\"state_reason\":\"why\","
            "\"labels\":{\"team\":\"b\",\"a/b\":\"\"},\"nodes\":[{\"name\":\"w1\",\"role\":\"worker\"},{\"name\":\"c1\",\"role\":"
            "\"control_plane\",\"vcenter_id\":\"" VC_A "\",\"vm_instance_uuid\":\"50000000-0000-4000-8000-000000000001\"}]}",
            &c, NULL),
        0);
    assert_int_equal(c->state, CLUSTER_DEGRADED);
    assert_string_equal(c->state_reason, "why");
    assert_string_equal(c->api_endpoint, "https://k8s.test:6443");
    assert_string_equal(c->dashboard_url, "https://d.test/");
    assert_int_equal(c->placement.count, 2);
    assert_int_equal(c->labels_count, 2);
    assert_string_equal(c->labels[0].key, "a/b");
    assert_int_equal(c->nodes_count, 2);
    assert_string_equal(c->nodes[0].name, "c1");
    assert_string_equal(c->nodes[0].vm_instance_uuid, "50000000-0000-4000-8000-000000000001");
    assert_int_equal(c->control_plane_ready, 1);
    assert_int_equal(c->workers_ready, -1);
}

/* A body, the code, and what the message must name. */
static const struct bad {
    const char *body;
    int code;
    const char *names;
} bad[] = {
    {"[]", ERR_UNPROCESSABLE, "object"},
    {"{}", ERR_UNPROCESSABLE, "name"},
    {"{" LEAST "}", ERR_UNPROCESSABLE, "name"},
    {"{\"name\":null," LEAST "}", ERR_UNPROCESSABLE, "name"},
    {"{\"name\":7," LEAST "}", ERR_UNPROCESSABLE, "name"},
    {"{\"name\":\"x\",\"nmae\":\"x\"," LEAST "}", ERR_UNPROCESSABLE, "did you mean \"name\""},
    {"{\"name\":\"x\",\"id\":\"x\"," LEAST "}", ERR_UNPROCESSABLE, "id"},
    {"{\"name\":\"x\",\"labels\":[]," LEAST "}", ERR_UNPROCESSABLE, "labels"},
    {"{\"name\":\"x\",\"labels\":null," LEAST "}", ERR_UNPROCESSABLE, "labels"},
    {"{\"name\":\"x\",\"labels\":{\"a\":null}," LEAST "}", ERR_UNPROCESSABLE, "\"a\""},
    {"{\"name\":\"x\",\"labels\":{\"a\":1}," LEAST "}", ERR_UNPROCESSABLE, "\"a\""},
    {"{\"name\":\"x\",\"labels\":{\"-a\":\"b\"}," LEAST "}", ERR_UNPROCESSABLE, "-a"},
    {"{\"name\":\"x\",\"state\":\"fine\"," LEAST "}", ERR_UNPROCESSABLE, "fine"},
    {"{\"name\":\"x\",\"api_endpoint\":\"http://x\"," LEAST "}", ERR_UNPROCESSABLE, "api_endpoint"},
    {"{\"name\":\"x\",\"dashboard_url\":\"javascript:alert(1)\"," LEAST "}", ERR_UNPROCESSABLE, "dashboard_url"},
    {"{\"name\":\"x\",\"nodes\":{}," LEAST "}", ERR_UNPROCESSABLE, "nodes"},
    {"{\"name\":\"x\",\"nodes\":[1]," LEAST "}", ERR_UNPROCESSABLE, "nodes[0]"},
    {"{\"name\":\"x\",\"nodes\":[{\"name\":\"n\",\"role\":\"worker\"},{\"name\":\"m\",\"role\":\"boss\"}]," LEAST "}",
     ERR_UNPROCESSABLE, "nodes[1].role"},
    {"{\"name\":\"x\",\"nodes\":[{\"name\":\"n\",\"role\":\"worker\",\"x\":1}]," LEAST "}", ERR_UNPROCESSABLE, "nodes[0].x"},
    {"{\"name\":\"x\",\"nodes\":[{\"name\":\"n\",\"role\":\"worker\"},{\"name\":\"n\",\"role\":\"worker\"}]," LEAST "}",
     ERR_UNPROCESSABLE, "twice"},
    {"{\"name\":\"x\",\"nodes\":[{\"name\":\"n\",\"role\":\"worker\",\"vm_instance_uuid\":\"" VC_A "\"}]," LEAST "}",
     ERR_UNPROCESSABLE, "vcenter_id"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[],\"kubernetes_version\":\"1.31.2\",\"control_plane\":{\"desired\":1},\"workers\":{\"desired\":1}}",
     ERR_UNPROCESSABLE, "vsphere_clusters"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/Nope\"}],\"kubernetes_version\":\"1.31.2\",\"control_plane\":"
     "{\"desired\":1},\"workers\":{\"desired\":1}}",
     ERR_UNPROCESSABLE, "vsphere_clusters[0]"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"nowhere\",\"path\":\"DC0/HX-East\"}],\"kubernetes_version\":\"1.31.2\",\"control_plane\":"
     "{\"desired\":1},\"workers\":{\"desired\":1}}",
     ERR_UNPROCESSABLE, "nowhere"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"moref\":\"domain-c7\"}],\"kubernetes_version\":\"1.31.2\",\"control_plane\":"
     "{\"desired\":1},\"workers\":{\"desired\":1}}",
     ERR_UNPROCESSABLE, "moref"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-East\"}],\"kubernetes_version\":\"v1.31\",\"control_plane\":"
     "{\"desired\":1},\"workers\":{\"desired\":1}}",
     ERR_UNPROCESSABLE, "kubernetes_version"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-East\"}],\"kubernetes_version\":\"1.31.2\",\"control_plane\":"
     "{\"ready\":1},\"workers\":{\"desired\":1}}",
     ERR_UNPROCESSABLE, "control_plane.desired"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-East\"}],\"kubernetes_version\":\"1.31.2\",\"control_plane\":"
     "{\"desired\":-1},\"workers\":{\"desired\":1}}",
     ERR_UNPROCESSABLE, "control_plane.desired"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-East\"}],\"kubernetes_version\":\"1.31.2\",\"control_plane\":"
     "{\"desired\":1.5},\"workers\":{\"desired\":1}}",
     ERR_UNPROCESSABLE, "control_plane.desired"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-East\"}],\"kubernetes_version\":\"1.31.2\",\"control_plane\":"
     "{\"desired\":1},\"workers\":{\"desired\":100001}}",
     ERR_UNPROCESSABLE, "workers.desired"},
    {"{\"name\":\"x\",\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-East\"}],\"kubernetes_version\":\"1.31.2\",\"control_plane\":"
     "{\"desired\":1},\"workers\":{\"desired\":1,\"wanted\":1}}",
     ERR_UNPROCESSABLE, "workers.wanted"},
};

static void bad_bodies_are_told_precisely(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct err err = {0};
        int rc = create(bad[i].body, NULL, &err);
        if (rc != bad[i].code || !strstr(err.text, bad[i].names))
            fail_msg("%s\n gave %d %s", bad[i].body, rc, err.text);
    }
}

static void an_ambiguous_place_stays_ambiguous(void **state) {
    struct err err = {0};
    (void)state;
    (void)world_add_vsphere(VC_A, "domain-c71", "DC0", "HX-East");
    inventory_snapshot_unref(world_now);
    world_now = world_snapshot();
    assert_int_equal(create("{\"name\":\"x\"," LEAST "}", NULL, &err), ERR_AMBIGUOUS);
    assert_non_null(strstr(err.remedy, "domain-c71"));
}

static int create_named(const char *name, char **got) {
    _cleanup_json_ json_t *body = parse("{\"name\":\"x\"," LEAST "}");
    _cleanup_free_ char *text = NULL;
    struct cluster *c = NULL;
    int rc;
    assert_int_equal(json_object_set_new(body, "name", json_string(name)), 0);
    text = json_dumps(body, 0);
    rc = create(text, &c, NULL);
    if (!rc && got)
        *got = str_dup(c->name);
    cluster_free(c);
    return rc;
}

/* As Kubernetes and its nodes write them; kept plain. */
static void versions_and_uuids_as_others_write_them(void **state) {
    _cleanup_(cluster_free) struct cluster *c = NULL;
    unsigned parts = 0;
    (void)state;
    assert_int_equal(create("{\"name\":\"prod-1\"," LEAST "}", &c, NULL), 0);
    assert_int_equal(patch(c, "{\"kubernetes_version\":\"v1.31.3-rc.1\"}", &parts, NULL), 0);
    assert_string_equal(c->kubernetes_version, "1.31.3-rc.1");
    assert_int_equal(patch(c, "{\"kubernetes_version\":\"vv1.31.3\"}", &parts, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(
        status(c,
               "{\"state\":\"ready\",\"kubernetes_version\":\"v1.31.4\",\"nodes\":[{\"name\":\"a\",\"role\":\"worker\","
               "\"kubernetes_version\":\"v1.31.2\",\"vm_bios_uuid\":\"vsphere://420E3F74-ea84-f9a2-7736-6106bb5dbf6b\","
               "\"vm_instance_uuid\":\"VMware-50 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b\"}]}",
               &BY, NULL),
        0);
    assert_string_equal(c->kubernetes_version, "1.31.4");
    assert_string_equal(c->nodes[0].kubernetes_version, "1.31.2");
    assert_string_equal(c->nodes[0].vm_bios_uuid, "420E3F74-ea84-f9a2-7736-6106bb5dbf6b");
    assert_string_equal(c->nodes[0].vm_instance_uuid, "500e3f74-ea84-f9a2-7736-6106bb5dbf6b");
}

static void names_of_all_kinds(void **state) {
    static const char *const good[] = {"100%", "a'b", "a\"b", "a\\b", "a/b", "\xF0\x9F\x90\xA7 prod", "Ümläut", "a b"};
    static const char *const refused[] = {"", " a", "a ", "a\nb", "\x7F"};
    char fifty[50 * 4 + 1] = "", more[51 * 4 + 1] = "";
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(good); i++) {
        _cleanup_free_ char *got = NULL;
        assert_int_equal(create_named(good[i], &got), 0);
        assert_string_equal(got, good[i]);
    }
    for (size_t i = 0; i < UNIT_COUNT(refused); i++)
        assert_int_equal(create_named(refused[i], NULL), ERR_UNPROCESSABLE);
    for (size_t i = 0; i < 51; i++) {
        if (i < 50)
            memcpy(fifty + 4 * i, "\xF0\x9F\x90\xA7", 4);
        memcpy(more + 4 * i, "\xF0\x9F\x90\xA7", 4);
    }
    assert_int_equal(create_named(fifty, NULL), 0);
    assert_int_equal(create_named(more, NULL), ERR_UNPROCESSABLE);
}

/* -- patches ---------------------------------------------------------------------------------------------------------------- */

static struct cluster *sample(void) {
    struct cluster *c = NULL;
    assert_int_equal(
        create(
            "{\"name\":\"prod-1\",\"description\":\"d\",\"labels\":{\"a\":\"1\",\"b\":\"2\"},\"nodes\":[{\"name\":\"n1\",\"role\":"
            "\"worker\"},{\"name\":\"n2\",\"role\":\"worker\"}]," LEAST "}",
            &c, NULL),
        0);
    return c;
}

static void labels_are_merged(void **state) {
    _cleanup_(cluster_free) struct cluster *c = sample();
    unsigned parts;
    (void)state;
    assert_int_equal(patch(c, "{\"labels\":{\"a\":null,\"c\":\"3\",\"b\":\"x\",\"zz\":null}}", &parts, NULL), 0);
    assert_int_equal(parts, CLUSTER_PART_LABELS);
    assert_int_equal(c->labels_count, 2);
    assert_string_equal(c->labels[0].key, "b");
    assert_string_equal(c->labels[0].value, "x");
    assert_string_equal(c->labels[1].key, "c");
    assert_int_equal(patch(c, "{\"labels\":null}", &parts, NULL), 0);
    assert_int_equal(c->labels_count, 0);
}

static void labels_have_a_limit(void **state) {
    _cleanup_(cluster_free) struct cluster *c = sample();
    _cleanup_json_ json_t *labels = json_object(), *body = NULL;
    unsigned parts = 0;
    char key[20];
    (void)state;
    for (int i = 0; i < KAAS_LABELS_COUNT_MAX - 2; i++) {
        (void)snprintf(key, sizeof(key), "key%d", i);
        (void)json_object_set_new(labels, key, json_string("v"));
    }
    body = json_pack("{sO}", "labels", labels);
    assert_int_equal(cluster_input_patch(body, world_now->platform, &BY, c, &parts, NULL), 0);
    assert_int_equal(c->labels_count, KAAS_LABELS_COUNT_MAX);
    (void)json_object_set_new(labels, "one-more", json_string("v"));
    assert_int_equal(cluster_input_patch(body, world_now->platform, &BY, c, &parts, NULL), ERR_UNPROCESSABLE);
}

static void nulls_empty_what_may_be_empty(void **state) {
    _cleanup_(cluster_free) struct cluster *c = sample();
    static const char *const refused[] = {"{\"name\":null}",
                                          "{\"kubernetes_version\":null}",
                                          "{\"vsphere_clusters\":null}",
                                          "{\"state\":null}",
                                          "{\"workers\":null}",
                                          "{\"workers\":{}}",
                                          "{\"workers\":{\"desired\":null}}"};
    unsigned parts;
    (void)state;
    assert_int_equal(patch(c, "{\"description\":null,\"nodes\":null}", &parts, NULL), 0);
    assert_null(c->description);
    assert_int_equal(c->nodes_count, 0);
    assert_int_equal(parts, CLUSTER_PART_NODES);
    for (size_t i = 0; i < UNIT_COUNT(refused); i++)
        assert_int_equal(patch(c, refused[i], &parts, NULL), ERR_UNPROCESSABLE);
}

static void a_patch_leaves_the_rest(void **state) {
    _cleanup_(cluster_free) struct cluster *c = sample();
    unsigned parts;
    (void)state;
    assert_int_equal(patch(c, "{\"workers\":{\"ready\":1}}", &parts, NULL), 0);
    assert_int_equal(c->workers_ready, 1);
    assert_int_equal(c->workers_desired, 2);
    assert_string_equal(c->name, "prod-1");
    assert_string_equal(c->description, "d");
    assert_int_equal(c->labels_count, 2);
    assert_int_equal(parts, 0);
}

static void a_node_keeps_its_id_with_its_name(void **state) {
    _cleanup_(cluster_free) struct cluster *c = sample();
    _cleanup_free_ char *n1 = str_dup(c->nodes[0].id), *n2 = str_dup(c->nodes[1].id);
    unsigned parts;
    (void)state;
    assert_int_equal(patch(c, "{\"nodes\":[{\"name\":\"n3\",\"role\":\"worker\"},{\"name\":\"n1\",\"role\":\"control_plane\"}]}",
                           &parts, NULL),
                     0);
    assert_int_equal(c->nodes_count, 2);
    assert_string_equal(c->nodes[0].id, n1);
    assert_int_equal(c->nodes[0].role, NODE_CONTROL_PLANE);
    assert_string_not_equal(c->nodes[1].id, n2);
}

static void a_bad_list_changes_nothing_in_it(void **state) {
    _cleanup_(cluster_free) struct cluster *c = sample();
    unsigned parts;
    (void)state;
    assert_int_equal(patch(c, "{\"nodes\":[{\"name\":\"n9\",\"role\":\"worker\"},{\"name\":\"n8\"}]}", &parts, NULL),
                     ERR_UNPROCESSABLE);
    assert_int_equal(c->nodes_count, 2);
    assert_int_equal(
        patch(c,
              "{\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-West\"},{\"vcenter\":\"vc-a\",\"path\":\"no\"}]}",
              &parts, NULL),
        ERR_UNPROCESSABLE);
    assert_string_equal(c->placement.items[0].moref, "domain-c7");
}

static void a_place_named_twice_is_one(void **state) {
    _cleanup_(cluster_free) struct cluster *c = sample();
    unsigned parts;
    (void)state;
    assert_int_equal(patch(c,
                           "{\"vsphere_clusters\":[{\"vcenter\":\"vc-a\",\"path\":\"DC0/HX-West\"},{\"vcenter_id\":\"" VC_A
                           "\",\"moref\":"
                           "\"domain-c70\"}]}",
                           &parts, NULL),
                     0);
    assert_int_equal(c->placement.count, 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_least_body_will_do),
        TEST(who_said_it_and_when_is_kept),
        TEST(versions_and_uuids_as_others_write_them),
        TEST(all_members_are_taken),
        TEST(bad_bodies_are_told_precisely),
        TEST(an_ambiguous_place_stays_ambiguous),
        TEST(names_of_all_kinds),
        TEST(labels_are_merged),
        TEST(labels_have_a_limit),
        TEST(nulls_empty_what_may_be_empty),
        TEST(a_patch_leaves_the_rest),
        TEST(a_node_keeps_its_id_with_its_name),
        TEST(a_bad_list_changes_nothing_in_it),
        TEST(a_place_named_twice_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
