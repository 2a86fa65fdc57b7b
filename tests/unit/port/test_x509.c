/* Unit tests of src/port/x509: own certificates, description, looking at a server.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "http_client.h"
#include "secret.h"
#include "str.h"
#include "tls_server.h"
#include "x509.h"

static struct test_cert server_cert;

static X509 *read_cert(const char *pem) {
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    assert_non_null(cert);
    return cert;
}

static void test_make(void **state) {
    (void)state;
    _cleanup_free_ char *cert_pem = NULL;
    _cleanup_secret_ char *key_pem = NULL;
    struct x509_info info = {0};
    const char *const san[] = {"DNS:kaas.example.com", "IP:192.0.2.7", "IP:2001:db8::1", NULL};
    const struct x509_request request = {
        .common_name = "kaas \"east\", O=x", .organization = "Harmony KaaS", .san = san, .valid_days = 30, .is_server = 1};
    assert_int_equal(x509_make_self_signed(&request, &cert_pem, &key_pem, NULL), 0);
    assert_true(str_starts(cert_pem, "-----BEGIN CERTIFICATE-----\n"));
    assert_true(str_starts(key_pem, "-----BEGIN PRIVATE KEY-----\n"));
    assert_null(strchr(cert_pem, '\r'));
    assert_int_equal(strcspn(strchr(cert_pem, '\n') + 1, "\n"), 64);
    assert_int_equal(x509_parse_pem(cert_pem, &info, NULL), 0);
    assert_string_equal(info.subject, "CN=kaas \\\"east\\\"\\, O=x,O=Harmony KaaS");
    assert_string_equal(info.issuer, info.subject);
    assert_string_equal(info.san, "DNS:kaas.example.com, IP:192.0.2.7, IP:2001:db8:0:0:0:0:0:1");
    assert_string_equal(info.pem, cert_pem);
    int64_t now_ms = (int64_t)time(NULL) * 1000, day_ms = 86400000;
    assert_true(info.not_before_ms < now_ms);
    assert_true(info.not_after_ms > now_ms + 29 * day_ms && info.not_after_ms <= now_ms + 30 * day_ms);
    x509_info_done(&info);

    X509 *cert = read_cert(cert_pem);
    BIO *bio = BIO_new_mem_buf(key_pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    assert_int_equal(X509_check_private_key(cert, key), 1);
    assert_int_equal(EVP_PKEY_get_base_id(key), EVP_PKEY_RSA);
    assert_int_equal(EVP_PKEY_get_bits(key), 3072);
    assert_int_equal(X509_verify(cert, key), 1);
    assert_int_equal(X509_check_ca(cert), 0);
    assert_int_equal(X509_get_extended_key_usage(cert), XKU_SSL_SERVER);
    assert_int_equal(X509_check_host(cert, "kaas.example.com", 0, 0, NULL), 1);
    assert_int_equal(X509_check_ip_asc(cert, "192.0.2.7", 0), 1);
    BIO_free(bio);
    EVP_PKEY_free(key);
    X509_free(cert);
}

static void test_make_client(void **state) {
    (void)state;
    _cleanup_free_ char *cert_pem = NULL;
    _cleanup_secret_ char *key_pem = NULL;
    const struct x509_request request = {.common_name = "com.cisco.kaas", .valid_days = 3650, .key_bits = 2048};
    assert_int_equal(x509_make_self_signed(&request, &cert_pem, &key_pem, NULL), 0);
    X509 *cert = read_cert(cert_pem);
    assert_int_equal(X509_get_extended_key_usage(cert), XKU_SSL_CLIENT);
    X509_free(cert);
    const char *const bad[][2] = {{"DNS:a,DNS:b\n", NULL}, {"email:x", NULL}, {"IP:300.1.1.1", NULL}, {"DNS:", NULL}};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        char *none = NULL, *no_key = NULL;
        const struct x509_request wrong = {.common_name = "x", .san = bad[i], .valid_days = 1, .key_bits = 2048};
        assert_int_equal(x509_make_self_signed(&wrong, &none, &no_key, NULL), ERR_INTERNAL);
        assert_null(none);
        assert_null(no_key);
    }
}

static void test_make_key_bits(void **state) {
    (void)state;
    static const int sizes[] = {2048, 4096}; /* the default: test_make */
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        _cleanup_free_ char *cert_pem = NULL;
        _cleanup_secret_ char *key_pem = NULL;
        const struct x509_request request = {.common_name = "com.cisco.kaas", .valid_days = 2, .key_bits = sizes[i]};
        assert_int_equal(x509_make_self_signed(&request, &cert_pem, &key_pem, NULL), 0);
        X509 *cert = read_cert(cert_pem);
        assert_int_equal(EVP_PKEY_get_bits(X509_get0_pubkey(cert)), sizes[i]);
        X509_free(cert);
    }
}

static void test_thumbprint(void **state) {
    (void)state;
    char text[X509_THUMBPRINT_TEXT_BYTES];
    uint8_t digest[X509_SHA256_BYTES], back[X509_SHA256_BYTES];
    for (size_t i = 0; i < sizeof(digest); i++)
        digest[i] = (uint8_t)(i * 8 + 3);
    x509_thumbprint_text(digest, text);
    assert_true(str_starts(text, "03:0B:13:"));
    assert_int_equal(strlen(text), 95);
    assert_true(str_unhex(text, back, sizeof(back)));
    assert_memory_equal(back, digest, sizeof(back));
}

static void test_parse_refuses(void **state) {
    (void)state;
    static const char *const bad[] = {"", "x", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
                                      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct x509_info info = {0};
        assert_int_equal(x509_parse_pem(bad[i], &info, NULL), ERR_UNPROCESSABLE);
        assert_null(info.pem);
    }
}

/* As people paste and keep them. */
static void test_dresses(void **state) {
    (void)state;
    static const char *const dresses[][2] = {{"", "\r\n"}, {"\xEF\xBB\xBF", "\n"}, {"\n  ", "\n\n  "}, {"words\n\t", " \t\n\t"}};
    uint8_t wanted[EVP_MAX_MD_SIZE + 32], binding[sizeof(wanted)];
    size_t wanted_bytes = 0, bytes = 0;
    assert_int_equal(x509_end_point_binding(server_cert.cert_pem, wanted, sizeof(wanted), &wanted_bytes, NULL), 0);
    for (size_t i = 0; i < ARRAY_COUNT(dresses); i++) {
        _cleanup_free_ char *pem = test_pem_dress(server_cert.cert_pem, dresses[i][0], dresses[i][1]);
        struct x509_info info = {0};
        assert_int_equal(x509_parse_pem(pem, &info, NULL), 0);
        assert_string_equal(info.pem, server_cert.cert_pem);
        x509_info_done(&info);
        assert_int_equal(x509_end_point_binding(pem, binding, sizeof(binding), &bytes, NULL), 0);
        assert_int_equal(bytes, wanted_bytes);
        assert_memory_equal(binding, wanted, bytes);
    }
}

/* Names of a certificate are outside text: they must not break a log line, or look like several entries. */
static void test_hostile_names(void **state) {
    (void)state;
    struct test_cert cert;
    struct x509_info info = {0};
    test_cert_make(
        &(struct test_cert_request){.common_name = "a\nb\x01", .san = "email:someone@example.com,DNS:x.example,DNS:y\x01z"},
        &cert);
    assert_int_equal(x509_parse_pem(cert.cert_pem, &info, NULL), 0);
    assert_false(str_has_control(info.subject));
    assert_string_equal(info.san, "DNS:x.example, DNS:y?z");
    x509_info_done(&info);
    x509_info_done(&info);
    test_cert_done(&cert);
}

static void test_lookup(void **state) {
    (void)state;
    struct x509_info info = {0};
    struct err err = {0};
    struct tls_server *server = tls_server_start(&(struct tls_server_options){.cert = &server_cert});
    assert_int_equal(x509_lookup_server("localhost", tls_server_port(server), NULL, 20000, &info, &err), 0);
    assert_memory_equal(info.sha256, server_cert.sha256, sizeof(info.sha256));
    assert_string_equal(info.pem, server_cert.cert_pem);
    assert_string_equal(info.subject, "CN=untrusted");
    assert_string_equal(info.issuer, "CN=untrusted");
    x509_info_done(&info);
    tls_server_wait_ended(server, 1); /* before the next: connections are served side by side */
    assert_string_equal(tls_server_sni(server), "localhost");
    assert_int_equal(x509_lookup_server("127.0.0.1", tls_server_port(server), NULL, 20000, &info, &err), 0);
    x509_info_done(&info);
    unsigned port = tls_server_port(server);
    tls_server_wait_ended(server, 2);
    assert_string_equal(tls_server_sni(server), "");  /* none for an address (RFC 6066 section 3) */
    assert_int_equal(tls_server_requests(server), 0); /* no application data */
    tls_server_stop(server);
    assert_int_equal(x509_lookup_server("127.0.0.1", port, NULL, 20000, &info, &err), ERR_UNREACHABLE);
    assert_null(info.pem);
}

static void test_lookup_sni(void **state) {
    (void)state;
    struct x509_info info = {0};
    struct tls_server *server = tls_server_start(&(struct tls_server_options){.cert = &server_cert});
    assert_int_equal(x509_lookup_server("localhost", tls_server_port(server), NULL, 20000, &info, NULL), 0);
    tls_server_wait_ended(server, 1);
    assert_string_equal(tls_server_sni(server), "localhost");
    x509_info_done(&info);
    tls_server_stop(server);
}

static void test_lookup_fails(void **state) {
    (void)state;
    struct x509_info info = {0};
    struct err err = {0};
    struct tls_server *plain = tls_server_start(&(struct tls_server_options){0});
    struct tls_server *closing = tls_server_start(&(struct tls_server_options){.closes_at_once = true});
    struct tls_server *silent = tls_server_start(&(struct tls_server_options){.stays_silent = true});
    assert_int_equal(x509_lookup_server("127.0.0.1", tls_server_port(plain), NULL, 20000, &info, &err), ERR_PROTOCOL);
    err_clear(&err);
    assert_int_equal(x509_lookup_server("127.0.0.1", tls_server_port(closing), NULL, 20000, &info, &err), ERR_UNREACHABLE);
    err_clear(&err);
    assert_int_equal(x509_lookup_server("127.0.0.1", tls_server_port(silent), NULL, 300, &info, &err), ERR_TIMEOUT);
    err_clear(&err);
    assert_int_equal(x509_lookup_server("bad host", 443, NULL, 300, &info, &err), ERR_CONFIG);
    assert_null(info.pem);
    tls_server_stop(plain);
    tls_server_stop(closing);
    tls_server_stop(silent);
}

/* As far as this system is concerned: a file of CAs that every program here trusts. */
static void test_system_store(void **state) {
    (void)state;
    static char path[] = "/tmp/test_x509.XXXXXX";
    _cleanup_free_ char *ours = NULL, *others = NULL, *both = NULL;
    _cleanup_secret_ char *our_key = NULL, *other_key = NULL;
    const struct x509_request request = {.common_name = "Some CA", .valid_days = 30, .key_bits = X509_PROBE_KEY_BITS};
    assert_int_equal(x509_make_self_signed(&request, &ours, &our_key, NULL), 0);
    assert_int_equal(x509_make_self_signed(&request, &others, &other_key, NULL), 0);
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, others, strlen(others)), (ssize_t)strlen(others));
    assert_int_equal(close(fd), 0);
    assert_int_equal(setenv("SSL_CERT_FILE", path, 1), 0);
    assert_int_equal(setenv("SSL_CERT_DIR", "/nowhere", 1), 0);
    assert_false(x509_is_in_system_store(ours)); /* of the same name */
    assert_true(x509_is_in_system_store(others));
    both = str_format("%s%s", ours, others);
    assert_true(x509_is_in_system_store(both));
    _cleanup_free_ char *pasted = test_pem_dress(both, "", "\n\n  ");
    assert_true(x509_is_in_system_store(pasted));
    assert_false(x509_is_in_system_store("no certificate"));
    assert_int_equal(unlink(path), 0);
}

static int setup(void **state) {
    (void)state;
    test_cert_make(
        &(struct test_cert_request){
            .common_name = "untrusted", .san = "DNS:elsewhere.example", .not_before_s = -200, .not_after_s = -100},
        &server_cert);
    return http_client_global_init(NULL);
}

static int teardown(void **state) {
    (void)state;
    test_cert_done(&server_cert);
    http_client_global_done();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make),         cmocka_unit_test(test_make_client),   cmocka_unit_test(test_make_key_bits),
        cmocka_unit_test(test_thumbprint),   cmocka_unit_test(test_parse_refuses), cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_lookup),       cmocka_unit_test(test_lookup_sni),    cmocka_unit_test(test_lookup_fails),
        cmocka_unit_test(test_system_store), cmocka_unit_test(test_dresses),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
