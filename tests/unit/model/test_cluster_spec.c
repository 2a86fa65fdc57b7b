/* What may be asked for of a new cluster, as a table of bodies.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cluster_spec.h"
#include "str.h"

static int read_text(const char *text, struct cluster_spec *out, struct err *err) {
    _cleanup_json_ json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    return cluster_spec_read(object, out, err);
}

static void what_is_left_out(void **state) {
    _cleanup_spec_ struct cluster_spec spec;
    char network[SPEC_NETWORK_BYTES];
    struct err err = {0};
    (void)state;
    assert_int_equal(read_text("{\"name\": \"prod\", \"provider\": \"east\", \"kubernetes_version\": \"v1.36.3\"}", &spec, &err),
                     0);
    assert_string_equal(spec.kubernetes_version, "1.36.3");
    assert_int_equal(spec.control_planes.count, 1);
    assert_int_equal(spec.control_planes.cpus, 2);
    assert_int_equal(spec.workers.count, 0);
    spec_network_format(&spec.pods, network);
    assert_string_equal(network, "10.244.0.0/16");
    spec_network_format(&spec.services, network);
    assert_string_equal(network, "10.96.0.0/12");
    assert_string_equal(spec.network, SPEC_NETWORK_DEFAULT);
    assert_null(spec.api_address);
}

/* What was written is read again as it was. */
static void there_and_back(void **state) {
    static const char text[] =
        "{\"name\":\"prod\",\"provider\":\"east\",\"kubernetes_version\":\"1.36.3\",\"control_planes\":{\"count\":3,"
        "\"cpus\":4,\"memory_mib\":8192},\"workers\":{\"count\":5,\"cpus\":1,\"memory_mib\":2048},"
        "\"pod_network\":\"172.20.0.0/16\",\"service_network\":\"172.30.0.0/20\",\"network\":\"kube-router\",\"api_address\":\"10.9.0.10\","
        "\"service_addresses\":[\"10.9.0.192-10.9.0.199\",\"10.9.0.201\"]}";
    _cleanup_spec_ struct cluster_spec spec;
    struct err err = {0};
    (void)state;
    assert_int_equal(read_text(text, &spec, &err), 0);
    _cleanup_json_ json_t *object = cluster_spec_json(&spec);
    _cleanup_free_ char *again = json_dumps(object, JSON_COMPACT);
    assert_string_equal(again, text);
}

static void refused(void **state) {
    static const struct {
        const char *more, *text, *remedy;
    } bodies[] = {
        {"\"control_planes\": {\"cpus\": 1}", "at least 2 CPUs", NULL},
        {"\"control_planes\": {\"memory_mib\": 1024}", "at least 2048 MiB", NULL},
        {"\"control_planes\": {\"count\": 2}", "2 control planes bear no more failures than 1", "odd number"},
        {"\"control_planes\": {\"count\": 0}", "control_planes.count must be 1 to 7, not 0", NULL},
        {"\"control_planes\": {\"count\": 9}", "control_planes.count must be 1 to 7, not 9", NULL},
        {"\"control_planes\": {\"cpu\": 2}", "cpu", NULL},
        {"\"workers\": {\"count\": 101}", "workers.count must be 0 to 100, not 101", NULL},
        {"\"workers\": {\"count\": -1}", "workers.count must be 0 to 100, not -1", NULL},
        {"\"workers\": {\"memory_mib\": 9999999999}", "workers.memory_mib", NULL},
        {"\"pod_network\": \"10.244.1.0/16\"", "is an address in a network", "write 10.244.0.0/16"},
        {"\"pod_network\": \"10.244.0.0/26\"", "/8 to /22, not /26", NULL},
        {"\"pod_network\": \"10.244.0.0\"", "must be an IPv4 network", NULL},
        {"\"pod_network\": \"2001:db8::/64\"", "must be an IPv4 network", NULL},
        {"\"pod_network\": \"10.0.0.0/8\"", "pod_network 10.0.0.0/8 and service_network 10.96.0.0/12 share addresses", NULL},
        {"\"service_network\": \"10.244.128.0/20\"", "share addresses", NULL},
        {"\"service_network\": \"10.0.0.0/8\"", "/12 to /24, not /8", NULL},
        {"\"kubernetes_version\": \"newest\"", "version", NULL},
        {"\"api_address\": \"10.9.0\"", "api_address must be an IPv4 address", NULL},
        {"\"api_address\": \"fd00::1\"", "api_address must be an IPv4 address", NULL},
        {"\"api_external\": \"balancer\"", "HOST:PORT", NULL},
        {"\"api_external\": \"balancer:0\"", "HOST:PORT", NULL},
        {"\"api_external\": \"b:6443\", \"api_address\": \"10.9.0.10\"", "not both", NULL},
        {"\"api_external\": \"::1:6443\"", "HOST:PORT", NULL},
        {"\"service_addresses\": [1]", "is a list of texts", NULL},
        {"\"service_addresses\": [\"10.9.0.200-10.9.0.100\"]", "service_addresses: \"10.9.0.200-10.9.0.100\" ends before",
         "write"},
        {"\"service_addresses\": [\"10.9.0.192/28\", \"10.9.0.200\"]", "has an address twice", NULL},
        {"\"workerz\": {}", "did you mean", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(bodies); i++) {
        _cleanup_free_ char *text = str_format("{\"name\": \"prod\", \"provider\": \"east\", %s}", bodies[i].more);
        _cleanup_spec_ struct cluster_spec spec;
        struct err err = {0};
        assert_int_equal(read_text(text, &spec, &err), ERR_UNPROCESSABLE);
        if (!strstr(err.text, bodies[i].text) && !strstr(err.remedy, bodies[i].text))
            fail_msg("%s: %s (%s)", text, err.text, err.remedy);
        if (bodies[i].remedy && !strstr(err.remedy, bodies[i].remedy))
            fail_msg("%s: remedy %s", text, err.remedy);
    }
}

static void names(void **state) {
    static const struct {
        const char *name;
        int rc;
    } some[] = {{"prod", 0},
                {"a", 0},
                {"prod-2", 0},
                {"2prod", 0},
                {"01234567890123456789012345678901234567890123456789", 0},
                {"012345678901234567890123456789012345678901234567890", ERR_UNPROCESSABLE},
                {"", ERR_UNPROCESSABLE},
                {"Prod", ERR_UNPROCESSABLE},
                {"-prod", ERR_UNPROCESSABLE},
                {"prod-", ERR_UNPROCESSABLE},
                {"prod.east", ERR_UNPROCESSABLE},
                {"pr od", ERR_UNPROCESSABLE},
                {"pr\\u00f6d", ERR_UNPROCESSABLE}};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(some); i++) {
        _cleanup_free_ char *text = str_format("{\"name\": \"%s\", \"provider\": \"east\"}", some[i].name);
        _cleanup_spec_ struct cluster_spec spec;
        struct err err = {0};
        if (read_text(text, &spec, &err) != some[i].rc)
            fail_msg("%s: %s", some[i].name, err.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_left_out), cmocka_unit_test(there_and_back),
                                       cmocka_unit_test(refused), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
