/* Unit tests of src/k8s/k8s_objects: a node by its name, volumes; what an API server may answer. A real one is met in tests/kube.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "k8s.h"
#include "k8s_codec.h"
#include "k8s_forms.h"
#include "k8s_objects.h"
#include "str.h"

#define HEAD "{\"kind\":\"PersistentVolumeList\",\"apiVersion\":\"v1\""

/* -- a server in memory ------------------------------------------------------------------------------------------------------ */

static struct {
    char asked[300];
    long status;
    struct strbuf reply;
} server;

static int serve(void *conn, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err) {
    (void)conn, (void)err;
    (void)snprintf(server.asked, sizeof(server.asked), "%s %s", exchange->method, exchange->url);
    strbuf_add(reply, server.reply.data, server.reply.len);
    *status = server.status;
    return 0;
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

static int begin(void **state) {
    static const struct http_transport transport = {.open = open_conn, .run = serve, .cancel = ignore_conn, .close = ignore_conn};
    const struct k8s_endpoint endpoint = {.url = "https://k:6443", .transport = &transport};
    (void)state;
    server.status = 200;
    strbuf_init(&server.reply, K8S_PAGE_BYTES_MAX);
    return k8s_client_new(&endpoint, "t", &client, NULL);
}

static int end(void **state) {
    (void)state;
    k8s_client_free(client);
    strbuf_done(&server.reply);
    return 0;
}

/* -- a node ------------------------------------------------------------------------------------------------------------------- */

static void reply_nodes(unsigned count) {
    _cleanup_strbuf_ struct strbuf json;
    struct form list, metadata;
    strbuf_reset(&server.reply);
    form_init(&list);
    form_init(&metadata);
    strbuf_init(&json, K8S_PAGE_BYTES_MAX);
    form_text(&metadata, 2, "resourceVersion", "7");
    form_message(&list, 1, "metadata", &metadata);
    form_list_begin(&list, "items");
    for (unsigned i = 0; i < count; i++) {
        struct form node;
        form_init(&node);
        form_real_node(&node, i, 1);
        form_list_item(&list, 2, &node);
    }
    form_list_end(&list);
    form_object("NodeList", &list, &server.reply, &json);
}

static void a_node_is_asked_for_by_its_name(void **state) {
    struct kube_node node = {.name = NULL};
    (void)state;
    reply_nodes(1);
    assert_int_equal(k8s_get_node(client, "node-0000.example.test", &node, NULL), 0);
    assert_string_equal(server.asked, "GET https://k:6443/api/v1/nodes?fieldSelector=metadata.name%3Dnode-0000.example.test");
    assert_string_equal(node.name, "node-0000.example.test");
    assert_true(node.conditions[KUBE_NODE_READY].is_there);
    kube_node_done(&node);
}

static void a_node_that_is_not_there_is_none(void **state) {
    struct kube_node node = {.name = NULL};
    struct err err = {0};
    (void)state;
    reply_nodes(0);
    assert_int_equal(k8s_get_node(client, "prod-cp-a", &node, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "the cluster has no node prod-cp-a");
    reply_nodes(1); /* whatever a server answers */
    assert_int_equal(k8s_get_node(client, "prod-cp-a", &node, NULL), ERR_NOT_FOUND);
}

static void removing_a_node_that_is_gone_removes_it(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(k8s_delete_node(client, "prod-cp-a", NULL), 0);
    assert_string_equal(server.asked, "DELETE https://k:6443/api/v1/nodes/prod-cp-a");
    server.status = 404;
    assert_int_equal(k8s_delete_node(client, "prod-cp-a", NULL), 0);
    server.status = 403;
    assert_int_equal(k8s_delete_node(client, "prod-cp-a", &err), ERR_UPSTREAM_DENIED);
}

/* -- volumes ------------------------------------------------------------------------------------------------------------------ */

static void volumes_are_told_by_name(void **state) {
    static const char told[] = HEAD
        ",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":["
        "{\"metadata\":{\"name\":\"pvc-1\"},\"spec\":{\"capacity\":{\"storage\":\"10Gi\"},"
        "\"claimRef\":{\"namespace\":\"shop\",\"name\":\"data-db-0\"},\"csi\":{\"driver\":\"csi.vsphere.vmware.com\",\"volumeHandle\":\"fcd-7\"}}},"
        "{\"metadata\":{\"name\":\"by-hand\"},\"spec\":{\"hostPath\":{\"path\":\"/srv\"}}}]}";
    struct kube_volumes volumes;
    (void)state;
    strbuf_adds(&server.reply, told);
    assert_int_equal(k8s_list_volumes(client, &volumes, NULL), 0);
    assert_string_equal(server.asked, "GET https://k:6443/api/v1/persistentvolumes?limit=200");
    assert_int_equal(volumes.count, 2);
    assert_false(volumes.is_cut);
    assert_string_equal(volumes.items[0].name, "pvc-1");
    assert_string_equal(volumes.items[0].claim, "shop/data-db-0");
    assert_string_equal(volumes.items[0].capacity, "10Gi");
    assert_string_equal(volumes.items[0].handle, "fcd-7");
    assert_string_equal(volumes.items[1].name, "by-hand");
    assert_null(volumes.items[1].claim);
    assert_null(volumes.items[1].capacity);
    assert_null(volumes.items[1].handle);
    kube_volumes_done(&volumes);
}

/* By the server, or by us where it gives more than was asked for. */
static void a_list_that_is_cut_says_so(void **state) {
    static const char cut[] = HEAD ",\"metadata\":{\"continue\":\"abc\"},\"items\":[{\"metadata\":{\"name\":\"a\"}}]}";
    struct kube_volumes volumes;
    _cleanup_strbuf_ struct strbuf many;
    (void)state;
    assert_int_equal(k8s_volumes_read(cut, strlen(cut), &volumes, NULL), 0);
    assert_true(volumes.is_cut);
    assert_int_equal(volumes.count, 1);
    kube_volumes_done(&volumes);
    strbuf_init(&many, K8S_PAGE_BYTES_MAX);
    strbuf_adds(&many, HEAD ",\"items\":[");
    for (unsigned i = 0; i <= KUBE_VOLUMES_MAX; i++)
        strbuf_addf(&many, "%s{\"metadata\":{\"name\":\"v%u\"}}", i ? "," : "", i);
    strbuf_adds(&many, "]}");
    assert_int_equal(k8s_volumes_read(many.data, many.len, &volumes, NULL), 0);
    assert_true(volumes.is_cut);
    assert_int_equal(volumes.count, KUBE_VOLUMES_MAX);
    kube_volumes_done(&volumes);
}

static void what_is_no_list_of_volumes_is_refused(void **state) {
    static const struct {
        const char *text;
        int code;
        const char *word;
    } rows[] = {
        {"[", ERR_PROTOCOL, "line 1"},
        {"{\"kind\":\"NodeList\",\"apiVersion\":\"v1\"}", ERR_PROTOCOL, "no PersistentVolumeList"},
        {"{\"kind\":7}", ERR_PROTOCOL, "kind"},
        {HEAD ",\"items\":{}}", ERR_PROTOCOL, "items"},
        {HEAD ",\"items\":[7]}", ERR_PROTOCOL, "no object"},
        {HEAD ",\"items\":[{\"metadata\":{\"name\":\"a\"}},{}]}", ERR_PROTOCOL, "no name"},
        {HEAD ",\"items\":[{\"metadata\":{\"name\":\"A/..\"}}]}", ERR_PROTOCOL, "no name"},
        {HEAD ",\"items\":[{\"metadata\":{\"name\":\"a\"},\"spec\":{\"claimRef\":\"b\"}}]}", ERR_PROTOCOL, "claimRef"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct kube_volumes volumes = {.count = 77};
        struct err err = {0};
        assert_int_equal(k8s_volumes_read(rows[i].text, strlen(rows[i].text), &volumes, &err), rows[i].code);
        assert_int_equal(volumes.count, 77);
        if (!strstr(err.text, rows[i].word))
            fail_msg("%s: %s", rows[i].text, err.text);
    }
}

static void texts_of_a_volume_are_cleaned_and_cut(void **state) {
    _cleanup_strbuf_ struct strbuf text;
    struct kube_volumes volumes;
    (void)state;
    strbuf_init(&text, 4096);
    strbuf_adds(
        &text, HEAD
        ",\"items\":[{\"metadata\":{\"name\":\"a\"},\"spec\":{\"capacity\":{\"storage\":\"1\\u0000Gi\"},\"csi\":{\"volumeHandle\":\"");
    for (unsigned i = 0; i < 300; i++)
        strbuf_addc(&text, 'x');
    strbuf_adds(&text, "\"},\"claimRef\":{\"namespace\":\"lone\"}}},"
                       "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"claimRef\":{\"name\":\"lone\"}}}]}");
    assert_int_equal(k8s_volumes_read(text.data, text.len, &volumes, NULL), 0);
    assert_string_equal(volumes.items[0].capacity, "1 Gi");
    assert_int_equal(strlen(volumes.items[0].handle), KUBE_TEXT_BYTES_MAX);
    assert_null(volumes.items[0].claim); /* half a name is none */
    assert_null(volumes.items[1].claim);
    kube_volumes_done(&volumes);
    kube_volumes_done(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_node_is_asked_for_by_its_name),
        CASE(a_node_that_is_not_there_is_none),
        CASE(removing_a_node_that_is_gone_removes_it),
        CASE(volumes_are_told_by_name),
        CASE(a_list_that_is_cut_says_so),
        CASE(what_is_no_list_of_volumes_is_refused),
        CASE(texts_of_a_volume_are_cleaned_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
