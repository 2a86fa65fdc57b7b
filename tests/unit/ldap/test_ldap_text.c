/* Notations of directories: filters, SIDs, GUIDs.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "ldap_text.h"
#include "sid_bytes.h"
#include "str.h"
#include "unit.h"

static void filters_escape(void **state) {
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"alice", "alice"},
        {"a*b", "a\\2ab"},
        {"alice)(objectClass=*", "alice\\29\\28objectClass=\\2a"},
        {"back\\slash", "back\\5cslash"},
        {"zo\xc3\xab", "zo\\c3\\ab"},
        {"tab\there", "tab\\09here"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_strbuf_ struct strbuf out;
        strbuf_init(&out, 1000);
        ldap_text_filter(&out, cases[i].in, strlen(cases[i].in));
        assert_string_equal(out.data, cases[i].out);
    }
}

static void nul_is_escaped(void **state) {
    _cleanup_strbuf_ struct strbuf out;
    (void)state;
    strbuf_init(&out, 1000);
    ldap_text_filter(&out, "a\0b", 3);
    assert_string_equal(out.data, "a\\00b");
}

static void patterns_are_filled(void **state) {
    _cleanup_strbuf_ struct strbuf out;
    (void)state;
    strbuf_init(&out, 1000);
    assert_true(ldap_text_fill(&out, "(|(uid={name})(mail={name}@x))", "a(b"));
    assert_string_equal(out.data, "(|(uid=a\\28b)(mail=a\\28b@x))");
    strbuf_reset(&out);
    assert_false(ldap_text_fill(&out, "(uid=all)", "a"));
    strbuf_reset(&out);
    assert_true(ldap_text_fill(&out, "(uid={name})", "{name}")); /* what is put in is not looked at again */
    assert_string_equal(out.data, "(uid={name})");
}

static void sids_are_read(void **state) {
    static const char *const sids[] = {"S-1-5-21-2916793993-853203867-2081341586-1413", "S-1-5-32-544", "S-1-18-1",
                                       "S-1-281474976710655-4294967295", "S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-4294967295"};
    (void)state;
    for (size_t i = 0; i < sizeof(sids) / sizeof(sids[0]); i++) {
        uint8_t bytes[LDAP_SID_BYTES_MAX];
        char text[LDAP_SID_TEXT_BYTES];
        size_t n = 0;
        assert_true(sid_bytes(sids[i], bytes, &n));
        assert_true(ldap_text_sid(bytes, n, text));
        assert_string_equal(text, sids[i]);
        assert_false(ldap_text_sid(bytes, n - 1, text));
    }
}

static void longest_sid_fits(void **state) {
    uint8_t bytes[LDAP_SID_BYTES_MAX];
    char text[LDAP_SID_TEXT_BYTES];
    (void)state;
    memset(bytes, 0xff, sizeof(bytes));
    bytes[0] = 1;
    bytes[1] = 15;
    assert_true(ldap_text_sid(bytes, sizeof(bytes), text));
    assert_int_equal(strlen(text), LDAP_SID_TEXT_BYTES - 2);
}

static void no_sids(void **state) {
    static const uint8_t version[] = {2, 1, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0}, none[] = {1, 0, 0, 0, 0, 0, 0, 5},
                         many[] = {1, 16, 0, 0, 0, 0, 0, 5}, more[] = {1, 1, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, 0};
    char text[LDAP_SID_TEXT_BYTES];
    (void)state;
    assert_false(ldap_text_sid(version, sizeof(version), text));
    assert_false(ldap_text_sid(none, sizeof(none), text));
    assert_false(ldap_text_sid(many, sizeof(many), text));
    assert_false(ldap_text_sid(more, sizeof(more), text));
    assert_false(ldap_text_sid(more, 0, text));
}

static void which_sids_count(void **state) {
    (void)state;
    assert_true(ldap_text_sid_counts("S-1-5-21-1-2-3-513"));
    assert_false(ldap_text_sid_counts("S-1-5-32-545"));
    assert_false(ldap_text_sid_counts("S-1-18-1"));
    assert_false(ldap_text_sid_counts("S-1-1-0"));
    assert_false(ldap_text_sid_counts("S-1-5-2"));
}

/* As MS-DTYP 2.3.4.2 lays the parts out. */
static void guids_both_ways(void **state) {
    static const uint8_t bytes[16] = {0x78, 0x56, 0x34, 0x12, 0xcd, 0xab, 0x34, 0x12,
                                      0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0};
    char text[LDAP_GUID_TEXT_BYTES];
    uint8_t back[16];
    (void)state;
    assert_true(ldap_text_guid(bytes, 16, text));
    assert_string_equal(text, "12345678-abcd-1234-1234-56789abcdef0");
    assert_true(ldap_text_guid_bytes(text, back));
    assert_memory_equal(back, bytes, 16);
    assert_false(ldap_text_guid(bytes, 15, text));
    assert_false(ldap_text_guid_bytes("12345678-abcd-1234-1234-56789abcdef", back));
    assert_false(ldap_text_guid_bytes("12345678-abcd-1234-1234-56789abcdefg", back));
    assert_false(ldap_text_guid_bytes("12345678aabcd-1234-1234-56789abcdef0", back));
}

/* Texts as Windows and Samba send them. */
static void reasons_of_refusals(void **state) {
    static const struct {
        const char *text, *reason;
        bool is_way; /* it is how we connect */
    } rows[] = {
        {"80090308: LdapErr: DSID-0C090447, comment: AcceptSecurityContext error, data 52e, v4563", "wrong password", false},
        {"80090308: LdapErr: DSID-0C090447, comment: AcceptSecurityContext error, data 775, v4563", "locked", false},
        {"80090346: LdapErr: DSID-0C090569, comment: AcceptSecurityContext error, data 80090346, v4563", "channel bindings",
         true},
        {"80090308: LdapErr: DSID-0C0903C8, comment: AcceptSecurityContext error, data 57, v2580", "a parameter", true},
        {"AcceptSecurityContext error, data 52E", "wrong password", false},
        {"data 773 ", "must be changed", false},
        {"data 5", NULL, false},
        {"data 52", NULL, false},
        {"data 52e1", NULL, false},
        {"data 52ex", NULL, false},
        {"data ", NULL, false},
        {"", NULL, false},
        {NULL, NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct ldap_reason *found = ldap_text_reason(rows[i].text);
        if (!found != !rows[i].reason || (found && (!strstr(found->text, rows[i].reason) || !found->remedy == rows[i].is_way)))
            fail_msg("\"%s\" gave %s", rows[i].text, found ? found->text : "nothing");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_escape),      cmocka_unit_test(nul_is_escaped),   cmocka_unit_test(patterns_are_filled),
        cmocka_unit_test(sids_are_read),       cmocka_unit_test(longest_sid_fits), cmocka_unit_test(no_sids),
        cmocka_unit_test(reasons_of_refusals), cmocka_unit_test(which_sids_count), cmocka_unit_test(guids_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
