/* The parts of src/vim that ask nobody: versions, cookies, breaker, faults.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "secret.h"
#include "str.h"
#include "vim.h"
#include "vim_client.h"
#include "vim_context.h"
#include "vim_fault.h"
#include "vim_session.h"
#include "vim_text.h"
#include "vim_version.h"

/* ---- versions ---- */

#define NAMESPACES(version, prior)                                                                                              \
    "<?xml version=\"1.0\" encoding=\"UTF-8\" ?><namespaces version=\"1.0\"><namespace><name>urn:vim25</name><version>" version \
    "</version><priorVersions>" prior "</priorVersions></namespace></namespaces>"

static int choose(const char *xml, char *out, struct err *err) {
    err_clear(err);
    return vim_version_choose(xml, strlen(xml), out, err);
}

static void version_is_the_newest_known(void **state) {
    char out[VIM_VERSION_BYTES] = "";
    struct err err = {0};
    (void)state;
    assert_int_equal(choose(NAMESPACES("8.0.3.0", "<version>6.5</version><version>7.0.3.0</version>"), out, &err), 0);
    assert_string_equal(out, "8.0.3.0");
    /* an opaque development id, and one from the future: what we know among the prior ones */
    assert_int_equal(choose(NAMESPACES("uA046D008", "<version>8.0.2.0</version><version>6.7.1</version>"), out, &err), 0);
    assert_string_equal(out, "8.0.2.0");
    assert_int_equal(
        choose(NAMESPACES("9.1.0.0", "<version>9.0.0.0</version><version>8.0.3.0</version><version>8.0.2.0</version>"), out,
               &err),
        0);
    assert_string_equal(out, "8.0.3.0");
    /* 7.0.3.0 is newer than 6.9.1 though "6.9.1" may come last */
    assert_int_equal(choose(NAMESPACES("7.0.3.0", "<version>6.9.1</version>"), out, &err), 0);
    assert_string_equal(out, "7.0.3.0");
}

static void version_of_other_namespace_does_not_count(void **state) {
    char out[VIM_VERSION_BYTES] = "";
    struct err err = {0};
    const char *xml = "<namespaces><namespace><name>urn:internalvim25</name><version>8.0.3.0</version></namespace>"
                      "<namespace><name>urn:vim25</name><version>6.5</version></namespace></namespaces>";
    (void)state;
    assert_int_equal(choose(xml, out, &err), 0);
    assert_string_equal(out, "6.5");
}

static void version_refusals(void **state) {
    char out[VIM_VERSION_BYTES] = "kept";
    struct err err = {0};
    (void)state;
    assert_int_equal(choose(NAMESPACES("6.0", "<version>5.5</version>"), out, &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.remedy, "6.5"));
    assert_int_equal(choose(NAMESPACES("9.1.0.0", "<version>9.0.0.0</version>"), out, &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.remedy, "update kaasd"));
    assert_int_equal(choose("<html><body>hello</body></html>", out, &err), ERR_PROTOCOL);
    assert_int_equal(choose("<namespaces><namespace>", out, &err), ERR_PROTOCOL);
    assert_int_equal(choose("", out, &err), ERR_PROTOCOL);
    assert_int_equal(choose("<!DOCTYPE a [<!ENTITY e \"8.0.3.0\">]>" NAMESPACES("&e;", ""), out, &err), ERR_PROTOCOL);
    assert_string_equal(out, "kept");
}

static void version_order(void **state) {
    (void)state;
    assert_true(vim_version_is_at_least("8.0.2.0", "8.0.2.0"));
    assert_true(vim_version_is_at_least("8.0.3.0", "8.0.2.0"));
    assert_false(vim_version_is_at_least("8.0.1.0", "8.0.2.0"));
    assert_false(vim_version_is_at_least("6.5", "8.0.2.0"));
    assert_false(vim_version_is_at_least("10.0", "8.0.2.0"));
    assert_false(vim_version_is_at_least(NULL, "8.0.2.0"));
}

/* ---- cookies ---- */

static void expect_cookie(const char *line, const char *value) {
    char *got = vim_cookie_of_header(line, strlen(line));
    if (value) {
        assert_non_null(got);
        assert_string_equal(got, value);
    } else {
        assert_null(got);
    }
    secret_free(got);
}

static void cookie_is_read_raw(void **state) {
    (void)state;
    expect_cookie("Set-Cookie: vmware_soap_session=\"57ae\"; Path=/; HttpOnly; Secure;", "\"57ae\"");
    expect_cookie("set-cookie:vmware_soap_session=57ae", "57ae");
    expect_cookie("SET-COOKIE: \t vmware_soap_session=57ae; Path=/", "57ae");
    expect_cookie("Set-Cookie: vmware_soap_session=", NULL);
    expect_cookie("Set-Cookie: vmware_soap_session=\"\"; Path=/", NULL);
    expect_cookie("Set-Cookie: vmware_soap_session=\"57ae", NULL);
    expect_cookie("Set-Cookie: vmware_soap_session=5 7\r\nX: y", "5");
    expect_cookie("Set-Cookie: vmware_soap_session=a\rX: y", NULL);
    expect_cookie("Set-Cookie: vmware_soap_session_x=57ae", NULL);
    expect_cookie("Set-Cookie: other=1; vmware_soap_session=57ae", NULL);
    expect_cookie("X-Set-Cookie: vmware_soap_session=57ae", NULL);
    expect_cookie("", NULL);
}

static void cookie_of_absurd_length_is_no_cookie(void **state) {
    char line[1024] = "Set-Cookie: vmware_soap_session=";
    size_t n = strlen(line);
    (void)state;
    memset(line + n, 'a', sizeof(line) - n - 1);
    expect_cookie(line, NULL);
}

static void check_id(const char *text, int code) {
    struct err err = {0};
    assert_int_equal(vim_cookie_check(text, &err), code);
    if (code && text && strlen(text) > 8)
        assert_null(strstr(err.text, text));
}

static void session_ids_are_told_apart(void **state) {
    struct err err = {0};
    (void)state;
    check_id("57ae40b1c5a5d2b1c2b1f35dbd21ce1d5ab2b9a4", 0);
    check_id("\"57ae40b1c5a5d2b1c2b1f35dbd21ce1d5ab2b9a4\"", 0);
    check_id("cc64f0a1d9f4a7e0a1cc64f0a1d9f4a7", 0);
    check_id("52b5395a-85b2-9ae1-7f7b-4d2b0f4d5b0e", ERR_UNPROCESSABLE);
    check_id("\"52B5395A-85B2-9AE1-7F7B-4D2B0F4D5B0E\"", ERR_UNPROCESSABLE);
    check_id("57ae40b1c5a5d2b1c2b1f35dbd21ce1d5ab2b9a4; x=y", ERR_UNPROCESSABLE);
    check_id("57ae40b1c5a5d2b1\r\nX-Evil: 1", ERR_UNPROCESSABLE);
    check_id("\"57ae40b1c5a5d2b1c2b1", ERR_UNPROCESSABLE);
    check_id("short", ERR_UNPROCESSABLE);
    check_id("\"", ERR_UNPROCESSABLE);
    check_id("", ERR_UNPROCESSABLE);
    check_id(NULL, ERR_UNPROCESSABLE);
    (void)vim_cookie_check("52b5395a-85b2-9ae1-7f7b-4d2b0f4d5b0e", &err);
    assert_non_null(strstr(err.text, "key"));
    assert_non_null(strstr(err.remedy, "vmware_soap_session"));
}

static void check_id_in(const char *text, const char *wanted) {
    size_t n = 77;
    const char *id = vim_session_id_in(text, strlen(text), &n);
    assert_int_equal(n, strlen(wanted));
    assert_memory_equal(id, wanted, n);
}

static void an_id_is_read_with_the_quotes_of_json_and_without(void **state) {
    (void)state;
    check_id_in("cc64f0a1", "cc64f0a1");
    check_id_in("\"cc64f0a1\"", "cc64f0a1");
    check_id_in("\"cc64f0a1", "\"cc64f0a1");
    check_id_in("cc64f0a1\"", "cc64f0a1\"");
    check_id_in("\"\"", "");
    check_id_in("\"", "\"");
    check_id_in("", "");
}

/* ---- breaker ---- */

static void call(struct vim_breaker *b, int64_t now_ms, int outcome) {
    assert_int_equal(vim_breaker_enter(b, now_ms, NULL), 0);
    vim_breaker_leave(b, now_ms, outcome, 0);
}

static void breaker_opens_after_three_timeouts(void **state) {
    struct vim_breaker b = {0};
    struct err err = {0};
    (void)state;
    call(&b, 0, ERR_TIMEOUT);
    call(&b, 1, ERR_TIMEOUT);
    call(&b, 2, 0); /* an answer in between starts the count anew */
    call(&b, 3, ERR_TIMEOUT);
    call(&b, 4, ERR_TIMEOUT);
    call(&b, 5, ERR_UNPROCESSABLE); /* nothing was sent: says nothing about the server */
    call(&b, 6, ERR_TIMEOUT);
    assert_int_equal(vim_breaker_enter(&b, 7, &err), ERR_UNREACHABLE);
    assert_true(err.retry_after_s >= 1 && err.retry_after_s <= 3);
}

static void breaker_lets_one_probe_through(void **state) {
    struct vim_breaker b = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        call(&b, 0, ERR_TIMEOUT);
    assert_int_equal(vim_breaker_enter(&b, 100, NULL), ERR_UNREACHABLE);
    assert_int_equal(vim_breaker_enter(&b, 2000, NULL), 0);
    assert_int_equal(vim_breaker_enter(&b, 2000, NULL), ERR_UNREACHABLE); /* only one */
    vim_breaker_leave(&b, 2001, ERR_TIMEOUT, 0);
    assert_int_equal(vim_breaker_enter(&b, 4000, NULL), ERR_UNREACHABLE); /* the pause has grown */
    assert_int_equal(vim_breaker_enter(&b, 6001, NULL), 0);
    vim_breaker_leave(&b, 6002, 0, 0);
    assert_int_equal(vim_breaker_enter(&b, 6003, NULL), 0);
    vim_breaker_leave(&b, 6003, 0, 0);
}

static void breaker_ignores_refused_connections_until_it_probes(void **state) {
    struct vim_breaker b = {0};
    (void)state;
    for (int i = 0; i < 10; i++)
        call(&b, i, ERR_UNREACHABLE);
    for (int i = 0; i < 3; i++)
        call(&b, 20, ERR_TIMEOUT);
    assert_int_equal(vim_breaker_enter(&b, 3000, NULL), 0);
    vim_breaker_leave(&b, 3000, ERR_UNREACHABLE, 0);
    assert_int_equal(vim_breaker_enter(&b, 3001, NULL), ERR_UNREACHABLE);
}

/* ---- faults that the codec does not know ---- */

static void read_unknown(const char *any, const char *name) {
    struct vim_fault fault;
    struct err err = {0};
    vim_fault_read(&(struct vim_fault_source){.any = any, .code = "\"\":ServerFaultCode", .text = "some\ntext"}, &fault);
    assert_string_equal(fault.name, name);
    assert_int_equal(vim_fault_report(&fault, "DoIt", &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.text, name));
    assert_non_null(strstr(err.text, "some text"));
}

static void unknown_faults_keep_their_name(void **state) {
    struct vim_fault fault;
    struct err err = {0};
    char huge[5000];
    (void)state;
    read_unknown("<LicenseRestrictedFault xsi:type=\"LicenseRestricted\"/>", "LicenseRestricted");
    read_unknown("<ns1:LicenseRestrictedFault>", "LicenseRestricted");
    read_unknown("<Fault/>", "Fault");
    read_unknown("  <x:y:zFault>", "z");
    read_unknown("<", "\"\":ServerFaultCode");
    read_unknown("no xml", "\"\":ServerFaultCode");
    read_unknown(NULL, "\"\":ServerFaultCode");
    memset(huge, 'a', sizeof(huge) - 1);
    huge[0] = '<';
    huge[sizeof(huge) - 1] = '\0';
    vim_fault_read(&(struct vim_fault_source){.any = huge, .text = huge}, &fault);
    assert_int_equal(strlen(fault.name), sizeof(fault.name) - 1);
    vim_fault_read(&(struct vim_fault_source){.code = "VersionMismatchFaultCode", .text = "no"}, &fault);
    assert_int_equal(fault.kind, VIM_FAULT_BAD_VERSION);
    assert_int_equal(vim_fault_report(&fault, "DoIt", &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.text, "version"));
}

static void fault_text_is_cut_at_a_character(void **state) {
    char text[400] = "";
    struct vim_fault fault;
    (void)state;
    for (size_t i = 0; i + 2 < sizeof(text) - 1; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    memmove(text + 1, text, sizeof(text) - 2);
    text[0] = 'x';
    vim_fault_read(&(struct vim_fault_source){.text = text}, &fault);
    assert_true(str_utf8_chars(fault.text, strlen(fault.text)) > 0);
}

/* ---- texts ---- */

static void texts_are_made_whole(void **state) {
    static const struct {
        const char *xml, *mended;
    } rows[] = {
        {"<n>plain &amp; &#38; &lt;&#60;</n>", "<n>plain &amp; &#38; &lt;&#60;</n>"},
        {"x&#x1F680;y", "x\xF0\x9F\x9A\x80y"},
        {"&#128640;", "\xF0\x9F\x9A\x80"},
        {"a&#0000038;b&#x00000041;c", "a&#38;bAc"},
        {"&#x65E5;&#xe9;&#X41;", "\xE6\x97\xA5\xC3\xA9&#X41;"}, /* a capital X begins no reference (XML 1.0 4.1) */
        {"&#x0000000003C;&#62;&#34;&#39;", "&#60;&#62;&#34;&#39;"},
        {"a&#x1;b&#0;c&#xFFFE;d&#xFFFF;e&#xD800;f&#xDC00;g&#x110000;h&#99999999999999999999;i", "a b c d e f g h i"},
        {"&#4294967361;&#x100000041;", "  "}, /* an A, if they wrapped round */
        {"&#xD83D;&#xDE80;&#55357;&#56960;", "\xF0\x9F\x9A\x80\xF0\x9F\x9A\x80"},
        {"&#xD83D;x&#xD83D;&#x41;", " x A"},
        {"&#9;&#xA;&#x00D;", "&#9;&#10;&#13;"},
        {"&#x7f;&#x85;\x7F\xC2\x85", "    "},
        {"a\x01\x0B\xEF\xBF\xBE\xEF\xBF\xBF\xED\xA0\x80z\t\r\n", "a     z\t\r\n"},
        {"&#;&#x;&#12&#x41 &", "&#;&#x;&#12&#x41 &"},
        {"<![CDATA[&#x41;\x01]]>&#x41;", "<![CDATA[&#x41; ]]>A"},
        {"\xEF\xBF\xBD\xED\x9F\xBF", "\xEF\xBF\xBD\xED\x9F\xBF"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        char *text = str_dup(rows[i].xml);
        size_t n = strlen(text);
        vim_text_mend(text, &n);
        assert_string_equal(text, rows[i].mended);
        assert_int_equal(n, strlen(rows[i].mended));
        free(text);
    }
    char nul[] = "a\0b";
    size_t n = 3;
    vim_text_mend(nul, &n);
    assert_int_equal(n, 3);
    assert_string_equal(nul, "a b");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_the_newest_known),
        cmocka_unit_test(version_of_other_namespace_does_not_count),
        cmocka_unit_test(version_refusals),
        cmocka_unit_test(version_order),
        cmocka_unit_test(cookie_is_read_raw),
        cmocka_unit_test(cookie_of_absurd_length_is_no_cookie),
        cmocka_unit_test(session_ids_are_told_apart),
        cmocka_unit_test(an_id_is_read_with_the_quotes_of_json_and_without),
        cmocka_unit_test(breaker_opens_after_three_timeouts),
        cmocka_unit_test(breaker_lets_one_probe_through),
        cmocka_unit_test(breaker_ignores_refused_connections_until_it_probes),
        cmocka_unit_test(unknown_faults_keep_their_name),
        cmocka_unit_test(fault_text_is_cut_at_a_character),
        cmocka_unit_test(texts_are_made_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
