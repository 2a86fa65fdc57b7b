/* Rules for names: what is accepted, what is refused and how it is said.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "limits.h"
#include "names.h"

#define FIFTY "1234567890123456789012345678901234567890123456789\xc3\xa4"
#define LABEL63 "a23456789012345678901234567890123456789012345678901234567890123"

struct row {
    const char *text, *fault; /* fault NULL: accepted; else a part of the message or remedy */
};

typedef int check_fn(const char *text, const char *what, struct err *err);

static void check_rows(const struct row *rows, size_t count, check_fn *check) {
    for (size_t i = 0; i < count; i++) {
        struct err err = {0};
        int rc = check(rows[i].text, "member", &err);
        if (!rows[i].fault && rc)
            print_error("%s: %s\n", rows[i].text, err.text);
        assert_int_equal(rc, rows[i].fault ? ERR_UNPROCESSABLE : 0);
        if (!rows[i].fault)
            continue;
        if (!strstr(err.text, rows[i].fault) && !strstr(err.remedy, rows[i].fault))
            print_error("%s: \"%s\" \"%s\" lacks \"%s\"\n", rows[i].text ? rows[i].text : "(null)", err.text, err.remedy,
                        rows[i].fault);
        assert_true(strstr(err.text, rows[i].fault) || strstr(err.remedy, rows[i].fault));
        assert_non_null(strstr(err.text, "member"));
    }
}

static void object_names(void **state) {
    static const struct row rows[] = {
        {"prod-1", NULL},
        {"a", NULL},
        {"/ % ' \" \\ \xf0\x9f\x90\xb3", NULL},
        {FIFTY, NULL},
        {FIFTY "x", "51 characters"},
        {"", "empty"},
        {NULL, "empty"},
        {" a", "blank"},
        {"a ", "blank"},
        {" ", "blank"},
        {"a\tb", "control"},
        {"a\xc2\x85z", "control"},
        {"\xff", "UTF-8"},
        {"safe\xe2\x80\xaegnp.exe", "U+202E"},
        {"a\xe2\x80\x8b"
         "b",
         "U+200B"},
        {"a\xef\xbb\xbf"
         "b",
         "U+FEFF"},
        {"\xe2\x81\xa6"
         "a",
         "U+2066"},
        {"a\xc2\xad"
         "b",
         "U+00AD"},
        {"\xe3\x85\xa4", "U+3164"},
        {"a\xf3\xa0\x81\xa1", "U+E0061"},
        {"\xe2\x9a\xa0\xef\xb8\x8f", NULL}, /* an emoji with its shape */
        {"e\xcc\x81 \xd7\x90 \xd8\xa7 \xe5\x90\x8d", NULL},
    };
    static const struct row kept[] = {{"a\xe2\x80\x8b"
                                       "b",
                                       NULL},
                                      {"a\tb", "control"}};
    (void)state;
    check_rows(rows, UNIT_COUNT(rows), name_check);
    check_rows(kept, UNIT_COUNT(kept), name_check_kept);
}

static void scripts_of_a_name(void **state) {
    static const struct row rows[] = {
        {"admin", NULL},
        {"\xc3\x85nna Ek-2", NULL},
        {"\xd0\xb0\xd0\xbd\xd0\xbd\xd0\xb0 1", NULL}, /* Cyrillic */
        {"\xce\x86\xce\xbd\xce\xbd\xce\xb1", NULL},   /* Greek */
        {"\xe5\xae\x89 anna", NULL},                  /* nothing of the one looks like the other */
        {"\xc2\xb5-1", NULL},                         /* the sign for micro */
        {"", NULL},
        {"\xd0\xb0"
         "dmin",
         "two scripts, Cyrillic and Latin"},
        {"admi\xd0\xbf", "two scripts, Latin and Cyrillic"},
        {"r\xce\xbfot", "two scripts, Latin and Greek"},
        {"\xce\xbf\xd0\xbe", "Greek and Cyrillic"},
        {"\xef\xbd\x81\xd0\xb0", "Latin and Cyrillic"}, /* full width */
    };
    (void)state;
    check_rows(rows, UNIT_COUNT(rows), name_check_script);
}

static void kubernetes_versions(void **state) {
    static const char *const good[] = {"1.31.2", "0.0.0", "1.31.2-rc.1", "1.31.2+k3s1", "1.31.2-rc.1+build-7", "10.200.3000"};
    static const char *const bad[] = {
        "",        "v1.31.2",         "1.31",
        "1.31.",   "1.31.2.4",        "1..2",
        "1.31.2-", "1.31.2 ",         "1.31.2_a",
        "a.b.c",   "1.31.2+\xc3\xa4", "1.31.2-123456789012345678901234567890123456789012345678901234567890"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(good); i++)
        assert_int_equal(name_check_kubernetes_version(good[i], NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct err err = {0};
        assert_int_equal(name_check_kubernetes_version(bad[i], &err), ERR_UNPROCESSABLE);
        assert_non_null(strstr(err.text, "kubernetes_version"));
    }
    assert_int_equal(name_check_kubernetes_version(NULL, NULL), ERR_UNPROCESSABLE);
}

static void versions_are_ordered_as_kubernetes_releases_them(void **state) {
    static const char *const ordered[] = {
        "1.9.0",          "1.10.0",        "1.21.7-alpha.1", "1.21.7-beta.0",  "1.21.7-rc.10",   "1.21.7-rc2+rke2r3",
        "1.21.7",         "1.21.7+rke2r1", "1.21.7+rke2r2",  "1.21.7+rke2r10", "1.21.7-eks-a73", "1.21.7-gke.99",
        "1.21.7-gke.100", "1.21.8-rc.1",   "1.21.8"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ordered); i++)
        for (size_t k = 0; k < UNIT_COUNT(ordered); k++) {
            const int order = kubernetes_version_compare(ordered[i], ordered[k]);
            if ((order < 0) != (i < k) || (order > 0) != (i > k))
                print_error("%s, %s: %d\n", ordered[i], ordered[k], order);
            assert_true((order < 0) == (i < k) && (order > 0) == (i > k));
        }
}

static void uuids_of_machines(void **state) {
    static const char plain[] = "420e3f74-ea84-f9a2-7736-6106bb5dbf6b";
    static const char *const good[] = {plain, "vsphere://420e3f74-ea84-f9a2-7736-6106bb5dbf6b",
                                       "VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b",
                                       "vmware-420e3f74ea84f9a2-77366106bb5dbf6b"};
    static const char *const bad[] = {"",
                                      "vsphere://",
                                      "vsphere://vsphere://420e3f74-ea84-f9a2-7736-6106bb5dbf6b",
                                      "aws:///eu-west-1/i-0abc",
                                      "VMware-",
                                      "VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf",
                                      "VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b 6b",
                                      "VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6x",
                                      "420e3f74ea84f9a277366106bb5dbf6b"};
    char out[64];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(good); i++) {
        assert_true(vm_uuid_parse(good[i], out));
        assert_string_equal(out, plain);
    }
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct err err = {0};
        assert_false(vm_uuid_parse(bad[i], out));
        assert_int_equal(name_check_vm_uuid(bad[i], "vm_bios_uuid", &err), ERR_UNPROCESSABLE);
        assert_non_null(strstr(err.remedy, "vsphere://"));
    }
}

static void hosts(void **state) {
    static const struct row rows[] = {
        {"vc.example.com", NULL},
        {"vc", NULL},
        {"3com.example", NULL},
        {"xn--mnchen-3ya.example", NULL},
        {"10.0.0.7", NULL},
        {"fd00::1", NULL},
        {"::ffff:10.0.0.7", NULL},
        {LABEL63 ".example", NULL},
        {LABEL63 "x.example", "neither"},
        {LABEL63 "." LABEL63 "." LABEL63 "." LABEL63, "neither"}, /* 255 bytes */
        {"", "empty"},
        {NULL, "empty"},
        {"https://vc.example.com", "scheme"},
        {"[fd00::1]", "brackets"},
        {"vc.example.com/ui", "path"},
        {"vc.example.com:443", "port"},
        {"vc.example.com.", "dot at the end"},
        {"10.0.0.256", "neither"},
        {"10.0.7", "neither"},
        {"-vc.example.com", "neither"},
        {"vc-.example.com", "neither"},
        {"vc..example.com", "neither"},
        {"vc_1.example.com", "neither"},
        {"vc example", "neither"},
        {"user@vc", "neither"},
        {"vc\n", "neither"},
        {"m\xc3\xbcnchen.example", "neither"},
    };
    (void)state;
    check_rows(rows, UNIT_COUNT(rows), name_check_host);
}

static void urls(void **state) {
    static const struct row rows[] = {
        {"https://k8s.example.com", NULL},
        {"https://k8s.example.com:6443/", NULL},
        {"HTTPS://k8s.example.com/a?b=c&d=%20#e", NULL},
        {"https://10.0.0.7:1/x@y", NULL},
        {"https://[fd00::1]:65535/", NULL},
        {"https://[fd00::1]", NULL},
        {"https://k8s.example.com?x", NULL},
        {"", "empty"},
        {NULL, "empty"},
        {"http://k8s.example.com", "https://"},
        {"javascript:alert(1)", "https://"},
        {"//k8s.example.com", "https://"},
        {"https://", "host"},
        {"https:///path", "host"},
        {"https://k8s.example.com:", "host"},
        {"https://k8s.example.com:0", "host"},
        {"https://k8s.example.com:65536", "host"},
        {"https://k8s.example.com:64x3", "host"},
        {"https://:6443", "host"},
        {"https://fd00::1/", "host"},
        {"https://[fd00::1", "host"},
        {"https://[]:1", "host"},
        {"https://[10.0.0.7]", "host"},
        {"https://[fd00::1]x", "host"},
        {"https://good.example\\@evil.example", "user name"},
        {"https://good.example\\.evil.example", "host"},
        {"https://user:pw@k8s.example.com/", "user name"},
        {"https://k8s.example.com/a b", "blank"},
        {"https://k8s.example.com/\n", "control"},
        {"https://k8s.example.com/\xff", "control"},
    };
    (void)state;
    check_rows(rows, UNIT_COUNT(rows), name_check_https_url);
}

static void url_length_and_silence(void **state) {
    char url[KAAS_URL_BYTES_MAX + 2] = "https://k8s.example.com/";
    struct err err = {0};
    (void)state;
    memset(url + strlen(url), 'x', sizeof(url) - strlen(url) - 1);
    assert_int_equal(name_check_https_url(url, "u", NULL), ERR_UNPROCESSABLE);
    url[KAAS_URL_BYTES_MAX] = '\0';
    assert_int_equal(name_check_https_url(url, "u", NULL), 0);
    (void)name_check_https_url("https://user:secret@k8s.example.com/", "u", &err);
    assert_null(strstr(err.text, "secret"));
    assert_null(strstr(err.remedy, "secret"));
}

static void morefs_and_addresses(void **state) {
    static const struct row morefs[] = {
        {"domain-c7", NULL},
        {"a_B.9", NULL},
        {"", "domain-c7"},
        {NULL, "domain-c7"},
        {"domain c7", "letters"},
        {"domain/c7", "letters"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890", NULL},
        {"123456789012345678901234567890123456789012345678901234567890123456789012345678901", "1 to 80"},
    };
    static const struct row addresses[] = {
        {"10.1.2.3", NULL}, {"::1", NULL}, {"host", "not an IP"}, {"", "not an IP"}, {NULL, "not an IP"}};
    (void)state;
    check_rows(morefs, UNIT_COUNT(morefs), name_check_moref);
    check_rows(addresses, UNIT_COUNT(addresses), name_check_ip_address);
}

static void free_texts(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(name_check_text(NULL, 3, "t", NULL), 0);
    assert_int_equal(name_check_text("\xc3\xa4\nb", 3, "t", NULL), 0);
    assert_int_equal(name_check_text("abcd", 3, "t", &err), ERR_UNPROCESSABLE);
    assert_string_equal(err.text, "t has 4 characters; up to 3 are allowed");
    assert_int_equal(name_check_line("a\nb", 3, "t", NULL), ERR_UNPROCESSABLE);
    assert_int_equal(name_check_line("", 3, "t", NULL), ERR_UNPROCESSABLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object_names),
        cmocka_unit_test(scripts_of_a_name),
        cmocka_unit_test(kubernetes_versions),
        cmocka_unit_test(versions_are_ordered_as_kubernetes_releases_them),
        cmocka_unit_test(uuids_of_machines),
        cmocka_unit_test(hosts),
        cmocka_unit_test(urls),
        cmocka_unit_test(url_length_and_silence),
        cmocka_unit_test(morefs_and_addresses),
        cmocka_unit_test(free_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
