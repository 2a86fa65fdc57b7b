/* Unit tests of src/port/x509_chain: certificate files as people put them together.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"
#include "strbuf.h"
#include "tls_server.h"
#include "x509_chain.h"

/* Two CAs one below the other, a server's certificate of the lower one, and strangers. */
static struct test_cert root, middle, leaf, renewed, stranger;

static int make_all(void **state) {
    (void)state;
    test_cert_make(&(struct test_cert_request){.common_name = "root", .is_ca = true}, &root);
    test_cert_make(&(struct test_cert_request){.common_name = "middle", .is_ca = true, .issuer = &root}, &middle);
    test_cert_make(&(struct test_cert_request){.common_name = "kaas", .san = "DNS:kaas", .issuer = &middle}, &leaf);
    test_cert_make(&(struct test_cert_request){.common_name = "middle", .is_ca = true, .issuer = &root}, &renewed);
    test_cert_make(&(struct test_cert_request){.common_name = "stranger"}, &stranger);
    return 0;
}

static int free_all(void **state) {
    (void)state;
    test_cert_done(&root);
    test_cert_done(&middle);
    test_cert_done(&leaf);
    test_cert_done(&renewed);
    test_cert_done(&stranger);
    return 0;
}

static char *join(const char *a, const char *b, const char *c) {
    return str_format("%s%s%s", a, b, c);
}

/* The texts must give the chain leaf, middle, root, or as much of it as `count` says. */
static void check_chain(const char *pem, size_t count) {
    _cleanup_done_(x509_chain_done) struct x509_chain chain = {0};
    _cleanup_free_ char *want = join(leaf.cert_pem, count > 1 ? middle.cert_pem : "", count > 2 ? root.cert_pem : "");
    assert_int_equal(x509_chain_read(pem, leaf.key_pem, &chain, NULL), 0);
    assert_int_equal(chain.count, count);
    assert_string_equal(chain.pem, want);
    assert_string_equal(chain.certs[0].pem, leaf.cert_pem);
    x509_chain_done(&chain);
    assert_int_equal(x509_chain_read(pem, NULL, &chain, NULL), 0);
    assert_string_equal(chain.pem, want);
}

static void check_refused(const char *pem, const char *key_pem, const char *why) {
    struct x509_chain chain = {0};
    struct err err = {0};
    assert_int_equal(x509_chain_read(pem, key_pem, &chain, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, why));
    assert_true(err.remedy[0]);
    assert_null(chain.pem);
}

static void test_orders(void **state) {
    (void)state;
    const char *const orders[][3] = {{leaf.cert_pem, middle.cert_pem, root.cert_pem},
                                     {leaf.cert_pem, root.cert_pem, middle.cert_pem},
                                     {root.cert_pem, middle.cert_pem, leaf.cert_pem},
                                     {middle.cert_pem, leaf.cert_pem, root.cert_pem}};
    for (size_t i = 0; i < ARRAY_COUNT(orders); i++) {
        _cleanup_free_ char *pem = join(orders[i][0], orders[i][1], orders[i][2]);
        _cleanup_done_(x509_chain_done) struct x509_chain chain = {0};
        check_chain(pem, 3);
        assert_int_equal(x509_chain_read(pem, leaf.key_pem, &chain, NULL), 0);
        assert_int_equal(chain.is_reordered, i > 0);
        assert_false(chain.has_key);
    }
    _cleanup_free_ char *two = join(middle.cert_pem, leaf.cert_pem, "");
    _cleanup_free_ char *twice = join(leaf.cert_pem, middle.cert_pem, leaf.cert_pem);
    check_chain(two, 2);
    check_chain(twice, 2);
    check_chain(leaf.cert_pem, 1);
}

static void test_dresses(void **state) {
    (void)state;
    static const char *const dresses[][2] = {
        {"Bag Attributes\n    friendlyName: server\n    localKeyID: 01 02\nsubject=CN = kaas\n", "\n"},
        {"Certificate:\n    Data:\n        Version: 3 (0x2)\n", "\n"},
        {"", "\r\n"},
        {"", "\r"},
        {"\xEF\xBB\xBF", "\r\n"},
        {"\xEF\xBB\xBF", "\n"},
        {"\n\n", "\n\n"},
        {"", "  \t\n  "},
    };
    for (size_t i = 0; i < ARRAY_COUNT(dresses); i++) {
        _cleanup_free_ char *first = test_pem_dress(leaf.cert_pem, dresses[i][0], dresses[i][1]);
        _cleanup_free_ char *second =
            test_pem_dress(middle.cert_pem, dresses[i][0][0] == '\xEF' ? "" : dresses[i][0], dresses[i][1]);
        _cleanup_free_ char *pem = join(first, second, "");
        _cleanup_free_ char *key = test_pem_dress(leaf.key_pem, dresses[i][0], dresses[i][1]);
        _cleanup_done_(x509_chain_done) struct x509_chain chain = {0};
        check_chain(pem, 2);
        assert_int_equal(x509_chain_read(pem, key, &chain, NULL), 0);
    }
}

static void test_a_key_in_the_file(void **state) {
    (void)state;
    const char *const orders[][2] = {{leaf.key_pem, leaf.cert_pem}, {leaf.cert_pem, leaf.key_pem}};
    for (size_t i = 0; i < ARRAY_COUNT(orders); i++) {
        _cleanup_free_ char *pem = join(orders[i][0], orders[i][1], middle.cert_pem);
        _cleanup_done_(x509_chain_done) struct x509_chain chain = {0};
        check_chain(pem, 2);
        assert_int_equal(x509_chain_read(pem, pem, &chain, NULL), 0); /* both files are one */
        assert_true(chain.has_key);
        assert_null(strstr(chain.pem, "PRIVATE"));
    }
}

/* An issuer that was renewed has the same name and another key. */
static void test_foreign_ones(void **state) {
    struct test_cert below;
    (void)state;
    _cleanup_free_ char *wrong_issuer = join(leaf.cert_pem, renewed.cert_pem, root.cert_pem);
    _cleanup_free_ char *two_servers = join(leaf.cert_pem, middle.cert_pem, stranger.cert_pem);
    check_refused(wrong_issuer, leaf.key_pem, "did not issue");
    check_refused(two_servers, leaf.key_pem, "CN=stranger");
    test_cert_make(&(struct test_cert_request){.common_name = "below", .issuer = &leaf}, &below);
    _cleanup_free_ char *by_no_ca = join(below.cert_pem, leaf.cert_pem, middle.cert_pem);
    check_refused(by_no_ca, below.key_pem, "did not issue");
    test_cert_done(&below);
}

static void test_refuses(void **state) {
    (void)state;
    _cleanup_free_ char *cut = join(leaf.cert_pem, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "");
    _cleanup_strbuf_ struct strbuf many;
    strbuf_init(&many, X509_CHAIN_BYTES_MAX);
    for (int i = 0; i <= X509_CHAIN_MAX; i++)
        strbuf_adds(&many, leaf.cert_pem);
    check_refused("", NULL, "no PEM certificate");
    check_refused("server: nonsense\n", leaf.key_pem, "no PEM certificate");
    check_refused(leaf.key_pem, leaf.key_pem, "no PEM certificate");
    check_refused(cut, leaf.key_pem, "certificate 2 of the file cannot be read");
    check_refused(many.data, leaf.key_pem, "more than 8");
    check_refused(leaf.cert_pem, root.key_pem, "does not belong");
    check_refused(leaf.cert_pem, leaf.cert_pem, "no PEM private key");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),       cmocka_unit_test(test_dresses), cmocka_unit_test(test_a_key_in_the_file),
        cmocka_unit_test(test_foreign_ones), cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
