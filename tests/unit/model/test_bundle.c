/* Unit tests of src/model/provision/bundle: manifests in several documents, values in them, digests.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "bundle.h"
#include "digest.h"
#include "str.h"

static const char *const pool[] = {"10.9.0.200-10.9.0.210", "10.9.0.220"};
static const struct bundle_values values = {
    .pod_network = "10.244.0.0/16", .service_network = "10.96.0.0/12", .service_addresses = pool, .service_addresses_count = 2};
static const struct bundle_values nothing;
static struct bundle bundle;

static int forget(void **state) {
    (void)state;
    bundle_done(&bundle);
    return 0;
}

static int add(const char *text, const struct bundle_values *with, struct err *err) {
    return bundle_add_manifest(&bundle, "manifests/one.yaml", text, strlen(text), with, err);
}

#define HEAD "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"

static void documents_are_taken_one_after_the_other(void **state) {
    (void)state;
    assert_int_equal(add("# a comment\n---\n" HEAD "data:\n  text: |\n    kept\n     --- this\n--- # the second\n"
                         "kind: Namespace\napiVersion: v1\nmetadata: {name: b}\n---\n# nothing\n---\n",
                         &nothing, NULL),
                     0);
    assert_int_equal(bundle.count, 2);
    assert_string_equal(bundle.objects[0].place, "manifests/one.yaml:2");
    assert_string_equal(json_get_string(json_object_get(bundle.objects[0].json, "data"), "text"), "kept\n --- this\n");
    assert_string_equal(bundle.objects[1].place, "manifests/one.yaml:10");
    assert_string_equal(json_get_string(bundle.objects[1].json, "kind"), "Namespace");
}

static void values_stand_where_they_are_named(void **state) {
    (void)state;
    assert_int_equal(add(HEAD "data:\n  both: --pods=${kaas.pod_network} --services=${kaas.service_network}.\n"
                              "  shell: ${other} $(THIS) ${KAAS}\nspec:\n  list: ${kaas.service_addresses}\n"
                              "  args: [\"${kaas.pod_network}\"]\n",
                         &values, NULL),
                     0);
    const json_t *data = json_object_get(bundle.objects[0].json, "data"), *spec = json_object_get(bundle.objects[0].json, "spec");
    assert_string_equal(json_get_string(data, "both"), "--pods=10.244.0.0/16 --services=10.96.0.0/12.");
    assert_string_equal(json_get_string(data, "shell"), "${other} $(THIS) ${KAAS}");
    assert_int_equal(json_array_size(json_object_get(spec, "list")), 2);
    assert_string_equal(json_string_value(json_array_get(json_object_get(spec, "list"), 1)), "10.9.0.220");
    assert_string_equal(json_string_value(json_array_get(json_object_get(spec, "args"), 0)), "10.244.0.0/16");
}

static void a_text_that_is_a_value_stays_a_text(void **state) {
    static const struct bundle_values sly = {.pod_network = "a: b\n- ${kaas.service_network}"};
    (void)state;
    assert_int_equal(add(HEAD "data: {x: \"${kaas.pod_network}\"}\n", &sly, NULL), 0);
    assert_string_equal(json_get_string(json_object_get(bundle.objects[0].json, "data"), "x"), sly.pod_network);
}

static void what_is_wrong_is_told_with_its_place(void **state) {
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {HEAD "---\n" HEAD "data:\n\tx: 1\n", "manifests/one.yaml:9: not valid YAML"},
        {HEAD "---\n" HEAD, "manifests/one.yaml:4: the same object is at manifests/one.yaml:1"},
        {HEAD "data: &a {x: 1}\n", "manifests/one.yaml:4: anchors"},
        {HEAD "data: {x: 1, x: 2}\n", "manifests/one.yaml:4: "},
        {HEAD "data: {x: \"${kaas.pod_netwrok}\"}\n", "manifests/one.yaml:1: there is no value ${kaas.pod_netwrok}"},
        {HEAD "data: {x: \"${kaas.pod_network\"}\n", "manifests/one.yaml:1: ${kaas.pod_network has no closing }"},
        {HEAD "data: {x: \"a ${kaas.service_addresses}\"}\n", "${kaas.service_addresses is a list, and stands within a text"},
        {HEAD "data: {x: \"${kaas.service_addresses} \"}\n", "${kaas.service_addresses is a list, and stands within a text"},
        {"- 1\n", "manifests/one.yaml:1: it is no object"},
        {"kind: A\nmetadata: {name: a}\n", "it has no apiVersion"},
        {"apiVersion: a/b/c\nkind: A\nmetadata: {name: a}\n", "it has no apiVersion"},
        {"apiVersion: a/\nkind: A\nmetadata: {name: a}\n", "it has no apiVersion"},
        {"apiVersion: ../v1\nkind: A\nmetadata: {name: a%2f}\n", "no metadata.name"},
        {"apiVersion: v1\nkind: A/b\nmetadata: {name: a}\n", "it has no kind"},
        {"apiVersion: v1\nkind: A\nmetadata: {generateName: a}\n", "no metadata.name"},
        {"apiVersion: v1\nkind: A\nmetadata: {name: ..}\n", "no metadata.name"},
        {"apiVersion: v1\nkind: A\nmetadata: {name: a/b}\n", "no metadata.name"},
        {"apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: \"b?c\"}\n", "metadata.namespace"},
        {"apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: 3}\n", "metadata.namespace"},
        {"apiVersion: v1\nkind: List\nmetadata: {name: a}\nitems: []\n", "it is a list of objects"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        struct err err = {0};
        int rc = add(wrong[i].text, &values, &err);
        if (rc != ERR_UNPROCESSABLE || !strstr(err.text, wrong[i].said) || !err.remedy[0])
            fail_msg("%s: %d: %s (%s)", wrong[i].text, rc, err.text, err.remedy);
        bundle_done(&bundle);
    }
}

static void what_the_cluster_has_not_is_refused(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"pod_network", "service_network", "service_addresses"};
        _cleanup_free_ char *text = str_format(HEAD "data: {x: \"${kaas.%s}\"}\n", names[i]);
        struct err err = {0};
        assert_int_equal(add(text, &nothing, &err), ERR_UNPROCESSABLE);
        assert_non_null(strstr(err.text, "the cluster has none"));
        assert_non_null(strstr(err.remedy, names[i]));
    }
}

static void there_are_caps(void **state) {
    _cleanup_strbuf_ struct strbuf text;
    struct err err = {0};
    (void)state;
    strbuf_init(&text, 64UL * 1024 * 1024);
    for (unsigned i = 0; i <= BUNDLE_OBJECTS_MAX; i++)
        strbuf_addf(&text, "---\napiVersion: v1\nkind: A\nmetadata: {name: a%u}\n", i);
    assert_int_equal(add(text.data, &nothing, &err), ERR_TOO_LARGE);
    assert_int_equal(bundle.count, BUNDLE_OBJECTS_MAX);
    assert_non_null(strstr(err.text, "more than 1000 objects"));
    strbuf_reset(&text);
    err_clear(&err);
    strbuf_adds(&text, HEAD "data: ");
    for (unsigned i = 0; i <= BUNDLE_DEPTH_MAX; i++)
        strbuf_adds(&text, "{a: ");
    assert_int_equal(add(text.data, &nothing, &err), ERR_TOO_LARGE);
    strbuf_reset(&text);
    err_clear(&err);
    strbuf_adds(&text, HEAD "data: {x: \"");
    while (text.len < BUNDLE_FILE_BYTES_MAX + 100)
        strbuf_adds(&text, "${kaas.pod_network}");
    strbuf_adds(&text, "\"}\n");
    assert_int_equal(add(text.data, &values, &err), ERR_TOO_LARGE);
}

static void a_head_has_name_and_version(void **state) {
    static const char *const wrong[] = {
        "",
        "# nothing\n",
        "[]\n",
        "kind: Bundle\nname: a\n",
        "kind: Bundle\nname: a\nversion: v1\nmore: 1\n",
        "kind: Other\nname: a\nversion: v1\n",
        "kind: Bundle\nname: A b\nversion: v1\n",
        "kind: Bundle\nname: \"\"\nversion: v1\n",
        "kind: Bundle\nname: a\nversion: \"v1\\n\"\n",
        "kind: Bundle\nname: a\nversion: 1.5\n",
    };
    static const char head[] = "kind: Bundle\nname: kube-router\nversion: v2.1.0\n";
    (void)state;
    assert_int_equal(bundle_read_head(&bundle, head, strlen(head), NULL), 0);
    assert_string_equal(bundle.name, "kube-router");
    assert_string_equal(bundle.version, "v2.1.0");
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        struct err err = {0};
        assert_int_equal(bundle_read_head(&bundle, wrong[i], strlen(wrong[i]), &err), ERR_UNPROCESSABLE);
        assert_non_null(strstr(err.text, "bundle.yaml"));
        assert_true(err.remedy[0]);
    }
}

#define DIGEST_A "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" /* of "a" */

static void digests_are_compared(void **state) {
    static struct bundle_sums sums;
    static const char text[] = DIGEST_A "  bundle.yaml\n" DIGEST_A " *manifests/one.yaml\n";
    struct err err = {0};
    (void)state;
    assert_int_equal(bundle_sums_read(&sums, text, strlen(text), NULL), 0);
    assert_int_equal(sums.count, 2);
    assert_int_equal(bundle_sums_meet(&sums, "bundle.yaml", "a", 1, NULL), 0);
    assert_int_equal(bundle_sums_check(&sums, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "manifests/one.yaml is no file of the bundle"));
    err_clear(&err);
    assert_int_equal(bundle_sums_meet(&sums, "manifests/one.yaml", "b", 1, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "manifests/one.yaml is not the file that it was"));
    assert_non_null(strstr(err.remedy, "sha256sum"));
    err_clear(&err);
    assert_int_equal(bundle_sums_meet(&sums, "manifests/two.yaml", "a", 1, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "manifests/two.yaml is not in it"));
    assert_int_equal(bundle_sums_meet(&sums, "manifests/one.yaml", "a", 1, NULL), 0);
    assert_int_equal(bundle_sums_check(&sums, NULL), 0);
}

static void lines_that_sha256sum_does_not_print_are_refused(void **state) {
    static struct bundle_sums sums;
    static const char *const wrong[] = {"\n",
                                        "abc  x\n",
                                        DIGEST_A "\n",
                                        DIGEST_A "  \n",
                                        DIGEST_A " bundle.yaml\n",
                                        DIGEST_A "  a\x01\n",
                                        "zz" DIGEST_A "  a\n",
                                        DIGEST_A "  \xff\n"};
    _cleanup_strbuf_ struct strbuf many;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++)
        assert_int_equal(bundle_sums_read(&sums, wrong[i], strlen(wrong[i]), NULL), ERR_UNPROCESSABLE);
    strbuf_init(&many, 65536);
    for (unsigned i = 0; i < BUNDLE_FILES_MAX + 2; i++)
        strbuf_addf(&many, DIGEST_A "  f%u\n", i);
    assert_int_equal(bundle_sums_read(&sums, many.data, many.len, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(bundle_sums_read(&sums, "", 0, NULL), 0);
    assert_int_equal(sums.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(documents_are_taken_one_after_the_other, forget),
        cmocka_unit_test_teardown(values_stand_where_they_are_named, forget),
        cmocka_unit_test_teardown(a_text_that_is_a_value_stays_a_text, forget),
        cmocka_unit_test_teardown(what_is_wrong_is_told_with_its_place, forget),
        cmocka_unit_test_teardown(what_the_cluster_has_not_is_refused, forget),
        cmocka_unit_test_teardown(there_are_caps, forget),
        cmocka_unit_test_teardown(a_head_has_name_and_version, forget),
        cmocka_unit_test_teardown(digests_are_compared, forget),
        cmocka_unit_test_teardown(lines_that_sha256sum_does_not_print_are_refused, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
