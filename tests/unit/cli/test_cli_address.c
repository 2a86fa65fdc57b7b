/* Small notations of kaasctl's arguments: addresses, counts, labels, nodes. Layer under test: cli.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cli_address.h"
#include "str.h"

static void reads_addresses(void **state) {
    static const struct {
        const char *text, *host;
        int port;
    } good[] = {
        {"vc.example.com", "vc.example.com", 0},
        {"vc.example.com:8443", "vc.example.com", 8443},
        {"192.0.2.1:443", "192.0.2.1", 443},
        {"2001:db8::1", "2001:db8::1", 0},
        {"[2001:db8::1]", "2001:db8::1", 0},
        {"[2001:db8::1]:443", "2001:db8::1", 443},
        {"::1", "::1", 0},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(good); i++) {
        struct cli_address address;
        assert_int_equal(cli_address_parse(good[i].text, &address, NULL), 0);
        assert_string_equal(address.host, good[i].host);
        assert_int_equal(address.port, good[i].port);
    }
}

static void refuses_other_addresses(void **state) {
    static const char *const bad[] = {"",     ":443",       "[::1",  "[::1]x", "[]:443",  "vc:",  "vc:0",  "vc:65536",
                                      "vc:x", "https://vc", "vc/ui", "a b",    "user@vc", "vc?x", "[::1]:"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct cli_address address = {.port = 7};
        struct err err = {0};
        assert_int_equal(cli_address_parse(bad[i], &address, &err), ERR_INVALID);
        assert_int_equal(address.port, 7);
        assert_non_null(strstr(err.remedy, "HOST"));
    }
}

static void assert_replicas(const char *text, const char *expected) {
    _cleanup_strbuf_ struct strbuf b;
    _cleanup_json_ json_t *value = NULL;
    strbuf_init(&b, 100);
    assert_int_equal(cli_parse_replicas(text, "workers", &value, NULL), 0);
    assert_int_equal(json_write(value, &b, NULL), 0);
    assert_string_equal(b.data, expected);
}

static void reads_counts(void **state) {
    static const char *const bad[] = {"", "/", "4/", "/5", "4x", "x/5", "-1", "-1/5", "4/5/6", "100001", "4/ 5", "--/5"};
    (void)state;
    assert_replicas("4/5", "{\"ready\":4,\"desired\":5}");
    assert_replicas("5", "{\"desired\":5}");
    assert_replicas("-/5", "{\"ready\":null,\"desired\":5}");
    assert_replicas("0/0", "{\"ready\":0,\"desired\":0}");
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        json_t *value = NULL;
        struct err err = {0};
        assert_int_equal(cli_parse_replicas(bad[i], "workers", &value, &err), ERR_INVALID);
        assert_null(value);
        assert_non_null(strstr(err.text, "--workers"));
    }
}

static void reads_labels(void **state) {
    _cleanup_json_ json_t *labels = json_object();
    (void)state;
    assert_int_equal(cli_parse_label("team=shop", labels, NULL), 0);
    assert_int_equal(cli_parse_label("note=a=b", labels, NULL), 0);
    assert_int_equal(cli_parse_label("none=", labels, NULL), 0);
    assert_string_equal(json_get_string(labels, "team"), "shop");
    assert_string_equal(json_get_string(labels, "note"), "a=b");
    assert_string_equal(json_get_string(labels, "none"), "");
    assert_int_equal(cli_parse_label("team", labels, NULL), ERR_INVALID);
    assert_int_equal(cli_parse_label("=x", labels, NULL), ERR_INVALID);
    assert_int_equal(json_object_size(labels), 3);
}

static void reads_nodes(void **state) {
    static const char *const bad[] = {"", "n1", "n1,worker,vc", "n1,worker,vc,vm,more"};
    _cleanup_json_ json_t *nodes = json_array();
    (void)state;
    assert_int_equal(cli_parse_node("n1,worker", nodes, NULL), 0);
    assert_int_equal(cli_parse_node("n2,control_plane,vc,vm", nodes, NULL), 0);
    assert_int_equal(json_array_size(nodes), 2);
    assert_int_equal(json_object_size(json_array_get(nodes, 0)), 2);
    assert_string_equal(json_get_string(json_array_get(nodes, 1), "role"), "control_plane");
    assert_string_equal(json_get_string(json_array_get(nodes, 1), "vm_instance_uuid"), "vm");
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_int_equal(cli_parse_node(bad[i], nodes, NULL), ERR_INVALID);
    assert_int_equal(json_array_size(nodes), 2);
}

static void reads_durations(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"90", 90000},   {"90s", 90000},    {"30m", 1800000},
                {"1h", 3600000}, {"2d", 172800000}, {"1000d", INT64_C(86400000000)}};
    static const char *const bad[] = {
        "", "s", "0s", "-1h", "1.5h", "1h30m", "1001d", "99999999999999999999d", "1ms", "2026-01-01T00:00:00Z"};
    int64_t ms = 0;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(good); i++) {
        assert_true(cli_parse_duration(good[i].text, &ms));
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_false(cli_parse_duration(bad[i], &ms));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_addresses), cmocka_unit_test(refuses_other_addresses),
        cmocka_unit_test(reads_counts),    cmocka_unit_test(reads_labels),
        cmocka_unit_test(reads_nodes),     cmocka_unit_test(reads_durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
