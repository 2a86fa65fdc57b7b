/* A directory as somebody configures it: addresses, and what must fit together.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "ldap_source.h"
#include "str.h"
#include "unit.h"

static struct ldap_source good(void) {
    return (struct ldap_source){.name = (char *)(uintptr_t) "corp",
                                .urls = (char *)(uintptr_t) "ldaps://dc1.ad.test ldap://dc2.ad.test:1389",
                                .search_base = (char *)(uintptr_t) "DC=ad,DC=test",
                                .bind_dn = (char *)(uintptr_t) "svc@ad.test",
                                .has_password = true};
}

static void good_one(void **state) {
    struct ldap_source s = good();
    struct err err = {0};
    (void)state;
    assert_int_equal(ldap_source_check(&s, &err), 0);
    s.bind = LDAP_BIND_KEYTAB;
    assert_int_equal(ldap_source_check(&s, NULL), ERR_UNPROCESSABLE);
    s.keytab = (char *)(uintptr_t) "/etc/kaas/k";
    s.principal = (char *)(uintptr_t) "svc@AD.TEST";
    assert_int_equal(ldap_source_check(&s, &err), 0);
}

static void addresses(void **state) {
    const char *list = "ldaps://dc1.ad.test ldap://dc2.ad.test:1389  ldaps://[fd00::1]:6636 ldap://10.0.0.1";
    struct ldap_url url;
    (void)state;
    assert_true(ldap_source_next_url(&list, &url));
    assert_string_equal(url.host, "dc1.ad.test");
    assert_true(url.is_tls && url.port == 636);
    assert_true(ldap_source_next_url(&list, &url));
    assert_true(!url.is_tls && url.port == 1389);
    assert_true(ldap_source_next_url(&list, &url));
    assert_string_equal(url.host, "fd00::1");
    assert_int_equal(url.port, 6636);
    assert_true(ldap_source_next_url(&list, &url));
    assert_int_equal(url.port, 389);
    assert_false(ldap_source_next_url(&list, &url));
}

static void no_addresses(void **state) {
    static const char *const wrong[] = {
        "",
        "http://dc1.ad.test",
        "ldaps://",
        "ldaps://dc1.ad.test/",
        "ldaps://dc1.ad.test:0",
        "ldaps://dc1.ad.test:65536",
        "ldaps://dc1.ad.test:",
        "ldaps://user@dc1.ad.test",
        "ldapi://dc1.ad.test",
        "ldaps://dc1.ad.test nonsense",
        "ldaps://a ldaps://b ldaps://c ldaps://d ldaps://e ldaps://f ldaps://g ldaps://h ldaps://i"};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ldap_source s = good();
        struct err err = {0};
        s.urls = (char *)(uintptr_t)wrong[i];
        assert_int_equal(ldap_source_check(&s, &err), ERR_UNPROCESSABLE);
        assert_non_null(strstr(err.text, "urls"));
    }
}

static void refuse(struct ldap_source s, const char *word) {
    struct err err = {0};
    assert_int_equal(ldap_source_check(&s, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, word));
}

static void what_does_not_fit(void **state) {
    struct ldap_source s = good();
    (void)state;
    s.name = (char *)(uintptr_t) "local";
    refuse(s, "name");
    s.name = (char *)(uintptr_t) "Corp";
    refuse(s, "name");
    s = good(), s.has_password = false;
    refuse(s, "bind_password");
    s = good(), s.search_base = NULL;
    refuse(s, "search_base");
    s = good(), s.search_base = (char *)(uintptr_t) "example.com";
    refuse(s, "search_base \"example.com\" is no distinguished name");
    s = good(), s.group_base = (char *)(uintptr_t) "groups";
    refuse(s, "group_base");
    s = good(), s.user_filter = (char *)(uintptr_t) "(uid=everybody)";
    refuse(s, "{name}");
    s = good(), s.user_filter = (char *)(uintptr_t) "(uid={name}";
    refuse(s, "parentheses");
    s = good(), s.group_filter = (char *)(uintptr_t) "(cn={name})";
    refuse(s, "group_filter");
    s = good(), s.ca_file = (char *)(uintptr_t) "ca.pem";
    refuse(s, "absolute");
    s = good(), s.ca_pem = (char *)(uintptr_t) "no certificate";
    refuse(s, "ca_pem");
    s.ca_file = (char *)(uintptr_t) "/ca.pem";
    refuse(s, "not both");
    s = good(), s.ca_pem = (char *)(uintptr_t) "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n";
    refuse(s, "private key");
}

static void realms(void **state) {
    struct ldap_source s = good();
    (void)state;
    assert_false(ldap_source_serves(&s, "AD.TEST"));
    s.realms = (char *)(uintptr_t) "LAB.TEST AD.TEST";
    assert_true(ldap_source_serves(&s, "ad.test"));
    assert_false(ldap_source_serves(&s, "AD"));
    assert_false(ldap_source_serves(&s, "AD.TEST.EVIL"));
}

static void domains(void **state) {
    static const struct {
        const char *base, *domain;
        bool is_it;
    } cases[] = {
        {"DC=ad,DC=test", "AD.TEST", true},
        {"OU=x,OU=dc,dc=ad,dc=test", "ad.test", true},
        {"DC=ad, DC=test", "ad.test", true},
        {"DC=ad,DC=test", "ad.test.evil", false},
        {"DC=ad,DC=test", "ad", false},
        {"DC=ad,DC=test", "ad.tes", false},
        {"DC=ad,DC=test", "", false},
        {"DC=ad,DC=test", "adxtest", false},
        {"OU=people", "", false},
    };
    struct ldap_source s = good();
    (void)state;
    s.kind = LDAP_KIND_AD;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        s.search_base = (char *)(uintptr_t)cases[i].base;
        if (ldap_source_is_domain(&s, cases[i].domain) != cases[i].is_it)
            fail_msg("%s and %s", cases[i].base, cases[i].domain);
    }
    s.realms = (char *)(uintptr_t) "LAB.TEST";
    assert_true(ldap_source_is_domain(&s, "lab.test"));
    s.kind = LDAP_KIND_OPENLDAP;
    assert_true(ldap_source_is_domain(&s, "lab.test"));
    assert_false(ldap_source_is_domain(&s, "ad.test"));
}

static void copies(void **state) {
    struct ldap_source s = good(), copy;
    (void)state;
    assert_int_equal(ldap_source_copy(&s, &copy, NULL), 0);
    assert_string_equal(copy.urls, s.urls);
    assert_ptr_not_equal(copy.urls, s.urls);
    ldap_source_done(&copy);
    assert_null(copy.name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_one),     cmocka_unit_test(addresses),         cmocka_unit_test(domains),
        cmocka_unit_test(no_addresses), cmocka_unit_test(what_does_not_fit), cmocka_unit_test(realms),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
