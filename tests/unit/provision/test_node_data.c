/* What machines are told: plans that are refused, documents in which nothing is taken for something else, sizes.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cluster_pki.h"
#include "gzip.h"
#include "json.h"
#include "kubeadm_docs.h"
#include "node_data.h"
#include "str.h"

#define TEXT_BYTES_MAX (1024U * 1024U)

static char word[] = "PEM";
static struct cluster_pki pki = {
    .ca = {word, word},
    .etcd_ca = {word, word},
    .front_proxy_ca = {word, word},
    .accounts_key_pem = word,
    .accounts_public_pem = word,
    .ca_hash = "sha256:00",
};

static const struct node_route route = {"10.244.2.0/24", "10.9.0.22"};
static const char *const servers[] = {"10.9.0.2", "ntp.example.test"};
static const char *const keys[] = {"ssh-ed25519 AAAA \"x\": {y} \\ ü\xF0\x9F\x98\x80"};

static struct node_plan good(enum plan_role role) {
    return (struct node_plan){
        .role = role,
        .instance_id = "8f1cde2a-0000-4000-8000-000000000001",
        .node_name = "prod-cp-x7f2k",
        .cluster_name = "prod",
        .kubernetes_version = "1.36.3",
        .api_host = "10.9.0.10",
        .api_port = NODE_API_PORT,
        .pod_network = "10.244.0.0/16",
        .service_network = "10.96.0.0/12",
        .mac = "00:50:56:00:00:15",
        .address = "10.9.0.21",
        .prefix = 24,
        .gateway = "10.9.0.1",
        .token = "abcdef.0123456789abcdef",
        .token_ttl_s = 900,
        .pki = &pki,
        .made_at_ms = 1700000000123,
    };
}

/* -- what is refused -------------------------------------------------------------------------------------------------------- */

static void expect(const struct node_plan *plan, const char *member) {
    struct err err = {0};
    const int rc = node_plan_check(plan, &err);
    assert_int_equal(rc, member ? ERR_UNPROCESSABLE : 0);
    if (member && !strstr(err.text, member))
        fail_msg("\"%s\" does not name %s", err.text, member);
}

#define REFUSED(member, value)                    \
    do {                                          \
        struct node_plan plan_ = good(PLAN_INIT); \
        plan_.member = (value);                   \
        expect(&plan_, #member);                  \
    } while (0)

static void test_refused(void **state) {
    (void)state;
    for (unsigned role = PLAN_INIT; role <= PLAN_WORKER; role++) {
        const struct node_plan plan = good(role);
        expect(&plan, NULL);
    }
    REFUSED(node_name, NULL);
    REFUSED(node_name, "");
    REFUSED(node_name, "Prod");
    REFUSED(node_name, "-prod");
    REFUSED(node_name, "prod-");
    REFUSED(node_name, "a.b");
    REFUSED(node_name, "a\nb");
    REFUSED(node_name, "a123456789012345678901234567890123456789012345678901234567890123");
    REFUSED(cluster_name, "a\"b");
    REFUSED(instance_id, "a'b");
    REFUSED(api_host, "10.9.0");
    REFUSED(api_host, "api.example.test");
    REFUSED(api_host, "::1");
    REFUSED(api_port, 443);
    REFUSED(pod_network, "10.244.0.0");
    REFUSED(pod_network, "10.244.0.0/33");
    REFUSED(service_network, "fd00::/64");
    REFUSED(mac, "00:50:56:00:00");
    REFUSED(mac, "00:50:56:00:00:1g");
    REFUSED(address, "10.9.0.21/24");
    REFUSED(address, "$(reboot)");
    REFUSED(prefix, 0);
    REFUSED(prefix, 32);
    REFUSED(gateway, "gw");
    REFUSED(bridge_pods, "10.244.1.0/24; reboot");
    REFUSED(token, "abcdef.0123456789abcde");
    REFUSED(token, "abcdef-0123456789abcdef");
    REFUSED(token, "abcdefa0123456789abcdef");
    REFUSED(token, "ABCDEF.0123456789abcdef");
    REFUSED(token_ttl_s, 0);
    REFUSED(pki, NULL);
    REFUSED(http_proxy, "proxy:3128");
    REFUSED(http_proxy, "http://ada:secret@proxy:3128");
    REFUSED(https_proxy, "http://proxy\" \"X=y");
    struct node_plan plan = good(PLAN_INIT);
    plan.kubernetes_version = "1.28.9";
    expect(&plan, "1.28.9 is older than 1.29");
    plan.kubernetes_version = "v1.36.3";
    expect(&plan, "v1.36.3");
}

static void refuses_text(struct node_texts *list, const struct node_plan *plan, const char *text, const char *member) {
    *list = (struct node_texts){&text, 1};
    expect(plan, member);
    *list = (struct node_texts){0};
}

static void test_refused_in_lists(void **state) {
    const char *many[NODE_TEXTS_MAX + 1];
    struct node_route routes[NODE_ROUTES_MAX + 1];
    struct node_plan plan = good(PLAN_WORKER);
    (void)state;
    refuses_text(&plan.dns, &plan, "ns.example.test", "dns");
    refuses_text(&plan.search, &plan, "a b", "search");
    refuses_text(&plan.ntp, &plan, "a;b", "ntp");
    refuses_text(&plan.ssh_keys, &plan, "ssh-rsa A\nssh-rsa B", "ssh_keys");
    refuses_text(&plan.no_proxy, &plan, "a\"b", "no_proxy");
    refuses_text(&plan.no_proxy, &plan, "%h", "no_proxy");
    for (size_t i = 0; i < UNIT_COUNT(many); i++)
        many[i] = "10.9.0.2";
    plan.dns = (struct node_texts){many, UNIT_COUNT(many)};
    expect(&plan, "dns");
    plan.dns.count--;
    expect(&plan, NULL);
    for (size_t i = 0; i < UNIT_COUNT(routes); i++)
        routes[i] = route;
    plan.routes = routes;
    plan.routes_count = UNIT_COUNT(routes);
    expect(&plan, "routes");
    plan.routes_count = 2;
    routes[1].via = "10.9.0";
    expect(&plan, "routes");
    routes[1] = (struct node_route){"10.244.2.0", "10.9.0.22"};
    expect(&plan, "routes");
    plan = good(PLAN_INIT);
    plan.is_api_external = true;
    plan.api_host = "api.example.test";
    plan.api_port = 443;
    expect(&plan, NULL);
    plan.api_port = 0;
    expect(&plan, "api_port");
    plan.api_port = 65536;
    expect(&plan, "api_port");
    plan.api_port = 443;
    plan.api_host = "https://api.example.test";
    expect(&plan, "api_host");
}

static void test_minor(void **state) {
    (void)state;
    assert_int_equal(node_version_minor("1.36.3"), 36);
    assert_int_equal(node_version_minor("1.9"), 9);
    assert_int_equal(node_version_minor("2.1.0"), 0);
    assert_int_equal(node_version_minor("1."), 0);
    assert_int_equal(node_version_minor("1.1234"), 0);
    assert_int_equal(node_version_minor(NULL), 0);
}

/* -- what is written -------------------------------------------------------------------------------------------------------- */

static json_t *parsed(const char *text) {
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    return value;
}

static struct node_data plain(const struct node_plan *plan) {
    struct node_data data;
    struct err err = {0};
    if (node_data_make_plain(plan, &data, &err))
        fail_msg("%s", err.text);
    return data;
}

/* The content of a file, borrowed; NULL: it is not there. */
static const char *file_of(const json_t *config, const char *path, const char *mode) {
    const json_t *files = json_object_get(config, "write_files");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        if (!str_eq(json_get_string(file, "path"), path))
            continue;
        assert_string_equal(json_get_string(file, "permissions"), mode);
        return json_get_string(file, "content");
    }
    return NULL;
}

static json_t *config_of(const struct node_data *data) {
    assert_true(str_starts(data->userdata, "#cloud-config\n"));
    return parsed(data->userdata + strlen("#cloud-config\n"));
}

static void test_metadata(void **state) {
    struct node_plan plan = good(PLAN_WORKER);
    (void)state;
    plan.dns = (struct node_texts){servers, 1};
    plan.routes = &route;
    plan.routes_count = 1;
    struct node_data data = plain(&plan);
    _cleanup_json_ json_t *told = parsed(data.metadata);
    _cleanup_json_ json_t *wanted = parsed(
        "{\"instance-id\": \"8f1cde2a-0000-4000-8000-000000000001\", \"local-hostname\": \"prod-cp-x7f2k\", \"redact\": [\"userdata\"],"
        " \"wait-on-network\": {\"ipv4\": true}, \"network\": {\"version\": 2, \"ethernets\": {\"eth0\": {"
        " \"match\": {\"macaddress\": \"00:50:56:00:00:15\"}, \"set-name\": \"eth0\", \"dhcp4\": false, \"addresses\": [\"10.9.0.21/24\"],"
        " \"routes\": [{\"to\": \"0.0.0.0/0\", \"via\": \"10.9.0.1\"}, {\"to\": \"10.244.2.0/24\", \"via\": \"10.9.0.22\"}],"
        " \"nameservers\": {\"addresses\": [\"10.9.0.2\"], \"search\": []}}}}}");
    if (!json_equal(told, wanted))
        fail_msg("%s", data.metadata);
    node_data_done(&data);
}

static void test_control_plane(void **state) {
    struct node_plan plan = good(PLAN_INIT);
    (void)state;
    plan.ssh_keys = (struct node_texts){keys, 1};
    plan.ntp = (struct node_texts){servers, 2};
    struct node_data data = plain(&plan);
    _cleanup_json_ json_t *config = config_of(&data);
    const char *settings = file_of(config, "/etc/kaas/node.env", "0600");
    assert_string_equal(
        settings, "KAAS_ROLE=init\nKAAS_VERSION=1.36.3\nKAAS_ADDRESS=10.9.0.21\nKAAS_GATEWAY=10.9.0.1\nKAAS_API=10.9.0.10:6443\n"
                  "KAAS_API_ADDRESS=10.9.0.10\nKAAS_MADE_S=1700000000\nKAAS_MEMORY_MIB=1700\n");
    assert_string_equal(file_of(config, "/etc/kaas/pki/ca.crt", "0644"), "PEM");
    assert_string_equal(file_of(config, "/etc/kaas/pki/ca.key", "0600"), "PEM");
    assert_string_equal(file_of(config, "/etc/kaas/pki/etcd/ca.key", "0600"), "PEM");
    assert_string_equal(file_of(config, "/etc/kaas/pki/front-proxy-ca.key", "0600"), "PEM");
    assert_string_equal(file_of(config, "/etc/kaas/pki/sa.key", "0600"), "PEM");
    assert_non_null(file_of(config, "/etc/kaas/authentication.yaml", "0600"));
    assert_non_null(file_of(config, "/usr/local/lib/kaas/node-start", "0755"));
    const char *keepalived = file_of(config, "/etc/keepalived/keepalived.conf", "0644");
    assert_non_null(strstr(keepalived, "virtual_router_id 30\n")); /* 10.9.0.10 is 168361994 */
    assert_non_null(strstr(keepalived, "        10.9.0.10/32\n"));
    assert_non_null(strstr(file_of(config, "/etc/keepalived/kaas-check-api", "0755"), "https://10.9.0.21:6443/readyz\n"));
    assert_null(file_of(config, "/etc/cni/net.d/10-kaas.conflist", "0644"));
    assert_null(file_of(config, "/etc/systemd/system/containerd.service.d/kaas-proxy.conf", "0644"));
    const json_t *user = json_array_get(json_object_get(config, "users"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(user, "ssh_authorized_keys"), 0)), keys[0]);
    assert_int_equal(json_array_size(json_object_get(json_object_get(config, "ntp"), "servers")), 2);
    node_data_done(&data);
}

static void test_external(void **state) {
    struct node_plan plan = good(PLAN_CONTROL_PLANE);
    (void)state;
    plan.is_api_external = true;
    plan.api_host = "api.example.test";
    plan.api_port = 443;
    struct node_data data = plain(&plan);
    _cleanup_json_ json_t *config = config_of(&data);
    assert_null(file_of(config, "/etc/keepalived/keepalived.conf", "0644"));
    assert_non_null(strstr(file_of(config, "/etc/kaas/node.env", "0600"), "KAAS_API=api.example.test:443\nKAAS_API_ADDRESS=\n"));
    assert_non_null(strstr(file_of(config, "/etc/kaas/kubeadm.yaml", "0600"), "\"apiServerEndpoint\":\"api.example.test:443\""));
    node_data_done(&data);
}

/* A worker is given no key, and nothing that only a control plane has. */
static void test_worker(void **state) {
    struct node_plan plan = good(PLAN_WORKER);
    (void)state;
    plan.bridge_pods = "10.244.1.0/24";
    plan.http_proxy = "http://proxy.example.test:3128";
    plan.no_proxy = (struct node_texts){servers, 2};
    struct node_data data = plain(&plan);
    _cleanup_json_ json_t *config = config_of(&data);
    assert_null(strstr(data.userdata, "PEM"));
    assert_null(strstr(data.userdata, "/etc/keepalived/keepalived.conf"));
    assert_null(strstr(data.userdata, "AuthenticationConfiguration"));
    assert_string_equal(
        file_of(config, "/etc/systemd/system/containerd.service.d/kaas-proxy.conf", "0644"),
        "[Service]\nEnvironment=\"HTTP_PROXY=http://proxy.example.test:3128\"\n"
        "Environment=\"NO_PROXY=localhost,127.0.0.0/8,.svc,.cluster.local,10.244.0.0/16,10.96.0.0/12,10.9.0.21/24,10.9.0.10,"
        "10.9.0.2,ntp.example.test\"\n");
    assert_non_null(strstr(file_of(config, "/etc/cni/net.d/10-kaas.conflist", "0644"), "\"subnet\":\"10.244.1.0/24\""));
    const json_t *user = json_array_get(json_object_get(config, "users"), 0);
    assert_string_equal(json_get_string(user, "name"), NODE_USER);
    assert_null(json_object_get(user, "ssh_authorized_keys"));
    node_data_done(&data);
}

/* The router ids of addresses that follow each other differ, and are allowed ones. */
static void test_router_ids(void **state) {
    bool is_used[256] = {false};
    (void)state;
    for (unsigned last = 0; last < 255; last++) {
        char address[16], path[] = "/etc/keepalived/keepalived.conf";
        struct node_plan plan = good(PLAN_CONTROL_PLANE);
        (void)snprintf(address, sizeof(address), "10.9.%u.%u", last < 128 ? 0 : 1, last < 128 ? last + 128 : last - 128);
        plan.api_host = address;
        struct node_data data = plain(&plan);
        _cleanup_json_ json_t *config = config_of(&data);
        const unsigned long id = strtoul(strstr(file_of(config, path, "0644"), "virtual_router_id ") + 18, NULL, 10);
        assert_in_range(id, 1, 255);
        assert_false(is_used[id]);
        is_used[id] = true;
        node_data_done(&data);
    }
}

static void test_packed(void **state) {
    struct node_plan plan = good(PLAN_INIT);
    struct node_data data, bare;
    struct err err = {0};
    (void)state;
    assert_int_equal(node_data_make(&plan, &data, &err), 0);
    bare = plain(&plan);
    assert_int_equal(strlen(data.userdata) % 4, 0); /* padded: cloud-init's decoder wants that */
    const size_t used = strcspn(data.userdata, "=");
    uint8_t *zipped = malloc(used);
    const long n = str_unbase64(data.userdata, used, zipped, used);
    struct strbuf text;
    strbuf_init(&text, TEXT_BYTES_MAX);
    assert_true(n > 0);
    assert_int_equal(gzip_unpack(zipped, (size_t)n, &text, NULL), 0);
    assert_string_equal(text.data, bare.userdata);
    strbuf_done(&text);
    free(zipped);
    node_data_done(&data);
    node_data_done(&bare);
}

/* Keys that do not compress. */
static void test_too_large(void **state) {
    enum { KEYS = 7, CHARS = 8000 }; /* some 8000 bytes each, packed */
    const char *many[KEYS];
    struct node_plan plan = good(PLAN_WORKER);
    struct node_data data = {0};
    struct err err = {0};
    uint32_t random = 1;
    (void)state;
    for (size_t i = 0; i < KEYS; i++) {
        char *key = calloc(1, CHARS + 1);
        for (size_t at = 0; at < CHARS; at++) {
            random = random * 1664525 + 1013904223;
            key[at] = (char)('0' + (random >> 24) % 64);
        }
        many[i] = key;
    }
    plan.ssh_keys = (struct node_texts){many, KEYS - 1};
    assert_int_equal(node_data_make(&plan, &data, &err), 0);
    node_data_done(&data);
    plan.ssh_keys.count = KEYS;
    assert_int_equal(node_data_make(&plan, &data, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "vSphere takes 61440"));
    assert_non_null(strstr(err.remedy, "ssh_keys"));
    assert_null(data.userdata);
    for (size_t i = 0; i < KEYS; i++)
        free((void *)(uintptr_t)many[i]);
}

static void test_refused_before_anything_is_made(void **state) {
    struct node_plan plan = good(PLAN_INIT);
    struct node_data data = {0};
    struct err err = {0};
    (void)state;
    plan.node_name = "a b";
    assert_int_equal(node_data_make(&plan, &data, &err), ERR_UNPROCESSABLE);
    assert_null(data.metadata);
}

/* The form of the documents by version; that they are right, kubeadm says (tests/kube). */
static void test_versions(void **state) {
    static const struct {
        const char *version, *api, *authentication, *mode;
    } rows[] = {
        {"1.29.6", "v1beta3", NULL, "iptables"},
        {"1.30.4", "v1beta3", "apiserver.config.k8s.io/v1beta1", "iptables"},
        {"1.31.0", "v1beta4", "apiserver.config.k8s.io/v1beta1", "nftables"},
        {"1.34.0", "v1beta4", "apiserver.config.k8s.io/v1\"", "nftables"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct node_plan plan = good(PLAN_INIT);
        _cleanup_strbuf_ struct strbuf documents, authentication;
        strbuf_init(&documents, TEXT_BYTES_MAX);
        strbuf_init(&authentication, TEXT_BYTES_MAX);
        plan.kubernetes_version = rows[i].version;
        assert_int_equal(kubeadm_write_documents(&plan, &documents, NULL), 0);
        assert_int_equal(kubeadm_write_authentication(&plan, &authentication, NULL), 0);
        assert_non_null(strstr(documents.data, rows[i].api));
        assert_non_null(strstr(documents.data, rows[i].mode));
        assert_int_equal(strstr(documents.data, "authentication-config") != NULL, rows[i].authentication != NULL);
        if (rows[i].authentication)
            assert_non_null(strstr(authentication.data, rows[i].authentication));
        else
            assert_int_equal(authentication.len, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_in_lists),
        cmocka_unit_test(test_minor),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_control_plane),
        cmocka_unit_test(test_external),
        cmocka_unit_test(test_worker),
        cmocka_unit_test(test_router_ids),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_refused_before_anything_is_made),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
