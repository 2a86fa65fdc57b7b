/* Addresses: who counts as one, which are in a block, and where kaasd connects to. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "net_addr.h"
#include "net_policy.h"

static void a_party_is_an_ipv4_or_a_64(void **state) {
    static const struct {
        const char *a, *b;
        bool same, same_site;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1", true, true},
        {"192.0.2.1", "192.0.2.2", false, true},
        {"192.0.2.1", "192.0.3.1", false, false},
        {"192.0.2.1", "::ffff:192.0.2.1", true, true},
        {"192.0.2.1", "::192.0.2.1", false, false},
        {"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true, true},
        {"2001:db8:1:2::1", "2001:DB8:1:2:0:0:0:9", true, true},
        {"2001:db8:1:2::1", "2001:db8:1:3::1", false, true},
        {"2001:db8:1:2::1", "2001:db8:2:2::1", false, false},
        {"::1", "127.0.0.1", false, false},
        {"::1", "unix", false, true},
        {"unix", "unix", true, true},
        {"unix", "192.0.2.1", false, false},
        {"unix", NULL, true, true},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        uint64_t a = net_party(cases[i].a), b = net_party(cases[i].b);
        assert_true(a && b);
        if ((a == b) != cases[i].same || (net_party_site(a) == net_party_site(b)) != cases[i].same_site)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
    }
}

static void what_is_no_address_is_not_read(void **state) {
    static const char *const bad[] = {"", "unix", "192.0.2", "192.0.2.1.1", "fe80::1%eth0", "2001:db8::/64", "[::1]"};
    uint8_t addr[16];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_false(net_addr_parse(bad[i], addr));
    assert_false(net_addr_parse(NULL, addr));
}

static void blocks_have_their_addresses(void **state) {
    static const struct {
        const char *block, *addr;
        bool inside;
    } cases[] = {
        {"192.0.2.0/24", "192.0.2.255", true},
        {"192.0.2.0/24", "192.0.3.0", false},
        {"192.0.2.7", "192.0.2.7", true},
        {"192.0.2.7", "192.0.2.6", false},
        {"10.0.0.0/9", "10.127.255.255", true},
        {"10.0.0.0/9", "10.128.0.0", false},
        {"0.0.0.0/0", "203.0.113.1", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {"192.0.2.7", "::ffff:192.0.2.7", true},
        {"::/0", "192.0.2.1", true},
    };
    static const char *const bad[] = {"",    "/",          "192.0.2.0/33", "192.0.2.0/-1", "192.0.2/24", "2001:db8::/129",
                                      "x/8", "192.0.2.0/", "192.0.2.0/a"};
    struct net_block block;
    uint8_t addr[16];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_true(net_block_parse(cases[i].block, &block) && net_addr_parse(cases[i].addr, addr));
        if (net_block_has(&block, 1, addr) != cases[i].inside)
            fail_msg("%s and %s", cases[i].block, cases[i].addr);
    }
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_false(net_block_parse(bad[i], &block));
}

static void check_policy(const struct net_policy *policy, const char *address, bool is_allowed) {
    uint8_t addr[16];
    struct err err = {0};
    assert_true(net_addr_parse(address, addr));
    if (net_policy_allows(policy, addr) != is_allowed || (net_policy_check(policy, "hx", address, &err) == 0) != is_allowed)
        fail_msg("%s", address);
}

static void by_default_only_this_host_and_its_links_are_closed(void **state) {
    static const char *const closed[] = {"127.0.0.1",
                                         "64:ff9b::127.0.0.1",
                                         "64:ff9b::169.254.169.254",
                                         "fd00:ec2::254",
                                         "127.255.0.9",
                                         "0.0.0.0",
                                         "169.254.169.254",
                                         "224.0.0.1",
                                         "255.255.255.255",
                                         "::1",
                                         "::",
                                         "::127.0.0.1",
                                         "fe80::1",
                                         "febf::1",
                                         "::ffff:169.254.1.2",
                                         "ff02::1",
                                         "::ffff:127.0.0.1"};
    static const char *const open[] = {"10.0.0.1",  "192.168.1.1", "172.16.0.1", "203.0.113.1",
                                       "128.0.0.1", "2001:db8::1", "fd00::1",    "64:ff9b::10.0.0.1"};
    struct net_policy policy;
    (void)state;
    assert_int_equal(net_policy_init(&policy, "hx.allowed_networks", NULL, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(closed); i++)
        check_policy(&policy, closed[i], false);
    for (size_t i = 0; i < UNIT_COUNT(open); i++)
        check_policy(&policy, open[i], true);
    check_policy(NULL, "127.0.0.1", true);
}

static void what_is_listed_is_all_that_is_open(void **state) {
    static const char *const list[] = {"127.0.0.0/8", "10.1.0.0/16", "2001:db8::/32", NULL};
    static const char *const bad[] = {"10.0.0.0/8", "ten", NULL};
    struct net_policy policy;
    struct err err = {0};
    (void)state;
    assert_int_equal(net_policy_init(&policy, "hx.allowed_networks", list, NULL), 0);
    check_policy(&policy, "127.0.0.1", true);
    check_policy(&policy, "10.1.255.1", true);
    check_policy(&policy, "10.2.0.1", false);
    check_policy(&policy, "2001:db8:1::1", true);
    check_policy(&policy, "::1", false);
    assert_int_equal(net_policy_check(&policy, "hx.example.com", "10.2.0.1", &err), ERR_UNREACHABLE);
    assert_string_equal(err.text, "hx.example.com is at 10.2.0.1, where kaasd does not connect to");
    assert_non_null(strstr(err.remedy, "hx.allowed_networks"));
    assert_int_equal(net_policy_check(&policy, "hx", "no address", NULL), 0);
    assert_int_equal(net_policy_init(&policy, "hx.allowed_networks", bad, NULL), ERR_CONFIG);
}

static void an_origin_is_as_browsers_write_it(void **state) {
    static const struct {
        const char *address;
        unsigned port;
        const char *origin;
    } cases[] = {
        {"HX-East.Example.com", 443, "https://hx-east.example.com"},
        {"hx", 0, "https://hx"},
        {"10.1.0.1", 8443, "https://10.1.0.1:8443"},
        {"2001:DB8:0:0:0:0:0:1", 443, "https://[2001:db8::1]"},
        {"::1", 9443, "https://[::1]:9443"},
    };
    char origin[NET_ORIGIN_BYTES], long_name[NET_ORIGIN_BYTES];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_true(net_https_origin(cases[i].address, cases[i].port, origin));
        assert_string_equal(origin, cases[i].origin);
    }
    memset(long_name, 'a', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    assert_false(net_https_origin(long_name, 443, origin));
    assert_false(net_https_origin("", 443, origin));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_party_is_an_ipv4_or_a_64),
        cmocka_unit_test(what_is_no_address_is_not_read),
        cmocka_unit_test(blocks_have_their_addresses),
        cmocka_unit_test(by_default_only_this_host_and_its_links_are_closed),
        cmocka_unit_test(what_is_listed_is_all_that_is_open),
        cmocka_unit_test(an_origin_is_as_browsers_write_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
