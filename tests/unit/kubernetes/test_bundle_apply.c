/* Unit tests of src/kubernetes/bundles: a folder is read, and its objects are applied to an API server in memory. A real one is met in tests/kube/test_bundles.py.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "bundles.h"
#include "digest.h"
#include "fsutil.h"
#include "strbuf.h"
#include "str.h"

/* -- the server ------------------------------------------------------------------------------------------------------------------ */

static struct {
    struct strbuf asked;   /* a line a call: method and path */
    unsigned looks;        /* for the kinds of example.com */
    unsigned looks_until;  /* they are known */
    unsigned missed_until; /* applying one of them is answered 404 so often */
    long refuses;          /* a status for the call that applies `refused` */
    const char *refused, *message;
} server;

static int tell(struct strbuf *reply, long *status, long is, const char *text) {
    *status = is;
    strbuf_adds(reply, text);
    return 0;
}

static int serve(void *conn, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err) {
    const char *path = exchange->url + strlen("https://k:6443");
    (void)conn, (void)err;
    strbuf_addf(&server.asked, "%s %s\n", exchange->method, path);
    if (str_eq(path, "/api/v1"))
        return tell(
            reply, status, 200,
            "{\"resources\": [{\"name\": \"namespaces\", \"kind\": \"Namespace\", \"namespaced\": false}, {\"name\": \"configmaps\", "
            "\"kind\": \"ConfigMap\", \"namespaced\": true}, {\"name\": \"configmaps/part\", \"kind\": \"ConfigMap\"}]}");
    if (str_eq(path, "/apis/apiextensions.k8s.io/v1"))
        return tell(reply, status, 200,
                    "{\"resources\": [{\"name\": \"customresourcedefinitions\", \"kind\": \"CustomResourceDefinition\"}]}");
    if (str_eq(path, "/apis/example.com/v1") && server.looks++ >= server.looks_until)
        return tell(reply, status, 200, "{\"resources\": [{\"name\": \"things\", \"kind\": \"Thing\", \"namespaced\": false}]}");
    if (str_eq(exchange->method, "GET"))
        return tell(reply, status, 404, "{\"apiVersion\": \"v1\", \"kind\": \"Status\", \"message\": \"nothing there\"}");
    if (server.refuses && strstr(path, server.refused)) {
        _cleanup_free_ char *text =
            str_format("{\"apiVersion\": \"v1\", \"kind\": \"Status\", \"message\": \"%s\"}", server.message);
        return tell(reply, status, server.refuses, text);
    }
    if (strstr(path, "/things/") && server.missed_until && server.missed_until--)
        return tell(reply, status, 404, "{\"apiVersion\": \"v1\", \"kind\": \"Status\", \"message\": \"not yet\"}");
    return tell(reply, status, strstr(path, "/configmaps/") ? 200 : 201, "{}");
}

static int open_conn(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    (void)arg, (void)options, (void)err;
    *conn = &server;
    return 0;
}

static void ignore_conn(void *conn) {
    (void)conn;
}

static struct k8s_client *client;
static struct bundle bundle;
static char folder[] = "/tmp/kaas-bundle-XXXXXX";

static int begin(void **state) {
    static const struct http_transport transport = {.open = open_conn, .run = serve, .cancel = ignore_conn, .close = ignore_conn};
    const struct k8s_endpoint endpoint = {.url = "https://k:6443", .transport = &transport};
    (void)state;
    memset(&server, 0, sizeof(server));
    strbuf_init(&server.asked, 1 << 20);
    return k8s_client_new(&endpoint, "t", &client, NULL);
}

static int end(void **state) {
    (void)state;
    k8s_client_free(client);
    bundle_done(&bundle);
    strbuf_done(&server.asked);
    return 0;
}

/* -- applying -------------------------------------------------------------------------------------------------------------------- */

#define MAP "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, namespace: space}\n---\n"
#define THING "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: thing}\n---\n"
#define DEFINITION \
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n---\n"
#define SPACE "apiVersion: v1\nkind: Namespace\nmetadata: {name: space}\n---\n"
#define QUERY "?fieldManager=kaas&fieldValidation=Strict\n"

static void give(const char *text) {
    static const struct bundle_values nothing;
    static const char head[] = "kind: Bundle\nname: made-up\nversion: v1\n";
    assert_int_equal(bundle_read_head(&bundle, head, strlen(head), NULL), 0);
    assert_int_equal(bundle_add_manifest(&bundle, "manifests/one.yaml", text, strlen(text), &nothing, NULL), 0);
}

static void hear(void *arg, const char *text) {
    strbuf_addf(arg, "%s\n", text);
}

static void namespaces_and_definitions_come_first(void **state) {
    _cleanup_strbuf_ struct strbuf told;
    (void)state;
    strbuf_init(&told, 10000);
    give(MAP THING DEFINITION SPACE);
    assert_int_equal(kube_bundle_apply(client, &bundle, hear, &told, NULL), 0);
    assert_string_equal(
        told.data, "created Namespace space\ncreated CustomResourceDefinition things.example.com\napplied ConfigMap space/map\n"
                   "created Thing thing\n");
    assert_string_equal(server.asked.data,
                        "GET /api/v1\nPATCH /api/v1/namespaces/space" QUERY "GET /apis/apiextensions.k8s.io/v1\n"
                        "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com" QUERY
                        "PATCH /api/v1/namespaces/space/configmaps/map" QUERY "GET /apis/example.com/v1\n"
                        "PATCH /apis/example.com/v1/things/thing" QUERY);
}

static void a_kind_that_was_just_defined_is_waited_for(void **state) {
    (void)state;
    server.looks_until = 2;
    server.missed_until = 1;
    give(THING DEFINITION);
    assert_int_equal(kube_bundle_apply(client, &bundle, NULL, NULL, NULL), 0);
    assert_int_equal(server.looks, 3);
    assert_int_equal(server.missed_until, 0);
}

static void a_kind_that_nobody_defines_is_not(void **state) {
    struct err err = {0};
    (void)state;
    server.looks_until = 1000;
    give(SPACE THING);
    assert_int_equal(kube_bundle_apply(client, &bundle, NULL, NULL, &err), ERR_UNPROCESSABLE);
    assert_string_equal(
        err.text, "bundle made-up: manifests/one.yaml:4: Thing thing: this Kubernetes knows no kind Thing of example.com/v1");
    assert_int_equal(server.looks, 1);
}

static void a_namespace_is_wanted_where_there_is_one(void **state) {
    struct err err = {0};
    (void)state;
    give("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\n");
    assert_int_equal(kube_bundle_apply(client, &bundle, NULL, NULL, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "ConfigMap map: it has no metadata.namespace"));
}

static void what_is_refused_is_judged(void **state) {
    static const struct {
        long status;
        const char *message;
        int code;
        const char *remedy;
    } rows[] = {
        {409, "Apply failed with 1 conflict: conflict with \\\"kubectl\\\" using v1: .data.x", ERR_CONFLICT,
         "take these fields out"},
        {409, "the object has been modified", ERR_CONFLICT, "try again"},
        {400, "strict decoding error: unknown field \\\"datum\\\"", ERR_UNPROCESSABLE, "correct the manifest"},
        {422, "invalid value", ERR_UNPROCESSABLE, "correct the manifest"},
        {500, "failed to create typed patch object: .datum: field not declared in schema", ERR_UNPROCESSABLE,
         "correct the manifest"},
        {500, "etcdserver: request timed out", ERR_UPSTREAM, "etcd"},
        {403, "forbidden", ERR_UPSTREAM_DENIED, "right"},
        {404, "nothing there", ERR_NOT_FOUND, "address"},
    };
    (void)state;
    give(SPACE MAP);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct err err = {0};
        server.refuses = rows[i].status;
        server.refused = "/configmaps/";
        server.message = rows[i].message;
        assert_int_equal(kube_bundle_apply(client, &bundle, NULL, NULL, &err), rows[i].code);
        assert_int_equal(err.code, rows[i].code);
        assert_non_null(strstr(err.text, "manifests/one.yaml:4: ConfigMap space/map: "));
        if (!strstr(err.remedy, rows[i].remedy))
            fail_msg("%s (%s)", err.text, err.remedy);
    }
}

/* -- the folder ------------------------------------------------------------------------------------------------------------------ */

static void write_file(const char *name, const char *text) {
    _cleanup_free_ char *path = str_format("%s/%s", folder, name);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static void remove_file(const char *name) {
    _cleanup_free_ char *path = str_format("%s/%s", folder, name);
    assert_int_equal(remove(path), 0);
}

#define BUNDLE_YAML "kind: Bundle\nname: made-up\nversion: v1\n"

static void write_sums(const char *const *files) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, 10000);
    for (; files[0]; files += 2) {
        uint8_t digest[DIGEST_SHA256_BYTES];
        char hex[2 * DIGEST_SHA256_BYTES + 1];
        digest_sha256(files[1], strlen(files[1]), digest);
        str_hex(digest, sizeof(digest), hex);
        strbuf_addf(&text, "%s  %s\n", hex, files[0]);
    }
    write_file("SHA256SUMS", text.data);
}

static int make_folder(void **state) {
    (void)state;
    static const char *const files[] = {"bundle.yaml", BUNDLE_YAML, "manifests/10.yaml", SPACE, "manifests/20.yaml", MAP, NULL};
    (void)snprintf(folder, sizeof(folder), "/tmp/kaas-bundle-XXXXXX");
    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *inside = str_format("%s/manifests", folder);
    assert_int_equal(mkdir(inside, 0700), 0);
    for (int i = 0; files[i]; i += 2)
        write_file(files[i], files[i + 1]);
    write_sums(files);
    return 0;
}

static int remove_folder(void **state) {
    static const char *const files[] = {"bundle.yaml",
                                        "SHA256SUMS",
                                        "manifests/10.yaml",
                                        "manifests/20.yaml",
                                        "manifests/.10.yaml.swp",
                                        "manifests/30.yml",
                                        "manifests",
                                        ""};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(files); i++) {
        _cleanup_free_ char *path = str_format("%s/%s", folder, files[i]);
        (void)remove(path);
    }
    bundle_done(&bundle);
    return 0;
}

static const struct bundle_values nothing;

static void a_folder_is_read_in_the_order_of_its_names(void **state) {
    (void)state;
    write_file("manifests/.10.yaml.swp", "of an editor");
    assert_int_equal(kube_bundle_read(folder, &nothing, &bundle, NULL), 0);
    assert_string_equal(bundle.name, "made-up");
    assert_string_equal(bundle.version, "v1");
    assert_int_equal(bundle.count, 2);
    assert_string_equal(bundle.objects[0].place, "manifests/10.yaml:1");
    assert_string_equal(bundle.objects[1].place, "manifests/20.yaml:1");
}

static void refuse(int code, const char *said) {
    struct err err = {0};
    assert_int_equal(kube_bundle_read(folder, &nothing, &bundle, &err), code);
    assert_true(str_starts(err.text, "bundle kaas-bundle-"));
    if (!strstr(err.text, said) || !err.remedy[0])
        fail_msg("%s (%s)", err.text, err.remedy);
}

static void a_file_that_was_changed_is_refused(void **state) {
    (void)state;
    write_file("manifests/20.yaml", MAP "# more\n");
    refuse(ERR_UNPROCESSABLE, "manifests/20.yaml is not the file that it was");
    write_file("manifests/20.yaml", MAP);
    write_file("bundle.yaml", BUNDLE_YAML "# more\n");
    refuse(ERR_UNPROCESSABLE, "bundle.yaml is not the file that it was");
}

static void a_file_more_or_less_is_refused(void **state) {
    (void)state;
    remove_file("manifests/10.yaml");
    refuse(ERR_UNPROCESSABLE, "manifests/10.yaml is no file of the bundle");
    write_file("manifests/10.yaml", SPACE);
    write_file("manifests/30.yml", SPACE);
    refuse(ERR_UNPROCESSABLE, "manifests/30.yml: its name does not end with .yaml");
    remove_file("manifests/30.yml");
    remove_file("SHA256SUMS");
    refuse(ERR_NOT_FOUND, "SHA256SUMS");
}

static void manifests_there_must_be(void **state) {
    static const char *const files[] = {"bundle.yaml", BUNDLE_YAML, NULL};
    (void)state;
    remove_file("manifests/10.yaml");
    remove_file("manifests/20.yaml");
    write_sums(files);
    refuse(ERR_UNPROCESSABLE, "there are 0 files in it");
    remove_file("manifests");
    refuse(ERR_NOT_FOUND, "manifests");
}

static void a_file_that_is_too_large_is_refused(void **state) {
    _cleanup_strbuf_ struct strbuf text;
    (void)state;
    strbuf_init(&text, 64UL * 1024 * 1024);
    while (text.len <= BUNDLE_FILE_BYTES_MAX)
        strbuf_adds(&text, "# a comment that nobody reads\n");
    write_file("manifests/20.yaml", text.data);
    refuse(ERR_TOO_LARGE, "manifests/20.yaml");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(namespaces_and_definitions_come_first, begin, end),
        cmocka_unit_test_setup_teardown(a_kind_that_was_just_defined_is_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(a_kind_that_nobody_defines_is_not, begin, end),
        cmocka_unit_test_setup_teardown(a_namespace_is_wanted_where_there_is_one, begin, end),
        cmocka_unit_test_setup_teardown(what_is_refused_is_judged, begin, end),
        cmocka_unit_test_setup_teardown(a_folder_is_read_in_the_order_of_its_names, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_was_changed_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_more_or_less_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(manifests_there_must_be, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_is_too_large_is_refused, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
