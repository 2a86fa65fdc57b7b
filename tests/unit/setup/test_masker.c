/* Unit tests of src/setup/support/masker. SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "masker.h"

static const char password[] = "p@ss w\"rd/\xc3\xa4+\\%;\xf0\x9f\x94\x91";

static struct masker *made(const char *secret) {
    struct masker *m = NULL;
    bool is_known = false;
    assert_int_equal(masker_new(&m, NULL), 0);
    if (secret)
        assert_int_equal(masker_add(m, secret, strlen(secret), &is_known, NULL), 0);
    assert_int_equal(is_known, secret != NULL);
    return m;
}

/* What becomes of a text that nobody who reads it may see the secret in. */
static void becomes(const char *secret, const char *text, const char *expected) {
    _cleanup_(masker_free) struct masker *m = made(secret);
    _cleanup_strbuf_ struct strbuf out;
    size_t count = 0;
    strbuf_init(&out, 4096);
    assert_int_equal(masker_run(m, text, strlen(text), &out, &count, NULL), 0);
    assert_string_equal(out.data, expected);
    assert_int_equal(count > 0, strcmp(text, expected) != 0);
}

static void test_known_in_each_form(void **state) {
    (void)state;
    becomes(password, "a p@ss w\"rd/\xc3\xa4+\\%;\xf0\x9f\x94\x91 b", "a <masked> b");
    /* percent-encoded, as a path and as a form */
    becomes(password, "a=p%40ss%20w%22rd%2F%c3%a4%2b%5C%25%3B%F0%9F%94%91&b", "a=<masked>&b");
    becomes(password, "a=p%40ss+w%22rd%2F%C3%A4%2B%5C%25%3B%F0%9F%94%91&b", "a=<masked>&b");
    /* JSON, with ASCII only and without; JSON within JSON; the log */
    becomes(password, "\"p@ss w\\\"rd/\\u00e4+\\\\%;\\ud83d\\udd11\"", "\"<masked>\"");
    becomes(password, "\"p@ss w\\\"rd\\/\xc3\xa4+\\\\%;\xf0\x9f\x94\x91\"", "\"<masked>\"");
    becomes(password, "\"{\\\"a\\\":\\\"p@ss w\\\\\\\"rd/\\\\u00e4+\\\\\\\\%;\\\\ud83d\\\\udd11\\\"}\"",
            "\"{\\\"a\\\":\\\"<masked>\\\"}\"");
    becomes(password, "k=\"p@ss w\\\"rd/\\xc3\\xa4+\\\\%;\xf0\x9f\x94\x91\"", "k=\"<masked>\"");
    /* XML */
    becomes(password, "<a>p@ss w&quot;rd/&#xe4;+\\%;&#128273;</a>", "<a><masked></a>");
    /* hexadecimal */
    becomes("hunter2", "(68756e74657232)", "(<masked>)");
    becomes("hunter2", "(68:75:6E:74:65:72:32)", "(<masked>)");
    becomes("jklmnopq", "(6A6B6C6D6E6F7071)", "(<masked>)");
    /* base64 alone, behind one and two other bytes, and in what is longer; in base64url and percent-encoded */
    becomes("hunter2", "(aHVudGVyMg==)", "(<masked>)");
    becomes("hunter2", "(OmhhZC1odW50ZXIy)", "(OmhhZC1<masked>)");
    becomes("hunter2", "(YTpodW50ZXIyCg)", "(YTp<masked>)");
    becomes("hunter2", "(YWE6aHVudGVyMjphYQ==)", "(YWE6<masked>)");
    becomes("\xfb\xff\xfe>>>???", "(-__-Pj4-Pz8_)", "(<masked>)");
    becomes("\xfb\xff\xfe>>>???", "(%2B%2F/%2bPj4+Pz8/)", "(<masked>)");
}

static void test_known_lines_and_pieces(void **state) {
    uint8_t binary[200];
    char hex[] = "0001020304050607";
    bool is_known = false;
    (void)state;
    becomes("first-line\n  second line \n", "first-line, second line.", "<masked>, <masked>.");
    becomes("{\"d\":\"AbCdEfGhIjKlMnOpQr\"}", "AbCdEfGhIjKlMnOpQr", "<masked>");
    becomes("-----BEGIN RSA KEY-----\nMIIEogIBAAKCAQ==\n",
            "-----BEGIN RSA KEY----- MIIEogIBAAKCAQ==", "-----BEGIN RSA KEY----- <masked>");
    for (size_t i = 0; i < sizeof(binary); i++)
        binary[i] = (uint8_t)i;
    _cleanup_(masker_free) struct masker *m = made(NULL);
    assert_int_equal(masker_add(m, binary, 8, &is_known, NULL), 0);
    assert_true(is_known);
    assert_int_equal(masker_add(m, "short", 5, &is_known, NULL), 0);
    assert_false(is_known);
    _cleanup_strbuf_ struct strbuf out;
    size_t count = 0;
    strbuf_init(&out, 100);
    assert_int_equal(masker_run(m, hex, strlen(hex), &out, &count, NULL), 0);
    assert_string_equal(out.data, "<masked>");
    strbuf_reset(&out);
    assert_int_equal(masker_add(m, binary, sizeof(binary), &is_known, NULL), 0);
    assert_true(is_known);
}

/* One secret within another, or across the end of what has a shape. */
static void test_known_overlapping(void **state) {
    _cleanup_(masker_free) struct masker *m = made("abcdefgh");
    _cleanup_strbuf_ struct strbuf out;
    size_t count = 0;
    bool is_known = false;
    (void)state;
    strbuf_init(&out, 100);
    assert_int_equal(masker_add(m, "efghijkl", 8, &is_known, NULL), 0);
    assert_int_equal(masker_run(m, "abcdefghijkl", 12, &out, &count, NULL), 0);
    assert_string_equal(out.data, "<masked>");
    assert_int_equal(count, 1);
    becomes("one two three", "password=one two three four", "password=<masked> four");
}

static void test_shapes(void **state) {
    (void)state;
    becomes(NULL, "a -----BEGIN PRIVATE KEY-----\nMIIE\nabc=\n-----END PRIVATE KEY----- b", "a <masked> b");
    becomes(NULL, "\"-----BEGIN EC PRIVATE KEY-----\\nMIIE\\n-----END EC PRIVATE KEY-----\\n\"", "\"<masked>\\n\"");
    becomes(NULL, "a -----BEGIN PRIVATE KEY-----\nMIIE\nabc (cut off)", "a <masked>(cut off)");
    becomes(NULL, "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----");
    becomes(NULL, "x%22eyJhbGciOiJFUzI1NiJ9.e30.abc-_d y", "x%22<masked> y");
    becomes(NULL, "by cst-VCT-52d6a8b1-c0e4-fe--tp-1F-2E.", "by <masked>");
    becomes(NULL, "by VCT-A4D7F5B0-1C2D-4E3F-9A8B-7C6D5E4F3A2B.", "by <masked>");
    becomes(NULL, "one: 0a1b2-c3d4e-f5g6h-j7k8m", "one: <masked>");
    becomes(NULL, "(0123456789abcdef0123456789abcdef01234567)", "(<masked>)");
    becomes(NULL, "(Ab1cdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN=)", "(<masked>=)");
    becomes(NULL, "https://user:pa@ss@host/x ldap://u@h https://host/a@b",
            "https://<masked>@host/x ldap://<masked>@h https://host/a@b");
}

static void test_credentials_of_http(void **state) {
    (void)state;
    becomes(NULL, "said: Bearer abc.DEF-123 there", "said: Bearer <masked> there");
    becomes(NULL, "Negotiate YIIJvwYGKw", "Negotiate <masked>");
    becomes(NULL, "Authorization: Basic dXNlcjpwYXNz\r\nHost: a", "Authorization: <masked>\r\nHost: a");
    becomes(NULL, "Cookie: a=b; c=\"d\"\nHost: a", "Cookie: <masked>\nHost: a");
    becomes(NULL, "Basic authentication, Negotiate and Bearer tokens", "Basic authentication, Negotiate and Bearer tokens");
}

static void test_values_of_keys(void **state) {
    (void)state;
    becomes(NULL, "password=hunter2 next", "password=<masked> next");
    becomes(NULL, "a?user=x&access_token=hunter2&b=1", "a?user=x&access_token=<masked>&b=1");
    becomes(NULL, "password=/unter2, next", "password=<masked>, next");
    becomes(NULL, "bindPassword: 'hunter 2', ok", "bindPassword: '<masked>', ok");
    becomes(NULL, "{\"new_password\": \"hun\\\"ter2\", \"name\": \"x\"}", "{\"new_password\": \"<masked>\", \"name\": \"x\"}");
    becomes(NULL, "{\\\"secret\\\":\\\"hun\\\\\\\"ter2\\\",\\\"n\\\":1}", "{\\\"secret\\\":\\\"<masked>\\\",\\\"n\\\":1}");
    becomes(NULL, "%22password%22%3A%22hunter2%22", "%22password%22%3A<masked>");
    becomes(NULL, "vmware_soap_session=\"52d6\"", "vmware_soap_session=\"<masked>\"");
    becomes(NULL, "vmware-api-session-id: 52d6\n", "vmware-api-session-id: <masked>\n");
    becomes(NULL, "<ns:password xsi:type=\"xsd:string\">hunter2</ns:password>",
            "<ns:password xsi:type=\"xsd:string\"><masked></ns:password>");
    becomes(NULL, "&lt;password&gt;hunter2</password>", "&lt;password&gt;<masked></password>");
    becomes(NULL, "metrics.token_file: \"hunter2\" must be a path", "metrics.token_file: \"<masked>\" must be a path");
}

/* What helps, and is no secret. */
static void test_left_as_it_is(void **state) {
    static const char *const texts[] = {
        "database.password_file = /etc/kaas/database.password  # line 3",
        "database.password_file = \"\"  # default",
        "{\"token\": null, \"password\": \"\"}",
        "cannot open /etc/kaas/database.password: Permission denied",
        "database.password_file: cannot open it",
        "the password is wrong; type another password",
        "token_ttl=900 credential_kind=certificate",
        "ddfb0e3e-1111-4000-8000-00000000000b",
        "9F:86:D0:81:88:4C:7D:65:9A:2F:EA:A0:C5:5A:D0:15:A3:BF:4F:1B:2B:0B:82:2C:D1:5D:6C:15:B0:F0:0A:08",
        "/usr/lib/x86_64-linux-gnu/a-long-path-with-Many-Words/and-more/kaasd",
        "event=request status=200 request_id=Kx7d2 path=/v2/clusters",
        "kaasd_http_requests_total{class=\"2xx\"} 12",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        becomes("hunter2", texts[i], texts[i]);
}

static void test_cap(void **state) {
    _cleanup_(masker_free) struct masker *m = made("hunter2");
    _cleanup_strbuf_ struct strbuf out;
    size_t count = 0;
    (void)state;
    strbuf_init(&out, 4);
    assert_int_equal(masker_run(m, "too long", 8, &out, &count, NULL), ERR_TOO_LARGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_in_each_form),  cmocka_unit_test(test_known_lines_and_pieces),
        cmocka_unit_test(test_known_overlapping),   cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_credentials_of_http), cmocka_unit_test(test_values_of_keys),
        cmocka_unit_test(test_left_as_it_is),       cmocka_unit_test(test_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
