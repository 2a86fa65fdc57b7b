/* Rules for names: what is accepted, what is refused and how it is said.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "limits.h"
#include "names.h"
#include "str.h"

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
        {"0x7f000001", "neither"},
        {"127.0.0.0X1", "neither"},
        {"127.0x", "neither"},
        {"0xylo", NULL},
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

/* -- names without case -------------------------------------------------------------------------------------------------------- */

/* One name in two spellings, or, where the second is folded to itself, two. */
struct spelling {
    const char *a, *b;
    bool is_one;
};

static const struct spelling spellings[] = {
    {"VSPHERE.LOCAL\\Anna", "vsphere.local\\ANNA", true},
    {"m\u00fcller", "M\u00dcLLER", true},
    {"m\u00fcller", "m\u00fcller", true},
    {"m\u00fcller", "muller", false},
    {"m\u00fcller", "mueller", false},
    {"m\u00fcller", "mu\u0308ller", false}, /* composed and decomposed */
    {"stra\u00dfe", "strasse", false},
    {"stra\u00dfe", "STRA\u1e9eE", false}, /* capital sharp s: 2008, and Windows has no capital for the small one */
    {"stra\u00dfe", "STRA\u00dfE", true},
    {"\u0130van", "ivan", false}, /* I with dot, Turkish */
    {"\u0130van", "Ivan", false},
    {"k\u0131z", "KIZ", false}, /* i without dot */
    {"k\u0131z", "kiz", false},
    {"\u017fam", "sam", false},                                                             /* long s */
    {"\u212aim", "kim", false},                                                             /* Kelvin sign */
    {"\u212bke", "\u00e5ke", false},                                                        /* Angstrom sign */
    {"\u00b5", "\u039c", false},                                                            /* micro sign, capital My */
    {"\u01c4a", "\u01c6A", true},                                                           /* DZ with caron: capital and small */
    {"\u01c4a", "\u01c5a", false},                                                          /* the title case is neither */
    {"\u00ffves", "\u0178VES", true},                                                       /* a letter whose pair is far away */
    {"\u03c3", "\u03a3", true},                                                             /* Sigma */
    {"\u03c2", "\u03a3", false},                                                            /* final sigma */
    {"\u03bd\u03af\u03ba\u03b7", "\u039d\u038a\u039a\u0397", true},                         /* Greek */
    {"\u03bd\u03af\u03ba\u03b7", "\u039d\u0399\u039a\u0397", false},                        /* without the accent */
    {"\u0438\u0432\u0430\u043d\u0451\u045f", "\u0418\u0412\u0410\u041d\u0401\u040f", true}, /* Cyrillic */
    {"\u0561\u0580\u0561", "\u0531\u0550\u0531", true},                                     /* Armenian */
    {"\u10d0", "\u1c90", false},                                                            /* Georgian Mtavruli: 2018 */
    {"\u2d00", "\u10a0", true},                                                             /* Georgian of the church */
    {"\uab70", "\u13a0", false},                                                            /* Cherokee: 2015 */
    {"\U00010428", "\U00010400", false},                                                    /* Deseret: beyond U+FFFF */
    {"\uff41", "\uff21", true},                                                             /* as wide as Chinese */
    {"\uff41", "a", false},
    {"\u2c65", "\u023a", true}, /* three bytes and two */
    {"a\xff", "A\xff", true},   /* no UTF-8 */
    {"a\xff", "a\xfe", false},
    {"", "", true},
    {"a", "", false},
};

static void names_without_case(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(spellings); i++) {
        const struct spelling *s = &spellings[i];
        const int order = name_compare(s->a, s->b);
        if (name_same(s->a, s->b) != s->is_one)
            print_error("%s and %s\n", s->a, s->b);
        assert_int_equal(name_same(s->a, s->b), s->is_one);
        assert_int_equal(name_same(s->b, s->a), s->is_one);
        assert_int_equal(!order, s->is_one);
        assert_int_equal(name_compare(s->b, s->a), -order);
    }
    assert_true(name_same(NULL, NULL));
    assert_false(name_same(NULL, ""));
    assert_false(name_same("a\x80", "a\xc2\x80")); /* a byte that is no UTF-8 is not the sign of that number */
    assert_true(name_is_ascii("anna"));
    assert_false(name_is_ascii("ann\u00e4"));
}

/* Two are one exactly if they are brought into one spelling, which is no longer than either. */
static void names_have_one_spelling(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(spellings); i++) {
        char a[64], b[64];
        (void)snprintf(a, sizeof(a), "%s", spellings[i].a);
        (void)snprintf(b, sizeof(b), "%s", spellings[i].b);
        name_fold(a);
        name_fold(b);
        assert_int_equal(!strcmp(a, b), spellings[i].is_one);
        assert_true(strlen(a) <= strlen(spellings[i].a) && strlen(b) <= strlen(spellings[i].b));
        assert_true(name_same(a, spellings[i].a));
        assert_int_equal(strcmp(a, b) < 0, name_compare(spellings[i].a, spellings[i].b) < 0);
    }
}

/* Each letter below U+10000 stays one letter, and nothing becomes ASCII that was not. */
static void letters_stay_letters(void **state) {
    unsigned changed = 0;
    (void)state;
    for (uint32_t point = 0x80; point < 0x10000; point++) {
        char name[8] = "", before[8];
        size_t n = 0;
        if (point >= 0xd800 && point < 0xe000)
            continue;
        if (point >= 0x800) {
            name[n++] = (char)(0xe0 | point >> 12);
            name[n++] = (char)(0x80 | (point >> 6 & 0x3f));
        } else {
            name[n++] = (char)(0xc0 | point >> 6);
        }
        name[n++] = (char)(0x80 | (point & 0x3f));
        memcpy(before, name, sizeof(name));
        name_fold(name);
        changed += strcmp(name, before) != 0;
        assert_int_equal(str_utf8_chars(name, strlen(name)), 1);
        assert_false(name_is_ascii(name));
        memcpy(before, name, sizeof(name));
        name_fold(name);
        assert_string_equal(name, before);
    }
    assert_int_equal(changed, 947); /* and the 26 of ASCII: as many as Windows' table has */
}

static void quoted_names(void **state) {
    static const char *const rows[][2] = {
        {"admin@vsphere.local", "admin@vsphere.local"},
        {"https://kaas.example.com:8443/", "https://kaas.example.com:8443/"},
        {"a b", "'a b'"},
        {"it's $HOME", "'it'\\''s $HOME'"},
        {"''", "''\\'''\\'''"},
        {"CORP\\kaas", "'CORP\\kaas'"},
        {"m\xc3\xbcller", "'m\xc3\xbcller'"},
        {"$(id) `id`\"", "'$(id) `id`\"'"},
        {"", "NAME"},
        {NULL, "NAME"},
    };
    char longest[NAME_QUOTED_BYTES];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++)
        assert_string_equal(name_quote(rows[i][0]).text, rows[i][1]);
    memset(longest, '\'', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_string_equal(name_quote(longest).text, "NAME"); /* half a quotation would be worse */
}

static void words_for_things(void **state) {
    (void)state;
    assert_string_equal(name_word("vc.example.com", "id"), "vc.example.com");
    assert_string_equal(name_word("it's $HOME", "id"), "id");
    assert_string_equal(name_word("-x", "id"), "id");
    assert_string_equal(name_word("a b", "id"), "id");
    assert_string_equal(name_word("", "id"), "id");
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
        cmocka_unit_test(quoted_names),
        cmocka_unit_test(words_for_things),
        cmocka_unit_test(names_without_case),
        cmocka_unit_test(names_have_one_spelling),
        cmocka_unit_test(letters_stay_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
