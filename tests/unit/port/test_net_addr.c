/* Addresses of clients: who counts as one. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "net_addr.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_party_is_an_ipv4_or_a_64),
        cmocka_unit_test(what_is_no_address_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
