/* The document of a provider: what is read, what is refused and where, and ranges of addresses.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "provider.h"
#include "str.h"
#include "strbuf.h"
#include "unit.h"

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJyYW5kbmV3a2V5Zm9ydGVzdHNvbmx5MDAwMDAw ops@example.com"

static const char whole[] = "kind: Provider\n"
                            "name: east\n"
                            "vcenter: vc.example.com\n"
                            "vsphere_cluster: /DC0/host/East\n"
                            "folder: kaas\n"
                            "datastore: datastore-12\n"
                            "network: VM Network\n"
                            "template: /DC0/vm/kaas-node-v1.36.3\n"
                            "nodes:\n"
                            "  addresses: [10.9.0.20-10.9.0.99, 10.9.0.110]\n"
                            "  prefix: 24\n"
                            "  gateway: 10.9.0.1\n"
                            "  dns: [10.9.0.2, \"fd00::53\"]\n"
                            "  search: [example.com]\n"
                            "api_addresses: [10.9.0.10-10.9.0.19]\n"
                            "service_addresses: [10.9.0.192/28]\n"
                            "ssh_keys:\n"
                            "- " KEY "\n"
                            "ntp: [ntp.example.com]\n"
                            "proxy:\n"
                            "  http: http://proxy.example.com:3128\n"
                            "  https: http://[fd00::1]:3128\n"
                            "  no_proxy: [.example.com, 10.0.0.0/8, localhost]\n";

/* The whole document with one text in it replaced. Caller frees. */
static char *changed(const char *from, const char *to) {
    const char *at = strstr(whole, from);
    assert_non_null(at);
    char *text = str_format("%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    assert_non_null(text);
    return text;
}

static void everything(void **state) {
    _cleanup_provider_ struct provider p = {0}, again = {0};
    _cleanup_json_ json_t *document = NULL, *same = NULL;
    struct err err = {0};
    (void)state;
    if (provider_parse("east.yaml", whole, strlen(whole), &p, &err))
        fail_msg("%s", err.text);
    assert_string_equal(p.name, "east");
    assert_string_equal(p.places[PROVIDER_VSPHERE_CLUSTER].given, "/DC0/host/East");
    assert_null(p.places[PROVIDER_RESOURCE_POOL].given);
    assert_string_equal(p.places[PROVIDER_TEMPLATE].given, "/DC0/vm/kaas-node-v1.36.3");
    assert_int_equal(p.node_addresses.count, 2);
    assert_int_equal(address_ranges_size(&p.node_addresses), 81);
    assert_int_equal(p.node_prefix, 24);
    assert_int_equal(p.node_gateway, 0x0a090001);
    assert_int_equal(provider_netmask(&p), 0xffffff00);
    assert_int_equal(p.node_dns.count, 2);
    assert_string_equal(p.node_search.items[0], "example.com");
    assert_int_equal(address_ranges_size(&p.service_addresses), 16);
    assert_string_equal(p.ssh_keys.items[0], KEY);
    assert_string_equal(p.https_proxy, "http://[fd00::1]:3128");
    assert_int_equal(p.no_proxy.count, 3);

    document = provider_document(&p);
    assert_non_null(document);
    assert_int_equal(provider_read(document, &again, NULL, &err), 0);
    same = provider_document(&again);
    assert_true(json_equal(document, same));
}

static void as_json(void **state) {
    static const char text[] = "{\"kind\": \"Provider\", \"name\": \"w\", \"vcenter\": \"v\", \"resource_pool\": \"resgroup-9\", "
                               "\"folder\": \"group-v3\", \"datastore\": \"d\", \"network\": \"n\", \"template\": \"t\", "
                               "\"nodes\": {\"addresses\": [\"192.0.2.5\"], \"prefix\": 29, \"gateway\": \"192.0.2.1\"}}";
    _cleanup_provider_ struct provider p = {0};
    struct err err = {0};
    (void)state;
    if (provider_parse("w.json", text, strlen(text), &p, &err))
        fail_msg("%s", err.text);
    assert_string_equal(p.places[PROVIDER_RESOURCE_POOL].given, "resgroup-9");
    assert_int_equal(p.api_addresses.count, 0);
}

static void refused(void **state) {
    static const struct {
        const char *from, *to, *said;
    } rows[] = {
        {"kind: Provider\n", "", "east.yaml:1:1: kind is missing"},
        {"kind: Provider", "kind: Cluster", "east.yaml:1:1: kind must be Provider"},
        {"name: east\n", "", "name is missing"},
        {"name: east", "name: East", "east.yaml:2:1: name is no DNS label"},
        {"name: east", "name: -east", "no DNS label"},
        {"name: east", "name: a.b", "no DNS label"},
        {"name: east", "name: 12", "name must be a text"},
        {"name: east", "name: e123456789012345678901234567890123456789012345678901234567890123", "name"},
        {"folder: kaas", "foldr: kaas", "east.yaml:5:1: unknown key \"foldr\", did you mean \"folder\""},
        {"folder: kaas", "password: secret", "east.yaml:5:1: unknown key \"password\""},
        {"  gateway: 10.9.0.1", "  gatway: 10.9.0.1", "east.yaml:12:3: unknown key \"nodes.gatway\", did you mean \"gateway\""},
        {"ntp: [", "gateway: [", "unknown key \"gateway\", did you mean \"nodes.gateway\""},
        {"folder: kaas", "a.b: kaas", "unknown key \"a.b\""},
        {"folder: kaas", "folder: kaas\nfolder: kaas", "folder"},
        {"folder: kaas", "folder: []", "folder must be a text"},
        {"vsphere_cluster: /DC0/host/East\n", "", "vsphere_cluster is missing"},
        {"folder: kaas", "folder: kaas\nresource_pool: x", "resource_pool and vsphere_cluster are both given"},
        {"  gateway: 10.9.0.1\n", "", "east.yaml:9:1: nodes.gateway is missing"},
        {"  gateway: 10.9.0.1", "  gateway: 10.9.1.1", "east.yaml:10:3: nodes.addresses: 10.9.0.20 is not in the subnet"},
        {"  gateway: 10.9.0.1", "  gateway: 10.9.0.21", "10.9.0.21 is the gateway"},
        {"  gateway: 10.9.0.1", "  gateway: 10.9.0.0", "nodes.gateway: 10.9.0.0 is the subnet's own"},
        {"  gateway: 10.9.0.1", "  gateway: 10.9.0", "nodes.gateway must be an IPv4 address"},
        {"  prefix: 24", "  prefix: 31", "nodes.prefix must be a number from 1 to 30"},
        {"  prefix: 24", "  prefix: \"24\"", "nodes.prefix must be a number"},
        {"10.9.0.110]", "10.9.0.99]", "nodes.addresses: 10.9.0.99 is in two ranges"},
        {"10.9.0.110]", "10.9.0.255]", "10.9.0.255 is the subnet's own or its broadcast"},
        {"10.9.0.110]", "10.9.0.120-10.9.0.110]",
         "east.yaml:10:36: nodes.addresses[1] \"10.9.0.120-10.9.0.110\" ends before it begins"},
        {"10.9.0.110]", "10.9.0.110-]", "is no range of IPv4 addresses"},
        {"10.9.0.110]", "10.9.0.110/33]", "has no length of a prefix"},
        {"10.9.0.110]", "10.9.0.110/28]", "does not begin with the first address of its block"},
        {"[10.9.0.20-10.9.0.99, 10.9.0.110]", "[]", "nodes.addresses must have 1 to 32 items"},
        {"[10.9.0.20-10.9.0.99, 10.9.0.110]", "10.9.0.20", "nodes.addresses must be a list"},
        {"[10.9.0.10-10.9.0.19]", "[10.9.0.10-10.9.0.20]", "api_addresses: 10.9.0.20 is also in nodes.addresses"},
        {"[10.9.0.10-10.9.0.19]", "[10.9.1.10]", "api_addresses: 10.9.1.10 is not in the subnet"},
        {"[10.9.0.192/28]", "[10.9.0.15]", "service_addresses: 10.9.0.15 is also in api_addresses"},
        {"[10.9.0.192/28]", "[10.8.0.0/15]", "service_addresses has more than 65536 addresses"},
        {"10.9.0.2,", "ns.example.com,", "east.yaml:13:9: nodes.dns[0] \"ns.example.com\" is not an IP address"},
        {"[10.9.0.2, \"fd00::53\"]", "[1.1.1.1, 1.1.1.2, 1.1.1.3, 1.1.1.4]", "nodes.dns must have 0 to 3 items"},
        {"search: [example.com]", "search: [10.9.0.1]", "nodes.search[0] is no domain"},
        {"search: [example.com]", "search: [.example.com]", "nodes.search[0] is no domain"},
        {"- " KEY, "- ssh-ed25519 AAAA", "east.yaml:18:3: ssh_keys[0] is no public SSH key"},
        {"- " KEY, "- ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIGJyYW5kbmV3a2V5Zm9ydGVzdHNvbmx5MDAwMDAw", "is no public SSH key"},
        {"- " KEY, "- command=\"x\" " KEY, "is no public SSH key"},
        {"- " KEY, "- \"-----BEGIN OPENSSH PRIVATE KEY-----\"", "ssh_keys[0] is a private key"},
        {"ntp.example.com", "ntp_example", "ntp[0]"},
        {"http: http://proxy.example.com:3128", "http: http://me:secret@proxy.example.com:3128",
         "proxy.http has a user in it: a provider holds no credentials"},
        {"http: http://proxy.example.com:3128", "http: proxy.example.com:3128", "proxy.http is no address of a proxy"},
        {"http: http://proxy.example.com:3128", "http: http://proxy.example.com", "proxy.http is no address"},
        {"http: http://proxy.example.com:3128", "http: http://proxy.example.com:3128/x", "proxy.http is no address"},
        {"10.0.0.0/8", "\"a,b\"", "proxy.no_proxy[1] is no host, domain or block"},
        {"  http: http://proxy.example.com:3128\n", "  http: [\n", "east.yaml:"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        _cleanup_free_ char *text = changed(rows[i].from, rows[i].to);
        _cleanup_provider_ struct provider p = {0};
        struct err err = {0};
        if (!provider_parse("east.yaml", text, strlen(text), &p, &err))
            fail_msg("taken: %s", rows[i].to);
        if (!strstr(err.text, rows[i].said) || strstr(err.text, "secret@"))
            fail_msg("%s: said %s", rows[i].to, err.text);
        assert_true(err.code == ERR_UNPROCESSABLE);
        assert_null(p.name);
    }
}

static void not_even_a_document(void **state) {
    static const char *const texts[] = {"", "# nothing", "- a", "text", "kind: Provider\n---\nkind: Provider\n"};
    _cleanup_strbuf_ struct strbuf large;
    struct provider p;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++)
        assert_int_equal(provider_parse("f", texts[i], strlen(texts[i]), &p, NULL), ERR_UNPROCESSABLE);
    strbuf_init(&large, 2U * PROVIDER_BYTES_MAX);
    while (large.len <= PROVIDER_BYTES_MAX)
        strbuf_adds(&large, "# 34567\n");
    assert_int_equal(provider_parse("f", large.data, large.len, &p, &err), ERR_TOO_LARGE);
}

static void empty_sections_are_fine(void **state) {
    _cleanup_free_ char *text = changed("proxy:\n"
                                        "  http: http://proxy.example.com:3128\n"
                                        "  https: http://[fd00::1]:3128\n"
                                        "  no_proxy: [.example.com, 10.0.0.0/8, localhost]\n",
                                        "proxy:\n");
    _cleanup_provider_ struct provider p = {0};
    (void)state;
    assert_int_equal(provider_parse("f", text, strlen(text), &p, NULL), 0);
    assert_null(p.http_proxy);
}

static void places(void **state) {
    _cleanup_provider_ struct provider p = {0}, other = {0};
    _cleanup_json_ json_t *kept = NULL, *none = json_object();
    char shown[PROVIDER_PLACE_SHOWN_BYTES];
    (void)state;
    assert_int_equal(provider_parse("f", whole, strlen(whole), &p, NULL), 0);
    assert_int_equal(provider_parse("f", whole, strlen(whole), &other, NULL), 0);
    provider_place_show(&p.places[PROVIDER_FOLDER], shown);
    assert_string_equal(shown, "kaas");
    for (size_t i = 0; i < PROVIDER_PLACES_COUNT; i++) {
        p.places[i].type = str_dup("Folder");
        p.places[i].name = str_dup("kaas");
        p.places[i].path = str_dup("/DC0/vm/kaas");
        p.places[i].moref = str_dup("group-v12");
    }
    provider_place_show(&p.places[PROVIDER_FOLDER], shown);
    assert_string_equal(shown, "/DC0/vm/kaas (group-v12)");
    kept = provider_places(&p);
    assert_int_equal(provider_take_places(none, &other, NULL), ERR_JSON);
    assert_int_equal(provider_take_places(kept, &other, NULL), 0);
    assert_string_equal(other.places[PROVIDER_RESOURCE_POOL].moref, "group-v12");
}

static void ranges(void **state) {
    static const char *const wrong[] = {"",          "-",          "10.0.0.1-", "10.0.0.1-10.0.0.0", "10.0.0.1/0",
                                        "10.0.0.1/", "10.0.0.256", "1.2.3",     "01.2.3.4",          " 1.2.3.4",
                                        "1.2.3.4 ",  "::1",        "1.2.3.4-5", "123.123.123.1234"};
    struct address_range range, two[2];
    struct address_ranges list = {two, 2};
    char text[ADDRESS_RANGE_TEXT_BYTES];
    uint32_t address = 0, common;
    uint64_t at = 0;
    size_t steps = 0;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++)
        assert_int_equal(address_range_parse(wrong[i], &range, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(address_range_parse("0.0.0.0-255.255.255.255", &range, NULL), 0);
    address_range_format(&range, text);
    assert_string_equal(text, "0.0.0.0-255.255.255.255");
    assert_int_equal(address_range_parse("10.0.0.7/32", &two[0], NULL), 0);
    address_range_format(&two[0], text);
    assert_string_equal(text, "10.0.0.7");
    assert_int_equal(address_range_parse("10.0.0.4/30", &two[1], NULL), 0);
    assert_true(address_ranges_repeat(&list, &common) && common == 0x0a000007);
    assert_int_equal(address_range_parse("10.0.0.0-10.0.0.2", &two[1], NULL), 0);
    assert_false(address_ranges_repeat(&list, &common));
    assert_true(address_ranges_has(&list, 0x0a000002) && !address_ranges_has(&list, 0x0a000003));
    for (; address_ranges_next(&list, &at, &address); steps++)
        assert_int_equal(address, steps ? 0x0a000000 + steps - 1 : 0x0a000007);
    assert_int_equal(steps, 4);
    assert_int_equal(address_ranges_size(&list), 4);
}

static void ranges_that_are_free(void **state) {
    struct address_range all_items[] = {{7, 7}, {1, 5}, {UINT32_MAX - 1, UINT32_MAX}}, taken_items[] = {{2, 2}, {5, 6}};
    const struct address_ranges all = {all_items, 3}, taken = {taken_items, 2}, none = {0};
    struct address_ranges out = {0};
    (void)state;
    assert_int_equal(address_ranges_choose(&all, &all, 8, &out, NULL), 0);
    assert_int_equal(out.count, 0);
    assert_int_equal(address_ranges_choose(&all, &taken, 3, &out, NULL), 0);
    assert_int_equal(out.count, 3);
    assert_int_equal(out.items[2].last, 3);
    assert_int_equal(address_ranges_choose(&all, &taken, 0, &out, NULL), 0);
    assert_int_equal(address_ranges_size(&out), 3);
    out.count = 0;
    assert_int_equal(address_ranges_choose(&all, &none, 100, &out, NULL), 0);
    assert_int_equal(out.count, 3);
    assert_memory_equal(out.items, all_items, sizeof(all_items));
    assert_int_equal(address_ranges_add(&out, &(struct address_range){0, 0}, NULL), 0); /* none goes on from the last address */
    assert_int_equal(out.count, 4);
    free(out.items);
}

static void contracts(void **state) {
    static const char *const wrong[] = {NULL,
                                        "",
                                        "v1.36.3",
                                        "{}",
                                        "{\"contract\":\"1\",\"kubernetes\":\"v1.36.3\"}",
                                        "{\"contract\":2,\"kubernetes\":\"v1.36.3\"}",
                                        "{\"contract\":1}",
                                        "{\"contract\":1,\"kubernetes\":\"1.36.3\"}",
                                        "{\"contract\":1,\"kubernetes\":\"v1.36\"}"};
    char version[PROVIDER_VERSION_BYTES];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        struct err err = {0};
        assert_int_equal(provider_contract_read(wrong[i], version, &err), ERR_UNPROCESSABLE);
        assert_true(err.remedy[0]);
    }
    assert_int_equal(provider_contract_read("{\"contract\":1,\"kubernetes\":\"v1.36.3\",\"more\":{}}", version, NULL), 0);
    assert_string_equal(version, "v1.36.3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything),
        cmocka_unit_test(as_json),
        cmocka_unit_test(refused),
        cmocka_unit_test(not_even_a_document),
        cmocka_unit_test(empty_sections_are_fine),
        cmocka_unit_test(places),
        cmocka_unit_test(ranges),
        cmocka_unit_test(ranges_that_are_free),
        cmocka_unit_test(contracts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
